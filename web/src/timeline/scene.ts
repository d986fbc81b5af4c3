// scene.ts - the contents of a drawing as plain values: the engine fills them, paint.ts reads them.
import type { Bookmark } from "./bookmarks";
import type { Colours } from "./colours";
import type { Segment } from "./columns";
import type { Hit } from "./hit";
import type { Group, Lane, Track } from "./lanes";
import type { Layout } from "./layout";
import type { Names } from "./names";
import type { Lines } from "./lines";
import type { Piece } from "./piece";
import type { Tint } from "./tint";
import type { View } from "./view";

export const SIDE_NARROW = 104; // units of the drawing: titles of the rows on a phone
const SIDE = 196;
const SIDE_MOST = 264; // the names of all usual GPUs have room
const SIDE_PART = 0.145; // of a drawing that is wide enough
const PHONE = 700;
export const TOP = 30; // the axis

export interface Picked {
  track: string; // key
  hit: Hit;
}

/** An end of a flow: a time on a lane. */
export interface End {
  lane: string; // id
  start: number;
  duration: number;
  name: number | null;
  ref: number;
}

export interface Flow {
  from: End; // on the host
  to: End; // on the GPU
}

/** The contents of the head of a rank. */
export interface Head {
  title: string;
  note: string;
  pending: boolean; // its lanes are not known yet
}

export interface Scene {
  width: number; // units, with the titles
  height: number;
  side: number;
  unit: number; // CSS px of a unit: 1, or more if the page's letters are larger
  ratio: number; // device px per unit
  view: View;
  bounds: View;
  scroll: number; // units of the rows below the pinned ones
  lanes: readonly Lane[];
  heads: ReadonlyMap<Group, Head>; // of the ranks of a run, in their order
  miniLabel: string;
  tracks: readonly Track[];
  layout: Layout;
  segments: (lane: number) => readonly Segment[];
  gaps: (lane: number) => readonly View[]; // on the lane's clock; the visible parts that have not arrived
  points: (track: Track) => readonly { piece: Piece; from: number; to: number }[];
  blockLane: (lane: number) => number; // its place in the block
  names: Names;
  lines: Lines;
  tint: Tint;
  colours: Colours;
  active: string | null; // key of the track that keys act on
  closed: ReadonlySet<string>;
  selected: Picked | null;
  hover: Picked | null;
  cursor: number | null; // ns; under the pointer
  pointed: number | null; // ns; where the pointer last was on this session, here or in another view
  range: View | null;
  flows: readonly Flow[];
  bookmarks: readonly Bookmark[];
  flagged: Bookmark | null; // the bookmark under the pointer
  searching: boolean;
}

/** The width of the rows' titles next to a drawing of that width. */
export const sideOf = (width: number): number => (width < PHONE ? SIDE_NARROW : Math.round(Math.min(SIDE_MOST, Math.max(SIDE, width * SIDE_PART))));

export const pxPerNs = (scene: Scene): number => (scene.width - scene.side) / (scene.view.to - scene.view.from);
export const xOf = (scene: Scene, time: number): number => scene.side + (time - scene.view.from) * pxPerNs(scene);
export const timeAt = (scene: Scene, x: number): number => scene.view.from + (x - scene.side) / pxPerNs(scene);
