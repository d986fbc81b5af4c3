// Launches.tsx - the distribution of a kernel's launches, and the launches one by one.
import type { ColumnDef } from "@tanstack/react-table";
import { useCallback, useMemo, useState } from "react";
import { rowsOf, type Row } from "../../api/columns";
import type { AnswerLaunches } from "../../api/schema";
import { useApi } from "../../api/use";
import { duration, exact, moments } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { kernel } from "../../text/kernel";
import { kernels as kernelTexts } from "../../text/kernels";
import { system } from "../../text/system";
import { rangeText } from "../../timeline/view";
import { Choices } from "../../ui/forms";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { Histogram } from "./Histogram";

/** How many launches are asked for: a few screens at first, more as somebody scrolls to their
 * end. */
const FIRST = 300;
const MORE = 6;
const LAUNCHES = 10000;
const text = kernelTexts.launchColumns;
type Launch = Row<AnswerLaunches["data"]>;

const identity = (id: "thread" | "correlation" | "graph"): ColumnDef<Launch, never> => ({
  id,
  header: text[id],
  enableSorting: false,
  meta: { width: "minmax(100px, 1fr)", right: true },
  cell: ({ row: { original: l } }) => (id === "graph" && l.graph === 0 ? "" : (l[id] ?? "")),
});

interface Stream {
  number: number | null; // the driver's
  device: number | null; // from 1
}

/** By the session's id. */
type Streams = ReadonlyMap<number, Stream>;

/** Streams of several GPUs may have one number, so that the GPU stands before it. */
function streamText(stream: Stream | undefined, several: boolean): string {
  const number = stream?.number ?? "–";
  return several && stream?.device ? `${kernel.gpu(stream.device - 1)} · ${number}` : String(number);
}

const streamColumn = (streams: Streams): ColumnDef<Launch, never> => ({
  id: "stream",
  header: text.stream,
  enableSorting: false,
  meta: { width: "minmax(100px, 1fr)", right: true },
  cell: ({ row: { original: l } }) => streamText(streams.get(l.stream ?? 0), new Set([...streams.values()].map(({ device }) => device)).size > 1),
});

/** A launch with some time around it, on the timeline. */
const onTimeline = (session: string, l: Launch): string => href("session", { session, tab: "timeline" }, { at: rangeText({ from: (l.start ?? 0) - (l.duration ?? 0) - 1000, to: (l.start ?? 0) + 2 * (l.duration ?? 0) + 1000 }) });

/** A column of identities that no launch has is left out. */
const IDENTITIES = ["stream", "thread", "correlation", "graph"] as const;

const columnsFor = (session: string, there: readonly (typeof IDENTITIES)[number][], streams: Streams): ColumnDef<Launch, never>[] => [
  {
    id: "start",
    header: text.start,
    enableSorting: false,
    meta: { width: "minmax(150px, 1fr)" },
    cell: ({ row: { original: l } }) => (
      <Link className="launch-start number" href={onTimeline(session, l)} title={`${exact(l.start, "ns")}. ${system.onTimeline}`}>
        {moments(l.start, 6)}
      </Link>
    ),
  },
  { id: "duration", header: text.duration, enableSorting: false, meta: { width: "minmax(120px, 1fr)", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.duration, "ns")}>{duration(l.duration)}</span> },
  ...there.map((id) => (id === "stream" ? streamColumn(streams) : identity(id))),
];

export interface OfKernel {
  session: string;
  name: number; // id in the session
}

export function Launches({ session, name }: OfKernel) {
  const [order, setOrder] = useQuery("launches", "longest");
  const by = order === "start" ? "start" : "longest";
  const [limit, setLimit] = useState(FIRST);
  const asked = useApi("launches", { session, name, order: by, limit });
  const rows = useMemo(() => (asked.data ? rowsOf(asked.data) : []), [asked.data]);
  const full = rows.length === limit && limit < LAUNCHES;
  const onEnd = useCallback(() => full && setLimit((now) => Math.min(LAUNCHES, now * MORE)), [full]);
  const there = IDENTITIES.filter((id) => rows.some((launch) => launch[id] !== null && (launch[id] !== 0 || id !== "graph")));
  const askedStreams = useApi("streams", { session });
  const streams = useMemo(() => new Map(askedStreams.data ? rowsOf(askedStreams.data).map((row) => [row.id ?? 0, row]) : []), [askedStreams.data]);
  const columns = useMemo(() => columnsFor(session, there, streams), [session, there.join(), streams]); // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <section className="stack">
      <div className="row">
        <h2>{kernelTexts.launches}</h2>
        <span className="end" />
        <Choices label={kernelTexts.launches} value={by} options={[{ value: "longest", label: kernelTexts.longest }, { value: "start", label: kernelTexts.byStart }]} onChange={setOrder} />
      </div>
      {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data && rows.length === 0 && <p className="quiet">{kernelTexts.launchesNone}</p>}
      {asked.data ? rows.length > 0 && <Table caption={kernelTexts.launches} rows={rows} columns={columns} sorting={[]} onEnd={onEnd} /> : <Skeleton />}
    </section>
  );
}

export function Distribution({ session, name }: OfKernel) {
  const asked = useApi("kernel_histogram", { session, name });
  return (
    <Panel title={kernelTexts.distribution} aside={kernelTexts.distributionText}>
      <div className="panel-body">
        {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
        {asked.data ? <Histogram bins={rowsOf(asked.data)} /> : <div className="skeleton skeleton-block" />}
      </div>
    </Panel>
  );
}
