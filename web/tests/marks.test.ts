// Marks of a program: the questions to the server, the drawing, and the text of a payload.
import { describe, expect, it } from "vitest";
import { blocksOf, lodOf } from "../src/timeline/blocks";
import { Columns, type Segment } from "../src/timeline/columns";
import { hitAt } from "../src/timeline/hit";
import { inOrder, KIND, laneIdOf, laneOf, lookLanes, ofServer, type Lane } from "../src/timeline/lanes";
import { lodForMarks } from "../src/timeline/lod";
import { decimalText } from "../src/timeline/marked";
import { buffersOf, marksOf, sumsOf, type Piece } from "../src/timeline/piece";

const LANE = laneIdOf(KIND.mark, 0, 7);
const lane = (kind: number, ref: number, events = 1): Lane => ({ id: laneIdOf(kind, 0, ref), kind, depth: 0, ref, events, busy: 0, first: 0, last: 1e9 });
const piece = (more: Partial<Piece>): Piece => ({ from: 0, to: 1e9, column: 0, sums: null, events: null, points: null, halved: false, ...more });
const id = (index: number): number => index + 1;
const rows = (list: [number, number][], thread = 7) => ({
  start: list.map(([start]) => start),
  name: list.map(([, name]) => name),
  domain: list.map(() => 40),
  thread: list.map(() => thread),
  scope: list.map(([start]) => (start > 500 ? 9 : 0)),
});
const eventsOf = (list: [number, number][]) => marksOf(rows(list), [LANE], (thread) => laneIdOf(KIND.mark, 0, thread), id);
const drawn = (segments: Segment[], width: number, scale: number, labelFrom: number) => {
  const columns = new Columns();
  columns.begin(width);
  for (const segment of segments) columns.addMarks(segment, 0, { from: 0, scale, paint: (name) => name, labelFrom });
  return { cover: [...columns.cover.slice(0, width)].map((part) => part > 0), labels: columns.labels.map(({ x0, x1, name }) => [x0, x1, name]) };
};

describe("lanes of marks", () => {
  it("are the server's, and what the page makes is not", () => {
    expect(laneOf({ lane: LANE, events: 3, busy: 0, first: 1, last: 5 })).toMatchObject({ kind: KIND.mark, ref: 7, events: 3 });
    expect([KIND.kernel, KIND.run, KIND.sample, KIND.gap, KIND.mark, 13].map(ofServer)).toEqual([true, true, false, false, true, false]);
    expect(laneOf({ lane: laneIdOf(KIND.sample, 0, 7), events: 1, busy: 0, first: 0, last: 1 })).toBeNull();
  });
  it("stand above the scopes of their thread", () => {
    const looked = lookLanes({ thread: 7, samples: 1, launches: 0, stacks: 1, first: 0, last: 1 });
    expect(inOrder([lane(KIND.scope, 7), lane(KIND.mark, 8), lane(KIND.wait, 7), ...looked, lane(KIND.mark, 7)]).map(({ kind, ref }) => [kind, ref])[0]).toEqual([KIND.mark, 7]);
    expect(inOrder([lane(KIND.scope, 7), lane(KIND.mark, 7)]).map(({ kind }) => kind)).toEqual([KIND.mark, KIND.scope]);
  });
});

describe("what is asked for", () => {
  it("few marks come one by one at any zoom, very many as sums", () => {
    expect(lodForMarks(3600e9, 1000, 1, 12)).toEqual({ raw: true, m: 0, shift: 50 });
    expect(lodForMarks(3600e9, 1000, 1e-5, 36_000_000).raw).toBe(false); // 10 000 a second for an hour
    expect(lodForMarks(2e9, 1000, 1e-5, 36_000_000).raw).toBe(true);
  });
  it("a block of marks is distinguished from one of events", () => {
    const [marks] = blocksOf([lane(KIND.mark, 7, 5), lane(KIND.mark, 8, 6)]);
    const [kernels] = blocksOf([lane(KIND.kernel, 7, 11)]);
    expect([marks!.marks, kernels!.marks]).toEqual([11, null]);
    expect(lodOf(marks!, { from: 0, to: 60e9 }, 1000).raw).toBe(true);
    expect(lodOf(kernels!, { from: 0, to: 60e9 }, 1000).raw).toBe(false);
  });
});

describe("what is drawn", () => {
  it("ticks, each with room for its name as far as the next one", () => {
    const events = eventsOf([[100, 0], [200, 1], [900, 2]]);
    const { cover, labels } = drawn([{ piece: piece({ events }), from: 0, to: 1000 }], 100, 0.1, 26);
    expect(cover.flatMap((any, x) => (any ? [x] : []))).toEqual([10, 11, 20, 21, 90, 91]);
    expect(labels).toEqual([[20, 90, 2], [90, 100, 3]]); // between the first and the second there is none
  });
  it("names of very many cost nothing", () => {
    const events = eventsOf(Array.from({ length: 60_000 }, (_, n) => [n, n % 7]));
    expect(drawn([{ piece: piece({ events }), from: 0, to: 60_000 }], 1000, 1 / 60, 26).labels.length).toBeLessThan(3);
  });
  it("sums are ticks as high as the lane, without names", () => {
    const data = { lane: [LANE, LANE], at: [0, 400], events: [3, 1], busy: [0, 0], longest: [0, 0], name: [0, 1] };
    const { cover, labels } = drawn([{ piece: piece({ column: 100, sums: sumsOf(data, [LANE], 0, 1000, id) }), from: 0, to: 1000 }], 10, 0.01, 26);
    expect([cover, labels]).toEqual([[true, true, false, false, true, true, false, false, false, false], []]);
  });
});

describe("what lies under the pointer", () => {
  it("a mark, with its domain and the scope it lies in", () => {
    const events = eventsOf([[100, 0], [900, 2]]);
    const at = (time: number) => hitAt([{ piece: piece({ events }), from: 0, to: 1000 }], 0, time, 5);
    expect(at(903)).toMatchObject({ kind: "event", start: 900, duration: 0, name: 3, domain: 41, ref: 9 });
    expect(at(98)).toMatchObject({ start: 100, ref: NaN });
    expect(at(500)).toBeNull();
    expect(buffersOf(piece({ events }))).toContain(events.domain!.buffer);
  });
  it("marks of threads that were not asked for do not come", () => {
    expect(marksOf(rows([[1, 0]], 8), [LANE], (thread) => laneIdOf(KIND.mark, 0, thread), id).start.length).toBe(0);
  });
});

describe("payloads", () => {
  it("are written out exactly", () => {
    expect([[42, 0], [-3, 0], [0, 0], [625, -4], [-5, -1], [12, 3], [1, 30], [1, -30], [333333333333333, -15]].map(([value, exponent]) => decimalText(value!, exponent!))).toEqual([
      "42", "-3", "0", "0.0625", "-0.5", "12000", "1e30", "1e-30", "0.333333333333333",
    ]);
  });
});
