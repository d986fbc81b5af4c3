// source.ts - the line of a finding in the text that is kept with the session.
import type { Case } from "../../api/report";
import { baseName } from "../../format/format";
import { longestOf } from "./evidence";

/** The kept file that a finding's path names: the file with that very path, or else the only
 * file of that name. */
export function keptPath(kept: readonly (string | null)[], file: string): string | null {
  if (kept.includes(file)) return file;
  const alike = kept.filter((path): path is string => path !== null && baseName(path) === baseName(file));
  return alike.length === 1 ? alike[0]! : null;
}

export const textOf = (pieces: readonly (string | null)[]): string => pieces.map((piece) => piece ?? "").join("");

export interface SourceRow {
  number: number;
  text: string;
}

/** The line and some lines around it; nothing if the file has no such line. */
export function excerpt(text: string, line: number, around = 12): SourceRow[] {
  const lines = text.split("\n");
  if (line < 1 || line > lines.length) return [];
  const from = Math.max(1, line - around);
  return lines.slice(from - 1, line + around).map((row, at) => ({ number: from + at, text: row.replace(/\r$/, "") }));
}

/** What the timeline can show of a finding: the longest of its own events, or its kernel's
 * launches if these are recorded. null: nothing. */
export function onTimeline(finding: { kernel: string }, evidence: Case["evidence"], launches: boolean): Record<string, string> | null {
  return longestOf(evidence) ?? (finding.kernel && launches ? { find: finding.kernel.slice(0, 256) } : null);
}

/** What a fix could give back, in ns; null: unknown. Without records of kernels nobody knows how
 * long one ran. */
export const boundOf = (finding: { kernel: string; gives_back: number | null }, launches: boolean): number | null => (finding.kernel && !launches && !finding.gives_back ? null : finding.gives_back);

const SHOWN = 5; // findings; the others are folded
const LITTLE = 0.01; // of the time

/** How many findings are open; those after the last one that is worth a look are folded. A finding of low severity is not
 * worth a look if a fix saves less than a hundredth of the time; a finding with an unknown bound is. */
export function shownOf(rows: readonly { severity: number | null; share: number | null }[]): number {
  const last = rows.map(({ severity, share }) => severity !== 0 || share === null || share >= LITTLE).lastIndexOf(true);
  return Math.min(SHOWN, last < 0 ? rows.length : last + 1);
}

interface Ranked {
  number: number | null;
}

/** The server's order: most important first. */
export const inOrder = <T extends Ranked>(rows: readonly T[]): T[] => [...rows].sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
