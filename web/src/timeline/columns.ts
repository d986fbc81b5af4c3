// columns.ts - a lane as columns of device px: the busy part of each column, and the colour of what
// takes most of it. Sums and events of every level become the same columns, so that a coarse piece
// and its finer replacement look alike.
import { lowerBound, stackOf, type Events, type Piece, type Sums } from "./piece";

/** The part [from, to) of a piece that is drawn. */
export interface Segment {
  piece: Piece;
  from: number;
  to: number;
}

export interface Label {
  x0: number; // px
  x1: number;
  name: number;
  stack: number;
  colour: number; // index
}

export type Paint = (name: number, stack: number) => number; // index of a colour

/** How a lane is drawn. */
export interface Drawing {
  from: number; // the view's begin
  scale: number; // px per ns
  paint: Paint;
  labelFrom: number; // px; a narrower event has no label
}

const GAP_FROM = 4; // px: between events of this width a px is left free
const LEAST = 0.02; // a smaller part is drawn with this height, so that it is visible
const TICK = 2; // px of a mark
const NONE = 1e-4; // of a column: less is an error of the 32-bit sums

export class Columns {
  cover = new Float32Array(0); // busy part, 0 to 1; sums may go beyond
  colour = new Uint8Array(0);
  private best = new Float32Array(0); // the part of the column's colour
  private any = false; // whether any column has something
  // The next arrays describe columns that are covered in part: the number of lines of each, the columns, the columns by
  // their lines, and where the columns with each number of lines begin.
  private high = new Uint8Array(0);
  private parts = new Uint32Array(0);
  private ended = new Uint32Array(0);
  private ends = new Uint32Array(0);
  labels: Label[] = [];
  width = 0;

  begin(width: number): void {
    if (this.cover.length < width) {
      this.cover = new Float32Array(width);
      this.colour = new Uint8Array(width);
      this.best = new Float32Array(width);
      this.high = new Uint8Array(width);
      this.parts = new Uint32Array(width);
      this.ended = new Uint32Array(width);
    }
    this.cover.fill(0, 0, width);
    this.best.fill(0, 0, width);
    this.width = width;
    this.any = false;
    this.labels.length = 0;
  }

  /** Adds lane `lane` of the segment's block. */
  add(segment: Segment, lane: number, drawing: Drawing): void {
    const { sums, events } = segment.piece;
    if (sums) this.addSums(sums, lane, segment, drawing);
    if (events) this.addEvents(events, lane, segment, drawing);
  }

  /** Adds a lane of marks. Each mark is a tick with its name to the right, up to the next mark;
   * a summed column with marks is a tick. */
  addMarks(segment: Segment, lane: number, { from, scale, paint, labelFrom }: Drawing): void {
    const { sums, events, column } = segment.piece;
    const rows = sums ? { at: sums.at, offsets: sums.offsets, name: sums.name } : events ? { at: events.start, offsets: events.offsets, name: events.name } : null;
    if (!rows) return;
    const end = rows.offsets[lane + 1]!;
    for (let i = lowerBound(rows.at, rows.offsets[lane]!, end, segment.from - column); i < end && rows.at[i]! < segment.to; i++) {
      const x = Math.floor((rows.at[i]! - from) * scale);
      const name = rows.name[i]!;
      const colour = paint(name, 0);
      for (let at = x; at < x + TICK; at++) this.some(at, 1, colour);
      if (sums) continue;
      const before = this.labels[this.labels.length - 1];
      if (before) before.x1 = Math.min(before.x1, x);
      if (before && before.x1 - before.x0 < labelFrom) this.labels.pop(); // there is no room for the label, so that it does not count
      if (x >= 0 && x < this.width) this.labels.push({ x0: x, x1: this.width, name, stack: 0, colour });
    }
  }

  private some(x: number, part: number, colour: number): void {
    if (x < 0 || x >= this.width) return;
    this.any = true;
    this.cover[x]! += part;
    if (part > this.best[x]!) {
      this.best[x] = part;
      this.colour[x] = colour;
    }
  }

  private addSums(sums: Sums, lane: number, segment: Segment, { from, scale, paint }: Drawing): void {
    const { at: begins, busy, name } = sums;
    const { column } = segment.piece;
    const { width } = this;
    const end = sums.offsets[lane + 1]!;
    const narrow = column * scale < 1;
    for (let i = lowerBound(begins, sums.offsets[lane]!, end, segment.from - column + 1); i < end && begins[i]! < segment.to; i++) {
      const at = Math.max(segment.from, begins[i]!);
      const until = Math.min(segment.to, begins[i]! + column);
      const part = Math.min(1, Math.max(LEAST, busy[i]! / column));
      const colour = paint(name[i]!, 0);
      const x0 = (at - from) * scale;
      if (narrow) {
        this.some(Math.floor(x0), part * (until - at) * scale, colour);
        continue;
      }
      const first = Math.round(x0);
      const last = Math.min(width, Math.max(Math.round((until - from) * scale), first + 1));
      for (let x = Math.max(0, first); x < last; x++) this.some(x, part, colour);
    }
  }

  private addEvents(events: Events, lane: number, segment: Segment, drawing: Drawing): void {
    const { from, scale, paint, labelFrom } = drawing;
    const end = events.offsets[lane + 1]!;
    const first = lowerBound(events.start, events.offsets[lane]!, end, segment.from - events.longest[lane]!);
    for (let i = first; i < end; i++) {
      const start = events.start[i]!;
      if (start >= segment.to) break;
      const stop = start + events.duration[i]!;
      if (stop < segment.from || (stop === segment.from && start < stop)) continue;
      const x0 = (Math.max(start, segment.from) - from) * scale;
      const x1 = (Math.min(stop, segment.to) - from) * scale;
      if (x1 < 0 || x0 >= this.width) continue;
      const colour = paint(events.name[i]!, stackOf(events, i));
      if (x1 - x0 < 1) {
        this.some(Math.floor(x0), start === stop ? 1 : Math.max(LEAST, x1 - x0), colour); // an event without length is a mark
        continue;
      }
      this.solid(x0, x1, stop <= segment.to && (stop - start) * scale >= GAP_FROM, colour);
      if (x1 - x0 >= labelFrom) this.label(events, i, drawing, colour);
    }
  }

  /** Adds an event that is wider than a px: all of its columns, with a gap after it if it ends
   * here. */
  private solid(x0: number, x1: number, gap: boolean, colour: number): void {
    const a = Math.max(0, Math.round(x0));
    let b = Math.max(Math.round(x0) + 1, Math.round(x1));
    if (gap && b > Math.round(x0) + 1) b--;
    b = Math.min(this.width, b);
    if (b <= a) return;
    this.any = true;
    this.cover.fill(1, a, b);
    this.best.fill(2, a, b);
    this.colour.fill(colour, a, b);
  }

  /** Adds one label for each event, over its whole visible width, whatever pieces it comes from. */
  private label(events: Events, i: number, { from, scale }: Drawing, colour: number): void {
    const start = events.start[i]!;
    const name = events.name[i]!;
    const x0 = Math.max(0, (start - from) * scale);
    const x1 = Math.min(this.width, (start + events.duration[i]! - from) * scale);
    const last = this.labels[this.labels.length - 1];
    if (last && last.x0 === x0 && last.x1 === x1 && last.name === name) return;
    this.labels.push({ x0, x1, name, stack: stackOf(events, i), colour });
  }

  /** Writes the columns as lines of px to `out`, from line `line` on, bottom line last. Returns
   * how many lines were written: `rows` if some column is covered in part, one if every column
   * is full or empty, none if all are empty. */
  pixels(out: Uint32Array, line: number, rows: number, colours: Uint32Array): number {
    if (!this.any) return 0;
    const { width, cover, colour, high, parts, ended } = this;
    const top = line * width;
    const whole = (rows - 1) / rows + NONE;
    if (this.ends.length <= rows) this.ends = new Uint32Array(rows + 1);
    const ends = this.ends.fill(0); // the number of columns with so many lines, then where these columns begin in `ended`
    let count = 0;
    for (let x = 0; x < width; x++) {
      const part = cover[x]!;
      out[top + x] = part > NONE ? colours[colour[x]!]! : 0;
      if (part <= NONE || part > whole) continue;
      const lines = Math.ceil((part - NONE) * rows);
      high[x] = lines;
      ends[lines]!++;
      parts[count++] = x;
    }
    if (count === 0) return 1;
    for (let lines = 1, at = 0; lines <= rows; lines++) {
      at += ends[lines]!;
      ends[lines] = at;
    }
    for (let i = count - 1; i >= 0; i--) ended[--ends[high[parts[i]!]!]!] = parts[i]!;
    out.copyWithin(top + (rows - 1) * width, top, top + width);
    for (let level = 2; level <= rows; level++) {
      const base = top + (rows - level) * width;
      out.copyWithin(base, base + width, base + 2 * width);
      for (let i = ends[level - 1]!; i < ends[level]!; i++) out[base + ended[i]!] = 0;
    }
    return rows;
  }
}
