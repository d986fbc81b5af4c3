// marks.ts - what is drawn over the lanes: the selection, the event under the pointer, the range,
// links between host and GPU, and the session's end.
import { rowsWithin } from "./layout";
import { TOP, xOf, type End, type Picked, type Scene } from "./scene";

/** The position of a track on the canvas: top and height; pinned tracks come first. null: not
 * laid out. */
export function placeOf(scene: Scene, key: string): [number, number] | null {
  const { layout, tracks } = scene;
  for (const row of layout.pinned) if (tracks[row.track]!.key === key) return [TOP + row.y, row.height];
  const below = TOP + layout.pinnedHeight;
  const [first, end] = rowsWithin(layout.rows, scene.scroll, scene.scroll + scene.height - below);
  for (let at = first; at < end; at++) {
    const row = layout.rows[at]!;
    if (tracks[row.track]?.key === key) return [below + row.y - scene.scroll, row.height];
  }
  return null;
}

function outline(to: CanvasRenderingContext2D, scene: Scene, { track, hit: { start, duration } }: Picked, colour: string, wide: number): void {
  const place = placeOf(scene, track);
  if (!place) return;
  const x0 = Math.max(scene.side - 4, xOf(scene, start));
  const x1 = Math.min(scene.width + 4, Math.max(x0 + 3, xOf(scene, start + duration)));
  if (x1 < scene.side || x0 > scene.width) return;
  to.strokeStyle = colour;
  to.lineWidth = wide;
  to.strokeRect(x0 - 0.5, place[0] + 0.5, x1 - x0 + 1, place[1] - 1);
}

export function paintMarks(to: CanvasRenderingContext2D, scene: Scene): void {
  const { colours, width, height, side, range, bounds } = scene;
  to.save();
  to.beginPath();
  to.rect(side, 0, width - side, height);
  to.clip();
  to.globalAlpha = 0.35;
  to.fillStyle = colours.surface2;
  for (const [from, until] of [[side, xOf(scene, bounds.from)], [xOf(scene, bounds.to), width]] as const) if (until > from) to.fillRect(from, TOP, until - from, height);
  to.globalAlpha = 1;
  if (range) {
    const x0 = xOf(scene, range.from);
    const x1 = xOf(scene, range.to);
    to.globalAlpha = 0.14;
    to.fillStyle = colours.focus;
    to.fillRect(x0, 0, Math.max(1, x1 - x0), height);
    to.globalAlpha = 1;
    to.fillRect(x0, 0, 1, height);
    to.fillRect(x1, 0, 1, height);
  }
  const pointed = scene.cursor ?? scene.pointed;
  if (pointed !== null) {
    to.globalAlpha = 0.5;
    to.fillStyle = colours.quiet;
    to.fillRect(Math.round(xOf(scene, pointed)), 0, 1, height);
    to.globalAlpha = 1;
  }
  const { hover, selected } = scene;
  if (hover) outline(to, scene, hover, colours.text, 1);
  if (selected) outline(to, scene, selected, colours.accent, 2.5);
  to.restore();
}

const FLOWS_MOST = 400;

/** Links that reach into the view, as curves from the host's event to the GPU's event. */
export function paintFlows(to: CanvasRenderingContext2D, scene: Scene): void {
  if (scene.flows.length === 0) return;
  to.save();
  to.beginPath();
  to.rect(scene.side, TOP, scene.width - scene.side, scene.height - TOP);
  to.clip();
  to.strokeStyle = scene.colours.link;
  to.fillStyle = scene.colours.link;
  to.lineWidth = 1.25;
  to.globalAlpha = scene.flows.length > 40 ? 0.45 : 0.85;
  for (const flow of scene.flows.slice(0, FLOWS_MOST)) curve(to, scene, flow.from, flow.to);
  to.restore();
}

function curve(to: CanvasRenderingContext2D, scene: Scene, from: End, until: End): void {
  const a = placeOf(scene, from.lane);
  const b = placeOf(scene, until.lane);
  const x0 = Math.min(scene.width + 50, Math.max(scene.side - 50, xOf(scene, Math.min(from.start + from.duration, until.start))));
  const x1 = Math.min(scene.width + 50, Math.max(scene.side - 50, xOf(scene, until.start)));
  if (!a || !b || (x0 < scene.side && x1 < scene.side) || (x0 > scene.width && x1 > scene.width)) return;
  const y0 = a[0] + a[1] / 2;
  const y1 = b[0] + b[1] / 2;
  const bend = Math.max(14, Math.abs(x1 - x0) / 2);
  to.beginPath();
  to.moveTo(x0, y0);
  to.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  to.stroke();
  to.beginPath();
  to.moveTo(x1, y1);
  to.lineTo(x1 - 6, y1 - 3.5);
  to.lineTo(x1 - 6, y1 + 3.5);
  to.fill();
}
