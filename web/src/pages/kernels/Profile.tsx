// Profile.tsx - the counts of engines other than Trace, below the table of kernels: hardware
// counters by scope and kernel, counted instructions, samples by kernel and scope. A session
// without any of them shows nothing here.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useCallback, useMemo, type ReactNode } from "react";
import { count, exact, percent, UNKNOWN } from "../../format/format";
import { counterMetric } from "../../format/metrics";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import type { Words } from "../../text/kernel";
import { profile as text } from "../../text/profile";
import { Choices } from "../../ui/forms";
import { countColumn, Listing, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { Meter, Panel, Stats } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { countersOf, countersOfKernel, instructionsOf, instructionsOfKernel, sampledKernelsOf, sampledScopesOf, type Counted, type CountedMetric, type Executed, type SampledKernel, type SampledScope } from "./profile";

const FIGURES = ["mean", "least", "most"] as const;
type Figure = (typeof FIGURES)[number];

/** A metric's value with its unit, by the driver's name. */
export const shown = (metric: string, value: number | null): string => counterMetric({ device: 0, id: 0, name: metric }).show(value);
const labelOf = (metric: string): string => text.metrics[metric] ?? metric;
const times = (value: number | null): string => (value === null ? UNKNOWN : value.toFixed(1));

/** Kernels that have a page, by their names in the program. */
export type Known = ReadonlyMap<string, { id: number; name: string; short: string; uncut?: string | undefined }>;

/** The order of a table in the address: a column, with "-" before it if the column ascends. */
function useOrder(key: string, usual: string): [SortingState, (sorting: SortingState) => void] {
  const [order, setOrder] = useQuery(key, usual);
  const ascends = order.startsWith("-");
  return [[{ id: ascends ? order.slice(1) : order, desc: !ascends }], ([first]) => first && setOrder(`${first.desc ? "" : "-"}${first.id}`)];
}

interface KernelProps {
  session: string;
  known: Known;
  of: { symbol: string; name: string; short: string; uncut?: string | undefined };
  find: string;
  onOpen: (symbol: string) => void; // where it has no page
}

/** Whether a kernel has the searched text in one of its names. */
function isFound(find: string, known: Known, of: { symbol: string; name?: string; short: string }): boolean {
  const found = known.get(of.symbol);
  return find === "" || [of.symbol, of.name, of.short, found?.name, found?.short].some((name) => name?.toLowerCase().includes(find.toLowerCase()));
}

function Kernel({ session, known, of: { symbol, name, short, uncut }, find, onOpen }: KernelProps) {
  const found = known.get(symbol);
  const whole = found?.name ?? (name || symbol || text.unknownKernel);
  const shown = found?.short ?? (short || whole);
  const before = found ? found.uncut : uncut;
  return found ? (
    <Link className="mono" href={href("kernel", { session, name: found.id })} >
      <Name short={shown} uncut={before} full={whole} symbol={symbol} find={find} />
    </Link>
  ) : (
    <button type="button" className="group-name mono" disabled={!symbol} onClick={() => onOpen(symbol)}>
      <Name short={shown} uncut={before} full={whole} symbol={symbol} find={find} />
    </button>
  );
}

interface Opened {
  symbol: string; // the kernel whose lines are open; "": none
  toggle: (symbol: string) => void;
}

/** The kernel whose lines are open, in the address. */
function useOpened(): Opened {
  const [symbol, set] = useQuery("lines");
  const toggle = useCallback((other: string) => set(other === symbol ? "" : other), [set, symbol]);
  return useMemo(() => ({ symbol, toggle }), [symbol, toggle]);
}

/** The column with the button that opens a kernel's lines. */
const linesColumn = <T extends { symbol: string; short: string }>({ symbol, toggle }: Opened): ColumnDef<T> => ({
  id: "lines",
  header: text.lines,
  enableSorting: false,
  meta: { width: "90px" },
  cell: ({ row: { original } }) => (
    <button type="button" className="button small" aria-expanded={symbol === original.symbol} aria-label={text.linesOf(original.short)} onClick={() => toggle(original.symbol)}>
      {text.lines}
    </button>
  ),
});

/** The lines of a kernel, below the table that names it. */
function LinesOf({ row, codeOf }: { row: { symbol: string; short: string } | undefined; codeOf: (symbol: string) => ReactNode }) {
  if (!row) return null;
  return (
    <section className="stack" aria-label={text.linesOf(row.short)}>
      <h3 className="mono ellipsis">{row.short}</h3>
      {codeOf(row.symbol)}
    </section>
  );
}

// ---- hardware counters -------------------------------------------------------------------------------

function subjectOf(row: Counted, known: Known, uncut = false): string {
  const found = known.get(row.symbol) ?? row;
  const kernel = row.symbol && ((uncut && found.uncut) || found.short || row.symbol);
  if (row.run) return row.device === null ? text.run : text.runOf(row.device);
  const what = kernel ? (row.place ? text.inScope(kernel, row.place) : kernel) : row.place || text.outside;
  return row.device === null ? what : text.onDevice(what, row.device);
}

function Subject({ row, session, known, find }: { row: Counted; session: string; known: Known; find: string }) {
  const what = subjectOf(row, known);
  const kernel = known.get(row.symbol);
  const name = <Name short={what} uncut={subjectOf(row, known, true)} full={kernel ? `${kernel.name}${row.place ? `\n${row.place}` : ""}` : what} symbol={row.symbol} find={find} />;
  return kernel ? (
    <Link className="mono" href={href("kernel", { session, name: kernel.id })}>
      {name}
    </Link>
  ) : (
    <span className={row.run ? "" : "mono"}>{name}</span>
  );
}

const SHORT = 15; // letters of a heading that a narrow column shows

const metricColumn = (metric: string, figure: Figure): ColumnDef<Counted> => ({
  id: metric.replaceAll(".", "+"), // a dot would be a path into an object
  accessorFn: (row) => row.metrics.get(metric)?.[figure] ?? undefined,
  sortUndefined: "last",
  header: () => <span title={metric}>{labelOf(metric)}</span>,
  meta: { width: text.metrics[metric] ? (text.metrics[metric].length > SHORT ? "180px" : "132px") : "330px", right: true, label: labelOf(metric) },
  cell: ({ row: { original } }) => {
    const value = original.metrics.get(metric);
    return value ? <span title={text.cell(shown(metric, value.mean), shown(metric, value.least), shown(metric, value.most), count(value.values))}>{shown(metric, value[figure])}</span> : UNKNOWN;
  },
});

function Counters({ session, part, known, find }: { session: string; part: unknown; known: Known; find: string }) {
  const counters = useMemo(() => countersOf(part), [part]);
  // Counters of scopes and of the whole run belong to no kernel, and stay.
  const rows = useMemo(() => counters.rows.filter((row) => !row.symbol || isFound(find, known, row)), [counters, find, known]);
  const [wanted, setFigure] = useQuery("figure", "mean");
  const figure = FIGURES.find((one) => one === wanted) ?? "mean";
  const [sorting, onSort] = useOrder("counters", "");
  const columns = useMemo(
    (): ColumnDef<Counted>[] => [
      { id: "of", accessorFn: (row) => subjectOf(row, known), header: text.of, sortDescFirst: false, meta: { width: "minmax(320px, 2fr)", lead: true, stays: true }, cell: ({ row: { original } }) => <Subject row={original} session={session} known={known} find={find} /> },
      { id: "values", accessorFn: (row) => row.values, header: text.values, meta: { width: "84px", right: true }, cell: ({ row: { original } }) => <span title={exact(original.values)}>{count(original.values)}</span> },
      ...counters.metrics.map((metric) => metricColumn(metric, figure)),
    ],
    [counters, figure, find, known, session],
  );
  if (counters.rows.length === 0) return null;
  return (
    <Part title={text.counters} about={text.countersText}>
      <div className="row">
        <Choices label={text.figure} value={figure} options={FIGURES.map((value) => ({ value, label: text.figures[value]! }))} onChange={setFigure} />
      </div>
      <Table caption={text.counters} rows={rows} columns={columns} sorting={sorting[0]!.id ? sorting : []} onSort={onSort} sortHere />
      <details className="small">
        <summary>{text.columns}</summary>
        <dl className="metric-names">
          {counters.metrics.map((metric) => (
            <div key={metric}>
              <dt>{labelOf(metric)}</dt>
              <dd className="mono wrap quiet">{metric}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Part>
  );
}

const counterColumns = (places: boolean): Column<CountedMetric>[] => [
  {
    label: text.metric,
    className: "wrap",
    show: (row) => (
      <>
        {labelOf(row.metric)}
        {text.metrics[row.metric] && <small className="mono quiet block">{row.metric}</small>}
      </>
    ),
  },
  ...(places ? [{ label: text.place, className: "mono wrap", show: (row: CountedMetric) => row.place || text.outside }] : []),
  countColumn(text.values, (row) => row.values),
  ...FIGURES.map((figure): Column<CountedMetric> => ({ label: text.figures[figure]!, right: true, show: (row) => shown(row.metric, row[figure]), title: (row) => exact(row[figure]) })),
];

// ---- counted instructions ----------------------------------------------------------------------------

const figuresOf = (row: Executed) => ({
  threads: <span className={row.threads !== null && row.threads < 0.75 ? "wrong" : undefined}>{percent(row.threads)}</span>,
  needed: <span className={row.needed !== null && row.needed < 0.7 ? "wrong" : undefined}>{percent(row.needed)}</span>,
  conflicts: <span className={row.conflicts !== null && row.conflicts > 1.2 ? "wrong" : undefined}>{times(row.conflicts)}</span>,
});

const head = text.executedColumns;
const figureColumn = (id: "threads" | "needed" | "conflicts"): ColumnDef<Executed> => ({
  id,
  accessorFn: (row) => row[id] ?? undefined,
  sortUndefined: "last",
  header: head[id],
  meta: { width: "150px", right: true },
  cell: ({ row: { original } }) => figuresOf(original)[id],
});

interface InstructionsProps {
  session: string;
  part: unknown;
  known: Known;
  codeOf?: (symbol: string) => ReactNode; // undefined: another table shows the lines
  words: Words;
  find: string;
}

function Instructions({ session, part, known, words, find, codeOf }: InstructionsProps) {
  const all = useMemo(() => instructionsOf(part), [part]);
  const [per, setPer] = useQuery("per");
  const [sorting, onSort] = useOrder("executed", "executed");
  const scoped = all.some((row) => row.scope);
  const byScope = per === "scope" && scoped;
  const rows = useMemo(() => all.filter((row) => Boolean(row.scope) === byScope && isFound(find, known, row)), [all, byScope, find, known]);
  const opened = useOpened();
  const lines = codeOf !== undefined && !byScope;
  const columns = useMemo(
    (): ColumnDef<Executed>[] => [
      { id: "kernel", accessorFn: (row) => row.name, header: head.kernel, sortDescFirst: false, meta: { width: "minmax(320px, 2fr)", lead: true, stays: true }, cell: ({ row: { original } }) => <Kernel session={session} known={known} of={original} find={find} onOpen={opened.toggle} /> },
      ...(byScope ? [{ id: "scope", accessorFn: (row: Executed) => row.scope, header: head.scope, sortDescFirst: false, meta: { width: "minmax(200px, 1fr)" }, cell: ({ row: { original } }: { row: { original: Executed } }) => <span className="mono" title={original.scope}>{original.scope}</span> }] : []),
      { id: "executed", accessorFn: (row) => row.executed ?? undefined, sortUndefined: "last", header: head.executed, meta: { width: "110px", right: true }, cell: ({ row: { original } }) => <span title={exact(original.executed)}>{count(original.executed)}</span> },
      figureColumn("threads"),
      figureColumn("needed"),
      figureColumn("conflicts"),
      ...(lines ? [linesColumn<Executed>(opened)] : []),
    ],
    [byScope, find, known, lines, opened, session],
  );
  if (all.length === 0) return null;
  return (
    <Part title={text.instructions} about={words.counted}>
      {scoped && (
        <div className="row">
          <Choices label={text.per} value={byScope ? "scope" : ""} options={Object.entries(text.pers).map(([value, label]) => ({ value, label }))} onChange={setPer} />
        </div>
      )}
      <Table caption={text.instructions} rows={rows} columns={columns} sorting={sorting} onSort={onSort} sortHere />
      {codeOf && <LinesOf row={opened.symbol ? rows.find((row) => row.symbol === opened.symbol) : undefined} codeOf={codeOf} />}
    </Part>
  );
}

// ---- samples by kernel -------------------------------------------------------------------------------

const REASONS = 3;
const reasonsOf = (reasons: SampledKernel["reasons"]): ReactNode => {
  const all = reasons.map(({ reason, part }) => text.reason(reason, percent(part)));
  return <span title={all.join("\n")}>{all.slice(0, REASONS).join(", ")}</span>;
};
const shareOf = (share: number, margin: number | null): ReactNode => (
  <>
    {margin === null ? percent(share) : text.margin(percent(share), (100 * margin).toFixed(1))}
    <span className="part part-short">
      <Meter part={share} />
    </span>
  </>
);

function SampledKernels({ session, part, known, words, find, codeOf }: { session: string; part: unknown; known: Known; words: Words; find: string; codeOf: (symbol: string) => ReactNode }) {
  const all = useMemo(() => sampledKernelsOf(part), [part]);
  const rows = useMemo(() => all.filter((row) => isFound(find, known, row)), [all, find, known]);
  const [sorting, onSort] = useOrder("kernels", "samples");
  const opened = useOpened();
  const of = text.sampledColumns;
  const columns = useMemo(
    (): ColumnDef<SampledKernel>[] => [
      { id: "kernel", accessorFn: (row) => row.name, header: of.kernel, sortDescFirst: false, meta: { width: "minmax(320px, 2fr)", lead: true, stays: true }, cell: ({ row: { original } }) => <Kernel session={session} known={known} of={original} find={find} onOpen={opened.toggle} /> },
      { id: "share", accessorFn: (row) => row.share, header: of.share, meta: { width: "170px", right: true }, cell: ({ row: { original } }) => shareOf(original.share, original.margin) },
      { id: "samples", accessorFn: (row) => row.samples, header: of.samples, meta: { width: "100px", right: true }, cell: ({ row: { original } }) => <span title={exact(original.samples)}>{count(original.samples)}</span> },
      { id: "issued", accessorFn: (row) => row.issued, header: of.issued, meta: { width: "90px", right: true }, cell: ({ row: { original } }) => percent(original.issued) },
      { id: "reasons", header: of.reasons, enableSorting: false, meta: { width: "minmax(300px, 2fr)" }, cell: ({ row: { original } }) => reasonsOf(original.reasons) },
      linesColumn<SampledKernel>(opened),
    ],
    [find, known, of, opened, session],
  );
  if (all.length === 0) return null;
  return (
    <Part title={text.sampled} about={words.sampled}>
      <Table caption={text.sampled} rows={rows} columns={columns} sorting={sorting} onSort={onSort} sortHere />
      <LinesOf row={opened.symbol ? rows.find((row) => row.symbol === opened.symbol) : undefined} codeOf={codeOf} />
    </Part>
  );
}

// ---- samples by scope --------------------------------------------------------------------------------

const scopeHead = text.scopeColumns;
const scopeColumns: ColumnDef<SampledScope>[] = [
  { id: "scope", accessorFn: (row) => row.scope, header: scopeHead.scope, sortDescFirst: false, meta: { width: "minmax(260px, 2fr)", lead: true, stays: true }, cell: ({ row: { original } }) => <span className="mono" title={original.scope}>{original.scope || text.outside}</span> },
  {
    id: "share",
    accessorFn: (row) => row.share,
    header: scopeHead.share,
    meta: { width: "130px", right: true },
    cell: ({ row: { original } }) => shareOf(original.share, null),
  },
  { id: "samples", accessorFn: (row) => row.samples, header: scopeHead.samples, meta: { width: "100px", right: true }, cell: ({ row: { original } }) => <span title={exact(original.samples)}>{count(original.samples)}</span> },
  { id: "issued", accessorFn: (row) => row.issued, header: scopeHead.issued, meta: { width: "90px", right: true }, cell: ({ row: { original } }) => percent(original.issued) },
  {
    id: "reasons",
    header: scopeHead.reasons,
    enableSorting: false,
    meta: { width: "minmax(300px, 2fr)" },
    cell: ({ row: { original } }) => reasonsOf(original.reasons),
  },
];

function SampledScopes({ part, words }: { part: unknown; words: Words }) {
  const rows = useMemo(() => sampledScopesOf(part), [part]);
  const [sorting, onSort] = useOrder("sampled", "samples");
  if (rows.length === 0) return null;
  return (
    <Part title={text.scopes} about={words.samplesOfScopes}>
      <Table caption={text.scopes} rows={rows} columns={scopeColumns} sorting={sorting} onSort={onSort} sortHere />
    </Part>
  );
}

// ---- together ----------------------------------------------------------------------------------------

function Part({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  return (
    <section className="stack">
      <div className="row">
        <h2>{title}</h2>
        <span className="quiet small">{about}</span>
      </div>
      {children}
    </section>
  );
}

/** part: the report's part `profile`. find: the text that kernels must have in a name. codeOf: draws
 * a kernel's lines and instructions. */
export function Profile({ session, part, known, words, find, codeOf }: { session: string; part: unknown; known: Known; words: Words; find: string; codeOf: (symbol: string) => ReactNode }) {
  const sampled = useMemo(() => sampledKernelsOf(part).length > 0, [part]);
  return (
    <>
      <Counters session={session} part={part} known={known} find={find} />
      <Instructions session={session} part={part} known={known} words={words} find={find} {...(sampled ? {} : { codeOf })} />
      <SampledKernels session={session} part={part} known={known} words={words} find={find} codeOf={codeOf} />
      <SampledScopes part={part} words={words} />
    </>
  );
}

/** The counts of one kernel, if there are any. */
export function ProfileOfKernel({ part, symbol, words }: { part: unknown; symbol: string; words: Words }) {
  const counters = useMemo(() => countersOfKernel(part, symbol), [part, symbol]);
  const executed = useMemo(() => instructionsOfKernel(part, symbol), [part, symbol]);
  const figures = executed && figuresOf(executed);
  return (
    <>
      {executed && figures && (
        <Panel title={text.instructions} aside={words.counted}>
          <Stats
            items={[
              { label: head.executed, value: count(executed.executed), exact: exact(executed.executed) },
              { label: head.threads, value: figures.threads, exact: exact(executed.threads) },
              { label: head.needed, value: figures.needed, exact: exact(executed.needed) },
              { label: head.conflicts, value: figures.conflicts, exact: exact(executed.conflicts) },
            ]}
          />
        </Panel>
      )}
      {counters.length > 0 && (
        <Panel title={text.counters} aside={text.ofKernel}>
          <Listing label={text.counters} columns={counterColumns(counters.some((row) => row.place))} rows={counters} keyOf={(_, at) => at} />
        </Panel>
      )}
    </>
  );
}
