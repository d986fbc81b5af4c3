// Names with what was searched for, where a part of the GPU's time leads, and the longest gap of a cause.
import { describe, expect, it } from "vitest";
import { idleLinesOf } from "../src/api/report";
import { lineKey } from "../src/pages/insights/causes";
import { findingOf } from "../src/pages/insights/causes";
import { longestGap, Lines } from "../src/timeline/lines";
import { cutMiddle } from "../src/timeline/names";
import { piecesOf, type Piece } from "../src/ui/found";
import { leftOutOf } from "../src/pages/upload/parts";

const shown = (pieces: readonly Piece[]): string => pieces.map(({ text, hit }) => (hit ? `[${text}]` : text)).join("");

describe("what was searched for in a name", () => {
  it("is marked wherever it stands, without regard to case", () => expect(shown(piecesOf("copy of a Copy", [], "COPY").text)).toBe("[copy] of a [Copy]"));
  it("nothing is marked without words, and nothing is lost", () => expect(piecesOf("gemm", ["gemm<f>"], " ")).toEqual({ lead: [], text: [{ text: "gemm", hit: false }] }));
  it("leads where only the whole name has it", () => {
    const { lead, text } = piecesOf("Fill float x4", ["void at::native::vectorized<4, FillFunctor<float>>(int)"], "fillfunctor");
    expect([shown(lead), shown(text)]).toEqual(["…ized<4, [FillFunctor]<float>>…", "Fill float x4"]);
  });
  it("leads where a narrow table would cut it off", () => {
    const { lead, text } = piecesOf(`${"a".repeat(60)}hit`, [], "hit");
    expect([shown(lead), shown(text)]).toEqual(["…aaaaaaaa[hit]", `${"a".repeat(60)}[hit]`]);
  });
  it("is found in the name of the program, too", () => expect(shown(piecesOf("fill", ["fill()", "_Z4fillILi4EEvv"], "ILi4E").lead)).toBe("…_Z4fill[ILi4E]Evv".replace("…", "")));
  it("markup is text", () => expect(piecesOf("<b>x</b>", [], "<b>").text[0]).toEqual({ text: "<b>", hit: true }));
});

describe("titles of rows that have little room", () => {
  const rows = ["GPU 0 · stream 7", "GPU 0 · stream 13", "GPU 1 · stream 7"];
  it("keep both ends, so that they differ", () => expect(rows.map((row) => cutMiddle(row, 11))).toEqual(["GPU 0…eam 7", "GPU 0…am 13", "GPU 1…eam 7"]));
  it("stay whole where there is room, and go where there is none", () => expect([cutMiddle("GPU 0", 5), cutMiddle("GPU 0", 2)]).toEqual(["GPU 0", ""]));
});

describe("parts of the GPU's time", () => {
  const lines = idleLinesOf({ idle: { lines: [{ cause: "late_launch", place: "a.py:2", file: "/a.py", line: 2, idle_ns: 9 }, { cause: "copy", place: "a.py:2", file: "/a.py", line: 2, idle_ns: 4, ended_by: true }, { cause: "late_launch", place: null, file: null, line: null, idle_ns: 5 }] } });
  const finding = (rule: string, line: number) => ({ rule, file: "/a.py", line });
  it("lines without a place are left out", () => expect(lines).toEqual([{ cause: "late_launch", place: "a.py:2", file: "/a.py", line: 2, ns: 9, ended: false }, { cause: "copy", place: "a.py:2", file: "/a.py", line: 2, ns: 4, ended: true }]));
  it("one line with time of several causes has an address for each", () => expect(lines.map(lineKey)).toEqual(["at:late_launch:/a.py:2", "at:copy.ended:/a.py:2"]));
  it("lead to the finding at their first line", () => expect(findingOf("late_launch", lines, [finding("late_launch", 1), finding("late_launch", 2)])?.line).toBe(2));
  it("lead to no finding of another cause", () => expect(findingOf("late_launch", lines, [finding("sync_line", 2)])).toBeUndefined());
  it("of waits in a loop the loop is told", () => expect(findingOf("host_sync", [], [finding("sync_line", 1), finding("sync_loop", 1)])?.rule).toBe("sync_loop"));
});

describe("the longest gap", () => {
  const told = new Lines({ causes: [{ cause: "x", text: "x" }, { cause: "y", text: "y" }], gaps: { device: [0, 0, 0, 1], start: [0, 100, 200, 300], duration: [90, 5, 20, 30], cause: [0, 0, 0, 1], node: [0, 0, 0, 0], ended_by: [0, 0, 0, 0] } });
  it("of its cause, from a time on", () => expect([longestGap(told, "x", 0)?.start, longestGap(told, "x", 1)?.start, longestGap(told, "y", 0)?.duration, longestGap(told, "z", 0)]).toEqual([0, 200, 30, null]));
});

describe("parts packed with zstd", () => {
  const file = new File(["x"], "x");
  const of = (...paths: string[]) => leftOutOf(paths.map((path) => ({ file, path })));
  it("are told, but not where another file has the same", () => expect(of("a/device.1.log.zst", "a/device.2.log.zst", "a/device.2.log.gz", "a/scope.log.zst", "a/scope.log", "a/notes.zst")).toEqual(["a/device.1.log.zst"]));
});
