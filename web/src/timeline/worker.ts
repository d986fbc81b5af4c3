// worker.ts - runs next to the page: asks the server for pieces and makes typed arrays of the
// answers. The worker keeps only the numbers of names; the page keeps the pieces.
import { makeClient, Problem } from "../api/client";
import { Who } from "../api/who";
import { allocationRows, heldOf } from "../format/held";
import { ALLOCATED } from "../format/metrics";
import { levelOf, RAW_LIMIT } from "./lod";
import type { Name } from "./names";
import { isLook, KIND, laneIdOf, listOf } from "./lanes";
import { looksOf, reachOf, stateOf, type LaunchRow, type SampleRow } from "./looks";
import { buffersOf, eventsOf, marksOf, pointsOf, putLaunchStacks, putStacks, sumsOf, type Events, type Piece } from "./piece";
import type { Ask, Asked, AskLanes, AskSeries, Reply } from "./protocol";

const ROWS_LIMIT = 50_000; // rows of samples, launches, or waits with stacks in one piece
const SPANS_LIMIT = 100_000; // beyond this limit the server leaves out the shortest, which are below one px each

const who = new Who(); // the page's identity, sent with each request
const client = makeClient(undefined, who, 0);
const running = new Map<number, AbortController>();
const numbers = new Map<string, number>(); // of names, by their text in the program
let fresh: Name[] = []; // not sent to the page yet
let places: Uint32Array = new Uint32Array(0); // the line of each stack id

interface Named {
  names: readonly string[];
  mangled: readonly string[];
  short_names: readonly string[];
}

function numberOf(answer: Named): (index: number) => number {
  return (index) => {
    const mangled = answer.mangled[index];
    if (mangled === undefined) return 0;
    let number = numbers.get(mangled);
    if (number === undefined) {
      number = numbers.size + 1;
      numbers.set(mangled, number);
      const name = answer.names[index] ?? mangled;
      fresh.push({ name, mangled, short: answer.short_names[index] ?? name });
    }
    return number;
  };
}

const kindOf = (lane: string): number => Number(BigInt(lane) >> 56n);
const refOf = (lane: string): number => Number(BigInt(lane) & 0xffffffffffffn);
const BEFORE = 100e6; // ns from a launch to its kernel, at most: for stacks of kernels

/** Samples and captured launches of threads. */
async function lookPiece(ask: AskLanes, signal: AbortSignal): Promise<Piece> {
  const { session, lod, from, to } = ask;
  const step = lod.raw ? 1 : levelOf(lod.m).column;
  const lanes = ask.lanes.map((lane) => ({ kind: kindOf(lane), ref: refOf(lane) }));
  const threads = (launches: boolean): string => listOf(lanes.filter(({ kind }) => (kind === KIND.launch) === launches).map(({ ref }) => String(ref)));
  const before = from > 0 ? Math.max(0, from - reachOf(step)) : from; // the last samples before the piece cover its begin
  const [samples, launches] = await Promise.all([
    threads(false) ? client.get("samples", { session, threads: threads(false), from: before, to, step, limit: ROWS_LIMIT }, signal) : null,
    threads(true) ? client.get("captured", { session, threads: threads(true), from, to, step, limit: ROWS_LIMIT }, signal) : null,
  ]);
  const looked = { samples: new Map<number, SampleRow[]>(), launches: new Map<number, LaunchRow[]>(), step };
  for (let i = 0; samples && i < samples.rows; i++) {
    const { thread, at, samples: n, running: onCore, ready, blocked, lock, stack } = samples.data;
    const list = looked.samples.get(thread[i] ?? 0) ?? [];
    looked.samples.set(thread[i] ?? 0, list);
    list.push({ at: at[i] ?? 0, samples: n[i] ?? 0, state: stateOf([onCore[i]!, ready[i]!, blocked[i]!, lock[i]!]), stack: stack[i] ?? 0 });
  }
  for (let i = 0; launches && i < launches.rows; i++) {
    const { thread, at, launches: n, correlation, stack } = launches.data;
    const list = looked.launches.get(thread[i] ?? 0) ?? [];
    looked.launches.set(thread[i] ?? 0, list);
    list.push({ at: at[i] ?? 0, launches: n[i] ?? 0, correlation: correlation[i] ?? NaN, stack: stack[i] ?? 0 });
  }
  return { from, to, column: 0, sums: null, events: looksOf(lanes, looked, places, { from, to }), points: null, halved: false };
}

/** The stacks of waits, and of kernels if kernels come one by one. */
async function addStacks(ask: AskLanes, events: Events, signal: AbortSignal): Promise<void> {
  const { session, from, to, lod, threads } = ask;
  const kinds = ask.lanes.map(kindOf);
  const waits = kinds.some((kind) => kind === KIND.wait || kind === KIND.sync);
  const kernels = lod.raw && threads.length > 0 && kinds.includes(KIND.kernel);
  const [waitStacks, captured] = await Promise.all([
    waits ? client.get("waits", { session, from, to, limit: ROWS_LIMIT }, signal) : null,
    kernels ? client.get("captured", { session, threads: listOf(threads.map(String)), from: from - BEFORE, to, step: 1, limit: ROWS_LIMIT }, signal) : null,
  ]);
  if (waitStacks) putStacks(events, ask.lanes, waitStacks.data);
  if (!captured) return;
  const stacks = new Map(captured.data.correlation.map((id, i) => [id ?? -1, captured.data.stack[i] ?? 0]));
  kinds.forEach((kind, at) => kind === KIND.kernel && putLaunchStacks(events, at, stacks));
}

async function lanePiece(ask: AskLanes, signal: AbortSignal): Promise<Piece> {
  if (ask.lanes[0] !== undefined && isLook(kindOf(ask.lanes[0]))) return lookPiece(ask, signal);
  const { session, lod, from, to } = ask;
  const lanes = listOf(ask.lanes);
  const piece: Piece = { from, to, column: 0, sums: null, events: null, points: null, halved: false };
  if (lod.raw && ask.lanes.every((lane) => kindOf(lane) === KIND.mark)) {
    const answer = await client.get("marks", { session, threads: ask.lanes.map(refOf).join(), from, to, limit: RAW_LIMIT }, signal);
    if (answer.rows >= RAW_LIMIT && to - from > 1024) return { ...piece, halved: true };
    return { ...piece, events: marksOf(answer.data, ask.lanes, (thread) => laneIdOf(KIND.mark, 0, thread), numberOf(answer)) };
  }
  if (lod.raw) {
    const answer = await client.get("events", { session, lanes, from, to, limit: RAW_LIMIT }, signal);
    if (answer.rows >= RAW_LIMIT && to - from > 1024) return { ...piece, halved: true };
    const events = eventsOf(answer.data, ask.lanes, numberOf(answer));
    await addStacks(ask, events, signal);
    return { ...piece, events };
  }
  const { level, step, column } = levelOf(lod.m);
  // Columns are the server's: one may begin within the piece and end after it.
  const [tiles, spans] = await Promise.all([
    client.get("tiles", { session, level, step, lanes, from, to: to + column }, signal),
    client.get("spans", { session, level, lanes, from, to, limit: SPANS_LIMIT }, signal),
  ]);
  const sums = sumsOf(tiles.data, ask.lanes, from, to, numberOf(tiles));
  const events = eventsOf(spans.data, ask.lanes, numberOf(spans));
  await addStacks(ask, events, signal);
  return { ...piece, column, sums, events };
}

async function seriesPiece(ask: AskSeries, signal: AbortSignal): Promise<Piece> {
  const { session, device, metric, counter, from, to, step } = ask;
  const piece: Piece = { from, to, column: step, sums: null, events: null, points: null, halved: false };
  if (device !== null && metric === ALLOCATED.name) {
    const { data } = await client.get("allocations", { session, device, step }, signal);
    return { ...piece, points: pointsOf(heldOf(allocationRows(data), step, to), from, to + 1) };
  }
  const answer =
    device === null
      ? await client.get("host_series", { session, metric, from, to, step }, signal)
      : counter !== null
        ? await client.get("counter_series", { session, device, counter, from, to, step }, signal)
        : await client.get("device_series", { session, device, metric, from, to, step }, signal);
  return { ...piece, points: pointsOf(answer.data, from, to) };
}

const pieceFor = (ask: Ask, signal: AbortSignal): Promise<Piece> => (ask.kind === "lanes" ? lanePiece(ask, signal) : seriesPiece(ask, signal));

function send(reply: Reply, buffers: ArrayBuffer[]): void {
  fresh = [];
  self.postMessage(reply, { transfer: buffers });
}

async function answer(id: number, ask: Ask): Promise<void> {
  const stop = new AbortController();
  running.set(id, stop);
  try {
    const piece = await pieceFor(ask, stop.signal);
    if (!stop.signal.aborted) send({ id, names: fresh, piece }, buffersOf(piece));
  } catch (cause) {
    if (stop.signal.aborted) return;
    const { status, title, message, request } = cause instanceof Problem ? cause : new Problem(0, "Unreadable answer", String(cause));
    send({ id, names: fresh, wrong: { status, title, message, request } }, []);
  } finally {
    running.delete(id);
  }
}

self.onmessage = (event: MessageEvent<Asked>) => {
  const request = event.data;
  who.workspace = request.as.workspace;
  who.link = request.as.link;
  if ("places" in request) places = request.places;
  else if ("stop" in request) running.get(request.id)?.abort();
  else void answer(request.id, request.ask);
};
