// plots.tsx - one metric of a device or of the host over a part of the session's time. A metric without
// samples has no plot.
import { useMemo } from "react";
import type { AnswerDeviceSeries } from "../../api/schema";
import { useApi, type Asked } from "../../api/use";
import type { Words } from "../../text/kernel";
import { system } from "../../text/system";
import { seconds, type Metric } from "../../format/metrics";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { rangeText } from "../../timeline/view";
import { Panel, ProblemView } from "../../ui/parts";
import { Series, type Points } from "../../ui/Series";
import { grownOf } from "./grown";
import type { Window } from "./window";

interface PlotProps {
  session: string;
  metric: Metric;
  window: Window;
  onRange: (from: number, to: number) => void;
  onSamples?: (samples: number) => void; // how many points there are
}

function pointsOf(answer: AnswerDeviceSeries): Points {
  const { at, least, mean, most } = answer.data;
  return { at: at.map((ns) => (ns ?? 0) / 1e9), least, mean, most };
}

function Plot({ session, metric, window, onRange, onSamples, asked }: PlotProps & { asked: Asked<AnswerDeviceSeries> }) {
  const data = asked.data;
  const { grows, show } = metric;
  const { points, whole } = useMemo(() => {
    const all = data && pointsOf(data);
    return all && grows ? grownOf(all, show) : { points: all, whole: undefined };
  }, [data, grows, show]);
  const range = useMemo<[number, number]>(() => [window.from / 1e9, window.part ? window.to / 1e9 : Math.max(window.to / 1e9, points?.at.at(-1) ?? 0)], [window, points]);
  if (data && onSamples) queueMicrotask(() => onSamples(data.rows));
  if (asked.problem) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!points) return <div className="skeleton skeleton-block" />;
  if (points.at.length === 0) return null;
  const label = metric.label ?? system.metrics[metric.text] ?? metric.text;
  return (
    <Panel title={label}>
      <div className="panel-body">
        <Series label={label} points={points} show={metric.show} showTime={seconds} session={session} colour={metric.colour} top={metric.top} binary={metric.binary} whole={whole} range={range} onRange={onRange} />
      </div>
    </Panel>
  );
}

/** What a metric's number means. The note is above the plots, not inside one, so that all plots
 * have one height. */
export const Note = ({ of, notes }: { of: "gpu_util" | "process_cpu"; notes: Words["notes"] }) => (
  <p className="quiet small">
    {system.metrics[of]}: {notes[of]}
  </p>
);

const partOf = ({ from, to, step, part }: Window) => ({ step, ...(part ? { from: from - step, to: to + step } : {}) });

export function DevicePlot({ device, ...plot }: PlotProps & { device: number }) {
  const asked = useApi("device_series", { session: plot.session, device, metric: plot.metric.name, ...partOf(plot.window) });
  return <Plot {...plot} asked={asked} />;
}

export function HostPlot(plot: PlotProps) {
  const asked = useApi("host_series", { session: plot.session, metric: plot.metric.name, ...partOf(plot.window) });
  return <Plot {...plot} asked={asked} />;
}

export function CounterPlot({ device, counter, ...plot }: PlotProps & { device: number; counter: number }) {
  const asked = useApi("counter_series", { session: plot.session, device, counter, ...partOf(plot.window) });
  return <Plot {...plot} asked={asked} />;
}

/** Which part of the time is shown, with links to the whole session and to this part of the
 * timeline. */
export function WindowBar({ session, window, onWhole }: { session: string; window: Window; onWhole: () => void }) {
  if (!window.part) return <p className="quiet small">{system.drag}</p>;
  return (
    <div className="row small" role="group" aria-label={system.window}>
      <span>{system.shown(seconds(window.from / 1e9), seconds(window.to / 1e9))}</span>
      <button type="button" className="button" onClick={onWhole}>
        {system.whole}
      </button>
      <Link href={href("session", { session, tab: "timeline" }, { at: rangeText(window) })}>{system.onTimeline}</Link>
    </div>
  );
}
