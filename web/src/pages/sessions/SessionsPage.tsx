// SessionsPage.tsx - all sessions of the workspace. Search, filters and order stand in the address
// and are the server's work; pages are fetched as the list is scrolled.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useCallback, useEffect, useMemo, useState } from "react";
import { client, Problem, type Parameters } from "../../api/client";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { between, bytes, count, date, duration, exact, exactDate, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { Empty, Meter, ProblemView, Search, Select, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { FirstRun } from "../firstrun/FirstRun";
import { gpuNames, labelsOf } from "../session/facts";

const PAGE = 200;
const LIVE_MS = 5000;
const FILTERS = ["app", "host", "gpu", "engine"] as const;
const STATES = ["live", "ended", "aborted"];
const SORTS = ["started", "duration", "kernels", "bytes", "busy", "app", "host"] as const;

const text = en.sessions.columns;

const columns: ColumnDef<RowSession, never>[] = [
  {
    id: "app",
    header: text.app,
    meta: { width: "minmax(200px, 2fr)", lead: true },
    cell: ({ row: { original: s } }) => (
      <Link href={href("session", { session: s.id, tab: "insights" })} title={`${s.app} · ${s.id}`}>
        {s.app || s.id.slice(0, 8)}
      </Link>
    ),
  },
  {
    id: "state",
    header: text.state,
    enableSorting: false,
    meta: { width: "160px" },
    cell: ({ row: { original: s } }) => <StateChips session={s} />,
  },
  { id: "started", header: text.started, meta: { width: "170px" }, cell: ({ row: { original: s } }) => <span title={exactDate(s.started)}>{date(s.started)}</span> },
  {
    id: "duration",
    header: text.duration,
    meta: { width: "100px", right: true },
    cell: ({ row: { original: s } }) => <span title={exact(between(s.started, s.ended), "ns")}>{duration(between(s.started, s.ended))}</span>,
  },
  {
    id: "busy",
    header: text.busy,
    meta: { width: "160px", right: true },
    cell: ({ row: { original: s } }) => (
      <span title={exact(s.busy)}>
        {percent(s.busy)}
        {s.busy !== null && (
          <span className="part">
            <Meter part={s.busy} />
          </span>
        )}
      </span>
    ),
  },
  { id: "kernels", header: text.kernels, meta: { width: "100px", right: true }, cell: ({ row: { original: s } }) => <span title={exact(s.kernels)}>{count(s.kernels)}</span> },
  { id: "host", header: text.host, meta: { width: "minmax(120px, 1fr)" }, cell: ({ row: { original: s } }) => <span title={s.host}>{s.host}</span> },
  { id: "gpu", header: text.gpu, enableSorting: false, meta: { width: "minmax(140px, 1fr)" }, cell: ({ row: { original: s } }) => <span title={gpuNames(s)}>{gpuNames(s)}</span> },
  { id: "engine", header: text.engine, enableSorting: false, meta: { width: "120px" }, cell: ({ row: { original: s } }) => s.engine },
  { id: "bytes", header: text.bytes, meta: { width: "100px", right: true }, cell: ({ row: { original: s } }) => <span title={exact(s.bytes, "bytes")}>{bytes(s.bytes)}</span> },
  { id: "labels", header: text.labels, enableSorting: false, meta: { width: "minmax(110px, 1fr)" }, cell: ({ row: { original: s } }) => <span title={labelsOf(s)}>{labelsOf(s)}</span> },
];

export function StateChips({ session }: { session: RowSession }) {
  const name = en.sessions.states[session.state] ?? session.state;
  const tone = session.state === "live" ? "chip chip-live" : session.state === "aborted" ? "chip chip-warn" : "chip";
  return (
    <span className="row">
      <span className={tone}>{name}</span>
      {session.simulated && <span className="chip">{en.sessions.simulated}</span>}
    </span>
  );
}

function Filter({ by, value }: { by: (typeof FILTERS)[number]; value: string }) {
  const names = useApi("session_names", { by });
  const choices = (names.data?.rows ?? []).map((row) => ({ value: row.name, label: `${row.name} (${count(row.sessions)})` }));
  const set = (next: string) => go(withQuery(location.pathname, new URLSearchParams(location.search), { [by]: next }), true);
  return <Select label={en.sessions.filter[by]} value={value} all={en.sessions.all[by]} choices={choices} onChange={set} />;
}

type Asked = Parameters<"sessions">;

function askedFor(query: URLSearchParams): Asked {
  const value = (name: string) => query.get(name) ?? "";
  const wanted = value("sort");
  const sort = SORTS.find((known) => known === wanted) ?? "started";
  const named = Object.fromEntries(["app", "host", "gpu", "engine", "state", "text"].map((name) => [name, value(name)]).filter(([, v]) => v));
  return { ...named, sort, ascending: value("ascending") === "true", limit: PAGE };
}

/** The pages behind the first; forgotten when the question changes. */
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

export function SessionsPage() {
  const { query } = usePlace();
  const [search, setSearch] = useQuery("text");
  const key = query.toString();
  const asked = useMemo(() => askedFor(new URLSearchParams(key)), [key]);
  const first = useApi("sessions", asked, { every: LIVE_MS, on: onSession() });
  const found = useApi("session_count", Object.fromEntries(Object.entries(asked).filter(([name]) => !["sort", "ascending", "limit"].includes(name))), { every: LIVE_MS, on: onSession() });
  const { mine, load } = useMore(asked, key);
  useEffect(() => {
    document.title = `${en.sessions.title} · ${en.product}`;
  }, []);

  const rows = useMemo(() => {
    const seen = new Set<string>();
    return [...(first.data?.rows ?? []), ...(mine?.rows ?? [])].filter((row) => !seen.has(row.id) && seen.add(row.id));
  }, [first.data, mine?.rows]);
  const narrowed = ["app", "host", "gpu", "engine", "state", "text"].some((name) => query.get(name));
  if (first.problem && !first.data) return <ProblemView problem={first.problem} again={first.again} />;
  if (first.data && !first.loading && rows.length === 0 && !narrowed) return <FirstRun />;

  const sorting: SortingState = [{ id: asked.sort ?? "started", desc: !asked.ascending }];
  const sort = ([by]: SortingState) => by && go(withQuery(location.pathname, query, { sort: by.id, ascending: by.desc ? "" : "true" }), true);
  const next = mine ? mine.next : first.data?.next;
  return (
    <div className="stack">
      <div className="row">
        <h1>{en.sessions.title}</h1>
        <span className="quiet" role="status">
          {found.data ? en.sessions.found(count(found.data.count)) : ""}
        </span>
      </div>
      <div className="row">
        <Search label={en.sessions.search} hint={en.sessions.searchHint} value={search} onChange={setSearch} />
        {FILTERS.map((by) => (
          <Filter key={by} by={by} value={query.get(by) ?? ""} />
        ))}
        <Select
          label={en.sessions.filter.state}
          value={query.get("state") ?? ""}
          all={en.sessions.all.state}
          choices={STATES.map((state) => ({ value: state, label: en.sessions.states[state]! }))}
          onChange={(state) => go(withQuery(location.pathname, query, { state }), true)}
        />
      </div>
      {!first.data ? (
        <Skeleton rows={10} />
      ) : rows.length === 0 ? (
        <Empty title={en.sessions.none} text={en.sessions.noneText}>
          <Link className="button" href={href("sessions")}>
            {en.sessions.clear}
          </Link>
        </Empty>
      ) : (
        <Table caption={en.sessions.title} rows={rows} columns={columns} sorting={sorting} onSort={sort} />
      )}
      {mine?.problem && <ProblemView problem={mine.problem} />}
      {next && (
        <button type="button" className="button" disabled={mine?.busy} onClick={() => load(next, mine?.rows ?? [])}>
          {en.sessions.more}
        </button>
      )}
    </div>
  );
}
