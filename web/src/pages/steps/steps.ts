// steps.ts - the steps of a report (docs/report.md, Steps), which of them are slow, and what a slow one has
// more of than the step of median length. Numbers in, numbers out.
import { list, number, raw, word, type Raw } from "../../format/raw";

export interface Step {
  number: number; // from 1
  start: number; // ns since the session's start
  duration: number;
  busy: number; // of all GPUs together
  idle: number;
  kernels: number | null;
  alike: boolean;
  steady: boolean;
  ratio: number | null; // as a multiple of the median length
  slow: boolean;
}

export interface Steps {
  by: "scope" | "sequence" | null; // null: no steps were found
  why: string; // key of the reason for no steps, or for no steady part
  older: boolean; // the report is older than the search for steps
  scope: string;
  kernel: string;
  count: number;
  leftOut: number;
  devices: number;
  startUp: number | null; // null: no steady part
  inStartUp: number; // steps in the start-up
  median: number | null;
  p95: number | null;
  items: Step[];
}

/** A step is slow if it lasts at least so many times the median. */
export const SLOW = 1.25;

function stepOf(row: Raw, at: number, median: number | null, settled: boolean): Step {
  const duration = number(row.duration_ns) ?? 0;
  const ratio = median ? duration / median : null;
  const steady = row.steady === true;
  return {
    number: at + 1,
    start: number(row.start_ns) ?? 0,
    duration,
    busy: number(row.busy_ns) ?? 0,
    idle: number(row.idle_ns) ?? 0,
    kernels: number(row.kernels),
    alike: row.alike === true,
    steady,
    ratio,
    slow: ratio !== null && ratio >= SLOW && (steady || !settled),
  };
}

export function stepsOf(part: unknown): Steps {
  const from = raw(raw(part).steps);
  const lengths = raw(from.lengths);
  const median = number(lengths.median_ns);
  const startUp = number(from.start_up_ns);
  const items = list(from.items).map((row, at) => stepOf(row, at, median, startUp !== null));
  const all = number(from.count) ?? items.length;
  return {
    by: from.by === "scope" || from.by === "sequence" ? from.by : null,
    why: word(from.why),
    older: !Array.isArray(from.items),
    scope: word(from.scope),
    kernel: word(from.short_name) || word(from.kernel),
    count: all,
    leftOut: number(from.items_left_out) ?? 0,
    devices: Math.max(1, number(from.devices) ?? 1),
    startUp,
    inStartUp: startUp === null ? 0 : all - (number(lengths.count) ?? all),
    median,
    p95: number(lengths.p95_ns),
    items,
  };
}

/** Decimals of a second that tell the begins of two steps apart: the shortest step is longer than the last digit. */
export const digitsOf = ({ items }: Steps): 3 | 6 => (items.every((step) => step.duration >= 1e6) ? 3 : 6);

/** The step whose length is nearest to the median, in the steady part if there is one. */
export function typicalOf({ items, median, startUp }: Steps): Step | null {
  let best: Step | null = null;
  for (const step of items) {
    if (startUp !== null && !step.steady) continue;
    if (!best || Math.abs(step.duration - (median ?? 0)) < Math.abs(best.duration - (median ?? 0))) best = step;
  }
  return best;
}

/** The step that others are compared with: the chosen one, by its number, or else the typical one. */
export const baseOf = (steps: Steps, chosen: string | null): Step | null => steps.items.find((step) => String(step.number) === chosen) ?? typicalOf(steps);

export interface Difference {
  what: "idle" | "busy" | "kernels";
  by: number; // ns, or a count
}

const LEAST_PART = 0.1; // of the difference in length; a smaller part does not explain a slow step

/** The differences of a step to the typical one, the largest first. */
export function differencesOf(step: Step, typical: Step, devices: number): Difference[] {
  const least = Math.abs(step.duration - typical.duration) * devices * LEAST_PART;
  const times: Difference[] = [
    { what: "idle", by: step.idle - typical.idle },
    { what: "busy", by: step.busy - typical.busy },
  ];
  const explaining = times.filter(({ by }) => by !== 0 && Math.abs(by) >= least).sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
  const kernels = step.kernels === null || typical.kernels === null ? 0 : step.kernels - typical.kernels;
  return kernels ? [...explaining, { what: "kernels", by: kernels }] : explaining;
}

/** About `most` steps to draw: the shortest and the longest of each stretch, in their order. */
export function thinned(items: readonly Step[], most: number): readonly Step[] {
  if (items.length <= most) return items;
  const width = items.length / Math.max(1, Math.floor(most / 2));
  const kept: Step[] = [];
  for (let from = 0; from < items.length; from += width) {
    const stretch = items.slice(Math.floor(from), Math.floor(from + width));
    if (stretch.length === 0) continue;
    const low = stretch.reduce((a, b) => (b.duration < a.duration ? b : a));
    const high = stretch.reduce((a, b) => (b.duration > a.duration ? b : a));
    kept.push(...(low === high ? [low] : low.number < high.number ? [low, high] : [high, low]));
  }
  return kept;
}
