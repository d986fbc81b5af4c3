// KernelsTab.tsx - kernels by name, in one table that holds thousands. Sorted here: the server's order
// decides only what comes where there are more than asked for.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useMemo } from "react";
import { mangledOf, nameOf, rowsOf } from "../../api/columns";
import type { AnswerKernels } from "../../api/schema";
import { useApi } from "../../api/use";
import { count, duration, exact, percent, shortKernel } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { Empty, Meter, ProblemView, Search, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import type { TabProps } from "../session/tabs";

const LIMIT = 10000;
const text = en.kernels.columns;

export interface Kernel {
  id: number;
  name: string;
  mangled: string;
  share: number | null;
  total: number | null;
  calls: number | null;
  mean: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  longest: number | null;
  configs: number | null;
  streams: number | null;
}

export function kernelsOf(answer: AnswerKernels): Kernel[] {
  const rows = rowsOf(answer.data.name ? answer : { ...answer, rows: 0 });
  const whole = rows.reduce((sum, row) => sum + (row.total ?? 0), 0);
  return rows.map((row) => ({
    ...row,
    id: row.name_id ?? 0,
    name: nameOf(answer, row.name) ?? "",
    mangled: mangledOf(answer, row.name) ?? "",
    share: whole > 0 && row.total !== null ? row.total / whole : null,
  }));
}

const time = (id: "total" | "mean" | "p50" | "p90" | "p99" | "longest"): ColumnDef<Kernel, never> => ({
  id,
  accessorKey: id,
  header: text[id],
  meta: { width: "96px", right: true },
  cell: ({ row: { original: k } }) => <span title={exact(k[id], "ns")}>{duration(k[id])}</span>,
});

const amount = (id: "calls" | "configs" | "streams", width: string): ColumnDef<Kernel, never> => ({
  id,
  accessorKey: id,
  header: text[id],
  meta: { width, right: true },
  cell: ({ row: { original: k } }) => <span title={exact(k[id])}>{count(k[id])}</span>,
});

const columnsFor = (session: string, shares: boolean): ColumnDef<Kernel, never>[] => [
  {
    id: "name",
    accessorKey: "name",
    header: text.name,
    sortDescFirst: false,
    meta: { width: "minmax(280px, 3fr)", lead: true },
    cell: ({ row: { original: k } }) => (
      <Link className="mono" href={href("kernel", { session, name: k.id })} title={k.name}>
        {shortKernel(k.name)}
      </Link>
    ),
  },
  time("total"),
  ...(shares
    ? [
        {
          id: "share",
          accessorKey: "share",
          header: text.share,
          meta: { width: "150px", right: true },
          cell: ({ row: { original: k } }: { row: { original: Kernel } }) => (
            <span title={en.kernels.shareText}>
              {percent(k.share)}
              <span className="part">
                <Meter part={k.share} />
              </span>
            </span>
          ),
        },
      ]
    : []),
  amount("calls", "90px"),
  time("mean"),
  time("p50"),
  time("p90"),
  time("p99"),
  time("longest"),
  amount("configs", "80px"),
  amount("streams", "84px"),
];

export function KernelsTab({ session }: TabProps) {
  const { query } = usePlace();
  const [search, setSearch] = useQuery("search");
  const asked = useApi("kernels", { session: session.id, limit: LIMIT, ...(search ? { pattern: search } : {}) }, session.state === "live" ? 5000 : 0);
  const rows = useMemo(() => (asked.data ? kernelsOf(asked.data) : []), [asked.data]);
  // A part of the kernels says nothing of the whole.
  const whole = !search && rows.length < LIMIT;
  const columns = useMemo(() => columnsFor(session.id, whole), [session.id, whole]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  const sorting: SortingState = [{ id: query.get("sort") ?? "total", desc: query.get("ascending") !== "true" }];
  const sort = ([by]: SortingState) => by && go(withQuery(location.pathname, query, { sort: by.id, ascending: by.desc ? "" : "true" }), true);
  return (
    <div className="stack">
      <div className="row">
        <Search label={en.kernels.search} hint={en.kernels.searchHint} value={search} onChange={setSearch} />
        <span className="quiet small">{en.kernels.approximated}</span>
        {rows.length >= LIMIT && <span className="quiet small">{en.kernels.cut(count(LIMIT))}</span>}
      </div>
      {!asked.data ? (
        <Skeleton rows={10} />
      ) : rows.length === 0 ? (
        <Empty title={en.kernels.none} text={en.kernels.noneText} />
      ) : (
        <Table caption={en.kernels.caption} rows={rows} columns={columns} sorting={sorting} onSort={sort} sortHere />
      )}
    </div>
  );
}
