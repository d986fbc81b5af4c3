// ticks.ts - where the axis of values has its lines, and what stands at them.
const POWERS = Array.from({ length: 50 }, (_, at) => 2 ** at);
const WHOLE = Array.from({ length: 48 }, (_, at) => [1, 2, 5][at % 3]! * 10 ** Math.floor(at / 3));

interface Values {
  least: (number | null)[];
  most: (number | null)[];
}

/** Steps of the axis: powers of two for bytes; whole numbers where all values are whole, as counts are; undefined: any. */
export function stepsOf({ least, most }: Values, binary: boolean): number[] | undefined {
  if (binary) return POWERS;
  return [...least, ...most].every((value) => value === null || Number.isInteger(value)) ? WHOLE : undefined;
}

/** The labels of ticks. Two ticks with one text would read as one value: the second has none. */
export function labelsOf(ticks: readonly number[], show: (value: number) => string): string[] {
  const labels = ticks.map((tick) => show(tick));
  return labels.map((label, at) => (at > 0 && label === labels[at - 1] ? "" : label));
}
