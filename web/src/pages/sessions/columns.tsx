// columns.tsx - the columns that the list of sessions can have, and the choice of a user. The
// browser keeps the choice; the address contains it, so that a link shows the same columns to
// others.
import type { ColumnDef } from "@tanstack/react-table";
import { useEffect, useState } from "react";
import type { RowSession } from "../../api/schema";
import { between, bytes, count, date, duration, exact, exactDate, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { sessions } from "../../text/sessions";
import { Name } from "../../ui/Name";
import { Meter } from "../../ui/parts";
import { gpuNames, labelsOf } from "../session/facts";
import type { SORTS } from "./filters";
import { PassChip } from "./PassChip";
import { chipsWidth, StateChips } from "./StateChips";

const text = sessions.columns;
type Column = ColumnDef<RowSession, never>;

const plain = (id: "account" | "client" | "format", width: string): Column => ({
  id,
  header: text[id],
  enableSorting: false,
  meta: { width },
  cell: ({ row: { original: s } }) => <span title={s[id]}>{s[id]}</span>,
});

/** A text of the session, with the matches of the list's search marked. The search covers other
 * texts, too. */
function Sought({ text: shown, others = "" }: { text: string; others?: string }) {
  const [find] = useQuery("text");
  return <Name short={shown} full={shown} symbol={others} find={find} />;
}

/** The server sorts; the table offers sorting only for columns that the server can sort by. */
const by = (id: (typeof SORTS)[number]) => ({ id, accessorFn: (): null => null });

export const COLUMNS: readonly Column[] = [
  {
    ...by("app"),
    header: text.app,
    meta: { width: "minmax(230px, 2fr)", lead: true },
    cell: ({ row: { original: s } }) => (
      <span className="kernel-cell">
        <Link href={href("session", { session: s.id, tab: "insights" })}>
          <Sought text={s.app || s.id.slice(0, 8)} others={s.id} />
        </Link>
        <PassChip session={s} />
      </span>
    ),
  },
  { id: "state", header: text.state, enableSorting: false, meta: { width: "190px" }, cell: ({ row: { original: s } }) => <StateChips session={s} /> },
  { id: "engine", header: text.engine, enableSorting: false, meta: { width: "120px" }, cell: ({ row: { original: s } }) => s.engine },
  { ...by("started"), header: text.started, meta: { width: "156px" }, cell: ({ row: { original: s } }) => <span title={exactDate(s.started)}>{date(s.started)}</span> },
  {
    ...by("duration"),
    header: text.duration,
    meta: { width: "100px", right: true },
    cell: ({ row: { original: s } }) => <span title={exact(between(s.started, s.ended), "ns")}>{duration(between(s.started, s.ended))}</span>,
  },
  {
    ...by("busy"),
    header: text.busy,
    meta: { width: "146px", right: true },
    cell: ({ row: { original: s } }) => (
      <span title={exact(s.busy)}>
        {percent(s.busy)}
        {s.busy !== null && (
          <span className="part">
            <Meter part={s.busy} />
          </span>
        )}
      </span>
    ),
  },
  { ...by("kernels"), header: text.kernels, meta: { width: "90px", right: true }, cell: ({ row: { original: s } }) => <span title={exact(s.kernels)}>{count(s.kernels)}</span> },
  { ...by("host"), header: text.host, meta: { width: "minmax(110px, 1fr)" }, cell: ({ row: { original: s } }) => <Sought text={s.host} /> },
  { id: "gpu", header: text.gpu, enableSorting: false, meta: { width: "minmax(140px, 1fr)" }, cell: ({ row: { original: s } }) => <span title={gpuNames(s)}>{gpuNames(s)}</span> },
  { ...by("bytes"), header: text.bytes, meta: { width: "100px", right: true }, cell: ({ row: { original: s } }) => <span title={exact(s.bytes, "bytes")}>{bytes(s.bytes)}</span> },
  { id: "labels", header: text.labels, enableSorting: false, meta: { width: "minmax(110px, 1fr)" }, cell: ({ row: { original: s } }) => <Sought text={labelsOf(s)} /> },
  plain("account", "120px"),
  plain("client", "110px"),
  plain("format", "110px"),
];

const KEY = "gpufl.columns";
const STANDARD = ["app", "state", "started", "duration", "busy", "kernels", "host", "gpu", "engine", "labels"];
const IDS = COLUMNS.map((column) => column.id!);

/** The columns with these ids. The column of states is as wide as the states that the rows have. */
export function columnsOf(ids: readonly string[], rows: readonly RowSession[]): Column[] {
  const width = `${chipsWidth(rows)}px`;
  return COLUMNS.filter((column) => ids.includes(column.id!)).map((column) => (column.id === "state" ? { ...column, meta: { ...column.meta, width } } : column));
}

/** Known ids in the table's order; the name of the session always comes first. */
export function wantedOf(stored: string | null): string[] {
  const said = stored === null ? STANDARD : stored.split(",");
  return IDS.filter((id) => id === "app" || said.includes(id));
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** The columns by the address; without one, the columns that this browser keeps, if they differ
 * from the standard. */
export function useColumns(): [string[], (ids: string[]) => void] {
  const [said, say] = useQuery("columns");
  const [kept, keep] = useState(() => wantedOf(stored()).join());
  const standard = wantedOf(null).join();
  useEffect(() => {
    if (!said && kept !== standard) say(kept);
  }, [said, kept, standard, say]);
  return [
    wantedOf(said || kept),
    (next) => {
      const wanted = wantedOf(next.join()).join();
      keep(wanted);
      say(wanted === standard ? "" : wanted);
      try {
        localStorage.setItem(KEY, wanted);
      } catch {
        /* The choice lasts until the page is reloaded. */
      }
    },
  ];
}
