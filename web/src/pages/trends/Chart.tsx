// Chart.tsx - means over sessions or days: one dot each, outlying ones as squares, the level as a
// line, steps as upright lines with their change. Thousands of dots are one path.
import { useRef, useState, type MouseEvent } from "react";
import { change, duration } from "../../format/format";
import { trends as text } from "../../text/trends";
import { nearest, scaleOf, type Dot, type Picture } from "./trends";
import "./trends.css";

interface Props {
  label: string;
  picture: Picture;
  of: string; // what a dot is
  ends: [string, string]; // the texts under the axis
  tip: (dot: Dot) => string[]; // lines of text
  onOpen: (dot: Dot) => void;
}

const W = 1000;
const H = 300;
const dotPath = (dots: readonly Dot[], y: (value: number) => number): string => dots.map((dot) => `M${(dot.x * W).toFixed(2)} ${(y(dot.value) * H).toFixed(2)}h0`).join("");

function Legend({ picture, of }: { picture: Picture; of: string }) {
  const items: [string, string, boolean][] = [
    ["trend-dot", of, true],
    ["trend-outlier", text.legend.outlier, picture.dots.some((dot) => dot.outlier)],
    ["trend-level", text.legend.level, picture.levels.length > 0],
    ["trend-step", text.legend.step, picture.steps.length > 0],
  ];
  return (
    <div className="row small quiet trend-legend" aria-hidden="true">
      {items
        .filter(([, , there]) => there)
        .map(([name, what]) => (
          <span key={name} className="row">
            <svg viewBox="0 0 24 12">
              <path className={name} d={name === "trend-level" ? "M2 6h20" : name === "trend-step" ? "M12 0v12" : "M12 6h0"} />
            </svg>
            {what}
          </span>
        ))}
    </div>
  );
}

export function Chart({ label, picture, of, ends, tip, onOpen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState<Dot | null>(null);
  const { y, ticks } = scaleOf(picture);
  const dotAt = (event: MouseEvent): Dot | null => {
    const { left, top, width, height } = box.current!.getBoundingClientRect();
    return nearest(picture.dots, y, { x: event.clientX - left, y: event.clientY - top }, { width, height });
  };
  return (
    <figure className="figure stack-tight">
      <Legend picture={picture} of={of} />
      <div className="trend">
        <div className="trend-ticks small quiet number" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick} style={{ top: `${y(tick) * 100}%` }}>
              {duration(tick)}
            </span>
          ))}
        </div>
        <div className={near ? "trend-box trend-near" : "trend-box"} ref={box} onPointerMove={(event) => setNear(dotAt(event))} onPointerLeave={() => setNear(null)} onClick={(event) => onDot(dotAt(event), onOpen)}>
          <svg viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" role="img" aria-label={label}>
            <path className="trend-grid" d={ticks.map((tick) => `M0 ${y(tick) * H}h${W}`).join("")} />
            <path className="trend-step" d={picture.steps.map((step) => `M${step.x * W} 0v${H}`).join("")} />
            <path className="trend-level" d={picture.levels.map((level) => `M${level.x0 * W - 4} ${y(level.value) * H}H${level.x1 * W + 4}`).join("")} />
            <path className="trend-dot" d={dotPath(picture.dots.filter((dot) => !dot.outlier), y)} />
            <path className="trend-outlier" d={dotPath(picture.dots.filter((dot) => dot.outlier), y)} />
            {near && <path className="trend-here" d={dotPath([near], y)} />}
          </svg>
          {picture.steps.map(({ x, step }) => (
            <span key={step.session} className={(step.ratio ?? 1) > 1 ? "trend-mark trend-slower" : "trend-mark"} style={x > 0.85 ? { right: `${(1 - x) * 100}%` } : { left: `${x * 100}%` }}>
              {change(step.ratio)}
            </span>
          ))}
          {near && (
            <div className="trend-tip" style={{ top: `${y(near.value) * 100}%`, ...(near.x > 0.7 ? { right: `${(1 - near.x) * 100 + 1}%` } : { left: `${near.x * 100 + 1}%` }) }}>
              {tip(near).map((line, at) => (at ? <span key={at}>{line}</span> : <strong key={at}>{line}</strong>))}
            </div>
          )}
        </div>
        <figcaption className="row small quiet number trend-ends">
          <span>{ends[0]}</span>
          <span className="end">{ends[1]}</span>
        </figcaption>
      </div>
    </figure>
  );
}

const onDot = (dot: Dot | null, open: (dot: Dot) => void): void => {
  if (dot) open(dot);
};
