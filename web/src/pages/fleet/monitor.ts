// monitor.ts - which session of a host's monitor is shown, and the events in the session.
import { nameOf, rowsOf } from "../../api/columns";
import type { AnswerGpuEvents, RowSession } from "../../api/schema";

/** The application that gpufl-monitor names in its sessions, unless another name is configured. */
export const MONITOR = "gpufl-monitor";

/** How many sessions of a monitor can be chosen among; a new session begins each day. */
export const CHOICES_MOST = 31;

/** The session with that id, or else the newest one; rows are newest first. undefined: there is
 * no session. */
export const chosenOf = (rows: readonly RowSession[], id: string): RowSession | undefined => rows.find((row) => row.id === id) ?? rows[0];

export interface GpuEvent {
  at: string; // ns since the epoch
  gpu: string; // number and name; "": no GPU, or unknown
  kind: string;
  code: string | null;
  count: number | null;
}

/** gpus: the session's, whose device ids count from 1. */
export const gpuEventsOf = (answer: AnswerGpuEvents, gpus: readonly string[]): GpuEvent[] =>
  rowsOf(answer).map((row) => ({
    at: String(BigInt(answer.epoch) + BigInt(row.at ?? 0)),
    gpu: row.device ? `${row.device - 1} ${gpus[row.device - 1] ?? ""}`.trim() : "",
    kind: nameOf(answer, row.kind) ?? "",
    code: row.code,
    count: row.count,
  }));
