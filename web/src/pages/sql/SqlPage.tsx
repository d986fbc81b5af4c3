// SqlPage.tsx - asks in SQL: sessions, ready questions, the statement, and its answer. Statement,
// sessions and the form of the answer are in the address, so everybody who opens the address
// sees the answer.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { client, Problem } from "../../api/client";
import { useMe } from "../../api/may";
import type { RowSession } from "../../api/schema";
import { useApi } from "../../api/use";
import { date } from "../../format/format";
import { go, href, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { sql as text } from "../../text/sql";
import { part } from "../../ui/Boundary";
import { CopyButton } from "../../ui/forms";
import { Empty, Panel, ProblemView, Search, Select, Skeleton } from "../../ui/parts";
import { answerOf, messageOf, offsetOf, placeOf } from "./answer";
import { fromAddress, toAddress } from "./address";
import type { TableShape } from "./Editor";
import { namesFor } from "./names";
import { questionsIn, type Question } from "./questions";
import { Result, type Ran } from "./Result";
import "./sql.css";

const Editor = part(() => import("./Editor"), (m) => m.default, <div className="sql-editor skeleton" role="status" aria-label={en.states.loading} />);

const ADDRESS_MOST = 6000; // letters of a statement that an address carries
const SESSIONS_MOST = 32; // equal to the server's limit
const ROWS_MOST = 10_000;
const MS_MOST = 30_000;
const LISTED = 100; // sessions to choose from
const SHAPES: readonly TableShape[] = [];

const isShape = (value: unknown): value is TableShape => typeof value === "object" && value !== null && "columns" in value && Array.isArray(value.columns);
const labelOf = (row: RowSession): string => `${row.app || row.id.slice(0, 8)} · ${date(row.started)} · ${row.id.slice(0, 8)}`;

function Sessions({ chosen, onChange }: { chosen: readonly string[]; onChange: (ids: string[]) => void }) {
  const list = useApi("sessions", { limit: LISTED });
  const rows = list.data?.rows ?? [];
  const nameOf = (id: string): string => {
    const row = rows.find((known) => known.id === id);
    return row ? labelOf(row) : id;
  };
  return (
    <div className="row" role="group" aria-label={text.sessions}>
      {chosen.map((id) => (
        <span key={id} className="chip" title={id}>
          {nameOf(id)}
          <button type="button" className="sql-drop" aria-label={text.drop(nameOf(id))} onClick={() => onChange(chosen.filter((other) => other !== id))}>
            ×
          </button>
        </span>
      ))}
      {chosen.length < SESSIONS_MOST && (
        <Select label={text.add} value="" all={text.add} choices={rows.filter((row) => !chosen.includes(row.id)).map((row) => ({ value: row.id, label: labelOf(row) }))} onChange={(id) => id && onChange([...chosen, id])} />
      )}
      {chosen.length === 0 && <span className="small quiet">{text.none}</span>}
    </div>
  );
}

function Tables({ shapes }: { shapes: readonly TableShape[] }) {
  const [search, setSearch] = useState("");
  const words = search.toLowerCase();
  const found = shapes.filter((table) => table.name.includes(words) || table.columns.some((column) => column.name.includes(words)));
  return (
    <Panel title={text.tables}>
      <div className="panel-body stack">
        <p className="small quiet">{text.tablesAbout}</p>
        <Search label={text.tablesSearch} hint={text.tablesSearch} value={search} onChange={setSearch} />
        <div className="sql-tables" tabIndex={0} role="region" aria-label={text.tables}>
          {found.map((table) => (
            <details key={table.name} open={words !== "" && found.length < 6}>
              <summary>
                <code>{table.name}</code>
              </summary>
              <p className="small quiet">{table.doc}</p>
              <dl className="sql-columns small">
                {table.columns.map((column) => (
                  <div key={column.name}>
                    <dt>
                      <code>{column.name}</code> <span className="quiet">{column.type}</span>
                    </dt>
                    <dd className="quiet">{column.doc}</dd>
                  </div>
                ))}
              </dl>
            </details>
          ))}
        </div>
      </div>
    </Panel>
  );
}

function Questions({ questions, onChoose }: { questions: readonly Question[]; onChoose: (question: Question) => void }) {
  return (
    <Panel title={text.questions}>
      <ul className="panel-body links">
        {questions.map((question) => (
          <li key={question.id}>
            <button type="button" className="linklike" title={question.about} onClick={() => onChoose(question)}>
              {question.title}
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface Asking {
  ran?: Ran;
  problem?: Problem;
  of?: string; // the statement that failed
  busy: boolean;
}

/** Asks the question of the address, and asks again when somebody runs it again. */
function useAnswer(sql: string, sessions: string, round: number): Asking {
  const [state, setState] = useState<Asking>({ busy: false });
  useEffect(() => {
    if (!sql.trim()) {
      setState({ busy: false });
      return;
    }
    let gone = false;
    const began = performance.now();
    setState((before) => ({ ...before, busy: true }));
    client
      .change("sql", {}, { sql, sessions, rows: ROWS_MOST, milliseconds: MS_MOST })
      .then(async (said) => {
        const ms = performance.now() - began;
        const answer = answerOf(said);
        const names = await namesFor(answer, sessions.split(",").filter(Boolean));
        if (!gone) setState({ busy: false, ran: { answer, names, ms, sql, sessions } });
      })
      .catch((cause: unknown) => {
        if (!gone) setState({ busy: false, of: sql, problem: cause instanceof Problem ? cause : new Problem(0, "", String(cause)) });
      });
    return () => {
      gone = true;
    };
  }, [sql, sessions, round]);
  return state;
}

function Wrong({ problem, sql, onGo }: { problem: Problem; sql: string; onGo: () => void }) {
  const place = placeOf(problem.message, sql);
  if (problem.status !== 400) return <ProblemView problem={problem} />;
  return (
    <div className="panel panel-body stack" role="alert">
      <p className="wrong sql-message">{messageOf(problem.message)}</p>
      {place && (
        <p className="row small">
          {text.place(place.line, place.column)}
          <button type="button" className="button" onClick={onGo}>
            {text.toPlace}
          </button>
        </p>
      )}
    </div>
  );
}

/** The statement and the sessions of the address; a statement that is too long for an address is
 * kept in this page alone. */
function useAsked() {
  const [inAddress] = useQuery("sql");
  const [sessions, setSessions] = useQuery("sessions");
  const [long, setLong] = useState("");
  const [round, setRound] = useState(0);
  const asked = long || fromAddress(inAddress);
  const newest = useRef(asked);
  newest.current = asked;
  const run = useCallback((sql: string, question?: Question) => {
    const fits = sql.length <= ADDRESS_MOST;
    setLong(fits ? "" : sql);
    if (newest.current === sql) setRound((n) => n + 1); // the same statement runs again; another statement runs because it differs
    const shape = question ? { q: question.id, x: "", y: "", plot: "" } : {};
    go(withQuery(location.pathname, new URLSearchParams(location.search), { sql: fits ? toAddress(sql) : "", ...shape }));
  }, []);
  return { asked, sessions, setSessions, long, round, run };
}

/** A visitor without any session in the address gets the newest one. */
function useNewest(sessions: string, set: (ids: string) => void): void {
  const done = useRef(sessions !== "" || new URLSearchParams(location.search).has("sql"));
  const newest = useApi("sessions", done.current ? null : { limit: 1 });
  const id = newest.data?.rows[0]?.id;
  useEffect(() => {
    if (done.current || !id) return;
    done.current = true;
    set(id);
  }, [id, set]);
}

export function SqlPage() {
  const me = useMe();
  const { asked, sessions, setSessions, long, round, run } = useAsked();
  const [draft, setDraft] = useState(asked);
  const [goTo, setGoTo] = useState(0);
  const [question] = useQuery("q");
  const schema = useApi("sql_tables", {});
  const shapes = useMemo(() => (Array.isArray(schema.data?.tables) ? (schema.data.tables as unknown[]).filter(isShape) : SHAPES), [schema.data]);
  const dialect = schema.data?.dialect;
  const questions = useMemo(() => questionsIn(dialect), [dialect]);
  const { ran, problem, of, busy } = useAnswer(asked, sessions, round);
  useNewest(sessions, setSessions);
  useEffect(() => setDraft(asked), [asked]);
  useEffect(() => {
    document.title = `${text.title} · GPUFlight`;
  }, []);
  const place = problem && of !== undefined ? placeOf(problem.message, of) : null;
  const error = place && of === draft ? offsetOf(of, place) : null;
  const ready = questions.find((known) => known.id === question && known.sql === asked);
  return (
    <>
      <header className="row">
        <h1>{text.title}</h1>
        <p className="quiet">{ready?.about ?? text.about}</p>
      </header>
      <Sessions chosen={sessions.split(",").filter(Boolean)} onChange={(ids) => setSessions(ids.join(","))} />
      <div className="sql-page">
        <div className="stack">
          <Editor label={text.statement} value={draft} tables={shapes} error={error} goTo={goTo} onChange={setDraft} onRun={run} />
          <div className="row">
            <button type="button" className="button button-main" disabled={busy || !draft.trim()} onClick={() => run(draft)}>
              {busy ? text.running : text.run} <span className="kbd">{text.runKeys}</span>
            </button>
            {asked && !long && <CopyButton text={`${location.origin}${href("sql", {}, Object.fromEntries(new URLSearchParams(location.search)))}`} label={text.copyLink} />}
            {long && <span className="small quiet">{text.tooLong}</span>}
            <span className="small quiet end">{text.help(dialect === "clickhouse")}</span>
          </div>
          {problem && of !== undefined && <Wrong problem={problem} sql={of} onGo={() => setGoTo((n) => n + 1)} />}
          {!problem && ran && <Result ran={ran} local={me?.local === true} wanted={{ plot: ready?.plot ?? "", x: ready?.x ?? "", y: ready?.y ?? "" }} />}
          {!problem && !ran && (busy ? <Skeleton /> : <Empty title={text.nothing} text={text.nothingText} />)}
        </div>
        <div className="stack">
          {/* One answer gives both their contents, so that neither pushes the other down. */}
          {(schema.data || schema.problem) && (
            <>
              <Questions questions={questions} onChoose={(chosen) => run(chosen.sql, chosen)} />
              <Tables shapes={shapes} />
            </>
          )}
        </div>
      </div>
    </>
  );
}
