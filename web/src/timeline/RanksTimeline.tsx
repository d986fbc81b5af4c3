// RanksTimeline.tsx - the ranks of a run as groups on one timeline. A closed rank is one strip of
// its GPU work; an open rank has one row a stream. A click leads to the rank's own timeline at the
// same place.
import { useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { client, Problem, type Answer } from "../api/client";
import type { RowSession } from "../api/schema";
import { who } from "../api/who";
import { count, duration } from "../format/format";
import { go, href, usePlace } from "../router/router";
import { timelineText as text } from "../text/timeline";
import { KeySheet, ProblemView } from "../ui/parts";
import { exactTime } from "./axis";
import { Canvases, useCanvases } from "./Canvases";
import { Failed } from "./Failed";
import { fullOf } from "./Details";
import type { Engine } from "./engine";
import { groupOfRank, KIND, type Group, type Lane, type Owners } from "./lanes";
import { boundsOf, closedOf, lanesOfRank, numberOf, openText, ownersOf, tracksOfRanks, viewOfRank, type Rank } from "./ranks";
import type { Head } from "./scene";
import { put, QUERY, useEngine } from "./TimelineTab";
import { rangeOf, rangeText } from "./view";
import "./timeline.css";

interface Props {
  session: RowSession;
  ranks: readonly Rank[];
  cut: number; // ranks of the run that are not shown
  more: ReactNode; // shown next to the tools
}

/** The answers of the server by the rank's number, as they arrive; for a rank whose question
 * failed, the problem. */
function useEach<R extends "lanes" | "streams">(route: R, ranks: readonly Rank[], wanted: readonly number[]): { answers: ReadonlyMap<number, Answer<R>>; problem: Problem | undefined; again: () => void } {
  const [state, setState] = useState<{ answers: ReadonlyMap<number, Answer<R>>; problem: Problem | undefined }>({ answers: new Map(), problem: undefined });
  const [round, setRound] = useState(0);
  const asked = useRef(new Map<number, string>());
  const login = useSyncExternalStore(who.subscribe, () => who.round);
  const stop = useRef(new AbortController());
  useEffect(() => {
    stop.current = new AbortController();
    const here = asked.current;
    return () => {
      stop.current.abort();
      here.clear();
    };
  }, [round, login]);
  const keys = wanted.map((number) => `${number} ${ranks[number]!.session.id} ${ranks[number]!.session.ended ?? ranks[number]!.session.received}`).join();
  useEffect(() => {
    const { signal } = stop.current;
    const come = new Map<number, Answer<R>>();
    let frame = 0;
    // Answers that arrive together change the page once.
    const putAnswers = (): void => {
      frame = 0;
      setState((before) => ({ ...before, answers: new Map([...before.answers, ...come]) }));
    };
    for (const number of wanted) {
      const { id, ended, received } = ranks[number]!.session;
      const key = `${id} ${ended ?? received}`;
      if (asked.current.get(number) === key) continue;
      asked.current.set(number, key);
      client.get(route, { session: id } as Parameters<typeof client.get<R>>[1], signal).then(
        (answer) => {
          come.set(number, answer);
          frame ||= requestAnimationFrame(putAnswers);
        },
        (cause: unknown) => {
          if (!signal.aborted) setState((before) => ({ ...before, problem: cause instanceof Problem ? cause : new Problem(0, "Unreadable answer", String(cause)) }));
        },
      );
    }
    // The keys identify the questions.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [route, keys, round, login]);
  const again = (): void => {
    setState((before) => ({ ...before, problem: undefined }));
    setRound((n) => n + 1);
  };
  return { ...state, again };
}

function Tip({ engine, ranks }: { engine: Engine; ranks: readonly Rank[] }) {
  const hovered = useSyncExternalStore(engine.subscribe, () => engine.hovered);
  if (!hovered) return null;
  const { picked, group, x, y } = hovered;
  const lane = picked && engine.scene.lanes.find((other) => other.id === picked.track);
  const rank = ranks[lane?.rank?.number ?? (group ? numberOf(group) : -1)];
  if (!rank) return null;
  const { unit, width, names } = engine.scene;
  const right = x > width - 340;
  return (
    <div className="tl-tip" style={{ left: right ? undefined : x * unit + 14, right: right ? (width - x) * unit + 14 : undefined, top: y * unit + 16 }}>
      {picked && <strong className="mono">{lane?.kind === KIND.kernel ? names.short(picked.hit.name) : text.one[lane?.kind ?? 0]}</strong>}
      {picked && <span>{picked.hit.kind === "event" ? duration(picked.hit.duration) : text.sumOf(count(picked.hit.events), duration(picked.hit.duration))}</span>}
      <span>{rank.title}</span>
      <span className="quiet">{picked ? exactTime(picked.hit.start - rank.offset) : text.rankFrom(duration(rank.offset), duration(rank.length))}</span>
      {picked && fullOf(engine, picked) && <span className="mono quiet tl-tip-full">{fullOf(engine, picked)}</span>}
    </div>
  );
}

function Tools({ engine, ranks, cut, more }: { engine: Engine; ranks: number; cut: number; more: ReactNode }) {
  const [keys, setKeys] = useState(false);
  const closed = useSyncExternalStore(engine.subscribe, () => engine.shown.closed);
  const all = (open: boolean) => engine.setWishes([], new Set(open ? [] : Array.from({ length: ranks }, (_, at) => groupOfRank(at))));
  return (
    <div className="tl-tools">
      <span className="small quiet">
        {text.ranksText} {cut > 0 && text.ranksCut(String(ranks), String(ranks + cut))}
      </span>
      <div className="row tl-buttons end" role="group" aria-label={text.title}>
        <button type="button" className="button" disabled={closed.size === 0} onClick={() => all(true)}>
          {text.openAll}
        </button>
        <button type="button" className="button" disabled={closed.size === ranks} onClick={() => all(false)}>
          {text.closeAll}
        </button>
        <button type="button" className="button" aria-label={text.zoomOut} title={text.zoomOut} onClick={() => engine.zoom(2)}>
          −
        </button>
        <button type="button" className="button" aria-label={text.zoomIn} title={text.zoomIn} onClick={() => engine.zoom(0.5)}>
          +
        </button>
        <button type="button" className="button" onClick={() => engine.go(engine.scene.bounds)}>
          {text.wholeRun}
        </button>
        {more}
        <button type="button" className="button" onClick={() => setKeys(true)}>
          {text.keys}
        </button>
      </div>
      {keys && <KeySheet title={text.keys} rows={text.ranksSheet} onClose={() => setKeys(false)} />}
    </div>
  );
}

/** Passes the address to the engine at first, and the engine's view to the address when it comes
 * to rest. */
function useAddress(engine: Engine, ready: boolean, ranks: number): void {
  const { query } = usePlace();
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  const begun = useRef(false);
  const said = useRef<string | null>(null);
  const at = query.get(QUERY.at);
  useEffect(() => {
    if (!ready || at === said.current) return;
    said.current = at;
    const view = rangeOf(at);
    if (view) engine.setView(view);
  }, [engine, ready, at]);
  useEffect(() => {
    if (!ready || begun.current) return;
    begun.current = true;
    engine.scrollTo(Number(query.get(QUERY.scroll)) || 0);
  }, [engine, ready, query]);
  useEffect(() => {
    if (!ready || !begun.current || shown.rests === 0) return;
    const whole = shown.view.from <= shown.bounds.from && shown.view.to >= shown.bounds.to;
    said.current = whole ? null : rangeText(shown.view);
    put({ [QUERY.at]: said.current, [QUERY.open]: openText(ranks, shown.closed), [QUERY.scroll]: shown.scroll || null });
  }, [ready, shown, ranks]);
}

/** The lanes and rows of the ranks, as far as they have arrived. Streams are asked for when a rank is
 * opened. */
function useRows(engine: Engine, ranks: readonly Rank[]) {
  const closed = useSyncExternalStore(engine.subscribe, () => engine.shown.closed);
  const { answers, problem, again } = useEach("lanes", ranks, useMemo(() => ranks.map((_, at) => at), [ranks]));
  const opened = ranks.map((_, at) => at).filter((at) => !closed.has(groupOfRank(at)) && answers.has(at));
  const streams = useEach("streams", ranks, opened).answers;
  const lanes = useMemo(() => ranks.flatMap((rank, number): Lane[] => (answers.has(number) ? lanesOfRank(rank, number, answers.get(number)!) : [])), [ranks, answers]);
  const owners = useMemo(() => new Map([...streams].map(([number, answer]): [number, Owners] => [number, ownersOf(answer)])), [streams]);
  const tracks = useMemo(() => tracksOfRanks(lanes, owners), [lanes, owners]);
  return { answers, problem, again, lanes, tracks };
}

/** Titles of the ranks, which stand over their rows. */
function useHeads(engine: Engine, ranks: readonly Rank[], { answers, lanes }: Pick<ReturnType<typeof useRows>, "answers" | "lanes">): void {
  const busy = useMemo(() => new Set(lanes.map((lane) => lane.rank?.number)), [lanes]);
  useEffect(() => {
    const head = (rank: Rank, at: number): [Group, Head] => [groupOfRank(at), { title: rank.title, note: answers.has(at) && !busy.has(at) ? text.rankNone : rank.note, pending: !answers.has(at) }];
    engine.setHeads(new Map(ranks.map(head)), text.miniRank);
  }, [engine, ranks, answers, busy]);
}

/** Goes to a rank's own timeline at the same place. */
function openRank(engine: Engine, rank: Rank | undefined): void {
  const view = rank && viewOfRank(rank, engine.scene.view);
  if (rank) go(href("session", { session: rank.session.id, tab: "timeline" }, view ? { [QUERY.at]: rangeText(view) } : {}));
}

function Status({ engine, lanes, loading }: { engine: Engine; lanes: number; loading: boolean }) {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  return (
    <div className="tl-status small">
      <span className="quiet number" role="status">
        {text.summary(exactTime(Math.max(shown.bounds.from, shown.view.from)), exactTime(Math.min(shown.bounds.to, shown.view.to)), String(lanes))}
      </span>
      <span className="quiet">{shown.pending > 0 || loading ? text.loading : text.loaded}</span>
      <Failed engine={engine} />
    </div>
  );
}

const nothing = (): void => undefined;

export function RanksTimeline({ session, ranks, cut, more }: Props) {
  const engine = useEngine(session.id);
  const { query } = usePlace();
  const rows = useRows(engine, ranks);
  const { answers, problem, again, lanes, tracks } = rows;
  const boxes = useCanvases(engine, { hit: nothing, event: nothing, clear: nothing, open: (row) => openRank(engine, ranks[numberOf(row.category)]) });
  useEffect(() => engine.setWishes([], closedOf(ranks.length, query.get(QUERY.open))), [engine, ranks.length]); // eslint-disable-line react-hooks/exhaustive-deps
  useHeads(engine, ranks, rows);
  useEffect(() => engine.setData(lanes, tracks, boundsOf(ranks)), [engine, lanes, tracks, ranks]);
  useAddress(engine, tracks.length > 0, ranks.length);

  return (
    <div className="tl">
      <h2 className="hidden-label">{text.ranks}</h2>
      <Tools engine={engine} ranks={ranks.length} cut={cut} more={more} />
      {problem && <ProblemView problem={problem} again={again} />}
      <Canvases boxes={boxes} label={text.ranksCanvas}>
        <Tip engine={engine} ranks={ranks} />
      </Canvases>
      <Status engine={engine} lanes={lanes.length} loading={answers.size < ranks.length} />
      <ul className="hidden-label" id="tl-lanes">
        {ranks.map((rank) => (
          <li key={rank.session.id}>{`${rank.title}: ${rank.note}, ${duration(rank.length)}`}</li>
        ))}
      </ul>
    </div>
  );
}
