// model.ts - the comparison as the server answers it. Its lists are described in words
// (docs/compare.md), so that they are read with care.
import type { Comparison } from "../../api/schema";
import { shortPaths } from "../../format/paths";
import { number, raw, word, type Raw } from "../../format/raw";

export interface Side {
  calls: number | null;
  mean: number | null;
  total: number | null;
  perSession: number | null;
}

export interface Line {
  name: string;
  short: string; // for a scope, the end of its path
  title: string;
  verdict: string;
  test: string | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
  q: number | null;
  difference: number | null; // ns a run; above 0: b takes more
  a: Side;
  b: Side;
  shapes: boolean;
}

export interface Run {
  session: string;
  app: string;
  host: string;
  started: string | null;
  duration: number | null;
}

export interface Total {
  what: string;
  unit: string;
  a: number | null;
  b: number | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
}

export interface Difference {
  what: string;
  a: string[];
  b: string[];
  measured: boolean;
}

export const sentencesOf = (c: Comparison): string[] => (c.sentences ?? []).filter((line): line is string => typeof line === "string");

const words = (value: unknown): string[] => (Array.isArray(value) ? value : [value]).map(word).filter(Boolean);

const sideOf = (value: unknown): Side => {
  const s = raw(value);
  return { calls: number(s.calls), mean: number(s.mean_ns), total: number(s.total_ns), perSession: number(s.total_per_session_ns) };
};

const lineOf = (row: Raw): Line => ({
  name: word(row.name ?? row.path),
  short: word(row.short_name ?? row.path),
  title: word(row.symbol ?? row.path),
  verdict: word(row.verdict),
  test: row.test === null ? null : word(row.test),
  ratio: number(row.ratio),
  low: number(row.ratio_low),
  high: number(row.ratio_high),
  q: number(row.q),
  difference: number(row.difference_per_session_ns),
  a: sideOf(row.a),
  b: sideOf(row.b),
  shapes: row.shapes_differ === true,
});

export const kernelsOf = (c: Comparison): Line[] => c.kernels.map(lineOf);
export function scopesOf(c: Comparison): Line[] {
  const lines = c.scopes.map(lineOf);
  const short = shortPaths(lines.map(({ name }) => name));
  return lines.map((line) => ({ ...line, short: short.get(line.name)! }));
}
export const runsOf = (rows: readonly Raw[]): Run[] => rows.map((row) => ({ session: word(row.session), app: word(row.app), host: word(row.host), started: word(row.started) || null, duration: number(row.duration_ns) }));
/** Whether every session of side b began before every session of side a. */
export function isReversed(a: readonly Run[], b: readonly Run[]): boolean {
  const times = [a, b].map((runs) => runs.map(({ started }) => (started === null ? null : BigInt(started))));
  if (times.some((side) => side.length === 0 || side.includes(null))) return false; // not known
  const [first, second] = times as [bigint[], bigint[]];
  return second.every((late) => first.every((early) => late < early));
}
export const totalsOf = (c: Comparison): Total[] => c.totals.map((row) => ({ what: word(row.what), unit: word(row.unit), a: number(row.a), b: number(row.b), ratio: number(row.ratio), low: number(row.ratio_low), high: number(row.ratio_high) }));
/** Shares are compared by their difference in percentage points: from 9.8 % to 8.6 % are −1.2 points, and "−12 %" would read
 * as the difference. */
export const isShare = ({ what }: Total): boolean => what.endsWith("_share");
export function points(a: number | null, b: number | null): string {
  if (a === null || b === null) return "";
  const size = Math.abs((b - a) * 100).toFixed(1);
  return `${Number(size) === 0 ? "" : b > a ? "+" : "−"}${size}`;
}

/** The number of all rows, if the rows of the answer are fewer. `all` is null if a session has more kernels or scopes than are
 * compared (docs/compare.md). */
export function allOf(shown: number, all: unknown, compared: unknown): { all: number; more: boolean } | null {
  const least = number(all) ?? number(compared);
  const more = number(all) === null;
  return least === null || (least <= shown && !more) ? null : { all: least, more };
}

/** The applications of both sides, if they differ. */
export function otherApps(c: Comparison): { a: string; b: string } | null {
  const [a, b] = [c.a, c.b].map((rows) => [...new Set(runsOf(rows).map(({ app }) => app).filter(Boolean))].sort().join(", "));
  return a && b && a !== b ? { a, b } : null;
}

export const differencesOf = (c: Comparison): Difference[] => c.differences.map((row) => ({ what: word(row.what), a: words(row.a), b: words(row.b), measured: row.measured === true }));

/** Ids of a side as the address lists them: at most 64, each once. */
export const idsIn = (text: string): string[] => [...new Set(text.split(",").map((id) => id.trim()))].filter((id) => /^[0-9A-Za-z_-]{1,64}$/.test(id));
export const idsOf = (text: string): string[] => idsIn(text).slice(0, 64);

export const VERDICTS = ["slower", "faster", "new", "gone", "mixed", "same", "unclear"] as const;
