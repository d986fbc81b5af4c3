// kernel.ts - kernels as the server answers them, with the report's numbers of each.
import { mangledOf, nameOf, rowsOf, shortOf } from "../../api/columns";
import type { AnswerKernels } from "../../api/schema";
import type { SourcePlace } from "../../format/place";
import { list, number, raw, word } from "../../format/raw";
import { kernels as kernelTexts } from "../../text/kernels";
import { apart } from "./apart";
import type { Named } from "./groups";
import type { Reported } from "./report";

export interface Kernel extends Named {
  mangled: string;
  short: string; // for narrow places
  uncut?: string | undefined; // `short` before it was cut to differ from others
  limiter: string;
  reason: string; // the reason that most of its waiting warps have
}

/** Where the kernel is defined, by the session's report (docs/report.md, kernels.defined); null: unknown. */
export function definitionOf(report: unknown, mangled: string): SourcePlace | null {
  const row = list(raw(raw(report).kernels).defined).find(({ symbol }) => symbol === mangled);
  const { file, line } = raw(row?.defined);
  return word(file) && number(line) !== null ? { file: word(file), line: number(line)! } : null;
}

/** How many kernels are listed at most. */
export const LISTED = 10_000;

const NAME_MOST = 256; // bytes of a name that a question may have

/** As much of the name's beginning as a question may have. */
export const beginOf = (name: string): string => name.slice(0, new TextEncoder().encodeInto(name, new Uint8Array(NAME_MOST)).read);

/** The time of all kernels of an answer. */
export const timeOf = (answer: AnswerKernels): number => (answer.data.total ?? []).reduce<number>((sum, total) => sum + (total ?? 0), 0);

const UNREPORTED: Reported = { occupancy: null, limiter: "", registers: null, local: null, stall: null, reason: "" };

/** whole: the time of all kernels, if the answer has a part of them; null: unknown. */
export function kernelsOf(answer: AnswerKernels, reported?: ReadonlyMap<string, Reported>, whole: number | null = timeOf(answer)): Kernel[] {
  const rows = rowsOf(answer.data.name ? answer : { ...answer, rows: 0 });
  return apart(rows.map((row) => {
    const mangled = mangledOf(answer, row.name) ?? "";
    return {
      ...(reported?.get(mangled) ?? UNREPORTED),
      ...row,
      id: row.name_id ?? 0,
      name: nameOf(answer, row.name) || kernelTexts.unnamed,
      mangled,
      short: shortOf(answer, row.name) || kernelTexts.unnamed,
      share: whole !== null && whole > 0 && row.total !== null ? row.total / whole : null,
    };
  }));
}

/** A kernel of the list that was seen before, so that its page need not wait for the row again. */
export function listedKernel(list: AnswerKernels | undefined, id: number): Kernel | undefined {
  const at = list?.data.name_id?.indexOf(id) ?? -1;
  if (!list || at < 0) return undefined;
  const data = Object.fromEntries(Object.entries(list.data).map(([key, cells]) => [key, [cells[at] ?? null]])) as AnswerKernels["data"];
  return kernelsOf({ ...list, rows: 1, data })[0];
}
