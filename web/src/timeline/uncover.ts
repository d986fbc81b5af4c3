// uncover.ts - the panel below the timeline stays on the screen, over lanes if there is no room for
// both. The page scrolls by as much as the panel would hide of the selected row.
import { TOP, type Scene } from "./scene";

const ROOM = 8; // px

export function uncover(scene: Scene, key: string, panel: HTMLElement): void {
  const canvas = document.querySelector(".tl-canvas");
  const row = scene.layout.rows.find((other) => scene.tracks[other.track]?.key === key);
  if (!canvas || !row) return;
  const bottom = canvas.getBoundingClientRect().top + (TOP + scene.layout.pinnedHeight + row.y + row.height - scene.scroll) * scene.unit;
  const hidden = bottom + ROOM - panel.getBoundingClientRect().top;
  if (hidden > 0) window.scrollBy({ top: hidden });
}
