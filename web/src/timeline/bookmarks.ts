// bookmarks.ts - named places of a session: their marks on the axis and on the strip, and the
// bookmark under the pointer. Notes are text; marks do not draw them.
import type { RowBookmark } from "../api/schema";
import { miniX } from "./mini";
import { TOP, xOf, type Scene } from "./scene";
import type { View } from "./view";

export interface Bookmark {
  id: string;
  start: number;
  duration: number; // 0: a moment
  note: string;
}

const FLAG = 9; // units: its height and half its width
const BAR = 4; // units: height of the bar that shows the length of the time
const REACH = 6; // units: a pointer this close to a flag is on the flag
const MINI_FLAG = 8;

/** By their begin; at equal begins the longer one first. */
export const bookmarksOf = (rows: readonly RowBookmark[]): Bookmark[] =>
  rows
    .map(({ id, start, duration, note }) => ({ id, start: start ?? 0, duration: duration ?? 0, note }))
    .sort((a, b) => a.start - b.start || b.duration - a.duration);

/** The bookmark's time as a range; null: the bookmark is a moment. */
export const rangeOfBookmark = ({ start, duration }: Bookmark): View | null => (duration > 0 ? { from: start, to: start + duration } : null);

/** The view that shows the bookmark: a range with room on both sides; for a moment the width
 * stays as it is. */
export function viewOfBookmark({ start, duration }: Bookmark, now: View): View {
  const half = duration > 0 ? duration * 0.75 : (now.to - now.from) / 2;
  const middle = start + duration / 2;
  return { from: middle - half, to: middle + half };
}

/** On the axis: the nearest flag within reach, or else the shortest bookmark around the pointer. */
export function bookmarkAt(scene: Scene, x: number): Bookmark | null {
  if (x < scene.side) return null;
  let flag: Bookmark | null = null;
  let inside: Bookmark | null = null;
  let near = REACH;
  for (const one of scene.bookmarks) {
    const x0 = xOf(scene, one.start);
    if (x0 >= scene.side && Math.abs(x - x0) <= near) {
      near = Math.abs(x - x0);
      flag = one;
    }
    if (x >= x0 && x <= xOf(scene, one.start + one.duration) && (!inside || one.duration < inside.duration)) inside = one;
  }
  return flag ?? inside;
}

function flag(to: CanvasRenderingContext2D, x: number, bottom: number, height: number): void {
  to.beginPath();
  to.moveTo(x - height / 2, bottom - height);
  to.lineTo(x + height / 2, bottom - height);
  to.lineTo(x, bottom);
  to.fill();
}

/** On the axis: a flag at the begin, and a bar for the length; the time of the bookmark under
 * the pointer is also marked through the lanes. */
export function paintBookmarks(to: CanvasRenderingContext2D, scene: Scene): void {
  if (scene.bookmarks.length === 0) return;
  const { side, width, height, colours, flagged } = scene;
  to.save();
  to.beginPath();
  to.rect(side, 0, width - side, height);
  to.clip();
  to.fillStyle = colours.mark;
  for (const { start, duration } of scene.bookmarks) {
    const x0 = xOf(scene, start);
    const x1 = xOf(scene, start + duration);
    if (x1 < side - FLAG || x0 > width + FLAG) continue;
    to.globalAlpha = 0.55;
    if (duration > 0) to.fillRect(Math.max(side, x0), TOP - BAR, Math.max(1, Math.min(width, x1) - Math.max(side, x0)), BAR);
    to.globalAlpha = 1;
    flag(to, x0, TOP - 1, FLAG);
  }
  if (flagged) {
    to.globalAlpha = 0.2;
    const x0 = xOf(scene, flagged.start);
    to.fillRect(x0, TOP, Math.max(2, xOf(scene, flagged.start + flagged.duration) - x0), height);
  }
  to.restore();
}

/** On the strip of the whole session: the flags alone. */
export function paintMiniBookmarks(to: CanvasRenderingContext2D, scene: Scene): void {
  to.fillStyle = scene.colours.mark;
  for (const { start } of scene.bookmarks) {
    const x = miniX(scene, start);
    if (x >= scene.side && x <= scene.width) flag(to, x, MINI_FLAG + 1, MINI_FLAG);
  }
}
