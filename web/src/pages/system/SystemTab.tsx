// SystemTab.tsx - samples of the GPUs and of the host over the session's time; plots share a cursor.
// A metric without samples has no plot. Device ids of a session count from 1, in the order of its GPUs.
import { useCallback, useMemo, useState } from "react";
import type { AnswerDeviceSeries } from "../../api/schema";
import { useApi, type Asked } from "../../api/use";
import { between } from "../../format/format";
import { en } from "../../text/en";
import { Empty, Panel, ProblemView } from "../../ui/parts";
import { Series, type Points } from "../../ui/Series";
import { gpusOf } from "../session/facts";
import type { TabProps } from "../session/tabs";
import { DEVICE, HOST, seconds, stepFor, type Metric } from "../../format/metrics";

interface PlotProps {
  metric: Metric;
  asked: Asked<AnswerDeviceSeries>;
  length: number; // ns
  told: (samples: number) => void;
}

function pointsOf(answer: AnswerDeviceSeries): Points {
  const { at, least, mean, most } = answer.data;
  return { at: at.map((ns) => (ns ?? 0) / 1e9), least, mean, most };
}

function Plot({ metric, asked, length, told }: PlotProps) {
  const data = asked.data;
  const points = useMemo(() => (data ? pointsOf(data) : undefined), [data]);
  const range = useMemo<[number, number]>(() => [0, Math.max(length / 1e9, points?.at.at(-1) ?? 0)], [length, points]);
  if (data) queueMicrotask(() => told(data.rows));
  if (asked.problem) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!points) return <div className="skeleton skeleton-block" />;
  if (points.at.length === 0) return null;
  const label = en.system.metrics[metric.text] ?? metric.text;
  return (
    <Panel title={label}>
      <div className="panel-body">
        <Series label={label} points={points} show={metric.show} showTime={seconds} group="system" colour={metric.colour} top={metric.top} range={range} />
      </div>
    </Panel>
  );
}

interface OneProps {
  session: string;
  metric: Metric;
  length: number;
  told: (samples: number) => void;
}

function DevicePlot({ session, device, metric, length, told }: OneProps & { device: number }) {
  const asked = useApi("device_series", { session, device, metric: metric.name, step: stepFor(length) });
  return <Plot metric={metric} asked={asked} length={length} told={told} />;
}

function HostPlot({ session, metric, length, told }: OneProps) {
  const asked = useApi("host_series", { session, metric: metric.name, step: stepFor(length) });
  return <Plot metric={metric} asked={asked} length={length} told={told} />;
}

export function SystemTab({ session }: TabProps) {
  const length = between(session.started, session.ended ?? session.received) ?? 0;
  const gpus = gpusOf(session);
  const [answers, setAnswers] = useState<Record<string, number>>({});
  const tell = useCallback((key: string, rows: number) => setAnswers((before) => (before[key] === rows ? before : { ...before, [key]: rows })), []);
  const all = gpus.length * DEVICE.length + HOST.length;
  const empty = Object.keys(answers).length === all && Object.values(answers).every((rows) => rows === 0);
  return (
    <div className="stack">
      {empty ? <Empty title={en.system.none} text={en.system.noneText} /> : <p className="quiet small">{en.system.band}</p>}
      {gpus.map((name, device) => (
        <section className="stack" key={device}>
          <h2>
            {en.system.device} {device} <span className="quiet small">{name}</span>
          </h2>
          <div className="plots">
            {DEVICE.map((metric) => (
              <DevicePlot key={metric.name} session={session.id} device={device + 1} metric={metric} length={length} told={(rows) => tell(`${device} ${metric.name}`, rows)} />
            ))}
          </div>
        </section>
      ))}
      <section className="stack">
        <h2>{en.system.host}</h2>
        <div className="plots">
          {HOST.map((metric) => (
            <HostPlot key={metric.name} session={session.id} metric={metric} length={length} told={(rows) => tell(metric.name, rows)} />
          ))}
        </div>
      </section>
    </div>
  );
}
