// The passes and processes of a run: their order, which process of a pass is which, and what becomes of the
// numbers of several passes.
import { describe, expect, it } from "vitest";
import type { RowSession } from "../src/api/schema";
import { codeOf, stallsOf } from "../src/pages/kernels/deep";
import { inOrder, passesOf, timesOf, together, toldOf } from "../src/pages/run/run";

const row = (id: string, engine: string, pass: string, host = "h", started = "1"): RowSession => ({ id, engine, host, started, app: "a", labels: { run: "r", ...(pass ? { pass } : {}) } }) as unknown as RowSession;
const RUN = [row("s2", "SassMetrics", "3 of 3"), row("t1", "Trace", "1 of 3", "h", "5"), row("t2", "Trace", "1 of 3", "h", "3"), row("p1", "PcSampling", "2 of 3", "h", "9"), row("p2", "PcSampling", "2 of 3", "h", "7")];

describe("sessions of a run", () => {
  it("stand by pass, host and start", () => expect(inOrder(RUN).map((s) => s.id)).toEqual(["t2", "t1", "p2", "p1", "s2"]));
  it("a process has the same place in each pass; a pass without it is left out", () => {
    expect(passesOf(RUN, "p2").map((s) => s.id)).toEqual(["t2", "p2", "s2"]);
    expect(passesOf(RUN, "t1").map((s) => s.id)).toEqual(["t1", "p1"]);
    expect(passesOf([row("x", "Trace", "")], "x")).toEqual([]);
    expect(passesOf(RUN, "nobody")).toEqual([]);
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
  it("stand beside each other, and are never added up", () => {
    const all = together([sampled, counted, ranged]);
    const items = codeOf(all, "k")!.flatMap((line) => line.items);
    expect(items.map(({ offset, samples, reason, executed }) => [offset, samples, reason, executed])).toEqual([[0, 7, "wait", 40], [16, 0, "", 41]]);
    expect(codeOf(together([counted, sampled]), "k")!.flatMap((line) => line.items.map((item) => [item.samples, item.executed]))).toEqual([[7, 40], [0, 41]]);
    expect(stallsOf(all, "k").map((stall) => stall.samples)).toEqual([7]);
    expect(toldOf(all, "k")).toEqual({ stalls: true, counts: true, counters: true });
    expect(toldOf(counted, "k")).toEqual({ stalls: false, counts: true, counters: false });
  });
  it("of two builds are not mixed", () => {
    const other = part([at(0, { text: "OTHER", [SASS]: 99 })]);
    expect(codeOf(together([sampled, other]), "k")!.flatMap((line) => line.items.map((item) => item.executed))).toEqual([null, null]);
  });
  it("two passes that both sampled keep the first one's samples", () => expect(codeOf(together([sampled, sampled]), "k")!.flatMap((line) => line.items.map((item) => item.samples))).toEqual([7, 0]));
  it("a part that is none is nothing", () => {
    expect(codeOf(together([null, "x", { code: 3 }, sampled]), "k")).toHaveLength(1);
    expect(together([])).toBeUndefined();
  });
});
