// looks.ts - samples of host threads and captured launches as events of lanes. A sample says where
// a thread was at one moment: its line is drawn until the next sample. Consecutive samples of one
// line are one event, so that a reader sees what the thread did and for how long.
import { KIND } from "./lanes";
import type { Events } from "./piece";
import type { View } from "./view";

export interface SampleRow {
  at: number;
  samples: number;
  state: number; // 1 on a core, 2 without one, 3 blocked, 4 waits for the interpreter's lock; 0: not known
  stack: number; // 0: not known
}

export interface LaunchRow {
  at: number;
  launches: number;
  correlation: number; // NaN: no correlation
  stack: number;
}

/** An event of a lane that covers several samples. */
interface Run {
  start: number;
  end: number;
  value: number;
  stack: number;
  samples: number;
}

const MOST = 20e6; // ns that a sample covers at most, if samples come one by one
const LEAST = 1e6;

/** How long before a time samples may begin that cover it, in whole steps. */
export const reachOf = (step: number): number => Math.max(2, Math.ceil((1.5 * MOST) / step)) * step;

/** How long a sample counts: the median distance of samples. */
export function periodOf(rows: readonly SampleRow[], step: number): number {
  const apart = rows.slice(1).map((row, i) => row.at - rows[i]!.at).sort((a, b) => a - b);
  const median = apart[apart.length >> 1] ?? MOST;
  return Math.max(step, Math.min(MOST, Math.max(LEAST, median)));
}

/** Samples of one thread, by time, as runs of equal values. */
export function runsOf(rows: readonly SampleRow[], step: number, valueOf: (row: SampleRow) => number): Run[] {
  const period = 1.5 * periodOf(rows, step);
  const runs: Run[] = [];
  rows.forEach((row, i) => {
    const next = rows[i + 1]?.at ?? Infinity;
    const end = Math.min(next, row.at + period);
    const value = valueOf(row);
    const last = runs[runs.length - 1];
    if (last && last.value === value && last.end >= row.at) {
      last.end = end;
      last.samples += row.samples;
    } else if (value) runs.push({ start: row.at, end, value, stack: row.stack, samples: row.samples });
  });
  return runs;
}

/** The value that most of some samples have; 0: none. */
export function stateOf(counts: readonly (number | null)[]): number {
  let best = 0;
  counts.forEach((count, i) => {
    if ((count ?? 0) > (best ? (counts[best - 1] ?? 0) : 0)) best = i + 1;
  });
  return best;
}

/** Events of each lane in turn. */
function eventsOf(lists: readonly (readonly Run[])[]): Events {
  const n = lists.reduce((sum, runs) => sum + runs.length, 0);
  const events: Events = { offsets: new Uint32Array(lists.length + 1), start: new Float64Array(n), duration: new Float64Array(n), name: new Uint32Array(n), ref: new Float64Array(n), stack: new Uint32Array(n), longest: new Float64Array(lists.length) };
  let at = 0;
  lists.forEach((runs, lane) => {
    for (const run of runs) {
      events.start[at] = run.start;
      events.duration[at] = run.end - run.start;
      events.name[at] = run.value;
      events.ref[at] = run.samples;
      events.stack[at] = run.stack;
      events.longest[lane] = Math.max(events.longest[lane]!, run.end - run.start);
      at++;
    }
    events.offsets[lane + 1] = at;
  });
  return events;
}

/** The parts of the runs within a piece: the piece before has the rest of a run that begins there, and also draws that part. */
const within = (runs: readonly Run[], { from, to }: View): Run[] => runs.map((run) => ({ ...run, start: Math.max(from, run.start), end: Math.min(to, run.end) })).filter((run) => run.end > run.start);

export interface LookLane {
  kind: number;
  ref: number; // thread
}

export interface Looked {
  samples: ReadonlyMap<number, readonly SampleRow[]>; // by thread
  launches: ReadonlyMap<number, readonly LaunchRow[]>;
  step: number; // ns that a row covers; 1: one by one
}

/** places: the line of each stack id; equal lines are one, whatever the stacks are. piece: the times of the piece; samples may begin
 * before it, by reachOf() its step. */
export function looksOf(lanes: readonly LookLane[], looked: Looked, places: Uint32Array, piece: View): Events {
  const lineOf = (row: SampleRow): number => (row.stack ? (places[row.stack] ?? 0) || row.stack + 2 ** 24 : 0);
  return eventsOf(
    lanes.map(({ kind, ref }) => {
      if (kind === KIND.launch)
        return (looked.launches.get(ref) ?? []).map((row) => ({ start: row.at, end: looked.step > 1 ? row.at + looked.step : row.at, value: row.launches, stack: row.stack, samples: looked.step > 1 ? NaN : row.correlation }));
      return within(runsOf(looked.samples.get(ref) ?? [], looked.step, kind === KIND.state ? (row) => row.state : lineOf), piece);
    }),
  );
}
