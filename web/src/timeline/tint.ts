// tint.ts - the colour and the label of an event, by the property that the reader chose: names,
// source lines, scopes, or streams and threads. An event without a known line or scope is grey.
import { ALL, colourOfCause, colourOfKind, hasNames } from "./colours";
import { KIND } from "./lanes";
import { nameOfCause } from "./causes";
import { colourOf, COLOURS } from "./names";
import type { Scene } from "./scene";
import { timelineText as text } from "../text/timeline";

export const TINTS = ["name", "line", "scope", "stream"] as const;
export type Tint = (typeof TINTS)[number];

export type Paint = (name: number, stack: number) => number; // index of a colour

const GREY = colourOfKind(KIND.copy);
const STATES = [GREY, 2, 4, 1, 5]; // on a core, without one, blocked, waits for the lock

const ofThings = (number: number): number => (Math.imul(number + 1, 0x9e3779b1) >>> 8) % COLOURS;

const lined = (kind: number): boolean => kind === KIND.wait || kind === KIND.sync || kind === KIND.sample || kind === KIND.launch || kind === KIND.gap;

/** A kernel's own line if its launch was captured, or else the line that launched most of the
 * time of its name. */
function lineOfKernel(scene: Scene, name: number, stack: number): number {
  return scene.lines.placeOf(stack) || (scene.lines.kernel(scene.names.symbol(name))?.place ?? 0);
}

function plainTint(scene: Scene, lane: number): Paint {
  const { kind, ref, depth } = scene.lanes[lane]!;
  const { names, lines, tint } = scene;
  const byLine = (other: number): Paint => (_, stack) => {
    const place = lines.placeOf(stack);
    return place ? lines.colour(place) : other;
  };
  if (kind === KIND.state) return (state) => STATES[state] ?? GREY;
  if (tint === "stream" && kind !== KIND.gap) {
    const colour = ofThings(ref);
    return () => colour;
  }
  if (kind === KIND.sample || kind === KIND.launch) return byLine(GREY);
  if (tint === "line" && lined(kind)) return byLine(GREY);
  if (kind === KIND.gap) {
    const colour = colourOfCause(lines.causes[depth]?.cause ?? "");
    return () => colour;
  }
  if (!hasNames(kind)) {
    const colour = colourOfKind(kind);
    return () => colour;
  }
  if (kind === KIND.kernel && tint === "line")
    return (name, stack) => {
      const place = lineOfKernel(scene, name, stack);
      return place ? lines.colour(place) : GREY;
    };
  if (kind === KIND.kernel && tint === "scope")
    return (name) => {
      const scope = lines.kernel(names.symbol(name))?.scope;
      return scope ? colourOf(scope) : GREY;
    };
  return (name) => names.colour(name);
}

export function tintOf(scene: Scene, lane: number): Paint {
  const paint = plainTint(scene, lane);
  if (!scene.searching) return paint;
  const { kind } = scene.lanes[lane]!;
  const named = hasNames(kind);
  return (name, stack) => paint(name, stack) + ((named && scene.names.found(name)) || (lined(kind) && scene.lines.found(stack)) ? 0 : ALL);
}

export const isLabelled = (kind: number): boolean => hasNames(kind) || lined(kind) || kind === KIND.state;

/** The line's number alone, for events that are too narrow for its file. */
export function narrowLabelOf(scene: Scene, kind: number, stack: number): string {
  const line = lined(kind) && !scene.searching ? scene.lines.line(stack)?.line : null;
  return line ? `:${line}` : "";
}

/** The text on an event that is wide enough. */
export function labelOf(scene: Scene, kind: number, name: number, stack: number): string {
  if (hasNames(kind)) return scene.searching && !scene.names.found(name) ? "" : scene.names.short(name);
  if (scene.searching && !scene.lines.found(stack)) return "";
  if (kind === KIND.state) return text.states[name] ?? "";
  const place = scene.lines.line(stack)?.place;
  return place ?? (kind === KIND.gap ? nameOfCause(scene.lines.causes[name]) : "");
}
