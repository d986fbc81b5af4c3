// Watched.tsx - a host in sessions of gpufl-monitor: the findings, and the samples of one session,
// one GPU below the other.
import { useMemo } from "react";
import type { RowFound, RowSession } from "../../api/schema";
import { useApi } from "../../api/use";
import { between, count, date, exactDate } from "../../format/format";
import { DEVICE, HOST, type Metric } from "../../format/metrics";
import { list, word } from "../../format/raw";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { fleet } from "../../text/fleet";
import { wordsOf } from "../../text/kernel";
import { system } from "../../text/system";
import { Choices } from "../../ui/forms";
import { countColumn, Listing, type Column } from "../../ui/Listing";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import { gpusOf } from "../session/facts";
import { DevicePlot, HostPlot, Note, WindowBar } from "../system/plots";
import { useWindow } from "../system/window";
import { nsOf } from "./days";
import { useRange } from "./DayBars";
import { FRESH } from "./fresh";
import { CHOICES_MOST, chosenOf, gpuEventsOf, MONITOR, type GpuEvent } from "./monitor";

const text = fleet.watched;
const FINDINGS_MOST = 50;
const only = (metrics: readonly Metric[], ...names: string[]): Metric[] => metrics.filter((metric) => names.includes(metric.name));
const OF_DEVICE = only(DEVICE, "gpu_util", "memory_used", "power", "temperature");
const OF_HOST = only(HOST, "cpu", "memory_used");

const EVENTS_MOST = 200;
const ofMonitor = (rows: readonly RowFound[]): RowFound[] => rows.filter((row) => row.rule.startsWith("gpu_"));

const hostColumn: Column<RowFound> = { label: text.columns.host, show: (found) => <Link href={href("host", { host: found.host })}>{found.host}</Link> };
const columns: Column<RowFound>[] = [
  { label: text.columns.severity, show: (found) => text.severities[found.severity ?? 0] },
  { label: text.columns.finding, className: "wrap", show: (found) => <Link href={href("session", { session: found.session, tab: "insights" })}>{found.title}</Link> },
  { label: text.columns.text, className: "wrap small", show: (found) => found.text },
  { label: text.columns.since, show: (found) => date(found.started), title: (found) => exactDate(found.started) },
];

const eventColumns: Column<GpuEvent>[] = [
  { label: text.events.at, show: (event) => date(event.at), title: (event) => exactDate(event.at) },
  { label: text.events.gpu, className: "wrap", show: (event) => event.gpu },
  { label: text.events.kind, className: "wrap", show: (event) => text.events.kinds[event.kind] ?? event.kind },
  { label: text.events.code, right: true, show: (event) => event.code ?? "" },
  countColumn(text.events.count, (event) => event.count),
];

/** What happened to GPUs while the session was written, newest first. */
function Events({ session }: { session: RowSession }) {
  const asked = useApi("gpu_events", { session: session.id, limit: EVENTS_MOST }, FRESH);
  const rows = useMemo(() => (asked.data ? gpuEventsOf(asked.data, gpusOf(session)) : []), [asked.data, session]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={2} />;
  return (
    <section className="stack">
      <h3>{text.events.title}</h3>
      {rows.length === 0 ? <p className="quiet">{text.events.none}</p> : <Listing label={text.events.title} columns={eventColumns} rows={rows} keyOf={(_, at) => at} />}
      {rows.length === EVENTS_MOST && <p className="quiet small">{text.events.more(count(EVENTS_MOST))}</p>}
    </section>
  );
}

/** Findings of the monitors of all hosts in sessions that began in these days; nothing if no
 * monitor sends sessions. */
export function MonitorsFound() {
  const [range] = useRange();
  const days = { from: nsOf(range.from), to: nsOf(range.to) };
  const sessions = useApi("sessions", { app: MONITOR, ...days, limit: 1 }, FRESH);
  const asked = useApi("findings", { app: MONITOR, ...days, limit: FINDINGS_MOST }, FRESH);
  if (!sessions.data?.rows.length) return null;
  const rows = ofMonitor(asked.data?.rows ?? []);
  return (
    <Panel title={text.findings} aside={text.foundAside}>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data && rows.length === 0 && <p className="panel-body quiet">{text.well}</p>}
      {rows.length > 0 && <Listing label={text.findings} columns={[hostColumn, ...columns]} rows={rows} keyOf={(row) => `${row.session} ${row.number}`} />}
    </Panel>
  );
}

function Plots({ session }: { session: RowSession }) {
  const length = between(session.started, session.ended ?? session.received) ?? 0;
  const [window, choose] = useWindow(length);
  const gpus = useMemo(() => gpusOf(session), [session]);
  const plot = { session: session.id, window, onRange: choose };
  return (
    <div className="stack">
      <WindowBar session={session.id} window={window} onWhole={() => choose()} />
      <h3>{system.host}</h3>
      <div className="plots">
        {OF_HOST.map((metric) => (
          <HostPlot key={metric.name} {...plot} metric={metric} />
        ))}
      </div>
      {gpus.map((name, device) => (
        <section className="stack" key={device}>
          <h3>
            {system.device} {device} <span className="quiet small">{name}</span>
          </h3>
          <Note of="gpu_util" notes={wordsOf(word(list(session.gpus)[device]?.vendor)).notes} />
          <div className="plots">
            {OF_DEVICE.map((metric) => (
              <DevicePlot key={metric.name} {...plot} device={device + 1} metric={metric} />
            ))}
          </div>
        </section>
      ))}
      <p className="small">
        <Link href={href("session", { session: session.id, tab: "system" })}>{text.all}</Link>
      </p>
    </div>
  );
}

/** Nothing is shown if no monitor sent a session of these days. from, to: ns since the epoch, as
 * the API takes them. */
export function Watched({ name, from, to }: { name: string; from: string; to: string }) {
  const asked = useApi("sessions", { host: name, app: MONITOR, from, to, limit: CHOICES_MOST }, FRESH);
  const found = useApi("findings", { host: name, app: MONITOR, from, to, limit: FINDINGS_MOST }, FRESH);
  const [wanted, choose] = useQuery("watched");
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={6} />;
  const rows = asked.data.rows;
  const session = chosenOf(rows, wanted);
  if (!session) return null;
  const findings = ofMonitor(found.data?.rows ?? []);
  return (
    <Panel title={text.title} aside={text.aside}>
      <div className="panel-body stack">
        {found.problem && !found.data && <ProblemView problem={found.problem} again={found.again} />}
        {found.data && findings.length === 0 && <p className="quiet">{text.well}</p>}
        {findings.length > 0 && <Listing label={text.findings} columns={columns} rows={findings} keyOf={(row) => `${row.session} ${row.number}`} />}
        {rows.length > 1 && (
          <Choices label={text.which} value={session.id} options={rows.map((row) => ({ value: row.id, label: date(row.started) }))} onChange={(id) => choose(id === rows[0]!.id ? "" : id)} />
        )}
        <Events key={`events ${session.id}`} session={session} />
        <Plots key={session.id} session={session} />
      </div>
    </Panel>
  );
}
