// worker.ts - runs beside the page: asks the server for pieces and makes typed arrays of the answers.
// Nothing is kept here but the numbers of names; the page keeps pieces.
import { makeClient, Problem } from "../api/client";
import { Who } from "../api/who";
import { allocationRows, heldOf } from "../format/held";
import { ALLOCATED } from "../format/metrics";
import { levelOf, RAW_LIMIT } from "./lod";
import type { Name } from "./names";
import { buffersOf, eventsOf, pointsOf, sumsOf, type Piece } from "./piece";
import type { Ask, Asked, AskLanes, AskSeries, Reply } from "./protocol";

const SPANS_LIMIT = 100_000; // the server leaves the shortest out beyond that: less than a px each

const who = new Who(); // as the page is, of each request
const client = makeClient(undefined, who, 0);
const running = new Map<number, AbortController>();
const numbers = new Map<string, number>(); // of names, by their text in the program
let fresh: Name[] = []; // not told to the page yet

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

async function lanePiece(ask: AskLanes, signal: AbortSignal): Promise<Piece> {
  const { session, lod, from, to } = ask;
  const lanes = ask.lanes.join(",");
  const piece: Piece = { from, to, column: 0, sums: null, events: null, points: null, halved: false };
  if (lod.raw) {
    const answer = await client.get("events", { session, lanes, from, to, limit: RAW_LIMIT }, signal);
    if (answer.rows >= RAW_LIMIT && to - from > 1024) return { ...piece, halved: true };
    return { ...piece, events: eventsOf(answer.data, ask.lanes, numberOf(answer)) };
  }
  const { level, step, column } = levelOf(lod.m);
  // Columns are the server's: one may begin within the piece and end behind it.
  const [tiles, spans] = await Promise.all([
    client.get("tiles", { session, level, step, lanes, from, to: to + column }, signal),
    client.get("spans", { session, level, lanes, from, to, limit: SPANS_LIMIT }, signal),
  ]);
  return { ...piece, column, sums: sumsOf(tiles.data, ask.lanes, from, to, numberOf(tiles)), events: eventsOf(spans.data, ask.lanes, numberOf(spans)) };
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
  if ("stop" in request) running.get(request.id)?.abort();
  else void answer(request.id, request.ask);
};
