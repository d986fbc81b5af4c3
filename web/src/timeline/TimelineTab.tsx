// TimelineTab.tsx - the timeline's page: the canvas, its tools, and the selection. The engine draws
// the canvas; React renders everything that does not move. The address has all of what is shown.
import { useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode, type RefObject } from "react";
import type { RowSession } from "../api/schema";
import { onSession, useApi, useMade } from "../api/use";
import { vendorOf } from "../api/vendor";
import { who } from "../api/who";
import { countersOf, rowsOf } from "../api/columns";
import { between, count, duration, percent } from "../format/format";
import { ALLOCATED, DEVICE, HOST, type Counter } from "../format/metrics";
import { go as goTo, usePlace, useQuery, withQuery, type QueryValues } from "../router/router";
import { en } from "../text/en";
import { wordsOf, type Words } from "../text/kernel";
import { system } from "../text/system";
import { timelineText as text } from "../text/timeline";
import { Pick } from "../ui/forms";
import { Empty, KeySheet, ProblemView, Search, Skeleton } from "../ui/parts";
import { token } from "../ui/theme";
import { exactTime } from "./axis";
import { BookmarkList, BookmarksContext, BookmarkTip, ListButton, useBookmarks, useList } from "./BookmarkList";
import { Canvases, useCanvases } from "./Canvases";
import { Failed } from "./Failed";
import { coloursOf } from "./colours";
import { Details, fullOf, laneTitle, titleOf } from "./Details";
import { Engine } from "./engine";
import type { Reveal } from "./shown";
import { eventAt, longestOf, neighbourOf, waitsOf, type Found } from "./events";
import { reveal, useFinder, type Finder } from "./finder";
import type { Sample } from "./hit";
import { CATEGORIES, extent, inOrder, KIND, laneOf, lookLanes, ofServer, tracksOf, type Category, type Lane, type Owners, type Track } from "./lanes";
import { Lines, longestGap, NO_LINES } from "./lines";
import { OutsideContext, type Outside } from "./outside";
import { Range } from "./Range";
import type { Picked } from "./scene";
import { SourceWindow } from "./Stack";
import { TINTS, type Tint } from "./tint";
import { uncover } from "./uncover";
import { around, rangeOf, rangeText } from "./view";
import "./timeline.css";

const LIVE_MS = 3000;

interface Props {
  session: RowSession;
  outside?: Outside;
  more?: ReactNode; // shown next to the tools
}

const devicesOf = (session: RowSession): string[] =>
  Array.isArray(session.gpus) ? session.gpus.map((gpu: unknown) => (typeof gpu === "object" && gpu && "name" in gpu ? String(gpu.name) : "")) : [];

/** What the address says. */
export const QUERY = { at: "at", range: "range", selected: "sel", find: "find", pinned: "pin", closed: "closed", rows: "rows", show: "show", follow: "follow", scroll: "y", colour: "colour", metrics: "metrics", open: "open", ranks: "ranks" } as const;
/** A lane without a number of the server's; its events are searched among the drawn ones. */
const isMade = (lane: string): boolean => /^\d+$/.test(lane) && !ofServer(Number(BigInt(lane) >> 56n));
export const put = (values: QueryValues): void => {
  const to = withQuery(location.pathname, new URLSearchParams(location.search), values);
  if (to !== location.pathname + location.search) goTo(to, true);
};

export function useEngine(session: string): Engine {
  const [engine] = useState(() => new Engine(session, coloursOf(token), matchMedia("(prefers-reduced-motion: reduce)").matches));
  return engine;
}

function Tip({ engine, notes }: { engine: Engine; notes: Words["notes"] }) {
  const hovered = useSyncExternalStore(engine.subscribe, () => engine.hovered);
  if (!hovered) return null;
  const { picked, sample, bookmark } = hovered;
  const { unit, width } = engine.scene;
  const [x, y, wide] = [hovered.x * unit, hovered.y * unit, width * unit];
  const right = x > wide - 340;
  return (
    <div className="tl-tip" style={{ left: right ? undefined : x + 14, right: right ? wide - x + 14 : undefined, top: y + 16 }}>
      {bookmark && <BookmarkTip bookmark={bookmark} />}
      {picked && <EventTip engine={engine} picked={picked} />}
      {sample && <SampleTip track={sample.track} sample={sample.sample} notes={notes} />}
    </div>
  );
}

function FullName({ engine, picked }: { engine: Engine; picked: Picked }) {
  const full = fullOf(engine, picked);
  return full ? <span className="mono quiet tl-tip-full">{full}</span> : null;
}

/** A mark has no length, so that its thread is shown in place of the length. */
function MarkTip({ engine, picked, lane }: { engine: Engine; picked: Picked; lane: Lane }) {
  const { hit } = picked;
  const domain = hit.kind === "event" && hit.domain ? engine.names.text(hit.domain) : "";
  return (
    <>
      <strong className="mono">{titleOf(engine, picked)}</strong>
      {hit.kind === "sum" && <span>{text.sumOf(count(hit.events), duration(hit.duration))}</span>}
      {domain && <span>{text.inDomain(domain)}</span>}
      <span className="quiet">{laneTitle(engine, lane)}</span>
      <span className="quiet">{exactTime(hit.start)}</span>
      <FullName engine={engine} picked={picked} />
    </>
  );
}

function EventTip({ engine, picked }: { engine: Engine; picked: Picked }) {
  const { hit } = picked;
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  if (lane?.kind === KIND.mark) return <MarkTip engine={engine} picked={picked} lane={lane} />;
  const line = hit.kind === "event" ? engine.scene.lines.line(hit.stack) : null;
  return (
    <>
      <strong className="mono">{titleOf(engine, picked)}</strong>
      <span>{hit.kind === "event" ? duration(hit.duration) : `${text.sumOf(count(hit.events), duration(hit.duration))}, ${percent(hit.busy / hit.duration)}`}</span>
      {line && <span className="mono">{line.place}{line.function ? ` ${line.function}` : ""}</span>}
      <span className="quiet">{exactTime(hit.start)}</span>
      <FullName engine={engine} picked={picked} />
    </>
  );
}

function SampleTip({ track, sample, notes }: { track: Track; sample: Sample; notes: Words["notes"] }) {
  const { show, text: name } = track.source!.metric;
  return (
    <>
      <strong>
        {track.note}: {show(sample.mean)}
      </strong>
      {sample.least !== sample.most && <span>{text.band(show(sample.least), show(sample.most))}</span>}
      <span className="quiet">{exactTime(sample.at)}</span>
      {notes[name] && <span className="quiet">{notes[name]}</span>}
    </>
  );
}

function Tools({ engine, live, find, setFind, finder, rows, setRows, more }: { engine: Engine; live: boolean; find: string; setFind: (v: string) => void; finder: Finder; rows: string; setRows: (v: string) => void; more: ReactNode }) {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  const [keys, setKeys] = useState(false);
  const [tint, setTint] = useQuery(QUERY.colour, "name");
  const [metrics, setMetrics] = useQuery(QUERY.metrics);
  const { active, pinned } = shown;
  return (
    <div className="tl-tools">
      <div className="tl-find" role="search">
        <Search label={text.search} hint={text.searchHint} value={find} onChange={setFind} onEnter={(words, event) => finder.run(!event.shiftKey, words)} />
        <button type="button" className="button" aria-label={text.previous} title={text.previous} disabled={!find} onClick={() => finder.run(false)}>
          ‹
        </button>
        <button type="button" className="button" aria-label={text.next} title={text.next} disabled={!find} onClick={() => finder.run(true)}>
          ›
        </button>
      </div>
      <span className="tl-message quiet small ellipsis" role="status">
        {finder.message}
      </span>
      <input className="field tl-rows" type="search" aria-label={text.filter} placeholder={text.filterHint} value={rows} onChange={(event) => setRows(event.target.value)} />
      <Pick label={text.colourBy} value={tint} options={TINTS.map((value) => ({ value, label: text.tints[value]! }))} onChange={setTint} />
      <button type="button" className="button" aria-pressed={metrics === "all"} title={text.metricsText} onClick={() => setMetrics(metrics === "all" ? "" : "all")}>
        {text.metrics}
      </button>
      <div className="row tl-buttons" role="group" aria-label={en.session.tabs.timeline}>
        <button type="button" className="button" aria-pressed={active !== null && pinned.includes(active)} disabled={active === null} title={text.pinText} onClick={() => active && engine.togglePin(active)}>
          {active !== null && pinned.includes(active) ? text.unpin : text.pin}
        </button>
        <button type="button" className="button" aria-label={text.zoomOut} title={text.zoomOut} onClick={() => engine.zoom(2)}>
          −
        </button>
        <button type="button" className="button" aria-label={text.zoomIn} title={text.zoomIn} onClick={() => engine.zoom(0.5)}>
          +
        </button>
        <button type="button" className="button" onClick={() => engine.go(engine.scene.bounds)}>
          {text.whole}
        </button>
        {live && (
          <button type="button" className="button" aria-pressed={shown.follow} title={text.followText} onClick={() => engine.setFollow(!shown.follow)}>
            {text.follow}
          </button>
        )}
        {more}
        <ListButton />
        <button type="button" className="button" onClick={() => setKeys(true)}>
          {text.keys}
        </button>
      </div>
      {keys && <KeySheet title={text.keys} rows={text.sheet} onClose={() => setKeys(false)} />}
    </div>
  );
}

function Aside({ engine }: { engine: Engine }) {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  const { selected, range } = shown;
  const [list, setList] = useList();
  const panel = useRef<HTMLElement>(null);
  const track = selected?.track;
  const start = selected?.hit.start;
  useEffect(() => {
    const box = panel.current;
    if (!track || !box) return;
    const watch = new ResizeObserver(() => uncover(engine.scene, track, box)); // the stack arrives after the box
    watch.observe(box);
    return () => watch.disconnect();
  }, [engine, track, start]);
  const close = (): void => {
    setList(false);
    engine.select(null);
    engine.setRange(null);
    engine.rangeDone();
  };
  if (!selected && !range && !list) return null;
  return (
    <section ref={panel} className="panel tl-below" aria-label={text.details} tabIndex={0}>
      <button type="button" className="button tl-close" onClick={close}>
        {text.close}
      </button>
      {list && <BookmarkList engine={engine} />}
      {(selected || range) && (
        <div className="tl-chosen">
          {selected && <Details key={`${selected.track} ${selected.hit.start}`} engine={engine} picked={selected} />}
          {range && <Range engine={engine} range={range} />}
        </div>
      )}
    </section>
  );
}

function Status({ engine, lanes, missing }: { engine: Engine; lanes: number; missing: boolean }) {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  const { selected, view } = shown;
  const lane = selected ? engine.scene.lanes.find((other) => other.id === selected.track) : undefined;
  return (
    <div className="tl-status small">
      <span className="quiet number" role="status">
        {text.summary(exactTime(Math.max(shown.bounds.from, view.from)), exactTime(Math.min(shown.bounds.to, view.to)), String(lanes))}
      </span>
      <span className="quiet">{shown.pending > 0 ? text.loading : text.loaded}</span>
      {!selected && !shown.range && <span className="quiet end">{missing ? text.noLongest : text.nothing}</span>}
      <span className="hidden-label" aria-live="polite">
        {selected && lane ? `${lane.kind === KIND.mark ? text.selectedMark(titleOf(engine, selected), exactTime(selected.hit.start)) : text.selected(titleOf(engine, selected), exactTime(selected.hit.start), duration(selected.hit.duration))}; ${laneTitle(engine, lane)}` : ""}
      </span>
      <Failed engine={engine} />
    </div>
  );
}

/** The lanes of which an address shows the longest event: "wait", or "kernels.0" with the time
 * from which it is searched. */
function lanesShown(show: string, lanes: readonly Lane[]): readonly Lane[] {
  const [what] = show.split(".");
  if (what === "wait") return waitsOf(lanes);
  const kinds: readonly number[] = what === "kernels" ? [KIND.kernel, KIND.run] : what === "copies" ? [KIND.copy] : [];
  return lanes.filter(({ kind }) => kinds.includes(kind));
}

/** Passes the address to the engine once there is data, and the engine's view to the address
 * when it comes to rest. Returns whether the address asks for the longest of events that are not there. */
function useAddress(engine: Engine, ready: boolean, lanes: readonly Lane[], lines: Lines, live: boolean): boolean {
  const { query } = usePlace();
  const [missing, setMissing] = useState(false);
  const at = query.get(QUERY.at);
  const range = query.get(QUERY.range);
  const selected = query.get(QUERY.selected);
  const show = query.get(QUERY.show);
  const pending: Pending = { said: useRef(null), begun: useRef(false), waiting: useRef(false), sum: useRef(null) };
  const { begun, waiting, sum } = pending;
  useView(engine, ready, at, pending.said);

  useEffect(() => {
    if (!ready || begun.current) return;
    begun.current = true;
    const stop = new AbortController();
    const asked = rangeOf(range);
    if (asked) {
      engine.setRange(asked);
      engine.rangeDone();
      if (!rangeOf(at)) engine.setView({ from: asked.from - (asked.to - asked.from) / 4, to: asked.to + (asked.to - asked.from) / 4 });
    }
    if (live && query.get(QUERY.follow) === "1") engine.setFollow(true);
    engine.scrollTo(Number(query.get(QUERY.scroll)) || 0);
    const [, lane, start, length] = /^(\d{1,20})~(\d{1,16})(?:~(\d{1,16}))?$/.exec(selected ?? "") ?? [];
    const come = (how: Reveal) => (found: Found | null) => {
      waiting.current = false;
      if (found && !stop.signal.aborted) reveal(engine, found, how);
      if (how === "zoom") setMissing(found === null);
    };
    const failed = (): void => come("stay")(null); // the address may be of another session: then nothing is selected
    const [, since = "0"] = /^\w+\.(\d{1,16})$/.exec(show ?? "") ?? [];
    const [, cause = "", after] = /^gap\.(\w+)\.(\d{1,16})$/.exec(show ?? "") ?? [];
    const gap = lane === undefined && cause ? longestGap(lines, cause, Number(after)) : null;
    waiting.current = lane !== undefined || gap !== null;
    sum.current = lane && length ? { lane, at: Number(start) + Number(length) / 2 } : null;
    if (sum.current) engine.revealRow(sum.current.lane); // it is selected as soon as it is here
    else if (lane) eventAt(engine.session, lane, Number(start), stop.signal).then(come("stay"), failed);
    else if (gap) {
      sum.current = { lane: gap.lane, at: gap.start + gap.duration / 2 };
      engine.revealRow(gap.lane);
      engine.setRange({ from: gap.start, to: gap.start + gap.duration });
      engine.rangeDone();
      engine.setView(around(gap.start, gap.duration));
    } else if (show !== null) longestOf(engine.session, lanesShown(show, lanes), { from: Number(since), to: engine.scene.bounds.to }, stop.signal).then(come("zoom"), failed);
    return () => {
      begun.current = false;
      stop.abort();
    };
    // Runs once, with what the address said then.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [engine, ready]);
  useSum(engine, pending);
  useWriting(engine, ready, pending);
  return missing;
}

/** What the address named and is not shown yet, and what this page itself wrote into it. */
interface Pending {
  said: RefObject<string | null>; // the view that this page wrote last
  begun: RefObject<boolean>;
  waiting: RefObject<boolean>; // whether the event that the address names is still under way
  sum: RefObject<{ lane: string; at: number } | null>; // the place that the address names, until it is loaded
}

/** Moves the view to where the address says, unless the address has it from the view. */
function useView(engine: Engine, ready: boolean, at: string | null, said: Pending["said"]): void {
  useEffect(() => {
    if (!ready || at === said.current) return;
    said.current = at;
    const view = rangeOf(at);
    if (view) engine.setView(view);
  }, [engine, ready, at, said]);
}

/** Selects what is at the place that the address names, as soon as the place is loaded. */
function useSum(engine: Engine, { sum, waiting }: Pending): void {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  useEffect(() => {
    if (!sum.current || (!shown.selected && (shown.rests === 0 || shown.pending > 0))) return;
    const { lane, at: middle } = sum.current;
    sum.current = null;
    waiting.current = false;
    if (!shown.selected) engine.selectAt(lane, middle); // otherwise something was selected in the meantime
  }, [engine, shown, sum, waiting]);
}

/** Writes into the address what the engine shows when it comes to rest. */
function useWriting(engine: Engine, ready: boolean, { said, begun, waiting }: Pending): void {
  const shown = useSyncExternalStore(engine.subscribe, () => engine.shown);
  useEffect(() => {
    if (!ready || !begun.current || shown.rests === 0) return;
    const whole = shown.view.from <= shown.bounds.from && shown.view.to >= shown.bounds.to;
    const view = whole ? null : rangeText(shown.view);
    said.current = view;
    const hit = shown.selected?.hit;
    put({
      [QUERY.at]: view,
      [QUERY.range]: shown.range ? rangeText(shown.range) : null,
      ...(waiting.current ? {} : { [QUERY.selected]: hit && shown.selected ? `${shown.selected.track}~${hit.start}${hit.kind === "sum" || isMade(shown.selected.track) ? `~${Math.round(hit.duration)}` : ""}` : null, [QUERY.show]: null }),
      [QUERY.pinned]: shown.pinned.join(),
      [QUERY.closed]: [...shown.closed].join(),
      [QUERY.follow]: shown.follow ? "1" : null,
      [QUERY.scroll]: shown.scroll || null,
    });
  }, [ready, shown, said, begun, waiting]);
}

const linesOf = (document: unknown): Lines => new Lines(document);

/** Threads that were looked at, and what stacks and gaps are. undefined: not known yet. */
function useLooked(session: RowSession, live: boolean): { lines: Lines; looked: Lane[] } | undefined {
  const fresh = live ? { every: LIVE_MS, on: onSession(session.id) } : 0;
  const looked = useApi("looked_at", { session: session.id }, fresh);
  const askedLines = useMade("timeline", { session: session.id }, linesOf, fresh);
  const lines = askedLines.data ?? NO_LINES;
  const lanes = useMemo(() => (looked.data ? rowsOf(looked.data).flatMap(lookLanes) : []), [looked.data]);
  if (!looked.data && !looked.problem) return undefined;
  if (lanes.length > 0 && askedLines.data === undefined && !askedLines.problem) return undefined;
  return { lines, looked: lanes };
}

export function TimelineTab({ session, outside, more }: Props) {
  const given = useContext(OutsideContext);
  const live = session.state === "live";
  const asked = useApi("lanes", { session: session.id }, live ? { every: LIVE_MS, on: onSession(session.id) } : 0);
  const length = between(session.started, session.ended ?? session.received) ?? 0;
  const { query } = usePlace();
  const owners = useOwners(session.id, asked.data?.rows);
  const made = useLooked(session, live);
  const lanes = useMemo(() => (asked.data && owners && made ? inOrder([...rowsOf(asked.data).flatMap((row) => laneOf(row) ?? []), ...made.looked, ...made.lines.gaps], owners) : undefined), [asked.data, owners, made?.looked, made?.lines]);
  const samples = useApi("counts", { session: session.id });
  const counted = useApi("counters", has(samples.data?.data, "counter") ? { session: session.id } : null);
  const metrics = useMemo(() => sampled(session, samples.data?.data, counted.data ? countersOf(counted.data) : []), [session.gpus, samples.data, counted.data]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!lanes || !owners || !made || (!samples.data && !samples.problem)) return <Skeleton rows={12} />;
  if (lanes.length === 0 && metrics.devices.length === 0 && metrics.host.length === 0) return <Empty title={text.none} text={text.noneText} />;
  return (
    <OutsideContext.Provider value={outside ?? given}>
      <Stage key={session.id} session={session} lanes={lanes} lines={made.lines} owners={owners} metrics={metrics} length={length} live={live} find={query.get(QUERY.find) ?? ""} rows={query.get(QUERY.rows) ?? ""} more={more} />
    </OutsideContext.Provider>
  );
}

/** The owners of the lanes, asked again when there are more lanes. undefined: not known yet;
 * without an answer lanes are named by their numbers. */
function useOwners(session: string, lanes: number | undefined): Owners | undefined {
  const streams = useApi("streams", lanes === undefined ? null : { session });
  const threads = useApi("threads", lanes === undefined ? null : { session });
  const [had, setHad] = useState(lanes);
  const { again: streamsAgain } = streams;
  const { again: threadsAgain } = threads;
  useEffect(() => {
    if (had !== undefined && had !== lanes) {
      streamsAgain();
      threadsAgain();
    }
    setHad(lanes);
  }, [had, lanes, streamsAgain, threadsAgain]);
  return useMemo(() => {
    if ((!streams.data && !streams.problem) || (!threads.data && !threads.problem)) return undefined;
    const streamRows = streams.data ? rowsOf(streams.data) : [];
    const threadRows = threads.data ? rowsOf(threads.data) : [];
    return {
      streams: new Map(streamRows.map((row) => [row.id ?? 0, { device: row.device ?? 0, number: row.number }])),
      threads: new Map(threadRows.map((row) => [row.id ?? 0, row.name ?? ""])),
    };
  }, [streams.data, streams.problem, threads.data, threads.problem]);
}

type Counts = { record: readonly (string | null)[]; rows: readonly (number | null)[] } | undefined;

/** Rows that are shown only on request: all samples except the GPU's utilisation and power. */
const MAJOR = new Set(["gpu_util", "power", ALLOCATED.name]);
const isMinor = ({ source }: Track): boolean => source !== null && source.counter === null && (source.device === null || !MAJOR.has(source.metric.name));

const has = (counts: Counts, record: string): boolean => counts !== undefined && (counts.rows[counts.record.indexOf(record)] ?? 0) > 0;

/** Metrics are listed if there are samples, or as long as it is unknown whether there are any. */
function sampled(session: RowSession, counts: Counts, counters: readonly Counter[]) {
  const maybe = (record: string): boolean => counts === undefined || has(counts, record);
  const allocated = has(counts, "alloc");
  const metrics = maybe("device_metric") ? DEVICE : [];
  const ofDevices = allocated || metrics.length > 0 || counters.length > 0;
  const devices = devicesOf(session);
  const rows = counts ? (counts.rows[counts.record.indexOf("device_metric")] ?? 0) : 0;
  /** ns between two samples of a GPU; 0: not known. */
  const period = (length: number): number => (rows > 0 ? (length * Math.max(1, devices.length)) / rows : 0);
  return { devices: ofDevices ? devices : [], device: metrics, host: maybe("host_metric") ? HOST : [], allocated, counters, text: { ...system.metrics, ...wordsOf(vendorOf(session)).metrics }, period };
}

interface StageProps {
  session: RowSession;
  lanes: readonly Lane[];
  lines: Lines;
  owners: Owners;
  metrics: ReturnType<typeof sampled>;
  length: number;
  live: boolean;
  find: string;
  rows: string;
  more: ReactNode;
}

/** Goes to the first hit of a link to what is searched for, once there are lanes. */
function useFirstHit(finder: Finder, find: string, ready: boolean): void {
  const goOn = useRef(find !== "" && ![QUERY.at, QUERY.selected].some((name) => new URLSearchParams(location.search).has(name)));
  useEffect(() => {
    if (!goOn.current || !ready) return;
    goOn.current = false;
    finder.run(true);
  }, [finder, ready]);
}

/** Which rows are pinned, closed or left out. words: of the filter. all: whether the rows of all
 * samples are shown. */
function useWishes(engine: Engine, tracks: readonly Track[], words: string, all: boolean): void {
  useEffect(() => {
    const query = new URLSearchParams(location.search);
    const pinned = engine.shown.pinned.length ? engine.shown.pinned : (query.get(QUERY.pinned) ?? "").split(",").filter(Boolean);
    const closed = engine.shown.closed.size ? engine.shown.closed : new Set((query.get(QUERY.closed) ?? "").split(",").filter((word): word is Category => (CATEGORIES as readonly string[]).includes(word)));
    engine.setWishes(pinned, closed, (track) => (words ? !`${track.title} ${track.note}`.toLowerCase().includes(words) : !all && isMinor(track)));
  }, [engine, tracks, words, all]);
}

function Stage({ session, lanes, lines, owners, metrics, length, live, find, rows, more }: StageProps) {
  const engine = useEngine(session.id);
  const finder = useFinder(engine, find);
  const bookmarks = useBookmarks(engine);
  const tracks = useMemo(() => tracksOf(lanes, metrics, owners, lines.causes), [lanes, metrics, owners, lines]);
  const [tint] = useQuery(QUERY.colour, "name");
  const [all] = useQuery(QUERY.metrics);
  const round = useSyncExternalStore(who.subscribe, () => who.round); // changes after a new login
  useEffect(() => engine.again(), [engine, round]);
  useFirstHit(finder, find, tracks.length > 0);
  const boxes = useCanvases(engine, {
    hit: (forward) => finder.run(forward),
    event: (forward) => stepEvent(engine, lanes, forward),
    clear: () => {
      engine.select(null);
      engine.setRange(null);
      engine.rangeDone();
    },
  });
  engine.names.words = wordsOf(vendorOf(session)).events;
  useEffect(() => engine.setLines(lines), [engine, lines]);
  useEffect(() => engine.setTint(TINTS.find((one): one is Tint => one === tint) ?? "name"), [engine, tint]);
  useEffect(() => engine.setPeriod(metrics.period(length)), [engine, metrics, length]);
  useEffect(() => {
    const [from, to] = extent(lanes, length);
    engine.setData(lanes, tracks, { from, to });
  }, [engine, lanes, tracks, length]);
  useWishes(engine, tracks, rows.toLowerCase(), all === "all");
  const missing = useAddress(engine, tracks.length > 0, lanes, lines, live);

  return (
    <BookmarksContext.Provider value={bookmarks}>
      <div className="tl">
        <h2 className="hidden-label">{text.title}</h2>
        <Tools engine={engine} live={live} find={find} setFind={(value) => put({ [QUERY.find]: value })} finder={finder} rows={rows} setRows={(value) => put({ [QUERY.rows]: value })} more={more} />
        <div className="tl-main">
          <div className="tl-left">
            <Canvases boxes={boxes} label={text.canvas}>
              <Tip engine={engine} notes={wordsOf(vendorOf(session)).notes} />
            </Canvases>
            <Status engine={engine} lanes={lanes.length} missing={missing} />
          </div>
          <Aside engine={engine} />
        </div>
        <SourceWindow engine={engine} />
        <Summary lanes={lanes} tracks={tracks} />
      </div>
    </BookmarksContext.Provider>
  );
}

function stepEvent(engine: Engine, lanes: readonly Lane[], forward: boolean): void {
  const { scene } = engine;
  const lane = lanes.find((other) => other.id === (scene.active ?? ""));
  if (!lane) {
    engine.stepLane(1);
    return;
  }
  if (isMade(lane.id)) {
    const hit = engine.stepEvent(forward);
    if (hit) engine.reveal(lane.id, hit, "pan");
    return;
  }
  const start = scene.selected?.track === lane.id ? scene.selected.hit.start : forward ? scene.view.from : scene.view.to;
  neighbourOf(engine.session, lane, Math.round(start), forward).then(
    (found) => found && reveal(engine, found, "pan"),
    () => undefined, // the status line reports the server's problems
  );
}

const SUMMARY_MOST = 40;

/** A text for those who cannot see the canvas: what each lane shows. */
function Summary({ lanes, tracks }: { lanes: readonly Lane[]; tracks: readonly Track[] }) {
  return (
    <ul className="hidden-label" id="tl-lanes">
      {tracks
        .filter((track) => track.lane >= 0)
        .slice(0, SUMMARY_MOST)
        .map((track) => {
          const lane = lanes[track.lane]!;
          return <li key={track.key}>{`${track.title}, ${track.note}: ${count(lane.events)}${lane.kind === KIND.mark ? "" : `, ${duration(lane.busy)}`}`}</li>;
        })}
    </ul>
  );
}
