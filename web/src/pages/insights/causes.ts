// causes.ts - which finding and which lines a part of the GPU's time leads to.
import type { Case, IdleLine } from "../../api/report";

interface About {
  file: string;
  line: number | null;
}

/** A cause's line in the address, apart from those of findings: one line may have time of several causes. */
export const lineKey = ({ cause, ended, file, line }: Pick<IdleLine, "cause" | "ended" | "file" | "line">): string => `at:${cause}${ended ? ".ended" : ""}:${file}:${line}`;

export const linesOf = (part: string, lines: readonly IdleLine[], most: number): IdleLine[] => lines.filter(({ cause }) => cause === part).slice(0, most);

/** The parts of the time that each finding is about, most first; a finding with a card has those of the findings that are part of
 * it, too. */
export function partsOf(cases: readonly Pick<Case, "parts" | "part_of">[]): string[][] {
  const all = cases.map(({ parts }) => [...(parts ?? [])]);
  cases.forEach(({ part_of: whole }, at) => {
    if (typeof whole === "number") all[whole]?.push(...all[at]!.filter((part) => !all[whole]!.includes(part)));
  });
  return all;
}

/** The finding that is about the part of the time: at the part's first line before others, then the one that is about the part
 * most, then the first. about: the parts that a finding is about. */
export function findingOf<T extends About>(part: string, lines: readonly IdleLine[], findings: readonly T[], about: (finding: T) => readonly string[]): T | undefined {
  const first = lines.find(({ cause }) => cause === part);
  const elsewhere = (f: T): number => Number(!first || f.file !== first.file || f.line !== first.line);
  const mine = findings.filter((f) => about(f).includes(part));
  return mine.sort((a, b) => elsewhere(a) - elsewhere(b) || about(a).indexOf(part) - about(b).indexOf(part))[0];
}
