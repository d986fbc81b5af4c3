// layout.ts - rows: the position of each track. Pinned rows come first and stay; the others scroll
// below, each category under its head. Rows are found by binary search, so that 10 000 streams are
// not slower.
import { CATEGORIES, HEIGHT, type Group, type Track } from "./lanes";
import { TOP, type Scene } from "./scene";

export interface Row {
  track: number; // index into the tracks; -1: the head of a category
  category: Group;
  y: number; // units from the top of its part
  height: number;
  count: number; // of a head: how many tracks it has
  titled: boolean; // shows the owner, because the row above has another thread, stream or GPU
  lanes?: readonly number[]; // of the head of a rank: its lanes, drawn as one
}

export interface Layout {
  pinned: Row[];
  pinnedHeight: number;
  rows: Row[];
  height: number; // of all rows below the pinned ones
}

export interface Wishes {
  pinned: readonly string[]; // keys, in the order of pinning
  closed: ReadonlySet<Group>;
  hidden?: ((track: Track) => boolean) | undefined;
  ranks?: Iterable<Group> | undefined; // ranks have a head even without lanes
}

export function layOut(tracks: readonly Track[], wishes: Wishes): Layout {
  const layout: Layout = { pinned: [], pinnedHeight: 0, rows: [], height: 0 };
  const byKey = new Map(tracks.map((track, at) => [track.key, at]));
  for (const key of wishes.pinned) {
    const at = byKey.get(key);
    if (at === undefined) continue;
    const { height, category } = tracks[at]!;
    layout.pinned.push({ track: at, category, y: layout.pinnedHeight, height, count: 0, titled: true });
    layout.pinnedHeight += height;
  }
  const pinned = new Set(wishes.pinned);
  const groups = new Map<Group, { track: Track; at: number }[]>([...CATEGORIES, ...(wishes.ranks ?? [])].map((group) => [group, []]));
  tracks.forEach((track, at) => {
    if (wishes.hidden?.(track)) return;
    const list = groups.get(track.category);
    if (list) list.push({ track, at });
    else groups.set(track.category, [{ track, at }]);
  });
  for (const [category, list] of groups) {
    const rank = category.startsWith("rank ");
    if (list.length === 0 && !rank) continue;
    const height = rank ? HEIGHT.rank : HEIGHT.head;
    layout.rows.push({ track: -1, category, y: layout.height, height, count: list.length, titled: false, ...(rank ? { lanes: list.map(({ track }) => track.lane) } : {}) });
    layout.height += height;
    if (wishes.closed.has(category)) continue;
    let above = "";
    for (const { track, at } of list) {
      if (pinned.has(track.key)) continue;
      layout.rows.push({ track: at, category, y: layout.height, height: track.height, count: 0, titled: track.title !== above });
      layout.height += track.height;
      above = track.title;
    }
  }
  return layout;
}

/** Index of the row at y, or -1. */
export function rowAt(rows: readonly Row[], y: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle]!;
    if (y < row.y) high = middle - 1;
    else if (y >= row.y + row.height) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** The rows that reach into [top, bottom): the first index, and the index after the last. */
export function rowsWithin(rows: readonly Row[], top: number, bottom: number): [number, number] {
  const last = rows[rows.length - 1];
  if (!last || bottom <= 0 || top >= last.y + last.height) return [0, 0];
  const first = top <= 0 ? 0 : rowAt(rows, top);
  const end = bottom >= last.y + last.height ? rows.length : rowAt(rows, bottom - 1) + 1;
  return [first, end];
}

/** The visible rows: pinned ones, then those that the scroll shows. */
export function rowsInView({ layout, scroll, height }: Pick<Scene, "layout" | "scroll" | "height">): Row[] {
  const below = TOP + layout.pinnedHeight;
  const [first, end] = rowsWithin(layout.rows, scroll, scroll + height - below);
  return [...layout.pinned, ...layout.rows.slice(first, end)];
}

/** The row at y on the canvas. */
export function rowUnder({ layout, scroll }: Pick<Scene, "layout" | "scroll">, y: number): Row | null {
  if (y < TOP) return null;
  const below = TOP + layout.pinnedHeight;
  const rows = y < below ? layout.pinned : layout.rows;
  return rows[rowAt(rows, y < below ? y - TOP : y - below + scroll)] ?? null;
}

/** The name of a row: its track's key, or for a rank's head its group. "": the row cannot be
 * chosen. */
export const keyOfRow = (row: Row, tracks: readonly Track[]): string => (row.track >= 0 ? tracks[row.track]!.key : row.lanes ? row.category : "");
