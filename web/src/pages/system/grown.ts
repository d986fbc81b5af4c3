// grown.ts - a counter since the driver was loaded, as what came since the first sample that is shown.
import { system } from "../../text/system";
import type { Points } from "../../ui/Series";

type Values = readonly (number | null)[];

const known = (values: Values): number[] => values.filter((value) => value !== null);

/** The points from 0 on, and the caption of the whole plot. A counter that fell was reset, since
 * the driver was loaded again: what came during the time is unknown then, and the points stay. */
export function grownOf(points: Points, show: (value: number | null) => string): { points: Points; whole: string } {
  const [low, high] = [known(points.least), known(points.most)];
  const [first, last] = [low[0] ?? null, high.at(-1) ?? null];
  if (first === null || last === null) return { points, whole: "" };
  if (low.some((value, at) => value < (low[at - 1] ?? first)) || last < first) return { points, whole: system.restarted(show(last)) };
  if (low.length === 1 && first === last) return { points, whole: system.sinceLoaded(show(last)) }; // one sample: nobody knows what came
  const from = (values: Values): (number | null)[] => values.map((value) => (value === null ? null : value - first));
  return { points: { at: points.at, least: from(points.least), mean: from(points.mean), most: from(points.most) }, whole: system.grew(show(last - first), show(last)) };
}
