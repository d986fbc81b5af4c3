// KernelPage.tsx - one kernel: how long its launches take, how it is launched, and the launches.
import type { ColumnDef } from "@tanstack/react-table";
import { useEffect, useMemo } from "react";
import { rowsOf, type Row } from "../../api/columns";
import type { AnswerLaunches } from "../../api/schema";
import { useApi } from "../../api/use";
import { who } from "../../api/who";
import { count, duration, exact, grouped, shortKernel } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { en } from "../../text/en";
import { trends } from "../../text/trends";
import { Empty, Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { Deep } from "./Deep";
import { Histogram } from "./Histogram";
import { kernelsOf, type Kernel } from "./KernelsTab";

const LAUNCHES = 10000;
const text = en.kernels.launchColumns;
type Launch = Row<AnswerLaunches["data"]>;

const identity = (id: "stream" | "thread" | "correlation" | "graph"): ColumnDef<Launch, never> => ({
  id,
  header: text[id],
  enableSorting: false,
  meta: { width: "minmax(100px, 1fr)", right: true },
  cell: ({ row: { original: l } }) => (id === "graph" && l.graph === 0 ? "" : (l[id] ?? "")),
});

const launchColumns: ColumnDef<Launch, never>[] = [
  { id: "start", header: text.start, enableSorting: false, meta: { width: "minmax(150px, 1fr)", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.start, "ns")}>{duration(l.start)}</span> },
  { id: "duration", header: text.duration, enableSorting: false, meta: { width: "minmax(120px, 1fr)", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.duration, "ns")}>{duration(l.duration)}</span> },
  identity("stream"),
  identity("thread"),
  identity("correlation"),
  identity("graph"),
];

function Launches({ session, name }: { session: string; name: number }) {
  const [order, setOrder] = useQuery("launches", "longest");
  const by = order === "start" ? "start" : "longest";
  const asked = useApi("launches", { session, name, order: by, limit: LAUNCHES });
  const rows = useMemo(() => (asked.data ? rowsOf(asked.data) : []), [asked.data]);
  return (
    <section className="stack">
      <div className="row">
        <h2>{en.kernels.launches}</h2>
        <div className="row end" role="group" aria-label={en.kernels.launches}>
          {(["longest", "start"] as const).map((choice) => (
            <button key={choice} type="button" className="button" aria-pressed={choice === by} onClick={() => setOrder(choice)}>
              {choice === "start" ? en.kernels.byStart : en.kernels.longest}
            </button>
          ))}
        </div>
      </div>
      {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data ? <Table caption={en.kernels.launches} rows={rows} columns={launchColumns} sorting={[]} /> : <Skeleton />}
    </section>
  );
}

function Configs({ session, name }: { session: string; name: number }) {
  const asked = useApi("kernel_configs", { session, name });
  const head = en.kernels.configColumns;
  return (
    <Panel title={en.kernels.configs}>
      {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
      <div className="scroll-x" tabIndex={0} role="region" aria-label={en.kernels.configs}>
        <table className="simple">
          <thead>
            <tr>
              <th scope="col">{head.config}</th>
              {[head.calls, head.total, head.mean, head.p99].map((label) => (
                <th scope="col" className="right" key={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(asked.data ? rowsOf(asked.data) : []).map((row) => (
              <tr key={row.config}>
                <td className="mono">{row.config}</td>
                <td className="right">{count(row.calls)}</td>
                <td className="right" title={exact(row.total, "ns")}>
                  {duration(row.total)}
                </td>
                <td className="right" title={exact(row.mean, "ns")}>
                  {duration(row.mean)}
                </td>
                <td className="right" title={exact(row.p99, "ns")}>
                  {duration(row.p99)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Distribution({ session, name }: { session: string; name: number }) {
  const asked = useApi("kernel_histogram", { session, name });
  return (
    <Panel title={en.kernels.distribution} aside={en.kernels.distributionText}>
      <div className="panel-body">
        {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
        {asked.data ? <Histogram bins={rowsOf(asked.data)} /> : <div className="skeleton skeleton-block" />}
      </div>
    </Panel>
  );
}

function summary(k: Kernel) {
  const of = en.kernels.columns;
  const time = (label: string, value: number | null) => ({ label, value: duration(value), exact: exact(value, "ns") });
  return [
    time(of.total, k.total),
    { label: of.calls, value: count(k.calls), exact: exact(k.calls) },
    time(of.mean, k.mean),
    time(of.p50, k.p50),
    time(of.p90, k.p90),
    time(of.p99, k.p99),
    time(of.longest, k.longest),
    { label: of.streams, value: grouped(k.streams ?? 0) },
  ];
}

export function KernelPage({ session, name }: { session: string; name: number }) {
  const asked = useApi("kernels", Number.isInteger(name) ? { session, limit: 10000 } : null);
  const kernel = useMemo(() => (asked.data ? kernelsOf(asked.data).find((k) => k.id === name) : undefined), [asked.data, name]);
  useEffect(() => {
    document.title = `${kernel ? shortKernel(kernel.name) : en.session.tabs.kernels} · ${en.product}`;
  }, [kernel]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data && Number.isInteger(name)) return <Skeleton rows={8} />;
  if (!kernel) return <Empty title={en.kernels.missing} text={en.states.lostPageText} />;
  return (
    <>
      <header className="stack">
        <div className="row">
          <h1 className="kernel-name mono">{shortKernel(kernel.name)}</h1>
          {!who.link && (
            <Link className="button end" href={href("trends", {}, { name: kernel.mangled })}>
              {trends.link}
            </Link>
          )}
        </div>
        <Stats items={summary(kernel)} />
        <details className="small">
          <summary>{en.kernels.name}</summary>
          <p className="mono wrap">{kernel.name}</p>
          <p className="mono wrap quiet">{kernel.mangled}</p>
        </details>
      </header>
      <Distribution session={session} name={name} />
      <Deep session={session} symbol={kernel.mangled} />
      <Configs session={session} name={name} />
      <Launches session={session} name={name} />
    </>
  );
}
