// piece.ts - a piece of the session as typed arrays, made from the server's answers in the worker
// and transferred without a copy. The rows of a lane are contiguous and ordered by time. Only rows
// that start (sums) or are (events) within a piece are drawn from it, so that neighbours never draw
// a row twice.
export interface TileRows {
  lane: readonly (string | null)[];
  at: readonly (number | null)[];
  events: readonly (number | null)[];
  busy: readonly (number | null)[];
  longest: readonly (number | null)[];
  name: readonly (number | null)[];
}

export interface SpanRows {
  lane: readonly (string | null)[];
  start: readonly (number | null)[];
  duration: readonly (number | null)[];
  name: readonly (number | null)[];
  ref: readonly (number | null)[];
}

export type Numbers = Uint32Array | Float64Array;

export interface Sums {
  offsets: Uint32Array; // lane i of the block has the rows offsets[i] to offsets[i + 1]
  at: Float64Array; // begin of the column, ns
  events: Numbers;
  busy: Numbers; // ns
  longest: Numbers; // ns
  name: Uint32Array; // names.ts; 0: none
}

export interface Events {
  offsets: Uint32Array;
  start: Float64Array; // ns
  duration: Float64Array; // ns
  name: Uint32Array;
  ref: Float64Array; // correlation or instance; NaN: unknown
  stack: Uint32Array; // id in the session (lines.ts); 0: unknown; empty where all are
  domain?: Uint32Array; // of marks; names.ts; 0: none
  longest: Float64Array; // for each lane of the block, ns of its longest event, for searching back
}

export interface Points {
  at: Float64Array;
  least: Float64Array;
  mean: Float64Array;
  most: Float64Array;
}

export interface Piece {
  from: number;
  to: number;
  column: number; // ns of a column of sums; 0: the piece has no sums, and its events are complete
  sums: Sums | null;
  events: Events | null;
  points: Points | null;
  halved: boolean; // there were more events than the limit, so that the two halves are asked for
}

export type NameOf = (index: number) => number; // number of an answer's name

/** Offsets of each lane's rows; rows of lanes that were not asked for are skipped. */
function offsetsOf(lane: readonly (string | null)[], keep: (row: number) => boolean, lanes: readonly string[]): { offsets: Uint32Array; rows: Uint32Array } {
  const place = new Map(lanes.map((id, at) => [id, at]));
  const counts = new Uint32Array(lanes.length + 1);
  const of = new Int32Array(lane.length);
  let last: string | null = null;
  let at = -1;
  for (let i = 0; i < lane.length; i++) {
    if (lane[i] !== last) {
      last = lane[i]!;
      at = last === null ? -1 : (place.get(last) ?? -1);
    }
    of[i] = at >= 0 && keep(i) ? at : -1;
    if (of[i]! >= 0) counts[of[i]! + 1]!++;
  }
  for (let i = 0; i < lanes.length; i++) counts[i + 1]! += counts[i]!;
  const next = counts.slice();
  const rows = new Uint32Array(counts[lanes.length]!);
  for (let i = 0; i < lane.length; i++) if (of[i]! >= 0) rows[next[of[i]!]!++] = i;
  return { offsets: counts, rows };
}

/** A time that a double cannot hold exactly (104 days after the start) is unknown. */
const fits = (time: number | null): time is number => time !== null && Number.isSafeInteger(time);

/** The numbers in half the room, if all of them are whole and below 2^32. */
function packed(numbers: Float64Array): Numbers {
  const small = Uint32Array.from(numbers);
  return small.every((number, at) => number === numbers[at]) ? small : numbers;
}

export function sumsOf(data: TileRows, lanes: readonly string[], from: number, to: number, name: NameOf): Sums {
  const { offsets, rows } = offsetsOf(data.lane, (i) => fits(data.at[i]!) && data.at[i]! >= from && data.at[i]! < to, lanes);
  const n = rows.length;
  const sums = { offsets, at: new Float64Array(n), events: new Float64Array(n), busy: new Float64Array(n), longest: new Float64Array(n), name: new Uint32Array(n) };
  for (let i = 0; i < n; i++) {
    const row = rows[i]!;
    const id = data.name[row];
    sums.at[i] = data.at[row]!;
    sums.events[i] = data.events[row] ?? 0;
    sums.busy[i] = data.busy[row] ?? 0;
    sums.longest[i] = data.longest[row] ?? 0;
    sums.name[i] = id === null || id === undefined ? 0 : name(id);
  }
  return { ...sums, events: packed(sums.events), busy: packed(sums.busy), longest: packed(sums.longest) };
}

export function eventsOf(data: SpanRows, lanes: readonly string[], name: NameOf): Events {
  const { offsets, rows } = offsetsOf(data.lane, (i) => fits(data.start[i]!) && (data.duration[i] ?? -1) >= 0, lanes);
  const n = rows.length;
  const events: Events = { offsets, start: new Float64Array(n), duration: new Float64Array(n), name: new Uint32Array(n), ref: new Float64Array(n), stack: new Uint32Array(0), longest: new Float64Array(lanes.length) };
  for (let lane = 0; lane < lanes.length; lane++)
    for (let i = offsets[lane]!; i < offsets[lane + 1]!; i++) {
      const row = rows[i]!;
      const id = data.name[row];
      events.start[i] = data.start[row]!;
      events.duration[i] = data.duration[row]!;
      events.name[i] = id === null || id === undefined ? 0 : name(id);
      events.ref[i] = data.ref[row] ?? NaN;
      if (events.duration[i]! > events.longest[lane]!) events.longest[lane] = events.duration[i]!;
    }
  return events;
}

export interface MarkRows {
  start: readonly (number | null)[];
  name: readonly (number | null)[];
  domain: readonly (number | null)[];
  thread: readonly (number | null)[];
  scope: readonly (number | null)[];
}

/** Marks of threads, as events without a duration. `lanes`: the ids of the threads' lanes;
 * laneOf: the lane of a thread. */
export function marksOf(data: MarkRows, lanes: readonly string[], laneOf: (thread: number) => string, name: NameOf): Events {
  const lane = data.thread.map((thread) => laneOf(thread ?? 0));
  const { offsets, rows } = offsetsOf(lane, (i) => fits(data.start[i]!), lanes);
  const ids = (cells: readonly (number | null)[]) => Uint32Array.from(rows, (row) => (cells[row] === null || cells[row] === undefined ? 0 : name(cells[row]!)));
  return {
    offsets,
    start: Float64Array.from(rows, (row) => data.start[row]!),
    duration: new Float64Array(rows.length),
    name: ids(data.name),
    ref: Float64Array.from(rows, (row) => data.scope[row] || NaN),
    stack: new Uint32Array(0),
    domain: ids(data.domain),
    longest: new Float64Array(lanes.length),
  };
}

export interface StackRows {
  lane: readonly (string | null)[];
  start: readonly (number | null)[];
  stack: readonly (number | null)[];
}

export const stackOf = (events: Events, i: number): number => events.stack[i] ?? 0;

function putStack(events: Events, i: number, stack: number): void {
  if (stack && !events.stack.length) events.stack = new Uint32Array(events.start.length);
  if (events.stack.length) events.stack[i] = stack;
}

/** Gives events of some lanes their stacks, which the server sends separately, by lane and
 * start. */
export function putStacks(events: Events, lanes: readonly string[], rows: StackRows): void {
  const stacks = new Map(rows.lane.map((lane, i) => [`${lane}/${rows.start[i]}`, rows.stack[i] ?? 0]));
  if (stacks.size === 0) return;
  lanes.forEach((lane, at) => {
    for (let i = events.offsets[at]!; i < events.offsets[at + 1]!; i++) putStack(events, i, stacks.get(`${lane}/${events.start[i]}`) ?? 0);
  });
}

/** Gives kernels the stacks of their launches, by correlation id. */
export function putLaunchStacks(events: Events, at: number, stacks: ReadonlyMap<number, number>): void {
  for (let i = events.offsets[at]!; i < events.offsets[at + 1]!; i++) putStack(events, i, stacks.get(events.ref[i]!) ?? 0);
}

interface SeriesRows {
  at: readonly (number | null)[];
  least: readonly (number | null)[];
  mean: readonly (number | null)[];
  most: readonly (number | null)[];
}

export function pointsOf(data: SeriesRows, from: number, to: number): Points {
  const rows: number[] = [];
  data.at.forEach((at, i) => {
    if (fits(at) && at >= from && at < to && data.mean[i] !== null) rows.push(i);
  });
  const column = (cells: readonly (number | null)[]) => Float64Array.from(rows, (i) => cells[i] ?? NaN);
  return { at: column(data.at), least: column(data.least), mean: column(data.mean), most: column(data.most) };
}

const arrays = (part: object | null): ArrayBufferView[] => (part ? Object.values(part).filter(ArrayBuffer.isView) : []);

export const buffersOf = (piece: Piece): ArrayBuffer[] => [piece.sums, piece.events, piece.points].flatMap((part) => arrays(part).map((view) => view.buffer as ArrayBuffer));

export const bytesOf = (piece: Piece): number => 200 + buffersOf(piece).reduce((sum, buffer) => sum + buffer.byteLength, 0);

/** First row of [from, to) whose time is at least `time`. */
export function lowerBound(times: Float64Array, from: number, to: number, time: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (times[middle]! < time) from = middle + 1;
    else to = middle;
  }
  return from;
}
