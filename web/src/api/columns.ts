// columns.ts - turns answers, which come column by column, into rows for views. A cell keeps null
// for unknown; numbers of names become the short and the full text.

type Cells = Record<string, readonly unknown[]>;
interface Columns<D extends Cells> {
  rows: number;
  data: D;
}
interface Named {
  names: readonly string[];
  mangled?: readonly string[];
  short_names?: readonly string[];
}

export type Row<D extends Cells> = { [K in keyof D]: D[K][number] };

export function rowsOf<D extends Cells>(answer: Columns<D>): Row<D>[] {
  const keys = Object.keys(answer.data) as (keyof D)[];
  return Array.from({ length: answer.rows }, (_, at) => {
    const row = {} as Row<D>;
    for (const key of keys) row[key] = answer.data[key]![at] as Row<D>[typeof key];
    return row;
  });
}

export function nameOf(answer: Named, cell: number | null): string | null {
  return cell === null ? null : (answer.names[cell] ?? null);
}

export function mangledOf(answer: Named, cell: number | null): string | null {
  return cell === null ? null : (answer.mangled?.[cell] ?? nameOf(answer, cell));
}

/** The server's short name, for narrow places. */
export function shortOf(answer: Named, cell: number | null): string | null {
  return cell === null ? null : (answer.short_names?.[cell] ?? nameOf(answer, cell));
}

/** Other sessions that took samples for the session itself. Each session is listed once. */
export const samplersOf = (answer: Columns<{ session: (number | null)[] }> & Named, self: string): string[] => [
  ...new Set(rowsOf(answer).flatMap((row) => (row.session === null ? [] : [nameOf(answer, row.session) ?? ""]).filter((id) => id !== "" && id !== self))),
];

/** Hardware counters that were sampled over time. */
export const countersOf = (answer: Columns<{ device: (number | null)[]; counter: (number | null)[]; name: (number | null)[] }> & Named): { device: number; id: number; name: string }[] =>
  rowsOf(answer).flatMap((row) => (row.device === null || row.counter === null ? [] : [{ device: row.device, id: row.counter, name: nameOf(answer, row.name) ?? String(row.counter) }]));
