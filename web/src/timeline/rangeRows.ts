// rangeRows.ts - what happened in a range, as rows by name: kernels and copies as the server sums
// them, waits and scopes from the events that reach into the range. The rows can be written as CSV.
import type { Found } from "./events";
import type { Lines, Place } from "./lines";
import type { FlameStack } from "./outside";
import type { View } from "./view";

export interface RangeRow {
  key: string;
  name: string; // for narrow places
  full: string;
  page: number | null; // a kernel's id; null: it has no page
  place?: Place | null; // of a line
  calls: number;
  total: number; // ns, the part within the range
  longest: number | null; // ns, the whole event; null: not reported
}

/** Events by name, each with its part in the range. Events without a name are counted as
 * `unnamed`. */
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

/** A wait or synchronization with the stack of its call. */
export interface StackedWait {
  lane: string | null;
  start: number | null;
  duration: number | null;
  stack: number | null;
}

const within = (wait: StackedWait, range: View): number => Math.max(0, Math.min(range.to, (wait.start ?? 0) + (wait.duration ?? 0)) - Math.max(range.from, wait.start ?? 0));

/** Waits by source line, each with its part in the range. */
export function byLine(waits: readonly StackedWait[], lines: Lines, range: View, unknown: string): RangeRow[] {
  const rows = new Map<string, RangeRow>();
  for (const wait of waits) {
    const place = lines.line(wait.stack ?? 0);
    const key = place ? `${place.file ?? ""} ${place.place}` : "";
    const row = rows.get(key) ?? { key, name: place?.place ?? unknown, full: place?.place ?? unknown, page: null, place, calls: 0, total: 0, longest: 0 };
    row.calls++;
    row.total += within(wait, range);
    row.longest = Math.max(row.longest ?? 0, wait.duration ?? 0);
    rows.set(key, row);
  }
  return [...rows.values()].sort((a, b) => b.total - a.total);
}

/** Waits by stack, outermost frame first; waits without a stack are counted as `unknown`. */
export function stacksOfWaits(waits: readonly StackedWait[], lines: Lines, range: View, unknown: string): FlameStack[] {
  const sums = new Map<number, number>();
  for (const wait of waits) sums.set(wait.stack ?? 0, (sums.get(wait.stack ?? 0) ?? 0) + within(wait, range));
  return [...sums].map(([stack, ns]) => {
    const frames = lines.framesOf(stack).reverse();
    return { frames: frames.length ? frames : [unknown], ns };
  });
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** CSV with a heading and one line for each row; names are whole, times are ns. A name that a spreadsheet would take for a formula is marked as text. */
export function csvOf(rows: readonly RangeRow[]): string {
  const lines = rows.map((row) => [quoted(/^[=+\-@\t]/.test(row.full) ? `'${row.full}` : row.full), row.calls, row.total, row.calls ? Math.round(row.total / row.calls) : "", row.longest ?? ""].join());
  return `${["name,calls,total_ns,mean_ns,longest_ns", ...lines].join("\n")}\n`;
}
