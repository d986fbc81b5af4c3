// facts.ts - the numbers of a finding (docs/report.md), as labels and values.
import { count, duration, exact, percent } from "../../format/format";
import { evidence as words } from "../../text/evidence";
import type { Words } from "../../text/kernel";

export interface Fact {
  label: string;
  value: string;
  exact: string;
}

const text = words.facts;
/** Members that are places, not amounts; the page links to them. */
export const PLACES: ReadonlySet<string> = new Set(["first_ns", "longest_start_ns", "longest_correlation", "longest_thread"]);
/** Members that are yes or no. */
const FLAGS = new Set(["time_estimated"]);
const UNITS: [RegExp, (value: number) => Omit<Fact, "label">][] = [
  [/_ns$/, (ns) => ({ value: duration(ns), exact: exact(ns, "ns") })],
  [/_permille$/, (part) => ({ value: percent(part / 1000), exact: exact(part / 1000) })],
  [/$/, (n) => ({ value: count(n), exact: exact(n) })],
];

/** Labels in the words of the GPU's vendor. An unknown value is left out; a value without a
 * label keeps its own name. */
export function factsOf(evidence: Readonly<Record<string, number | null>>, { evidence: own }: Pick<Words, "evidence">): Fact[] {
  return Object.entries(evidence).flatMap(([key, value]) => {
    if (value === null || PLACES.has(key)) return [];
    if (FLAGS.has(key)) return [{ label: text[key] ?? key, value: value ? words.yes : words.no, exact: exact(value) }];
    const label = own[key] ?? text[key];
    const [suffix, show] = UNITS.find(([pattern]) => pattern.test(key))!;
    return [{ label: label ?? key.replace(suffix, "").replaceAll("_", " "), ...show(value) }];
  });
}
