// report.ts - the parts of a session's report that the server hands over as they are. docs/report.md
// describes them; these are the members that pages use. A part that is not as described is a Problem.
import { Problem } from "./client";

export interface Between {
  pairs: number;
  median: number | null;
}

export interface SyncLine {
  place: string | null;
  file: string | null;
  line: number | null;
  function: string | null;
  blocks_host: boolean;
  calls: number;
  blocked_ns: number;
  share: number;
  gpu_idle_ns: number;
  median_ns: number | null;
  p99_ns: number | null;
  longest_ns: number | null;
  longest_start_ns: number | null; // since the session's start
  launches_between: { synchronizations: Between };
}

export interface Scope {
  id: number;
  parent: number;
  depth: number;
  name: string;
  path: string[] | null; // from the outermost to it; null: too deep
  calls: number;
  wall_ns: number;
  wall_mean_ns: number | null;
  kernels: number | null;
  gpu_ns: number | null;
  self_gpu_ns: number | null;
  wait_ns: number | null;
  iterations: number | null; // measured ones; 0 or null: not a loop that was measured
  iteration_ns: number | null; // mean
}

function listAt(part: unknown, ...keys: string[]): unknown[] {
  let at: unknown = part;
  for (const key of keys) at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  if (!Array.isArray(at)) throw new Problem(0, "Unreadable answer", `The server's report has no list ${keys.join(".")}; it may be older than this page.`);
  return at;
}

/** What a finding rests on, and the step that it advises: made for the case at hand, where the rule's own
 * words are for all. */
export interface Case {
  id: string; // of the rule
  next: string;
  evidence: Record<string, number | null>;
}

/** In the order of the findings. */
export const casesOf = (part: unknown): Case[] => listAt(part, "insights") as Case[];
export const syncLines = (part: unknown): SyncLine[] => listAt(part, "synchronization_lines", "lines") as SyncLine[];
export const scopesOf = (part: unknown): Scope[] => listAt(part, "scopes") as Scope[];

export interface Ledger {
  verdict: string; // complete, uncounted, incomplete or absent
  missing: string[]; // sentences
}

export interface Capability {
  feature: string;
  status: string;
  reason: string | null;
}

export const capabilitiesOf = (part: unknown): Capability[] => listAt(part, "capabilities") as Capability[];

export function ledgerOf(part: unknown): Ledger {
  const missing = listAt(part, "ledger", "missing").map(String);
  const { verdict } = (part as { ledger: { verdict: unknown } }).ledger;
  return { verdict: String(verdict), missing };
}

/** Launches between two waits at a line, where that says loop (docs/insights.md, sync_loop). */
export function loopLaunches(line: SyncLine): number | null {
  const { median } = line.launches_between.synchronizations;
  return line.calls >= 3 && median !== null && median >= 3 ? median : null;
}

/** Kernels that were launched, and those that are in the log; null: not told. Those of graphs are among them
 * unless graphs were recorded as a whole: then their kernels have no rows. */
export function launchedOf(part: unknown): { launched: number | null; written: number | null } {
  const ledger = (part as { ledger?: Record<string, unknown> }).ledger ?? {};
  const number = (key: string) => (typeof ledger[key] === "number" ? ledger[key] : null);
  const launches = number("launches");
  const whole = number("graphs_recorded") !== null;
  return { launched: launches === null ? null : launches + (whole ? 0 : (number("graph_kernels") ?? 0)), written: number("kernels_written") };
}
