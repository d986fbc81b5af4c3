// lineHits.ts - the events at source lines that a search finds: waits and captured launches, which
// the server sends with their stacks, and idle gaps, which are already in the page.
import { client } from "../api/client";
import { rowsOf } from "../api/columns";
import { compare, type Found } from "./events";
import { KIND, laneIdOf, listOf } from "./lanes";
import { NODE, type Lines } from "./lines";

const MOST = 100_000; // waits, and launches, in one answer at most

export interface LineHits {
  found: Found[]; // by start
  cut: boolean; // there are more events than the limit
}

export interface Where {
  session: string;
  lines: Lines;
  looked: readonly number[]; // threads
  to: number; // the session's end, ns
}

function gapsOf(lines: Lines): Found[] {
  return lines.gaps.flatMap((lane) => {
    const { start, duration, stack, ref } = lane.piece!.events!;
    return Array.from(start, (at, i) => ({ lane: lane.id, start: at, duration: duration[i]!, name: null, short: lines.line(stack[i]!)?.place ?? null, ref: ref[i]!, made: { name: lane.depth, stack: stack[i]! } })).filter((one) => one.made.stack >= NODE && lines.found(one.made.stack));
  });
}

async function waitsOf({ session, lines, to }: Where, signal: AbortSignal): Promise<LineHits> {
  const answer = await client.get("waits", { session, from: 0, to, limit: MOST }, signal);
  const rows = rowsOf(answer).filter((row) => row.lane !== null);
  // The driver's synchronizations repeat the calls, if there are any calls.
  const kindOf = (lane: string | null): number => Number(BigInt(lane ?? 0) >> 56n);
  const called = rows.some((row) => kindOf(row.lane) === KIND.wait) ? KIND.wait : KIND.sync;
  const found = rows
    .filter((row) => kindOf(row.lane) === called && lines.found(row.stack ?? 0))
    .map((row) => ({ lane: row.lane!, start: row.start ?? 0, duration: row.duration ?? 0, name: null, short: lines.line(row.stack ?? 0)?.place ?? null, ref: row.correlation ?? NaN, made: { name: 0, stack: row.stack ?? 0 } }));
  return { found, cut: rows.length >= MOST };
}

async function launchesOf({ session, lines, looked, to }: Where, signal: AbortSignal): Promise<LineHits> {
  if (looked.length === 0) return { found: [], cut: false };
  const answer = await client.get("captured", { session, threads: listOf(looked.slice(0, 1024).map(String)), from: 0, to, step: 1, limit: MOST }, signal);
  const rows = rowsOf(answer);
  const found = rows
    .filter((row) => lines.found(row.stack ?? 0))
    .map((row) => ({ lane: laneIdOf(KIND.launch, 0, row.thread ?? 0), start: row.at ?? 0, duration: 0, name: null, short: lines.line(row.stack ?? 0)?.place ?? null, ref: row.correlation ?? NaN, made: { name: 1, stack: row.stack ?? 0 } }));
  return { found, cut: rows.length >= MOST };
}

/** The events whose lines contain the words; asks nothing if no line contains them. */
export async function lineHits(where: Where, signal: AbortSignal): Promise<LineHits> {
  if (!where.lines.anyFound) return { found: [], cut: false };
  const [waits, launches] = await Promise.all([waitsOf(where, signal), launchesOf(where, signal)]);
  return { found: [...gapsOf(where.lines), ...waits.found, ...launches.found].sort(compare), cut: waits.cut || launches.cut };
}
