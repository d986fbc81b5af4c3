// MemoryTab.tsx - data that moved between host and GPUs, by kind and size, with bandwidth: copies,
// and managed memory; and the memory that the program held on each GPU over time.
import { useMemo } from "react";
import { rowsOf } from "../../api/columns";
import { onSession, useApi, type Freshness } from "../../api/use";
import { between, bytes, count, exact, percent, UNKNOWN } from "../../format/format";
import { heldOf } from "../../format/held";
import { DEVICE, rate, seconds } from "../../format/metrics";
import { memory as text } from "../../text/memory";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Empty, Meter, Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { Series } from "../../ui/Series";
import { gpusOf } from "../session/facts";
import type { TabProps } from "../session/tabs";
import { DevicePlot, WindowBar } from "../system/plots";
import { useWindow, type Window } from "../system/window";
import { allocationsNote, bandwidth, managedOf, pageable, sizeOf, sizesOf, type Copies, type Managed, type SizeRow } from "./memory";

const head = text.columns;
const USED = DEVICE.find((metric) => metric.name === "memory_used")!;
const FINEST = 20_000; // steps of a session that are asked for at most
const LIVE_MS = 5000;

const kindOf = (kind: number | null): string => text.kinds[kind ?? 0] ?? text.kinds[0];
const placeOf = (place: number | null): string => text.places[place ?? 0] ?? text.places[0];
const bytesColumn = <T,>(label: string, of: (row: T) => number | null): Column<T> => ({ label, right: true, show: (row) => bytes(of(row)), title: (row) => exact(of(row), "bytes") });

function Transfers({ rows }: { rows: Copies[] }) {
  const whole = rows.reduce((sum, row) => sum + (row.total ?? 0), 0);
  const columns: Column<Copies>[] = [
    { label: head.kind, show: (row) => kindOf(row.kind) },
    { label: head.from, show: (row) => <Place of={row.src_memory} row={row} /> },
    { label: head.to, show: (row) => <Place of={row.dst_memory} row={row} /> },
    countColumn(head.calls, (row) => row.calls),
    bytesColumn(head.bytes, (row) => row.bytes),
    bytesColumn(head.mean, (row) => (row.calls && row.bytes !== null ? Math.round(row.bytes / row.calls) : null)),
    timeColumn(head.total, (row) => row.total),
    {
      label: head.share,
      right: true,
      show: (row) => (
        <>
          {percent(whole && row.total !== null ? row.total / whole : null)}
          <Meter part={whole && row.total !== null ? row.total / whole : null} />
        </>
      ),
    },
    { label: head.bandwidth, right: true, show: (row) => rate(bandwidth(row)), title: (row) => exact(bandwidth(row), "bytes/s") },
  ];
  return (
    <Panel title={text.transfers} aside={text.transfersText}>
      {rows.length === 0 ? <p className="panel-body quiet">{text.noCopies}</p> : <Listing label={text.transfers} columns={columns} rows={rows} keyOf={(_, at) => at} />}
    </Panel>
  );
}

/** One end of a copy. Pageable host memory costs time if the other end is a GPU. */
function Place({ of, row }: { of: number | null; row: Copies }) {
  const slow = placeOf(of) === text.pageable && pageable(row) && row.kind !== 9;
  return slow ? (
    <span className="chip chip-warn" title={text.pageableText}>
      {text.pageable}
    </span>
  ) : (
    placeOf(of)
  );
}

function Sizes({ rows }: { rows: SizeRow[] }) {
  const columns: Column<SizeRow>[] = [
    { label: head.kind, show: (row) => kindOf(row.kind) },
    { label: head.size, show: (row) => sizeOf(row.bin), className: "number" },
    countColumn(head.calls, (row) => row.calls),
    bytesColumn(head.bytes, (row) => row.bytes),
    timeColumn(head.total, (row) => row.total),
    {
      label: head.bandwidth,
      right: true,
      title: (row) => exact(row.bandwidth, "bytes/s"),
      show: (row) => (
        <>
          {rate(row.bandwidth)}
          <Meter part={row.bandwidth !== null && row.best ? row.bandwidth / row.best : null} />
        </>
      ),
    },
  ];
  return (
    <Panel title={text.sizes} aside={text.sizesText}>
      <Listing label={text.sizes} columns={columns} rows={rows} keyOf={(row) => `${row.kind} ${row.bin}`} rowClass={(row, at) => (at > 0 && rows[at - 1]!.kind !== row.kind ? "part-begins" : undefined)} />
    </Panel>
  );
}

const managedHead = text.managedColumns;
const managedColumns: Column<Managed>[] = [
  { label: managedHead.kind, show: (row) => text.managedKinds[row.kind] },
  countColumn(managedHead.calls, (row) => row.calls),
  bytesColumn(managedHead.bytes, (row) => row.bytes),
  bytesColumn(managedHead.mean, (row) => (row.bytes === null ? null : Math.round(row.bytes / row.calls))),
  countColumn(managedHead.faults, (row) => row.faults),
  timeColumn(managedHead.total, (row) => row.total),
  { label: managedHead.bandwidth, right: true, show: (row) => rate(bandwidth(row)), title: (row) => exact(bandwidth(row), "bytes/s") },
];

/** The report has the sums, so that they appear after the analysis. */
function ManagedMemory({ session }: { session: string }) {
  const asked = useApi("section_summary", { session }, { every: 0, on: onSession(session) });
  const rows = useMemo(() => (asked.data ? managedOf(asked.data) : []), [asked.data]);
  const pending = asked.problem?.status === 404 || (asked.data !== undefined && rows.length === 0);
  if (asked.problem && !asked.data && !pending) return <ProblemView problem={asked.problem} again={asked.again} />;
  return (
    <Panel title={text.managed} aside={text.managedText}>
      {rows.length > 0 ? <Listing label={text.managed} columns={managedColumns} rows={rows} keyOf={(row) => row.kind} /> : pending ? <p className="panel-body quiet">{text.managedPending}</p> : <div className="skeleton skeleton-block" />}
    </Panel>
  );
}

interface DeviceProps {
  session: string;
  device: number; // from 0
  name: string;
  length: number; // ns
  window: Window;
  onRange: (from: number, to: number) => void;
  fresh: number | Freshness;
}

function Allocations({ session, device, name, length, window, onRange, fresh }: DeviceProps) {
  const step = Math.max(window.step, Math.ceil(length / FINEST));
  const asked = useApi("allocations", { session, device: device + 1, step }, fresh);
  const rows = useMemo(() => (asked.data ? rowsOf(asked.data) : undefined), [asked.data]);
  const points = useMemo(() => {
    const line = rows && heldOf(rows, step, length);
    return line && { ...line, at: line.at.map((ns) => ns / 1e9) };
  }, [rows, step, length]);
  const range = useMemo<[number, number]>(() => [window.from / 1e9, window.to / 1e9], [window]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!rows || !points) return <div className="skeleton skeleton-block" />;
  if (rows.length === 0) return null;
  const peak = rows.reduce<number | null>((most, row) => (most === null || row.peak === null ? null : Math.max(most, row.peak)), 0);
  const held = rows.at(-1)!.held;
  const calls = rows.reduce((sum, row) => sum + (row.calls ?? 0), 0);
  const label = text.allocationsOf(device, name);
  return (
    <Panel title={label} aside={text.allocationsText}>
      <div className="panel-body stack">
        <Stats
          items={[
            { label: text.peak, value: peak === null ? UNKNOWN : bytes(peak), exact: exact(peak, "bytes") },
            { label: text.held, value: held === null ? UNKNOWN : bytes(held), exact: exact(held, "bytes") },
            { label: text.calls, value: count(calls), exact: exact(calls) },
          ]}
        />
        <Series label={label} points={points} show={bytes} showTime={seconds} session={session} colour="--series-4" binary range={range} onRange={onRange} />
      </div>
    </Panel>
  );
}

export function MemoryTab({ session: s, ledger }: TabProps) {
  const early = useApi("section_ledger", s.analyzed ? null : { session: s.id }); // a live session may have a report already
  const length = between(s.started, s.ended ?? s.received) ?? 0;
  const fresh = s.state === "live" ? { every: LIVE_MS, on: onSession(s.id) } : 0;
  const [window, choose] = useWindow(length);
  const counts = useApi("counts", { session: s.id }, fresh);
  const asked = useApi("copies", { session: s.id }, fresh);
  const sizes = useApi("copy_sizes", { session: s.id }, fresh);
  const gpus = gpusOf(s);
  const copies = useMemo(() => (asked.data ? rowsOf(asked.data) : undefined), [asked.data]);
  const bySize = useMemo(() => (sizes.data ? sizesOf(rowsOf(sizes.data)) : []), [sizes.data]);
  const problem = asked.problem ?? counts.problem;
  if (problem && (!asked.data || !counts.data)) return <ProblemView problem={problem} again={() => (asked.again(), counts.again())} />;
  if (!copies || !counts.data || (!sizes.data && !sizes.problem)) return <Skeleton rows={8} />;
  const has = (record: string): boolean => rowsOf(counts.data!).some((row) => row.record === record && (row.rows ?? 0) > 0);
  const allocated = has("alloc");
  const sampled = has("device_metric");
  const managed = has("managed");
  if (copies.length === 0 && !allocated && !sampled && !managed) return <Empty title={text.none} text={text.noneText} />;
  return (
    <div className="stack">
      <Transfers rows={copies} />
      {bySize.length > 0 && <Sizes rows={bySize} />}
      {managed && <ManagedMemory session={s.id} />}
      {(allocated || sampled) && <WindowBar session={s.id} window={window} onWhole={() => choose()} />}
      {!allocated && <p className="quiet small">{allocationsNote((s.analyzed ? ledger : early).data)}</p>}
      {gpus.map((name, device) => (
        <div className="stack" key={device}>
          {allocated && <Allocations session={s.id} device={device} name={name} length={length} window={window} onRange={choose} fresh={fresh} />}
          {sampled && <DevicePlot session={s.id} device={device + 1} metric={{ ...USED, label: text.used(device) }} window={window} onRange={choose} />}
        </div>
      ))}
    </div>
  );
}
