// The server's sums by day: bars without gaps, and parts by application or host.
import { describe, expect, it } from "vitest";
import type { RowRollupDay, RowRollupSum } from "../src/api/schema";
import { callsOf, daysOf, hasShare, meanOf, othersLast, partsOf, totalOf } from "../src/pages/sums/sums";

const row = (name: string, day: number, total: number): RowRollupDay => ({ name, day, sessions: 2, calls: 10, total });

describe("sums by day", () => {
  it("have a bar for every day of the range, and none for others", () => {
    const days = daysOf([row("a", 11, 5), row("b", 11, 7), row("a", 9, 100)], { from: 10, to: 13 });
    expect(days.map((day) => [day.day, day.total, day.calls, day.sessions])).toEqual([[10, 0, 0, 0], [11, 12, 20, 4], [12, 0, 0, 0]]);
    expect(daysOf([], { from: 3, to: 3 })).toEqual([]);
  });
  it("by application or host: those with most time first", () => {
    expect(partsOf([row("a", 1, 5), row("b", 1, 7), row("a", 2, 1)])).toEqual([
      { name: "b", days: 1, total: 7, calls: 10, sessions: 2 },
      { name: "a", days: 2, total: 6, calls: 20, sessions: 4 },
    ]);
  });
  it("the row of all others is the last one, whatever its time", () => {
    const rows = ["", "a", "b"].map((name) => ({ name })) as RowRollupSum[];
    expect(othersLast(rows).map((one) => one.name)).toEqual(["a", "b", ""]);
  });
  it("only rows that do not contain each other have a share", () => {
    expect((["kernel", "scope", "line"] as const).map(hasShare)).toEqual([true, false, true]);
  });
  it("what is unknown is no 0", () => {
    expect(callsOf({ total: 24e6, calls: 0 }, "line")).toBeNull();
    expect(callsOf({ total: 24e6, calls: 3 }, "line")).toBe(3);
    expect(callsOf({ total: 0, calls: 0 }, "line")).toBe(0);
    expect(callsOf({ total: 24e6, calls: 0 }, "kernel")).toBe(0);
    expect(meanOf({ total: 10, calls: 0 })).toBeNull();
    expect(meanOf({ total: null, calls: 3 })).toBeNull();
    expect(meanOf({ total: 10, calls: 4 })).toBe(2.5);
    expect(totalOf([{ total: 2 }, { total: null }] as RowRollupSum[])).toBe(2);
  });
});
