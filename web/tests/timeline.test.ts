// The timeline's logic: lanes and rows, the pieces of a view, pieces as columns, the event under
// the pointer, the order of hits, the cache. Times are ns since the session's start.
import { describe, expect, it } from "vitest";
import { axisOf, exactTime, niceStep } from "../src/timeline/axis";
import { blocksOf, needed, resolve, spotsOf, type Block } from "../src/timeline/blocks";
import { bookmarkAt, bookmarksOf, rangeOfBookmark, viewOfBookmark } from "../src/timeline/bookmarks";
import { colourOfKind, hasNames } from "../src/timeline/colours";
import { Columns, type Segment } from "../src/timeline/columns";
import { factsOfConfig } from "../src/timeline/config";
import { compare, nextOf } from "../src/timeline/events";
import { hitAt, neighbour, sampleAt } from "../src/timeline/hit";
import { wheelPx } from "../src/timeline/input";
import { extent, inOrder, KIND, laneOf, listOf, tracksOf, type Lane, type Track } from "../src/timeline/lanes";
import { Lines } from "../src/timeline/lines";
import { looksOf, reachOf, stateOf, type SampleRow } from "../src/timeline/looks";
import { byLine, csvOf, stacksOfWaits, type RangeRow } from "../src/timeline/rangeRows";
import { layOut, rowAt, rowsWithin } from "../src/timeline/layout";
import { coarser, columnsFor, keyOf, levelOf, lodFor, pieceAt, piecesOf, rawShift, sums, topFor } from "../src/timeline/lod";
import { MetricPieces } from "../src/timeline/metricPieces";
import { busyOf } from "../src/timeline/mini";
import { colourOf, hashOf, Names } from "../src/timeline/names";
import { bytesOf, eventsOf, lowerBound, pointsOf, putStacks, stackOf, sumsOf, type Piece, type SpanRows, type TileRows } from "../src/timeline/piece";
import { Pieces, type Line, type Want } from "../src/timeline/pieces";
import type { Reply, Request } from "../src/timeline/protocol";
import type { Scene } from "../src/timeline/scene";
import { wordsOf } from "../src/text/kernel";
import { around, bounded, panned, rangeOf, rangeText, SHORTEST, zoomed } from "../src/timeline/view";

const laneId = (kind: number, depth: number, ref: number): string => String((BigInt(kind) << 56n) | (BigInt(depth) << 48n) | BigInt(ref));
const lane = (kind: number, ref: number, depth = 0, events = 10): Lane => laneOf({ lane: laneId(kind, depth, ref), events, busy: 5, first: 0, last: 1000 })!;

describe("lanes", () => {
  it("kind, depth and reference of a number that no double holds", () =>
    expect(lane(KIND.scope, 2 ** 47 + 1, 255)).toMatchObject({ kind: 5, depth: 255, ref: 2 ** 47 + 1 }));
  it("what is no lane, or of a kind of tomorrow, is left out", () => {
    const row = { events: 1, busy: 1, first: 0, last: 1 };
    expect([null, "", "x", "-5", laneId(9, 0, 1)].map((id) => laneOf({ lane: id, ...row }))).toEqual([null, null, null, null, null]);
  });
  it("are listed in addresses as runs, whatever their order", () => {
    expect(listOf([])).toBe("");
    expect(listOf(["7"])).toBe("7");
    expect(listOf(["9", "7", "3", "8", "8"])).toBe("3,7*3");
    const streams = Array.from({ length: 24 }, (_, at) => laneId(KIND.kernel, 0, at + 1));
    expect(listOf(streams)).toBe("72057594037927937*24");
    expect(listOf([laneId(KIND.copy, 0, 1), ...streams].reverse())).toBe("72057594037927937*24,144115188075855873");
  });
  it("threads first, scopes from the outside in, then waits; streams with kernels before copies", () => {
    const mixed = [lane(KIND.copy, 1), lane(KIND.kernel, 2), lane(KIND.wait, 9), lane(KIND.scope, 9, 1), lane(KIND.kernel, 1), lane(KIND.scope, 9, 0), lane(KIND.graph, 9), lane(KIND.sync, 9)];
    expect(inOrder(mixed).map((l) => `${l.ref}:${l.kind}.${l.depth}`)).toEqual(["9:5.0", "9:5.1", "9:4.0", "9:3.0", "9:6.0", "1:1.0", "1:2.0", "2:1.0"]);
  });
  it("a title once a thread; metrics of each GPU", () => {
    const metric = { name: "power", text: "power", colour: "--series-2", show: String };
    const tracks = tracksOf(inOrder([lane(KIND.scope, 9), lane(KIND.wait, 9), lane(KIND.kernel, 1)]), { devices: ["A", "B"], device: [metric, metric], host: [metric], allocated: false, counters: [], text: { power: "Power" } });
    expect(layOut(tracks, { pinned: [], closed: new Set() }).rows.filter((row) => row.track >= 0).map((row) => row.titled)).toEqual([true, false, true, true, false, true, false, true]);
    expect(tracks.map((track) => track.key).slice(3)).toEqual(["d1.power", "d1.power", "d2.power", "d2.power", "h.power"]);
    expect(layOut(tracks, { pinned: [tracks[0]!.key], closed: new Set() }).rows[1]).toMatchObject({ track: 1, titled: true });
  });
  it("streams stand with their GPU, threads have names", () => {
    const owners = { streams: new Map([[1, { device: 2, number: 7 }], [2, { device: 1, number: null }]]), threads: new Map([[9, "python"]]) };
    const sorted = inOrder([lane(KIND.kernel, 1), lane(KIND.kernel, 2), lane(KIND.kernel, 3), lane(KIND.wait, 9), lane(KIND.wait, 8)], owners);
    expect(tracksOf(sorted, { devices: [], device: [], host: [], allocated: false, counters: [], text: {} }, owners).map((track) => track.title)).toEqual(["Thread 8", "python 9", "Stream, id 3 of the session", "GPU 0", "GPU 1 · stream 7"]);
  });
  it("streams of a GPU stand by the numbers that their rows show, each with all of its rows", () => {
    const owners = { threads: new Map(), streams: new Map([[1, { device: 1, number: 13 }], [2, { device: 1, number: 7 }], [3, { device: 2, number: 2 }]]) };
    const sorted = inOrder([lane(KIND.copy, 1), lane(KIND.kernel, 1), lane(KIND.kernel, 2), lane(KIND.copy, 2), lane(KIND.kernel, 3)], owners);
    expect(sorted.map(({ kind, ref }) => [kind, ref])).toEqual([[KIND.kernel, 2], [KIND.copy, 2], [KIND.kernel, 1], [KIND.copy, 1], [KIND.kernel, 3]]);
  });
  it("from the first event to the last end, at least the session's length", () =>
    expect([extent([], 0), extent([], 500), extent([{ ...lane(1, 1), first: -20, last: 900 }], 500)]).toEqual([[0, 1], [0, 500], [-20, 900]]));
});

describe("rows", () => {
  const tracks = tracksOf(inOrder(Array.from({ length: 10_000 }, (_, i) => lane(KIND.kernel, i + 1))), { devices: [], device: [], host: [], allocated: false, counters: [], text: {} });
  const layout = layOut(tracks, { pinned: [tracks[7]!.key, "gone"], closed: new Set() });
  it("10 000 streams: each y has its row", () => {
    expect(layout.rows).toHaveLength(1 + 10_000 - 1);
    for (const at of [0, 1, 5000, layout.rows.length - 1]) {
      const row = layout.rows[at]!;
      expect([rowAt(layout.rows, row.y), rowAt(layout.rows, row.y + row.height - 0.5)]).toEqual([at, at]);
    }
    expect([rowAt(layout.rows, -1), rowAt(layout.rows, layout.height), rowAt([], 0)]).toEqual([-1, -1, -1]);
  });
  it("a pinned track stands above, and only there; an unknown one nowhere", () => {
    expect(layout.pinned.map((row) => row.track)).toEqual([7]);
    expect(layout.rows.some((row) => row.track === 7)).toBe(false);
  });
  it("rows of a window, no more", () => {
    const [first, end] = rowsWithin(layout.rows, 1000, 1500);
    expect(layout.rows[first]!.y <= 1000 && layout.rows[end - 1]!.y < 1500 && layout.rows[end]!.y >= 1500).toBe(true);
    expect([rowsWithin(layout.rows, -50, 0), rowsWithin(layout.rows, layout.height, layout.height + 9), rowsWithin([], 0, 9)]).toEqual([[0, 0], [0, 0], [0, 0]]);
  });
  it("a closed category is its head alone", () => expect(layOut(tracks, { pinned: [], closed: new Set(["streams"]) }).rows).toHaveLength(1));
});

describe("the view", () => {
  const bounds = { from: 0, to: 1e12 };
  it("stays within the session and a margin", () => {
    expect(bounded({ from: -1e12, to: 2e12 }, bounds)).toEqual({ from: -2e10, to: 1.02e12 });
    const right = bounded({ from: 5e12, to: 5e12 + 100 }, bounds);
    expect([right.to - right.from, right.to]).toEqual([100, 1.02e12]);
  });
  it("gets no narrower than some ns, and what is no number is the start", () => {
    const narrow = bounded({ from: 500, to: 500 }, bounds);
    expect(narrow.to - narrow.from).toBe(SHORTEST);
    expect(Number.isFinite(bounded({ from: NaN, to: NaN }, bounds).from)).toBe(true);
  });
  it("zooming keeps the time under the pointer", () => {
    const view = zoomed({ from: 100, to: 300 }, 150, 0.5);
    expect((150 - view.from) / (view.to - view.from)).toBeCloseTo(0.25);
    expect(panned(view, 10).from - view.from).toBe(10);
    expect(around(1000, 90)).toEqual({ from: 910, to: 1180 });
  });
  it("single ns are distinguishable 100 days in", () => {
    const at = 100 * 86_400e9 + 1;
    const view = bounded(zoomed({ from: 0, to: at + 1e9 }, at, 1e-30), { from: 0, to: at + 1e9 });
    const px = (time: number) => ((time - view.from) / (view.to - view.from)) * 1000;
    expect(Math.round(px(at + 1) - px(at))).toBe(1000 / SHORTEST);
  });
  it("addresses hold whole ns; anything else is no range", () => {
    expect(rangeOf(rangeText({ from: 12.9, to: 4096.1 }))).toEqual({ from: 12, to: 4097 });
    expect(rangeOf("-20--10")).toEqual({ from: -20, to: -10 });
    expect([null, "", "5", "9-3", "1-9999999999999999999", "a-b", "1-2<b>"].map(rangeOf)).toEqual(Array(7).fill(null));
  });
});

describe("level of detail", () => {
  it("a column is one to two px wide, at any zoom", () => {
    for (let nsPerPx = 2 ** 17; nsPerPx < 2 ** 45; nsPerPx *= 1.37) {
      const { column } = levelOf(columnsFor(nsPerPx));
      expect(column > nsPerPx * 0.999 && column <= 2 * nsPerPx).toBe(true);
    }
  });
  it("columns are the server's: a level of the pyramid and a number of its buckets", () => {
    for (let m = 0; m <= 43; m++) {
      const { level, step, column } = levelOf(m);
      expect(level <= 7 && 2 ** (17 + 3 * level) * step === column && step <= 1048576 * 4).toBe(true);
    }
    expect(levelOf(4)).toEqual({ level: 1, step: 2, column: 2 ** 21 });
  });
  it("pieces nest: the half of a piece is two of the level below", () => {
    for (const time of [0, 1, 2 ** 40 + 12345, -7])
      expect(Math.floor(pieceAt(time, 30) / 2)).toBe(pieceAt(time, 31));
    expect([piecesOf(0, 2 ** 30, 30), piecesOf(-1, 1, 30), piecesOf(5, 5, 30)]).toEqual([[0, 0], [-1, 0], [0, 0]]);
  });
  it("single events where there are few enough, sums else", () => {
    expect(lodFor(1e6, 1000, 1e-4).raw).toBe(true); // a kernel per 10 µs
    expect(lodFor(1e12, 1000, 1e-4).raw).toBe(false);
    expect(lodFor(200e6, 2000, 1e-3).raw).toBe(false); // 200 000 of them
    expect(lodFor(2e6, 2000, 1e-3).raw).toBe(true);
    expect([rawShift(0), rawShift(1), rawShift(1e9)]).toEqual([27, 13, 8]);
  });
  it("stand-ins: coarser ones, nearest first; the top holds it all", () => {
    expect(coarser(sums(2), 4).map((lod) => lod.m)).toEqual([3, 4]);
    expect(coarser({ raw: true, m: 0, shift: 20 }, 1).map((lod) => lod.m)).toEqual([0, 1]);
    const [first, last] = piecesOf(-5, 36e11, sums(topFor(-5, 36e11)).shift);
    expect(last - first).toBeLessThanOrEqual(1);
    expect(new Set([keyOf(sums(0), 1, 2), keyOf({ raw: true, m: 0, shift: 27 }, 1, 2), keyOf(sums(0), 12, 2), keyOf(sums(0), 1, 22)]).size).toBe(4);
  });
});

const A = laneId(1, 0, 1);
const B = laneId(1, 0, 2);
const id = (i: number): number => i + 1;
const tiles = (rows: [string, number, number, number][]): TileRows => ({ lane: rows.map((r) => r[0]), at: rows.map((r) => r[1]), events: rows.map(() => 2), busy: rows.map((r) => r[2]), longest: rows.map(() => 1), name: rows.map((r) => r[3]) });
const spans = (rows: [string, number, number, number | null][]): SpanRows => ({ lane: rows.map((r) => r[0]), start: rows.map((r) => r[1]), duration: rows.map((r) => r[2]), name: rows.map((r) => r[3]), ref: rows.map((_, i) => i) });
const pieceOf = (from: number, to: number, part: Partial<Piece>): Piece => ({ from, to, column: 0, sums: null, events: null, points: null, halved: false, ...part });
const whole = (piece: Piece): Segment => ({ piece, from: piece.from, to: piece.to });

describe("pieces of answers", () => {
  it("sums belong to the piece in which they begin; rows by lane", () => {
    const got = sumsOf(tiles([[A, -16, 1, 0], [A, 0, 4, 0], [A, 16, 8, 1], [A, 32, 9, 0], [B, 8, 3, 2]]), [B, A], 0, 32, id);
    expect([[...got.offsets], [...got.at], [...got.busy], [...got.name]]).toEqual([[0, 1, 3], [8, 0, 16], [3, 4, 8], [3, 1, 2]]);
  });
  it("events keep their order; names and references may be unknown", () => {
    const got = eventsOf({ ...spans([[A, 0, 10, null], [A, 12, 100, 0], [B, 5, 1, 1]]), ref: [7, null, 9] }, [A, B], id);
    expect([[...got.offsets], [...got.name], [...got.ref], [...got.longest]]).toEqual([[0, 2, 3], [0, 1, 2], [7, NaN, 9], [100, 1]]);
  });
  it("times that no double holds, negative durations, lanes that were not asked for are left out", () => {
    const got = eventsOf(spans([[A, 2 ** 53, 1, null], [A, 1, -1, null], ["99", 1, 1, null], [A, 3, 0, null]]), [A], id);
    expect([...got.start]).toEqual([3]);
    expect(sumsOf(tiles([[A, 2 ** 60, 1, 0]]), [A], 0, 2 ** 61, id).at).toHaveLength(0);
  });
  it("events without stacks keep no room for them", () => {
    const got = eventsOf(spans([[A, 0, 10, null], [A, 12, 100, 0]]), [A], id);
    putStacks(got, [A], { lane: [A], start: [0], stack: [0] });
    expect([got.stack.length, stackOf(got, 1)]).toEqual([0, 0]);
    putStacks(got, [A], { lane: [A], start: [12], stack: [7] });
    expect([stackOf(got, 0), stackOf(got, 1)]).toEqual([0, 7]);
  });
  it("samples that are unknown are no points", () => expect([...pointsOf({ at: [0, 1, 2], least: [1, null, 3], mean: [1, null, 3], most: [1, null, 3] }, 0, 2).at]).toEqual([0]));
  it("bytes are counted, bounds are found", () => {
    expect(bytesOf(pieceOf(0, 1, { sums: sumsOf(tiles([[A, 0, 1, 0]]), [A], 0, 1, id) }))).toBe(200 + 8 + 8 + 4 * 4);
    const long = sumsOf(tiles([[A, 0, 2 ** 32, 0], [A, 1, 3, 0]]), [A], 0, 2, id); // one busy time needs more than 32 bits
    expect([...long.busy]).toEqual([2 ** 32, 3]);
    expect(long.busy.BYTES_PER_ELEMENT).toBe(8);
    expect([0, 1, 5, 9].map((time) => lowerBound(Float64Array.of(1, 5, 5, 7), 0, 4, time))).toEqual([0, 0, 1, 4]);
  });
});

const paint = (name: number): number => name;
const cover = (segments: Segment[], from: number, scale: number, width: number): number[] => {
  const columns = new Columns();
  columns.begin(width);
  for (const segment of segments) columns.add(segment, 0, { from, scale, paint, labelFrom: 1e9 });
  return [...columns.cover.slice(0, width)].map((part) => Math.round(part * 1000) / 1000);
};

describe("columns", () => {
  it("sums wider than a px fill their px with their part", () => {
    const piece = pieceOf(0, 40, { column: 20, sums: sumsOf(tiles([[A, 0, 10, 0], [A, 20, 20, 0]]), [A], 0, 40, id) });
    expect(cover([whole(piece)], 0, 0.1, 4)).toEqual([0.5, 0.5, 1, 1]);
  });
  it("sums narrower than a px add up to the same", () => {
    const fine = pieceOf(0, 40, { column: 5, sums: sumsOf(tiles([[A, 0, 5, 0], [A, 5, 0, 0], [A, 20, 5, 0], [A, 25, 5, 0], [A, 30, 5, 0], [A, 35, 5, 0]]), [A], 0, 40, id) });
    expect(cover([whole(fine)], 0, 0.05, 2).map((part) => Math.round(part * 20) / 20)).toEqual([0.25, 1]);
  });
  it("an event over two pieces is drawn once, without a gap between them", () => {
    const part = (from: number, to: number): Segment => whole(pieceOf(from, to, { events: eventsOf(spans([[A, 10, 60, 0]]), [A], id) }));
    expect(cover([part(0, 40), part(40, 80)], 0, 0.1, 8)).toEqual([0, 1, 1, 1, 1, 1, 0, 0]);
  });
  it("short events add up; none is lost from sight", () => {
    const piece = pieceOf(0, 20, { events: eventsOf(spans([[A, 1, 2, 0], [A, 4, 3, 0], [A, 15, 0, 0]]), [A], id) });
    const got = cover([whole(piece)], 0, 0.1, 2);
    expect(got[0]).toBe(0.5);
    expect(got[1]).toBeGreaterThan(0);
  });
  it("one event of an hour in a view of 20 ns fills it", () => {
    const piece = pieceOf(0, 2 ** 42, { events: eventsOf(spans([[A, 0, 3600e9, 0]]), [A], id) });
    expect(cover([{ piece, from: 1e12, to: 1e12 + 20 }], 1e12, 50, 1000).every((part) => part === 1)).toBe(true);
  });
});

describe("columns as px", () => {
  it("the colour is that of what takes most, the bar as high as the part", () => {
    const columns = new Columns();
    columns.begin(1);
    columns.add(whole(pieceOf(0, 10, { events: eventsOf(spans([[A, 0, 2, 3], [A, 4, 4, 5]]), [A], id) })), 0, { from: 0, scale: 0.1, paint, labelFrom: 1e9 });
    const px = new Uint32Array(10);
    columns.pixels(px, 0, 10, Uint32Array.from({ length: 10 }, (_, i) => 100 + i));
    expect([...px]).toEqual([0, 0, 0, 0, 106, 106, 106, 106, 106, 106]);
  });
  it("a lane has as many lines as distinguish its columns: none, one or all", () => {
    const colours = Uint32Array.from({ length: 10 }, (_, i) => 100 + i);
    const lines = (parts: number[]): [number, number[][]] => {
      const columns = new Columns();
      columns.begin(parts.length);
      const rows = parts.flatMap((part, x) => (part > 0 ? [[A, x * 100, part * 100, x % 3] as [string, number, number, number]] : []));
      columns.add(whole(pieceOf(0, 100 * parts.length, { events: eventsOf(spans(rows), [A], id) })), 0, { from: 0, scale: 0.01, paint, labelFrom: 1e9 });
      const px = new Uint32Array(12 * parts.length).fill(7);
      const count = columns.pixels(px, 2, 10, colours);
      return [count, Array.from({ length: count }, (_, line) => [...px.slice((2 + line) * parts.length, (3 + line) * parts.length)])];
    };
    expect(lines([0, 0, 0])).toEqual([0, []]);
    expect(lines([0, 1, 0])[0]).toBe(1);
    expect(lines([0, 1, 0])[1][0]!.map((px) => px > 0)).toEqual([false, true, false]);
    const parts = [0.05, 0.5, 0, 1, 0.91, 0.1, 0.3, 0.5];
    const [count, drawn] = lines(parts);
    expect(count).toBe(10);
    drawn.forEach((line, row) => expect(line.map((px) => px > 0)).toEqual(parts.map((part) => part > (9 - row) / 10 + 1e-4)));
    for (const line of drawn) for (const [x, px] of line.entries()) expect([0, drawn[9]![x]]).toContain(px);
  });
  it("the mini-map is the mean over lanes, its greatest at the top", () => {
    const piece = pieceOf(0, 40, { column: 10, sums: sumsOf(tiles([[A, 0, 10, 0], [A, 10, 5, 0], [B, 0, 10, 0]]), [A, B], 0, 40, id) });
    expect([...busyOf([whole(piece)], 2, 0, 40, 4)]).toEqual([1, 0.25, 0, 0]);
  });
});

describe("under the pointer", () => {
  const events = eventsOf(spans([[A, 0, 100, 0], [A, 10, 20, 1], [A, 200, 5, 2]]), [A], id);
  const segments = [whole(pieceOf(0, 1000, { events }))];
  it("the innermost event", () => expect(hitAt(segments, 0, 15, 0)).toMatchObject({ kind: "event", start: 10, ref: 1 }));
  it("near is near enough, far is nothing", () => {
    expect(hitAt(segments, 0, 208, 4)).toMatchObject({ start: 200 });
    expect(hitAt(segments, 0, 300, 4)).toBeNull();
  });
  it("sums where there are no events", () => {
    const piece = pieceOf(0, 40, { column: 20, sums: sumsOf(tiles([[A, 20, 10, 0]]), [A], 0, 40, id), events: eventsOf(spans([]), [A], id) });
    expect([hitAt([whole(piece)], 0, 25, 1), hitAt([whole(piece)], 0, 5, 1)]).toMatchObject([{ kind: "sum", busy: 10, events: 2 }, null]);
  });
  it("neighbours", () => {
    expect(neighbour(segments, 0, 10, true)).toMatchObject({ start: 200 });
    expect(neighbour(segments, 0, 10, false)).toMatchObject({ start: 0 });
    expect(neighbour(segments, 0, 200, true)).toBeNull();
  });
  it("the sample before a time", () => {
    const points = pointsOf({ at: [0, 10, 20], least: [1, 2, 3], mean: [1, 2, 3], most: [1, 2, 3] }, 0, 30);
    expect([sampleAt([{ piece: pieceOf(0, 30, { points }) }], 19)?.mean, sampleAt([{ piece: pieceOf(0, 30, { points }) }], 20)?.mean, sampleAt([], 5)]).toEqual([2, 3, null]);
  });
  it("wheels speak of px, lines and pages", () => expect([wheelPx(3, 0), wheelPx(3, 1), wheelPx(1, 2)]).toEqual([3, 72, 400]));
});

describe("search", () => {
  const hit = (start: number, ref: number) => ({ lane: laneId(1, 0, ref), start, duration: 1, name: "x", short: "x", ref: 0 });
  const all = [hit(5, 1), hit(5, 2), hit(5, 10), hit(9, 1)];
  it("goes through hits that start at once, by lane", () => {
    const seen = [];
    for (let here = nextOf(all, null, true); here; here = nextOf(all, here, true)) seen.push(`${here.start}:${BigInt(here.lane) & 255n}`);
    expect(seen).toEqual(["5:1", "5:2", "5:10", "9:1"]);
  });
  it("and back again", () => {
    expect(nextOf(all, hit(9, 1), false)).toEqual(hit(5, 10));
    expect(nextOf(all, hit(5, 1), false)).toBeNull();
  });
  it("lanes are compared as the numbers they are", () => expect(compare(hit(1, 9), hit(1, 10))).toBeLessThan(0));
});

describe("names and colours", () => {
  it("a name has its colour for ever", () => {
    expect([hashOf(""), hashOf("gemm"), colourOf("gemm")]).toEqual([0x811c9dc5, 0x85fc8323, 11]);
  });
  it("labels are the server's, each once", () => {
    const names = new Names();
    names.add([{ name: "f(int)", mangled: "_Z1fi", short: "f" }]);
    names.add([{ name: "f(long)", mangled: "_Z1fl", short: "f" }]);
    expect([names.short(1), names.short(2)]).toEqual(["f", "f #2"]);
  });
  it("of the worker and of the page; what is searched for", () => {
    const names = new Names();
    names.add(Array.from({ length: 300 }, (_, i) => ({ name: `k${i}()`, mangled: `_Z2k${i}v`, short: `k${i}` })));
    const own = names.numberOf("from the server", "short");
    expect([names.text(1), names.short(300), names.text(own), own < 0, names.numberOf("from the server", "short")]).toEqual(["k0()", "k299", "from the server", true, own]);
    names.find("K29");
    expect([1, 30, 300, 0].map((i) => names.found(i))).toEqual([false, true, true, false]);
    names.find("_z2k1v");
    expect(names.found(2)).toBe(true);
  });
  it("kinds without names have colours of their own", () => {
    expect([hasNames(KIND.scope), hasNames(KIND.copy), colourOfKind(KIND.copy)]).toEqual([true, false, 12]);
  });
});

describe("the axis", () => {
  it("steps are 1, 2 or 5", () => expect([0, 1, 3, 7, 1.1e6, 6e9].map(niceStep)).toEqual([1, 1, 5, 10, 2e6, 10e9]));
  it("ticks from 0 in the unit that suits", () => expect(axisOf(0, 1e9, 550).ticks.map((tick) => tick.text).slice(0, 3)).toEqual(["0", "200 ms", "400 ms"]));
  it("deep inside they count from a base", () => {
    const axis = axisOf(2_093_078_318, 2_093_078_358, 1000);
    expect([axis.baseText, axis.ticks[0]!.text, axis.step]).toEqual(["2.093\u202f078\u202f300 s", "+20 ns", 5]);
  });
  it("times have every digit", () => expect([exactTime(0), exactTime(1_234_567_890_123), exactTime(-5)]).toEqual(["0.000\u202f000\u202f000 s", "1\u202f234.567\u202f890\u202f123 s", "-0.000\u202f000\u202f005 s"]));
});

describe("what stands in", () => {
  const block: Block = { number: 7, ids: [A], density: 1e-6, marks: null, extent: { from: 0, to: 1 } };
  const kept = new Map<string, Piece>();
  const get = (key: string): Piece | undefined => kept.get(key);
  const put = (m: number, index: number): Piece => {
    const { shift } = sums(m);
    const piece = pieceOf(index * 2 ** shift, (index + 1) * 2 ** shift, { column: levelOf(m).column });
    kept.set(keyOf(sums(m), index, 7), piece);
    return piece;
  };
  const view = { from: 0, to: 2 ** 32 }; // two pieces of m = 4
  it("nothing, while nothing is here", () => expect(resolve(get, block, sums(4), 9, view)).toEqual([]));
  it("a coarser piece, for its part of the view", () => {
    const coarse = put(7, 0);
    expect(resolve(get, block, sums(4), 9, view)).toEqual([{ piece: coarse, from: 0, to: 2 ** 31 }, { piece: coarse, from: 2 ** 31, to: 2 ** 32 }]);
  });
  it("the right one where it is here", () => {
    const right = put(4, 1);
    expect(resolve(get, block, sums(4), 9, view)[1]).toEqual({ piece: right, from: 2 ** 31, to: 2 ** 32 });
  });
  it("finer ones where they cover it", () => {
    const [a, b] = [put(3, 0), put(3, 1)];
    expect(resolve(get, block, sums(4), 9, view).slice(0, 2)).toEqual([{ piece: a, from: 0, to: 2 ** 30 }, { piece: b, from: 2 ** 30, to: 2 ** 31 }]);
  });
  it("halves of what was too much, and these are needed", () => {
    const raw = { raw: true, m: 0, shift: 20 };
    kept.set(keyOf(raw, 0, 7), pieceOf(0, 2 ** 20, { halved: true }));
    const half = pieceOf(0, 2 ** 19, {});
    kept.set(keyOf({ ...raw, shift: 19 }, 0, 7), half);
    const small = { from: 0, to: 2 ** 20 };
    expect(resolve(get, block, raw, 9, small)[0]).toEqual({ piece: half, from: 0, to: 2 ** 19 });
    expect(needed(get, block, raw, small).map(({ lod, index }) => `${lod.shift}/${index}`)).toEqual(["20/0", "19/0", "19/1"]);
  });
  it("the middle of the view comes first", () => expect(needed(get, block, sums(4), { from: 0, to: 2 ** 31 * 5 }).map(({ index }) => index)[0]).toBe(2));
  it("the same lanes are the same block, whatever comes before them", () => {
    const lanes = Array.from({ length: 30 }, (_, i) => lane(KIND.kernel, i));
    expect(blocksOf(lanes)[1]!.number).toBe(blocksOf(lanes.slice(24))[0]!.number);
  });
});

/** A cache whose questions and answers a test writes. */
function scripted(ceiling = 1e9) {
  const sent: Request[] = [];
  const later: (() => void)[] = [];
  let reply: (r: Reply) => void = () => undefined;
  let changes = 0;
  const line: Line = { send: (r) => sent.push(r), onReply: (take) => (reply = take), close: () => undefined };
  const pieces = new Pieces(line, ceiling, () => undefined, () => changes++, { later: (run) => later.push(run), never: () => undefined });
  const want = (key: string): Want => ({ key, ask: { kind: "lanes", session: "s", lod: sums(0), from: 0, to: 1, lanes: [key], threads: [] } });
  const asked = (): string[] => sent.flatMap((r) => ("ask" in r && r.ask.kind === "lanes" ? r.ask.lanes : []));
  const idOf = (key: string): number => sent.filter((r) => "ask" in r && r.ask.kind === "lanes" && r.ask.lanes[0] === key).at(-1)!.id;
  const arrive = (key: string, rows = 1): void => reply({ id: idOf(key), names: [], piece: pieceOf(0, 1, { sums: sumsOf(tiles(Array.from({ length: rows }, (_, i) => [A, i, 1, 0])), [A], 0, 1e9, id) }) });
  const fail = (key: string): void => reply({ id: idOf(key), names: [], wrong: { status: 500, title: "", message: "down", request: null } });
  return { pieces, sent, later, want, asked, arrive, fail, changes: () => changes };
}

describe("the cache of pieces", () => {
  it("four at once, in the order of urgency; the next as one comes", () => {
    const s = scripted();
    s.pieces.want(["a", "b", "c", "d", "e"].map(s.want));
    expect(s.asked()).toEqual(["a", "b", "c", "d"]);
    s.arrive("b");
    expect([s.asked()[4], s.pieces.get("b") !== undefined, s.changes()]).toEqual(["e", true, 1]);
  });
  it("what is not wanted any more is called off, and what is here is not asked again", () => {
    const s = scripted();
    s.pieces.want([s.want("a"), s.want("b")]);
    s.arrive("a");
    s.pieces.want([s.want("a"), s.want("c")]);
    expect(s.sent.filter((r) => "stop" in r)).toHaveLength(1);
    expect(s.asked()).toEqual(["a", "b", "c"]);
    s.arrive("b"); // too late
    expect(s.pieces.get("b")).toBeUndefined();
  });
  it("stays below its ceiling: the longest unused goes", () => {
    const s = scripted(3 * (200 + 8 + 36));
    for (const key of ["a", "b", "c"]) {
      s.pieces.want([s.want(key)]);
      s.arrive(key);
    }
    s.pieces.get("a");
    s.pieces.want([s.want("d")]);
    s.arrive("d");
    expect(["a", "b", "c", "d"].map((key) => s.pieces.get(key) !== undefined)).toEqual([true, false, true, true]);
    expect(s.pieces.size).toBeLessThanOrEqual(3 * 244);
  });
  it("a session that grew is asked again, and drawn as it was until then", () => {
    const s = scripted();
    s.pieces.want([s.want("a")]);
    s.arrive("a");
    s.pieces.grown();
    expect([s.asked(), s.pieces.get("a") !== undefined, s.pieces.fresh("a")]).toEqual([["a", "a"], true, false]);
    s.arrive("a");
    expect(s.pieces.fresh("a")).toBe(true);
  });
  it("tries again a few times, says what is wrong, and starts over when asked to", () => {
    const s = scripted();
    s.pieces.want([s.want("a")]);
    for (let times = 0; times < 4; times++) {
      s.fail("a");
      s.later.pop()?.();
    }
    expect([s.asked().length, s.pieces.problem()?.message]).toEqual([4, "down"]);
    s.pieces.again();
    expect([s.asked().length, s.pieces.problem()]).toEqual([5, null]);
  });
});

const sample = (at: number, stack: number, state = 1): SampleRow => ({ at, samples: 1, state, stack });

describe("what the host did", () => {
  it("samples of one line that follow each other are one event; a pause ends it", () => {
    const rows = [sample(0, 1), sample(5e6, 2), sample(10e6, 3), sample(15e6, 3), sample(90e6, 3)];
    const places = Uint32Array.of(0, 7, 7, 8);
    const events = looksOf([{ kind: KIND.sample, ref: 1 }], { samples: new Map([[1, rows]]), launches: new Map(), step: 1 }, places, { from: 0, to: 200e6 });
    expect([...events.start]).toEqual([0, 10e6, 90e6]);
    expect([...events.duration]).toEqual([10e6, 12.5e6, 7.5e6]);
    expect([...events.ref]).toEqual([2, 2, 1]);
    expect([...events.offsets]).toEqual([0, 3]);
  });

  it("a sample before the begin of a piece covers it, and no event leaves its piece", () => {
    const rows = [0, 5e6, 10e6, 15e6, 20e6, 25e6].map((at) => sample(at, 1));
    const border = 17e6;
    const piece = (from: number, to: number) => {
      const here = rows.filter(({ at }) => at >= from - reachOf(1) && at < to);
      const events = looksOf([{ kind: KIND.sample, ref: 1 }], { samples: new Map([[1, here]]), launches: new Map(), step: 1 }, Uint32Array.of(0, 7), { from, to });
      return [...events.start].map((start, i) => [start, start + events.duration[i]!]);
    };
    expect([piece(0, border), piece(border, 40e6)]).toEqual([[[0, border]], [[border, 32.5e6]]]);
    expect([reachOf(1), reachOf(2 ** 23), reachOf(2 ** 30)]).toEqual([30e6, 4 * 2 ** 23, 2 ** 31]);
  });

  it("states, launches and threads without rows have lanes of their own", () => {
    const rows = [sample(0, 0, 3), sample(5e6, 0, 3), sample(10e6, 0, 0), sample(15e6, 0, 1)];
    const lanes = [KIND.state, KIND.sample, KIND.launch].map((kind) => ({ kind, ref: 1 }));
    const launches = new Map([[1, [{ at: 4, launches: 1, correlation: 99, stack: 5 }]]]);
    const events = looksOf([...lanes, { kind: KIND.launch, ref: 2 }], { samples: new Map([[1, rows]]), launches, step: 1 }, new Uint32Array(0), { from: 0, to: 200e6 });
    expect([...events.offsets]).toEqual([0, 2, 2, 3, 3]);
    expect([...events.name]).toEqual([3, 1, 1]);
    expect([events.start[2], events.duration[2], events.ref[2], events.stack[2]]).toEqual([4, 0, 99, 5]);
    expect([stateOf([0, 2, 1, 0]), stateOf([0, 0, 0, 0]), stateOf([null, null, 3, 1])]).toEqual([2, 0, 3]);
  });
});

const DOCUMENT = {
  causes: [{ cause: "host_sync", text: "waited" }, { cause: "copy", text: "copied" }],
  gaps: { device: [0, 0, 1], start: [10, 50, 20], duration: [5, 7, 9], cause: [0, 0, 1], node: [2, 0, 1], ended_by: [0, 0, 1] },
  gap_sums: { step_ns: 100, rows: [[0, 0, 0, 3, 12]] },
  stacks: [0, 2, 1],
  nodes: { parent: [0, 0, 1], place: [0, 1, 2], frame: [0, 1, 2] },
  frames: [[], ["outer.py:1 main()"], ["inlined()", "inner.py:2 step()"]],
  places: [null, { place: "outer.py:1", file: "/a/outer.py", line: 1, function: "main" }, { place: "inner.py:2", file: "/a/inner.py", line: 2, function: null }],
  kernels: [{ symbol: "_Z1kv", place: 2, scope: "step" }],
};

describe("lines and gaps of a session", () => {
  it("a stack has its line and its frames, and gaps are lanes by cause", () => {
    const lines = new Lines(DOCUMENT);
    expect(lines.line(1)?.place).toBe("inner.py:2");
    expect(lines.framesOf(1)).toEqual(["inlined()", "inner.py:2 step()", "outer.py:1 main()"]);
    expect(lines.line(0)).toBe(null);
    expect(lines.kernel("_Z1kv")).toEqual({ place: 2, scope: "step" });
    expect(lines.gaps.map(({ depth, ref, events, busy, first, last }) => [depth, ref, events, busy, first, last])).toEqual([[0, 0, 5, 24, 0, 57], [1, 1, 1, 9, 20, 29]]);
    const hit = hitAt([whole(lines.gaps[0]!.piece!)], 0, 12, 0);
    expect(hit).toMatchObject({ kind: "event", start: 10, duration: 5 });
    expect(lines.line(hit?.kind === "event" ? hit.stack : 0)?.place).toBe("inner.py:2");
    expect(byLine([{ lane: "1", start: 0, duration: 10, stack: 1 }, { lane: "1", start: 90, duration: 40, stack: 0 }], lines, { from: 5, to: 100 }, "?").map(({ name, total }) => [name, total])).toEqual([["?", 10], ["inner.py:2", 5]]);
    expect(stacksOfWaits([{ lane: "1", start: 0, duration: 10, stack: 1 }], lines, { from: 0, to: 10 }, "?")).toEqual([{ frames: ["outer.py:1 main()", "inner.py:2 step()", "inlined()"], ns: 10 }]);
  });

  it("a document that is invalid, or broken, gives no lines and no lanes", () => {
    for (const document of [null, undefined, 7, {}, { gaps: { start: ["x"] }, places: 3, nodes: { parent: [5], place: [9], frame: [1e9] }, stacks: [0, 0] }, { ...DOCUMENT, nodes: { parent: [0, 2, 1], place: [], frame: [] } }]) {
      const lines = new Lines(document);
      expect(lines.line(1)).toBe(null);
      expect(lines.framesOf(1).length).toBeLessThan(5000);
    }
    expect(new Lines({ ...DOCUMENT, gaps: { ...DOCUMENT.gaps, cause: [9, 9, 9] } }).gaps.length).toBe(1);
  });
});

describe("blocks of lanes", () => {
  it("lanes that are asked for alike are blocks; gaps are asked for by nobody", () => {
    const lane = (id: string, kind: number): Lane => ({ id, kind, depth: 0, ref: 0, events: 1, busy: 1, first: 0, last: 1 });
    const { blocks, spots } = spotsOf([lane("1", KIND.kernel), lane("2", KIND.sample), lane("3", KIND.gap), lane("4", KIND.copy)], ({ kind }) => (kind === KIND.gap ? -1 : Number(kind === KIND.sample)));
    expect(blocks.map(({ ids }) => ids)).toEqual([["1", "4"], ["2"]]);
    expect(spots).toEqual([{ block: 0, at: 0 }, { block: 1, at: 0 }, { block: -1, at: 0 }, { block: 0, at: 1 }]);
  });
});

describe("a launch configuration", () => {
  it("is given in words; what is unknown is left out", () => {
    const none = { config: 1, grid_x: null, grid_y: null, grid_z: null, block_x: 128, block_y: null, block_z: 1, registers: 32, shared_static: 1024, shared_dynamic: null, local: 0, warps: 32, max_warps: 64 };
    expect(factsOfConfig(none, wordsOf("")).map(([, value]) => value)).toEqual(["128 × 1 × 1", "32", "1.00 KiB", "50 % (32 of 64 warps)"]);
    expect(factsOfConfig({ ...none, local: 16 }, wordsOf("amd"))).toEqual([
      ["Workgroup", "128 × 1 × 1"],
      ["Registers a work-item", "32"],
      ["LDS a workgroup", "1.00 KiB"],
      ["Scratch memory a work-item", "16 B"],
      ["Occupancy, theoretical", "50 % (32 of 64 wavefronts)"],
    ]);
  });
});

describe("bookmarks", () => {
  const row = (id: string, start: number, duration: number) => ({ id, session: "s", start, duration, note: id, created: null, creator: "" });
  const list = bookmarksOf([row("short", 500, 100), row("moment", 900, 0), row("long", 500, 400), row("first", 10, 5)]);
  const scene = { side: 100, width: 1100, view: { from: 0, to: 1000 }, bookmarks: list } as unknown as Scene; // 1 unit a ns
  it("by their begin, the longer one first", () => expect(list.map((one) => one.id)).toEqual(["first", "long", "short", "moment"]));
  it("the nearest flag counts before the time around the pointer, then the shortest time", () => {
    expect(bookmarkAt(scene, 100 + 898)?.id).toBe("moment");
    expect(bookmarkAt(scene, 100 + 550)?.id).toBe("short");
    expect(bookmarkAt(scene, 100 + 700)?.id).toBe("long");
    expect(bookmarkAt(scene, 100 + 300)).toBeNull();
    expect(bookmarkAt(scene, 99)).toBeNull(); // a row's title
  });
  it("a range is selected with room on both sides; a moment keeps the view's width", () => {
    const [, long, , moment] = list;
    expect(rangeOfBookmark(long!)).toEqual({ from: 500, to: 900 });
    expect(viewOfBookmark(long!, { from: 0, to: 10 })).toEqual({ from: 400, to: 1000 });
    expect(rangeOfBookmark(moment!)).toBeNull();
    expect(viewOfBookmark(moment!, { from: 0, to: 10 })).toEqual({ from: 895, to: 905 });
  });
});

describe("metrics of a short view", () => {
  const source = (name: string, counter: number | null = null) => ({ source: { device: 0, counter, metric: { name } } }) as unknown as Track;
  it("sampled ones are hidden in a view shorter than their period, counters are not", () => {
    const metrics = new MetricPieces("s", {} as Scene, () => undefined, () => 1000);
    metrics.setPeriod(100);
    expect([metrics.changes({ from: 0, to: 1000 }), metrics.hides(source("power"))]).toEqual([false, false]);
    expect([metrics.changes({ from: 0, to: 99 }), metrics.hides(source("power")), metrics.hides(source("x", 3))]).toEqual([true, true, false]);
    expect([metrics.changes({ from: 0, to: 50 }), metrics.changes({ from: 0, to: 100 }), metrics.hides(source("power"))]).toEqual([false, true, false]);
  });
});

describe("rows of a range as CSV", () => {
  const row = (full: string): RangeRow => ({ key: full, name: "x", full, page: null, calls: 2, total: 10, longest: null });
  it("have a head, whole names, and nothing for what is not reported", () => expect(csvOf([row("a"), { ...row("b"), calls: 0, longest: 7 }])).toBe("name,calls,total_ns,mean_ns,longest_ns\na,2,10,5,\nb,0,10,,7\n"));
  it("keep quotes and commas within a cell", () => expect(csvOf([row('f<"a", 2>')]).split("\n")[1]).toBe('"f<""a"", 2>",2,10,5,'));
  it("are no formulas", () => expect(["=1+1", "+1", "-1", "@x", "\t=1", '=a,"b"'].map((name) => csvOf([row(name)]).split("\n")[1])).toEqual(["'=1+1,2,10,5,", "'+1,2,10,5,", "'-1,2,10,5,", "'@x,2,10,5,", "'\t=1,2,10,5,", `"'=a,""b""",2,10,5,`]));
});
