// The colour of an event, by what the reader chose.
import { describe, expect, it } from "vitest";
import { colourOfKind } from "../src/timeline/colours";
import { KIND } from "../src/timeline/lanes";
import { Lines } from "../src/timeline/lines";
import { COLOURS, hashOf, Names } from "../src/timeline/names";
import type { Scene } from "../src/timeline/scene";
import { tintOf, type Tint } from "../src/timeline/tint";

const GREY = colourOfKind(KIND.copy);
const place = (file: string, line: number) => ({ place: `${file}:${line}`, file, line, function: "f", in_library: false });
// Stacks 1 and 2 are at the two lines; stack 3 has none.
const lines = new Lines({
  causes: [],
  places: [null, place("train.py", 10), place("data.py", 4)],
  stacks: [0, 1, 2, 3],
  nodes: { parent: [0, 0, 0, 0], frame: [0, 1, 2, 3], place: [0, 1, 2, 0] },
  frames: [[], ["f"], ["f"], ["g"]],
  kernels: [
    { symbol: "_Z4gemm", place: 2, scope: "step|forward" },
    { symbol: "_Z4norm", place: 0, scope: null },
  ],
  gaps: [],
});
const names = new Names();
names.add([
  { name: "gemm()", mangled: "_Z4gemm", short: "gemm" },
  { name: "norm()", mangled: "_Z4norm", short: "norm" },
]);
const [GEMM, NORM] = [1, 2];
const kinds: number[] = [KIND.kernel, KIND.wait, KIND.sample];
const paint = (tint: Tint, kind: number, ref = 0) => tintOf({ lanes: kinds.map((one) => ({ kind: one, ref, depth: 0 })), names, lines, tint, searching: false } as unknown as Scene, kinds.indexOf(kind));
const ofPlace = (text: string): number => hashOf(text) % COLOURS;

describe("colour by line", () => {
  it("of a wait is that of its own line, and grey without one", () => {
    const colour = paint("line", KIND.wait);
    expect(colour(0, 1)).toBe(ofPlace("train.py:10"));
    expect(colour(0, 2)).toBe(ofPlace("data.py:4"));
    expect(colour(0, 3)).toBe(GREY);
  });
  it("of a kernel is that of its launch, or else of the line that launched most of its time", () => {
    const colour = paint("line", KIND.kernel);
    expect(colour(GEMM, 1)).toBe(ofPlace("train.py:10"));
    expect(colour(GEMM, 0)).toBe(ofPlace("data.py:4"));
    expect(colour(NORM, 0)).toBe(GREY);
  });
});

describe("colour by scope", () => {
  it("of a kernel is that of the scope with most of its time, and grey without one", () => {
    const colour = paint("scope", KIND.kernel);
    expect(colour(GEMM, 1)).toBe(ofPlace("step|forward"));
    expect(colour(NORM, 1)).toBe(GREY);
  });
});

describe("other colours", () => {
  it("by stream are alike within a lane, whatever runs there", () => {
    expect(paint("stream", KIND.kernel, 7)(GEMM, 1)).toBe(paint("stream", KIND.kernel, 7)(NORM, 2));
    expect(paint("stream", KIND.kernel, 7)(GEMM, 0)).not.toBe(paint("stream", KIND.kernel, 8)(GEMM, 0));
  });
  it("by name are those of the names", () => expect(paint("name", KIND.kernel)(GEMM, 1)).toBe(ofPlace("gemm()")));
  it("of samples are those of their lines in each choice but that by stream", () => {
    for (const tint of ["name", "line", "scope"] as const) expect(paint(tint, KIND.sample)(0, 2)).toBe(ofPlace("data.py:4"));
  });
});
