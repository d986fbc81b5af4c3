// engine.ts - holds the view, asks for pieces, and draws a frame when something has changed;
// nothing runs while nothing moves. React is notified of the state (selection, range, problems, the
// view once it has come to rest), not of frames.
import { bookmarkAt, paintMiniBookmarks, rangeOfBookmark, viewOfBookmark, type Bookmark } from "./bookmarks";
import { onPoint, point, pointedAt, type Crosshair } from "../ui/crosshair";
import type { Colours } from "./colours";
import { hitAt, neighbour, sampleAt, type HitEvent } from "./hit";
import { LanePieces } from "./lanePieces";
import { isLook, offsetOf, type Group, type Lane, type Track } from "./lanes";
import { keyOfRow, layOut, rowsInView, rowUnder, type Layout, type Row } from "./layout";
import { NO_LINES, type Lines } from "./lines";
import { MetricPieces } from "./metricPieces";
import { paintMini } from "./mini";
import { Names } from "./names";
import { Painter } from "./paint";
import type { Piece } from "./piece";
import { Pieces, type Line, type Want } from "./pieces";
import { SIDE_NARROW, sideOf, timeAt, TOP, type Flow, type Picked, type Scene } from "./scene";
import type { Hovered, Reveal, Shown } from "./shown";
import type { Tint } from "./tint";
import { timelineText as text } from "../text/timeline";
import { around, bounded, panned, zoomed, type View } from "./view";

const CEILING = 64 << 20; // bytes of pieces
const LETTERS = 16; // CSS px of the page's letters for which the drawing was designed
const REST_MS = 180; // after so long without movement the view is at rest
const ASK_MS = 90; // time between two checks of the needed pieces while moving
const GLIDE_MS = 160;

interface Parts {
  canvas: HTMLCanvasElement;
  scroller: HTMLElement;
  mini: HTMLCanvasElement;
}

export class Engine {
  readonly scene: Scene;
  readonly names = new Names();
  frames = 0; // drawn so far, for tests and benchmarks
  shown: Shown;
  hovered: Hovered | null = null;
  private pieces: Pieces | null = null; // between open and close
  private rest: View = { from: 0, to: 1 }; // where the view last rested
  private rests = 0;
  private readonly painter = new Painter();
  private readonly listeners = new Set<() => void>();
  private parts: Parts | null = null;
  private watch: ResizeObserver | null = null;
  private pens: { main: CanvasRenderingContext2D; mini: CanvasRenderingContext2D } | null = null;
  private line: Line | null = null;
  private readonly laned: LanePieces;
  private readonly metrics: MetricPieces;
  private asked = 0; // time of the last check of the needed pieces
  private askTimer = 0;
  private restTimer = 0;
  private movedAt = 0;
  private frame = 0;
  private miniHeight = 0; // units
  private glide: { from: View; to: View; begin: number } | null = null;
  private speed = { pan: 0, zoom: 0 }; // of held keys: widths of the view a second; doublings a second
  private before = 0; // of the last frame of a held key
  private wishes: { pinned: string[]; closed: Set<Group>; hidden?: (track: Track) => boolean } = { pinned: [], closed: new Set() };
  private laneSizes: ReadonlyMap<string, string> = new Map(); // events and last time of each lane, by id
  private follow = false;
  private offPoint: () => void = () => undefined; // ends the subscription to the crosshair

  constructor(
    readonly session: string,
    colours: Colours,
    private readonly still: boolean, // the user wants less motion
  ) {
    const view = { from: 0, to: 1 };
    const empty: Layout = { pinned: [], pinnedHeight: 0, rows: [], height: 0 };
    this.scene = {
      width: 0, height: 0, side: SIDE_NARROW, unit: 1, ratio: 1, view, bounds: view, scroll: 0, lanes: [], heads: new Map(), miniLabel: text.miniLabel, tracks: [], layout: empty,
      segments: (lane) => this.laned.segments(lane), gaps: (lane) => this.laned.gaps(lane),
      points: (track) => this.metrics.points(track),
      blockLane: (lane) => this.laned.at(lane),
      names: this.names, lines: NO_LINES, tint: "name", colours, active: null, closed: this.wishes.closed, selected: null, hover: null, cursor: null, pointed: null, range: null, flows: [], bookmarks: [], flagged: null, searching: false,
    };
    const px = (): number => this.px();
    this.laned = new LanePieces(session, this.scene, this.get, px);
    this.metrics = new MetricPieces(session, this.scene, this.get, px);
    this.shown = this.snapshot();
  }

  // ---- what React needs ------------------------------------------------------------------------

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private snapshot(): Shown {
    const { bounds, layout, selected, range, active } = this.scene;
    const { pinned, closed } = this.wishes;
    return { view: this.rest, rests: this.rests, bounds, height: TOP + layout.pinnedHeight + layout.height, selected, range, active, pinned: [...pinned], closed: new Set(closed), pending: this.pieces?.pending ?? 0, problem: this.pieces?.problem() ?? null, follow: this.follow, scroll: Math.round(this.scene.scroll) };
  }

  private notify(): void {
    this.shown = this.snapshot();
    this.listeners.forEach((listener) => listener());
  }

  open(line: () => Line): void {
    this.names.clear();
    this.line = line();
    this.pieces = new Pieces(this.line, CEILING, (names) => this.names.add(names), () => this.came());
  }

  attach(parts: Parts): void {
    const main = parts.canvas.getContext("2d", { alpha: false });
    const mini = parts.mini.getContext("2d", { alpha: false });
    if (!main || !mini) throw new Error("This browser has no canvas.");
    this.parts = parts;
    this.pens = { main, mini };
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(parts.scroller);
    this.scene.pointed = pointedAt(this.session);
    this.offPoint = onPoint(this.onPointed);
    this.resize();
  }

  close(): void {
    this.watch?.disconnect();
    this.offPoint();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.askTimer);
    clearTimeout(this.restTimer);
    this.askTimer = this.restTimer = this.frame = 0;
    this.pieces?.close();
    this.pieces = null;
    this.parts = null;
    this.pens = null;
  }

  private resize(): void {
    const { scene, parts } = this;
    if (!parts) return;
    scene.unit = Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / LETTERS);
    scene.width = Math.max(SIDE_NARROW + 80, parts.scroller.clientWidth / scene.unit);
    scene.height = parts.scroller.clientHeight / scene.unit;
    scene.side = sideOf(scene.width);
    scene.ratio = Math.min(3, window.devicePixelRatio || 1) * scene.unit;
    this.miniHeight = parts.mini.clientHeight / scene.unit;
    for (const [canvas, height] of [[parts.canvas, scene.height], [parts.mini, this.miniHeight]] as const) {
      canvas.width = Math.round(scene.width * scene.ratio);
      canvas.height = Math.round(height * scene.ratio);
    }
    parts.canvas.style.width = `${scene.width * scene.unit}px`;
    parts.canvas.style.height = `${scene.height * scene.unit}px`;
    parts.canvas.style.marginBottom = `${-scene.height * scene.unit}px`;
    this.layOut();
    this.moved();
  }

  // ---- the session -----------------------------------------------------------------------------

  /** The contents of the heads of ranks, and the session whose work the strip above shows. */
  setHeads(heads: Scene["heads"], miniLabel: string): void {
    Object.assign(this.scene, { heads, miniLabel });
    this.layOut();
  }

  /** Sets the session's lanes and tracks, again when a live session has grown. */
  setData(lanes: readonly Lane[], tracks: readonly Track[], bounds: View): void {
    const { scene } = this;
    const first = scene.tracks.length === 0;
    scene.lanes = lanes;
    scene.tracks = tracks;
    this.laned.setLanes(lanes);
    const atEnd = this.follow || (!first && scene.view.from <= scene.bounds.from && scene.view.to >= scene.bounds.to);
    const grown = bounds.to - scene.bounds.to;
    scene.bounds = bounds;
    // Pieces are asked for again if one of their lanes has grown. New lanes are asked for anyway.
    const sizes = new Map(lanes.filter((lane) => !lane.piece).map(({ id, events, last }) => [id, `${events} ${last}`]));
    if ([...sizes].some(([id, now]) => (this.laneSizes.get(id) ?? now) !== now)) this.pieces?.grown();
    this.laneSizes = sizes;
    if (first) scene.view = bounded(bounds, bounds);
    else if (this.follow) scene.view = bounded(panned(scene.view, grown), bounds);
    else if (atEnd) scene.view = bounded(bounds, bounds);
    this.layOut();
    this.moved();
  }

  setColours(colours: Colours): void {
    this.scene.colours = colours;
    this.draw();
  }

  /** Sets the meaning of stacks. From then on, consecutive samples of one line are one event. */
  setLines(lines: Lines): void {
    if (this.scene.lines === lines) return;
    this.scene.lines = lines;
    lines.find(this.names.sought);
    this.line?.send({ id: 0, places: lines.ofStacks.slice() });
    if (this.scene.lanes.some((lane) => isLook(lane.kind))) this.pieces?.grown();
    this.draw();
    this.notify();
  }

  /** Sets the ns between two samples of metrics. In a shorter view metrics show nothing, and are
   * hidden. */
  setPeriod(period: number): void {
    this.metrics.setPeriod(period);
    this.layOut();
  }

  private readonly hides = (track: Track): boolean => this.wishes.hidden?.(track) === true || this.metrics.hides(track);

  setTint(tint: Tint): void {
    this.scene.tint = tint;
    this.draw();
  }

  setWishes(pinned: readonly string[], closed: ReadonlySet<Group>, hidden?: (track: Track) => boolean): void {
    this.wishes = { pinned: [...pinned], closed: new Set(closed), ...(hidden ? { hidden } : {}) };
    this.scene.closed = this.wishes.closed;
    this.layOut();
    this.moved();
    this.notify();
  }

  togglePin(key: string): void {
    const { pinned, closed, hidden } = this.wishes;
    this.setWishes(pinned.includes(key) ? pinned.filter((other) => other !== key) : [...pinned, key], closed, hidden);
  }

  toggleCategory(category: Group): void {
    const { pinned, closed, hidden } = this.wishes;
    const next = new Set(closed);
    if (!next.delete(category)) next.add(category);
    this.setWishes(pinned, next, hidden);
  }

  setFollow(follow: boolean): void {
    this.follow = follow;
    const { view, bounds } = this.scene;
    if (follow) this.go(panned(view, bounds.to - view.to));
    this.notify();
  }

  setSearch(pattern: string): void {
    this.names.find(pattern);
    this.scene.lines.find(pattern);
    this.scene.searching = pattern !== "";
    this.draw();
  }

  setFlows(flows: readonly Flow[]): void {
    this.scene.flows = flows;
    this.draw();
  }

  setBookmarks(bookmarks: readonly Bookmark[]): void {
    this.scene.bookmarks = bookmarks;
    this.scene.flagged = null;
    this.draw();
  }

  again(): void {
    this.pieces?.again();
    this.notify();
  }

  private layOut(): void {
    const { scene, parts } = this;
    scene.layout = layOut(scene.tracks, { ...this.wishes, hidden: this.hides, ranks: scene.heads.keys() });
    const spacer = parts?.canvas.nextElementSibling;
    if (spacer instanceof HTMLElement) spacer.style.height = `${(TOP + scene.layout.pinnedHeight + scene.layout.height) * scene.unit}px`;
    this.scrolled();
  }

  scrolled(): void {
    const { scene, parts } = this;
    if (!parts) return;
    const most = Math.max(0, TOP + scene.layout.pinnedHeight + scene.layout.height - scene.height);
    scene.scroll = Math.min(parts.scroller.scrollTop / scene.unit, most);
    this.moved();
  }

  // ---- moving ----------------------------------------------------------------------------------

  /** Moves at once, as the hand does. */
  setView(view: View): void {
    this.glide = null;
    this.scene.view = bounded(view, this.scene.bounds);
    this.moved();
  }

  /** Moves with a short glide, as a command does. The destination is published at once, so that
   * an address that is copied before the view rests has the destination, not the view before
   * the command. */
  go(view: View): void {
    const to = bounded(view, this.scene.bounds);
    this.rest = to;
    this.notify();
    if (this.still || this.scene.width === 0) {
      this.setView(to);
      return;
    }
    this.glide = { from: this.scene.view, to, begin: performance.now() };
    this.moved();
  }

  zoom(factor: number, x?: number): void {
    const { scene } = this;
    const at = timeAt(scene, x ?? (scene.side + scene.width) / 2);
    this.setView(zoomed(scene.view, at, factor));
  }

  pan(px: number): void {
    const { view, width, side } = this.scene;
    this.follow = false;
    this.setView(panned(view, ((view.to - view.from) * px) / (width - side)));
  }

  /** A held key moves the view until it is released. */
  hold(pan: number, zoom: number): void {
    this.speed = { pan, zoom };
    this.before = performance.now();
    if (pan || zoom) this.follow = false;
    this.draw();
  }

  private moved(): void {
    if (this.metrics.changes(this.scene.view)) {
      this.layOut(); // calls this function again
      return;
    }
    this.draw();
    this.look();
    this.movedAt = performance.now();
    this.restTimer ||= window.setTimeout(this.mayRest, REST_MS); // one timer for all frames of a movement
  }

  /** Whether nothing has moved for REST_MS; otherwise waits for the rest of that time. */
  private readonly mayRest = (): void => {
    const left = this.movedAt + REST_MS - performance.now();
    this.restTimer = left > 0 ? window.setTimeout(this.mayRest, left) : 0;
    if (left > 0) return;
    this.asked = 0;
    this.rest = this.scene.view;
    if (this.scene.tracks.length > 0) this.rests++;
    this.look();
    this.notify();
    this.draw();
  };

  draw(): void {
    if (!this.frame && this.pens) this.frame = requestAnimationFrame((now) => this.step(now));
  }

  private step(now: number): void {
    this.frame = 0;
    const { scene, pens } = this;
    if (!pens || scene.height === 0) return;
    if (this.glide) this.glideOn(now);
    if (this.speed.pan || this.speed.zoom) this.holdOn(now);
    this.laned.forget();
    this.painter.paint(pens.main, scene);
    paintMini(pens.mini, scene, this.laned.mini(), this.laned.miniLanes, this.miniHeight);
    paintMiniBookmarks(pens.mini, scene);
    this.frames++;
  }

  private glideOn(now: number): void {
    const { from, to, begin } = this.glide!;
    const part = Math.min(1, Math.max(0, (now - begin) / GLIDE_MS));
    const eased = 1 - (1 - part) ** 3;
    // The width changes by factors, so that zooming far does not rush.
    const width = Math.exp(Math.log(from.to - from.from) * (1 - eased) + Math.log(to.to - to.from) * eased);
    const middle = ((from.from + from.to) * (1 - eased) + (to.from + to.to) * eased) / 2;
    this.scene.view = part === 1 ? to : { from: middle - width / 2, to: middle + width / 2 };
    if (part === 1) this.glide = null;
    this.moved();
  }

  private holdOn(now: number): void {
    const { view } = this.scene;
    const seconds = Math.min(0.05, Math.max(0, (now - this.before) / 1000));
    this.before = now;
    const width = view.to - view.from;
    const next = panned(zoomed(view, (view.from + view.to) / 2, 2 ** (this.speed.zoom * seconds)), this.speed.pan * seconds * width);
    this.scene.view = bounded(next, this.scene.bounds);
    this.moved();
  }

  // ---- pieces ----------------------------------------------------------------------------------

  private came(): void {
    this.look();
    this.draw();
    this.notify();
  }

  /** Checks which pieces are needed, now and then while the view moves. */
  private look(): void {
    const now = performance.now();
    const left = ASK_MS - (now - this.asked);
    if (left > 0) {
      this.askTimer ||= window.setTimeout(this.askLater, left);
      return;
    }
    clearTimeout(this.askTimer);
    this.askTimer = 0;
    this.asked = now;
    this.pieces?.want(this.wants());
  }

  private readonly askLater = (): void => {
    this.askTimer = 0;
    this.look();
  };

  private readonly get = (key: string): Piece | undefined => this.pieces?.get(key);

  /** CSS px of the axis. */
  private px(): number {
    return Math.max(1, (this.scene.width - this.scene.side) * this.scene.unit);
  }

  private wants(): Want[] {
    const { scene } = this;
    if (scene.width === 0 || scene.tracks.length === 0) return [];
    const rows = rowsInView(scene);
    const tracks = rows.flatMap((row) => (row.track >= 0 ? [scene.tracks[row.track]!] : []));
    const { first, late } = this.laned.wants([...tracks.map((track) => track.lane), ...rows.flatMap((row) => row.lanes ?? [])]);
    const seen = new Set<string>();
    return [...first, ...tracks.flatMap((track) => this.metrics.wants(track)), ...late].filter(({ key }) => !seen.has(key) && seen.add(key));
  }

  // ---- pointing and choosing -------------------------------------------------------------------

  rowAtY(y: number): Row | null {
    return rowUnder(this.scene, y);
  }

  pickAt(x: number, y: number): Picked | null {
    const { scene } = this;
    const row = this.rowAtY(y);
    const track = row ? scene.tracks[row.track] : undefined;
    if (!track || track.lane < 0 || x < scene.side) return null;
    const reach = (3 * (scene.view.to - scene.view.from)) / this.px();
    this.laned.forget();
    const offset = offsetOf(scene.lanes[track.lane]!);
    const hit = hitAt(this.laned.segments(track.lane), scene.blockLane(track.lane), timeAt(scene, x) - offset, reach);
    return hit ? { track: track.key, hit: { ...hit, start: hit.start + offset } } : null;
  }

  /** The pointer is on another picture of the session. */
  private readonly onPointed = ({ session, at }: Crosshair): void => {
    if (session !== this.session) return;
    this.scene.pointed = at;
    this.draw();
  };

  point(x: number, y: number): void {
    const { scene } = this;
    const bookmark = this.bookmarkAt(x, y);
    const picked = this.pickAt(x, y);
    const row = this.rowAtY(y);
    const group = row?.lanes ? row.category : null;
    const track = picked ? undefined : scene.tracks[row?.track ?? -1];
    const sample = track?.source && x > scene.side ? sampleAt(this.metrics.points(track), timeAt(scene, x)) : null;
    this.hovered = picked || sample || bookmark || group ? { picked, sample: sample && track ? { track, sample } : null, bookmark, group, x, y } : null;
    scene.flagged = bookmark;
    scene.hover = picked;
    scene.cursor = x > scene.side ? timeAt(scene, x) : null;
    if (scene.cursor !== null) {
      scene.pointed = Math.round(scene.cursor);
      point({ session: this.session, at: scene.pointed }, this.onPointed);
    }
    this.draw();
    this.listeners.forEach((listener) => listener());
  }

  unpoint(): void {
    if (!this.hovered && this.scene.cursor === null) return;
    this.hovered = null;
    this.scene.hover = null;
    this.scene.flagged = null;
    this.scene.cursor = null;
    this.draw();
    this.listeners.forEach((listener) => listener());
  }

  select(picked: Picked | null): void {
    this.scene.selected = picked;
    this.scene.flows = [];
    if (picked) this.scene.active = picked.track;
    this.draw();
    this.notify();
  }

  /** Selects an event from outside, and shows the event and its row; if the view stays, only the
   * row. */
  reveal(key: string, hit: HitEvent, how: Reveal): void {
    const { view } = this.scene;
    this.select({ track: key, hit });
    this.revealRow(key);
    const end = hit.start + hit.duration;
    const width = view.to - view.from;
    const tiny = hit.duration < width / 400;
    if (how === "stay") return;
    if (how === "zoom" || hit.duration > width || tiny) this.go(around(hit.start, hit.duration));
    else if (hit.start < view.from || end > view.to) this.go(panned(view, hit.start + hit.duration / 2 - (view.from + view.to) / 2));
  }

  /** Selects the event at a time of a lane's row, if it is loaded; the view does not move. */
  selectAt(key: string, at: number): void {
    const track = this.scene.tracks.find((other) => other.key === key);
    if (!track || track.lane < 0) return;
    this.laned.forget();
    const hit = hitAt(this.laned.segments(track.lane), this.scene.blockLane(track.lane), at, 0);
    if (hit) this.select({ track: key, hit });
  }

  scrollTo(y: number): void {
    if (this.parts) this.parts.scroller.scrollTop = y * this.scene.unit;
  }

  revealRow(key: string): void {
    const { scene, parts } = this;
    const track = scene.tracks.find((other) => other.key === key);
    if (track && this.wishes.closed.has(track.category)) this.toggleCategory(track.category);
    const row = scene.layout.rows.find((other) => keyOfRow(other, scene.tracks) === key);
    if (!row || !parts) return;
    const room = scene.height - TOP - scene.layout.pinnedHeight;
    if (row.y < scene.scroll) parts.scroller.scrollTop = Math.max(0, row.y - 30) * scene.unit;
    else if (row.y + row.height > scene.scroll + room) parts.scroller.scrollTop = (row.y + row.height - room + 30) * scene.unit;
  }

  setActive(key: string | null): void {
    this.scene.active = key;
    this.draw();
    this.notify();
  }

  stepLane(by: number): void {
    const { layout, tracks, active } = this.scene;
    const keys = [...layout.pinned, ...layout.rows].map((row) => keyOfRow(row, tracks)).filter(Boolean);
    const at = keys.indexOf(active ?? "");
    const key = keys[at < 0 ? 0 : Math.max(0, Math.min(keys.length - 1, at + by))];
    if (key === undefined) return;
    this.setActive(key);
    this.revealRow(key);
  }

  /** The next event of the active lane among the loaded pieces; null: the server has to be
   * asked. */
  stepEvent(forward: boolean): HitEvent | null {
    const { scene } = this;
    const track = scene.tracks.find((other) => other.key === scene.active);
    if (!track || track.lane < 0) return null;
    const same = scene.selected?.track === track.key ? scene.selected.hit.start : forward ? scene.view.from - 1 : scene.view.to;
    this.laned.forget();
    return neighbour(this.laned.segments(track.lane), scene.blockLane(track.lane), same, forward);
  }

  setRange(range: View | null): void {
    const { bounds } = this.scene;
    this.scene.range = range ? { from: Math.max(bounds.from, Math.floor(range.from)), to: Math.min(bounds.to, Math.ceil(range.to)) } : null;
    this.draw();
  }

  bookmarkAt(x: number, y: number): Bookmark | null {
    return y < TOP ? bookmarkAt(this.scene, x) : null;
  }

  /** Shows the bookmark's time, and selects it as a range. */
  goBookmark(bookmark: Bookmark): void {
    this.follow = false;
    this.go(viewOfBookmark(bookmark, this.scene.view));
    this.setRange(rangeOfBookmark(bookmark));
    this.rangeDone();
  }

  rangeDone(): void {
    const { range } = this.scene;
    if (range && range.to <= range.from) this.scene.range = null;
    this.notify();
  }

  /** Threads with captured launches. */
  get looked(): readonly number[] {
    return this.laned.looked;
  }

  get heap(): number {
    return this.pieces?.size ?? 0;
  }
}
