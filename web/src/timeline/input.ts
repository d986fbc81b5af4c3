// input.ts - input of the timeline: wheel, trackpad, drag, touch, keys. engine.ts carries out the
// movements.
import type { Engine } from "./engine";
import { miniTime } from "./mini";
import { keyOfRow, type Row } from "./layout";
import { timeAt, TOP } from "./scene";
import { around } from "./view";

const ZOOM_PER_PX = 0.0022; // by a wheel
const CLICK_PX = 4; // units; a shorter movement is a click

export interface Commands {
  hit: (forward: boolean) => void; // next or previous hit of the search
  event: (forward: boolean) => void; // next or previous event of the lane
  clear: () => void;
  open?: (row: Row, time: number) => void; // leads to the timeline of the row's rank
}

const typing = (target: EventTarget | null): boolean => target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");

/** Deltas in px; a mouse's wheel may report lines or pages. */
export const wheelPx = (delta: number, mode: number): number => delta * (mode === 1 ? 24 : mode === 2 ? 400 : 1);

function onWheel(engine: Engine, event: WheelEvent, x: number, y: number): void {
  const dx = wheelPx(event.deltaX, event.deltaMode);
  const dy = wheelPx(event.deltaY, event.deltaMode);
  if (event.ctrlKey || event.metaKey || y < TOP) {
    event.preventDefault();
    // A trackpad's pinch is reported as Ctrl with small steps.
    const strength = event.ctrlKey && Math.abs(dy) < 30 ? 4 : 1;
    engine.zoom(Math.exp(Math.max(-1, Math.min(1, dy * ZOOM_PER_PX * strength))), x);
  } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
    event.preventDefault();
    engine.pan((event.shiftKey && dx === 0 ? dy : dx) / engine.scene.unit);
  }
}

type Drag = { kind: "pan" | "range" | "pinch"; x: number; y: number; from: number; far: boolean; apart: number };

type Listener = readonly [name: string, act: (event: never) => void, options?: AddEventListenerOptions];

/** Adds listeners; the returned function removes them. */
function addAll(target: EventTarget, listeners: readonly Listener[]): () => void {
  for (const [name, act, options] of listeners) target.addEventListener(name, act as EventListener, options);
  return () => listeners.forEach(([name, act]) => target.removeEventListener(name, act as EventListener));
}

interface Point {
  x: number; // units
  y: number;
}

/** The mouse and fingers over the lanes. */
class Pointers {
  private readonly down = new Map<number, Point>();
  private drag: Drag | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly scroller: HTMLElement,
    private readonly commands: Commands,
  ) {}

  listen(): () => void {
    return addAll(this.scroller, [
      ["pointerdown", (event: PointerEvent) => this.press(event)],
      ["pointermove", (event: PointerEvent) => this.move(event)],
      ["pointerup", (event: PointerEvent) => this.lift(event)],
      ["pointercancel", (event: PointerEvent) => this.lift(event)],
      ["pointerleave", () => this.engine.unpoint()],
      ["dblclick", (event: MouseEvent) => this.twice(event)],
      ["wheel", (event: WheelEvent) => this.wheel(event), { passive: false }],
      ["scroll", () => this.engine.scrolled(), { passive: true }],
    ]);
  }

  private at(event: MouseEvent): Point {
    const box = this.scroller.getBoundingClientRect();
    const { unit } = this.engine.scene;
    return { x: (event.clientX - box.left) / unit, y: (event.clientY - box.top) / unit };
  }

  /** The distance between two fingers. */
  private apart(): number {
    const [a, b] = [...this.down.values()];
    return a && b ? Math.max(10, Math.hypot(a.x - b.x, a.y - b.y)) : 0;
  }

  private press(event: PointerEvent): void {
    const { engine, scroller, down } = this;
    const p = this.at(event);
    if (event.button !== 0 || p.x * engine.scene.unit > scroller.clientWidth) return;
    down.set(event.pointerId, p);
    scroller.setPointerCapture(event.pointerId);
    const range = (p.y < TOP || event.shiftKey) && p.x > engine.scene.side;
    this.drag = { kind: down.size === 2 ? "pinch" : range ? "range" : "pan", ...p, from: timeAt(engine.scene, p.x), far: down.size === 2, apart: this.apart() };
  }

  private move(event: PointerEvent): void {
    const { engine, down, drag } = this;
    const p = this.at(event);
    const before = down.get(event.pointerId);
    if (!drag || !before) {
      engine.point(p.x, p.y);
      return;
    }
    down.set(event.pointerId, p);
    drag.far ||= Math.hypot(p.x - drag.x, p.y - drag.y) >= CLICK_PX;
    if (!drag.far) return;
    if (drag.kind === "pinch") {
      const now = this.apart();
      engine.zoom(drag.apart / now, ([...down.values()][0]!.x + p.x) / 2);
      drag.apart = now;
    } else if (drag.kind === "range") {
      const to = timeAt(engine.scene, p.x);
      engine.setRange({ from: Math.min(drag.from, to), to: Math.max(drag.from, to) });
    } else {
      engine.unpoint();
      engine.pan(before.x - p.x);
      if (event.pointerType !== "touch") this.scroller.scrollTop += (before.y - p.y) * engine.scene.unit;
    }
  }

  private lift(event: PointerEvent): void {
    const was = this.drag;
    this.down.delete(event.pointerId);
    if (this.down.size === 0) this.drag = null;
    if (!was || this.down.size > 0) return;
    if (was.kind === "range" && was.far) this.engine.rangeDone();
    else if (!was.far && event.type === "pointerup") click(this.engine, this.commands, was.x, was.y);
  }

  private wheel(event: WheelEvent): void {
    const p = this.at(event);
    onWheel(this.engine, event, p.x, p.y);
  }

  private twice(event: MouseEvent): void {
    const p = this.at(event);
    const picked = this.engine.pickAt(p.x, p.y);
    if (picked) this.engine.go(around(picked.hit.start, picked.hit.duration));
  }
}

function click(engine: Engine, commands: Commands, x: number, y: number): void {
  const { scene } = engine;
  const bookmark = engine.bookmarkAt(x, y);
  if (bookmark) engine.goBookmark(bookmark);
  const row = engine.rowAtY(y);
  if (!row) return;
  if (commands.open && x >= scene.side) {
    commands.open(row, timeAt(scene, x));
    return;
  }
  if (row.track < 0) {
    engine.toggleCategory(row.category);
    return;
  }
  const { key } = scene.tracks[row.track]!;
  if (x < scene.side) engine.setActive(key);
  else {
    const picked = engine.pickAt(x, y);
    engine.select(picked);
    if (!picked) engine.setActive(key);
  }
}

/** The movement of a held key: widths of the view a second, doublings of the width a second. */
const MOVES: Record<string, [number, number]> = { a: [-0.9, 0], d: [0.9, 0], arrowleft: [-0.9, 0], arrowright: [0.9, 0], w: [0, -2.6], s: [0, 2.6] };

function keys(engine: Engine, commands: Commands): () => void {
  const held = new Set<string>();
  const go = (): void => {
    let pan = 0;
    let zoom = 0;
    for (const key of held) {
      pan += MOVES[key]![0];
      zoom += MOVES[key]![1];
    }
    engine.hold(pan, zoom);
  };
  function press(event: KeyboardEvent): void {
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    if (MOVES[key]) {
      event.preventDefault();
      if (held.has(key)) return;
      held.add(key);
      const [pan, zoom] = MOVES[key];
      const { width, side } = engine.scene;
      if (pan) engine.pan((pan * (width - side)) / 16);
      else engine.zoom(2 ** (zoom / 16));
      go();
    } else if (command(engine, commands, event, key)) event.preventDefault();
  }
  function lift(event: KeyboardEvent): void {
    if (held.delete(event.key.toLowerCase())) go();
  }
  function blur(): void {
    held.clear();
    go();
  }
  return addAll(window, [
    ["keydown", press],
    ["keyup", lift],
    ["blur", blur],
  ]);
}

function command(engine: Engine, commands: Commands, event: KeyboardEvent, key: string): boolean {
  const { scene } = engine;
  const { selected, range } = scene;
  switch (key) {
    case "+":
    case "=":
      engine.zoom(0.7);
      return true;
    case "-":
      engine.zoom(1.4);
      return true;
    case "0":
      engine.go(scene.bounds);
      return true;
    case "f":
      if (range) engine.go(range);
      else if (selected) engine.go(around(selected.hit.start, selected.hit.duration));
      return true;
    case "m":
      if (selected) engine.setRange({ from: selected.hit.start, to: selected.hit.start + selected.hit.duration });
      engine.rangeDone();
      return true;
    case "p":
      if (scene.active) engine.togglePin(scene.active);
      return true;
    case "n":
      commands.hit(!event.shiftKey);
      return true;
    case ",":
    case ".":
      commands.event(key === ".");
      return true;
    case "[":
    case "]":
      engine.stepLane(key === "]" ? 1 : -1);
      return true;
    case "enter":
    case " ": {
      const row = scene.layout.rows.find((other) => keyOfRow(other, scene.tracks) === scene.active);
      if (!commands.open || !row || document.activeElement?.closest("button, a, summary")) return false;
      if (key === " ") engine.toggleCategory(row.category);
      else commands.open(row, (scene.view.from + scene.view.to) / 2);
      return true;
    }
    case "escape":
      commands.clear();
      return true;
    default:
      return false;
  }
}

function miniature(engine: Engine, mini: HTMLCanvasElement): () => void {
  let held = false;
  const centre = (event: PointerEvent): void => {
    const { scene } = engine;
    const half = (scene.view.to - scene.view.from) / 2;
    const at = miniTime(scene, (event.clientX - mini.getBoundingClientRect().left) / scene.unit);
    engine.setView({ from: at - half, to: at + half });
  };
  const press = (event: PointerEvent): void => {
    held = true;
    mini.setPointerCapture(event.pointerId);
    centre(event);
  };
  const move = (event: PointerEvent): void => {
    if (held) centre(event);
  };
  const lift = (): void => {
    held = false;
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    engine.zoom(Math.exp(wheelPx(event.deltaY, event.deltaMode) * ZOOM_PER_PX));
  };
  return addAll(mini, [
    ["pointerdown", press],
    ["pointermove", move],
    ["pointerup", lift],
    ["pointercancel", lift],
    ["wheel", wheel, { passive: false }],
  ]);
}

/** Connects all input; the returned function disconnects it. */
export function listen(engine: Engine, scroller: HTMLElement, mini: HTMLCanvasElement, commands: Commands): () => void {
  const ends = [new Pointers(engine, scroller, commands).listen(), keys(engine, commands), miniature(engine, mini)];
  return () => ends.forEach((end) => end());
}
