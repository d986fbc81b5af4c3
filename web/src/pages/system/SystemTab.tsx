// SystemTab.tsx - samples of the GPUs, their hardware counters, and samples of the host over the
// session's time. The plots share a cursor and the part of the time that is shown. Device ids of a
// session count from 1, in the order of its GPUs.
import { useCallback, useMemo, useState } from "react";
import { countersOf, samplersOf } from "../../api/columns";
import { useApi } from "../../api/use";
import { vendorOf } from "../../api/vendor";
import { between } from "../../format/format";
import { counterMetric, DEVICE, DEVICE_MORE, HOST, type Metric } from "../../format/metrics";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { wordsOf, type Words } from "../../text/kernel";
import { system } from "../../text/system";
import { Empty } from "../../ui/parts";
import { gpusOf } from "../session/facts";
import type { TabProps } from "../session/tabs";
import { CounterPlot, DevicePlot, HostPlot, Note, WindowBar } from "./plots";
import { useWindow, type Window } from "./window";

/** The plots of a GPU; labels: in place of those of text/system.ts. */
const ofDevices = (labels: Record<string, string>): Metric[] => [...DEVICE, ...DEVICE_MORE].map((metric) => ({ ...metric, ...(labels[metric.text] ? { label: labels[metric.text]! } : {}) }));

/** The sessions that took some of the samples for this one. */
function Samplers({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return (
    <p className="quiet small">
      {system.shared}{" "}
      {ids.map((id) => (
        <Link className="mono" key={id} href={href("session", { session: id, tab: "system" })}>
          {id}
        </Link>
      ))}
    </p>
  );
}

/** What the plots of a device and of the host have in common. */
interface Shared {
  plot: { session: string; window: Window; onRange: (from?: number, to?: number) => void };
  empty: boolean; // no plot has samples
  answers: Record<string, number>; // how many samples a plot has
  setRows: (key: string, rows: number) => void;
  notes: Words["notes"];
}

interface DeviceProps extends Shared {
  device: number; // from 0
  name: string;
  metrics: readonly Metric[];
  counters: readonly { id: number; metric: Metric }[];
}

function Device({ device, name, metrics, counters, plot, empty, answers, setRows, notes }: DeviceProps) {
  return (
    <section className="stack">
      {!empty && (
        <h2>
          {system.device} {device} <span className="quiet small">{name}</span>
        </h2>
      )}
      {!empty && answers[`${device} gpu_util`] !== 0 && <Note of="gpu_util" notes={notes} />}
      {!empty && metrics.every(({ name: of }) => answers[`${device} ${of}`] === 0) && counters.length === 0 && <p className="quiet">{system.noneOfDevice}</p>}
      <div className="plots">
        {metrics.map((metric) => (
          <DevicePlot key={metric.name} {...plot} device={device + 1} metric={metric} onSamples={(rows) => setRows(`${device} ${metric.name}`, rows)} />
        ))}
        {counters.map((counter) => (
          <CounterPlot key={counter.id} {...plot} device={device + 1} counter={counter.id} metric={counter.metric} />
        ))}
      </div>
    </section>
  );
}

function Host({ plot, empty, answers, setRows, notes }: Shared) {
  return (
    <section className="stack">
      {!empty && <h2>{system.host}</h2>}
      {!empty && answers.process_cpu !== 0 && <Note of="process_cpu" notes={notes} />}
      <div className="plots">
        {HOST.map((metric) => (
          <HostPlot key={metric.name} {...plot} metric={metric} onSamples={(rows) => setRows(metric.name, rows)} />
        ))}
      </div>
    </section>
  );
}

export function SystemTab({ session }: TabProps) {
  const length = between(session.started, session.ended ?? session.received) ?? 0;
  const [window, choose] = useWindow(length);
  const gpus = gpusOf(session);
  const [answers, setAnswers] = useState<Record<string, number>>({});
  const setRows = useCallback((key: string, rows: number) => setAnswers((before) => (before[key] === rows ? before : { ...before, [key]: rows })), []);
  const counters = useApi("counters", { session: session.id });
  const counted = useMemo(() => (counters.data ? countersOf(counters.data).map((counter) => ({ ...counter, metric: counterMetric(counter) })) : []), [counters.data]);
  const samplers = useApi("samplers", { session: session.id });
  const others = useMemo(() => (samplers.data ? samplersOf(samplers.data, session.id) : []), [samplers.data, session.id]);
  const words = wordsOf(vendorOf(session));
  const metrics = useMemo(() => ofDevices(words.metrics), [words]);
  const all = gpus.length * metrics.length + HOST.length;
  const empty = !window.part && counted.length === 0 && Object.keys(answers).length === all && Object.values(answers).every((rows) => rows === 0);
  const shared: Shared = { plot: { session: session.id, window, onRange: choose }, empty, answers, setRows, notes: words.notes };
  return (
    <div className="stack">
      {empty ? <Empty title={system.none} text={system.noneText} /> : <p className="quiet small">{system.band}</p>}
      <Samplers ids={others} />
      {!empty && <WindowBar session={session.id} window={window} onWhole={() => choose()} />}
      {gpus.map((name, device) => (
        <Device key={device} {...shared} device={device} name={name} metrics={metrics} counters={counted.filter((counter) => counter.device === device + 1)} />
      ))}
      <Host {...shared} />
    </div>
  );
}
