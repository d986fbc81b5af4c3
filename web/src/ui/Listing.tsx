// Listing.tsx - a short table with all of its rows in the page; it scrolls sideways if there is no
// room. Columns are values: the heading, the text of a cell, and the exact value for its tooltip.
import type { ReactNode } from "react";
import { count, date, duration, exact, exactDate } from "../format/format";
import { en } from "../text/en";
import { Room } from "./room";

export interface Column<T> {
  label: string; // empty for the column of actions
  hint?: string | undefined; // tooltip of the heading
  show: (row: T) => ReactNode;
  title?: (row: T) => string | undefined;
  right?: boolean;
  className?: string;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T, at: number) => string | number;
  rowClass?: (row: T, at: number) => string | undefined;
  roomy?: boolean;
}

export function Listing<T>({ label, columns, rows, keyOf, rowClass, roomy }: Props<T>) {
  const sideOf = (column: Column<T>): string | undefined => (column.right ? "right" : undefined);
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className={roomy ? "simple roomy" : "simple"}>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th scope="col" key={at} className={sideOf(column)} title={column.hint}>
                {column.label || <span className="hidden-label">{en.table.actions}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={keyOf(row, line)} className={rowClass?.(row, line)}>
              {columns.map((column, at) => (
                <td key={at} className={column.className ?? sideOf(column)} title={column.title?.(row)}>
                  <Room value={Infinity}>{column.show(row)}</Room>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A column of times, ns. */
export const timeColumn = <T,>(label: string, of: (row: T) => number | null, hint?: string): Column<T> => ({ label, hint, right: true, show: (row) => duration(of(row)), title: (row) => exact(of(row), "ns") });

/** A column of counts. */
export const countColumn = <T,>(label: string, of: (row: T) => number | null, hint?: string): Column<T> => ({ label, hint, right: true, show: (row) => count(of(row)), title: (row) => exact(of(row)) });

/** A column of times since the Unix epoch, ns; null: never. */
export const dateColumn = <T,>(label: string, of: (row: T) => string | null): Column<T> => ({ label, className: "number", show: (row) => (of(row) === null ? "" : date(of(row))), title: (row) => (of(row) === null ? undefined : exactDate(of(row))) });
