// plot.ts - which rows of an answer are drawn, and how: bars take any column across, lines and
// points take numbers. Plain functions of values.
import { isNumeric, numberOf, type Answer } from "./answer";

export type PlotKind = "bars" | "line" | "points";

/** Bars that a person can still read, and points that a page can hold. */
export const BARS_MOST = 60;

export interface Bar {
  label: string | null;
  value: number;
}

export interface Plotted {
  x: number[]; // ascending
  y: (number | null)[];
}

const columnOf = (answer: Answer, name: string): number => answer.columns.findIndex((column) => column.name === name);

/** Columns that may be plotted upwards. */
export const numberColumns = (answer: Answer): string[] => answer.columns.filter(isNumeric).map((column) => column.name);

/** The plot before somebody chooses: the first column against the first other column of numbers. */
export function standard(answer: Answer, wanted: { x: string; y: string }): { x: string; y: string } {
  const names = answer.columns.map((column) => column.name);
  const x = names.includes(wanted.x) ? wanted.x : (names[0] ?? "");
  const numbers = numberColumns(answer);
  return { x, y: numbers.includes(wanted.y) ? wanted.y : (numbers.find((name) => name !== x) ?? numbers[0] ?? "") };
}

/** Lines if the numbers across ascend, else bars. */
export function kindFor(answer: Answer, x: string, wanted: string): PlotKind {
  if (wanted === "bars" || wanted === "line" || wanted === "points") return wanted;
  const at = columnOf(answer, x);
  return at >= 0 && isNumeric(answer.columns[at]!) && answer.rows.length > 1 ? "line" : "bars";
}

export function barsOf(answer: Answer, x: string, y: string): Bar[] {
  const from = columnOf(answer, x);
  const to = columnOf(answer, y);
  return answer.rows.flatMap((row) => {
    const value = numberOf(row[to]);
    const cell = row[from];
    return value === null ? [] : [{ label: cell === null || cell === undefined ? null : String(cell), value }];
  });
}

export function pointsOf(answer: Answer, x: string, y: string): Plotted {
  const from = columnOf(answer, x);
  const to = columnOf(answer, y);
  const points = answer.rows.flatMap((row) => {
    const at = numberOf(row[from]);
    return at === null ? [] : [[at, numberOf(row[to])] as const];
  });
  points.sort((a, b) => a[0] - b[0]);
  return { x: points.map((point) => point[0]), y: points.map((point) => point[1]) };
}
