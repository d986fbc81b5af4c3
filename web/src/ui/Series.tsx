// Series.tsx - a quantity over time with uPlot: the mean as a line in a band from least to
// greatest. All plots of one session share their cursor, here and in other views (crosshair.ts); a
// range of time is chosen by dragging.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { system } from "../text/system";
import { onPoint, point, pointedAt, type Crosshair } from "./crosshair";
import { labelsOf, stepsOf } from "./ticks";
import { AXIS_GAP, axisFont, grown, spaceFor, token, useLetters, useTheme } from "./theme";

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
  colour: string; // name of a token
  range: [number, number]; // s
  top?: number | undefined; // least upper end of the axis
  binary?: boolean | undefined; // bytes: steps of the axis are powers of two
  whole?: string | undefined; // what stands below the plot while the pointer is elsewhere, instead of mean, least and greatest
  onRange?: ((from: number, to: number) => void) | undefined; // s
}

const HEIGHT = 150;
const X_AXIS = 30; // px: a line of letters
const LEAST_DRAG = 6; // px; a shorter movement is a click

/** The values at a point, or of the whole plot if the pointer is elsewhere. */
function captionOf({ at, least, mean, most }: Points, index: number | null | undefined, [from, to]: [number, number], show: Props["show"], showTime: Props["showTime"]): string {
  if (index !== null && index !== undefined && at[index] !== undefined) return system.pointed(showTime(at[index]), show(least[index] ?? null), show(mean[index] ?? null), show(most[index] ?? null));
  const inside = at.flatMap((time, n) => (time <= to && (at[n + 1] ?? Infinity) > from ? [n] : [])); // a point counts until the next one
  const known = (of: readonly (number | null)[]): number[] => inside.flatMap((n) => (of[n] === null || of[n] === undefined ? [] : [of[n]]));
  const [low, high, means] = [known(least), known(most), known(mean)];
  if (!low.length || !high.length || !means.length) return "";
  const all = means.reduce((sum, value) => sum + value, 0) / means.length;
  return system.shownValues(show(low.reduce((a, b) => Math.min(a, b))), show(Number(all.toPrecision(4))), show(high.reduce((a, b) => Math.max(a, b))));
}

/** Joins a plot to the crosshair of its session. */
function joined(plot: uPlot, session: string): () => void {
  const show = ({ session: of, at }: Crosshair): void => {
    if (of === session) plot.setCursor({ left: plot.valToPos(at / 1e9, "x"), top: -10 }, false);
  };
  const publish = (): void => {
    const { left } = plot.cursor;
    if (left !== undefined && left !== null && left >= 0) point({ session, at: Math.round(plot.posToVal(left, "x") * 1e9) }, show);
  };
  plot.over.addEventListener("mousemove", publish);
  const at = pointedAt(session);
  if (at !== null) show({ session, at });
  return onPoint(show);
}

type Drawn = Pick<Props, "points" | "show" | "showTime" | "colour" | "range" | "top" | "binary">;

/** How uPlot draws a plot. width: px. */
function optionsOf({ points, show, showTime, colour, range: [from, to], top, binary }: Drawn, width: number, hooks: uPlot.Hooks.Arrays): uPlot.Options {
  const line = token(colour);
  const axis = { font: axisFont(), stroke: token("--ink-2"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
  const steps = stepsOf(points, binary === true);
  return {
    width,
    height: grown(HEIGHT),
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    hooks,
    scales: { x: { time: false, range: [from, to] }, y: { range: (_u, low, high) => [Math.min(0, low), Math.max(top ?? 0, high > 0 ? high * 1.08 : 1)] } },
    axes: [
      { ...axis, size: grown(X_AXIS), gap: grown(AXIS_GAP), space: spaceFor(showTime), values: (_, ticks) => ticks.map((tick) => showTime(tick)) },
      { ...axis, size: grown(74), ...(steps ? { incrs: steps } : {}), values: (_, ticks) => labelsOf(ticks, show) },
    ],
    series: [
      {},
      { label: system.least, stroke: line, width: 0, points: { show: false } },
      { label: system.most, stroke: line, width: 0, points: { show: false } },
      { label: system.mean, stroke: line, width: 2, points: { show: points.at.length < 60, size: 5 } },
    ],
    bands: [{ series: [2, 1], fill: `${line}40` }],
  };
}

/** Reports the range of time that was dragged over, and removes its mark. */
function reportRange(plot: uPlot, onRange: Props["onRange"]): void {
  const { left, width } = plot.select;
  if (width < LEAST_DRAG) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onRange?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
}

export function Series({ label, points, show, showTime, session, colour, range, top, binary, whole, onRange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const caption = useRef<HTMLParagraphElement>(null);
  const theme = useTheme();
  const letters = useLetters();
  const [from, to] = range;
  const ranged = useRef(onRange);
  ranged.current = onRange;
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const showCaption = (index: number | null | undefined): void => {
      if (caption.current) caption.current.textContent = (whole !== undefined && (index === null || index === undefined) ? whole : captionOf(points, index, [from, to], show, showTime));
    };
    const options = optionsOf({ points, show, showTime, colour, range: [from, to], top, binary }, host.clientWidth, {
      setCursor: [(plot) => showCaption(plot.cursor.idx)],
      setSelect: [(plot) => reportRange(plot, ranged.current)],
    });
    const plot = new uPlot(options, [points.at, points.least, points.most, points.mean], host);
    showCaption(null);
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: grown(HEIGHT) }));
    watch.observe(host);
    const leave = joined(plot, session);
    return () => {
      leave();
      watch.disconnect();
      plot.destroy();
    };
  }, [points, show, showTime, session, colour, from, to, top, binary, whole, theme, letters]);
  return (
    <>
      <div className="plot" ref={box} role="img" aria-label={label} />
      <p className="plot-values small number quiet" ref={caption} />
    </>
  );
}
