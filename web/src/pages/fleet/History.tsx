// History.tsx - usage of hosts, applications or GPUs over days: one bar a day, over which a range
// is dragged, and sums of the range, the longest GPU time first.
import type { RowFleetSum } from "../../api/schema";
import { useApi } from "../../api/use";
import { count, duration, exact, percent, sentence, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, withQuery } from "../../router/router";
import { fleet as text } from "../../text/fleet";
import { sums } from "../../text/sums";
import { Choices } from "../../ui/forms";
import { countColumn, Listing, type Column } from "../../ui/Listing";
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
  const columns: Column<RowFleetSum>[] = [
    { label: head.name, className: "wrap", show: (row) => <Link href={TO[by](row.name)}>{row.name || UNKNOWN}</Link> },
    {
      label: head.hours,
      title: (row) => `${duration(row.wall)} (${exact(row.wall, "ns")})`,
      show: (row) => (
        <>
          <span className="days-part days-held">
            <Meter part={(row.wall ?? 0) / most} />
          </span>
          <span className="number">{hours(row.wall ?? 0)}</span>
        </>
      ),
    },
    { label: head.busy, right: true, show: (row) => percent(row.busy) },
    { label: head.util, right: true, show: (row) => percent(row.utilization) },
    { label: head.energy, right: true, show: (row) => energy(row.energy), title: (row) => exact(row.energy, "mJ") },
    countColumn(head.sessions, (row) => row.sessions),
    {
      label: head.kernels,
      right: true,
      title: (row) => exact(row.kernels),
      show: (row) => (
        <>
          {count(row.kernels)}
          {(row.counted ?? 0) < (row.sessions ?? 0) && <small className="sum-note quiet">{text.counted(count(row.counted), count(row.sessions))}</small>}
        </>
      ),
    },
    {
      label: head.worst,
      className: "wrap small",
      show: (row) =>
        row.session && (
          <Link href={href("session", { session: row.session, tab: "insights" })} title={row.rule}>
            {sentence(row.title)} ({percent(row.share)})
          </Link>
        ),
    },
  ];
  return (
    <>
      <Listing roomy label={text.history} columns={columns} rows={asked.data.rows} keyOf={(row) => row.name} />
      <p className="panel-body quiet small">{text.sumsText}</p>
    </>
  );
}

export function History() {
  const { query } = usePlace();
  const [range, choose] = useRange();
  const wanted = query.get("by");
  const by = BY.find((known) => known === wanted) ?? "host";
  const usage = useUsage("day", range); // the bars are by day, whatever the sums are by
  const set = (values: Record<string, string>) => go(withQuery(location.pathname, query, values), true);
  return (
    <Panel
      title={text.history}
      aside={
        <span className="row">
          {text.historyText} <Link href={href("sums")}>{sums.link}</Link>
        </span>
      }
    >
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
