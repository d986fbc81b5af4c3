// RunPage.tsx - the passes and processes of one command on one page, each with what it records and
// with its answer.
import { useEffect, useMemo } from "react";
import { answerOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { between, count, date, exactDate, percent, sentence, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { run as text } from "../../text/run";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { passOf } from "../session/facts";
import { SessionId } from "../session/SessionId";
import { StateChips } from "../sessions/StateChips";
import { Ranks } from "./Ranks";
import { earliest, giftsOf, inOrder, isSlowed, timesOf } from "./run";
import "./run.css";

const SHOWN = 200;
const c = text.columns;

/** The answer of one session; a pass without times has none. */
function First({ session: s }: { session: RowSession }) {
  const asked = useApi("section_summary", s.analyzed ? { session: s.id } : null, { every: 0, on: onSession(s.id) });
  if (!s.analyzed) return <span className="quiet">{text.pending}</span>;
  if (asked.problem && !asked.data) return <span className="wrong">{asked.problem.message}</span>;
  if (!asked.data) return <span className="skeleton" />;
  const answer = answerOf(asked.data);
  if (!answer) return <span title={text.unknown}>{UNKNOWN}</span>;
  return (
    <>
      {answer.share > 0 && (
        <>
          <Link href={href("session", { session: s.id, tab: "insights" })}>
            <strong>{`${percent(answer.share)}${answer.place ? ` ${answer.place}` : ""}:`}</strong>
          </Link>{" "}
        </>
      )}
      {sentence(answer.statement)}
    </>
  );
}

/** hosts: whether the sessions ran on several. */
const columnsFor = (passes: boolean, hosts: boolean, times: RowSession | undefined): Column<RowSession>[] => [
  { label: c.session, className: "wrap", show: (s) => <Link href={href("session", { session: s.id, tab: "insights" })}>{s.app || s.id.slice(0, 8)}</Link> },
  ...(passes
    ? [
        { label: c.pass, show: (s: RowSession) => (passOf(s) ? text.passOf(passOf(s)!.pass, passOf(s)!.passes) : UNKNOWN) },
        { label: c.gives, className: "wrap", show: (s: RowSession) => giftsOf(s.engine).map((gift) => text.gives[gift]).join(", ") || UNKNOWN },
      ]
    : []),
  { label: c.engine, show: (s) => s.engine },
  { label: c.process, className: "wrap", show: (s) => <>{hosts ? text.process(s.host || UNKNOWN, String(s.pid ?? UNKNOWN)) : text.pid(String(s.pid ?? UNKNOWN))} <StateChips session={s} /></> },
  timeColumn(c.duration, (s) => between(s.started, s.ended ?? s.received)),
  { label: c.busy, right: true, show: (s) => percent(s.busy), title: (s) => (s.busy === null ? text.unknown : undefined) },
  { label: c.kernels, right: true, show: (s) => count(s.kernels), title: (s) => (s.kernels === null ? text.unknown : undefined) },
  { label: c.answer, className: "wrap", show: (s) => (isSlowed(s, times) ? text.slowed(passOf(times!)?.pass ?? 1) : <First session={s} />) },
];

export function RunPage({ run }: { run: string }) {
  const asked = useApi("sessions", { label: "run", label_value: run, limit: SHOWN }, { every: 0, on: onSession() });
  const rows = useMemo(() => (asked.data ? inOrder(asked.data.rows) : undefined), [asked.data]);
  const passes = Math.max(0, ...(rows ?? []).map((row) => passOf(row)?.passes ?? 0));
  const times = rows && timesOf(rows);
  const hosts = useMemo(() => [...new Set((rows ?? []).map((row) => row.host))], [rows]);
  const columns = useMemo(() => columnsFor(passes > 0, hosts.length > 1, times), [passes, hosts, times]);
  const app = rows?.[0]?.app ?? "";
  useEffect(() => {
    document.title = `${text.title} ${app} · ${en.product}`;
  }, [app]);
  if (asked.problem && !rows) return <ProblemView alone problem={asked.problem} again={asked.again} />;
  if (!rows) return <Skeleton rows={8} />;
  if (rows.length === 0) return <Empty alone title={text.missing} text={text.missingText} />;
  const began = earliest(rows);
  return (
    <div className="stack">
      <div className="row">
        <h1>
          <span className="quiet">{text.title}</span> {app}
        </h1>
        <SessionId id={run} />
        <span className="quiet small" title={exactDate(began)}>
          {text.about(count(rows.length), passes ? count(passes) : "", hosts.slice(0, 4).join(", "), date(began))}
        </span>
        {passes > 0 && times && (
          <Link className="button end" href={href("session", { session: times.id, tab: "kernels" })}>
            {text.open}
          </Link>
        )}
      </div>
      {passes === 0 && <Ranks rows={rows} />}
      <Panel title={text.sessions} aside={passes ? text.passesText : text.processesText}>
        <Listing label={text.sessions} columns={columns} rows={rows} keyOf={(row) => row.id} rowClass={(row) => (isSlowed(row, times) ? "slowed" : undefined)} roomy />
        {asked.data?.next && <p className="panel-body quiet small">{text.cut(count(SHOWN))}</p>}
      </Panel>
    </div>
  );
}
