// DayBars.tsx - one bar a day, over which a range is dragged, and the range as presets and dates.
// The address has the range.
import { useState, type PointerEvent } from "react";
import { duration, percent, UNKNOWN } from "../../format/format";
import { go, usePlace, withQuery } from "../../router/router";
import { fleet as text } from "../../text/fleet";
import { Choices, Field } from "../../ui/forms";
import { dayFrom, dayOf, dayText, heightsOf, rangeOf, type DayBar, type Range } from "./days";
import "./fleet.css";

const PRESETS = [7, 30, 90, 365];
const HOUR_NS = 3600e9;
const TALL = 132; // of the picture's 140
export const energy = (mj: number | null): string => (mj === null ? UNKNOWN : mj >= 3.6e9 ? `${(mj / 3.6e9).toFixed(mj < 3.6e10 ? 2 : 0)} kWh` : `${(mj / 3.6e6).toFixed(2)} Wh`);
/** GPU hours; less than a tenth is a duration that people can read. */
export const hours = (ns: number): string => (ns === 0 ? "0" : ns >= HOUR_NS / 10 ? `${(ns / HOUR_NS).toFixed(ns < 100 * HOUR_NS ? 1 : 0)} h` : duration(ns));

export function useRange(): [Range, (range: Range) => void] {
  const { query } = usePlace();
  const today = dayOf(Date.now());
  const range = rangeOf(query.get("from") ?? "", query.get("to") ?? "", today);
  return [range, ({ from, to }) => go(withQuery(location.pathname, query, { from: dayText(from), to: dayText(to - 1) }), true)];
}

export function RangeBar({ range, onRange }: { range: Range; onRange: (range: Range) => void }) {
  const today = dayOf(Date.now());
  const days = range.to === today + 1 ? range.to - range.from : 0;
  const end = (text: string, part: (day: number) => Range): void => {
    const day = dayFrom(text);
    if (day !== null) onRange(part(day));
  };
  return (
    <>
      <Choices label={text.presetsLabel} value={String(days)} options={PRESETS.map((n) => ({ value: String(n), label: text.presets(n) }))} onChange={(n) => onRange({ from: today + 1 - Number(n), to: today + 1 })} />
      <Field name="from" type="date" label={text.from} value={dayText(range.from)} onChange={(value) => end(value, (from) => ({ ...range, from }))} />
      <Field name="to" type="date" label={text.to} value={dayText(range.to - 1)} onChange={(value) => end(value, (day) => ({ ...range, to: day + 1 }))} />
    </>
  );
}

function Picture({ bars, top, onRange }: { bars: DayBar[]; top: number; onRange: (range: Range) => void }) {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const wide = 1000 / Math.max(1, bars.length);
  const at = (event: PointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(bars.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bars.length)));
  };
  const first = drag ? Math.min(drag.from, drag.to) : 0;
  const last = drag ? Math.max(drag.from, drag.to) : 0;
  return (
    <svg
      className="days"
      viewBox="0 0 1000 140"
      preserveAspectRatio="none"
      role="img"
      aria-label={text.dayChart}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: at(event), to: at(event) });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, to: at(event) })}
      onPointerUp={() => {
        setDrag(undefined);
        if (drag && last > first) onRange({ from: bars[first]!.day, to: bars[last]!.day + 1 });
      }}
    >
      {drag && <rect className="days-chosen" x={first * wide} width={(last - first + 1) * wide} height="140" />}
      {bars.map((bar, index) => {
        const { whole, busy, unknown } = heightsOf(bar, top);
        const height = bar.wall ? Math.max(2, whole * TALL) : 0;
        const across = { x: index * wide + 1, width: Math.max(1, wide - 2) };
        const label = text.day(dayText(bar.day), hours(bar.wall), percent(bar.busy), unknown > 0 ? hours(bar.wall - bar.known) : "");
        return (
          <g key={bar.day}>
            <rect className="days-wall" {...across} y={140 - height} height={height} />
            {unknown > 0 && <rect className="days-unknown" {...across} y={140 - height} height={height * (unknown / whole)} />}
            {busy > 0 && <rect className="days-busy" {...across} y={140 - height * (busy / whole)} height={height * (busy / whole)} />}
            <rect className="days-hit" x={index * wide} width={wide} height="140">
              <title>{label}</title>
            </rect>
          </g>
        );
      })}
    </svg>
  );
}

const SHARES = [1, 0];
const PARTS = [["held", "days-wall"], ["busy", "days-busy"], ["unknown", "days-unknown"]] as const;

/** The bars with their axes: GPU hours up, days along, and a legend of the colours. */
export function Bars({ bars, onRange }: { bars: DayBar[]; onRange: (range: Range) => void }) {
  const top = Math.max(...bars.map((bar) => bar.wall), 1);
  return (
    <figure className="days-figure small">
      <div className="days-axis number quiet" aria-hidden="true">
        {SHARES.map((share) => (
          <span key={share}>{hours(top * share)}</span>
        ))}
      </div>
      <Picture bars={bars} top={top} onRange={onRange} />
      <div className="row days-ends number quiet">
        <span>{bars.length > 0 ? dayText(bars[0]!.day) : ""}</span>
        <span className="end">{bars.length > 1 ? dayText(bars.at(-1)!.day) : ""}</span>
      </div>
      <figcaption className="row days-legend">
        {PARTS.filter(([part]) => part !== "unknown" || bars.some((bar) => bar.known < bar.wall)).map(([part, colour]) => (
          <span key={part} className="row">
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={colour} width="10" height="10" />
            </svg>
            {text.legend[part]}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
