// evidence.ts - where the events of a finding are (docs/report.md).
import { around, rangeText } from "../../timeline/view";

/** The place of the longest event on the timeline, as a marked range; null: not reported. */
export function longestOf({ longest_start_ns: start, longest_ns: length }: Readonly<Record<string, number | null>>): { at: string; range: string } | null {
  if (typeof start !== "number" || typeof length !== "number") return null;
  return { at: rangeText(around(start, length)), range: rangeText({ from: start, to: start + Math.max(1, length) }) };
}
