// held.ts - allocated memory as a line over time, from the server's rows. There is one row for each
// step in which the memory changed.
export interface Held {
  at: number[]; // ns since the session's start
  least: number[]; // bytes
  mean: number[]; // equal to least
  most: number[]; // greatest within the step
}

interface AllocationRow {
  at: number | null; // begin of a step, ns; null: unknown
  held: number | null; // at its end
  peak: number | null;
}

/** A line that keeps its level between steps, to the session's end: memory stays allocated until
 * it is freed. The line ends at a step that is unknown, because what is allocated after it is
 * unknown, too. */
export function heldOf(rows: readonly AllocationRow[], step: number, end: number): Held {
  const line: Held = { at: [], least: [], mean: [], most: [] };
  const put = (at: number, held: number, most: number): void => {
    const last = line.at.length - 1;
    if (last >= 0 && line.at[last]! >= at) {
      line.mean[last] = line.least[last] = held;
      line.most[last] = Math.max(line.most[last]!, most);
      return;
    }
    line.at.push(at);
    line.least.push(held);
    line.mean.push(held);
    line.most.push(most);
  };
  let before = 0;
  for (const row of rows) {
    if (row.at === null) continue;
    if (row.held === null) {
      put(row.at, before, before);
      return line;
    }
    put(row.at, before, before);
    put(row.at + step, row.held, Math.max(row.peak ?? 0, row.held));
    before = row.held;
  }
  const last = line.at.at(-1);
  if (last !== undefined && end > last) put(end, before, before);
  return line;
}

/** The rows as columns. */
export const allocationRows = (data: { at: readonly (number | null)[]; held: readonly (number | null)[]; peak: readonly (number | null)[] }): AllocationRow[] =>
  data.at.map((at, i) => ({ at, held: data.held[i] ?? null, peak: data.peak[i] ?? null }));
