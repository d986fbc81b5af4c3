// calls.ts - the call that belongs to an event: the stack of a wait or of a launch, which is asked
// for if the event does not have it yet, and a kernel's launch configuration.
import { client } from "../api/client";
import { rowsOf } from "../api/columns";
import type { RowConfig } from "./config";
import type { HitEvent } from "./hit";
import { KIND, listOf, type Lane } from "./lanes";
import type { Launch } from "./flows";

const FAR = 30e9; // ns from a launch to its kernel, at most
const AT_ONCE = 1000; // waits that are open at one moment, at most

export interface Captured {
  thread: number;
  at: number;
  own: number | null;
  correlation: number | null;
  stack: number;
}

/** Captured launches with that correlation id, in the order of time. */
export async function capturedOf(session: string, threads: readonly number[], correlation: number, from: number, to: number, signal: AbortSignal): Promise<Captured[]> {
  if (threads.length === 0 || !Number.isFinite(correlation)) return [];
  const answer = await client.get("captured", { session, threads: listOf(threads.slice(0, 1024).map(String)), correlation, from: Math.floor(from), to: Math.ceil(to), step: 1, limit: 100 }, signal);
  return rowsOf(answer)
    .map((row) => ({ thread: row.thread ?? 0, at: row.at ?? 0, own: row.own, correlation: row.correlation, stack: row.stack ?? 0 }))
    .sort((a, b) => a.at - b.at);
}

/** The captured launch of a kernel; null: it was not captured. */
export async function launchCallOf(session: string, threads: readonly number[], correlation: number, start: number, signal: AbortSignal): Promise<Captured | null> {
  const found = await capturedOf(session, threads, correlation, start - FAR, start, signal);
  return found[found.length - 1] ?? null;
}

/** The stack of an event; 0: the event has none. */
export async function stackOf(session: string, threads: readonly number[], lane: Lane, hit: HitEvent, launch: Launch | null, signal: AbortSignal): Promise<number> {
  if (hit.stack) return hit.stack;
  if (lane.kind === KIND.wait || lane.kind === KIND.sync) {
    const rows = rowsOf(await client.get("waits", { session, from: hit.start, to: hit.start + 1, limit: AT_ONCE }, signal));
    return rows.find((row) => row.lane === lane.id && row.start === hit.start)?.stack ?? 0;
  }
  if (lane.kind === KIND.kernel) return launch?.stack || ((await launchCallOf(session, threads, hit.ref, hit.start, signal))?.stack ?? 0);
  return 0;
}

/** The configuration of a kernel's launch. */
export async function configOf(session: string, id: number, signal: AbortSignal): Promise<RowConfig | null> {
  return rowsOf(await client.get("configs", { session, limit: 100_000 }, signal)).find((row) => row.config === id) ?? null;
}
