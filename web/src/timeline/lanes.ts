// lanes.ts - the meaning of the numbers of lanes (src/wire/tile.h), and the tracks that are drawn:
// lanes of events, and metrics of devices and of the host, in categories, in one stable order.
import { timelineText as text } from "../text/timeline";
import { nameOfCause } from "./causes";
import type { Piece } from "./piece";
import { ALLOCATED, counterMetric, type Counter, type Metric } from "../format/metrics";

export const KIND = { kernel: 1, copy: 2, sync: 3, wait: 4, scope: 5, graph: 6, run: 7, sample: 8, state: 9, launch: 10, gap: 11, mark: 12 } as const;
export const GAP = KIND.gap;
/** Kinds that the server numbers; this page makes the others. */
export const ofServer = (kind: number): boolean => (kind >= KIND.kernel && kind <= KIND.run) || kind === KIND.mark;

export interface Lane {
  id: string; // 64 bits, decimal: no number can hold it
  kind: number;
  depth: number; // of scopes
  ref: number; // stream or host thread
  events: number;
  busy: number; // ns
  first: number; // ns since the session's start
  last: number;
  piece?: Piece; // all of its events, so that nothing is asked for
  rank?: RankOf; // the lane belongs to that session of the run; its times are on that session's clock
}

/** A session of the run besides the one that is open. */
export interface RankOf {
  session: string;
  number: number; // its position in the run, from 0
  offset: number; // ns from the start of the session that is open to its own start
}

/** The lane's number as the server has it. */
export const askedId = (lane: Lane): string => (lane.rank ? lane.id.slice(0, lane.id.indexOf("@")) : lane.id);

/** Numbers as an address lists them: a run of numbers as its first number and its count
 * (docs/server.md), because the numbers of lanes are long and mostly consecutive. */
export function listOf(numbers: readonly string[]): string {
  const sorted = numbers.map(BigInt).sort((a, b) => (a < b ? -1 : Number(a > b)));
  const runs: [first: bigint, last: bigint][] = [];
  for (const number of sorted) {
    const run = runs.at(-1);
    if (run && number <= run[1] + 1n) run[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}*${last - first + 1n}`)).join();
}

/** The ns to add to the lane's own times for times on the shown clock. */
export const offsetOf = (lane: Lane): number => lane.rank?.offset ?? 0;

/** The number of a lane, like lane_make of src/wire/tile.h. */
export const laneIdOf = (kind: number, depth: number, ref: number): string => ((BigInt(kind) << 56n) | (BigInt(depth) << 48n) | BigInt(ref)).toString();

/** Kinds that are asked for as samples and captured launches, not as events. */
export const isLook = (kind: number): boolean => kind === KIND.sample || kind === KIND.state || kind === KIND.launch;

export interface LookedAt {
  thread: number | null;
  samples: number | null;
  launches: number | null;
  stacks: number | null;
  first: number | null;
  last: number | null;
}

/** The lanes of a thread that was sampled. */
export function lookLanes(row: LookedAt): Lane[] {
  const { thread, samples, launches, stacks } = row;
  if (thread === null || thread < 0) return [];
  const first = row.first ?? 0;
  const lane = (kind: number, events: number | null): Lane[] => (events ? [{ id: laneIdOf(kind, 0, thread), kind, depth: 0, ref: thread, events, busy: 0, first, last: Math.max(first, row.last ?? first) }] : []);
  return [...lane(KIND.launch, launches), ...lane(KIND.sample, stacks), ...lane(KIND.state, samples)];
}

export interface LaneRow {
  lane: string | null;
  events: number | null;
  busy: number | null;
  first: number | null;
  last: number | null;
}

/** The lane of a number; null: not a lane, or of a kind that this page does not know. */
export function laneOf(row: LaneRow): Lane | null {
  if (row.lane === null || !/^\d+$/.test(row.lane)) return null;
  const number = BigInt(row.lane);
  const kind = Number(number >> 56n);
  if (!ofServer(kind)) return null;
  const first = row.first ?? 0;
  return {
    id: row.lane,
    kind,
    depth: Number((number >> 48n) & 255n),
    ref: Number(number & 0xffffffffffffn),
    events: row.events ?? 0,
    busy: row.busy ?? 0,
    first,
    last: Math.max(first, row.last ?? first),
  };
}

export type Category = "threads" | "streams" | "idle" | "devices" | "host";
/** A set of rows: a category, or the lanes of a rank. */
export type Group = Category | `rank ${number}`;
export const groupOfRank = (number: number): Group => `rank ${number}`;
export const CATEGORIES: readonly Category[] = ["threads", "streams", "idle", "devices", "host"];

/** The identity by which a metric's points are asked for. */
export interface Source {
  metric: Metric;
  device: number | null; // id in the session; null: of the host
  counter: number | null; // id of a hardware counter; null: not a hardware counter
}

export interface Track {
  key: string; // constant while the session grows, because addresses contain it
  category: Group;
  title: string; // the owner: a thread, a stream, a GPU
  note: string; // which lane of the owner
  height: number; // units
  lane: number; // index into the lanes; -1: a metric
  source: Source | null;
}

export const HEIGHT = { lane: 22, scope: 20, mark: 18, metric: 46, head: 24, rank: 26 } as const;

/** Order of lanes. Threads: marks, scopes from the outside in, then waits, then graph launches.
 * Streams: kernels, whole graphs, copies. */
const ORDER = [0, 0, 2, 60_001, 60_000, 0, 60_002, 1, 59_001, 59_002, 59_000, 0, -1];
const placeOf = (lane: Lane): number => ORDER[lane.kind]! + lane.depth;
export const onHost = (lane: Lane): boolean => lane.kind >= KIND.sync && lane.kind !== KIND.run && lane.kind !== KIND.gap;

/** The names of what lanes refer to, as far as the session has them. */
export interface Owners {
  threads: ReadonlyMap<number, string>; // names
  streams: ReadonlyMap<number, { device: number; number: number | null }>; // device: from 1
}

export const NOBODY: Owners = { threads: new Map(), streams: new Map() };

const deviceOf = (lane: Lane, owners: Owners): number => (onHost(lane) ? 0 : lane.kind === KIND.gap ? 1e9 + lane.ref : (owners.streams.get(lane.ref)?.device ?? 0));

/** The number that the rows of a stream show; a stream without one comes first. */
const numberOf = (lane: Lane, owners: Owners): number => (onHost(lane) || lane.kind === KIND.gap ? 0 : (owners.streams.get(lane.ref)?.number ?? 0));

export function inOrder(lanes: readonly Lane[], owners: Owners = NOBODY): Lane[] {
  return [...lanes].sort((a, b) => Number(onHost(b)) - Number(onHost(a)) || deviceOf(a, owners) - deviceOf(b, owners) || numberOf(a, owners) - numberOf(b, owners) || a.ref - b.ref || placeOf(a) - placeOf(b));
}

function titleOf(lane: Lane, owners: Owners): string {
  if (lane.kind === KIND.gap) return text.device(lane.ref, "");
  if (onHost(lane)) return lane.ref === 0 ? text.threadUnknown : text.thread(lane.ref, owners.threads.get(lane.ref));
  const stream = owners.streams.get(lane.ref);
  return stream ? text.streamOf(stream.device - 1, stream.number) : text.stream(lane.ref);
}

function laneTrack(lane: Lane, at: number, owners: Owners, causes: readonly { cause: string; text: string }[]): Track {
  const title = titleOf(lane, owners);
  const note = lane.kind === KIND.gap ? nameOfCause(causes[lane.depth]) : lane.kind === KIND.scope && lane.depth > 0 ? text.depth(lane.depth) : text.kinds[lane.kind]!;
  return {
    key: lane.id,
    category: onHost(lane) ? "threads" : lane.kind === KIND.gap ? "idle" : "streams",
    title,
    note,
    height: lane.kind === KIND.scope ? HEIGHT.scope : lane.kind === KIND.mark ? HEIGHT.mark : HEIGHT.lane,
    lane: at,
    source: null,
  };
}

function metricTrack(source: Source, title: string, note: string): Track {
  const { device, metric } = source;
  const key = `${device === null ? "h" : `d${device}`}.${metric.name}`;
  return { key, category: device === null ? "host" : "devices", title, note, height: HEIGHT.metric, lane: -1, source };
}

export interface MetricNames {
  devices: readonly string[]; // product names, in the order of the devices
  device: readonly Metric[];
  host: readonly Metric[];
  allocated: boolean; // whether there are allocations to draw
  counters: readonly Counter[];
  text: Record<string, string>;
}

/** All tracks; the lanes are in order already. */
export function tracksOf(lanes: readonly Lane[], names: MetricNames, owners: Owners = NOBODY, causes: readonly { cause: string; text: string }[] = []): Track[] {
  const tracks = lanes.map((lane, at) => laneTrack(lane, at, owners, causes));
  names.devices.forEach((name, index) => {
    const device = index + 1;
    const title = text.device(index, name);
    for (const metric of [...(names.allocated ? [ALLOCATED] : []), ...names.device]) tracks.push(metricTrack({ device, metric, counter: null }, title, names.text[metric.text] ?? metric.text));
    for (const counter of names.counters) if (counter.device === device) tracks.push(metricTrack({ device, metric: counterMetric(counter), counter: counter.id }, title, counter.name));
  });
  names.host.forEach((metric) => tracks.push(metricTrack({ device: null, metric, counter: null }, text.categories.host!, names.text[metric.text] ?? metric.text)));
  return tracks;
}

/** From the first event to the end of the last one, or the session's own length if that is
 * longer. */
export function extent(lanes: readonly Lane[], length: number): [number, number] {
  let from = 0;
  let to = Math.max(1, length);
  for (const lane of lanes) {
    from = Math.min(from, lane.first);
    to = Math.max(to, lane.last);
  }
  return [from, to];
}
