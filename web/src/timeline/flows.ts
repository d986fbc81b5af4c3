// flows.ts - links between an event of the host and an event of the GPU. A kernel is linked to its
// captured launch by the correlation id, to the launch of its graph, or else to the scope that it
// was launched in; a copy is linked to its call. The driver reuses ids after 2^32, so that only
// events near in time are linked.
import { client } from "../api/client";
import { launchCallOf } from "./calls";
import { rowsOf } from "../api/columns";
import { foundOf, type Found } from "./events";
import { KIND, laneIdOf, listOf, type Lane } from "./lanes";
import type { End, Flow } from "./scene";

const NEAR = [20e6, 1e9, 30e9]; // ns between the host's event and the GPU's, at most
const LAUNCHES = 2000;

const endOf = (f: Found): End => ({ lane: f.lane, start: f.start, duration: f.duration, name: null, ref: f.ref });

async function find(session: string, lanes: readonly Lane[], from: number, to: number, fits: (f: Found) => boolean, signal: AbortSignal): Promise<Found[]> {
  if (lanes.length === 0 || to <= from) return [];
  const ids = lanes.slice(0, 256).map((lane) => lane.id);
  return foundOf(await client.get("events", { session, lanes: listOf(ids), from: Math.max(0, Math.floor(from)), to: Math.ceil(to), limit: 20_000 }, signal)).filter(fits);
}

/** Searches further and further back from `until`. */
async function findBefore(session: string, lanes: readonly Lane[], until: number, fits: (f: Found) => boolean, signal: AbortSignal): Promise<Found | null> {
  for (const near of NEAR) {
    const found = await find(session, lanes, until - near, until, fits, signal);
    const last = found[found.length - 1];
    if (last) return last;
    if (until - near <= 0) return null;
  }
  return null;
}

const lanesOf = (lanes: readonly Lane[], kinds: readonly number[], ref?: number | null): Lane[] =>
  lanes.filter((lane) => kinds.includes(lane.kind) && (ref === undefined || ref === null || lane.ref === ref));

export interface Launch {
  start: number | null;
  duration: number | null;
  name: number | null;
  config: number | null;
  stream: number | null;
  correlation: number | null;
  scope: number | null;
  graph: number | null;
  stack: number | null;
  thread: number | null;
}

/** A kernel's own row. */
export async function launchOf(session: string, stream: number, start: number, signal: AbortSignal): Promise<Launch | null> {
  const answer = await client.get("launches", { session, stream, from: start, to: start + 1, limit: 100 }, signal);
  return rowsOf(answer)[0] ?? null;
}

/** Where links are searched; threads: those with captured launches. */
export interface Where {
  session: string;
  lanes: readonly Lane[];
  threads: readonly number[];
}

/** The link from the captured launch, or else from the scope that the kernel was launched in. */
async function ofKernel({ session, lanes, threads }: Where, end: End, launch: Launch | null, signal: AbortSignal): Promise<Flow[]> {
  if (!launch) return [];
  const call = await launchCallOf(session, threads, end.ref, end.start, signal);
  if (call) return [{ from: { lane: laneIdOf(KIND.launch, 0, call.thread), start: call.at, duration: 0, name: null, ref: end.ref }, to: end }];
  const by = launch.graph
    ? await findBefore(session, lanesOf(lanes, [KIND.graph]), end.start, (f) => f.ref === launch.correlation && f.start <= end.start, signal)
    : launch.scope
      ? await findBefore(session, lanesOf(lanes, [KIND.scope], launch.thread), end.start, (f) => f.ref === launch.scope && f.start <= end.start, signal)
      : null;
  return by ? [{ from: endOf(by), to: end }] : [];
}

/** Which launches are links of an event. correlation: undefined: those of all calls. reach: ns after
 * the event in which they begin. */
interface Launches {
  correlation?: number;
  reach: number;
  fits?: (launch: Launch) => boolean;
}

async function toKernels({ session, lanes }: Where, end: End, { correlation, reach, fits = () => true }: Launches, signal: AbortSignal): Promise<Flow[]> {
  const streams = new Map(lanesOf(lanes, [KIND.kernel]).map((lane) => [lane.ref, lane.id]));
  const query = correlation === undefined ? {} : { correlation };
  const answer = await client.get("launches", { session, ...query, from: end.start, to: Math.ceil(end.start + end.duration + reach), limit: LAUNCHES }, signal);
  return rowsOf(answer)
    .filter(fits)
    .flatMap((launch) => {
      const lane = streams.get(launch.stream ?? -1);
      return lane ? [{ from: end, to: { lane, start: launch.start ?? 0, duration: launch.duration ?? 0, name: null, ref: launch.correlation ?? NaN } }] : [];
    });
}

/** The links of an event. */
export async function flowsOf(where: Where, lane: Lane, end: End, launch: Launch | null, signal: AbortSignal): Promise<Flow[]> {
  const { session, lanes } = where;
  const same = (f: Found): boolean => f.ref === end.ref;
  switch (lane.kind) {
    case KIND.kernel:
      return ofKernel(where, end, launch, signal);
    case KIND.launch:
      return Number.isFinite(end.ref) ? (await toKernels(where, end, { correlation: end.ref, reach: NEAR[2]! }, signal)).slice(0, 1) : [];
    case KIND.graph: {
      const kernels = await toKernels(where, end, { correlation: end.ref, reach: 5e9 }, signal);
      const runs = kernels.length ? [] : await find(session, lanesOf(lanes, [KIND.run]), end.start, end.start + end.duration + 5e9, same, signal);
      return [...kernels, ...runs.slice(0, 1).map((f) => ({ from: end, to: endOf(f) }))];
    }
    case KIND.run: {
      const by = await findBefore(session, lanesOf(lanes, [KIND.graph]), end.start, (f) => same(f) && f.start <= end.start, signal);
      return by ? [{ from: endOf(by), to: end }] : [];
    }
    case KIND.scope:
      return toKernels(where, end, { reach: 50e6, fits: (launch) => launch.scope === end.ref }, signal);
    case KIND.copy: {
      const by = await findBefore(session, lanesOf(lanes, [KIND.wait]), end.start, (f) => same(f) && f.start <= end.start, signal);
      return by ? [{ from: endOf(by), to: end }] : [];
    }
    case KIND.wait:
    case KIND.sync: {
      const found = await find(session, lanesOf(lanes, [KIND.copy]), end.start, end.start + end.duration + NEAR[0]!, same, signal);
      return found.slice(0, 50).map((f) => ({ from: end, to: endOf(f) }));
    }
    default:
      return [];
  }
}
