// Range.tsx - what happened in the marked range, below the timeline and as wide as it: sums, and
// tables of kernels, copies, waits and scopes that can be sorted and copied.
import { useMemo, useState } from "react";
import { client } from "../api/client";
import { mangledOf, nameOf, rowsOf, shortOf } from "../api/columns";
import { bytes, count, duration, exact, percent } from "../format/format";
import { memory } from "../text/memory";
import { Link } from "../router/Link";
import { href, useQuery } from "../router/router";
import { timelineText as text } from "../text/timeline";
import { Choices, CopyButton } from "../ui/forms";
import { Name } from "../ui/Name";
import { Meter } from "../ui/parts";
import { Table, type ColumnDef, type SortingState } from "../ui/Table";
import { exactTime } from "./axis";
import { MakeBookmark } from "./BookmarkList";
import type { Engine } from "./engine";
import { foundOf, waitsOf, type Found } from "./events";
import { KIND, listOf, type Lane } from "./lanes";
import { RangeFlame } from "./RangeFlame";
import { byLine, byName, csvOf, stacksOfWaits, type RangeRow } from "./rangeRows";
import { LineButton } from "./Stack";
import { useAsked } from "./use";
import type { View } from "./view";

const EVENTS = 20_000;
const LANES = 256;
const TABLES = ["kernels", "copies", "waits", "lines", "scopes"] as const;
const TABS = [...TABLES, "flame"] as const;
type Table_ = (typeof TABLES)[number];

const sum = (values: readonly (number | null)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);

async function eventsOf(session: string, lanes: readonly Lane[], range: View, signal: AbortSignal): Promise<Found[]> {
  if (lanes.length === 0) return [];
  const ids = lanes.slice(0, LANES).map((lane) => lane.id);
  return foundOf(await client.get("events", { session, lanes: listOf(ids), from: range.from, to: range.to, limit: EVENTS }, signal));
}

async function numbersOf(engine: Engine, range: View, signal: AbortSignal) {
  const { from, to } = range;
  const { session } = engine;
  const { lanes, lines } = engine.scene;
  // The driver's synchronizations repeat the calls, if there are any calls.
  const calls = waitsOf(lanes).filter((lane) => lane.kind === KIND.wait);
  const called = calls.length > 0 ? KIND.wait : KIND.sync;
  const [kernels, copies, waits, scopes, stacked] = await Promise.all([
    client.get("kernels", { session, from, to, limit: 10_000 }, signal),
    client.get("copies", { session, from, to }, signal),
    eventsOf(session, calls.length ? calls : waitsOf(lanes), range, signal),
    eventsOf(session, lanes.filter((lane) => lane.kind === KIND.scope), range, signal),
    waitsOf(lanes).length ? client.get("waits", { session, from, to, limit: EVENTS }, signal) : null,
  ]);
  const copied = rowsOf(copies);
  const withStacks = stacked ? rowsOf(stacked).filter((row) => row.lane !== null && Number(BigInt(row.lane) >> 56n) === called) : [];
  const rows: Record<Table_, RangeRow[]> = {
    kernels: rowsOf(kernels).map((row) => ({
      key: mangledOf(kernels, row.name) ?? String(row.name_id),
      name: shortOf(kernels, row.name) || text.unnamed,
      full: nameOf(kernels, row.name) || text.unnamed,
      page: row.name_id,
      calls: row.calls ?? 0,
      total: row.total ?? 0,
      longest: row.longest,
    })),
    copies: copied.map((row, at) => {
      const name = text.copyOf(memory.kinds[row.kind ?? 0] ?? String(row.kind), memory.places[row.src_memory ?? 0] ?? "", memory.places[row.dst_memory ?? 0] ?? "");
      return { key: String(at), name, full: name, page: null, calls: row.calls ?? 0, total: row.total ?? 0, longest: null };
    }),
    waits: byName(waits, range, text.one[KIND.wait]!),
    lines: byLine(withStacks, lines, range, text.noLine),
    scopes: byName(scopes, range, text.unnamed),
  };
  const stacks = stacksOfWaits(withStacks, lines, range, text.noStack);
  const most = (stacked?.rows ?? 0) >= EVENTS;
  return { rows, stacks, bytes: sum(copied.map((row) => row.bytes)), cut: { kernels: false, copies: false, waits: waits.length >= EVENTS, scopes: scopes.length >= EVENTS, lines: most, flame: most } };
}

const head = text.rangeColumns;
const number = (id: "calls" | "total" | "longest", show: (value: number | null) => string, unit: string): ColumnDef<RangeRow> => ({
  id,
  accessorFn: (row) => row[id] ?? -1,
  header: head[id],
  meta: { width: "110px", right: true },
  cell: ({ row: { original } }) => <span title={exact(original[id], unit)}>{show(original[id])}</span>,
});

const FIND_MOST = 256; // letters that the server searches for

/** Marks the launches of a kernel by the search; a second click removes the search. */
function Only({ row }: { row: RangeRow }) {
  const [find, setFind] = useQuery("find");
  const wanted = row.full.slice(0, FIND_MOST);
  return (
    <button type="button" className="button small" title={text.onlyText} aria-label={`${text.only}: ${row.name}`} aria-pressed={find === wanted} onClick={() => setFind(find === wanted ? "" : wanted)}>
      {text.only}
    </button>
  );
}

const only: ColumnDef<RangeRow> = { id: "only", header: text.search, enableSorting: false, meta: { width: "172px" }, cell: ({ row }) => <Only row={row.original} /> };

const columnsFor = (session: string, all: number): ColumnDef<RangeRow>[] => [
  {
    id: "name",
    accessorFn: (row) => row.full,
    header: head.name,
    sortDescFirst: false,
    meta: { width: "minmax(240px, 3fr)", lead: true, stays: true },
    cell: ({ row: { original } }) =>
      original.place ? (
        <LineButton place={original.place} />
      ) : original.page === null ? (
        <span className="mono">
          <Name short={original.name} full={original.full} />
        </span>
      ) : (
        <Link className="mono" href={href("kernel", { session, name: original.page })}>
          <Name short={original.name} full={original.full} />
        </Link>
      ),
  },
  number("total", duration, "ns"),
  {
    id: "share",
    accessorFn: (row) => row.total,
    header: head.share,
    meta: { width: "130px", right: true },
    cell: ({ row: { original } }) => (
      <>
        {percent(all ? original.total / all : null)}
        <span className="part part-short">
          <Meter part={all ? original.total / all : null} />
        </span>
      </>
    ),
  },
  number("calls", count, ""),
  { id: "mean", accessorFn: (row) => (row.calls ? row.total / row.calls : -1), header: head.mean, meta: { width: "110px", right: true }, cell: ({ row: { original } }) => duration(original.calls ? original.total / original.calls : null) },
  number("longest", duration, "ns"),
];

function Rows({ session, rows, caption }: { session: string; rows: RangeRow[]; caption: string }) {
  const [sorting, setSorting] = useState<SortingState>([{ id: "total", desc: true }]);
  const columns = useMemo(() => [...columnsFor(session, sum(rows.map((row) => row.total))), ...(rows.some((row) => row.page !== null) ? [only] : [])], [session, rows]);
  return <Table caption={caption} rows={rows} columns={columns} sorting={sorting} onSort={setSorting} sortHere />;
}

export function Range({ engine, range }: { engine: Engine; range: View }) {
  const asked = useAsked(`${engine.session} ${range.from} ${range.to}`, (signal) => numbersOf(engine, range, signal));
  const [wanted, setTab] = useQuery("of");
  const n = asked.data;
  const length = range.to - range.from;
  const tab = TABS.find((one) => one === wanted) ?? TABLES.find((one) => n?.rows[one].length) ?? "kernels";
  const rows = tab === "flame" ? [] : (n?.rows[tab] ?? []);
  const size = (of: Table_): number => n?.rows[of].length ?? 0;
  const calls = (of: Table_): number => sum(n?.rows[of].map((row) => row.calls) ?? []);
  const time = (of: Table_): number => sum(n?.rows[of].map((row) => row.total) ?? []);
  const fact = (label: string, title: string, value: string, note = "") => (
    <div className="tl-fact">
      <dt>{label}</dt>
      <dd title={title}>
        {n ? value : "…"} {n && note && <span className="quiet">{note}</span>}
      </dd>
    </div>
  );
  return (
    <>
      <h2 className="tl-name" title={exact(length, "ns")}>
        {text.range} {duration(length)} <span className="quiet small number">{`${exactTime(range.from)} – ${exactTime(range.to)}. ${text.rangeText}`}</span>
      </h2>
      <MakeBookmark key={`${range.from} ${range.to}`} range={range} />
      {asked.problem && <p role="alert">{asked.problem.message}</p>}
      <dl className="tl-facts">
        {fact(text.kernels, exact(calls("kernels")), calls("kernels") ? text.launches(count(calls("kernels"))) : text.noneHere)}
        {fact(text.kernelTime, exact(time("kernels"), "ns"), duration(time("kernels")), text.ofRange(percent(time("kernels") / length)))}
        {fact(text.copies, exact(n?.bytes, "bytes"), calls("copies") ? `${text.copiesOf(count(calls("copies")))}, ${bytes(n?.bytes)}, ${duration(time("copies"))}` : text.noneHere)}
        {fact(text.waits, exact(time("waits"), "ns"), calls("waits") ? `${n?.cut.waits ? text.waitsCut(count(EVENTS)) : text.waitsOf(count(calls("waits")))}, ${duration(time("waits"))}` : text.noneHere)}
      </dl>
      <div className="row">
        <Choices label={text.rangeOf} value={tab} options={TABS.map((value) => ({ value, label: `${text.rangeTabs[value]}${n && value !== "flame" ? ` · ${text.rangeCounts[value](count(size(value)))}` : ""}` }))} onChange={setTab} />
        {n?.cut[tab] && tab !== "flame" && <span className="quiet small">{text.waitsCut(count(EVENTS))}</span>}
        {rows.length > 0 && (
          <span className="end">
            <CopyButton text={csvOf(rows)} label={text.copyCsv} />
          </span>
        )}
      </div>
      {n && tab === "flame" && <RangeFlame engine={engine} range={range} waits={n.stacks} cut={n.cut.flame} />}
      {n && tab !== "flame" && (rows.length > 0 ? <Rows session={engine.session} rows={rows} caption={tab === "kernels" ? text.top : text.rangeTabs[tab]} /> : <p className="quiet">{text.noneHere}</p>)}
    </>
  );
}
