// days.ts - days since the Unix epoch (UTC), as addresses, fields and bars use them.
import type { RowUsageSum } from "../../api/schema";

export const DAY_MS = 86_400_000;
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** ns since the epoch, as the API takes them */
export const nsOf = (day: number): string => String(BigInt(day) * BigInt(DAY_MS) * 1_000_000n);
/** 2026-11-22 */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
export function dayFrom(text: string): number | null {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return Number.isFinite(ms) ? dayOf(ms) : null;
}

export interface Range {
  from: number; // the first day
  to: number; // the day after the last one
}

const LONGEST = 1100;

/** The range that the address names, or the last `days` if the address names no valid range. The
 * server has no day before the epoch, whatever a page's clock says. */
export function rangeOf(from: string, to: string, today: number, days = 30): Range {
  const end = dayFrom(to);
  const last = Math.max(1, end === null ? today + 1 : end + 1);
  const first = dayFrom(from);
  if (first === null || first < 0 || first >= last || last - first > LONGEST) return { from: Math.max(0, last - days), to: last };
  return { from: first, to: last };
}

export interface DayBar {
  day: number;
  wall: number; // ns for which sessions held GPUs
  known: number; // ns of these for which the sessions know whether the GPU was busy
  busy: number | null; // the busy part of what is known
}

/** The heights of a bar as parts of `top`: the whole, its busy end below, and its unknown end above. */
export function heightsOf({ wall, known, busy }: DayBar, top: number): { whole: number; busy: number; unknown: number } {
  const sure = Math.min(known, wall);
  return { whole: wall / top, busy: (sure * (busy ?? 0)) / top, unknown: (wall - sure) / top };
}

/** Every day of the range, also those on which nothing ran. */
export function barsOf(rows: readonly RowUsageSum[], { from, to }: Range): DayBar[] {
  const sums = Array.from({ length: Math.max(0, to - from) }, () => ({ wall: 0, known: 0, busy: 0 }));
  for (const row of rows) {
    const sum = sums[(row.day ?? -1) - from];
    if (!sum) continue;
    sum.wall += row.wall ?? 0;
    sum.known += row.known ?? 0;
    sum.busy += row.busy ?? 0;
  }
  return sums.map(({ wall, known, busy }, at) => ({ day: from + at, wall, known, busy: known > 0 ? busy / known : null }));
}

export interface Sum {
  wall: number; // ns for which sessions held GPUs
  busy: number | null; // the busy part, for sessions that know it
  utilization: number | null;
  energy: number | null; // mJ
  sessions: number;
  counted: number; // sessions that know their kernels
  kernels: number | null; // kernels of the sessions that are counted
}

/** All days together; a session counts on each day that it ran. */
export function sumOf(rows: readonly RowUsageSum[]): Sum {
  const all = (key: "wall" | "known" | "busy" | "sampled" | "utilized" | "energy" | "sessions" | "kernels" | "counted"): number => rows.reduce((sum, row) => sum + (row[key] ?? 0), 0);
  const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);
  return {
    wall: all("wall"),
    busy: ratio(all("busy"), all("known")),
    utilization: ratio(all("utilized"), all("sampled")),
    energy: rows.some((row) => row.energy !== null) ? all("energy") : null,
    sessions: all("sessions"),
    counted: all("counted"),
    kernels: all("counted") > 0 ? all("kernels") : null,
  };
}
