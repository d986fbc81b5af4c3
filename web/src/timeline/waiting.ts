// waiting.ts - the parts of a drawing whose pieces have not arrived. They have dashes, because empty rows mean that
// nothing ran, or that no power was drawn.
import type { Colours } from "./colours";
import type { View } from "./view";

const DASH = 8; // units
const STEP = 16;
const THICK = 2;
const LEAST = 1e-9; // of a view: less is an error of its numbers

/** The parts of `view` that no segment covers. Segments are in the order of their times. */
export function gapsOf(segments: readonly { from: number; to: number }[], view: View): View[] {
  const gaps: View[] = [];
  const least = (view.to - view.from) * LEAST;
  let reached = view.from;
  for (const { from, to } of segments) {
    if (Math.min(from, view.to) - reached > least) gaps.push({ from: reached, to: Math.min(from, view.to) });
    reached = Math.max(reached, to);
  }
  if (view.to - reached > least) gaps.push({ from: reached, to: view.to });
  return gaps;
}

export const within = (a: View, b: View): View => ({ from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) });

/** Dashes between two places, in the middle of a row. They stand at the same places whatever part is missing. */
export function paintDashes(to: CanvasRenderingContext2D, colours: Colours, x0: number, x1: number, middle: number): void {
  to.fillStyle = colours.line;
  for (let x = Math.ceil((x0 + 4) / STEP) * STEP; x + DASH <= x1; x += STEP) to.fillRect(x, Math.round(middle) - THICK / 2, DASH, THICK);
}
