// SessionPage.tsx - a session: a header that says what ran and how it went, and a view of the
// session below. A live session is asked for again every few seconds.
import { useEffect, useState } from "react";
import { unknownOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { who } from "../../api/who";
import { between, count, date, duration, exact, exactDate, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace } from "../../router/router";
import { en } from "../../text/en";
import { Boundary, part } from "../../ui/Boundary";
import { useCurrent } from "../../ui/current";
import { Empty, Meter, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { may, useMe } from "../../api/may";
import { StateChips } from "../sessions/StateChips";
import { Captured } from "./Captured";
import { SessionId } from "./SessionId";
import { gpuNames, isOver, labelsOf, runOf } from "./facts";
import { leave, viewFrom } from "./left";
import { TABS } from "./tabs";
import { Windows } from "./Windows";

const LIVE_MS = 3000;
// Dialogs are loaded when they are first opened, and the parts of live sessions with the first live
// session.
const Delete = part(() => import("../sessions/Delete"), (m) => m.Delete);
const SessionCaptures = part(() => import("../control/Captures"), (m) => m.SessionCaptures);
const Share = part(() => import("../sessions/Share"), (m) => m.Share);

/** The actions on the session, for users who may do them. */
function Actions({ session: s }: { session: RowSession }) {
  const me = useMe();
  const [open, setOpen] = useState<"share" | "delete" | null>(null);
  if (!may(me, "WRITE")) return null;
  const close = () => setOpen(null);
  return (
    <span className="row">
      {!me?.local && (
        <button type="button" className="button" onClick={() => setOpen("share")}>
          {en.session.share}
        </button>
      )}
      <button type="button" className="button" onClick={() => setOpen("delete")}>
        {en.session.remove}
      </button>
      {open === "share" && <Share session={s.id} onClose={close} />}
      {open === "delete" && <Delete sessions={[s]} onClose={close} onDone={() => go(href("sessions"))} />}
    </span>
  );
}

/** The link to the passes and processes of the session's run, if there are others. */
function RunLink({ run }: { run: string }) {
  const asked = useApi("session_count", { label: "run", label_value: run });
  const sessions = asked.data?.count ?? 0;
  return sessions > 1 ? <Link href={href("run", { run })}>{en.session.run(count(sessions))}</Link> : null;
}

/** Views that need the screen; the header has one line there. */
const WIDE: ReadonlySet<string> = new Set(["timeline", "kernels", "flame"]);

interface HeaderProps {
  session: RowSession;
  ledger: unknown;
}

const ranOf = (s: RowSession): number | null => between(s.started, s.ended ?? s.received);
/** Why a number is unknown. */
const unknownText = (s: RowSession, ledger: unknown): string => (s.analyzed ? (unknownOf(ledger, "kernels") ?? en.session.unknown) : en.session.busyUnknown);

/** The session's numbers in the header's one line. */
function LineNumbers({ session: s, ledger }: HeaderProps) {
  const ran = ranOf(s);
  const unknown = unknownText(s, ledger);
  return (
    <>
      <span className="small number" title={exact(ran, "ns")}>
        {duration(ran)}
      </span>
      <span className="small number" title={s.busy === null ? unknown : exact(s.busy)}>
        {en.session.busy} {s.busy === null ? en.session.unknown : percent(s.busy)}
      </span>
      <span className="small number" title={s.kernels === null ? unknown : exact(s.kernels)}>
        {en.session.kernels} {s.kernels === null ? en.session.unknown : count(s.kernels)}
      </span>
      <span className="small session-captured row">
        {en.session.ledger}
        <Captured session={s} ledger={ledger} />
      </span>
    </>
  );
}

function Numbers({ session: s, ledger }: HeaderProps) {
  const ran = ranOf(s);
  const unknown = unknownText(s, ledger);
  return (
    <Stats
      items={[
        { label: en.session.length, value: duration(ran), exact: exact(ran, "ns") },
        { label: en.session.busy, value: percent(s.busy), exact: exact(s.busy), note: s.busy === null ? unknown : <Meter part={s.busy} /> },
        { label: en.session.kernels, value: count(s.kernels), exact: exact(s.kernels), note: s.kernels === null ? unknown : undefined },
        { label: en.session.ledger, value: <Captured session={s} ledger={ledger} /> },
        { label: en.session.gpus, value: gpuNames(s) || UNKNOWN },
        { label: en.session.engine, value: s.engine || UNKNOWN },
      ]}
    />
  );
}

function Header({ session: s, tab, ledger }: HeaderProps & { tab: string }) {
  const me = useMe();
  const narrow = WIDE.has(tab);
  return (
    <header className={narrow ? "stack session-line" : "stack"}>
      <div className="row">
        <h1 title={s.app}>{s.app || s.id}</h1>
        {s.app && <SessionId id={s.id} />}
        <StateChips session={s} />
        {labelsOf(s) && (
          <span className="chip session-labels" title={labelsOf(s)}>
            {labelsOf(s)}
          </span>
        )}
        {!who.link && runOf(s) && <RunLink run={runOf(s)} />}
        {narrow ? (
          <LineNumbers session={s} ledger={ledger} />
        ) : (
          <span className="quiet small" title={exactDate(s.started)}>
            {en.session.where(s.host || UNKNOWN, String(s.pid ?? UNKNOWN))}, {en.session.started} {date(s.started)}
          </span>
        )}
        <span className="row end">
          {!who.link && s.app && (
            <Link className="button" href={href("trends", {}, { kind: "app", name: s.app })}>
              {en.toTrends.app}
            </Link>
          )}
          <Actions session={s} />
        </span>
      </div>
      {!narrow && <Numbers session={s} ledger={ledger} />}
      {s.state === "live" && !who.link && !me?.local && (
        <Boundary>
          <SessionCaptures session={s} />
        </Boundary>
      )}
      <Windows session={s} part={ledger} />
      {s.simulated && <p className="quiet">{en.session.simulated}</p>}
      {s.state === "aborted" && <p className="quiet">{en.session.aborted}</p>}
    </header>
  );
}

export function SessionPage({ id, tab }: { id: string; tab: string }) {
  const [over, setOver] = useState(false);
  const asked = useApi("session", { session: id }, { every: LIVE_MS, on: onSession(id), settled: over });
  const place = usePlace();
  const { query } = place;
  const s = asked.data;
  const ledger = useApi("section_ledger", s?.analyzed ? { session: id } : null, { every: 0, on: onSession(id), settled: s !== undefined && isOver(s) });
  const isSettled = s !== undefined && isOver(s);
  if (isSettled !== over) setOver(isSettled);
  const shown = TABS.find((known) => known.id === tab);
  const bar = useCurrent(s && tab);
  useEffect(() => {
    document.title = `${s?.app || id.slice(0, 8)} · ${en.session.tabs[tab] ?? en.states.lostPage} · ${en.product}`;
  }, [s?.app, id, tab]);
  useEffect(() => {
    leave(id, tab, query.toString());
  }, [id, tab, query]);
  if (asked.problem && !s) return <ProblemView alone problem={asked.problem} again={asked.again} />;
  if (!s) return <Skeleton rows={8} />;
  return (
    <>
      <Header session={s} tab={tab} ledger={ledger.data} />
      <nav className="tabs" ref={bar} aria-label={en.session.tabsLabel}>
        {TABS.map((known) => (
          <Link key={known.id} href={viewFrom(place, known.id)} aria-current={known === shown ? "page" : undefined}>
            {en.session.tabs[known.id]}
          </Link>
        ))}
      </nav>
      <Boundary key={tab}>
        {shown ? <shown.view session={s} ledger={ledger} /> : <Empty title={en.states.lostPage} text={en.states.lostPageText} />}
      </Boundary>
    </>
  );
}
