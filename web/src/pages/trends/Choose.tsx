// Choose.tsx - what can be followed: kernels, scopes and applications of sessions that have ended,
// most time first.
import type { ColumnDef } from "@tanstack/react-table";
import { useMemo } from "react";
import { useApi } from "../../api/use";
import { count, duration, exact } from "../../format/format";
import { shortPaths } from "../../format/paths";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { trends as text } from "../../text/trends";
import { Choices } from "../../ui/forms";
import { Name } from "../../ui/Name";
import { Empty, ProblemView, Search, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { candidatesOf, hasWords, KINDS, type Candidate, type Kind } from "./trends";

const ROWS = 2000;
const head = text.choose;

const number = (id: "sessions" | "calls", label: string): ColumnDef<Candidate> => ({ id, header: label, accessorKey: id, enableSorting: false, meta: { width: "110px", right: true }, cell: ({ row: { original: one } }) => <span title={exact(one[id])}>{count(one[id])}</span> });

const columnsFor = (kind: Kind, search: string, paths: ReadonlyMap<string, string>): ColumnDef<Candidate>[] => [
  {
    id: "name",
    header: head.name,
    accessorKey: "short",
    enableSorting: false,
    meta: { width: "minmax(260px, 1fr)", lead: true },
    cell: ({ row: { original: one } }) => (
      <Link className={kind === "kernel" ? "mono" : undefined} href={href("trends", {}, { kind, name: one.symbol })}>
        <Name short={kind === "kernel" ? one.short : (paths.get(one.name) ?? one.name)} uncut={kind === "scope" ? one.name : undefined} full={one.name} symbol={one.symbol} find={search} />
      </Link>
    ),
  },
  number("sessions", head.sessions),
  ...(kind === "app" ? [] : [number("calls", head.calls)]), // a session is one call of its application
  { id: "total", header: head.total, accessorKey: "total", enableSorting: false, meta: { width: "110px", right: true }, cell: ({ row: { original: one } }) => <span title={exact(one.total, "ns")}>{duration(one.total)}</span> },
];

/** The page searches the rows that it has, by the names that people read. If the server has more
 * rows than its answer, the server searches as well; it knows the names in the program alone. */
function useCandidates(kind: Kind, search: string) {
  const all = useApi("history_names", { kind, limit: ROWS });
  const cut = all.data?.rows === ROWS;
  const named = useApi("history_names", cut && search ? { kind, limit: ROWS, pattern: search.slice(0, 256) } : null);
  const found = useMemo(() => {
    if (!all.data) return undefined;
    const mine = candidatesOf(all.data).filter((one) => hasWords(one, search));
    const known = new Set(mine.map((one) => one.symbol));
    return [...mine, ...(named.data ? candidatesOf(named.data).filter((one) => !known.has(one.symbol)) : [])];
  }, [all.data, named.data, search]);
  return { found, cut, problem: all.data ? undefined : all.problem, again: all.again };
}

export function Choose({ kind, onKind }: { kind: Kind; onKind: (kind: Kind) => void }) {
  const [search, setSearch] = useQuery("search");
  const { found, cut, problem, again } = useCandidates(kind, search);
  const paths = useMemo(() => shortPaths(kind === "scope" && found ? found.map(({ name }) => name) : []), [kind, found]);
  const columns = useMemo(() => columnsFor(kind, search, paths), [kind, search, paths]);
  return (
    <>
      <p className="quiet">{text.intro}</p>
      <div className="row">
        <Choices label={text.kind} value={kind} options={KINDS.map((value) => ({ value, label: text.kinds[value]! }))} onChange={onKind} />
        <Search label={text.searchLabel} hint={text.search[kind]!} value={search} onChange={setSearch} />
      </div>
      {problem && <ProblemView problem={problem} again={again} />}
      {!found && !problem && <Skeleton rows={8} />}
      {found?.length === 0 && (search ? <Empty title={text.noneFound} /> : <Empty title={text.none} text={text.noneText} />)}
      {found && found.length > 0 && <Table caption={text.title} rows={found} columns={columns} sorting={[]} />}
      {found && found.length > 0 && cut && <p className="quiet small">{text.cut(count(ROWS))}</p>}
    </>
  );
}
