// kernel.ts - kernels as the server answers them, with what the report says of each.
import { mangledOf, nameOf, rowsOf, shortOf } from "../../api/columns";
import type { AnswerKernels } from "../../api/schema";
import { kernels as kernelTexts } from "../../text/kernels";
import { cutMiddle } from "../../timeline/names";
import { SEEN } from "../../ui/found";
import type { Named } from "./groups";
import type { Reported } from "./report";

export interface Kernel extends Named {
  mangled: string;
  short: string; // for narrow places
  limiter: string;
  reason: string; // why most of its warps wait
}

/** How many kernels are listed at most. */
export const LISTED = 10_000;

const NAME_MOST = 256; // bytes of a name that a question can take

/** As much of the name's beginning as a question takes. */
export const beginOf = (name: string): string => name.slice(0, new TextEncoder().encodeInto(name, new Uint8Array(NAME_MOST)).read);

const HEAD = 10; // letters of a name that is cut between its beginning and where it differs
const AROUND = 6; // letters before that place, and after it where names differ again later

/** Names whose ends are alike, too: the beginning, and the letters from where they first differ. whole: before they were cut.
 * head: what parts them from others. */
function partAlike(kernels: readonly Kernel[], whole: ReadonlyMap<Kernel, string>, head: (text: string) => string): void {
  const groups = new Map<string, Kernel[]>();
  for (const kernel of kernels) groups.set(kernel.short, [...(groups.get(kernel.short) ?? []), kernel]);
  for (const group of groups.values()) {
    const texts = group.map((kernel) => whole.get(kernel)!);
    if (texts.every((text) => text === texts[0])) continue; // the tooltip alone tells them apart
    let at = 0;
    while (texts.every((text) => text[at] === texts[0]![at])) at++;
    const from = Math.max(HEAD, at - AROUND);
    group.forEach((kernel, n) => {
      const begin = `${head(texts[n]!)}…`;
      kernel.short = begin + texts[n]!.slice(from, Math.max(at + AROUND, from + SEEN - begin.length));
    });
    partAlike(group, whole, (text) => `${head(text)}…${text.slice(from, at + AROUND)}`); // those that differ later
  }
}

/** Names that begin alike for as long as any table shows have their ends instead of their middles, or what parts them. */
function apart(kernels: Kernel[]): Kernel[] {
  const begins = new Map<string, number>();
  const beginning = ({ short }: Kernel): string => short.slice(0, SEEN);
  const long = kernels.filter(({ short }) => short.length > SEEN);
  for (const kernel of long) begins.set(beginning(kernel), (begins.get(beginning(kernel)) ?? 0) + 1);
  const alike = long.filter((kernel) => begins.get(beginning(kernel))! > 1);
  const whole = new Map(alike.map((kernel) => [kernel, kernel.short]));
  for (const kernel of alike) kernel.short = cutMiddle(kernel.short, SEEN);
  partAlike(alike, whole, (text) => text.slice(0, HEAD));
  return kernels;
}

const UNREPORTED: Reported = { occupancy: null, limiter: "", registers: null, local: null, stall: null, reason: "" };

export function kernelsOf(answer: AnswerKernels, reported?: ReadonlyMap<string, Reported>): Kernel[] {
  const rows = rowsOf(answer.data.name ? answer : { ...answer, rows: 0 });
  const whole = rows.reduce((sum, row) => sum + (row.total ?? 0), 0);
  return apart(rows.map((row) => {
    const mangled = mangledOf(answer, row.name) ?? "";
    return {
      ...(reported?.get(mangled) ?? UNREPORTED),
      ...row,
      id: row.name_id ?? 0,
      name: nameOf(answer, row.name) || kernelTexts.unnamed,
      mangled,
      short: shortOf(answer, row.name) || kernelTexts.unnamed,
      share: whole > 0 && row.total !== null ? row.total / whole : null,
    };
  }));
}

/** A kernel of the list that was seen before: its page need not wait for the same row. */
export function listedKernel(list: AnswerKernels | undefined, id: number): Kernel | undefined {
  const at = list?.data.name_id?.indexOf(id) ?? -1;
  if (!list || at < 0) return undefined;
  const data = Object.fromEntries(Object.entries(list.data).map(([key, cells]) => [key, [cells[at] ?? null]])) as AnswerKernels["data"];
  return kernelsOf({ ...list, rows: 1, data })[0];
}
