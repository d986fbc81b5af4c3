// mini.ts - the whole session in a strip: how busy its streams are, and which part is shown. The
// busy part is computed again only when its pieces or its size change.
import { Columns, type Drawing, type Segment } from "./columns";
import { timelineText as text } from "../text/timeline";
import type { Resolved } from "./lanePieces";
import type { Piece } from "./piece";
import type { Scene } from "./scene";
import type { View } from "./view";
import { paintDashes } from "./waiting";

interface Kept {
  key: string;
  pieces: readonly Piece[];
  busy: Float32Array;
  gaps: readonly View[];
}

let kept: Kept | null = null;
let ground: { canvas: HTMLCanvasElement; of: readonly unknown[] } | null = null; // the drawing without its moving parts
const columns = new Columns();
const GAP = 10; // units before and after a text

/** Mean over the lanes, 0 to 1, one value for each device px. */
export function busyOf(segments: readonly Segment[], lanes: number, from: number, to: number, px: number): Float32Array {
  const busy = new Float32Array(px);
  const drawing: Drawing = { from, scale: px / (to - from), paint: () => 0, labelFrom: Infinity };
  for (let lane = 0; lane < lanes; lane++) {
    columns.begin(px);
    for (const segment of segments) columns.add(segment, lane, drawing);
    for (let x = 0; x < px; x++) busy[x]! += Math.min(1, columns.cover[x]!);
  }
  const most = busy.reduce((a, b) => Math.max(a, b), 0);
  return most > 0 ? busy.map((value) => value / most) : busy;
}

export const miniX = (scene: Scene, time: number): number => scene.side + ((time - scene.bounds.from) / (scene.bounds.to - scene.bounds.from)) * (scene.width - scene.side);
export const miniTime = (scene: Scene, x: number): number => scene.bounds.from + ((x - scene.side) / (scene.width - scene.side)) * (scene.bounds.to - scene.bounds.from);

/** The busy part of the streams, the parts that have not arrived, and the title; they are drawn again only
 * when one of these changes. */
function groundOf(scene: Scene, { busy, gaps }: Kept, lanes: number, height: number): HTMLCanvasElement {
  const { ratio, width, side, colours } = scene;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const to = canvas.getContext("2d", { alpha: false })!;
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  to.fillStyle = colours.surface2;
  to.fillRect(0, 0, width, height);
  to.fillStyle = colours.surface;
  to.fillRect(side, 0, width - side, height);
  to.fillStyle = colours.series["--series-1"] ?? colours.text;
  to.beginPath();
  to.moveTo(side, height);
  for (let x = 0; x < busy.length; x++) to.lineTo(side + x / ratio, height - busy[x]! * (height - 6));
  to.lineTo(width, height);
  to.fill();
  to.font = '11px ui-sans-serif, "Inter", "Segoe UI", "DejaVu Sans", system-ui, sans-serif';
  to.textBaseline = "middle";
  to.fillStyle = colours.quiet;
  to.fillText(side < 150 ? text.miniShort : scene.miniLabel, 10, height / 2);
  if (lanes === 0) to.fillText(text.miniNone, side + 10, height / 2);
  for (const gap of gaps) {
    const [x0, x1] = [miniX(scene, gap.from), miniX(scene, gap.to)];
    const said = x1 - x0 > 2 * GAP + to.measureText(text.miniWaits).width ? text.miniWaits : "";
    const after = said ? x0 + 2 * GAP + to.measureText(said).width : x0;
    to.fillStyle = colours.quiet;
    if (said) to.fillText(said, x0 + GAP, height / 2);
    paintDashes(to, colours, after, x1, height / 2);
  }
  return canvas;
}

export function paintMini(to: CanvasRenderingContext2D, scene: Scene, { segments, gaps }: Resolved, lanes: number, height: number): void {
  const { ratio, width, side, bounds, view, colours } = scene;
  const px = Math.max(1, Math.round((width - side) * ratio));
  const key = `${px} ${lanes} ${bounds.from} ${bounds.to}`;
  const pieces = segments.map((segment) => segment.piece);
  if (!kept || kept.key !== key || kept.pieces.length !== pieces.length || kept.pieces.some((piece, at) => piece !== pieces[at]))
    kept = { key, pieces, busy: busyOf(segments, lanes, bounds.from, bounds.to, px), gaps };
  const of = [kept.busy, colours, ratio, width, side, height, scene.miniLabel, lanes];
  if (!ground || of.some((value, at) => value !== ground!.of[at])) ground = { canvas: groundOf(scene, kept, lanes, height), of };
  to.setTransform(1, 0, 0, 1, 0, 0);
  to.drawImage(ground.canvas, 0, 0);
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  const x0 = Math.max(side, miniX(scene, view.from));
  const x1 = Math.min(width, Math.max(x0 + 2, miniX(scene, view.to)));
  to.fillStyle = colours.ground;
  to.globalAlpha = 0.62;
  to.fillRect(side, 0, x0 - side, height);
  to.fillRect(x1, 0, width - x1, height);
  to.globalAlpha = 1;
  if (scene.range) {
    to.fillStyle = colours.focus;
    to.globalAlpha = 0.3;
    to.fillRect(miniX(scene, scene.range.from), 0, Math.max(1, miniX(scene, scene.range.to) - miniX(scene, scene.range.from)), height);
    to.globalAlpha = 1;
  }
  if (scene.selected) {
    to.fillStyle = colours.accent;
    to.fillRect(miniX(scene, scene.selected.hit.start) - 1, 0, 2, height);
  }
  to.strokeStyle = colours.accent;
  to.lineWidth = 2;
  to.strokeRect(x0 + 1, 1, Math.max(2, x1 - x0 - 2), height - 2);
}
