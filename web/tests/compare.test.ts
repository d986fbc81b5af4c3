// The comparison as the page shows it: shares by points, how many rows there are, and other applications.
import { describe, expect, it } from "vitest";
import type { Comparison } from "../src/api/schema";
import { allOf, isReversed, isShare, otherApps, points, type Total } from "../src/pages/compare/model";

const total = (what: string): Total => ({ what, unit: "", a: 0.098, b: 0.086, ratio: 0.88, low: null, high: null });
const sides = (a: string[], b: string[]): Comparison => ({ a: a.map((app) => ({ app })), b: b.map((app) => ({ app })) }) as unknown as Comparison;

describe("runs as a whole", () => {
  it("shares differ by points, other numbers by a ratio", () => {
    expect(["busy_share", "duration", "kernels"].map((what) => isShare(total(what)))).toEqual([true, false, false]);
    expect(points(0.098, 0.086)).toBe("−1.2");
    expect(points(0.5, 0.75)).toBe("+25.0");
    expect(points(0.5, 0.5001)).toBe("0.0");
    expect(points(null, 0.5)).toBe("");
  });
});

describe("rows of a comparison", () => {
  it("say how many there are if not all are listed, and that a limit is one", () => {
    expect(allOf(93, 93, 93)).toBeNull();
    expect(allOf(200, 3000, 3000)).toEqual({ all: 3000, more: false });
    expect(allOf(200, 4096, 4096)).toEqual({ all: 4096, more: false });
    expect(allOf(200, null, 4096)).toEqual({ all: 4096, more: true });
    expect(allOf(200, null, null)).toBeNull(); // an older server
  });
});

describe("both sides", () => {
  it("are said to be reversed only if all sessions of B began before all of A", () => {
    const side = (...times: (string | null)[]) => times.map((started) => ({ session: "s", app: "a", host: "h", started, duration: 1 }));
    const of = (a: (string | null)[], b: (string | null)[]) => isReversed(side(...a), side(...b));
    expect([of(["1800000000000000002"], ["1800000000000000001"]), of(["5", "9"], ["3", "4"])]).toEqual([true, true]);
    expect([of(["1"], ["2"]), of(["2"], ["2"]), of(["5", "9"], ["3", "6"]), of([null], ["1"]), of(["2"], [null]), of([], ["1"])]).toEqual(Array(6).fill(false));
  });
  it("name their applications if they differ", () => {
    expect(otherApps(sides(["jax"], ["train", "train"]))).toEqual({ a: "jax", b: "train" });
    expect(otherApps(sides(["a", "b"], ["b", "a"]))).toBeNull();
    expect(otherApps(sides([""], ["a"]))).toBeNull();
  });
});
