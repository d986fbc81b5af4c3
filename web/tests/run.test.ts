// The passes and processes of a run: their order, the matching of processes between passes, and the numbers
// of several passes together.
import { describe, expect, it } from "vitest";
import type { RowSession } from "../src/api/schema";
import { codeOf, stallsOf } from "../src/pages/kernels/deep";
import { earliest, inOrder, isSlowed, passesOf, recordedOf, timesOf, together } from "../src/pages/run/run";
import { busyOf, groupsOf, onOneClock, outline } from "../src/pages/run/ranks";

const row = (id: string, engine: string, pass: string, host = "h", started = "1"): RowSession => ({ id, engine, host, started, app: "a", labels: { run: "r", ...(pass ? { pass } : {}) } }) as unknown as RowSession;
const RUN = [row("s2", "SassMetrics", "3 of 3"), row("t1", "Trace", "1 of 3", "h", "5"), row("t2", "Trace", "1 of 3", "h", "3"), row("p1", "PcSampling", "2 of 3", "h", "9"), row("p2", "PcSampling", "2 of 3", "h", "7")];

describe("sessions of a run", () => {
  it("begin with the earliest", () => expect([earliest(RUN), earliest([]), earliest([{ ...RUN[0]!, started: null }, RUN[1]!])]).toEqual(["1", null, "5"]));
  it("stand by pass, host and start", () => expect(inOrder(RUN).map((s) => s.id)).toEqual(["t2", "t1", "p2", "p1", "s2"]));
  it("a process has the same place in each pass; a pass without it is left out", () => {
    expect(passesOf(RUN, "p2").map((s) => s.id)).toEqual(["t2", "p2", "s2"]);
    expect(passesOf(RUN, "t1").map((s) => s.id)).toEqual(["t1", "p1"]);
    expect(passesOf([row("x", "Trace", "")], "x")).toEqual([]);
    expect(passesOf(RUN, "nobody")).toEqual([]);
  });
  it("passes of other engines are slowed, if there is one with the times", () => {
    expect(RUN.map((s) => isSlowed(s, timesOf(RUN)))).toEqual([true, false, false, true, true]);
    expect(isSlowed(RUN[0]!, undefined)).toBe(false);
    expect(isSlowed(row("x", "Deep", ""), RUN[1])).toBe(false);
  });
  it("times are those of Trace", () => expect([timesOf(passesOf(RUN, "p2"))?.id, timesOf([row("d", "Deep", "1 of 2")])]).toEqual(["t2", undefined]));
});

const SASS = "smsp__sass_inst_executed";
const at = (offset: number, more: Record<string, unknown>) => ({ offset, text: `I${offset}`, file: "a.cu", line: 3, samples: 0, top_reason: null, top_samples: 0, [SASS]: null, ...more });
const part = (instructions: unknown[], more: Record<string, unknown> = {}) => ({ code: [{ symbol: "k", arch: "sm_90", instructions }], samples: { kernels: [] }, instructions: { kernels: [] }, counters: [], ...more });
const sampled = part([at(0, { samples: 7, top_reason: "wait", top_samples: 5 }), at(16, {})], { samples: { kernels: [{ symbol: "k", reason: "wait", samples: 7 }] } });
const counted = part([at(0, { [SASS]: 40 }), at(16, { [SASS]: 41 })], { instructions: { kernels: [{ symbol: "k", [SASS]: 81 }] } });
const ranged = part([], { counters: [{ kernel_symbol: "k", metric: "m", mean: 1, values: 1 }] });

describe("numbers of several passes", () => {
  it("stay separate, and are never added up", () => {
    const all = together([sampled, counted, ranged]);
    const items = codeOf(all, "k")!.flatMap((line) => line.items);
    expect(items.map(({ offset, samples, reason, executed }) => [offset, samples, reason, executed])).toEqual([[0, 7, "wait", 40], [16, 0, "", 41]]);
    expect(codeOf(together([counted, sampled]), "k")!.flatMap((line) => line.items.map((item) => [item.samples, item.executed]))).toEqual([[7, 40], [0, 41]]);
    expect(stallsOf(all, "k").map((stall) => stall.samples)).toEqual([7]);
    expect(recordedOf(all, "k")).toEqual({ stalls: true, counts: true, counters: true });
    expect(recordedOf(counted, "k")).toEqual({ stalls: false, counts: true, counters: false });
  });
  it("of two builds are not mixed", () => {
    const other = part([at(0, { text: "OTHER", [SASS]: 99 })]);
    expect(codeOf(together([sampled, other]), "k")!.flatMap((line) => line.items.map((item) => item.executed))).toEqual([null, null]);
  });
  it("two passes that both sampled keep the first one's samples", () => expect(codeOf(together([sampled, sampled]), "k")!.flatMap((line) => line.items.map((item) => item.samples))).toEqual([7, 0]));
  it("a part that is invalid is skipped", () => {
    expect(codeOf(together([null, "x", { code: 3 }, sampled]), "k")).toHaveLength(1);
    expect(together([])).toBeUndefined();
  });
});

const child = (id: string, host: string, started: string | null, ended: string | null): RowSession => ({ id, host, started, ended, received: ended, pid: 1, app: "train" }) as unknown as RowSession;

describe("processes on one clock", () => {
  it("counts from the first one that began, in ns that wall clocks need 64 bits for", () => {
    const { ranks, length } = onOneClock([child("b", "n1", "1800000000000000500", "1800000000000001500"), child("a", "n0", "1800000000000000000", "1800000000000000900"), child("c", "n0", null, null)]);
    expect(ranks.map(({ session, from, length: own }) => [session.id, from, own])).toEqual([["b", 500, 1000], ["a", 0, 900]]);
    expect(length).toBe(1500);
    expect(groupsOf(ranks).map(({ host, ranks: of }) => [host, of.length])).toEqual([["n1", 1], ["n0", 1]]);
    expect(onOneClock([])).toEqual({ ranks: [], length: 1 });
  });
  it("outlines runs of equal columns", () => {
    expect(outline(Float32Array.of(1, 1, 0, 0.5))).toBe("M0 1L0 0.000L2 0.000L2 1.000L3 1.000L3 0.500L4 0.500L4 1Z");
  });
  it("adds up lanes as far as a column goes", () => {
    const span = { epoch: "0", columns: [], names: [], mangled: [], short_names: [], rows: 2, data: { lane: ["7", "9"], start: [0, 40], duration: [50, 60], name: [null, null], ref: [null, null] } };
    const none = { ...span, rows: 0, data: { lane: [], at: [], events: [], busy: [], longest: [], name: [] } };
    expect([...busyOf(none, span, ["7", "9"], 131072, 100, 10)]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 0]); // as on the timeline, a px stays free at the end of an event
    const tile = { ...none, rows: 1, data: { ...none.data, lane: ["7"], at: [-50], events: [1], busy: [100], longest: [100], name: [null] } };
    expect([...busyOf(tile, { ...span, rows: 0, data: { lane: [], start: [], duration: [], name: [], ref: [] } }, ["7"], 100, 100, 10)]).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]); // a step that begins before the session
    expect([...busyOf(none, span, ["7"], 131072, 100, 10)].map((part) => part > 0.5)).toEqual([true, true, true, true, false, false, false, false, false, false]);
  });
});
