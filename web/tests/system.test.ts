// Counters since the driver was loaded, as a session's own part of them.
import { describe, expect, it } from "vitest";
import { DEVICE_MORE } from "../src/format/metrics";
import { grownOf } from "../src/pages/system/grown";
import { system } from "../src/text/system";
import { labelsOf, stepsOf } from "../src/ui/ticks";

const energy = DEVICE_MORE.find(({ name }) => name === "energy")!;
const points = (least: (number | null)[], most = least) => ({ at: least.map((_, at) => at), least, mean: least, most });

describe("the axis of values", () => {
  it("has whole steps for counts, powers of two for bytes, and any others", () => {
    expect(stepsOf(points([0, null, 3]), false)!.slice(0, 5)).toEqual([1, 2, 5, 10, 20]);
    expect(stepsOf(points([0, 0.5]), false)).toBeUndefined();
    expect(stepsOf(points([1]), true)!.slice(0, 3)).toEqual([1, 2, 4]);
  });
  it("has no two ticks with one text in a row", () => {
    expect(labelsOf([0, 1, 2], () => "0 J")).toEqual(["0 J", "", ""]);
    expect(labelsOf([0, 200, 400], (tick) => energy.show(tick))).toEqual(["0 J", "0.2 J", "0.4 J"]);
  });
});

describe("a counter since the driver was loaded", () => {
  it("is shown from the first sample on, with both sums", () => {
    const { points: own, whole } = grownOf(points([18_000_000_000, null, 18_000_900_000], [18_000_100_000, null, 18_002_400_000]), energy.show);
    expect([own.least, own.most]).toEqual([[0, null, 900_000], [100_000, null, 2_400_000]]);
    expect(whole).toBe("2.4 kJ shown, 18\u202f002.4 kJ since the driver was loaded");
  });
  it("that was reset in between has no sum of its own", () => {
    const fell = points([500, 700, 10, 20]);
    expect(grownOf(fell, String)).toEqual({ points: fell, whole: "The driver was loaded again in this time. 20 since then" });
  });
  it("of one sample has no sum of its own: unknown is not zero", () => expect(grownOf(points([500]), String)).toEqual({ points: points([500]), whole: "500 since the driver was loaded" }));
  it("without a sample is unknown", () => expect(grownOf(points([null]), energy.show).whole).toBe(""));
  it("less than 1 kJ is in J", () => expect([0, 250_000, 999_900].map((mj) => energy.show(mj))).toEqual(["0 J", "250 J", "999.9 J"]));
  it("energy and memory errors are such counters", () => expect(DEVICE_MORE.filter(({ grows }) => grows).map(({ name }) => name)).toEqual(["energy", "ecc_corrected", "ecc_uncorrected"]));
});

describe("values below a plot", () => {
  it("are one value if all read the same", () => {
    expect([system.shownValues("0", "0", "0"), system.pointed("1 s", "35 °C", "35 °C", "35 °C")]).toEqual(["0", "at 1 s: 35 °C"]);
    expect([system.shownValues("0", "1", "2"), system.pointed("1 s", "0", "1", "2")]).toEqual(["Mean 1, 0 to 2", "at 1 s: mean 1, 0 to 2"]);
  });
});
