// IdleLines.tsx - the lines of the program that a cause of idle time is divided among, as a table. A
// line whose text is kept opens in a window.
import { useState } from "react";
import { count, duration, exact, percent } from "../../format/format";
import { idle as text } from "../../text/idle";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { Meter } from "../../ui/parts";
import { shortFunction } from "../syncs/calls";
import { stateOf } from "../syncs/state";
import { lineKey, type IdleRow } from "./causes";

const SHOWN = 5;
const head = text.columns;

/** The line, or the reason why there is none. */
function Place({ row, onLine }: { row: IdleRow; onLine: (line: string) => void }) {
  if (!row.place)
    return (
      <span className="quiet">
        {text.noLine}: {text.reasons[row.reason] ?? row.reason}
      </span>
    );
  return (
    <>
      {row.file ? (
        <button type="button" className="place" title={row.file} onClick={() => onLine(lineKey(row))}>
          {row.place}
        </button>
      ) : (
        <span className="place">{row.place}</span>
      )}
      {row.ended && <span className="quiet small"> {text.ended}</span>}
      {row.function && (
        <div className="quiet small two-lines">
          <Name short={shortFunction(row.function)} full={row.function} />
        </div>
      )}
    </>
  );
}

function operatorOf({ operator, before }: IdleRow) {
  const said = operator && before ? text.before(operator) : operator;
  return said && <Name short={said} full={operator} />;
}

const error = ({ halfWidth, place }: IdleRow): string => (halfWidth === 0 || !place ? "" : duration(halfWidth));

/** Columns that are empty in all rows are left out. */
const columnsFor = (rows: readonly IdleRow[], onLine: (line: string) => void): Column<IdleRow>[] => [
  { label: head.place, show: (row) => <Place row={row} onLine={onLine} /> },
  ...(rows.some(({ operator }) => operator) ? [{ label: head.operator, hint: text.operatorText, className: "mono wrap", show: operatorOf, title: ({ operator, before }: IdleRow) => (operator && before ? text.beforeText : undefined) }] : []),
  ...(rows.some(({ state }) => state) ? [{ label: head.state, hint: text.stateText, show: ({ state, syscall }: IdleRow) => (state ? stateOf({ state, syscall, call: "" }) : "") }] : []),
  timeColumn(head.time, ({ ns }) => ns),
  ...(rows.some(error) ? [{ label: head.error, right: true, show: error, title: ({ halfWidth }: IdleRow) => exact(halfWidth, "ns") }] : []),
  {
    label: head.share,
    hint: text.shareText,
    right: true,
    show: ({ share }) => (
      <>
        {percent(share)}
        <Meter part={share} warm />
      </>
    ),
  },
];

/** name: of the cause. */
export function IdleLines({ name, rows, onLine }: { name: string; rows: readonly IdleRow[]; onLine: (line: string) => void }) {
  const [all, setAll] = useState(false);
  const rest = rows.length - SHOWN;
  return (
    <>
      <Listing label={text.heading(name)} columns={columnsFor(rows, onLine)} rows={all ? rows : rows.slice(0, SHOWN)} keyOf={(_, at) => at} />
      {rest > 0 && (
        <p>
          <button type="button" className="button small" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? text.fewer : text.more(count(rest))}
          </button>
        </p>
      )}
    </>
  );
}
