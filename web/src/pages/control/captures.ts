// captures.ts - requests for captures as values: what can be asked, the state of a request, and
// where its capture can be seen.
import type { RowAgent, RowCapture, RowSession } from "../../api/schema";
import { epochMs } from "../../format/format";
import { capture as words } from "../../text/control";

export type Engine = keyof typeof words.engines;
export const ENGINES = Object.keys(words.engines) as Engine[];
const SILENT_MS = 60_000; // equal to the server's limit
const [LEAST_S, MOST_S] = [0.1, 600];

/** The engine that a session is most likely asked for: its own, or Trace for a session without
 * records. */
export const engineFor = (session: Pick<RowSession, "engine"> | null): Engine => ENGINES.find((engine) => engine === session?.engine) ?? "Trace";

/** Seconds as people write them, in ns; null: not a duration that can be asked for. */
export function durationOf(text: string): number | null {
  const seconds = /^\d{1,3}([.,]\d{1,9})?$/.test(text.trim()) ? Number(text.trim().replace(",", ".")) : NaN;
  return seconds >= LEAST_S && seconds <= MOST_S ? Math.round(seconds * 1e9) : null;
}

export type Readiness = { ready: true } | { ready: false; why: "none" } | { ready: false; why: "silent"; seen: string };

/** Whether the agent of a host takes requests now. */
export function readiness(agents: readonly RowAgent[], host: string, nowMs: number): Readiness {
  const agent = agents.find((row) => row.host === host);
  if (!agent?.control || !agent.seen) return { ready: false, why: "none" };
  return nowMs - (epochMs(agent.seen) ?? 0) > SILENT_MS ? { ready: false, why: "silent", seen: agent.seen } : { ready: true };
}

const UNDER_WAY = new Set(["waiting", "taken", "open"]);
export const isUnderWay = (row: Pick<RowCapture, "state">): boolean => UNDER_WAY.has(row.state);

/** The range of its session's timeline that shows a capture, with as much time again around it.
 * The range is computed from the clocks of the server and of the host; null: the clocks do not
 * agree, or the capture has not begun. */
export function placeOf(capture: Pick<RowCapture, "state" | "ended" | "duration">, session: Pick<RowSession, "started" | "ended" | "received">): string | null {
  if (capture.state !== "done" || !capture.ended || !session.started || capture.duration === null) return null;
  const end = Number(BigInt(capture.ended) - BigInt(session.started));
  const begin = end - capture.duration;
  const newest = session.ended ?? session.received;
  const length = newest ? Number(BigInt(newest) - BigInt(session.started)) : 0;
  if (begin < 0 || begin > length) return null;
  const room = capture.duration / 2;
  return `${Math.max(0, Math.floor(begin - room))}-${Math.ceil(end + room)}`;
}
