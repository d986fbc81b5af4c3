// Range.tsx - what happened in the range that is marked, as the server counts it.
import { client } from "../api/client";
import { mangledOf, nameOf, rowsOf, shortOf } from "../api/columns";
import { count, duration, exact, percent, bytes } from "../format/format";
import { timelineText as text } from "../text/timeline";
import { exactTime } from "./axis";
import type { Engine } from "./engine";
import { foundOf, waitsOf } from "./events";
import { KIND, type Lane } from "./lanes";
import { useAsked } from "./use";
import type { View } from "./view";

const WAITS = 20_000;
const TOP = 8;

async function numbersOf(session: string, lanes: readonly Lane[], range: View, signal: AbortSignal) {
  const { from, to } = range;
  // The driver's synchronizations tell the same again as the calls, where there are any.
  const calls = waitsOf(lanes).filter((lane) => lane.kind === KIND.wait);
  const waits = (calls.length ? calls : waitsOf(lanes)).slice(0, 256);
  const [kernels, copies, events] = await Promise.all([
    client.get("kernels", { session, from, to, limit: 10_000 }, signal),
    client.get("copies", { session, from, to }, signal),
    waits.length ? client.get("events", { session, lanes: waits.map((lane) => lane.id).join(), from, to, limit: WAITS }, signal) : null,
  ]);
  const found = events ? foundOf(events) : [];
  const inside = found.map((f) => Math.max(0, Math.min(to, f.start + f.duration) - Math.max(from, f.start)));
  const rows = rowsOf(kernels).map((row) => ({ ...row, text: nameOf(kernels, row.name) ?? "", short: shortOf(kernels, row.name) ?? "", mangled: mangledOf(kernels, row.name) ?? "" }));
  const copied = rowsOf(copies);
  const sum = (values: readonly (number | null)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
  return {
    rows,
    calls: sum(rows.map((row) => row.calls)),
    total: sum(rows.map((row) => row.total)),
    copies: sum(copied.map((row) => row.calls)),
    bytes: sum(copied.map((row) => row.bytes)),
    copyTime: sum(copied.map((row) => row.total)),
    waits: found.length,
    waited: sum(inside),
    cut: found.length >= WAITS,
  };
}

export function Range({ engine, range }: { engine: Engine; range: View }) {
  const asked = useAsked(`${engine.session} ${range.from} ${range.to}`, (signal) => numbersOf(engine.session, engine.scene.lanes, range, signal));
  const length = range.to - range.from;
  const n = asked.data;
  return (
    <>
      <h2 className="tl-name" title={exact(length, "ns")}>
        {text.range} {duration(length)}
      </h2>
      <p className="quiet small number">{`${exactTime(range.from)} – ${exactTime(range.to)}`}</p>
      {asked.problem && <p role="alert">{asked.problem.message}</p>}
      <p className="quiet small">{text.rangeText}</p>
      <dl className="tl-facts">
        <div className="tl-fact">
          <dt>{text.kernels}</dt>
          <dd title={exact(n?.calls)}>{n ? count(n.calls) : "…"}</dd>
        </div>
        <div className="tl-fact">
          <dt>{text.kernelTime}</dt>
          <dd title={exact(n?.total, "ns")}>
            {n ? duration(n.total) : "…"} <span className="quiet">{n ? text.ofRange(percent(n.total / length)) : ""}</span>
          </dd>
        </div>
        <div className="tl-fact">
          <dt>{text.copies}</dt>
          <dd title={exact(n?.bytes, "bytes")}>{n ? (n.copies ? `${count(n.copies)}, ${bytes(n.bytes)}, ${duration(n.copyTime)}` : text.noneHere) : "…"}</dd>
        </div>
        <div className="tl-fact">
          <dt>{text.waits}</dt>
          <dd title={exact(n?.waited, "ns")}>{n ? (n.waits ? `${n.cut ? text.waitsCut(count(n.waits)) : count(n.waits)}, ${duration(n.waited)}` : text.noneHere) : "…"}</dd>
        </div>
      </dl>
      {n && n.rows.length > 0 && (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={text.top}>
          <table className="simple">
            <caption className="hidden-label">{text.top}</caption>
            <tbody>
              {n.rows.slice(0, TOP).map((row) => (
                <tr key={row.mangled}>
                  <th scope="row" className="mono" title={row.text}>
                    <span className="tl-cell ellipsis">{row.short}</span>
                  </th>
                  <td className="right">{count(row.calls)}</td>
                  <td className="right" title={exact(row.total, "ns")}>
                    {duration(row.total)}
                  </td>
                  <td className="right">{percent(n.total ? (row.total ?? 0) / n.total : null)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
