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
import { wordsOf } from "../../text/kernel";
import { system } from "../../text/system";
import { Empty } from "../../ui/parts";
import { gpusOf } from "../session/facts";
import type { TabProps } from "../session/tabs";
import { CounterPlot, DevicePlot, HostPlot, Note, WindowBar } from "./plots";
import { useWindow } from "./window";

/** The plots of a GPU; labels: in place of those of text/system.ts. */
const ofDevices = (labels: Record<string, string>): Metric[] => [...DEVICE, ...DEVICE_MORE].map((metric) => ({ ...metric, ...(labels[metric.text] ? { label: labels[metric.text]! } : {}) }));

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
  const vendor = vendorOf(session);
  const words = wordsOf(vendor);
  const metrics = useMemo(() => ofDevices(words.metrics), [words]);
  const all = gpus.length * metrics.length + HOST.length;
  const empty = !window.part && counted.length === 0 && Object.keys(answers).length === all && Object.values(answers).every((rows) => rows === 0);
  const plot = { session: session.id, window, onRange: choose };
  return (
    <div className="stack">
      {empty ? <Empty title={system.none} text={system.noneText} /> : <p className="quiet small">{system.band}</p>}
      {others.length > 0 && (
        <p className="quiet small">
          {system.shared}{" "}
          {others.map((id) => (
            <Link className="mono" key={id} href={href("session", { session: id, tab: "system" })}>
              {id}
            </Link>
          ))}
        </p>
      )}
      {!empty && <WindowBar session={session.id} window={window} onWhole={() => choose()} />}
      {gpus.map((name, device) => (
        <section className="stack" key={device}>
          {!empty && (
            <h2>
              {system.device} {device} <span className="quiet small">{name}</span>
            </h2>
          )}
          {!empty && answers[`${device} gpu_util`] !== 0 && <Note of="gpu_util" notes={words.notes} />}
          {!empty && metrics.every(({ name: of }) => answers[`${device} ${of}`] === 0) && !counted.some((counter) => counter.device === device + 1) && <p className="quiet">{system.noneOfDevice}</p>}
          <div className="plots">
            {metrics.map((metric) => (
              <DevicePlot key={metric.name} {...plot} device={device + 1} metric={metric} onSamples={(rows) => setRows(`${device} ${metric.name}`, rows)} />
            ))}
            {counted
              .filter((counter) => counter.device === device + 1)
              .map((counter) => (
                <CounterPlot key={counter.id} {...plot} device={device + 1} counter={counter.id} metric={counter.metric} />
              ))}
          </div>
        </section>
      ))}
      <section className="stack">
        {!empty && <h2>{system.host}</h2>}
        {!empty && answers.process_cpu !== 0 && <Note of="process_cpu" notes={words.notes} />}
        <div className="plots">
          {HOST.map((metric) => (
            <HostPlot key={metric.name} {...plot} metric={metric} onSamples={(rows) => setRows(metric.name, rows)} />
          ))}
        </div>
      </section>
    </div>
  );
}
