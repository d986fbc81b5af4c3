// lineHits.ts - the events at source lines that are searched for: waits and captured launches, which the server
// tells with their stacks, and idle gaps, which are here already.
import { client } from "../api/client";
import { rowsOf } from "../api/columns";
import { compare, type Found } from "./events";
import { KIND, laneIdOf, listOf } from "./lanes";
import { NODE, type Lines } from "./lines";

const MOST = 100_000; // waits, and launches, that one answer tells

export interface LineHits {
  found: Found[]; // by start
  cut: boolean; // there are more events than were looked at
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
  // The driver's synchronizations tell the same again as the calls, where there are any.
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

/** Those whose lines the lines were asked to find; asks nothing where no line has the words. */
export async function lineHits(where: Where, signal: AbortSignal): Promise<LineHits> {
  if (!where.lines.anyFound) return { found: [], cut: false };
  const [waits, launches] = await Promise.all([waitsOf(where, signal), launchesOf(where, signal)]);
  return { found: [...gapsOf(where.lines), ...waits.found, ...launches.found].sort(compare), cut: waits.cut || launches.cut };
}
