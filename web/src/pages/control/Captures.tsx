// Captures.tsx - captures on demand: the button that asks, and the state of each request until its
// capture can be seen.
import { useState } from "react";
import type { LiveEvent } from "../../api/live";
import { may, useMe } from "../../api/may";
import type { RowCapture, RowSession } from "../../api/schema";
import { useApi, type Freshness } from "../../api/use";
import { date, duration, exactDate } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { capture as text } from "../../text/control";
import { Boundary, part } from "../../ui/Boundary";
import { Listing, type Column } from "../../ui/Listing";
import { Panel, ProblemView } from "../../ui/parts";
import { isUnderWay, placeOf } from "./captures";
import "./control.css";

const Ask = part(() => import("./Ask"), (m) => m.Ask);
const SOON_MS = 1000; // while a request is under way, because the clock changes its state, too
const SHOWN = 3;
const TONES: Record<string, string> = { open: "chip chip-live", done: "chip chip-good", refused: "chip chip-warn", failed: "chip chip-warn", expired: "chip chip-warn", lost: "chip chip-warn" };
const RARELY: Freshness = { every: 10_000, on: (event: LiveEvent) => event.name === "capture" || event.name === "lost" };

export function useCaptures(of: { session: string } | { host: string }) {
  const [busy, setBusy] = useState(false);
  const asked = useApi("captures", of, busy ? SOON_MS : RARELY);
  const now = asked.data?.rows.some(isUnderWay) ?? false;
  if (asked.data && now !== busy) setBusy(now);
  return asked;
}

const State = ({ row }: { row: RowCapture }) => <span className={TONES[row.state] ?? "chip"}>{text.states[row.state] ?? row.state}</span>;
const what = (row: RowCapture): string => [text.line(row.engine, duration(row.duration)), row.scope && text.within(row.scope)].filter(Boolean).join(", ");

/** Where the capture can be seen; nothing before there is something to see. */
function See({ row, session }: { row: RowCapture; session: RowSession | null }) {
  if (row.state === "open")
    return (
      <Link href={href("session", { session: row.session, tab: "timeline" }, { follow: "1" })}>{text.follow}</Link>
    );
  if (row.state !== "done") return null;
  return (
    <Link href={href("session", { session: row.session, tab: "timeline" }, { at: session ? placeOf(row, session) : null })}>{text.see}</Link>
  );
}

interface ButtonProps {
  host: string;
  session: RowSession | null;
  onDone: () => void;
}

function Button({ host, session, onDone }: ButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {text.button}
      </button>
      {open && (
        <Boundary>
          <Ask
            host={host}
            session={session}
            onClose={() => setOpen(false)}
            onDone={() => {
              setOpen(false);
              onDone();
            }}
          />
        </Boundary>
      )}
    </>
  );
}

/** In a live session's header: the button, and the newest requests. */
export function SessionCaptures({ session }: { session: RowSession }) {
  const me = useMe();
  const asked = useCaptures({ session: session.id });
  const rows = asked.data?.rows.slice(0, SHOWN) ?? [];
  const asks = may(me, "CONTROL") && session.state === "live";
  if (!asks && rows.length === 0) return null;
  return (
    <div className="row small capture-line" role="group" aria-label={text.list}>
      {asks && <Button host={session.host} session={session} onDone={asked.again} />}
      {rows.map((row) => (
        <span className="row capture-line" key={row.id} role="status" title={`${row.author}, ${exactDate(row.created)}`}>
          {what(row)} <State row={row} /> {row.reason} <See row={row} session={session} />
        </span>
      ))}
    </div>
  );
}

const COLUMNS: Column<RowCapture>[] = [
  { label: text.columns.state, show: (row) => <State row={row} /> },
  { label: text.columns.what, className: "wrap", show: what },
  { label: text.columns.reason, className: "config-changed", show: (row) => row.reason || <See row={row} session={null} /> },
  { label: text.columns.session, show: (row) => <Link href={href("session", { session: row.session, tab: "insights" })}>{row.session.slice(0, 8)}</Link> },
  { label: text.columns.when, className: "number", show: (row) => date(row.created), title: (row) => exactDate(row.created) },
  { label: text.columns.who, className: "config-who", show: (row) => row.author },
];

/** Next to a host's name: the button for all of its sessions, for users who may ask. */
export function HostRecord({ host, onDone }: { host: string; onDone: () => void }) {
  return may(useMe(), "CONTROL") ? <Button host={host} session={null} onDone={onDone} /> : null;
}

/** On a host's page: all requests. Nothing is shown if nobody has asked. */
export function HostCaptures({ asked }: { asked: ReturnType<typeof useCaptures> }) {
  const rows = asked.data?.rows ?? [];
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (rows.length === 0) return null;
  return (
    <Panel title={text.list}>
      <Listing label={text.list} columns={COLUMNS} rows={rows} keyOf={(row) => row.id} />
    </Panel>
  );
}
