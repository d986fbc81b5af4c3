// Transfers and allocations as numbers; the part of a session's time that plots show.
import { describe, expect, it } from "vitest";
import { allocationRows, heldOf } from "../src/format/held";
import { countersOf, samplersOf } from "../src/api/columns";
import { counterMetric } from "../src/format/metrics";
import { allocationsNote, bandwidth, managedOf, pageable, sizeOf, sizesOf } from "../src/pages/memory/memory";
import { tracksOf } from "../src/timeline/lanes";
import { greatest, linesOf, within } from "../src/timeline/series";
import { windowOf } from "../src/pages/system/window";

describe("memory held", () => {
  it("the line ends where nobody knows what is held", () => {
    const rows = allocationRows({ at: [0, 10, 20], held: [100, null, null], peak: [100, null, null] });
    expect(heldOf(rows, 5, 50)).toEqual({ at: [0, 5, 10], least: [0, 100, 100], mean: [0, 100, 100], most: [0, 100, 100] });
  });
});

describe("transfers", () => {
  it("bandwidth is bytes by seconds; unknown stays unknown", () => {
    expect(bandwidth({ bytes: 500, total: 1e9 })).toBe(500);
    expect(bandwidth({ bytes: null, total: 1 })).toBeNull();
    expect(bandwidth({ bytes: 500, total: 0 })).toBeNull();
  });
  it("either end can be pageable", () => {
    const row = { kind: 1, src_memory: 1, dst_memory: 3, calls: 1, bytes: 1, total: 1 };
    expect(pageable(row)).toBe(true);
    expect(pageable({ ...row, src_memory: 2 })).toBe(false);
  });
  it("sizes stand by kind, slowest kind first, with the kind's best", () => {
    const rows = sizesOf([
      { kind: 2, bin: 20, calls: 1, bytes: 1000, total: 10 },
      { kind: 1, bin: 22, calls: 1, bytes: 4000, total: 100 },
      { kind: 1, bin: -1, calls: 1, bytes: 0, total: 5 },
      { kind: 1, bin: 3, calls: 1, bytes: 8, total: 4 },
    ]);
    expect(rows.map(({ kind, bin }) => [kind, bin])).toEqual([[1, -1], [1, 3], [1, 22], [2, 20]]);
    expect(rows[1]!.best).toBe(rows[2]!.bandwidth);
  });
});

describe("sizes", () => {
  it("of neighbouring rows do not overlap", () => expect([-1, 0, 1, 9, 10, 11, 29, 30].map(sizeOf)).toEqual(["0 B", "1 B", "2 B to under 4 B", "512 B to under 1 KiB", "1 KiB to under 2 KiB", "2 KiB to under 4 KiB", "512 MiB to under 1 GiB", "1 GiB to under 2 GiB"]));
});

describe("a session without allocations", () => {
  const note = (status: string, reason: string | null = null) => allocationsNote({ capabilities: [{ feature: "kernels", status: "failed", reason: "no" }, { feature: "memory", status, reason }] });
  it("says if they were not asked for, and which option records them", () => expect(note("not_requested")).toBe("Allocations were not asked for. gpufl trace --option enable_memory_tracking=true records them."));
  it("says if they could not be recorded, and why", () => expect([note("failed", "The buffers were lost."), note("unavailable")]).toEqual(["Allocations: failed. The buffers were lost.", "Allocations: not available."]));
  it("had none otherwise", () => expect([note("collected"), allocationsNote(undefined)].map((line) => line.startsWith("No allocations were recorded on any GPU."))).toEqual([true, true]));
});

describe("managed memory", () => {
  const row = (count: number, bytes: number, faults: number, total_ns: number) => ({ count, bytes, faults, total_ns });
  it("kinds that there were; what they have none of is not 0", () =>
    expect(managedOf({ managed_memory: { to_host: row(2, 8192, 0, 500), to_device: row(1, 4096, 0, 100), device_faults: row(3, 0, 9, 0), mapped: row(0, 0, 0, 0) } })).toEqual([
      { kind: "to_device", calls: 1, bytes: 4096, faults: null, total: 100 },
      { kind: "to_host", calls: 2, bytes: 8192, faults: null, total: 500 },
      { kind: "device_faults", calls: 3, bytes: null, faults: 9, total: null },
    ]));
  it("an older report has none", () => expect(managedOf({})).toEqual([]));
});

describe("what is held", () => {
  const line = heldOf([{ at: 10e9, held: 100, peak: 150 }, { at: 11e9, held: 40, peak: 100 }, { at: 50e9, held: 0, peak: null }], 1e9, 60e9);
  it("keeps its level between changes, to the end", () => {
    expect(line.at).toEqual([10e9, 11e9, 12e9, 50e9, 51e9, 60e9]);
    expect(line.mean).toEqual([0, 100, 40, 40, 0, 0]);
  });
  it("the band reaches to the greatest of a step", () => expect(line.most).toEqual([0, 150, 100, 40, 0, 0]));
  it("times grow", () => line.at.forEach((at, i) => i && expect(at).toBeGreaterThan(line.at[i - 1]!)));
  it("columns become rows", () => expect(allocationRows({ at: [1], held: [2], peak: [null] })).toEqual([{ at: 1, held: 2, peak: null }]));
  it("nothing is no line", () => expect(heldOf([{ at: null, held: 1, peak: 1 }], 1, 5).at).toEqual([]));
});

describe("the part of the time that is shown", () => {
  it("the whole where the address says nothing of use", () => {
    for (const text of ["", "x", "9-2", "7000000000-8000000000"]) expect(windowOf(text, 5e9)).toMatchObject({ from: 0, to: 5e9, part: false });
  });
  it("a part has finer steps, and ends with the session", () => {
    const part = windowOf("1000000000-9000000000", 5e9);
    expect(part).toMatchObject({ from: 1e9, to: 5e9, part: true });
    expect(part.step).toBeLessThan(windowOf("", 5e9).step);
  });
});

describe("allocations on the timeline", () => {
  const metrics = { devices: ["A", "B"], device: [], host: [], allocated: true, counters: [], text: { allocated: "Held" } };
  it("have a row on each device", () => expect(tracksOf([], metrics).map((track) => [track.key, track.note])).toEqual([["d1.allocated", "Held"], ["d2.allocated", "Held"]]));
  const points = (at: number[], most: number[]) => ({ at: Float64Array.from(at), least: Float64Array.from(most), mean: Float64Array.from(most), most: Float64Array.from(most) });
  it("only what is in view is drawn, with a point on either side", () => {
    const line = points([0, 10, 20, 30, 40], [1, 2, 3, 9, 9]);
    expect(within(line, { from: 12, to: 18 })).toEqual([1, 3]);
    expect(within(line, { from: -5, to: 100 })).toEqual([0, 5]);
    const piece = { from: 0, to: 50, column: 1, sums: null, events: null, points: line, halved: false };
    expect(greatest([{ piece, from: 0, to: 50 }], { from: 0, to: 15 }, 0)).toBe(3); // what a sample has, so that the scale is no peak that nobody measured
  });
  it("pieces that touch are one line, a missing one divides it", () => {
    const piece = (at: number[]) => ({ from: 0, to: 50, column: 1, sums: null, events: null, points: points(at, at), halved: false });
    const parts = [{ piece: piece([1, 8]), from: 0, to: 10 }, { piece: piece([12, 19]), from: 10, to: 20 }, { piece: piece([31]), from: 30, to: 40 }];
    expect(linesOf(parts, { from: 0, to: 40 }).map((line) => line.flatMap(({ points, first, end }) => [...points.at.slice(first, end)]))).toEqual([[1, 8, 12, 19], [31]]);
    expect(linesOf([], { from: 0, to: 40 })).toEqual([]);
  });
});

describe("hardware counters", () => {
  it("have a row on their device, by the driver's name", () =>
    expect(tracksOf([], { devices: ["A", "B"], device: [], host: [], allocated: false, counters: [{ device: 2, id: 7, name: "sm__warps_active.avg" }], text: {} }).map((track) => [track.key, track.note, track.source?.counter])).toEqual([["d2.counter.7", "sm__warps_active.avg", 7]]));
  it("units are as their names say", () => {
    const shown = (name: string, value: number) => counterMetric({ device: 1, id: 1, name }).show(value);
    expect([shown("sm__throughput.avg.pct_of_peak_sustained_elapsed", 42.123), shown("dram__bytes.sum", 2048), shown("dram__bytes.sum.per_second", 2048), shown("sm__warps_active.avg", 0.125), shown("sm__inst.sum", 2_500_000)]).toEqual(["42.1 %", "2.00 KiB", "2.00 KiB/s", "0.125", "2.50 M"]);
  });
  it("columns become counters; a row without an id is left out", () =>
    expect(countersOf({ rows: 2, names: ["c"], data: { device: [1, null], counter: [9, 3], name: [0, 0] } })).toEqual([{ device: 1, id: 9, name: "c" }]));
});

describe("sessions that sampled for another one", () => {
  it("each once, and not the session itself", () =>
    expect(samplersOf({ rows: 5, names: ["a", "self", "b"], data: { session: [0, 1, 2, 0, null] } }, "self")).toEqual(["a", "b"]));
});
