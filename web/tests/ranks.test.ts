// The ranks of a run on one timeline: their lanes keep their own clocks, requests go to each rank's own session, and the address
// has the open groups.
import { describe, expect, it } from "vitest";
import type { AnswerLanes, RowSession } from "../src/api/schema";
import { ranksBeside, RANKS_MOST } from "../src/pages/timeline/TimelinePage";
import { LanePieces } from "../src/timeline/lanePieces";
import { CATEGORIES, groupOfRank, HEIGHT, laneIdOf, type Group, type Lane } from "../src/timeline/lanes";
import { keyOfRow, layOut } from "../src/timeline/layout";
import type { Piece } from "../src/timeline/piece";
import { boundsOf, closedOf, lanesOfRank, openText, ownersOf, tracksOfRanks, viewOfRank, type Rank } from "../src/timeline/ranks";
import type { Scene } from "../src/timeline/scene";

const KERNEL = laneIdOf(1, 0, 3);
const WAIT = laneIdOf(4, 0, 9);
const answer = (first: number, last: number, lanes = [KERNEL, WAIT]): AnswerLanes => ({ rows: lanes.length, data: { lane: lanes, events: lanes.map(() => 10), busy: lanes.map(() => 5), first: lanes.map(() => first), last: lanes.map(() => last) } }) as unknown as AnswerLanes;
const session = (id: string, more: Partial<RowSession> = {}): RowSession => ({ id, host: "h", pid: 7, started: "1800000000000000000", ended: "1800000001000000000", received: null, busy: 0.5, labels: { run: "r" }, ...more }) as unknown as RowSession;
const rank = (id: string, offset: number, length = 1e9): Rank => ({ session: session(id), offset, length, title: id, note: "" });
const RANKS = [rank("a", -500), rank("b", 0), rank("c", 2e9)];

describe("lanes of ranks", () => {
  it("are those of GPU work, distinguished by the rank, and asked for by the server's number", () => {
    const lanes = RANKS.flatMap((one, n) => lanesOfRank(one, n, answer(100, 900)));
    expect(lanes.map(({ id, rank: of }) => [id, of!.session, of!.offset])).toEqual([[`${KERNEL}@0`, "a", -500], [`${KERNEL}@1`, "b", 0], [`${KERNEL}@2`, "c", 2e9]]);
    const scene = { view: { from: -500, to: 3e9 }, bounds: { from: -500, to: 3e9 }, lanes } as unknown as Scene;
    const pieces = new LanePieces("b", scene, () => undefined, () => 1000);
    pieces.setLanes(lanes);
    const { first, late } = pieces.wants([0, 1, 2]);
    const asks = first.map(({ ask }) => ask).filter((ask) => ask.kind === "lanes");
    expect(new Set(asks.map((ask) => ask.session))).toEqual(new Set(["a", "b", "c"]));
    expect(asks.every((ask) => ask.lanes.join() === KERNEL && ask.threads.length === 0)).toBe(true);
    // Requests use each rank's own clock, and cover only the time of its events.
    expect(asks.every((ask) => ask.from <= 900 && ask.to >= 100)).toBe(true);
    expect(new Set(first.map(({ key }) => key)).size).toBeGreaterThanOrEqual(3);
    expect(late).toEqual([]);
  });
  it("draw their pieces where they lie on the common clock; outside there is nothing, which is known", () => {
    const lanes = lanesOfRank(rank("c", 2e9), 0, answer(0, 1e6));
    const scene = { view: { from: 2e9, to: 2e9 + 1e6 }, bounds: { from: 0, to: 3e9 }, lanes } as unknown as Scene;
    const piece = { from: 0, to: 1, column: 0, sums: null, events: null, points: null, halved: false } as Piece;
    const asked: string[] = [];
    const pieces = new LanePieces("b", scene, (key) => (asked.push(key), piece), () => 1000);
    pieces.setLanes(lanes);
    const segments = pieces.segments(0);
    expect([segments[0]!.from, segments.at(-1)!.to]).toEqual([0, 1e6]);
    pieces.forget();
    Object.assign(scene, { view: { from: 0, to: 1e6 } });
    expect([pieces.segments(0), pieces.gaps(0)]).toEqual([[], []]);
    expect(pieces.wants([0]).first.filter(({ key }) => key.startsWith("r"))).toEqual([]);
  });
});

describe("groups of ranks", () => {
  const lanes: Lane[] = RANKS.slice(0, 2).flatMap((one, n) => lanesOfRank(one, n, answer(0, 9, [KERNEL, laneIdOf(2, 0, 3)])));
  const tracks = tracksOfRanks(lanes, new Map([[1, ownersOf({ rows: 1, data: { id: [3], device: [1], number: [13] } } as never)]]));
  const groups: Group[] = RANKS.map((_, n) => groupOfRank(n));
  it("have a head each, with its lanes as one, also where no lane is known", () => {
    const { rows, height } = layOut(tracks, { pinned: [], closed: new Set([groups[0]!]), ranks: groups });
    expect(rows.map((row) => keyOfRow(row, tracks))).toEqual([groups[0], groups[1], `${KERNEL}@1`, `${laneIdOf(2, 0, 3)}@1`, groups[2]]);
    expect(rows.filter((row) => row.lanes).map((row) => row.lanes)).toEqual([[0, 1], [2, 3], []]);
    expect(height).toBe(3 * HEIGHT.rank + 2 * HEIGHT.lane);
  });
  it("streams have the driver's number where it is known", () => expect(tracks.map(({ title }) => title)).toEqual(["", "", "GPU 0 · stream 13", "GPU 0 · stream 13"]));
  it("streams stand by that number, each with its own lane", () => {
    const two = lanesOfRank(RANKS[0]!, 0, answer(0, 9, [KERNEL, laneIdOf(1, 0, 4)]));
    const rows = tracksOfRanks(two, new Map([[0, ownersOf({ rows: 2, data: { id: [3, 4], device: [1, 1], number: [13, 7] } } as never)]]));
    expect(rows.map(({ title, lane }) => [title, lane])).toEqual([["GPU 0 · stream 7", 1], ["GPU 0 · stream 13", 0]]);
  });
  it("categories keep their order, and only those with rows have a head", () => {
    const track = (category: Group) => ({ ...tracks[0]!, key: category, category });
    const { rows } = layOut([track("host"), track("threads")], { pinned: [], closed: new Set() });
    expect(rows.filter((row) => row.track < 0).map((row) => row.category)).toEqual(CATEGORIES.filter((one) => one === "threads" || one === "host"));
  });
  it("which are open stands in the address", () => {
    expect([closedOf(2, null).size, closedOf(64, null).size, closedOf(3, "0.2")]).toEqual([0, 64, new Set(["rank 1"])]);
    for (const [count, open] of [[2, "none"], [2, "1"], [64, "0.63"], [64, null], [3, null]] as const) expect(openText(count, closedOf(count, open))).toBe(open);
    expect(closedOf(2, "9.x.<img>")).toEqual(new Set(["rank 0", "rank 1"]));
  });
});

describe("clocks", () => {
  it("bounds reach from the first begin to the last end", () => expect(boundsOf(RANKS)).toEqual({ from: -500, to: 3e9 }));
  it("a click keeps the width, within the rank", () => {
    expect(viewOfRank(rank("c", 2e9), { from: 2.5e9, to: 2.6e9 })).toEqual({ from: 0.5e9, to: 0.6e9 });
    expect(viewOfRank(rank("c", 2e9), { from: 0, to: 1e8 })).toEqual({ from: 0, to: 1e8 });
    expect(viewOfRank(rank("c", 2e9), { from: 2.95e9, to: 3.05e9 })).toEqual({ from: 0.9e9, to: 1e9 });
    expect(viewOfRank(rank("c", 2e9), { from: 0, to: 3e9 })).toBeNull();
  });
  it("ranks are those of the session's own pass, at most so many, and the session is among them", () => {
    const rows = Array.from({ length: 70 }, (_, n) => session(`s${String(n).padStart(2, "0")}`, { started: String(1800000000000000000n + BigInt(n)), ended: "1800000001000000000" }));
    const other = session("other pass", { labels: { run: "r", pass: "2 of 2" } });
    const { ranks, cut } = ranksBeside([other, ...rows], rows[69]!);
    expect([ranks.length, cut, ranks[0]!.session.id, ranks.at(-1)!.session.id, ranks.at(-1)!.offset, ranks[0]!.offset]).toEqual([RANKS_MOST, 6, "s00", "s69", 0, -69]);
    expect(ranksBeside([other], rows[0]!)).toEqual({ ranks: [], cut: 0 });
  });
});
