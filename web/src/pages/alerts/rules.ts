// rules.ts - rules as people write them and as the server stores them: units, percents, seconds.
import type { Routes, RowAlert } from "../../api/schema";
import { duration, percent } from "../../format/format";
import { alerts as text } from "../../text/alerts";

export type RuleBody = Routes["alert_make"]["body"];

const MB_S = { unit: "MB/s", scale: 1e6 };
const MHZ = { unit: "MHz", scale: 1 };
const CELSIUS = { unit: "°C", scale: 1 };
const WATTS = { unit: "W", scale: 1000 };
const PERCENT = { unit: "%", scale: 1 };
const HUNDREDTHS = { unit: "%", scale: 100 };
const SHARE = { unit: "%", scale: 0.01 };
const SECONDS = { unit: "s", scale: 1 };
const NUMBER = { unit: "", scale: 1 };
const GB = { unit: "GB", scale: 1e9 };
const MB = { unit: "MB", scale: 1e6 };
/** The metrics of rules: every column of device_metric, host_metric, process_metric,
 * instance_metric and monitor, and shares and silence. The server's number is the written one
 * times `scale`. A metric that only grows (energy, errors) counts since the driver was loaded;
 * a monitor's counts since the monitor started. */
export const METRICS: Record<string, { unit: string; scale: number }> = {
  "gpu.temperature": CELSIUS,
  "gpu.gpu_util": PERCENT,
  "gpu.memory_share": SHARE,
  "gpu.power": WATTS,
  "gpu.ecc_uncorrected": NUMBER,
  "gpu.silent": SECONDS,
  "gpu.processes": NUMBER,
  "gpu.sm_active": HUNDREDTHS,
  "gpu.sm_occupancy": HUNDREDTHS,
  "gpu.tensor_active": HUNDREDTHS,
  "gpu.dram_active": HUNDREDTHS,
  "gpu.graphics_active": HUNDREDTHS,
  "gpu.mem_util": PERCENT,
  "gpu.memory_used": GB,
  "gpu.memory_total": GB,
  "gpu.memory_reserved": GB,
  "gpu.temperature_memory": CELSIUS,
  "gpu.temperature_junction": CELSIUS,
  "gpu.power_limit": WATTS,
  "gpu.clock_sm": MHZ,
  "gpu.clock_gfx": MHZ,
  "gpu.clock_mem": MHZ,
  "gpu.pcie_rx": MB_S,
  "gpu.pcie_tx": MB_S,
  "gpu.pcie_total": MB_S,
  "gpu.pcie_replays": NUMBER,
  "gpu.nvlink_rx": MB_S,
  "gpu.nvlink_tx": MB_S,
  "gpu.throttle": NUMBER,
  "gpu.fan": PERCENT,
  "gpu.voltage": { unit: "V", scale: 1000 },
  "gpu.energy": { unit: "kJ", scale: 1e6 },
  "gpu.ecc_corrected": NUMBER,
  "gpu.remapped_corrected": NUMBER,
  "gpu.remapped_uncorrected": NUMBER,
  "gpu.remap_pending": NUMBER,
  "gpu.remap_failed": NUMBER,
  "gpu.encoder_util": PERCENT,
  "gpu.decoder_util": PERCENT,
  "host.cpu": HUNDREDTHS,
  "host.memory_share": SHARE,
  "host.silent": SECONDS,
  "host.memory_used": GB,
  "host.memory_total": GB,
  "host.memory_waits": HUNDREDTHS,
  "host.swap_in": MB,
  "host.swap_out": MB,
  "host.faults_major": NUMBER,
  "host.cpu_limit": HUNDREDTHS,
  "host.cpu_periods": NUMBER,
  "host.cpu_throttled": NUMBER,
  "host.cpu_throttled_time": { unit: "ms", scale: 1e6 },
  "host.process_cpu": HUNDREDTHS,
  "host.process_rss": GB,
  "process.memory_used": GB,
  "process.sm_util": PERCENT,
  "process.mem_util": PERCENT,
  "process.encoder_util": PERCENT,
  "process.decoder_util": PERCENT,
  "part.memory_used": GB,
  "part.memory_total": GB,
  "part.memory_reserved": GB,
  "part.graphics_active": HUNDREDTHS,
  "part.sm_active": HUNDREDTHS,
  "part.sm_occupancy": HUNDREDTHS,
  "part.tensor_active": HUNDREDTHS,
  "part.dram_active": HUNDREDTHS,
  "monitor.rounds": NUMBER,
  "monitor.rounds_missed": NUMBER,
  "monitor.device_samples": NUMBER,
  "monitor.device_failures": NUMBER,
  "monitor.processes_seen": NUMBER,
  "monitor.processes_without_room": NUMBER,
  "monitor.processes_unread": NUMBER,
  "monitor.events_seen": NUMBER,
  "monitor.events_lost": NUMBER,
  "monitor.rows_lost": NUMBER,
  "monitor.sessions_lost": NUMBER,
  "monitor.reopened": NUMBER,
  "monitor.suspended": { unit: "s", scale: 1e9 },
  "monitor.clock_steps": NUMBER,
  "monitor.cpu": { unit: "s", scale: 1e9 },
};

export interface Draft {
  name: string;
  enabled: boolean;
  kind: "metric" | "insight";
  metric: string;
  rule: string;
  above: boolean;
  threshold: string;
  hold: string;
  host: string;
  app: string;
  url: string;
  secret: string;
}

export const newDraft = (): Draft => ({ name: "", enabled: true, kind: "metric", metric: "gpu.temperature", rule: "", above: true, threshold: "85", hold: "30", host: "", app: "", url: "", secret: "" });

const THRESHOLDS = { metric: "85", insight: "10" } as const; // °C, and percent of a run

/** The rule is about something else now: a threshold in one unit means nothing in another. */
export function withKind(draft: Draft, kind: Draft["kind"]): Draft {
  return kind === draft.kind ? draft : { ...draft, kind, metric: newDraft().metric, threshold: THRESHOLDS[kind] };
}
export const withMetric = (draft: Draft, metric: string): Draft => ({ ...draft, metric, threshold: METRICS[metric]?.unit === METRICS[draft.metric]?.unit ? draft.threshold : "" });

const clean = (value: number): string => String(Number(value.toPrecision(9)));
const scaleOf = (kind: string, metric: string): number => (kind === "insight" ? 0.01 : (METRICS[metric]?.scale ?? 1));

export function draftOf(row: RowAlert): Draft {
  const kind = row.kind === "insight" ? "insight" : "metric";
  return {
    name: row.name,
    enabled: row.enabled,
    kind,
    metric: kind === "metric" ? row.subject : "gpu.temperature",
    rule: kind === "insight" ? row.subject : "",
    above: row.above,
    threshold: clean((row.threshold ?? 0) / scaleOf(kind, row.subject)),
    hold: clean((row.hold ?? 0) / 1e9),
    host: row.host,
    app: row.app,
    url: row.url,
    secret: "",
  };
}

/** null: a field that needs a number has none. */
export function bodyOf(d: Draft): RuleBody | null {
  const threshold = Number(d.threshold.replace(",", "."));
  const hold = Number(d.hold.replace(",", "."));
  if (!d.threshold.trim() || !Number.isFinite(threshold) || !Number.isFinite(hold) || hold < 0) return null;
  const subject = d.kind === "metric" ? d.metric : d.rule;
  // A secret that is left out stays as it was; an empty one would remove it.
  const said = { subject, host: d.host, app: d.app, url: d.url, ...(d.secret ? { secret: d.secret } : {}) };
  return { name: d.name, enabled: d.enabled, kind: d.kind, above: d.kind === "insight" || d.above, threshold: Number(clean(threshold * scaleOf(d.kind, d.metric))), hold: Math.round(hold * 1e9), ...said } as RuleBody;
}

export function conditionOf(row: RowAlert): string {
  if (row.kind === "insight") return text.finding(row.subject, percent(row.threshold));
  const metric = METRICS[row.subject];
  const threshold = `${clean((row.threshold ?? 0) / (metric?.scale ?? 1))}${metric?.unit ? ` ${metric.unit}` : ""}`;
  return text.condition(text.metrics[row.subject] ?? row.subject, row.above ? ">" : "<", threshold, row.hold ? duration(row.hold) : "");
}
