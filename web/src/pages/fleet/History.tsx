// History.tsx - what hosts, applications or GPUs did over days: a bar a day, over which a range is
// dragged, and sums of the range, those that held GPUs longest first.
import { useState, type PointerEvent } from "react";
import { useApi } from "../../api/use";
import { count, duration, exact, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, withQuery } from "../../router/router";
import { fleet as text } from "../../text/fleet";
import { Choices, Field } from "../../ui/forms";
import { Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { barsOf, dayFrom, dayOf, dayText, rangeOf, type DayBar, type Range } from "./days";

const BY = ["host", "app", "gpu"] as const;
const PRESETS = [7, 30, 90];
const HOUR_NS = 3600e9;
const PAGE = 1000;
const energy = (mj: number | null): string => (mj === null ? UNKNOWN : mj >= 3.6e9 ? `${(mj / 3.6e9).toFixed(mj < 3.6e10 ? 2 : 0)} kWh` : `${(mj / 3.6e6).toFixed(2)} Wh`);
const hours = (ns: number): string => (ns >= HOUR_NS ? (ns / HOUR_NS).toFixed(ns < 100 * HOUR_NS ? 1 : 0) : (ns / HOUR_NS).toFixed(3));

function Bars({ bars, onRange }: { bars: DayBar[]; onRange: (range: Range) => void }) {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const top = Math.max(...bars.map((bar) => bar.wall), 1);
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
        const height = bar.wall ? Math.max(2, (bar.wall / top) * 132) : 0;
        const label = text.day(dayText(bar.day), hours(bar.wall), percent(bar.busy));
        return (
          <g key={bar.day}>
            <rect className="days-wall" x={index * wide + 1} width={Math.max(1, wide - 2)} y={140 - height} height={height} />
            {bar.busy !== null && <rect className="days-busy" x={index * wide + 1} width={Math.max(1, wide - 2)} y={140 - height * bar.busy} height={height * bar.busy} />}
            <rect className="days-hit" x={index * wide} width={wide} height="140">
              <title>{label}</title>
            </rect>
          </g>
        );
      })}
    </svg>
  );
}

function Sums({ by, range }: { by: (typeof BY)[number]; range: Range }) {
  const asked = useApi("fleet", { by, from: range.from, to: range.to, limit: 200 });
  const head = text.sumColumns;
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={4} />;
  if (asked.data.rows.length === 0) return <p className="panel-body quiet">{text.sumNone}</p>;
  const most = Math.max(...asked.data.rows.map((row) => row.wall ?? 0), 1);
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={text.history}>
      <table className="simple roomy">
        <thead>
          <tr>
            <th scope="col">{head.name}</th>
            <th scope="col">{head.hours}</th>
            {[head.busy, head.util, head.energy, head.sessions, head.kernels].map((label) => (
              <th scope="col" className="right" key={label}>
                {label}
              </th>
            ))}
            <th scope="col">{head.worst}</th>
          </tr>
        </thead>
        <tbody>
          {asked.data.rows.map((row) => (
            <tr key={row.name}>
              <td className="wrap">
                <Link href={href("sessions", {}, { [by]: row.name })}>{row.name || UNKNOWN}</Link>
              </td>
              <td title={`${duration(row.wall)} (${exact(row.wall, "ns")})`}>
                <span className="days-part">
                  <Meter part={(row.wall ?? 0) / most} />
                </span>
                <span className="number">{hours(row.wall ?? 0)}</span>
              </td>
              <td className="right">{percent(row.busy)}</td>
              <td className="right">{percent(row.utilization)}</td>
              <td className="right" title={exact(row.energy, "mJ")}>
                {energy(row.energy)}
              </td>
              <td className="right">{count(row.sessions)}</td>
              <td className="right" title={exact(row.kernels)}>
                {count(row.kernels)}
              </td>
              <td className="wrap small">
                {row.session && (
                  <Link href={href("session", { session: row.session, tab: "insights" })} title={row.rule}>
                    {row.title} ({percent(row.share)})
                  </Link>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function History() {
  const { query } = usePlace();
  const today = dayOf(Date.now());
  const range = rangeOf(query.get("from") ?? "", query.get("to") ?? "", today);
  const wanted = query.get("by");
  const by = BY.find((known) => known === wanted) ?? "host";
  const usage = useApi("usage", { by, from: range.from, to: range.to, limit: PAGE });
  const set = (values: Record<string, string>) => go(withQuery(location.pathname, query, values), true);
  const choose = ({ from, to }: Range) => set({ from: dayText(from), to: dayText(to - 1) });
  const days = range.to === today + 1 ? range.to - range.from : 0;
  return (
    <Panel title={text.history} aside={text.historyText}>
      <div className="panel-body stack">
        <div className="row">
          <Choices label={text.history} value={by} options={BY.map((value) => ({ value, label: text.historyBy[value] }))} onChange={(value) => set({ by: value === "host" ? "" : value })} />
          <span className="end" />
          <Choices label={text.presetsLabel} value={String(days)} options={PRESETS.map((n) => ({ value: String(n), label: text.presets(n) }))} onChange={(n) => choose({ from: today + 1 - Number(n), to: today + 1 })} />
          <Field name="from" type="date" label={text.from} value={dayText(range.from)} onChange={(value) => dayFrom(value) !== null && set({ from: value, to: dayText(range.to - 1) })} />
          <Field name="to" type="date" label={text.to} value={dayText(range.to - 1)} onChange={(value) => dayFrom(value) !== null && set({ from: dayText(range.from), to: value })} />
        </div>
        {usage.problem && !usage.data && <ProblemView problem={usage.problem} again={usage.again} />}
        {usage.data ? <Bars bars={barsOf(usage.data.rows, range)} onRange={choose} /> : <div className="skeleton days" />}
      </div>
      <Sums by={by} range={range} />
    </Panel>
  );
}
