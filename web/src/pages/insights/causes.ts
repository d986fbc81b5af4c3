// causes.ts - which finding and which lines a part of the GPU's time links to.
import type { Answer, Case, IdleLine, TimePart } from "../../api/report";

interface About {
  file: string;
  line: number | null;
}

/** A cause's line in the address, distinct from the lines of findings: one line may have idle
 * time of several causes. */
export const lineKey = ({ cause, ended, file, line }: Pick<IdleLine, "cause" | "ended" | "file" | "line">): string => `at:${cause}${ended ? ".ended" : ""}:${file}:${line}`;

/** A row of a cause's idle time. share: of the cause's idle time in all lines. */
export interface IdleRow extends IdleLine {
  share: number;
}

/** The rows of a cause: lines, then time without a line, most time first in both. */
export function rowsOf(part: string, lines: readonly IdleLine[]): IdleRow[] {
  const mine = lines.filter(({ cause }) => cause === part);
  const all = mine.reduce((sum, { ns }) => sum + ns, 0);
  return mine.filter(({ ns }) => ns > 0).map((line) => ({ ...line, share: line.ns / all }));
}

/** The idle part with most time. */
export const mostIdle = (parts: readonly TimePart[]): string | undefined => parts.filter(({ idle }) => idle).sort((a, b) => b.ns - a.ns)[0]?.part;

/** What a card says besides its title, place and numbers. The answer above the cards has the text and the next step of its
 * finding, so that this finding's card has neither. */
export const saidOf = (text: string, next: string | undefined, answer: Answer | null): { text: string; next: string | undefined } => (answer && text === answer.statement ? { text: "", next: next === answer.next ? undefined : next } : { text, next });

/** The parts of the time that each finding is about, largest first. A finding with a card also
 * has the parts of the findings that belong to it. */
export function partsOf(cases: readonly Pick<Case, "parts" | "part_of">[]): string[][] {
  const all = cases.map(({ parts }) => [...(parts ?? [])]);
  cases.forEach(({ part_of: whole }, at) => {
    if (typeof whole === "number") all[whole]?.push(...all[at]!.filter((part) => !all[whole]!.includes(part)));
  });
  return all;
}

/** The finding about a part of the time: a finding at the part's first line, else the finding
 * for which the part is largest, else the first. about: the parts that a finding is about. */
export function findingOf<T extends About>(part: string, lines: readonly IdleLine[], findings: readonly T[], about: (finding: T) => readonly string[]): T | undefined {
  const first = lines.find(({ cause, file }) => cause === part && file);
  const elsewhere = (f: T): number => Number(!first || f.file !== first.file || f.line !== first.line);
  const mine = findings.filter((f) => about(f).includes(part));
  return mine.sort((a, b) => elsewhere(a) - elsewhere(b) || about(a).indexOf(part) - about(b).indexOf(part))[0];
}
