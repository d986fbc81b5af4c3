// health.ts - the state of a GPU, by its newest sample. The first row that fits decides; states
// that somebody should act on come first. Unknown values fit no row.
import type { RowGpuNow, RowHostNow } from "../../api/schema";
import { epochMs } from "../../format/format";
import { number, raw } from "../../format/raw";

export type Health = "failing" | "hot" | "throttled" | "full" | "idle" | "free" | "busy" | "silent";
export type Tone = "bad" | "warn" | "good" | "none";

export interface Sample {
  gpu_util: number | null;
  mem_util: number | null;
  memory_used: number | null;
  memory_total: number | null;
  temperature: number | null;
  power: number | null;
  clock_sm: number | null;
  processes: number | null;
  ecc_uncorrected: number | null;
  throttle_reasons: string[];
}

const SILENT_MS = 120_000;
/** Whether the newest news of a host or GPU is so old that its values may not be the present ones. */
export const isSilent = (seen: string | null, nowMs: number): boolean => nowMs - (epochMs(seen) ?? 0) > SILENT_MS;
const HOT_C = 85;
const FULL = 0.97;
const IDLE_PERCENT = 5;
/** Reasons for low clocks that cost speed and that somebody can act on; idle is not one of them. */
const SLOW = new Set(["power_cap", "thermal_software", "sync_boost"]);
const HARDWARE = new Set(["hardware_slowdown", "thermal_hardware", "power_brake"]);

export function sampleOf(state: unknown): Sample {
  const s = raw(state);
  const reasons = Array.isArray(s.throttle_reasons) ? s.throttle_reasons.map((reason) => String(reason).replaceAll(" ", "_")) : [];
  return {
    gpu_util: number(s.gpu_util),
    mem_util: number(s.mem_util),
    memory_used: number(s.memory_used),
    memory_total: number(s.memory_total),
    temperature: number(s.temperature),
    power: number(s.power),
    clock_sm: number(s.clock_sm),
    processes: number(s.processes),
    ecc_uncorrected: number(s.ecc_uncorrected),
    throttle_reasons: reasons,
  };
}

interface Rule {
  health: Health;
  tone: Tone;
  fits: (gpu: RowGpuNow, s: Sample, nowMs: number) => boolean;
}

export const RULES: readonly Rule[] = [
  { health: "silent", tone: "none", fits: (gpu, _, now) => isSilent(gpu.seen, now) },
  { health: "failing", tone: "bad", fits: (_, s) => (s.ecc_uncorrected ?? 0) > 0 || s.throttle_reasons.some((reason) => HARDWARE.has(reason)) },
  { health: "hot", tone: "bad", fits: (_, s) => (s.temperature ?? 0) >= HOT_C },
  { health: "throttled", tone: "warn", fits: (_, s) => s.throttle_reasons.some((reason) => SLOW.has(reason)) },
  { health: "full", tone: "warn", fits: (gpu, s) => s.memory_used !== null && (s.memory_total ?? gpu.memory ?? Infinity) * FULL <= s.memory_used },
  { health: "idle", tone: "warn", fits: (gpu, s) => (gpu.sessions ?? 0) > 0 && s.gpu_util !== null && s.gpu_util < IDLE_PERCENT },
  { health: "busy", tone: "good", fits: (gpu, s) => (gpu.sessions ?? 0) > 0 || (s.gpu_util ?? 0) >= IDLE_PERCENT },
  { health: "free", tone: "none", fits: () => true },
];

export interface Gpu extends RowGpuNow {
  sample: Sample;
  health: Health;
  tone: Tone;
}

export function gpuOf(row: RowGpuNow, nowMs: number): Gpu {
  const sample = sampleOf(row.state);
  const { health, tone } = RULES.find((rule) => rule.fits(row, sample, nowMs))!;
  return { ...row, sample, health, tone };
}

/** GPUs that need action first, then by host and number. */
export const byUrgency = (a: Gpu, b: Gpu): number => rank(a) - rank(b) || a.host.localeCompare(b.host) || (a.number ?? 0) - (b.number ?? 0);
const rank = (gpu: Gpu): number => ["bad", "warn"].indexOf(gpu.tone) + 1 || 3;

/** How many GPUs need attention, of those with a recent contact; null: no GPU has one. */
export const attention = (gpus: readonly Gpu[]): number | null =>
  gpus.every((gpu) => gpu.health === "silent") ? null : gpus.filter((gpu) => gpu.tone === "bad" || gpu.tone === "warn").length;

/** Mean of the known values of the GPUs with a recent contact; null: none is known. */
export function meanUtil(gpus: readonly Gpu[]): number | null {
  const known = gpus.filter((gpu) => gpu.health !== "silent" && gpu.sample.gpu_util !== null).map((gpu) => gpu.sample.gpu_util!);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length / 100 : null;
}

export interface HostSample {
  cpu: number | null; // 0 to 1
  memory: number | null; // 0 to 1
}

export function hostSampleOf(host: RowHostNow): HostSample {
  const s = raw(host.state);
  const cpu = number(s.cpu);
  const used = number(s.memory_used);
  const total = number(s.memory_total) ?? host.memory;
  return { cpu: cpu === null ? null : cpu / 10_000, memory: used !== null && total ? used / total : null };
}

const UUID_LETTERS = 12; // "GPU-" and eight letters

const UUID_MOST = 16; // a longer beginning does not fit a row
const END_LETTERS = 4;

/** How many letters from the beginning distinguish each text from the others. */
function lettersOf(texts: readonly string[]): Map<string, number> {
  const all = [...texts].sort();
  const alike = (a: string, b: string | undefined): number => {
    let n = 0;
    while (b !== undefined && n < a.length && a[n] === b[n]) n++;
    return n;
  };
  return new Map(all.map((one, at) => [one, 1 + Math.max(alike(one, all[at - 1]), alike(one, all[at + 1]))]));
}

const reversed = (text: string): string => [...text].reverse().join("");

/** The beginning of each GPU's UUID, as long as needed to distinguish the GPUs: GPUs with one
 * number on machines with one name differ in nothing else. UUIDs with a long common beginning are
 * distinguished by their end. */
export function shortUuids(gpus: readonly Pick<Gpu, "uuid">[]): (uuid: string) => string {
  const all = [...new Set(gpus.map(({ uuid }) => uuid))];
  const first = lettersOf(all);
  const last = lettersOf(all.map(reversed));
  return (uuid) => {
    const begin = Math.max(UUID_LETTERS, first.get(uuid) ?? 0);
    if (begin <= UUID_MOST) return uuid.slice(0, begin);
    const end = Math.max(END_LETTERS, last.get(reversed(uuid)) ?? 0);
    return UUID_LETTERS + end >= uuid.length ? uuid : `${uuid.slice(0, UUID_LETTERS)}…${uuid.slice(-end)}`;
  };
}
