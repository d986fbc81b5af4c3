// kernel.ts - kernels as the server answers them, with what the report says of each.
import { mangledOf, nameOf, rowsOf, shortOf } from "../../api/columns";
import type { AnswerKernels } from "../../api/schema";
import { en } from "../../text/en";
import type { Named } from "./groups";
import type { Reported } from "./report";

export interface Kernel extends Named {
  mangled: string;
  short: string; // for narrow places
  limiter: string;
  reason: string; // why most of its warps wait
}

const UNREPORTED: Reported = { occupancy: null, limiter: "", registers: null, local: null, stall: null, reason: "" };

export function kernelsOf(answer: AnswerKernels, reported?: ReadonlyMap<string, Reported>): Kernel[] {
  const rows = rowsOf(answer.data.name ? answer : { ...answer, rows: 0 });
  const whole = rows.reduce((sum, row) => sum + (row.total ?? 0), 0);
  return rows.map((row) => {
    const mangled = mangledOf(answer, row.name) ?? "";
    return {
      ...(reported?.get(mangled) ?? UNREPORTED),
      ...row,
      id: row.name_id ?? 0,
      name: nameOf(answer, row.name) || en.kernels.unnamed,
      mangled,
      short: shortOf(answer, row.name) || en.kernels.unnamed,
      share: whole > 0 && row.total !== null ? row.total / whole : null,
    };
  });
}
