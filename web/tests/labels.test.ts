// The texts of flame graphs: as much of a name as fits, and no two different names below one parent that read the same.
import { describe, expect, it } from "vitest";
import { fitted, textsOf } from "../src/pages/flame/labels";

const wide = (text: string): number => text.length; // a letter is 1 px wide
const pass = (name: string): string => `XlaPassPipeline:#name=${name},program_id=26482#`;

describe("texts in rectangles", () => {
  it("are whole where there is room, cut at the end where there is less, and gone where there is none", () => {
    expect([fitted("gemm", 4, wide), fitted("gemm kernel", 8, wide), fitted("gemm", 3, wide)]).toEqual(["gemm", "gemm k…", ""]);
    expect(fitted("x".repeat(500), 1000, wide)).toBe(`${"x".repeat(398)}…`);
  });
  it("of different names that begin alike show where these differ", () => {
    const row = [pass("spmd-simplify"), pass("layout-assignment")].map((name) => ({ name, parent: 1, room: 16 }));
    expect(textsOf(row, wide)).toEqual(["…me=spmd-simpl…", "…me=layout-ass…"]);
  });
  it("stay as they are if the names are one, or differ at once", () => {
    const same = [{ name: "step of a long name", parent: 1, room: 8 }, { name: "step of a long name", parent: 1, room: 8 }];
    expect(textsOf(same, wide)).toEqual(["step o…", "step o…"]);
    expect(textsOf([{ name: "forward pass", parent: 1, room: 8 }, { name: "backward pass", parent: 1, room: 8 }], wide)).toEqual(["forwar…", "backwa…"]);
  });
  it("stay as they are below different parents, whose names differ", () => expect(textsOf([1, 2].map((parent) => ({ name: `torch::call ${parent}`, parent, room: 8 })), wide)).toEqual(["torch:…", "torch:…"]));
  it("never read the same", () => {
    const row = Array.from({ length: 9 }, (_, at) => ({ name: pass(`pass-${at}`), parent: 0, room: 14 }));
    expect(new Set(textsOf(row, wide)).size).toBe(9);
  });
});
