// The steps of a report: reading them, finding slow ones, the differences of a slow step, and choosing what to draw if there are
// many.
import { describe, expect, it } from "vitest";
import { baseOf, differencesOf, digitsOf, stepsOf, thinned, typicalOf, type Step } from "../src/pages/steps/steps";
import { steps as text } from "../src/text/steps";

const item = (start: number, duration: number, busy: number, kernels = 10, steady = true, alike = true) => ({ start_ns: start, duration_ns: duration, busy_ns: busy, idle_ns: duration - busy, kernels, session: 1, alike, steady });
const ITEMS = [item(0, 900, 100, 10, false), item(900, 100, 60), item(1000, 104, 60), item(1104, 125, 60, 12), item(1229, 124, 60, 10, true, false)];
const part = (more: object = {}) => ({ made: "1", steps: { by: "scope", why: null, scope: "step", kernel: null, short_name: null, count: 5, start_up_ns: 900, lengths: { count: 4, median_ns: 100, p95_ns: 125 }, devices: 1, items: ITEMS, items_left_out: 0, ...more } });

describe("steps", () => {
  it("are numbered from 1, with their length by the median", () => {
    const steps = stepsOf(part());
    expect(steps.items.map((step) => [step.number, step.ratio])).toEqual([[1, 9], [2, 1], [3, 1.04], [4, 1.25], [5, 1.24]]);
    expect([steps.by, steps.scope, steps.count, steps.median, steps.p95, steps.startUp, steps.inStartUp]).toEqual(["scope", "step", 5, 100, 125, 900, 1]);
  });
  it("begin at moments that differ, however short the steps are", () => {
    expect(digitsOf(stepsOf(part()))).toBe(6);
    expect(digitsOf(stepsOf(part({ items: [item(0, 2_000_000, 1), item(2_000_000, 1_000_000, 1)] })))).toBe(3);
  });
  it("are slow from 1.25 times the median on; start-up is not called slow where there is a steady part", () => {
    expect(stepsOf(part()).items.map((step) => step.slow)).toEqual([false, false, false, true, false]);
    expect(stepsOf(part({ start_up_ns: null })).items.map((step) => step.slow)).toEqual([true, false, false, true, false]);
  });
  it("that were not found have a reason; a report without them is older", () => {
    const none = stepsOf({ steps: { by: null, why: "windows", lengths: {}, items: [] } });
    expect([none.by, none.why, none.older, none.median]).toEqual([null, "windows", false, null]);
    expect([stepsOf({}).by, stepsOf({}).older, stepsOf(undefined).older]).toEqual([null, true, true]);
    expect(typicalOf(none)).toBeNull();
  });
  it("the typical one is nearest to the median, and of the steady part", () => {
    expect(typicalOf(stepsOf(part()))?.number).toBe(2);
    expect(typicalOf(stepsOf(part({ lengths: { median_ns: 880 } })))?.number).toBe(4);
    expect([null, "", "4", "0", "99", "x"].map((chosen) => baseOf(stepsOf(part()), chosen)?.number)).toEqual([2, 2, 4, 2, 2, 2]);
  });
  it("differ by what explains a tenth of their length, and by kernels", () => {
    const { items } = stepsOf(part());
    expect(differencesOf(items[3]!, items[1]!, 1)).toEqual([{ what: "idle", by: 25 }, { what: "kernels", by: 2 }]);
    expect(differencesOf(items[0]!, items[1]!, 1)).toEqual([{ what: "idle", by: 760 }]);
    expect(differencesOf(items[1]!, items[1]!, 1)).toEqual([]);
  });
});

describe("drawing", () => {
  const many = (n: number): Step[] => stepsOf(part({ items: Array.from({ length: n }, (_, at) => item(at * 100, at === 777 ? 5000 : 100 + (at % 7), 50)) })).items;
  it("few steps are all there", () => expect(thinned(many(100), 100)).toHaveLength(100));
  it("of many the longest stay, in order", () => {
    const drawn = thinned(many(10_000), 200);
    expect(drawn.length).toBeLessThanOrEqual(202);
    expect(drawn.map((step) => step.duration)).toContain(5000);
    expect(drawn.every((step, at) => at === 0 || step.number > drawn[at - 1]!.number)).toBe(true);
  });
});

describe("the sentence about slow steps", () => {
  it("is a sentence for any number of them", () => {
    const said = ["0", "1", "3"].map((slow) => text.slow(slow, "1.5").split(".").slice(0, 2).join("."));
    expect(said).toEqual(["No step is slow: none lasts 1.5 times the median or longer", "1 step is slow: at least 1.5 times the median", "3 steps are slow: at least 1.5 times the median"]);
  });
});
