// Plot.tsx - one quantity against another with uPlot: as a line or as points. Below the plot are
// the values at the pointer.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { AXIS_GAP, axisFont, grown, spaceFor, token, useLetters, useTheme } from "./theme";

interface Props {
  label: string;
  x: { label: string; values: number[] };
  y: { label: string; values: (number | null)[] };
  show: (value: number) => string;
  points: boolean; // otherwise a line
}

const HEIGHT = 320;

export function Plot({ label, x, y, show, points }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const caption = useRef<HTMLParagraphElement>(null);
  const theme = useTheme();
  const letters = useLetters();
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const line = token("--series-1");
    const axis = { font: axisFont(), stroke: token("--ink-2"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
    const values = (_: uPlot, ticks: number[]) => ticks.map(show);
    const showCaption = (index: number | null | undefined): void => {
      const at = index === null || index === undefined ? undefined : x.values[index];
      const value = at === undefined ? null : (y.values[index!] ?? null);
      if (caption.current) caption.current.textContent = at === undefined || value === null ? "" : `${x.label} ${show(at)}: ${y.label} ${show(value)}`;
    };
    const options: uPlot.Options = {
      width: host.clientWidth,
      height: grown(HEIGHT),
      legend: { show: false }, // the axes have the names
      hooks: { setCursor: [(plot) => showCaption(plot.cursor.idx)] },
      scales: { x: { time: false }, y: { range: (_u, low, high) => (low === null ? [0, 1] : [Math.min(0, low), high > 0 ? high * 1.08 : Math.max(0, high)]) } },
      axes: [
        { ...axis, labelFont: axis.font, size: grown(52), gap: grown(AXIS_GAP), space: spaceFor(show), label: x.label, values },
        { ...axis, labelFont: axis.font, label: y.label, size: grown(84), values },
      ],
      series: [
        { label: x.label },
        { label: y.label, stroke: line, width: points ? 0 : 2, ...(points ? { paths: () => null } : {}), points: { show: points || x.values.length < 80, size: 6, fill: line } },
      ],
    };
    const plot = new uPlot(options, [x.values, y.values], host);
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: grown(HEIGHT) }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [x.label, x.values, y.label, y.values, show, points, theme, letters]);
  return (
    <>
      <div className="plot" ref={box} role="img" aria-label={label} />
      <p className="plot-values small number quiet" ref={caption} />
    </>
  );
}
