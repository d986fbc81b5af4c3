// HostPage.tsx - one host: its state and that of its GPUs now, its usage over days, and its
// sessions in these days.
import { useEffect, useMemo } from "react";
import type { RowSession } from "../../api/schema";
import { useApi } from "../../api/use";
import { between, bytes, count, date, duration, exact, exactDate, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { fleet } from "../../text/fleet";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Meter, Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { HostCaptures, HostRecord, useCaptures } from "../control/Captures";
import { gpuNames } from "../session/facts";
import { PassChip } from "../sessions/PassChip";
import { StateChips } from "../sessions/StateChips";
import { barsOf, nsOf, sumOf, type Range } from "./days";
import { Bars, energy, hours, RangeBar, useRange } from "./DayBars";
import "./fleet.css";
import { FRESH, gpuName, hostName, useNewest, useNow } from "./fresh";
import { GpuCard, seenText } from "./GpuCard";
import { byUrgency, gpuOf, hostSampleOf, isSilent, shortUuids } from "./health";
import { useUsage } from "./usage";
import { Watched } from "./Watched";

const text = fleet.hostPage;
const SHOWN = 100;

const columns: Column<RowSession>[] = [
  { label: text.columns.app, className: "wrap", show: (s) => <><Link href={href("session", { session: s.id, tab: "insights" })}>{s.app || s.id.slice(0, 8)}</Link> <PassChip session={s} engine /></> },
  { label: text.columns.state, show: (s) => <StateChips session={s} /> },
  { label: text.columns.started, show: (s) => date(s.started), title: (s) => exactDate(s.started) },
  timeColumn(text.columns.duration, (s) => between(s.started, s.ended ?? s.received)),
  { label: text.columns.busy, right: true, show: (s) => percent(s.busy) },
  countColumn(text.columns.kernels, (s) => s.kernels),
  { label: text.columns.gpu, className: "wrap", show: gpuNames },
];

function Now({ name }: { name: string }) {
  const asked = useApi("host", { host: name }, FRESH);
  const gpus = useApi("gpus", { host: name }, FRESH);
  const answered = useMemo(() => asked.data && [asked.data], [asked.data]);
  const host = useNewest(answered, "hosts", hostName)?.[0];
  const gpuRows = useNewest(gpus.data?.rows, "gpus", gpuName);
  const now = useNow(host, gpuRows);
  if (asked.problem?.status === 404) return <p className="quiet">{text.forgotten}</p>;
  if (asked.problem && !host) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!host || (!gpus.data && !gpus.problem)) return <Skeleton rows={8} />;
  const sample = hostSampleOf(host);
  const cards = (gpuRows ?? []).map((row) => gpuOf(row, now)).sort(byUrgency);
  const short = shortUuids(cards);
  const old = isSilent(host.seen, now);
  const part = (value: number | null) => ({
    value: <span className={old ? "quiet" : undefined}>{percent(value)}</span>,
    exact: exact(value),
    note: value !== null && (
      <span className={old ? "old-values" : undefined}>
        <Meter part={value} /> {old && fleet.lastKnownShort}
      </span>
    ),
  });
  return (
    <>
      <Stats
        items={[
          { label: fleet.host.cpu, ...part(sample.cpu) },
          { label: text.used, ...part(sample.memory) },
          { label: text.cpus, value: count(host.cpus), exact: exact(host.cpus) },
          { label: text.memory, value: bytes(host.memory), exact: exact(host.memory, "bytes") },
          { label: fleet.counts.running, value: count(host.sessions), exact: exact(host.sessions) },
          { label: text.first, value: date(host.created), exact: exactDate(host.created) },
        ]}
      />
      <p className="quiet small" title={exactDate(host.seen)}>
        {[host.system, host.agent && text.agent(host.agent), `${fleet.host.seen} ${seenText(host.seen, now)}`].filter(Boolean).join(" · ")}
      </p>
      <section className="stack">
        <h2>{text.gpus}</h2>
        {gpus.data && cards.length === 0 && <p className="quiet">{text.noGpus}</p>}
        <div className="gpu-cards">
          {cards.map((gpu) => (
            <GpuCard key={gpu.uuid} gpu={gpu} short={short(gpu.uuid)} now={now} />
          ))}
        </div>
      </section>
    </>
  );
}

function Sessions({ name, range }: { name: string; range: Range }) {
  const asked = useApi("sessions", { host: name, from: nsOf(range.from), to: nsOf(range.to), limit: SHOWN }, FRESH);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={6} />;
  return (
    <Panel title={text.sessions} aside={<Link href={href("sessions", {}, { host: name })}>{text.all}</Link>}>
      {asked.data.rows.length === 0 ? <p className="panel-body quiet">{text.sessionsNone}</p> : <Listing label={text.sessions} columns={columns} rows={asked.data.rows} keyOf={(s) => s.id} />}
      {asked.data.next && <p className="panel-body quiet small">{text.more(count(SHOWN))}</p>}
    </Panel>
  );
}

function Days({ name, range, onRange }: { name: string; range: Range; onRange: (range: Range) => void }) {
  const usage = useUsage("host", range, name);
  const rows = usage.rows;
  const sum = sumOf(rows ?? []);
  return (
    <Panel title={text.days} aside={fleet.historyText}>
      <div className="panel-body stack">
        <div className="row">
          <RangeBar range={range} onRange={onRange} />
        </div>
        {usage.problem && <ProblemView problem={usage.problem} again={usage.again} />}
        {rows ? <Bars bars={barsOf(rows, range)} onRange={onRange} /> : !usage.problem && <div className="skeleton days" />}
        <Stats
          items={[
            { label: text.sums.hours, value: rows ? hours(sum.wall) : UNKNOWN, exact: duration(sum.wall) },
            { label: text.sums.busy, value: percent(sum.busy), exact: exact(sum.busy), note: <>{sum.busy !== null && <Meter part={sum.busy} />} {fleet.busyText}</> },
            { label: text.sums.util, value: percent(sum.utilization), exact: exact(sum.utilization), note: <>{sum.utilization !== null && <Meter part={sum.utilization} />} {fleet.utilText}</> },
            { label: text.sums.energy, value: energy(sum.energy), exact: exact(sum.energy, "mJ") },
            { label: text.sums.sessions, value: count(sum.sessions), exact: exact(sum.sessions) },
            { label: text.sums.kernels, value: count(sum.kernels), exact: exact(sum.kernels), note: sum.counted < sum.sessions ? fleet.counted(count(sum.counted), count(sum.sessions)) : undefined },
          ]}
        />
      </div>
    </Panel>
  );
}

export function HostPage({ name }: { name: string }) {
  const [range, setRange] = useRange();
  const captures = useCaptures({ host: name });
  useEffect(() => {
    document.title = `${name} · ${fleet.title} · ${en.product}`;
  }, [name]);
  return (
    <>
      <div className="row">
        <h1>{name}</h1>
        <span className="end" />
        <HostRecord host={name} onDone={captures.again} />
      </div>
      <Now name={name} />
      {/* Requests, if there are any, push nothing down when they arrive. */}
      {captures.data || captures.problem ? (
        <>
          <HostCaptures asked={captures} />
          <Days name={name} range={range} onRange={setRange} />
          <Watched name={name} from={nsOf(range.from)} to={nsOf(range.to)} />
          <Sessions name={name} range={range} />
        </>
      ) : (
        <Skeleton rows={8} />
      )}
    </>
  );
}
