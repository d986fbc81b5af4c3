// PartPlot.tsx - a quantity by number with uPlot: the whole as a line, a part of it as an area
// below, and marked values as dots. Below the plot are the values at the pointer.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { AXIS_GAP, axisFont, grown, spaceFor, token, useLetters, useTheme } from "./theme";

interface Of {
  label: string;
  values: (number | null)[];
}

interface Props {
  label: string;
  x: { label: string; values: number[] }; // whole numbers, in order
  whole: Of;
  part: Of;
  marked: Of; // null: not marked
  hint: string; // while the pointer is elsewhere
  show: (value: number | null) => string;
  showX: (value: number | null) => string;
}

const HEIGHT = 220;
const X_AXIS = 30; // px: a line of letters
const X_NAME = 22; // px: another line
const WHOLE_NUMBERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000];

/** The values at a number; the hint if the pointer is elsewhere. */
function captionOf({ x, whole, part, marked, hint, show, showX }: Props, index: number | null | undefined): string {
  const number = index === null || index === undefined ? undefined : x.values[index];
  if (index === null || index === undefined || number === undefined) return hint;
  const values = [whole, part].map((of) => `${of.label} ${show(of.values[index] ?? null)}`);
  return `${x.label} ${showX(number)}: ${[...values, ...(marked.values[index] === null ? [] : [marked.label])].join(", ")}`;
}

function optionsFor(width: number, { x, whole, part, marked, show, showX }: Props, onIndex: (index: number | null | undefined) => void): uPlot.Options {
  const axis = { font: axisFont(), stroke: token("--ink-2"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
  const [line, area, dot] = [token("--series-1"), token("--series-3"), token("--medium")];
  const none = { show: false };
  return {
    width,
    height: grown(HEIGHT),
    legend: { live: false, markers: { fill: (_, index) => (index === 1 ? line : index === 2 ? `${area}50` : dot) } }, // only the keys of the colours; base.css gives them their shapes
    hooks: { setCursor: [(plot) => onIndex(plot.cursor.idx)] },
    scales: { x: { time: false }, y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, label: x.label, labelFont: axisFont(), labelSize: grown(X_NAME), size: grown(X_AXIS), gap: grown(AXIS_GAP), space: spaceFor(showX), incrs: WHOLE_NUMBERS, values: (_, ticks) => ticks.map(showX) },
      { ...axis, size: grown(84), values: (_, ticks) => ticks.map(show) },
    ],
    series: [
      { label: x.label },
      { label: whole.label, stroke: line, width: 1.5, points: none },
      { label: part.label, stroke: area, width: 1, fill: `${area}50`, points: none },
      { label: marked.label, stroke: dot, width: 0, paths: () => null, points: { show: true, size: 7, fill: dot } },
    ],
  };
}

export function PartPlot(props: Props) {
  const { label, x, whole, part, marked, hint } = props;
  const box = useRef<HTMLDivElement>(null);
  const caption = useRef<HTMLParagraphElement>(null);
  const newest = useRef(props);
  newest.current = props;
  const theme = useTheme();
  const letters = useLetters();
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const showCaption = (index: number | null | undefined): void => {
      if (caption.current) caption.current.textContent = captionOf(newest.current, index);
    };
    const plot = new uPlot(optionsFor(host.clientWidth, newest.current, showCaption), [x.values, whole.values, part.values, marked.values], host);
    const watch = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: grown(HEIGHT) }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [x.values, whole.values, part.values, marked.values, theme, letters]);
  return (
    <>
      <div className="plot part-plot" ref={box} role="img" aria-label={label} />
      <p className="plot-values small number quiet" ref={caption}>
        {hint}
      </p>
    </>
  );
}
