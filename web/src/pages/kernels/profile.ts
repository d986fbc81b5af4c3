// profile.ts - the counts of engines other than Trace, from the report's part (docs/report.md):
// hardware counters by scope and kernel, counted instructions, samples by scope. Unknown stays
// null.
import { list, number, raw, word, type Raw } from "../../format/raw";
import { apart } from "./apart";

const ratio = (a: number | null, b: number | null): number | null => (a !== null && b !== null && b > 0 ? a / b : null);

// ---- hardware counters -------------------------------------------------------------------------------

export interface Value {
  values: number; // how many
  mean: number | null;
  least: number | null;
  most: number | null;
}

/** What metrics were counted for: a kernel in its scope, a range, a scope, or the run. */
export interface Counted {
  symbol: string; // the kernel's; "": no kernel
  short: string; // of the kernel
  uncut?: string | undefined;
  place: string; // range or scope; "": none
  run: boolean; // the sum of all that was sampled over time
  device: number | null; // the driver's ordinal, if the session has several GPUs
  values: number; // the largest count of values of a metric
  metrics: ReadonlyMap<string, Value>; // by the driver's name
}

export interface Counters {
  metrics: string[]; // in the order of the report
  rows: Counted[];
}

const valueOf = (row: Raw): Value => ({ values: number(row.values) ?? 0, mean: number(row.mean), least: number(row.least), most: number(row.most) });

const either = (a: number | null, b: number | null, pick: (a: number, b: number) => number): number | null => (a === null ? b : b === null ? a : pick(a, b));

/** Two sums of one metric; means are weighted by their counts of values. */
function added(a: Value, b: Value): Value {
  const values = a.values + b.values;
  const mean = a.mean !== null && b.mean !== null && values > 0 ? (a.mean * a.values + b.mean * b.values) / values : (a.mean ?? b.mean);
  return { values, mean, least: either(a.least, b.least, Math.min), most: either(a.most, b.most, Math.max) };
}

/** One row for each thing that was counted, in the report's order. The row of the run comes
 * before the scopes that were sampled over time. */
export function countersOf(part: unknown): Counters {
  const all = list(raw(part).counters);
  const several = new Set(all.map((row) => number(row.device))).size > 1;
  const metrics = new Set<string>();
  const rows = new Map<string, Omit<Counted, "metrics"> & { metrics: Map<string, Value> }>();
  const put = (row: Raw, of: { symbol: string; short: string; place: string; run: boolean }): void => {
    const device = several ? number(row.device) : null;
    const key = JSON.stringify([of.run, row.source, device, of.symbol, of.place]);
    const made = rows.get(key) ?? { ...of, device, values: 0, metrics: new Map<string, Value>() };
    const metric = word(row.metric);
    const before = made.metrics.get(metric);
    const value = before ? added(before, valueOf(row)) : valueOf(row);
    made.metrics.set(metric, value);
    made.values = Math.max(made.values, value.values);
    metrics.add(metric);
    rows.set(key, made);
  };
  const sampled = all.filter((row) => row.source === "sampled");
  for (const row of sampled) put(row, { symbol: "", short: "", place: "", run: true });
  for (const row of sampled) if (word(row.scope)) put(row, { symbol: "", short: "", place: word(row.scope), run: false });
  for (const row of all) if (row.source !== "sampled") put(row, { symbol: word(row.kernel_symbol), short: word(row.short_name), place: word(row.range) || word(row.scope), run: false });
  return { metrics: [...metrics], rows: apart([...rows.values()]) };
}

export interface CountedMetric extends Value {
  metric: string;
  place: string;
  device: number | null;
}

/** The counts of one kernel. */
export const countersOfKernel = (part: unknown, symbol: string): CountedMetric[] =>
  countersOf(part)
    .rows.filter((row) => row.symbol === symbol && symbol !== "")
    .flatMap((row) => [...row.metrics].map(([metric, value]) => ({ metric, place: row.place, device: row.device, ...value })));

// ---- counted instructions ----------------------------------------------------------------------------

export interface Executed {
  name: string;
  short: string;
  uncut?: string | undefined;
  symbol: string; // "": the report does not name it
  scope: string; // "": all of them
  executed: number | null;
  threads: number | null; // part of a warp's threads that work; 0 to 1
  needed: number | null; // part of the sectors of global memory that is needed, 0 to 1
  conflicts: number | null; // wavefronts of shared memory for each that is needed
}

const M = "smsp__sass_";

/** Sectors that are needed; some drivers count loads and stores separately. */
export function idealSectors(value: (name: string) => number | null): number | null {
  const all = value("sectors_mem_global_ideal");
  if (all !== null && all > 0) return all;
  const [loads, stores] = [value("sectors_mem_global_op_ld_ideal"), value("sectors_mem_global_op_st_ideal")];
  return loads === null && stores === null ? all : (loads ?? 0) + (stores ?? 0);
}

type Row = ReturnType<typeof list>[number];

function executedOf(rows: readonly Row[], warp: number | null): Executed {
  const value = (name: string) => rows.map((row) => number(row[`${M}${name}`])).reduce((sum, one) => (sum === null || one === null ? (sum ?? one) : sum + one), null);
  const executed = value("inst_executed");
  const sectors = value("sectors_mem_global");
  const needed = idealSectors(value);
  const ideal = value("l1tex_pipe_lsu_wavefronts_mem_shared_ideal");
  const wavefronts = value("l1tex_pipe_lsu_wavefronts_mem_shared");
  return {
    name: word(rows[0]!.kernel),
    short: word(rows[0]!.short_name),
    symbol: word(rows[0]!.symbol),
    scope: word(rows[0]!.scope),
    executed,
    threads: ratio(value("thread_inst_executed"), executed !== null && warp !== null ? executed * warp : null),
    needed: needed ? ratio(needed, sectors) : null,
    conflicts: wavefronts ? ratio(wavefronts, ideal) : null,
  };
}

/** By kernel, and by kernel and scope; most instructions first. */
export function instructionsOf(part: unknown): Executed[] {
  const from = raw(raw(part).instructions);
  const rows = list(from.kernels).map((row) => executedOf([row], number(from.warp_size)));
  return apart(rows.sort((a, b) => (b.executed ?? 0) - (a.executed ?? 0)));
}

/** Counts of one kernel, over all code objects that contain it. */
export function instructionsOfKernel(part: unknown, symbol: string): Executed | undefined {
  const from = raw(raw(part).instructions);
  const rows = list(from.kernels).filter((row) => symbol !== "" && word(row.symbol) === symbol && !word(row.scope));
  return rows.length > 0 ? executedOf(rows, number(from.warp_size)) : undefined;
}

// ---- samples by kernel -------------------------------------------------------------------------------

interface Sampled {
  samples: number;
  share: number; // of all samples
  issued: number | null; // part of the samples with a known reason in which the warp issued; null: there are none
  reasons: { reason: string; part: number }[]; // most frequent first
}

export interface SampledKernel extends Sampled {
  name: string;
  short: string;
  uncut?: string | undefined;
  symbol: string; // of the function with most of them, where several have the name
  margin: number | null; // of the share, at 95 %
}

/** Samples by reason, for any set of samples. */
function sampledOf(reasons: ReadonlyMap<string, number>, whole: number): Sampled {
  const all = [...reasons.values()].reduce((sum, n) => sum + n, 0);
  const waits = [...reasons].filter(([reason]) => reason && !PICKED.has(reason)).sort((a, b) => b[1] - a[1]);
  const picked = [...PICKED].reduce((sum, reason) => sum + (reasons.get(reason) ?? 0), 0);
  const known = all - (reasons.get("") ?? 0);
  return { samples: all, share: whole ? all / whole : 0, issued: known ? picked / known : null, reasons: waits.map(([reason, n]) => ({ reason, part: all ? n / all : 0 })) };
}

/** Kernels' shares of the time in which multiprocessors had work: all that is known of that time
 * if kernels are not recorded. */
export function sampledKernelsOf(part: unknown): SampledKernel[] {
  const samples = raw(raw(part).samples);
  const whole = number(samples.samples) ?? 0;
  const margins = new Map(list(samples.shares).map((row) => [word(row.kernel), number(row.margin)]));
  const kernels = new Map<string, { short: string; reasons: Map<string, number>; symbols: Map<string, number> }>();
  for (const row of list(samples.kernels)) {
    const name = word(row.kernel) || word(row.symbol);
    const n = number(row.samples) ?? 0;
    const kernel = kernels.get(name) ?? { short: word(row.short_name) || name, reasons: new Map<string, number>(), symbols: new Map<string, number>() };
    const count = (sums: Map<string, number>, key: string): void => void sums.set(key, (sums.get(key) ?? 0) + n);
    count(kernel.reasons, word(row.reason));
    count(kernel.symbols, word(row.symbol));
    kernels.set(name, kernel);
  }
  const rows = [...kernels].map(([name, { short, reasons, symbols }]) => ({ name, short, symbol: [...symbols].sort((a, b) => b[1] - a[1])[0]![0], margin: margins.get(name) ?? null, ...sampledOf(reasons, whole) }));
  return apart(rows.sort((a, b) => b.samples - a.samples));
}

// ---- samples by scope --------------------------------------------------------------------------------

export interface SampledScope extends Sampled {
  scope: string;
}

/** Reasons of class RUNNING (stall.def): a warp that issued an instruction does not wait. */
export const PICKED: ReadonlySet<string> = new Set(["selected", "none", "wave_issued"]);

export function sampledScopesOf(part: unknown): SampledScope[] {
  const samples = raw(raw(part).samples);
  const whole = number(samples.samples) ?? 0;
  const scopes = new Map<string, Map<string, number>>();
  for (const row of list(samples.scopes)) {
    if (!number(row.samples)) continue; // rows that are only estimated
    const name = word(row.scope);
    const reasons = scopes.get(name) ?? new Map<string, number>();
    const reason = word(row.reason);
    reasons.set(reason, (reasons.get(reason) ?? 0) + (number(row.samples) ?? 0));
    scopes.set(name, reasons);
  }
  return [...scopes]
    .map(([scope, reasons]) => ({ scope, ...sampledOf(reasons, whole) }))
    .sort((a, b) => b.samples - a.samples);
}
