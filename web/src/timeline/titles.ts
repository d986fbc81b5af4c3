// titles.ts - the column of titles to the left of the lanes. It does not move with the view, so
// that it is drawn once and copied into each frame; it is drawn again after a change of scroll,
// layout, choice, theme or size.
import { count } from "../format/format";
import { timelineText as text } from "../text/timeline";
import { rowsWithin, type Row } from "./layout";
import { cutMiddle } from "./names";
import { TOP, type Scene } from "./scene";

export const FONT = '12px ui-sans-serif, "Inter", "Segoe UI", "DejaVu Sans", system-ui, sans-serif';
export const FONT_SMALL = '11px ui-sans-serif, "Inter", "Segoe UI", "DejaVu Sans", system-ui, sans-serif';
const FONT_BOLD = '600 12px ui-sans-serif, "Inter", "Segoe UI", "DejaVu Sans", system-ui, sans-serif';
const KEPT = 4096; // texts whose width is kept

/** Texts of one font, cut to the available width. */
export class Letters {
  private readonly widths = new Map<string, number>();

  constructor(readonly font: string) {}

  /** The width of a text on the canvas, which has this font already. */
  wide(to: CanvasRenderingContext2D, name: string): number {
    let wide = this.widths.get(name);
    if (wide === undefined) {
      if (this.widths.size > KEPT) this.widths.clear();
      wide = to.measureText(name).width;
      this.widths.set(name, wide);
    }
    return wide;
  }

  /** As much of a text as fits. */
  fitted(to: CanvasRenderingContext2D, name: string, room: number): string {
    const wide = this.wide(to, name);
    if (wide <= room) return name;
    const letters = Math.floor((name.length * room) / wide) - 2;
    return letters >= 2 ? `${name.slice(0, letters)}…` : "";
  }
}

/** The parts of a row to the right of its title, besides its events: the background of a head,
 * and the line above it. */
export function paintAcross(to: CanvasRenderingContext2D, scene: Scene, row: Row, y: number): void {
  const { colours, side, width } = scene;
  const track = scene.tracks[row.track];
  to.fillStyle = colours.surface2;
  if (!track && !row.lanes) to.fillRect(side, y, width - side, row.height); // the lanes of a rank's head are drawn there
  to.fillStyle = colours.line;
  if (!track || row.titled || track.source) to.fillRect(side, y, width - side, 1);
}

export class Titles {
  private readonly canvas = document.createElement("canvas");
  private readonly pen = this.canvas.getContext("2d", { alpha: false })!;
  private readonly small = new Letters(FONT_SMALL);
  private readonly plain = new Letters(FONT);
  private readonly bold = new Letters(FONT_BOLD);
  private drawn: readonly unknown[] = [];

  paint(to: CanvasRenderingContext2D, scene: Scene): void {
    const { ratio, side, height } = scene;
    const top = Math.round(TOP * ratio);
    const wide = Math.floor(side * ratio);
    const high = Math.round(height * ratio) - top;
    if (high <= 0) return;
    const { layout, scroll, active, closed, heads, tracks, colours } = scene;
    const now = [layout, scroll, active, closed, heads, tracks, colours, ratio, side, height];
    if (now.some((value, at) => value !== this.drawn[at])) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.pen.setTransform(ratio, 0, 0, ratio, 0, -top);
      this.draw(this.pen, scene);
      this.drawn = now;
    }
    to.setTransform(1, 0, 0, 1, 0, 0);
    to.drawImage(this.canvas, 0, top);
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  private draw(to: CanvasRenderingContext2D, scene: Scene): void {
    const { layout, height, side, colours } = scene;
    const below = TOP + layout.pinnedHeight;
    to.fillStyle = colours.surface;
    to.fillRect(0, TOP, side, height);
    this.part(to, scene, layout.rows, below - scene.scroll, below, height);
    if (!layout.pinned.length) return;
    to.fillStyle = colours.surface;
    to.fillRect(0, TOP, side, layout.pinnedHeight);
    this.part(to, scene, layout.pinned, TOP, TOP, below);
    to.fillStyle = colours.accent;
    to.fillRect(0, below - 1, side, 2);
  }

  /** Rows that begin at `origin`, within [top, bottom) of the canvas. */
  private part(to: CanvasRenderingContext2D, scene: Scene, rows: readonly Row[], origin: number, top: number, bottom: number): void {
    const [first, end] = rowsWithin(rows, top - origin, bottom - origin);
    to.save();
    to.beginPath();
    to.rect(0, top, scene.side, Math.max(0, bottom - top));
    to.clip();
    to.textBaseline = "middle";
    for (let at = first; at < end; at++) this.title(to, scene, rows[at]!, rows[at]!.y + origin);
    to.restore();
  }

  private title(to: CanvasRenderingContext2D, scene: Scene, row: Row, y: number): void {
    const { colours, side } = scene;
    const track = scene.tracks[row.track];
    to.fillStyle = !track || track.key === scene.active ? colours.surface2 : colours.surface;
    to.fillRect(0, y, side, row.height);
    to.fillStyle = colours.line;
    if (!track || row.titled || track.source) to.fillRect(0, y, side, 1);
    const middle = y + row.height / 2 + 0.5;
    if (!track) this.head(to, scene, row, middle);
    else this.trackTitle(to, scene, row.titled ? track.title : "", track.note, middle, track.source !== null ? y : null);
    if ((track ? track.key : row.category) !== scene.active) return;
    to.fillStyle = colours.accent;
    to.fillRect(0, y, 3, row.height);
  }

  private head(to: CanvasRenderingContext2D, scene: Scene, row: Row, middle: number): void {
    const { colours, side } = scene;
    const mark = scene.closed.has(row.category) ? "▸" : "▾";
    const rank = scene.heads.get(row.category);
    const note = side < 150 ? "" : (rank?.note ?? text.tracks(count(row.count)));
    to.font = this.small.font;
    const wide = this.small.wide(to, note);
    to.fillStyle = colours.quiet;
    to.fillText(note, side - 8 - wide, middle);
    to.font = this.bold.font;
    to.fillStyle = colours.text;
    to.fillText(this.bold.fitted(to, `${mark} ${rank?.title ?? text.categories[row.category] ?? ""}`, side - 22 - wide), 8, middle);
  }

  private trackTitle(to: CanvasRenderingContext2D, scene: Scene, title: string, note: string, middle: number, tall: number | null): void {
    const { colours, side } = scene;
    to.font = this.small.font;
    to.fillStyle = colours.quiet;
    const shown = side < 150 && title ? "" : this.small.fitted(to, note, side - 18);
    const wide = this.small.wide(to, shown);
    if (shown) to.fillText(shown, tall === null ? side - 8 - wide : 10, tall === null ? middle : tall + (title ? 32 : 14));
    if (!title) return;
    to.font = this.plain.font;
    to.fillStyle = colours.text;
    to.fillText(this.titleFitted(to, title, side - 18 - (tall === null ? wide + 6 : 0)), 10, tall === null ? middle : tall + 14);
  }

  /** As much of a row's title as fits; its two ends distinguish it from others ("GPU 0 · stream
   * 13"). */
  private titleFitted(to: CanvasRenderingContext2D, title: string, room: number): string {
    const fitted = this.plain.fitted(to, title, room);
    return fitted === title ? title : cutMiddle(title, fitted.length);
  }
}
