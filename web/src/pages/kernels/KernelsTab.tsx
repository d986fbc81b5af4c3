// KernelsTab.tsx - kernels by name, in one table that holds thousands, one by one or in groups by
// their names. The page sorts; the server's order only decides which kernels come if there are more
// than the limit.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useCallback, useEffect, useMemo } from "react";
import { unknownOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { bytes, count, duration, exact, grouped, percent, sentence, UNKNOWN } from "../../format/format";
import { placeOf } from "../../format/place";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { kernels as kernelTexts } from "../../text/kernels";
import { kernel as deep, wordsOf, type Words } from "../../text/kernel";
import { Choices } from "../../ui/forms";
import { CopyName, Name } from "../../ui/Name";
import { Empty, Meter, ProblemView, Search, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { useGraphRuns } from "../session/graphs";
import { isOver } from "../session/facts";
import type { TabProps } from "../session/tabs";
import "./deep.css";
import { LINE } from "./AtLine";
import { CodeAlone } from "./Deep";
import { vendorOf } from "../../api/vendor";
import { BYS, groupNamer, linesOf, openOf, orderOf, toggled, type By, type Figures, type Group, type Line } from "./groups";
import { kernelsOf, LISTED, timeOf, type Kernel } from "./kernel";
import { Distribution, Launches } from "./Launches";
import { Profile } from "./Profile";
import { sampledKernelsOf } from "./profile";
import { profiled, reportedBySymbol } from "./report";

const LIVE_MS = 5000;
const text = kernelTexts.columns;
type Row = Line<Kernel>;
type Col = ColumnDef<Row>;

const figuresOf = (line: Row): Figures => line.kernel ?? line.group!.figures;

const time = (id: "total" | "mean" | "p50" | "p90" | "p99" | "longest"): Col => ({
  id,
  accessorFn: (line) => figuresOf(line)[id],
  header: text[id],
  meta: { width: "84px", right: true },
  cell: ({ row: { original: line } }) => <span title={exact(figuresOf(line)[id], "ns")}>{duration(figuresOf(line)[id])}</span>,
});

const amount = (id: "calls" | "configs" | "streams" | "registers", width: string, title?: string): Col => ({
  id,
  accessorFn: (line) => figuresOf(line)[id],
  header: text[id],
  meta: { width, right: true },
  cell: ({ row: { original: line } }) => <span title={[exact(figuresOf(line)[id]), title].filter(Boolean).join(" ")}>{count(figuresOf(line)[id])}</span>,
});

const share: Col = {
  id: "share",
  accessorFn: (line) => figuresOf(line).share,
  header: text.share,
  meta: { width: "132px", right: true },
  cell: ({ row: { original: line } }) => (
    <span title={kernelTexts.shareText}>
      {percent(figuresOf(line).share)}
      <span className="part part-short">
        <Meter part={figuresOf(line).share} />
      </span>
    </span>
  ),
};

/** The columns that the report adds, if there is a report. */
const reportedColumns = (words: Words): readonly Col[] => [
  {
    id: "occupancy",
    accessorFn: (line) => figuresOf(line).occupancy,
    header: text.occupancy,
    meta: { width: "162px", right: true },
    cell: ({ row: { original: line } }) => {
      const { occupancy, configs } = figuresOf(line);
      const limiter = line.kernel?.limiter ?? "";
      return (
        <span title={[(configs ?? 0) > 1 ? deep.occupancyLeast(grouped(configs!)) : words.occupancyText, limiter && `${deep.limits[limiter] ?? limiter} ${deep.limiter}`].filter(Boolean).join(" ")}>
          {limiter && <span className="quiet small">{deep.limitsShort[limiter] ?? limiter}</span>} {percent(occupancy)}
          <span className="part part-short">
            <Meter part={occupancy} warm={(occupancy ?? 1) < 0.5} />
          </span>
        </span>
      );
    },
  },
  amount("registers", "90px", words.registersText),
  {
    id: "local",
    accessorFn: (line) => figuresOf(line).local,
    header: text.spills,
    meta: { width: "98px", right: true },
    cell: ({ row: { original: line } }) => {
      const { local } = figuresOf(line);
      return (
        <span className={local ? "wrong" : undefined} title={`${exact(local, "bytes")}. ${words.spillsText}`}>
          {local === null ? UNKNOWN : bytes(local)}
        </span>
      );
    },
  },
];

const stall: Col = {
  id: "stall",
  accessorFn: (line) => figuresOf(line).stall,
  header: text.stall,
  meta: { width: "190px" },
  cell: ({ row: { original: line } }) =>
    line.kernel?.reason ? (
      <span title={deep.stallShare(percent(line.kernel.stall), line.kernel.reason)}>
        <span className="number">{percent(line.kernel.stall)}</span> <span className="mono small">{line.kernel.reason}</span>
      </span>
    ) : null,
};

interface Doing {
  session: string;
  words: Words;
  place: string; // the source line at which kernels are opened
  search: string;
  peek: string;
  onPeek: (id: string) => void;
  onToggle: (group: Group) => void;
}

function NameCell({ line, session, place, search, peek, onPeek, onToggle }: Doing & { line: Row }) {
  const { kernel, group } = line;
  if (group)
    return (
      <button type="button" className="group-name" aria-expanded={group.open} onClick={() => onToggle(group)}>
        <span aria-hidden="true">{group.open ? "▾" : "▸"}</span> <span className="mono ellipsis" title={group.name}>{group.name || kernelTexts.others}</span> <span className="chip">{count(group.ids.length)}</span>
      </button>
    );
  const { short } = kernel!;
  const here = peek === String(kernel!.id);
  return (
    <span className={line.inner ? "kernel-cell kernel-inner" : "kernel-cell"}>
      <button type="button" className="peek" aria-pressed={here} aria-label={kernelTexts.peek(short)} title={kernelTexts.peekText} onClick={() => onPeek(here ? "" : String(kernel!.id))} />
      <Link className="mono" href={href("kernel", { session, name: kernel!.id }, { [LINE]: place })}>
        <Name short={short} uncut={kernel!.uncut} full={kernel!.name} symbol={kernel!.mangled} find={search} />
      </Link>
      <CopyName full={kernel!.name} />
    </span>
  );
}

/** Which columns there is something to show in. */
interface Has {
  whole: boolean;
  reported: boolean;
  stalls: boolean;
}

const columnsFor = (doing: Doing, { whole, reported, stalls }: Has): Col[] => [
  { id: "name", accessorFn: (line) => line.kernel?.name ?? line.group!.name, header: text.name, sortDescFirst: false, meta: { width: "minmax(277px, 3fr)", lead: true, stays: true }, cell: ({ row: { original: line } }) => <NameCell {...doing} line={line} /> },
  time("total"),
  ...(whole ? [share] : []),
  amount("calls", "76px"),
  time("mean"),
  time("p50"),
  time("p90"),
  time("p99"),
  time("longest"),
  ...(reported ? reportedColumns(doing.words) : []),
  ...(stalls ? [stall] : []),
  amount("configs", "124px"),
  amount("streams", "84px"),
];

/** The columns besides the times. Without the server's analysis there are no samples, which is
 * not an error of this page. */
function useReported(session: RowSession) {
  const configs = useApi("configs", { session: session.id, limit: 100_000 }, session.state === "live" ? LIVE_MS : 0);
  const profile = useApi("section_profile", profiled(session.engine) ? { session: session.id } : null, { every: 0, on: onSession(session.id), settled: isOver(session) });
  const reported = useMemo(() => reportedBySymbol(configs.data, profile.data), [configs.data, profile.data]);
  // Columns that arrive late would move the others while somebody reads.
  const settled = [configs, ...(profiled(session.engine) ? [profile] : [])].every((asked) => asked.data || asked.problem);
  return { reported, settled, profile: profile.data };
}

function Grouping({ by, onBy, patterns, onPatterns }: { by: By; onBy: (by: By) => void; patterns: string; onPatterns: (text: string) => void }) {
  return (
    <>
      <Choices label={kernelTexts.group} value={by} options={BYS.map((value) => ({ value, label: kernelTexts.groups[value]! }))} onChange={onBy} />
      {by === "pattern" && <Search label={kernelTexts.patterns} hint={kernelTexts.patternsHint} value={patterns} onChange={onPatterns} />}
    </>
  );
}

/** The reason for which kernels are unknown, as a sentence. */
const reasonText = (unknown: string): string => `${sentence(unknown.replace(/^(?:unknown: )?(.)/, (_, first: string) => first.toUpperCase()))}.`;

/** The kernels that are searched for, and those of the whole session. */
function useKernels(session: RowSession, search: string) {
  const every = session.state === "live" ? LIVE_MS : 0;
  const asked = useApi("kernels", { session: session.id, limit: LISTED, ...(search ? { pattern: search } : {}) }, every);
  const { reported, settled, profile } = useReported(session);
  // Shares and the counts of engines are of all kernels, whatever the search is.
  const everything = useApi("kernels", search ? { session: session.id, limit: LISTED } : null, every);
  const named = search ? everything.data : asked.data;
  const whole = useMemo(() => (named ? timeOf(named) : null), [named]);
  const kernels = useMemo(() => (asked.data ? kernelsOf(asked.data, reported, whole) : []), [asked.data, reported, whole]);
  const known = useMemo(() => new Map((named ? kernelsOf(named) : []).map((kernel) => [kernel.mangled, kernel])), [named]);
  // A part of the kernels says nothing about the whole.
  const has: Has = { whole: (named?.rows ?? 0) < LISTED, reported: reported.size > 0, stalls: kernels.some((kernel) => kernel.reason !== "") };
  return { asked, settled, profile, named, kernels, known, has, answered: named ?? everything.problem ?? asked.problem };
}

/** A link that names a kernel by its symbol leads to the kernel's page, or to its lines if no
 * launch of it is known. */
function useSymbol(session: string, place: string, { known, answered }: Pick<ReturnType<typeof useKernels>, "known" | "answered">): void {
  const [symbol] = useQuery("symbol");
  useEffect(() => {
    if (!symbol || !answered) return;
    const page = known.get(symbol);
    go(page ? href("kernel", { session, name: page.id }, { [LINE]: place }) : withQuery(location.pathname, new URLSearchParams(location.search), { symbol: "", lines: symbol }), true);
  }, [symbol, answered, known, session, place]);
}

/** The lines of the table, in groups if the address says so, and the order of the lines. */
function useLines(kernels: readonly Kernel[], by: By, patterns: string) {
  const { query } = usePlace();
  const [opened, setOpened] = useQuery("open");
  const nameOf = useMemo(() => (by ? groupNamer(by, patterns) : null), [by, patterns]);
  const open = useMemo(() => openOf(opened), [opened]);
  const order = useMemo(() => orderOf(query.get("sort"), query.get("ascending") !== "true"), [query]);
  const lines = useMemo(() => linesOf(kernels, nameOf, open, order), [kernels, nameOf, open, order]);
  const toggle = useCallback((group: Group) => setOpened(toggled(open, group)), [open, setOpened]);
  const sorting: SortingState = [{ id: order.by, desc: order.descending }];
  const sort = ([first]: SortingState) => first && go(withQuery(location.pathname, query, { sort: first.id, ascending: first.desc ? "" : "true" }), true);
  return { lines, toggle, sorting, sort };
}

/** The reason for which no kernel is listed. unknown: why kernels are unknown, if the ledger says
 * so. runs: how many graphs ran, whose kernels are not listed one by one. */
function NoKernels({ sampled, unknown, search, runs }: { sampled: boolean; unknown: string | null; search: string; runs: number | null | undefined }) {
  if (sampled && !runs) return <p className="quiet">{kernelTexts.noneSampled}</p>;
  if (unknown && !search && !runs) return <Empty title={kernelTexts.unknown} text={reasonText(unknown)} />;
  return <Empty title={kernelTexts.none} text={runs ? kernelTexts.noneGraphs(count(runs)) : kernelTexts.noneText} />;
}

/** A kernel's launches below the table, for a look at it without leaving the table. */
function Peeked({ session, kernel, onClose }: { session: string; kernel: Kernel; onClose: () => void }) {
  return (
    <section className="stack" aria-label={kernelTexts.peek(kernel.short)}>
      <div className="row">
        <h2 className="mono ellipsis">
          <Name short={kernel.uncut ?? kernel.short} full={kernel.name} />
        </h2>
        <Link className="button end" href={href("kernel", { session, name: kernel.id })}>
          {kernelTexts.toPage}
        </Link>
        <button type="button" className="button" onClick={onClose}>
          {en.forms.close}
        </button>
      </div>
      <Distribution session={session} name={kernel.id} />
      <Launches session={session} name={kernel.id} />
    </section>
  );
}

export function KernelsTab({ session, ledger }: TabProps) {
  const [search, setSearch] = useQuery("search");
  const [wanted, setBy] = useQuery("group");
  const [patterns, setPatterns] = useQuery("patterns");
  const [peek, setPeek] = useQuery("peek");
  const [place] = useQuery(LINE);
  const by = BYS.find((one) => one === wanted) ?? "";
  const listed = useKernels(session, search);
  const { asked, named, kernels, known, profile, has } = listed;
  const unknown = session.kernels === null ? unknownOf(ledger.data, "kernels") : null;
  const runs = useGraphRuns(session, asked.data !== undefined && kernels.length === 0);
  const { lines, toggle, sorting, sort } = useLines(kernels, by, patterns);
  useSymbol(session.id, place, listed);
  const words = wordsOf(vendorOf(session));
  const columns = useMemo(
    () => columnsFor({ session: session.id, words, place, search, peek, onPeek: setPeek, onToggle: toggle }, has),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [session.id, words, place, search, peek, setPeek, toggle, has.whole, has.reported, has.stalls],
  );
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  // In a session whose kernels were only sampled, they are in the tables below.
  const sampled = sampledKernelsOf(profile).length > 0 && named?.rows === 0;
  const peeked = kernels.find((kernel) => String(kernel.id) === peek);
  return (
    <div className="stack">
      <div className="row">
        <Search label={kernelTexts.search} hint={kernelTexts.searchHint} value={search} onChange={setSearch} />
        <Grouping by={by} onBy={setBy} patterns={patterns} onPatterns={setPatterns} />
        <span className="small" role="status">
          {search && asked.data && !asked.loading && kernels.length < LISTED && kernelTexts.matches(count(kernels.length))}
        </span>
        <span className="quiet small">{kernelTexts.approximated}</span>
        {kernels.length >= LISTED && <span className="quiet small">{kernelTexts.cut(count(LISTED))}</span>}
      </div>
      {!asked.data || !listed.settled ? (
        <Skeleton rows={10} />
      ) : kernels.length === 0 ? (
        <NoKernels sampled={sampled} unknown={unknown} search={search} runs={runs} />
      ) : (
        <Table caption={kernelTexts.caption} rows={lines} columns={columns} sorting={sorting} onSort={sort} />
      )}
      {peeked && <Peeked session={session.id} kernel={peeked} onClose={() => setPeek("")} />}
      {asked.data && profile !== undefined && <Profile session={session.id} part={profile} known={known} words={words} find={search} codeOf={(symbol) => <CodeAlone session={session.id} part={profile} symbol={symbol} place={placeOf(place)} words={words} />} />}
    </div>
  );
}
