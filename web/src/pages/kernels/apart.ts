// apart.ts - short names of kernels in a table: different kernels never have equal short names.
import { cutMiddle } from "../../timeline/names";
import { SEEN } from "../../ui/found";

interface Short {
  short: string; // for narrow places; cut again where others begin like it
  uncut?: string | undefined; // `short` before that
}

const HEAD = 10; // letters of the beginning of a name that is cut before the place where it differs
const AROUND = 6; // letters before that place, and after it if names differ again later

/** Names whose ends are alike, too, get their beginning and the letters from the first
 * difference. whole: the names before they were cut. head: the beginning that distinguishes
 * them from others. */
function partAlike<T extends Short>(kernels: readonly T[], whole: ReadonlyMap<T, string>, head: (text: string) => string): void {
  const groups = new Map<string, T[]>();
  for (const kernel of kernels) groups.set(kernel.short, [...(groups.get(kernel.short) ?? []), kernel]);
  for (const group of groups.values()) {
    const texts = group.map((kernel) => whole.get(kernel)!);
    if (texts.every((text) => text === texts[0])) continue; // only the tooltip distinguishes them
    let at = 0;
    while (texts.every((text) => text[at] === texts[0]![at])) at++;
    const from = Math.max(HEAD, at - AROUND);
    group.forEach((kernel, n) => {
      const begin = `${head(texts[n]!)}…`;
      kernel.short = begin + texts[n]!.slice(from, Math.max(at + AROUND, from + SEEN - begin.length));
    });
    partAlike(group, whole, (text) => `${head(text)}…${text.slice(from, at + AROUND)}`); // names that differ later
  }
}

/** Names that begin alike for as many letters as a table shows get their ends in place of their
 * middles, or their first difference. */
export function apart<T extends Short>(kernels: T[]): T[] {
  const begins = new Map<string, Set<string>>(); // the names with this beginning
  const beginning = ({ short }: T): string => short.slice(0, SEEN);
  const long = kernels.filter(({ short }) => short.length > SEEN);
  for (const kernel of long) begins.set(beginning(kernel), (begins.get(beginning(kernel)) ?? new Set()).add(kernel.short));
  const alike = long.filter((kernel) => begins.get(beginning(kernel))!.size > 1);
  const whole = new Map(alike.map((kernel) => [kernel, kernel.short]));
  for (const kernel of alike) {
    kernel.uncut = kernel.short;
    kernel.short = cutMiddle(kernel.short, SEEN);
  }
  partAlike(alike, whole, (text) => text.slice(0, HEAD));
  return kernels;
}
