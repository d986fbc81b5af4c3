// calls.ts - what the host waited in at a line: its kinds of calls, most time first.
import type { SyncLine } from "../../api/report";
import { syncs as text } from "../../text/syncs";

export interface Called {
  name: string;
  calls: number;
  ns: number;
}

export const calledAt = (line: Pick<SyncLine, "by_call">, vendor: string): Called[] =>
  (line.by_call ?? []).map(({ call, calls, total_ns }) => ({ name: call === "context" && vendor === "amd" ? text.deviceCalls : (text.calls[call] ?? call), calls, ns: total_ns })).sort((a, b) => b.ns - a.ns);
