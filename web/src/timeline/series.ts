// series.ts - a metric's row: a band from least to greatest and the mean as a line.
import type { Track } from "./lanes";
import { lowerBound, type Points } from "./piece";
import { xOf, type Scene } from "./scene";
import type { View } from "./view";
import { gapsOf, paintDashes, within as common } from "./waiting";

/** Points in view, and one on either side so that lines reach the edges: the first index, and
 * the index after the last. */
export function within(points: Points, view: View): [number, number] {
  const n = points.at.length;
  return [Math.max(0, lowerBound(points.at, 0, n, view.from) - 1), Math.min(n, lowerBound(points.at, 0, n, view.to) + 1)];
}

type Segments = ReturnType<Scene["points"]>;

/** The greatest value in view, at least `least`. */
export function greatest(segments: Segments, view: View, least: number): number {
  let most = least;
  for (const { piece } of segments) {
    if (!piece.points) continue;
    const [first, end] = within(piece.points, view);
    for (let i = first; i < end; i++) if (piece.points.most[i]! > most) most = piece.points.most[i]!; // NaN, unknown, is never greater
  }
  return most;
}

interface Part {
  points: Points;
  first: number;
  end: number; // the index after the last
}

/** The points in view as lines: the points of pieces that touch are one line, one that has not arrived yet divides it. */
export function linesOf(segments: Segments, view: View): Part[][] {
  const lines: Part[][] = [];
  let reached = NaN;
  for (const { piece, from, to } of segments) {
    if (!piece.points) continue;
    if (from !== reached) lines.push([]);
    reached = to;
    const [first, end] = within(piece.points, view);
    if (first < end) lines.at(-1)!.push({ points: piece.points, first, end });
  }
  return lines.filter((line) => line.length > 0);
}

const DOTTED = 60; // points in view below which each has a dot
const ABOVE = 1.2; // the row's height over that of its greatest value: room for the scale

export function paintSeries(to: CanvasRenderingContext2D, scene: Scene, track: Track, y: number, height: number): void {
  const { metric } = track.source!;
  const segments = scene.points(track);
  const lines = linesOf(segments, scene.view);
  for (const gap of gapsOf(segments, common(scene.view, scene.bounds))) paintDashes(to, scene.colours, Math.max(scene.side, xOf(scene, gap.from)), Math.min(scene.width, xOf(scene, gap.to)), y + height / 2);
  if (lines.length === 0) return;
  const top = metric.top ?? 0;
  const most = greatest(segments, scene.view, top);
  const whole = most > top ? most * ABOVE : most > 0 ? most : 1;
  const floor = y + height - 3;
  const room = height - 8;
  const yOf = (value: number): number => floor - Math.max(0, Math.min(1, value / whole)) * room;
  const colour = scene.colours.series[metric.colour] ?? scene.colours.text;
  to.save();
  to.beginPath();
  to.rect(scene.side, y, scene.width - scene.side, height);
  to.clip();
  const dotted = lines.reduce((sum, line) => line.reduce((n, { first, end }) => n + end - first, sum), 0) < DOTTED;
  for (const line of lines) {
    to.beginPath();
    for (const { points, first, end } of line) for (let i = first; i < end; i++) to.lineTo(xOf(scene, points.at[i]!), yOf(points.most[i]!));
    for (const { points, first, end } of [...line].reverse()) for (let i = end - 1; i >= first; i--) to.lineTo(xOf(scene, points.at[i]!), yOf(points.least[i]!));
    to.globalAlpha = 0.25;
    to.fillStyle = colour;
    to.fill();
    to.globalAlpha = 1;
    to.beginPath();
    for (const { points, first, end } of line) for (let i = first; i < end; i++) to.lineTo(xOf(scene, points.at[i]!), yOf(points.mean[i]!));
    to.strokeStyle = colour;
    to.lineWidth = 1.5;
    to.stroke();
    if (dotted) for (const { points, first, end } of line) for (let i = first; i < end; i++) to.fillRect(xOf(scene, points.at[i]!) - 1.5, yOf(points.mean[i]!) - 1.5, 3, 3);
  }
  to.restore();
  to.fillStyle = scene.colours.quiet;
  to.font = "10px ui-sans-serif, system-ui, sans-serif";
  to.textBaseline = "middle";
  to.fillText(metric.show(most), scene.side + 4, Math.max(y + 8, yOf(most)));
}
