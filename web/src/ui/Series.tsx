// Series.tsx - a quantity over time with uPlot: the mean as a line in a band from least to greatest.
// All plots of one session share their cursor, here and in other views (crosshair.ts); a range of time
// is dragged.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { en } from "../text/en";
import { onPoint, point, pointedAt, type Crosshair } from "./crosshair";
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
  session: string;
  colour: string; // a token
  range: [number, number]; // s
  top?: number | undefined; // where the axis ends at least
  binary?: boolean | undefined; // bytes: steps of the axis are powers of two
  onRange?: ((from: number, to: number) => void) | undefined; // s
}

const HEIGHT = 190;
const POWERS = Array.from({ length: 50 }, (_, at) => 2 ** at);
const LEAST_DRAG = 6; // px: less is a click

/** Joins a plot to the crosshair of its session. */
function joined(plot: uPlot, session: string): () => void {
  const show = ({ session: of, at }: Crosshair): void => {
    if (of === session) plot.setCursor({ left: plot.valToPos(at / 1e9, "x"), top: -10 }, false);
  };
  const tell = (): void => {
    const { left } = plot.cursor;
    if (left !== undefined && left !== null && left >= 0) point({ session, at: Math.round(plot.posToVal(left, "x") * 1e9) }, show);
  };
  plot.over.addEventListener("mousemove", tell);
  const at = pointedAt(session);
  if (at !== null) show({ session, at });
  return onPoint(show);
}

export function Series({ label, points, show, showTime, session, colour, range, top, binary, onRange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const [from, to] = range;
  const ranged = useRef(onRange);
  ranged.current = onRange;
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const line = token(colour);
    const axis = { stroke: token("--ink-2"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
    const value = (_: uPlot, raw: number | null) => show(raw);
    const options: uPlot.Options = {
      width: host.clientWidth,
      height: HEIGHT,
      cursor: { drag: { x: true, y: false, setScale: false } },
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < LEAST_DRAG) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            ranged.current?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          },
        ],
      },
      scales: { x: { time: false, range: [from, to] }, y: { range: (_u, low, high) => [Math.min(0, low), Math.max(top ?? 0, high > 0 ? high * 1.08 : 1)] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => showTime(tick)) },
        { ...axis, size: 74, ...(binary ? { incrs: POWERS } : {}), values: (_, ticks) => ticks.map((tick) => show(tick)) },
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
    const leave = joined(plot, session);
    return () => {
      leave();
      watch.disconnect();
      plot.destroy();
    };
  }, [points, show, showTime, session, colour, from, to, top, binary, theme]);
  return <div className="plot" ref={box} role="img" aria-label={label} />;
}
