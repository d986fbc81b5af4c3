// SessionsPage.tsx - all sessions of the workspace. Search, filters, order, columns and chosen
// sessions are in the address; the server searches, filters and sorts. Chosen sessions can be
// compared or deleted. Further pages are fetched when somebody asks for them.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useCallback, useEffect, useMemo, useState } from "react";
import { client, Problem } from "../../api/client";
import { may, useMe } from "../../api/may";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { count } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { sessions as text } from "../../text/sessions";
import { Check } from "../../ui/forms";
import { Empty, ProblemView, Search, Select, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { idsIn } from "../compare/model";
import { FirstRun } from "../firstrun/FirstRun";
import { COLUMNS, columnsOf, useColumns } from "./columns";
import { Delete } from "./Delete";
import "./sessions.css";
import { askedFor, askingOf, countedFor, FILTERS, NARROWING, STATES, type Asked } from "./filters";

const LIVE_MS = 5000;
const MINUTE_MS = 60_000;

function Filter({ by, value }: { by: (typeof FILTERS)[number]; value: string }) {
  const names = useApi("session_names", { by });
  const choices = (names.data?.rows ?? []).map((row) => ({ value: row.name, label: `${row.name} (${count(row.sessions)})` }));
  const set = (next: string) => go(withQuery(location.pathname, new URLSearchParams(location.search), { [by]: next }), true);
  return <Select label={text.filter[by]} value={value} all={text.all[by]} choices={choices} onChange={set} />;
}

/** The pages after the first one; they are forgotten when the question changes. */
function useMore(asked: Asked, key: string) {
  const [more, setMore] = useState<{ key: string; rows: RowSession[]; next: string | null; busy: boolean; problem?: Problem }>();
  const mine = more?.key === key ? more : undefined;
  const load = useCallback(
    (after: string, rows: RowSession[]) => {
      setMore({ key, rows, next: after, busy: true });
      client.get("sessions", { ...asked, after }).then(
        (page) => setMore((m) => (m?.key === key ? { key, rows: [...rows, ...page.rows], next: page.next, busy: false } : m)),
        (cause: unknown) => {
          const problem = cause instanceof Problem ? cause : new Problem(0, "", String(cause));
          setMore((m) => (m?.key === key ? { key, rows, next: after, busy: false, problem } : m));
        },
      );
    },
    [asked, key],
  );
  return { mine, load };
}

function chooser(chosen: readonly string[], choose: (id: string, on: boolean) => void): ColumnDef<RowSession, never> {
  return {
    id: "choose",
    header: () => <span className="hidden-label">{text.selectColumn}</span>,
    enableSorting: false,
    meta: { width: "44px" },
    cell: ({ row: { original: s } }) => (
      <input type="checkbox" className="choose" aria-label={text.select(s.app || s.id.slice(0, 8))} checked={chosen.includes(s.id)} onChange={(event) => choose(s.id, event.target.checked)} />
    ),
  };
}

function ColumnMenu({ ids, onChange }: { ids: string[]; onChange: (ids: string[]) => void }) {
  return (
    <details className="menu menu-plain">
      <summary className="button">{text.columnsButton}</summary>
      <div className="menu-body">
        {COLUMNS.filter((column) => column.id !== "app").map((column) => (
          <div key={column.id}>
            <Check label={text.columns[column.id as keyof typeof text.columns]} checked={ids.includes(column.id!)} onChange={(on) => onChange(on ? [...ids, column.id!] : ids.filter((id) => id !== column.id))} />
          </div>
        ))}
      </div>
    </details>
  );
}

/** The session that was followed last; a user who comes back from it is not sent there again. */
let followed = "";

/** Goes to the newest live session among those of the filters, whatever the list's order, as
 * soon as it starts. */
function useFollow(on: boolean, asked: Asked): void {
  const newest = useApi("sessions", on ? { ...countedFor(asked), state: "live", sort: "started", limit: 1 } : null, { every: LIVE_MS, on: onSession() });
  const id = newest.data?.rows[0]?.id;
  useEffect(() => {
    if (!on) followed = "";
    else if (id && id !== followed) {
      followed = id;
      go(href("session", { session: id, tab: "insights" }));
    }
  }, [on, id]);
}

function Filters({ query }: { query: URLSearchParams }) {
  const [search, setSearch] = useQuery("text");
  const [label, setLabel] = useQuery("label");
  const [account, setAccount] = useQuery("account");
  const [since, setSince] = useQuery("since");
  return (
    <div className="row">
      <Search label={text.search} hint={text.searchHint} value={search} onChange={setSearch} />
      {FILTERS.map((by) => (
        <Filter key={by} by={by} value={query.get(by) ?? ""} />
      ))}
      <Select
        label={text.filter.state}
        value={query.get("state") ?? ""}
        all={text.all.state}
        choices={STATES.map((state) => ({ value: state, label: en.session.states[state]! }))}
        onChange={(state) => go(withQuery(location.pathname, query, { state }), true)}
      />
      <Select
        label={text.time}
        value={since}
        all={text.times[""]!}
        choices={Object.entries(text.times)
          .filter(([value]) => value)
          .map(([value, name]) => ({ value, label: name }))}
        onChange={setSince}
      />
      <div className="narrow-search label-search">
        <Search label={text.label} hint={text.labelHint} value={label} onChange={setLabel} />
      </div>
      <div className="narrow-search">
        <Search label={text.account} hint={text.accountHint} value={account} onChange={setAccount} />
      </div>
    </div>
  );
}

interface ChosenProps {
  chosen: string[];
  rows: RowSession[];
  writes: boolean;
  onClear: () => void;
  onDelete: () => void;
}

function Chosen({ chosen, writes, onClear, onDelete }: ChosenProps) {
  const [first, ...rest] = chosen;
  return (
    <div className="row chosen" role="status">
      <strong>{text.chosen(chosen.length)}</strong>
      {first && rest.length > 0 ? (
        <Link className="button button-main" href={href("compare", {}, { a: first, b: rest.join(",") })}>
          {text.compare}
        </Link>
      ) : (
        <span className="small quiet">{text.compareHint}</span>
      )}
      {writes && (
        <button type="button" className="button button-danger" onClick={onDelete}>
          {text.remove}
        </button>
      )}
      <button type="button" className="button" onClick={onClear}>
        {text.clear}
      </button>
    </div>
  );
}

/** The present minute, from which times are counted back. */
function useMinute(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The sessions of the filters, page after page, and how many there are. */
function useSessions(query: URLSearchParams) {
  const key = askingOf(query);
  const now = useMinute();
  const asked = useMemo(() => askedFor(new URLSearchParams(key), now), [key, now]);
  const first = useApi("sessions", asked, { every: LIVE_MS, on: onSession() });
  const found = useApi("session_count", countedFor(asked), { every: LIVE_MS, on: onSession() });
  const { mine, load } = useMore(asked, key);
  const rows = useMemo(() => {
    const seen = new Set<string>();
    return [...(first.data?.rows ?? []), ...(mine?.rows ?? [])].filter((row) => !seen.has(row.id) && seen.add(row.id));
  }, [first.data, mine?.rows]);
  return { asked, first, found, mine, load, rows };
}

/** The sessions that are chosen in the address. */
function useChosen() {
  const [picked, setPicked] = useQuery("chosen");
  const chosen = useMemo(() => idsIn(picked), [picked]);
  const choose = useCallback((id: string, on: boolean) => setPicked((on ? [...chosen, id] : chosen.filter((other) => other !== id)).join()), [chosen, setPicked]);
  return { chosen, choose, clear: () => setPicked("") };
}

/** The title, the number of sessions, and the controls of the list. */
function Head({ found, follow, onFollow, ids, onIds }: { found: number | null | undefined; follow: boolean; onFollow: (on: boolean) => void; ids: string[]; onIds: (ids: string[]) => void }) {
  return (
    <div className="row">
      <h1>{text.title}</h1>
      <span className="quiet" role="status">
        {found === undefined ? "" : text.found(count(found))}
      </span>
      <span className="end" />
      <Check label={text.follow} checked={follow} onChange={onFollow} />
      <ColumnMenu ids={ids} onChange={onIds} />
    </div>
  );
}

/** The list, or what to do if no session passes the filters. rows: undefined while they are asked
 * for. */
function List({ rows, columns, asked }: { rows: RowSession[] | undefined; columns: ColumnDef<RowSession, never>[]; asked: Asked }) {
  const { query } = usePlace();
  if (!rows) return <Skeleton rows={10} />;
  if (rows.length === 0)
    return (
      <Empty title={text.none} text={text.noneText}>
        <Link className="button" href={href("sessions")}>
          {text.clearFilters}
        </Link>
      </Empty>
    );
  const sorting: SortingState = [{ id: asked.sort ?? "started", desc: !asked.ascending }];
  const sort = ([by]: SortingState) => by && go(withQuery(location.pathname, query, { sort: by.id, ascending: by.desc ? "" : "true" }), true);
  return <Table caption={text.title} rows={rows} columns={columns} sorting={sorting} onSort={sort} />;
}

export function SessionsPage() {
  const { query } = usePlace();
  const me = useMe();
  const { asked, first, found, mine, load, rows } = useSessions(query);
  const [ids, setIds] = useColumns();
  const { chosen, choose, clear } = useChosen();
  const [leaving, setLeaving] = useState(false);
  const [follow, setFollow] = useQuery("follow");
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  const columns = useMemo(() => [chooser(chosen, choose), ...columnsOf(ids, rows)], [ids, rows, chosen, choose]);
  useFollow(follow === "1", asked);
  const narrowed = NARROWING.some((name) => query.get(name));
  if (first.problem && !first.data) return <ProblemView problem={first.problem} again={first.again} />;
  if (first.data && !first.loading && rows.length === 0 && !narrowed) return <FirstRun />;

  const next = mine ? mine.next : first.data?.next;
  const deleted = (): void => {
    setLeaving(false);
    clear();
    first.again();
    found.again();
  };
  return (
    <div className="stack">
      <Head found={found.data?.count} follow={follow === "1"} onFollow={(on) => setFollow(on ? "1" : "")} ids={ids} onIds={setIds} />
      <Filters query={query} />
      <List rows={first.data && rows} columns={columns} asked={asked} />
      {chosen.length > 0 && (
        <div className="over-end">
          <Chosen chosen={chosen} rows={rows} writes={may(me, "WRITE")} onClear={clear} onDelete={() => setLeaving(true)} />
        </div>
      )}
      {mine?.problem && <ProblemView problem={mine.problem} />}
      {next && (
        <button type="button" className="button" disabled={mine?.busy} onClick={() => load(next, mine?.rows ?? [])}>
          {text.more}
        </button>
      )}
      {leaving && <Delete sessions={chosen.map((id) => rows.find((row) => row.id === id) ?? { id, app: "" })} onClose={() => setLeaving(false)} onDone={deleted} />}
    </div>
  );
}
