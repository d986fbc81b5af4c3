// The parts of a timeline that have not arrived: of lanes, of the strip above them, and of metrics.
import { describe, expect, it } from "vitest";
import { LanePieces } from "../src/timeline/lanePieces";
import { KIND, laneIdOf, laneOf, type Lane, type Track } from "../src/timeline/lanes";
import { MetricPieces } from "../src/timeline/metricPieces";
import type { Piece } from "../src/timeline/piece";
import type { Scene } from "../src/timeline/scene";
import { gapsOf } from "../src/timeline/waiting";

const EMPTY: Piece = { from: 0, to: 1, column: 0, sums: null, events: null, points: null, halved: false };
const lane = (kind: number, ref: number): Lane => laneOf({ lane: laneIdOf(kind, 0, ref), events: 10, busy: 5, first: 0, last: 1000 })!;

describe("what has not arrived", () => {
  const view = { from: 0, to: 100 };
  it("is what no segment covers", () => {
    expect(gapsOf([], view)).toEqual([view]);
    expect(gapsOf([{ from: 0, to: 100 }], view)).toEqual([]);
    expect(gapsOf([{ from: -50, to: 20 }, { from: 20, to: 40 }, { from: 60, to: 80 }], view)).toEqual([{ from: 40, to: 60 }, { from: 80, to: 100 }]);
    expect(gapsOf([{ from: 30, to: 500 }], view)).toEqual([{ from: 0, to: 30 }]);
    expect(gapsOf([{ from: 0, to: 90 }, { from: 10, to: 20 }, { from: 90, to: 100 - 1e-12 }], view)).toEqual([]);
    expect(gapsOf([], { from: 100, to: 0 })).toEqual([]);
  });
  it("of lanes and of the strip above ends with the session, and piece by piece", () => {
    const length = 2 ** 33;
    const lanes = [lane(KIND.kernel, 1), { ...lane(KIND.gap, 2), piece: {} as Piece }];
    const scene = { view: { from: -100, to: length + 100 }, bounds: { from: 0, to: length }, lanes } as unknown as Scene;
    const here = new Map<string, Piece>();
    const pieces = new LanePieces("s", scene, (key) => here.get(key), () => 2000);
    pieces.setLanes(lanes);
    expect([pieces.gaps(0), pieces.gaps(1), pieces.mini().gaps]).toEqual([[scene.bounds], [], [scene.bounds]]);
    const keys = pieces.wants([0]).first.map(({ key }) => key);
    const first = keys.find((key) => /^\w+\/0\//.test(key) && keys.some((other) => other === key.replace("/0/", "/1/")))!;
    here.set(first, EMPTY);
    pieces.forget();
    const [gap] = pieces.gaps(0);
    expect([pieces.gaps(0).length, gap!.to, gap!.from > 0 && gap!.from < length]).toEqual([1, length, true]);
    keys.forEach((key) => here.set(key, EMPTY));
    pieces.forget();
    expect([pieces.gaps(0), pieces.mini().gaps]).toEqual([[], []]);
  });
});

describe("pieces of metrics", () => {
  it("cover the widest screens", () => {
    const track = { key: "d1.power", source: { device: 1, counter: null, metric: { name: "power" } } } as unknown as Track;
    const view = { from: 5e8, to: 5e8 + 2 ** 24 * 0.999 * 7680 };
    const scene = { view, bounds: { from: 0, to: 1e12 } } as unknown as Scene;
    const here = new Set<string>();
    const metrics = new MetricPieces("s", scene, (key) => (here.has(key) ? ({} as Piece) : undefined), () => 7680);
    expect(gapsOf(metrics.points(track), view)).toEqual([view]);
    metrics.wants(track).forEach(({ key }) => here.add(key));
    expect([here.size > 5, gapsOf(metrics.points(track), view)]).toEqual([true, []]);
  });
});
