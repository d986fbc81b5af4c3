// difference.ts - a tree of two sides as the server merges them, and the colour of a difference.
import type { CompareFlame } from "../../api/schema";
import { number, word } from "../../format/raw";
import { inkOn, rgbOf } from "../../timeline/colours";
import { treeOfParts, type Tree } from "../flame/tree";

export interface Sides {
  name: string;
  parent: number; // 0: the whole
  a: number; // ns a run
  b: number;
}

/** The root first, then the frames in the order of their numbers. */
export function sidesOf(answer: CompareFlame, name: string): Sides[] {
  const all: Sides[] = [{ name, parent: -1, a: answer.a_ns ?? 0, b: answer.b_ns ?? 0 }];
  for (const [parent, frame, a, b] of answer.nodes as unknown[][]) all.push({ name: word(frame), parent: number(parent) ?? 0, a: number(a) ?? 0, b: number(b) ?? 0 });
  return all;
}

/** Widths are the time of one side; a frame that this side does not have is not drawn. */
export const treeOfSide = (sides: readonly Sides[], side: "a" | "b"): Tree => treeOfParts(sides.slice(1).map((frame, at) => ({ id: at + 1, parent: frame.parent, name: frame.name, value: frame[side] })), sides[0]!.name);

/** -1: only in a, 0: in both alike, 1: only in b. */
export const shift = ({ a, b }: Pick<Sides, "a" | "b">): number => (Math.max(a, b) > 0 ? (b - a) / Math.max(a, b) : 0);

type Rgb = [number, number, number];
const mixed = (from: Rgb, to: Rgb, part: number): Rgb => [0, 1, 2].map((at) => Math.round(from[at]! + (to[at]! - from[at]!) * part)) as Rgb;
const hex = (colour: Rgb): string => `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;

/** The larger the difference, the stronger the colour; from one half on the colour has full
 * strength. */
export function colourOf(sides: Pick<Sides, "a" | "b">, tokens: { none: string; more: string; less: string }): { fill: string; ink: string } {
  const by = shift(sides);
  const colour = mixed(rgbOf(tokens.none), rgbOf(by > 0 ? tokens.more : tokens.less), Math.min(1, 2 * Math.abs(by)));
  return { fill: hex(colour), ink: inkOn(colour) };
}
