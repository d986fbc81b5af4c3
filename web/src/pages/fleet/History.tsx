// History.tsx - what hosts, applications or GPUs did over days: a bar a day, over which a range is
// dragged, and sums of the range, those that held GPUs longest first.
import { useApi } from "../../api/use";
import { count, duration, exact, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, withQuery } from "../../router/router";
import { fleet as text } from "../../text/fleet";
import { Choices } from "../../ui/forms";
import { Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { barsOf, type Range } from "./days";
import { Bars, energy, hours, RangeBar, useRange } from "./DayBars";
import { useUsage } from "./usage";

const BY = ["host", "app", "gpu"] as const;
const TO: Record<(typeof BY)[number], (name: string) => string> = {
  host: (host) => href("host", { host }),
  app: (app) => href("sessions", {}, { app }),
  gpu: (gpu) => href("sessions", {}, { gpu }),
};
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
                <Link href={TO[by](row.name)}>{row.name || UNKNOWN}</Link>
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
  const [range, choose] = useRange();
  const wanted = query.get("by");
  const by = BY.find((known) => known === wanted) ?? "host";
  const usage = useUsage(by, range);
  const set = (values: Record<string, string>) => go(withQuery(location.pathname, query, values), true);
  return (
    <Panel title={text.history} aside={text.historyText}>
      <div className="panel-body stack">
        <div className="row">
          <Choices label={text.history} value={by} options={BY.map((value) => ({ value, label: text.historyBy[value] }))} onChange={(value) => set({ by: value === "host" ? "" : value })} />
          <span className="end" />
          <RangeBar range={range} onRange={choose} />
        </div>
        {usage.problem && <ProblemView problem={usage.problem} again={usage.again} />}
        {usage.rows ? <Bars bars={barsOf(usage.rows, range)} onRange={choose} /> : !usage.problem && <div className="skeleton days" />}
      </div>
      <Sums by={by} range={range} />
    </Panel>
  );
}
