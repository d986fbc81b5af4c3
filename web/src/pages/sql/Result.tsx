// Result.tsx - the answer to a statement as a table and as a plot, and as files to download.
import { useMemo, useState } from "react";
import { useAct } from "../../api/use";
import { count, duration, grouped } from "../../format/format";
import { useQuery } from "../../router/router";
import { sql as text } from "../../text/sql";
import { Choices, CopyButton, Pick } from "../../ui/forms";
import { Name } from "../../ui/Name";
import { Dialog, Empty, Meter, Panel } from "../../ui/parts";
import { Plot } from "../../ui/Plot";
import { Table, type ColumnDef, type SortingState } from "../../ui/Table";
import { isNumeric, numberOf, type Answer, type Cell } from "./answer";
import { csvOf, notebookOf, notebookOfFile, parquetOf } from "./files";
import type { Names } from "./names";
import { BARS_MOST, barsOf, kindFor, numberColumns, pointsOf, standard, type PlotKind } from "./plot";

export interface Ran {
  answer: Answer;
  names: Names;
  ms: number;
  sql: string;
  sessions: string;
}

const FILE = "gpufl-answer";

function save(content: BlobPart, type: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const shown = (value: number): string => (Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(6)))).replace("-", "−");

function CellText({ cell, names }: { cell: Cell; names: Names }) {
  if (cell === null) return <span className="quiet small">{text.unknown}</span>;
  if (typeof cell === "number") return <span title={String(cell)}>{shown(cell)}</span>;
  const called = typeof cell === "string" ? names.get(cell) : undefined;
  return <Name short={called?.short ?? String(cell)} full={called?.full ?? String(cell)} />;
}

type Line = Cell[];

function Rows({ answer, names }: { answer: Answer; names: Names }) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const columns = useMemo<ColumnDef<Line>[]>(
    () =>
      answer.columns.map((column, at) => {
        const right = isNumeric(column);
        return {
          id: column.name,
          header: () => <span title={column.type}>{column.name}</span>,
          accessorFn: (row) => (right ? numberOf(row[at]) : row[at]),
          sortUndefined: "last",
          cell: ({ row }) => <CellText cell={row.original[at] ?? null} names={names} />,
          meta: { width: right ? "minmax(110px, 1fr)" : "minmax(190px, 3fr)", right, label: column.name },
        };
      }),
    [answer, names],
  );
  return <Table caption={text.views.table} rows={answer.rows} columns={columns} sorting={sorting} onSort={setSorting} sortHere />;
}

function Bars({ answer, names, x, y }: { answer: Answer; names: Names; x: string; y: string }) {
  const all = useMemo(() => barsOf(answer, x, y), [answer, x, y]);
  const bars = all.slice(0, BARS_MOST);
  const most = bars.reduce((sum, bar) => Math.max(sum, Math.abs(bar.value)), 0);
  return (
    <>
      <ol className="sql-bars" aria-label={text.plotOf(y, x)}>
        {bars.map((bar, at) => (
          <li key={at}>
            <span className="ellipsis">
              <CellText cell={bar.label} names={names} />
            </span>
            <Meter part={most ? Math.abs(bar.value) / most : 0} warm={bar.value < 0} />
            <span className="number right" title={String(bar.value)}>
              {shown(bar.value)}
            </span>
          </li>
        ))}
      </ol>
      {all.length > bars.length && <p className="small quiet">{text.plotCut(count(bars.length), count(all.length))}</p>}
    </>
  );
}

function Curve({ answer, x, y, points }: { answer: Answer; x: string; y: string; points: boolean }) {
  const drawn = useMemo(() => pointsOf(answer, x, y), [answer, x, y]);
  const across = useMemo(() => ({ label: x, values: drawn.x }), [x, drawn]);
  const up = useMemo(() => ({ label: y, values: drawn.y }), [y, drawn]);
  if (drawn.x.length === 0) return <p className="quiet">{text.noPlotX}</p>;
  return <Plot label={text.plotOf(y, x)} x={across} y={up} show={shown} points={points} />;
}

interface PlotProps {
  answer: Answer;
  names: Names;
  wanted: { plot: string; x: string; y: string }; // the plot of the ready question
}

function PlotView({ answer, names, wanted }: PlotProps) {
  const [askedX, setX] = useQuery("x");
  const [askedY, setY] = useQuery("y");
  const [askedKind, setKind] = useQuery("plot");
  const { x, y } = standard(answer, { x: askedX || wanted.x, y: askedY || wanted.y });
  const kind = kindFor(answer, x, askedKind || wanted.plot);
  const numbers = numberColumns(answer);
  if (numbers.length === 0) return <p className="panel-body quiet">{text.noPlot}</p>;
  const kinds = (Object.keys(text.plots) as PlotKind[]).map((value) => ({ value, label: text.plots[value] }));
  return (
    <div className="panel-body stack">
      <div className="row">
        <Pick label={text.plot} value={kind} options={kinds} onChange={setKind} />
        <Pick label={text.x} value={x} options={answer.columns.map(({ name }) => ({ value: name, label: name }))} onChange={setX} />
        <Pick label={text.y} value={y} options={numbers.map((name) => ({ value: name, label: name }))} onChange={setY} />
      </div>
      {kind === "bars" ? <Bars answer={answer} names={names} x={x} y={y} /> : <Curve answer={answer} x={x} y={y} points={kind === "points"} />}
    </div>
  );
}

function Notebook({ ran, local, onClose }: { ran: Ran; local: boolean; onClose: () => void }) {
  const code = local ? notebookOfFile(`${FILE}.parquet`, ran.sql) : notebookOf({ origin: location.origin, sql: ran.sql, sessions: ran.sessions });
  return (
    <Dialog title={text.notebookTitle} className="sql-notebook" onClose={onClose}>
      <div className="panel-body stack">
        <h2>{text.notebookTitle}</h2>
        <p className="small quiet">{local ? text.notebookLocal : text.notebookText}</p>
        <pre className="sql-code" tabIndex={0} aria-label={text.notebookTitle}>
          {code}
        </pre>
        <div className="row end">
          <CopyButton text={code} />
          <button type="button" className="button" onClick={onClose}>
            {text.close}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Take({ ran, local }: { ran: Ran; local: boolean }) {
  const [open, setOpen] = useState(false);
  const parquet = useAct(async () => save(await parquetOf(ran.answer), "application/vnd.apache.parquet", `${FILE}.parquet`));
  return (
    <span className="row end">
      <button type="button" className="button" onClick={() => save(csvOf(ran.answer), "text/csv", `${FILE}.csv`)}>
        {text.csv}
      </button>
      <button type="button" className="button" disabled={parquet.busy} onClick={() => void parquet.run()}>
        {text.parquet}
      </button>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {text.notebook}
      </button>
      {parquet.problem && (
        <span className="wrong small" role="alert">
          {parquet.problem.message}
        </span>
      )}
      {open && <Notebook ran={ran} local={local} onClose={() => setOpen(false)} />}
    </span>
  );
}

export function Result({ ran, local, wanted }: { ran: Ran; local: boolean; wanted: PlotProps["wanted"] }) {
  const [view, setView] = useQuery("view", "table");
  const { answer, names } = ran;
  const views = (["table", "plot"] as const).map((value) => ({ value, label: text.views[value] }));
  return (
    <Panel>
      <div className="panel-head sql-head">
        <span role="status" className="number">
          {text.rows(count(answer.rows.length), duration(ran.ms * 1e6))}
          {answer.truncated && <span className="captured-lost"> {text.cut}</span>}
        </span>
        <Choices label={text.view} value={view === "plot" ? "plot" : "table"} options={views} onChange={setView} />
        <Take ran={ran} local={local} />
      </div>
      {answer.rows.length === 0 ? <Empty title={text.empty} text={text.emptyText} /> : view === "plot" ? <PlotView answer={answer} names={names} wanted={wanted} /> : <Rows answer={answer} names={names} />}
    </Panel>
  );
}
