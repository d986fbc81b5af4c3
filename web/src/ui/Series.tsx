// Series.tsx - a quantity over time with uPlot: the mean as a line in a band from least to greatest.
// All plots of one `group` share their cursor.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { en } from "../text/en";
import { token, useTheme } from "./theme";

export interface Points {
  at: number[]; // seconds
  least: (number | null)[];
  mean: (number | null)[];
  most: (number | null)[];
}

interface Props {
  label: string;
  points: Points;
  show: (value: number | null) => string;
  showTime: (seconds: number) => string;
  group: string;
  colour: string; // a token
  range: [number, number];
  top?: number | undefined; // where the axis ends at least
}

const HEIGHT = 190;

export function Series({ label, points, show, showTime, group, colour, range, top }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const [from, to] = range;
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const line = token(colour);
    const axis = { stroke: token("--ink-2"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
    const value = (_: uPlot, raw: number | null) => show(raw);
    const options: uPlot.Options = {
      width: host.clientWidth,
      height: HEIGHT,
      cursor: { sync: { key: group } },
      scales: { x: { time: false, range: [from, to] }, y: { range: (_u, low, high) => [Math.min(0, low), Math.max(top ?? 0, high > 0 ? high * 1.08 : 1)] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => showTime(tick)) },
        { ...axis, size: 74, values: (_, ticks) => ticks.map((tick) => show(tick)) },
      ],
      series: [
        { label: en.system.time, value: (_, raw: number | null) => (raw === null ? "" : showTime(raw)) },
        { label: en.system.least, stroke: line, width: 0, points: { show: false }, value },
        { label: en.system.most, stroke: line, width: 0, points: { show: false }, value },
        { label: en.system.mean, stroke: line, width: 2, points: { show: points.at.length < 60, size: 5 }, value },
      ],
      bands: [{ series: [2, 1], fill: `${line}40` }],
    };
    const plot = new uPlot(options, [points.at, points.least, points.most, points.mean], host);
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [points, show, showTime, group, colour, from, to, top, theme]);
  return <div className="plot" ref={box} role="img" aria-label={label} />;
}
