// series.ts - a metric's row: a band from least to greatest and the mean as a line.
import type { Track } from "./lanes";
import { lowerBound, type Points } from "./piece";
import { xOf, type Scene } from "./scene";
import type { View } from "./view";

/** Points in view, and one on either side so that lines reach the edges: the first index, and
 * the index after the last. */
export function within(points: Points, view: View): [number, number] {
  const n = points.at.length;
  return [Math.max(0, lowerBound(points.at, 0, n, view.from) - 1), Math.min(n, lowerBound(points.at, 0, n, view.to) + 1)];
}

/** The greatest value in view, for the row's scale. */
export function greatest(segments: ReturnType<Scene["points"]>, view: View, least: number): number {
  let most = least;
  for (const { piece } of segments) {
    if (!piece.points) continue;
    const [first, end] = within(piece.points, view);
    for (let i = first; i < end; i++) if (piece.points.most[i]! > most) most = piece.points.most[i]!; // NaN, unknown, is never greater
  }
  return most > least ? most * 1.2 : most > 0 ? most : 1; // leaves room above, for the scale
}

export function paintSeries(to: CanvasRenderingContext2D, scene: Scene, track: Track, y: number, height: number): void {
  const { metric } = track.source!;
  const segments = scene.points(track);
  const most = greatest(segments, scene.view, metric.top ?? 0);
  const floor = y + height - 3;
  const room = height - 8;
  const yOf = (value: number): number => floor - Math.max(0, Math.min(1, value / most)) * room;
  const colour = scene.colours.series[metric.colour] ?? scene.colours.text;
  to.save();
  to.beginPath();
  to.rect(scene.side, y, scene.width - scene.side, height);
  to.clip();
  let any = false;
  for (const { piece } of segments) {
    const points = piece.points;
    if (!points || points.at.length === 0) continue;
    any = true;
    const [first, end] = within(points, scene.view);
    to.beginPath();
    for (let i = first; i < end; i++) to.lineTo(xOf(scene, points.at[i]!), yOf(points.most[i]!));
    for (let i = end - 1; i >= first; i--) to.lineTo(xOf(scene, points.at[i]!), yOf(points.least[i]!));
    to.globalAlpha = 0.25;
    to.fillStyle = colour;
    to.fill();
    to.globalAlpha = 1;
    to.beginPath();
    for (let i = first; i < end; i++) to.lineTo(xOf(scene, points.at[i]!), yOf(points.mean[i]!));
    to.strokeStyle = colour;
    to.lineWidth = 1.5;
    to.stroke();
    if (end - first < 60) for (let i = first; i < end; i++) to.fillRect(xOf(scene, points.at[i]!) - 1.5, yOf(points.mean[i]!) - 1.5, 3, 3);
  }
  to.restore();
  if (!any) return;
  to.fillStyle = scene.colours.quiet;
  to.font = "10px ui-sans-serif, system-ui, sans-serif";
  to.textBaseline = "middle";
  to.fillText(metric.show(most), scene.side + 4, y + 8);
}
