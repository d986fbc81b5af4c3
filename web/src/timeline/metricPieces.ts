// metricPieces.ts - rows of metrics: which samples are asked for, what can be drawn of them, and
// which rows are hidden. Allocated memory comes as steps over the whole session; all other metrics
// come in pieces.
import { ALLOCATED } from "../format/metrics";
import type { Track } from "./lanes";
import { columnsFor, levelOf, piecesOf, sums } from "./lod";
import type { Piece } from "./piece";
import type { Want } from "./pieces";
import type { Scene } from "./scene";
import type { View } from "./view";

const HELD_STEPS = 4_000; // steps of allocated memory over the whole session, because the server sums from its start
const HELD_FINE = 10; // times as many steps for a view shorter than this fraction of the session
const SERIES_LEAST = 6; // m: samples are some 100 ms apart, a line needs those on either side
const PIECES_MOST = 12; // of one row, asked for at once: more than the widest screen has
const COARSER = 30; // levels that are searched for a replacement

export type Points = { piece: Piece; from: number; to: number }[];

/** Whether a track is a sampled metric: a view shorter than the time between two samples shows
 * nothing of it. */
export const isSampled = ({ source }: Track): boolean => source !== null && source.counter === null && source.metric !== ALLOCATED;

export class MetricPieces {
  private period = 0; // ns between two samples; 0: not known
  private sharp = false; // the view is shorter than the period

  constructor(
    private readonly session: string,
    private readonly scene: Scene,
    private readonly get: (key: string) => Piece | undefined,
    private readonly px: () => number, // CSS px of the axis
  ) {}

  setPeriod(period: number): void {
    this.period = period;
  }

  /** Whether the view's length changes which rows are hidden. */
  changes({ from, to }: View): boolean {
    const sharp = to - from < this.period;
    const changed = sharp !== this.sharp;
    this.sharp = sharp;
    return changed;
  }

  hides(track: Track): boolean {
    return this.sharp && isSampled(track);
  }

  wants(track: Track): Want[] {
    if (!track.source) return [];
    if (track.source.metric === ALLOCATED) return this.heldSteps().map((steps) => this.heldWant(track, steps));
    const { view, bounds } = this.scene;
    const { shift, step } = this.lod();
    const [a, b] = piecesOf(Math.max(view.from, bounds.from), Math.min(view.to, bounds.to), shift);
    const { device, metric, counter } = track.source;
    return Array.from({ length: Math.min(PIECES_MOST, b - a + 1) }, (_, i) => {
      const from = (a + i) * 2 ** shift;
      // One sample more on either side, so that lines reach the edges.
      return { key: `m${shift}/${a + i}/${track.key}`, ask: { kind: "series", session: this.session, device, metric: metric.name, counter, from, to: from + 2 ** shift, step } };
    });
  }

  points(track: Track): Points {
    if (track.source?.metric === ALLOCATED) return this.heldPoints(track);
    const { view } = this.scene;
    const out: Points = [];
    const { shift: now } = this.lod();
    for (let shift = now; shift <= now + COARSER && out.length === 0; shift++) {
      const [a, b] = piecesOf(view.from, view.to, shift);
      for (let index = a; index <= Math.min(b, a + PIECES_MOST); index++) {
        const piece = this.get(`m${shift}/${index}/${track.key}`);
        if (piece) out.push({ piece, from: index * 2 ** shift, to: (index + 1) * 2 ** shift });
      }
    }
    return out;
  }

  private lod(): { shift: number; step: number } {
    const { view } = this.scene;
    const lod = sums(Math.max(SERIES_LEAST, columnsFor((view.to - view.from) / this.px())));
    return { shift: lod.shift, step: levelOf(lod.m).column * 2 };
  }

  /** Steps of allocated memory, as fine as the view needs them; coarser ones until these have
   * arrived. */
  private heldSteps(): number[] {
    const { view, bounds } = this.scene;
    return (view.to - view.from) * HELD_FINE < bounds.to - bounds.from ? [HELD_STEPS * HELD_FINE, HELD_STEPS] : [HELD_STEPS];
  }

  private heldWant(track: Track, steps: number): Want {
    const { from, to } = this.scene.bounds;
    const { device, metric, counter } = track.source!;
    return { key: `h${steps}/${track.key}`, ask: { kind: "series", session: this.session, device, metric: metric.name, counter, from, to, step: Math.max(1, Math.ceil((to - from) / steps)) } };
  }

  private heldPoints(track: Track): Points {
    const { from, to } = this.scene.bounds;
    for (const steps of [...this.heldSteps(), HELD_STEPS * HELD_FINE]) {
      const piece = this.get(`h${steps}/${track.key}`);
      if (piece) return [{ piece, from, to }];
    }
    return [];
  }
}
