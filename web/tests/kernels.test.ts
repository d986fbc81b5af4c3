// Groups of kernels by their names, and the columns of the table besides their times.
import { describe, expect, it } from "vitest";
import type { AnswerConfigs, AnswerKernels } from "../src/api/schema";
import { groupNamer, linesOf, openOf, orderOf, patternsOf, together, toggled, withoutTemplate, type Named } from "../src/pages/kernels/groups";
import { vendorOf } from "../src/api/vendor";
import { resourceOf } from "../src/pages/kernels/deep";
import { definitionOf, kernelsOf, timeOf } from "../src/pages/kernels/kernel";
import { reportedBySymbol } from "../src/pages/kernels/report";
import { fleet } from "../src/text/fleet";
import { kernel as text, wordsOf } from "../src/text/kernel";

const kernel = (name: string, total: number | null, more: Partial<Named> = {}): Named => ({ ...together([]), id: 0, name, total, calls: 1, ...more });

describe("names of groups", () => {
  it("without template arguments and what is returned", () => {
    expect(withoutTemplate("void train::gemm<float, Tile<128, 64>, (L)1>(float*, int)")).toBe("train::gemm");
    expect(withoutTemplate("std::enable_if<true, void>::type at::launch<at::Op<4>>::run<2>(int)")).toBe("at::launch::run");
    expect(withoutTemplate("plain_c_kernel")).toBe("plain_c_kernel");
    expect(withoutTemplate("(anonymous namespace)::f<3>()")).toBe("f");
  });
  it("by namespace; what has none stands together", () => {
    const namer = groupNamer("namespace", "");
    expect(["a::b::f<x::y>(int)", "a::b::g()", "h"].map(namer)).toEqual(["a::b", "a::b", ""]);
  });
  it("by the first pattern that fits, whatever the case; a star is anything, other signs are themselves", () => {
    const namer = groupNamer("pattern", " gemm , layer*norm, ( ");
    expect(["my_GEMM_kernel", "layer_batch_norm", "f(int)", "gelu"].map(namer)).toEqual(["gemm", "layer*norm", "(", ""]);
    expect(patternsOf(" , ")).toEqual([]);
  });
});

describe("where a kernel is defined", () => {
  const report = { kernels: { defined: [{ symbol: "add", defined: { file: "/src/vec.py", line: 6 } }, { symbol: "odd", defined: null }] } };
  it("is found by the name in the program", () => expect(definitionOf(report, "add")).toEqual({ file: "/src/vec.py", line: 6 }));
  it("is unknown where the report has none, or is of an older server", () => {
    expect([definitionOf(report, "ad"), definitionOf(report, "odd"), definitionOf({}, "add"), definitionOf(undefined, "add")]).toEqual([null, null, null, null]);
  });
});

describe("several kernels together", () => {
  it("times add up, means weigh by calls, percentiles are unknown, the least occupancy stands", () => {
    const sum = together([kernel("a", 30, { calls: 3, longest: 20, p99: 5, occupancy: 0.5, registers: 32, share: 0.3 }), kernel("b", 10, { calls: 1, longest: 10, occupancy: 1, registers: 64, share: 0.1 })]);
    expect(sum).toMatchObject({ total: 40, calls: 4, mean: 10, longest: 20, p50: null, p99: null, occupancy: 0.5, registers: 64 });
    expect(sum.share).toBeCloseTo(0.4);
  });
  it("unknown stays unknown", () => expect(together([kernel("a", null, { calls: null })])).toMatchObject({ total: null, calls: null, mean: null, occupancy: null }));
});

describe("lines of the table", () => {
  const kernels = [kernel("a<1>", 10, { id: 4 }), kernel("a<2>", 50, { id: 5 }), kernel("b", 55, { id: 6 }), kernel("c", null, { id: 7 })];
  const shown = (lines: ReturnType<typeof linesOf>) => lines.map((line) => (line.group ? `[${line.group.name} ${line.group.ids.length}]` : `${line.inner ? "-" : ""}${line.kernel!.name}`));
  const order = orderOf("total", true);
  it("alone, unknown last either way", () => {
    expect(shown(linesOf(kernels, null, new Set(), order))).toEqual(["b", "a<2>", "a<1>", "c"]);
    expect(shown(linesOf(kernels, null, new Set(), orderOf("total", false)))).toEqual(["a<1>", "a<2>", "b", "c"]);
  });
  it("in groups, closed and open; one alone is no group", () => {
    expect(shown(linesOf(kernels, withoutTemplate, new Set(), order))).toEqual(["[a 2]", "b", "c"]);
    expect(shown(linesOf(kernels, withoutTemplate, new Set([5]), order))).toEqual(["[a 2]", "-a<2>", "-a<1>", "b", "c"]);
    expect(shown(linesOf(kernels, withoutTemplate, new Set(), orderOf("name", false)))).toEqual(["[a 2]", "b", "c"]);
  });
  it("an address says which groups are open by a kernel of each", () => {
    const group = (open: string) => linesOf(kernels, withoutTemplate, openOf(open), order)[0]!.group!;
    expect([...openOf("")]).toEqual([]);
    expect(group("6").open).toBe(false);
    expect(toggled(openOf("6"), group("6"))).toBe("6,4");
    expect(group("6,4").open).toBe(true);
    expect(toggled(openOf("6,5"), group("6,5"))).toBe("6"); // whichever of them opened it
  });
  it("an order that nobody knows is by time", () => expect([orderOf("x", true), orderOf(null, true), orderOf("p99", false)].map((o) => o.by)).toEqual(["total", "total", "p99"]));
});

describe("columns next to the times", () => {
  const configs = { rows: 3, names: ["f", "registers", "shared_mem"], mangled: ["_f", "registers", "shared_mem"], data: { name: [0, 0, 0], warps: [32, 8, null], max_warps: [64, 64, null], limiter: [2, 1, null], registers: [40, 128, 8], local: [0, 16, null] } } as unknown as AnswerConfigs;
  const samples = (symbol: string, reason: string, n: number) => ({ symbol, reason, samples: n });
  const profile = { samples: { kernels: [samples("_f", "selected", 60), samples("_f", "wait", 30), samples("_f", "branch", 10), samples("_g", "selected", 5)] } };
  it("the least occupancy of a kernel's shapes with its limit, the most registers and spills", () => expect(reportedBySymbol(configs, undefined).get("_f")).toEqual({ occupancy: 0.125, limiter: "registers", registers: 128, local: 16, stall: null, reason: "" }));
  it("why most warps wait: those that are picked do not", () => {
    const found = reportedBySymbol(undefined, profile);
    expect(found.get("_f")).toMatchObject({ stall: 0.3, reason: "wait", occupancy: null });
    expect(found.get("_g")).toBeUndefined();
  });
  it("rows get what is said of them, by their name in the program", () => {
    const answer = { rows: 1, names: ["f()"], mangled: ["_f"], data: { name: [0], name_id: [7], total: [5], calls: [1] } } as unknown as AnswerKernels;
    expect(kernelsOf(answer, reportedBySymbol(configs, profile))[0]).toMatchObject({ id: 7, name: "f()", share: 1, registers: 128, reason: "wait" });
    expect(kernelsOf(answer)[0]).toMatchObject({ occupancy: null, limiter: "" });
  });
  it("shares are of all kernels, also where a search shows a part of them", () => {
    const answer = (total: (number | null)[]) => ({ rows: total.length, names: ["f", "g"], mangled: ["f", "g"], data: { name: [0, 1].slice(0, total.length), name_id: [1, 2].slice(0, total.length), total, calls: [1, 1] } }) as unknown as AnswerKernels;
    const all = answer([30, 10]);
    expect(timeOf(all)).toBe(40);
    expect(kernelsOf(all).map((kernel) => kernel.share)).toEqual([0.75, 0.25]);
    expect([timeOf(all), null, 0].map((whole) => kernelsOf(answer([10]), undefined, whole)[0]!.share)).toEqual([0.25, null, null]);
    expect(kernelsOf(answer([null]), undefined, 40)[0]!.share).toBeNull();
  });
  it("names that end alike, too, have the letters from where they differ, however late and however many", () => {
    const names = ["void a", "void b"].flatMap((kind) => ["float", "half"].map((type) => `train::pointwise::vectorized_kernel<${"x".repeat(60)}${kind}, ${"y".repeat(60)}${type}, train::Array<char*, 3> >`));
    const answer = { rows: 5, names: [...names, names[0]], mangled: [...names, "again"], short_names: [...names, names[0]], data: { name: [0, 1, 2, 3, 4], name_id: [1, 2, 3, 4, 5], calls: [1, 1, 1, 1, 1], total: [1, 1, 1, 1, 1] } } as unknown as AnswerKernels;
    const shown = kernelsOf(answer).map(({ short }) => short);
    expect(new Set(shown.slice(0, 4)).size).toBe(4);
    expect(shown[4]).toBe(shown[0]); // one name of two kernels
    expect(shown.every((short) => short.length <= 40 && short.startsWith("train::poi…"))).toBe(true);
    expect(shown[0]).toContain("float");
    expect(shown[1]).toContain("half");
    expect(kernelsOf(answer).map(({ uncut }) => uncut)).toEqual([...names, names[0]]); // for tables that have the room
  });
  it("names that begin alike for longer than a table shows have their ends; others stay", () => {
    const short_names = ["Mul float [vectorized_elementwise_kernel BinaryFunctor]", "Mul float [vectorized_elementwise_kernel AUnaryFunctor]", "Mul float [vectorized_unrolled_kernel with a name as long]", "Mul bf16"];
    const answer = { rows: 4, names: short_names, mangled: ["_a", "_b", "_c", "_d"], short_names, data: { name: [0, 1, 2, 3], name_id: [1, 2, 3, 4], total: [4, 3, 2, 1], calls: [1, 1, 1, 1] } } as unknown as AnswerKernels;
    const shown = kernelsOf(answer).map(({ short }) => short);
    expect(shown.slice(2)).toEqual(short_names.slice(2));
    expect([shown[0]!.endsWith("BinaryFunctor]"), shown[1]!.endsWith("AUnaryFunctor]"), shown[0]!.length <= 40]).toEqual([true, true, true]);
  });
});

describe("words of the GPU's vendor", () => {
  it("the session's GPUs name the vendor; what is odd or missing is unknown", () => {
    expect(vendorOf({ gpus: [{ uuid: "a", name: "H" }, { uuid: "b", name: "MI210", vendor: "amd" }] })).toBe("amd");
    for (const gpus of [[], [{ uuid: "a", name: "AMD" }], null, "amd", [7]]) expect(vendorOf({ gpus })).toBe("");
    expect(vendorOf(undefined)).toBe("");
  });
  it("AMD's are AMD's", () => {
    const { facts, spills, ...plain } = wordsOf("amd");
    const all = JSON.stringify([plain, facts("1", "2", spills("3")), plain.shape("8", "64"), fleet.clockOf(["amd", "amd"])]);
    for (const other of [/\bwarps?\b/i, /SASS/, /\bSMs?\b/, /\bthreads?\b/, /\bblocks?\b/, /shared memory/]) expect(all.replace(/"[a-z_A-Z]+":/g, "")).not.toMatch(other);
    expect([plain.columns.sass, plain.columns.offset]).toEqual(["ISA", "Offset"]);
    expect([["nvidia"], ["nvidia", "amd"], [""], []].map(fleet.clockOf)).toEqual(["SM clock", "SM or shader clock", "SM clock", "SM clock"]);
    expect([wordsOf("").columns.sass, wordsOf("nvidia").stalls]).toEqual(["SASS", "Why warps wait"]);
  });
  it("what limits is one of the four resources, with a text of its own", () => {
    expect(["wavefronts", "vgprs", "sgprs", "lds", "workgroups", "registers"].map(resourceOf)).toEqual(["warps", "registers", "registers", "shared_mem", "blocks", "registers"]);
    for (const limiter of ["wavefronts", "vgprs", "sgprs", "lds", "workgroups"]) expect([text.limits[limiter], text.limitsShort[limiter]]).not.toContain(undefined);
  });
});
