// Counts of engines other than Trace: hardware counters, instructions, samples by scope.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { countersOf, countersOfKernel, instructionsOf, instructionsOfKernel, PICKED, sampledKernelsOf, sampledScopesOf } from "../src/pages/kernels/profile";
import { SEEN } from "../src/ui/found";
import { shown } from "../src/pages/kernels/Profile";

const counter = (metric: string, more: object) => ({ metric, source: "range", device: 0, scope: null, range: null, kernel_symbol: null, values: 1, mean: 1, least: 1, most: 1, ...more });

describe("hardware counters", () => {
  const part = {
    counters: [
      counter("a", { range: "step", values: 2, mean: 40, least: 20, most: 60 }),
      counter("b", { range: "step", mean: 7 }),
      counter("a", { source: "kernel", range: "step", kernel_symbol: "_f", mean: 90 }),
      counter("a", { source: "kernel", kernel_symbol: "_f" }),
    ],
  };
  it("a row for each scope and kernel, a column for each metric", () => {
    const { metrics, rows } = countersOf(part);
    expect(metrics).toEqual(["a", "b"]);
    expect(rows.map(({ symbol, place, values }) => [symbol, place, values])).toEqual([["", "step", 2], ["_f", "step", 1], ["_f", "", 1]]);
    expect(rows[0]!.metrics.get("a")).toEqual({ values: 2, mean: 40, least: 20, most: 60 });
    expect(rows[1]!.metrics.get("b")).toBeUndefined();
    expect(rows.every(({ device }) => device === null)).toBe(true);
  });
  it("over time the run stands before its scopes, means weighed", () => {
    const over = (more: object) => counter("a", { source: "sampled", ...more });
    const { rows } = countersOf({ counters: [over({ scope: "x", values: 3, mean: 10, least: 4, most: 12 }), over({ values: 1, mean: 50, least: 50, most: 50 })] });
    expect(rows.map(({ run, place }) => [run, place])).toEqual([[true, ""], [false, "x"]]);
    expect(rows[0]!.metrics.get("a")).toEqual({ values: 4, mean: 20, least: 4, most: 50 });
  });
  it("devices stand apart where there are several", () => expect(countersOf({ counters: [counter("a", { scope: "x" }), counter("a", { scope: "x", device: 1 })] }).rows.map(({ device }) => device)).toEqual([0, 1]));
  it("those of one kernel, by scope", () => expect(countersOfKernel(part, "_f").map(({ metric, place, mean }) => [metric, place, mean])).toEqual([["a", "step", 90], ["a", "", 1]]));
  it("nothing is nothing", () => {
    for (const odd of [undefined, null, {}, { counters: "x" }]) expect(countersOf(odd)).toEqual({ metrics: [], rows: [] });
    expect(countersOfKernel({ counters: [counter("a", { scope: "x" })] }, "")).toEqual([]);
  });
  it("units are as the driver's names say", () => expect([shown("l1tex__t_sector_hit_rate.pct", 80.126), shown("dram__bytes_read.sum.per_second", 2048), shown("a.sum", null)]).toEqual(["80.1 %", "2.00 KiB/s", "–"]));
});

describe("counted instructions", () => {
  const M = "smsp__sass_";
  const row = (kernel: string, more: object) => ({ kernel, short_name: `${kernel}!`, symbol: `_${kernel}`, scope: null, ...more });
  const of = (...kernels: object[]) => instructionsOf({ instructions: { warp_size: 32, kernels } });
  it("efficiencies as the report has them, most instructions first", () => {
    const found = of(row("f", { [`${M}inst_executed`]: 10, [`${M}thread_inst_executed`]: 80 }), row("g", { [`${M}inst_executed`]: 100, [`${M}sectors_mem_global`]: 400, [`${M}sectors_mem_global_ideal`]: 100, [`${M}l1tex_pipe_lsu_wavefronts_mem_shared`]: 64, [`${M}l1tex_pipe_lsu_wavefronts_mem_shared_ideal`]: 2 }));
    expect(found).toEqual([
      { name: "g", short: "g!", symbol: "_g", scope: "", executed: 100, threads: null, needed: 0.25, conflicts: 32 },
      { name: "f", short: "f!", symbol: "_f", scope: "", executed: 10, threads: 0.25, needed: null, conflicts: null },
    ]);
  });
  it("a kernel that several code objects have is one", () => {
    const half = (executed: number, threads: number) => row("f", { [`${M}inst_executed`]: executed, [`${M}thread_inst_executed`]: threads });
    const part = { instructions: { warp_size: 32, kernels: [half(10, 80), half(30, 240), row("f", { scope: "x", [`${M}inst_executed`]: 5 })] } };
    expect(instructionsOfKernel(part, "_f")).toEqual({ name: "f", short: "f!", symbol: "_f", scope: "", executed: 40, threads: 0.25, needed: null, conflicts: null });
    expect(instructionsOfKernel(part, "_g")).toBeUndefined();
  });
  it("loads and stores may be counted separately; 0 needed sectors are unknown", () => {
    expect(of(row("f", { [`${M}sectors_mem_global`]: 80, [`${M}sectors_mem_global_op_ld_ideal`]: 10, [`${M}sectors_mem_global_op_st_ideal`]: 30 }))[0]!.needed).toBe(0.5);
    expect(of(row("f", { [`${M}sectors_mem_global`]: 80, [`${M}sectors_mem_global_ideal`]: 0 }))[0]!.needed).toBeNull();
  });
});

it("samples by kernel: functions of one name together, with the report's margin", () => {
  const row = (kernel: string, symbol: string, reason: string, samples: number) => ({ kernel, short_name: `${kernel}!`, symbol, reason, samples });
  const part = { samples: { samples: 200, kernels: [row("f", "_f1", "wait", 10), row("f", "_f2", "wait", 30), row("f", "_f2", "selected", 10), row("g", "_g", "barrier", 150)], shares: [{ kernel: "g", samples: 150, share: 0.75, margin: 0.06 }] } };
  expect(sampledKernelsOf(part)).toEqual([
    { name: "g", short: "g!", symbol: "_g", margin: 0.06, samples: 150, share: 0.75, issued: 0, reasons: [{ reason: "barrier", part: 1 }] },
    { name: "f", short: "f!", symbol: "_f2", margin: null, samples: 50, share: 0.25, issued: 0.2, reasons: [{ reason: "wait", part: 0.8 }] },
  ]);
  for (const odd of [undefined, null, {}, { samples: { kernels: 3 } }]) expect(sampledKernelsOf(odd)).toEqual([]);
});

it("samples by scope: shares are of all samples, reasons of the scope's own; those that are picked do not wait", () => {
  const row = (scope: string, reason: string, samples: number) => ({ scope, reason, samples });
  const found = sampledScopesOf({ samples: { samples: 200, scopes: [row("a", "wait", 10), row("b", "selected", 20), row("b", "branch", 20), row("b", "wait", 60), row("c", "wait", 0)] } });
  expect(found).toEqual([
    { scope: "b", samples: 100, share: 0.5, issued: 0.2, reasons: [{ reason: "wait", part: 0.6 }, { reason: "branch", part: 0.2 }] },
    { scope: "a", samples: 10, share: 0.05, issued: 0, reasons: [{ reason: "wait", part: 1 }] },
  ]);
});

describe("names of kernels that are not recorded", () => {
  const short = (middle: string) => `a_kernel_whose_name_begins_like_all_the_others<${middle}, and_ends_like_all_of_the_others>`;
  const [one, two] = [short("float"), short("double")];
  it("differ in what a table shows of them", () => {
    const rows = [one, two].map((short_name) => ({ kernel: short_name, symbol: short_name, short_name, samples: 5, reason: "wait", executed: 5, source: "kernel", metric: "m", kernel_symbol: short_name, values: 1, mean: 1, least: 1, most: 1 }));
    const seen = [sampledKernelsOf({ samples: { samples: 10, shares: [], kernels: rows } }), instructionsOf({ instructions: { warp_size: 32, kernels: rows } }), countersOf({ counters: rows }).rows];
    for (const table of seen) {
      expect(new Set(table.map((row) => row.short.slice(0, SEEN))).size).toBe(2);
      expect(table.map((row) => /float|double/.exec(row.short)?.[0])).toEqual(["float", "double"]);
    }
  });
  it("are cut for nothing where they are one name", () => {
    const rows = ["a", "b"].map((scope) => ({ kernel: one, symbol: one, short_name: one, scope, executed: 5 }));
    expect(instructionsOf({ instructions: { warp_size: 32, kernels: rows } }).map((row) => row.short)).toEqual([one, one]);
  });
});

describe("samples of those that issued", () => {
  it("has the reasons that stall.def calls running", () => {
    const text = readFileSync(new URL("../../src/analyze/model/kernels/stall.def", import.meta.url), "utf8");
    expect([...PICKED].sort()).toEqual([...text.matchAll(/^STALL\((\w+), RUNNING,/gm)].map(([, name]) => name).sort());
  });
  it("is a part of the samples whose reason is known", () => {
    const kernel = (reason: string | null, samples: number) => ({ kernel: "k", symbol: "_k", short_name: "k", reason, samples });
    const issued = (kernels: object[]) => sampledKernelsOf({ samples: { samples: 100, shares: [], kernels } })[0]?.issued;
    expect(issued([kernel("wave_issued", 20), kernel("waitcnt", 60), kernel(null, 20)])).toBe(0.25);
    expect(issued([kernel(null, 100)])).toBe(null);
  });
});
