// events.ts - single events from the server: the next hit of a search, the neighbour of an event, the
// event that an address names, and the longest one of some lanes.
import { client } from "../api/client";
import { nameOf, rowsOf, shortOf } from "../api/columns";
import { KIND, listOf, type Lane } from "./lanes";
import { columnsFor, levelOf } from "./lod";
import type { View } from "./view";

export interface Found {
  lane: string;
  start: number;
  duration: number;
  name: string | null;
  short: string | null;
  ref: number; // NaN: unknown
  made?: { name: number; stack: number }; // for an event of a source line: the name and stack that are drawn
}

interface Answer {
  rows: number;
  names: readonly string[];
  short_names?: readonly string[];
  data: { lane: readonly (string | null)[]; start: readonly (number | null)[]; duration: readonly (number | null)[]; name: readonly (number | null)[]; ref: readonly (number | null)[] };
}

export function foundOf(answer: Answer): Found[] {
  const { lane, start, duration, name, ref } = answer.data;
  return Array.from({ length: answer.rows }, (_, i) => ({ lane: lane[i] ?? "", start: start[i] ?? 0, duration: duration[i] ?? 0, name: nameOf(answer, name[i] ?? null), short: shortOf(answer, name[i] ?? null), ref: ref[i] ?? NaN }));
}

/** Order of hits: by start, then by lane, compared as numbers. */
export function compare(a: Pick<Found, "start" | "lane">, b: Pick<Found, "start" | "lane">): number {
  if (a.start !== b.start) return a.start - b.start;
  const x = BigInt(a.lane || 0);
  const y = BigInt(b.lane || 0);
  return x < y ? -1 : x > y ? 1 : 0;
}

type Place = Pick<Found, "start" | "lane">;

/** The nearest event that is really after (before) the present one; several events may start at
 * the same ns. */
export function nextOf(found: readonly Found[], here: Place | null, forward: boolean): Found | null {
  const beyond = here ? found.filter((f) => (forward ? compare(f, here) > 0 : compare(f, here) < 0)) : [...found];
  beyond.sort((a, b) => (forward ? compare(a, b) : compare(b, a)));
  return beyond[0] ?? null;
}

const AT_ONCE = 1000; // events that match and start at the same ns, at most

export async function nextHit(session: string, pattern: string, here: Place | null, time: number, forward: boolean, signal?: AbortSignal): Promise<Found | null> {
  const from = here ? here.start + (forward ? 0 : 1) : Math.floor(time);
  const ask = async (limit: number): Promise<Found[]> => foundOf(await client.get("search", { session, pattern, from, back: !forward, limit }, signal));
  for (const limit of [8, AT_ONCE]) {
    const found = await ask(limit);
    const next = nextOf(found, here, forward);
    if (next || found.length < limit) return next;
  }
  return null;
}

export async function eventAt(session: string, lane: string, start: number, signal?: AbortSignal): Promise<Found | null> {
  const found = foundOf(await client.get("events", { session, lanes: lane, from: Math.max(0, start - 1), to: start + 1, limit: 1000 }, signal));
  return found.find((f) => f.start === start) ?? null;
}

const REACH = [1e6, 32e6, 1e9, 32e9, 1e12]; // ns

/** The next event of a lane at any distance: it is searched in growing windows. */
export async function neighbourOf(session: string, lane: Lane, start: number, forward: boolean, signal?: AbortSignal): Promise<Found | null> {
  for (const reach of REACH) {
    const from = forward ? start : Math.max(0, start - reach);
    const to = forward ? start + reach : start;
    const found = foundOf(await client.get("events", { session, lanes: lane.id, from, to, limit: forward ? 1000 : 100_000 }, signal)).filter((f) => (forward ? f.start > start : f.start < start));
    const next = forward ? found[0] : found[found.length - 1];
    if (next) return next;
    if (forward ? to > lane.last : from === 0) return null;
  }
  return null;
}

const AMONG = 64; // long events, among which one is chosen that starts late enough
const COLUMNS = 512; // that the sums of a range are asked in
const SHORT = 10_000; // short events of one column at most

const longer = (best: Found | null, one: Found): Found | null => (one.duration > (best?.duration ?? -1) ? one : best);

/** The longest of the events that the server has only as sums: it is in the column whose sum says so. */
async function longestShort(session: string, ids: readonly string[], range: View, signal?: AbortSignal): Promise<Found | null> {
  let [lanes, { from, to }] = [ids, range];
  for (;;) {
    const m = columnsFor((to - from) / COLUMNS);
    const { level, step, column } = levelOf(m);
    const rows = rowsOf(await client.get("tiles", { session, level, step, lanes: listOf(lanes), from, to }, signal));
    const most = rows.reduce<(typeof rows)[number] | null>((best, row) => ((row.longest ?? 0) > (best?.longest ?? -1) ? row : best), null);
    if (!most?.lane) return null;
    [lanes, from, to] = [[most.lane], Math.max(range.from, most.at ?? 0), (most.at ?? 0) + column];
    if (m === 0) return foundOf(await client.get("events", { session, lanes: most.lane, from, to, limit: SHORT }, signal)).filter(({ start }) => start >= from).reduce(longer, null);
  }
}

/** The longest event of these lanes that starts in the range; if there are more events than the
 * limit, the server returns the longest. */
export async function longestOf(session: string, lanes: readonly Lane[], range: View, signal?: AbortSignal): Promise<Found | null> {
  if (lanes.length === 0) return null;
  const ids = lanes.slice(0, 256).map((lane) => lane.id);
  const [from, to] = [range.from, Math.ceil(range.to) + 1];
  const found = foundOf(await client.get("spans", { session, level: 0, lanes: listOf(ids), from, to, limit: from > 0 ? AMONG : 1 }, signal));
  return found.filter(({ start }) => start >= from).reduce(longer, null) ?? longestShort(session, ids, { from, to }, signal);
}

export const waitsOf = (lanes: readonly Lane[]): Lane[] => lanes.filter((lane) => lane.kind === KIND.wait || lane.kind === KIND.sync);
