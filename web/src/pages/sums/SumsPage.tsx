// SumsPage.tsx - what took most time over days, including deleted sessions, and one row of it day
// by day. The address says what is summed, over which days, and which row is open.
import { useEffect, useMemo } from "react";
import type { RowRollupSum } from "../../api/schema";
import { useApi } from "../../api/use";
import { count, duration, exact, percent, UNKNOWN } from "../../format/format";
import { shortPaths } from "../../format/paths";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { sums as text } from "../../text/sums";
import { Choices } from "../../ui/forms";
import { countColumn, Listing, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { Empty, Meter, Panel, ProblemView, Select, Skeleton } from "../../ui/parts";
import { dayOf, dayText, rangeOf, type Range } from "../fleet/days";
import { RangeBar } from "../fleet/DayBars";
import "../fleet/fleet.css";
import { callsOf, daysOf, hasShare, KINDS, meanOf, othersLast, partsOf, SPLITS, totalOf, type DaySum, type Kind, type Part, type Split } from "./sums";

const SHOWN = 100;
const NAMES = 200; // applications and hosts to choose from
const ROWS = 1000; // rows of one kernel, scope or line
const YEAR = 365;

interface Asked {
  kind: Kind;
  range: Range;
  app: string;
  host: string;
}

const titleOf = (row: RowRollupSum, kind: Kind): string => (row.name ? (kind === "scope" ? row.name : row.short_name) : text.others);

function shareColumn(total: number): Column<RowRollupSum> {
  const part = (row: RowRollupSum): number | null => (total > 0 && row.total !== null ? row.total / total : null);
  return {
    label: text.columns.share,
    right: true,
    show: (row) => (
      <>
        <span className="days-part">
          <Meter part={part(row)} />
        </span>
        <span className="number">{percent(part(row))}</span>
      </>
    ),
  };
}

const callsColumn = <T extends { total: number | null; calls: number | null }>(kind: Kind): Column<T> => ({
  ...countColumn<T>(text.calls[kind]!, (row) => callsOf(row, kind)),
  title: (row) => (callsOf(row, kind) === null && row.calls !== null ? text.noSamples : exact(row.calls)),
});

function columnsOf(kind: Kind, rows: readonly RowRollupSum[], open: (name: string) => string): Column<RowRollupSum>[] {
  const head = text.columns;
  const paths = shortPaths(kind === "scope" ? rows.map(({ name }) => name) : []);
  return [
    {
      label: head.name,
      className: "wrap",
      title: (row) => (row.name ? undefined : text.othersText),
      show: (row) =>
        row.name ? (
          <Link className={kind === "scope" ? undefined : "mono small"} href={open(row.name)}>
            <Name short={paths.get(row.name) ?? titleOf(row, kind)} full={row.plain || row.name} />
          </Link>
        ) : (
          <span className="quiet">{text.others}</span>
        ),
    },
    { label: text.totals[kind]!, right: true, title: (row) => exact(row.total, "ns"), show: (row) => duration(row.total) },
    ...(hasShare(kind) ? [shareColumn(totalOf(rows))] : []),
    callsColumn(kind),
    ...(kind === "line" ? [] : [{ label: head.mean, right: true, title: (row) => exact(meanOf(row), "ns"), show: (row) => duration(meanOf(row)) } satisfies Column<RowRollupSum>]),
    countColumn(head.sessions, (row) => row.sessions),
  ];
}

/** One bar a day; the table of parts, or the bars' titles, have the numbers. */
function Bars({ days, kind, label }: { days: DaySum[]; kind: Kind; label: string }) {
  const top = Math.max(...days.map((day) => day.total), 1);
  const wide = 1000 / Math.max(1, days.length);
  return (
    <figure className="days-figure small">
      <div className="days-axis number quiet" aria-hidden="true">
        <span>{duration(top)}</span>
        <span>0</span>
      </div>
      <svg className="days" viewBox="0 0 1000 140" preserveAspectRatio="none" role="img" aria-label={label}>
        {days.map((day, index) => {
          const height = day.total > 0 ? Math.max(2, (day.total / top) * 132) : 0;
          return (
            <g key={day.day}>
              <rect className="days-wall" x={index * wide + wide * 0.1} width={wide * 0.8} y={140 - height} height={height} />
              <rect className="days-hit" x={index * wide} width={wide} height="140">
                <title>{text.day(dayText(day.day), duration(day.total), `${count(callsOf(day, kind))} ${text.units[kind]}`, count(day.sessions))}</title>
              </rect>
            </g>
          );
        })}
      </svg>
      <div className="row days-ends number quiet">
        <span>{days.length > 0 ? dayText(days[0]!.day) : ""}</span>
        <span className="end">{days.length > 1 ? dayText(days.at(-1)!.day) : ""}</span>
      </div>
    </figure>
  );
}

function Parts({ parts, split, kind }: { parts: Part[]; split: Split; kind: Kind }) {
  const columns: Column<Part>[] = [
    { label: text.splitColumns.name[split]!, className: "wrap", show: (part) => part.name || UNKNOWN },
    { label: text.totals[kind]!, right: true, title: (part) => exact(part.total, "ns"), show: (part) => duration(part.total) },
    callsColumn(kind),
    countColumn(text.columns.sessions, (part) => part.sessions),
    countColumn(text.splitColumns.days, (part) => part.days),
  ];
  return <Listing label={text.splits[split]!} columns={columns} rows={parts} keyOf={(part) => part.name} />;
}

/** One kernel, scope or line day by day, in one row or by application or host. */
function Days({ asked, name, title, onClose }: { asked: Asked; name: string; title: string; onClose: string }) {
  const { kind, range, app, host } = asked;
  const [wanted, setSplit] = useQuery("by", "day");
  const split = SPLITS.find((one) => one === wanted) ?? "day";
  const filters = { ...(app ? { app } : {}), ...(host ? { host } : {}) };
  const one = useApi("rollup_days", { kind, name, by: "day", from: range.from, to: range.to, limit: ROWS, ...filters });
  const each = useApi("rollup_days", split === "day" ? null : { kind, name, by: split, from: range.from, to: range.to, limit: ROWS, ...filters });
  const days = useMemo(() => daysOf(one.data?.rows ?? [], range), [one.data, range.from, range.to]); // eslint-disable-line react-hooks/exhaustive-deps
  const parts = useMemo(() => partsOf(each.data?.rows ?? []), [each.data]);
  const problem = one.problem ?? each.problem;
  return (
    <Panel
      title={text.days(title)}
      aside={
        <span className="row">
          {kind !== "line" && <Link href={href("trends", {}, { kind, name })}>{text.trend}</Link>}
          <Link href={onClose}>{text.close}</Link>
        </span>
      }
    >
      <div className="panel-body stack">
        {problem && <ProblemView problem={problem} again={() => (one.again(), each.again())} />}
        {one.data ? <Bars days={days} kind={kind} label={text.daysLabel(title, count(days.filter((day) => day.sessions > 0).length))} /> : !problem && <div className="skeleton days" />}
        <Choices label={text.split} value={split} options={SPLITS.map((value) => ({ value, label: text.splits[value]! }))} onChange={(value) => setSplit(value)} />
        {each.data?.next && <p className="quiet small">{text.cut(count(ROWS))}</p>}
      </div>
      {split !== "day" && each.data && <Parts parts={parts} split={split} kind={kind} />}
    </Panel>
  );
}

function Filters({ asked }: { asked: Asked }) {
  const { query } = usePlace();
  const { range } = asked;
  const days = { from: range.from, to: range.to, limit: NAMES };
  const apps = useApi("fleet", { by: "app", ...days });
  const hosts = useApi("fleet", { by: "host", ...days });
  const set = (name: "app" | "host", value: string) => go(withQuery(location.pathname, query, { [name]: value }), true);
  const choices = (rows: readonly { name: string }[] | undefined) => (rows ?? []).filter((row) => row.name).map((row) => ({ value: row.name, label: row.name }));
  return (
    <>
      <Select label={text.filters.app} value={asked.app} all={text.all.app} choices={choices(apps.data?.rows)} onChange={(app) => set("app", app)} />
      <Select label={text.filters.host} value={asked.host} all={text.all.host} choices={choices(hosts.data?.rows)} onChange={(host) => set("host", host)} />
    </>
  );
}

export function SumsPage() {
  const { query } = usePlace();
  const value = (name: string) => query.get(name) ?? "";
  const kind = KINDS.find((one) => one === value("kind")) ?? "kernel";
  const range = rangeOf(value("from"), value("to"), dayOf(Date.now()), YEAR);
  const asked: Asked = { kind, range, app: value("app"), host: value("host") };
  const rows = useApi("rollups", { kind, from: range.from, to: range.to, limit: SHOWN, ...(asked.app ? { app: asked.app } : {}), ...(asked.host ? { host: asked.host } : {}) });
  const to = (values: Record<string, string>) => withQuery(location.pathname, query, values);
  const listed = useMemo(() => othersLast(rows.data?.rows ?? []), [rows.data]);
  const columns = columnsOf(kind, listed, (name) => to({ name }));
  const name = value("name");
  const open = rows.data?.rows.find((row) => row.name === name);
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  return (
    <div className="stack">
      <h1>{text.title}</h1>
      <p className="quiet">
        {text.intro} <Link href={href("fleet", {}, { by: "gpu" })}>{text.gpus}</Link>
      </p>
      <div className="row">
        <Choices label={text.kind} value={kind} options={KINDS.map((one) => ({ value: one, label: text.kinds[one]! }))} onChange={(one) => go(to({ kind: one, name: "" }), true)} />
        <Filters asked={asked} />
      </div>
      <div className="row">
        <RangeBar range={range} onRange={({ from, to: end }) => go(to({ from: dayText(from), to: dayText(end - 1) }), true)} />
      </div>
      {name && <Days asked={asked} name={name} title={open ? titleOf(open, kind) : name} onClose={to({ name: "" })} />}
      {rows.problem && !rows.data && <ProblemView problem={rows.problem} again={rows.again} />}
      {!rows.data && !rows.problem && <Skeleton rows={8} />}
      {rows.data?.rows.length === 0 && <Empty title={text.none} text={text.noneText} />}
      {rows.data && listed.length > 0 && (
        <Panel title={text.kinds[kind]!} aside={[hasShare(kind) ? "" : text.nested, rows.data.next ? text.more(count(SHOWN)) : ""].filter(Boolean).join(" ") || undefined}>
          <Listing label={text.kinds[kind]!} columns={columns} rows={listed} keyOf={(row) => row.name} />
        </Panel>
      )}
    </div>
  );
}
