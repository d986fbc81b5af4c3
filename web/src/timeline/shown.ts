// shown.ts - what the timeline's engine gives to React: its state at rest, what is under the pointer,
// and how an event is shown that was chosen elsewhere.
import type { Bookmark } from "./bookmarks";
import type { Sample } from "./hit";
import type { Group, Track } from "./lanes";
import type { Wrong } from "./protocol";
import type { Picked } from "./scene";
import type { View } from "./view";

export interface Shown {
  view: View; // where the view last rested
  rests: number; // how often the view has come to rest since there is data
  bounds: View;
  height: number; // of all rows, units
  selected: Picked | null;
  range: View | null;
  active: string | null;
  pinned: readonly string[];
  closed: ReadonlySet<Group>;
  pending: number;
  problem: Wrong | null;
  follow: boolean;
  scroll: number; // units from the top
}

export interface Hovered {
  picked: Picked | null;
  sample: { track: Track; sample: Sample } | null;
  bookmark: Bookmark | null;
  group: Group | null; // the head of a rank that is shown
  x: number;
  y: number;
}

export type Reveal = "stay" | "pan" | "zoom";
