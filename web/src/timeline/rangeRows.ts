// rangeRows.ts - what happened in a range, as rows by name: kernels and copies as the server sums them, waits
// and scopes from the events that reach into the range. And such rows as CSV.
import type { Found } from "./events";
import type { View } from "./view";

export interface RangeRow {
  key: string;
  name: string; // for narrow places
  full: string;
  page: number | null; // a kernel's id; null: it has no page
  calls: number;
  total: number; // ns, of it in the range
  longest: number | null; // ns, whole; null: not told
}

/** Events by name; of each the part in the range. Those without a name go by `unnamed`. */
export function byName(found: readonly Found[], range: View, unnamed: string): RangeRow[] {
  const rows = new Map<string, RangeRow>();
  for (const event of found) {
    const full = event.name ?? unnamed;
    const row = rows.get(full) ?? { key: full, name: event.short ?? full, full, page: null, calls: 0, total: 0, longest: 0 };
    row.calls++;
    row.total += Math.max(0, Math.min(range.to, event.start + event.duration) - Math.max(range.from, event.start));
    row.longest = Math.max(row.longest ?? 0, event.duration);
    rows.set(full, row);
  }
  return [...rows.values()].sort((a, b) => b.total - a.total);
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line a row, with a head; names are whole, times are ns. A name that a spreadsheet would take for a formula is told as text. */
export function csvOf(rows: readonly RangeRow[]): string {
  const lines = rows.map((row) => [quoted(/^[=+\-@\t]/.test(row.full) ? `'${row.full}` : row.full), row.calls, row.total, row.calls ? Math.round(row.total / row.calls) : "", row.longest ?? ""].join());
  return `${["name,calls,total_ns,mean_ns,longest_ns", ...lines].join("\n")}\n`;
}
