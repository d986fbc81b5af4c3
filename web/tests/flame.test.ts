// Stacks and scopes as trees, trees as rectangles, search, keys.
import { describe, expect, it } from "vitest";
import { framesOf, fullNames, rectAt, rectsOf, search, stacksOf, step, treeOf, treeOfParts } from "../src/pages/flame/tree";
import { ORIGINS, originOf, TONE } from "../src/pages/flame/origin";
import { timesOf } from "../src/pages/flame/Origins";
import { scopePaths } from "../src/api/report";
import { kernelsAt, kernelsWithCode } from "../src/pages/insights/launched";
import { captionOf, inTreeOrder, noteOf, perIteration } from "../src/pages/scopes/tree";

const TEXT = "host blocked;main() (a.py:1);step() (a.py:9);event synchronizations 30\nhost blocked;main() (a.py:1);free 10\nGPU;main() (a.py:1);gemm<float, 4>(float const*) 7\nno number here\nhost blocked;x -5\n\n";
const trees = stacksOf(TEXT);
const stacks = trees.get("host blocked")!;
const tree = treeOf(stacks, "Host", false);
const named = (name: string): number => tree.findIndex((node) => node.name.startsWith(name));

describe("where frames come from", () => {
  const origins = (...names: string[]) => names.map(originOf);
  it("is read from their file or library", () => {
    expect(origins("Trainer.train() (trainer.py:1520)", "<module> (<string>:1)")).toEqual(["python", "python"]);
    expect(origins("at::_ops::item() (libtorch_cpu.so+0x29bff96)", "x (libc10_cuda.so+0x1)", "tsl::f() (xla_cuda_plugin.so+0x11f)")).toEqual(["framework", "framework", "framework"]);
    expect(origins("cublasLtSSSMatmul() (libcublasLt.so.13+0x2a)", "cuLaunchKernel() (libcuda.so.1+0x2)", "hipMalloc() (libamdhip64.so.6+0x2)")).toEqual(["gpu", "gpu", "gpu"]);
    expect(origins("main() (train_loop.cu:264)", "_start() (train_loop+0x95e0)")).toEqual(["source", "source"]);
    expect(origins("libc.so.6+0x2a1c9", "__libc_start_main() (libc.so.6+0x2a28a)", "curl_easy_perform() (libcurl.so.4+0xe)")).toEqual(["library", "library", "library"]);
    expect(origins("stream synchronizations", "copy HtoD", "gemm f32 f32 tn n 64x128x8 sm80", "gemm<float, 4>(float const*)")).toEqual(["work", "work", "work", "work"]);
  });
  it("is read from the frames of a range of the timeline, too", () => expect(origins("trainer.py:1520 Trainer.train()", "libc.so.6 __libc_start_main()", "libtorch_cpu.so at::native::to()", "train.cu:7 main()")).toEqual(["python", "library", "framework", "source"]));
  it("has the time of the stacks with such a frame, each counted once", () => expect([...timesOf(stacks)]).toEqual([["python", 40], ["work", 40]]));
  it("each has another colour", () => expect(new Set(Object.values(TONE)).size).toBe(ORIGINS.length));
});

describe("kernels of a line", () => {
  const stacks = stacksOf("GPU;main() (a.py:3);step() (b.py:7);gemm 50\nGPU;main() (a.py:3);relu 20\nGPU;main() (a.py:30);gemm 9\nGPU;main() (a.py:3);copy HtoD 70\nGPU;main() (a.py:3);step() (b.py:7);relu 5\n").get("GPU")!;
  it("are those with the line anywhere in the launch's stack, most time first, without copies", () =>
    expect(kernelsAt(stacks, "/src/a.py", 3)).toEqual([{ name: "gemm", ns: 50 }, { name: "relu", ns: 25 }]));
  it("are none if no launch has the line", () => expect(kernelsAt(stacks, "/src/c.py", 3)).toEqual([]));
});

describe("kernels with code at a line", () => {
  const at = (file: string, line: number, samples: number) => ({ file, line, samples });
  const code = [
    { symbol: "_Z1fv", short_name: "f", instructions: [at("/a/k.cu", 24, 3), at("/a/k.cu", 24, 4), at("/a/k.cu", 25, 90)] },
    { symbol: "_Z1gv", short_name: "g", instructions: [at("/a/k.cu", 24, 9)] },
    { symbol: "_Z1fv", short_name: "f", instructions: [at("/a/k.cu", 24, 1)] }, // of another architecture
    { symbol: "_Z1hv", short_name: "h", instructions: [at("/b/k.cu", 24, 70)] },
  ];
  it("most samples first, of all code objects together; a path that is known stands for itself", () =>
    expect(kernelsWithCode({ code }, "/a/k.cu", 24)).toEqual([{ symbol: "_Z1gv", name: "g", samples: 9 }, { symbol: "_Z1fv", name: "f", samples: 8 }]));
  it("of a path that no code has, the name of the file counts", () => expect(kernelsWithCode({ code }, "/elsewhere/k.cu", 24).map(({ name }) => name)).toEqual(["h", "g", "f"]));
  it("without code there are none", () => expect([kernelsWithCode(undefined, "/a/k.cu", 24), kernelsWithCode({ code }, "/a/k.cu", 99)]).toEqual([[], []]));
});

describe("collapsed stacks", () => {
  it("two trees; what is no stack is skipped; frames keep their spaces", () => {
    expect([...trees.keys()]).toEqual(["host blocked", "GPU"]);
    expect(trees.get("GPU")).toEqual([{ frames: ["main() (a.py:1)", "gemm<float, 4>(float const*)"], ns: 7 }]);
    expect(stacks).toHaveLength(2);
  });
  it("a parent has what its children have, and its own", () => {
    expect(tree.map((node) => [node.name.split("(")[0], node.total, node.self])).toEqual([["Host", 40, 0], ["main", 40, 0], ["step", 30, 0], ["event synchronizations", 30, 30], ["free", 10, 10]]);
    for (const node of tree) expect(node.total).toBe(node.self + node.children.reduce((sum, child) => sum + tree[child]!.total, 0));
  });
  it("inverted, the innermost stands first and the sum is the same", () => {
    const inverted = treeOf(stacks, "Host", true);
    expect(inverted[0]!.children.map((id) => inverted[id]!.name)).toEqual(["event synchronizations", "free"]);
    expect([inverted[0]!.total, inverted[named("main")]!.depth >= 1]).toEqual([40, true]);
  });
  it("a path has the same number in every load, whatever the order", () => {
    const other = treeOf([...stacks].reverse(), "Host", false);
    expect(other.find((node) => node.name === "free")!.path).toBe(tree[named("free")]!.path);
    expect(new Set(tree.map((node) => node.path)).size).toBe(tree.length);
  });
  it("recursion is counted once in all, by the innermost in self", () =>
    expect(framesOf([{ frames: ["f", "g", "f"], ns: 5 }, { frames: ["f"], ns: 2 }])).toEqual([{ name: "f", self: 7, total: 7 }, { name: "g", self: 0, total: 5 }]));
  it("10 000 stacks 200 deep, and one that is endless, are trees", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({ frames: Array.from({ length: 200 }, (_, d) => `f${d}:${d > 190 ? i : 0}`), ns: 1 }));
    expect(treeOf(many, "", false)[0]!.total).toBe(10_000);
    expect(treeOf([{ frames: Array(50_000).fill("f"), ns: 3 }], "", false)).toHaveLength(2001);
  });
});

describe("rectangles", () => {
  const rects = rectsOf(tree, 0, 0, 99);
  it("children lie within their parent, side by side", () => {
    const of = (name: string) => rects.find((rect) => rect.node === named(name))!;
    expect([of("step").x0, of("step").x1, of("free").x0, of("free").x1, of("free").row]).toEqual([0, 0.75, 0.75, 1, 2]);
  });
  it("zoomed in, callers stay, and their other callees are not shown", () => {
    const zoomed = rectsOf(tree, named("step"), 0, 99);
    expect(zoomed.map((rect) => [tree[rect.node]!.name.split("(")[0], rect.x0, rect.x1])).toEqual([["Host", 0, 1], ["main", 0, 1], ["step", 0, 1], ["event synchronizations", 0, 1]]);
  });
  it("what is narrower than a px, or too deep, is not drawn", () => expect([rectsOf(tree, 0, 0.3, 99).length, rectsOf(tree, 0, 0, 2).length]).toEqual([4, 2]));
  it("finds what lies under the pointer", () => {
    expect(rectAt(rects, 0.8, 2)!.node).toBe(named("free"));
    expect(rectAt(rects, 0.8, 3)).toBeNull();
  });
  it("search counts what lies within a match once", () => {
    expect(search(tree, "MAIN")).toEqual({ found: new Set([named("main")]), total: 40 });
    expect(search(treeOf([{ frames: ["f", "g", "f"], ns: 5 }], "", false), "f").total).toBe(5);
    expect(search(tree, "").found.size).toBe(0);
  });
  it("arrow keys go to callers, callees and neighbours, and stay at the ends", () => {
    const at = named("step");
    expect([step(tree, at, "up"), step(tree, at, "right"), step(tree, named("free"), "left"), step(tree, named("free"), "right"), step(tree, 0, "up"), step(tree, named("free"), "down"), step(tree, 999, "up")]).toEqual([
      named("main"), named("free"), at, named("free"), 0, named("free"), 0,
    ]);
  });
});

describe("scopes", () => {
  const part = (id: number, parent: number, value: number | null) => ({ id, parent, name: `s${id}`, value });
  it("nodes are in the order of the parts, after the root", () => expect(treeOfParts([part(7, 0, 4), part(3, 7, 1)], "all").map((node) => node.name)).toEqual(["all", "s7", "s3"]));
  it("children that overlap in time make their parent as wide as they are; unknown is nothing", () => {
    const scopes = treeOfParts([part(1, 0, 10), part(2, 1, 8), part(3, 1, 8), part(4, 99, null)], "all");
    expect(scopes.map((node) => [node.total, node.self])).toEqual([[16, 0], [16, 0], [8, 8], [8, 8], [0, 0]]);
    expect(scopes[4]!.parent).toBe(0);
  });
  it("what children that are not here have is a block of its own, where the parent's own part is known", () => {
    const scopes = treeOfParts([{ ...part(1, 0, 10), own: 3 }, { ...part(2, 1, 5), own: 5 }, { ...part(3, 0, 4), own: null }], "all", "others");
    expect(scopes.map((node) => [node.name, node.parent, node.total, node.self])).toEqual([["all", -1, 14, 0], ["s1", 0, 10, 3], ["s2", 1, 5, 5], ["s3", 0, 4, 4], ["others", 1, 2, 2]]);
    const caption = captionOf(scopes, { scopes: 3, complete: false, ownKnown: true });
    expect([caption(1), caption(4)]).toEqual(["10 ns · 71 % · 3 ns itself", "2 ns · 14 %"]);
  });
  it("the time of scopes that may be left out is not claimed as a scope's own; the sum of all is no part of the run", () => {
    const scopes = treeOfParts([part(1, 0, 10), part(2, 1, 6)], "all");
    const caption = (complete: boolean) => captionOf(scopes, { scopes: 2, complete, ownKnown: false });
    expect([0, 1].map(caption(true))).toEqual(["10 ns, summed over calls and threads", "10 ns · 100 % · 4 ns itself"]);
    expect([0, 1].map(caption(false))).toEqual(["10 ns of the scopes that are shown, summed over calls and threads", "10 ns · 100 % · 4 ns itself or in scopes that are not shown"]);
  });
  it("the note says how many of all scopes are shown", () => {
    expect(noteOf(32, 411).startsWith("32 of 411 scopes are shown, the longest first. A bar")).toBe(true);
    expect([noteOf(32, 32), noteOf(32, null)].map((note) => note.startsWith("A bar"))).toEqual([true, true]);
    expect([scopePaths({ scope_paths: 411 }), scopePaths({})]).toEqual([411, null]);
  });
  it("no circle is followed", () => expect(treeOfParts([part(1, 1, 5), part(2, 3, 1), part(3, 2, 1)], "all")[0]!.total).toBe(5));
  it("the table has the same order as the tree's parents", () => expect(inTreeOrder([{ id: 2, parent: 1, wall_ns: 1 }, { id: 1, parent: 0, wall_ns: 9 }]).map((node) => node.id)).toEqual([1, 2]));
  it("per iteration, where there are any", () => expect([perIteration(100, 4), perIteration(100, 0), perIteration(null, 4), perIteration(100, null)]).toEqual([25, null, null, null]));
});

describe("whole names of kernels", () => {
  it("are known by short ones that one kernel has", () => {
    const full = fullNames([{ short: "gemm", name: "void gemm<float>(int)" }, { short: "norm", name: "a::norm()" }, { short: "norm", name: "b::norm()" }]);
    expect([...full]).toEqual([["gemm", "void gemm<float>(int)"], ["norm", "norm"]]);
  });
});
