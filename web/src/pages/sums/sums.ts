// sums.ts - sums by day as the server answers them, as bars and as shares.
import type { RowRollupDay, RowRollupSum } from "../../api/schema";
import type { Range } from "../fleet/days";

export type Kind = "kernel" | "scope" | "line";
export const KINDS: readonly Kind[] = ["kernel", "scope", "line"];
export type Split = "day" | "app" | "host";
export const SPLITS: readonly Split[] = ["day", "app", "host"];

export interface DaySum {
  day: number;
  total: number; // ns
  calls: number;
  sessions: number;
}

/** Every day of the range, also those without a session. */
export function daysOf(rows: readonly RowRollupDay[], { from, to }: Range): DaySum[] {
  const days = Array.from({ length: Math.max(0, to - from) }, (_, at): DaySum => ({ day: from + at, total: 0, calls: 0, sessions: 0 }));
  for (const row of rows) {
    const day = days[(row.day ?? -1) - from];
    if (!day) continue;
    day.total += row.total ?? 0;
    day.calls += row.calls ?? 0;
    day.sessions += row.sessions ?? 0;
  }
  return days;
}

export interface Part {
  name: string; // of an application or host
  days: number;
  total: number; // ns
  calls: number;
  sessions: number;
}

/** Applications or hosts, most time first. */
export function partsOf(rows: readonly RowRollupDay[]): Part[] {
  const parts = new Map<string, Part>();
  for (const row of rows) {
    const part = parts.get(row.name) ?? { name: row.name, days: 0, total: 0, calls: 0, sessions: 0 };
    parts.set(row.name, part);
    part.days++;
    part.total += row.total ?? 0;
    part.calls += row.calls ?? 0;
    part.sessions += row.sessions ?? 0;
  }
  return [...parts.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
}

/** Samples of a line are counted only where its stacks were sampled. The time of a line without samples comes from the stacks
 * of waits, so that the number of samples is unknown, not 0. */
export const callsOf = ({ total, calls }: { total: number | null; calls: number | null }, kind: Kind): number | null => (kind === "line" && !calls && (total ?? 0) > 0 ? null : calls);

/** Rows with a name in the server's order, then the row of all others, which is no single thing. */
export const othersLast = (rows: readonly RowRollupSum[]): RowRollupSum[] => [...rows.filter((row) => row.name), ...rows.filter((row) => !row.name)];

/** Kernels and lines have their time to themselves. The time of a scope includes its inner scopes, so that a sum of all rows
 * counts times twice, and a share of that sum means nothing. */
export const hasShare = (kind: Kind): boolean => kind !== "scope";

export const totalOf = (rows: readonly RowRollupSum[]): number => rows.reduce((sum, row) => sum + (row.total ?? 0), 0);

/** Mean time of a call; null: no calls. */
export const meanOf = (row: { total: number | null; calls: number | null }): number | null => (row.total !== null && row.calls ? row.total / row.calls : null);
