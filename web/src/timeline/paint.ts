// paint.ts - a frame. All lanes in view are made into one strip of pixels (columns.ts), BARS lines a
// lane, which is then stretched lane by lane: so that a frame costs the same whatever is in it. The strip
// is a canvas; the script holds the pixels of AT_ONCE lanes alone. Texts, lines and what is selected come
// on top.
import { axisOf } from "./axis";
import { Columns, type Drawing, type Label } from "./columns";
import { KIND, offsetOf } from "./lanes";
import { rowsWithin, type Row } from "./layout";
import { paintBookmarks } from "./bookmarks";
import { paintFlows, paintMarks } from "./marks";
import { paintSeries } from "./series";
import { pxPerNs, TOP, xOf, type Scene } from "./scene";
import { isLabelled, labelOf, narrowLabelOf, tintOf } from "./tint";
import { FONT_SMALL, Letters, paintAcross, Titles } from "./titles";
import type { View } from "./view";
import { paintDashes } from "./waiting";

const BARS = 10; // heights that a bar can have
const AT_ONCE = 4; // lanes whose pixels go to the strip together
const INSET = 2; // units between lanes
const LABEL_FROM = 26; // units of width from which an event shows its name
const LABELS_MOST = 500; // in one frame

const NO_LABELS: Label[] = [];
const NONE_MISSING: readonly View[] = [];

interface Drawn {
  row: Row;
  y: number; // units on the canvas
  line: number; // of the strip
  lines: number; // lines in the strip; 0: nothing visible
  missing: readonly View[]; // parts that have not arrived yet
  labels: Label[];
}

export class Painter {
  private readonly columns = new Columns();
  private readonly strip = document.createElement("canvas");
  private readonly stripTo = this.strip.getContext("2d", { willReadFrequently: true })!;
  private image: ImageData | null = null;
  private px = new Uint32Array(0);
  private readonly letters = new Letters(FONT_SMALL);
  private readonly titles = new Titles();

  paint(to: CanvasRenderingContext2D, scene: Scene): void {
    const { ratio, width, height, colours, layout, side } = scene;
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.fillStyle = colours.surface;
    to.fillRect(0, 0, width, height);
    const axis = axisOf(scene.view.from, scene.view.to, width - side);
    to.fillStyle = colours.line;
    to.globalAlpha = 0.5;
    for (const tick of axis.ticks) to.fillRect(Math.round(xOf(scene, tick.at)), TOP, 1, height - TOP);
    to.globalAlpha = 1;
    const below = TOP + layout.pinnedHeight;
    this.part(to, scene, layout.rows, below - scene.scroll, below, height);
    if (layout.pinned.length) {
      to.fillStyle = colours.surface;
      to.fillRect(0, TOP, width, layout.pinnedHeight);
      this.part(to, scene, layout.pinned, TOP, TOP, below);
      to.fillStyle = colours.accent;
      to.fillRect(0, below - 1, width, 2);
    }
    this.titles.paint(to, scene);
    paintFlows(to, scene);
    paintMarks(to, scene);
    this.axis(to, scene, axis);
    paintBookmarks(to, scene);
  }

  /** Rows that begin at `origin`, within [top, bottom) of the canvas. */
  private part(to: CanvasRenderingContext2D, scene: Scene, rows: readonly Row[], origin: number, top: number, bottom: number): void {
    const [first, end] = rowsWithin(rows, top - origin, bottom - origin);
    to.save();
    to.beginPath();
    to.rect(0, top, scene.width, Math.max(0, bottom - top));
    to.clip();
    const drawn = this.fill(scene, rows.slice(first, end), origin);
    this.copy(to, scene, drawn);
    this.names(to, scene, drawn);
    for (let at = first; at < end; at++) {
      const row = rows[at]!;
      const track = scene.tracks[row.track];
      if (track?.source) paintSeries(to, scene, track, row.y + origin, row.height);
      paintAcross(to, scene, row, row.y + origin);
    }
    to.restore();
  }

  private fill(scene: Scene, rows: readonly Row[], origin: number): Drawn[] {
    const wide = Math.max(1, Math.round((scene.width - scene.side) * scene.ratio));
    const drawn: Drawn[] = [];
    const lanes = rows.filter((row) => row.lanes ?? (row.track >= 0 && scene.tracks[row.track]!.lane >= 0));
    this.room(wide, lanes.length * BARS);
    const scale = pxPerNs(scene) * scene.ratio;
    let line = 0; // of the strip
    let held = 0; // lines in px that are not in the strip yet
    for (const row of lanes) {
      this.columns.begin(wide);
      let missing: readonly View[] = row.track < 0 && scene.heads.get(row.category)?.pending ? [scene.view] : NONE_MISSING;
      for (const lane of row.lanes ?? [scene.tracks[row.track]!.lane]) {
        const segments = scene.segments(lane);
        const offset = offsetOf(scene.lanes[lane]!);
        const drawing: Drawing = { from: scene.view.from - offset, scale, paint: tintOf(scene, lane), labelFrom: LABEL_FROM * scene.ratio };
        const marks = scene.lanes[lane]!.kind === KIND.mark;
        for (const segment of segments) {
          if (marks) this.columns.addMarks(segment, scene.blockLane(lane), drawing);
          else this.columns.add(segment, scene.blockLane(lane), drawing);
        }
        const gaps = scene.gaps(lane);
        if (missing.length === 0 && gaps.length > 0) missing = gaps.map((gap) => ({ from: gap.from + offset, to: gap.to + offset }));
      }
      const lines = this.columns.pixels(this.px, held, BARS, scene.colours.px);
      const labelled = row.track >= 0 && isLabelled(scene.lanes[scene.tracks[row.track]!.lane]!.kind);
      drawn.push({ row, y: row.y + origin, line, lines, missing, labels: labelled && this.columns.labels.length ? this.columns.labels.slice() : NO_LABELS });
      line += lines;
      held += lines;
      if (held > (AT_ONCE - 1) * BARS) held = this.flush(line, held);
    }
    this.flush(line, held);
    return drawn;
  }

  /** Makes room for lanes of that width, and in the strip for that many lines. */
  private room(wide: number, lines: number): void {
    if (this.image?.width !== wide) {
      this.image = new ImageData(wide, AT_ONCE * BARS);
      this.px = new Uint32Array(this.image.data.buffer);
    }
    if (this.strip.width === wide && this.strip.height >= lines) return;
    this.strip.width = wide;
    this.strip.height = lines + AT_ONCE * BARS;
  }

  /** Writes the held lines into the strip, so that they end before `end`. Returns how many lines are held then: 0. */
  private flush(end: number, held: number): number {
    if (held > 0) this.stripTo.putImageData(this.image!, 0, end - held, 0, 0, this.image!.width, held);
    return 0;
  }

  private copy(to: CanvasRenderingContext2D, scene: Scene, drawn: readonly Drawn[]): void {
    to.imageSmoothingEnabled = false;
    const wide = scene.width - scene.side;
    for (const { row, y, line, lines, missing } of drawn) {
      if (lines > 0) to.drawImage(this.strip, 0, line, this.strip.width, lines, scene.side, y + INSET / 2, wide, row.height - INSET);
      for (const gap of missing) paintDashes(to, scene.colours, Math.max(scene.side, xOf(scene, gap.from)), Math.min(scene.width, xOf(scene, gap.to)), y + row.height / 2);
    }
  }

  private names(to: CanvasRenderingContext2D, scene: Scene, drawn: readonly Drawn[]): void {
    let left = LABELS_MOST;
    to.font = this.letters.font;
    to.textBaseline = "middle";
    for (const { row, y, labels } of drawn) {
      if (labels.length === 0) continue; // the head of a rank has no labels, and no single lane
      const { kind } = scene.lanes[scene.tracks[row.track]!.lane]!;
      for (const label of labels) {
        if (left-- <= 0) return;
        const name = labelOf(scene, kind, label.name, label.stack);
        if (!name) continue;
        const x = scene.side + label.x0 / scene.ratio + 4;
        const room = (label.x1 - label.x0) / scene.ratio - 9;
        const narrow = narrowLabelOf(scene, kind, label.stack);
        const whole = this.letters.fitted(to, name, room);
        const short = whole !== name && narrow ? this.letters.fitted(to, narrow, room) : whole;
        if (!short) continue;
        to.fillStyle = kind === KIND.mark ? scene.colours.text : (scene.colours.ink[label.colour] ?? scene.colours.text);
        to.fillText(short, x, y + row.height / 2 + 0.5);
      }
    }
  }

  private axis(to: CanvasRenderingContext2D, scene: Scene, axis: ReturnType<typeof axisOf>): void {
    const { colours, width, side, height } = scene;
    to.fillStyle = colours.surface2;
    to.fillRect(0, 0, width, TOP);
    to.fillStyle = colours.line;
    to.fillRect(0, TOP - 1, width, 1);
    to.fillRect(side - 1, 0, 1, height);
    to.textBaseline = "middle";
    to.font = FONT_SMALL;
    to.fillStyle = colours.quiet;
    if (axis.baseText) to.fillText(axis.baseText, 10, TOP / 2);
    for (const tick of axis.ticks) {
      const x = Math.round(xOf(scene, tick.at));
      if (x < side) continue;
      to.fillStyle = colours.line;
      to.fillRect(x, TOP - 8, 1, 7);
      to.fillStyle = colours.text;
      if (x + 4 + to.measureText(tick.text).width < width) to.fillText(tick.text, x + 4, TOP / 2);
    }
  }
}
