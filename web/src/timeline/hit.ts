// hit.ts - what is under the pointer: an event, or the sums of a column if there are only sums.
import type { Segment } from "./columns";
import { lowerBound, stackOf, type Events, type Piece } from "./piece";

export interface HitEvent {
  kind: "event";
  start: number;
  duration: number;
  name: number;
  ref: number;
  stack: number; // 0: not known here
  domain?: number; // of marks
}

export interface HitSum {
  kind: "sum";
  start: number;
  duration: number; // of the column
  events: number;
  busy: number;
  longest: number;
  name: number;
}

export type Hit = HitEvent | HitSum;

const domainOf = ({ domain }: Events, i: number): { domain?: number } => (domain?.[i] ? { domain: domain[i] } : {});

/** The innermost event of the lane at the time, or else the nearest event within `reach` ns, or
 * else the sums. */
export function hitAt(segments: readonly Segment[], lane: number, time: number, reach: number): Hit | null {
  let best: HitEvent | null = null;
  let far = Infinity;
  let sum: HitSum | null = null;
  for (const { piece, from, to } of segments) {
    if (to < time - reach || from > time + reach) continue;
    const { events, sums } = piece;
    if (events) {
      const end = events.offsets[lane + 1]!;
      for (let i = lowerBound(events.start, events.offsets[lane]!, end, time - reach - events.longest[lane]!); i < end && events.start[i]! <= time + reach; i++) {
        const start = events.start[i]!;
        const duration = events.duration[i]!;
        const away = time < start ? start - time : time > start + duration ? time - start - duration : 0;
        if (away > reach || away > far || (away === far && best && duration > best.duration)) continue;
        far = away;
        best = { kind: "event", start, duration, name: events.name[i]!, ref: events.ref[i]!, stack: stackOf(events, i), ...domainOf(events, i) };
      }
    }
    if (sums && time >= from && time < to) {
      const begin = sums.offsets[lane]!;
      const i = lowerBound(sums.at, begin, sums.offsets[lane + 1]!, time - piece.column + 1);
      if (i < sums.offsets[lane + 1]! && sums.at[i]! <= time)
        sum = { kind: "sum", start: sums.at[i]!, duration: piece.column, events: sums.events[i]!, busy: sums.busy[i]!, longest: sums.longest[i]!, name: sums.name[i]! };
    }
  }
  if (best && (far === 0 || !sum)) return best;
  return sum ?? best;
}

export interface Sample {
  at: number;
  least: number;
  mean: number;
  most: number;
}

/** The sample that is valid at a time: the last one before the time, as metrics are drawn. */
export function sampleAt(segments: readonly { piece: Piece }[], time: number): Sample | null {
  let best: Sample | null = null;
  for (const { piece } of segments) {
    const points = piece.points;
    if (!points) continue;
    const i = lowerBound(points.at, 0, points.at.length, time + 1) - 1;
    if (i < 0 || (best && points.at[i]! <= best.at)) continue;
    best = { at: points.at[i]!, least: points.least[i]!, mean: points.mean[i]!, most: points.most[i]! };
  }
  return best;
}

/** The next event of the lane after (before) a start, among these segments. */
export function neighbour(segments: readonly Segment[], lane: number, start: number, forward: boolean): HitEvent | null {
  let best: HitEvent | null = null;
  for (const { piece } of segments) {
    const { events } = piece;
    if (!events) continue;
    const begin = events.offsets[lane]!;
    const end = events.offsets[lane + 1]!;
    const i = forward ? lowerBound(events.start, begin, end, start + 1) : lowerBound(events.start, begin, end, start) - 1;
    if (i < begin || i >= end) continue;
    const at = events.start[i]!;
    if (best && (forward ? at >= best.start : at <= best.start)) continue;
    best = { kind: "event", start: at, duration: events.duration[i]!, name: events.name[i]!, ref: events.ref[i]!, stack: stackOf(events, i), ...domainOf(events, i) };
  }
  return best;
}
