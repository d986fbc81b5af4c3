// Names with the matches of a search, the links of a part of the GPU's time, and the longest gap of a cause.
import { describe, expect, it } from "vitest";
import { idleLinesOf } from "../src/api/report";
import { findingOf, lineKey, partsOf, rowsOf, saidOf } from "../src/pages/insights/causes";
import { longestGap, Lines } from "../src/timeline/lines";
import { namesOf, pathText, shortPaths } from "../src/format/paths";
import { wordsOf } from "../src/text/kernel";
import { cutMiddle, Names } from "../src/timeline/names";
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
  it("leads only where the visible part of the text does not show it", () => {
    const text = `${"a".repeat(60)}hit`;
    expect([63, Infinity].map((seen) => piecesOf(text, [text], "hit", seen).lead)).toEqual([[], []]);
    expect(shown(piecesOf(text, [], "hit", 62).lead)).toBe("…aaaaaaaa[hit]");
    expect(shown(piecesOf("cut…short", ["whole hit"], "hit", Infinity).lead)).toBe("…hole [hit]".replace("…", "w"));
  });
  it("is found in the name of the program, too", () => expect(shown(piecesOf("fill", ["fill()", "_Z4fillILi4EEvv"], "ILi4E").lead)).toBe("…_Z4fill[ILi4E]Evv".replace("…", "")));
  it("markup is text", () => expect(piecesOf("<b>x</b>", [], "<b>").text[0]).toEqual({ text: "<b>", hit: true }));
});

describe("names of events", () => {
  const names = (vendor: string) => {
    const all = new Names();
    all.words = wordsOf(vendor).events;
    all.add(["context synchronization", "wait for context", "gemm", "toString"].map((name) => ({ name, mangled: name, short: name })));
    return all;
  };
  it("are the GPU vendor's", () => {
    expect([1, 2, 3, 4].map((id) => names("amd").text(id))).toEqual(["device synchronization", "wait for device", "gemm", "toString"]);
    expect([1, 2].map((id) => names("amd").short(id))).toEqual(["device synchronization", "wait for device"]);
    expect([1, 2].map((id) => names("nvidia").text(id))).toEqual(["context synchronization", "wait for context"]);
  });
  it("are found by what is shown", () => {
    const all = names("amd");
    all.find("wait for dev");
    expect([1, 2, 3].map((id) => all.found(id))).toEqual([false, true, false]);
  });
});

describe("paths of scopes in a row", () => {
  const pass = (id: number, name: string) => `Compile:#module=jit_step#|Pipeline:#name=config-assigner,program_id=${id}#|Pass:#name=${name},program_id=${id}#`;
  const shown = (paths: string[]) => paths.map((path) => shortPaths(paths).get(path));
  it("have names with any letters", () => {
    const all = [["epoch", "step"], ["epoch|step"], ["a\\", "b"], ["a\\|b", "c"], ["a;b/c:d", "\\"], ["", "x"]];
    expect(all.map(pathText)).toEqual(["epoch|step", "epoch\\|step", "a\\\\|b", "a\\\\\\|b|c", "a;b/c:d|\\\\", "|x"]);
    expect(all.map((names) => namesOf(pathText(names)))).toEqual(all);
    expect(namesOf("C:\\dir|x")).toEqual(["C:\\dir", "x"]); // as they were written before
  });
  it("are whole where there is room", () => expect(shown(["epoch", "epoch|step|backward"])).toEqual(["epoch", "epoch|step|backward"]));
  it("show their end", () => expect(shown([pass(26482, "config-assigner")])).toEqual(["…|Pass:#name=config-assigner,program_id=26482#"]));
  it("that end alike have more of them", () => expect(shown(["a|b", "c"].map((root) => `${root}|${pass(1, "x")}`))).toEqual([`…|b|${pass(1, "x")}`, `c|${pass(1, "x")}`]));
  it("that are one long name each differ, too", () => expect(new Set(shown(["a", "b"].map((middle) => `${"n".repeat(200)}${middle}${"m".repeat(200)}`))).size).toBe(2));
  it("never read alike", () => {
    const paths = Array.from({ length: 300 }, (_, at) => pass(at % 100, `pass-${at % 7}`));
    expect(new Set(shown([...new Set(paths)])).size).toBe(new Set(paths).size);
  });
});

describe("titles of rows that have little room", () => {
  const rows = ["GPU 0 · stream 7", "GPU 0 · stream 13", "GPU 1 · stream 7"];
  it("keep both ends, so that they differ", () => expect(rows.map((row) => cutMiddle(row, 11))).toEqual(["GPU 0…eam 7", "GPU 0…am 13", "GPU 1…eam 7"]));
  it("stay whole where there is room, and go where there is none", () => expect([cutMiddle("GPU 0", 5), cutMiddle("GPU 0", 2)]).toEqual(["GPU 0", ""]));
});

describe("parts of the GPU's time", () => {
  const late = { cause: "late_launch", place: "a.py:2", file: "/a.py", line: 2, idle_ns: 9, exact_ns: 0, half_width_ns: 3, operator: "aten::mm", state: "blocked", syscall: "futex" };
  const none = { cause: "late_launch", place: null, file: null, line: null, reason: "no_samples", idle_ns: 2, exact_ns: 2, half_width_ns: 0, operator: null };
  const copy = { ...late, cause: "copy", idle_ns: 4, exact_ns: 4, half_width_ns: 0, ended_by: true, state: null, syscall: null };
  const library = { ...none, place: "libtorch_cuda.so", reason: null, idle_ns: 1, exact_ns: 1, operator: "AddmmBackward0" };
  const lines = idleLinesOf({ idle: { lines: [late, copy, library, none] } });
  const finding = (line: number, ...parts: string[]) => ({ file: "/a.py", line, parts });
  const found = (part: string, ...findings: ReturnType<typeof finding>[]) => findingOf(part, lines, findings, ({ parts }) => parts);
  it("have rows with the share of the part, also for time without a line", () => {
    const rows = rowsOf("late_launch", lines);
    expect(rows.map(({ place, file, reason, ns, share }) => [place, file, reason, ns, share])).toEqual([["a.py:2", "/a.py", "", 9, 0.75], ["libtorch_cuda.so", "", "", 1, 1 / 12], ["", "", "no_samples", 2, 1 / 6]]);
    expect([rowsOf("copy", lines).map(({ share, ended }) => [share, ended]), rowsOf("queued", lines)]).toEqual([[[1, true]], []]);
  });
  it("say the operator, and whether the host did something else before its launch", () => {
    expect(lines.map(({ operator, before }) => [operator, before])).toEqual([["aten::mm", true], ["aten::mm", false], ["AddmmBackward0", false], ["", false]]);
    const said = (more: object) => idleLinesOf({ idle: { lines: [{ ...late, ...more }] } })[0]!.before;
    expect([said({}), said({ cause: "slow_launches" }), said({ ended_by: true }), said({ inherited: true }), said({ exact_ns: 5 }), said({ exact_ns: 4 })]).toEqual([true, false, false, false, false, true]);
    expect([lines[0]!.halfWidth, lines[0]!.state, lines[0]!.syscall]).toEqual([3, "blocked", "futex"]);
  });
  it("the text and the next step of the answer's finding stand once", () => {
    const answer = { cause: "x", place: null, function: null, statement: "The GPU waited.", share: 0.5, share_error: null, next: "Wait less." };
    expect(saidOf("The GPU waited.", "Wait less.", answer)).toEqual({ text: "", next: undefined });
    expect(saidOf("The GPU waited.", "Something else.", answer)).toEqual({ text: "", next: "Something else." });
    expect(saidOf("Another text.", "Wait less.", answer)).toEqual({ text: "Another text.", next: "Wait less." });
    expect(saidOf("The GPU waited.", undefined, null)).toEqual({ text: "The GPU waited.", next: undefined });
  });
  it("one line with time of several causes has an address for each", () => expect(lines.slice(0, 2).map(lineKey)).toEqual(["at:late_launch:/a.py:2", "at:copy.ended:/a.py:2"]));
  it("lead to the finding at their first line", () => expect(found("late_launch", finding(1, "late_launch"), finding(2, "copy", "late_launch"))?.line).toBe(2));
  it("lead to no finding of another part", () => expect(found("late_launch", finding(2, "host_sync"), finding(2))).toBeUndefined());
  it("without their line lead to the finding that is about them most, and of several to the first", () => expect([found("code", finding(1, "copy", "code"), finding(3, "code"), finding(4, "code"))?.line, found("code", finding(5, "code", "copy"), finding(6, "code"))?.line]).toEqual([3, 5]));
  it("loading code, other work and other processes are parts as all others", () => expect(["code", "queued", "other_process", "back_to_back"].map((part) => found(part, finding(1, "nothing_submitted"), finding(2, part))?.line)).toEqual([2, 2, 2, 2]));
  it("of a finding without a card belong to the one that has its time", () => expect(partsOf([{ parts: ["copy"], part_of: null }, { parts: ["copy", "host_sync"], part_of: 0 }, {}])).toEqual([["copy", "host_sync"], ["copy", "host_sync"], []]));
});

describe("the longest gap", () => {
  const lines = new Lines({ causes: [{ cause: "x", text: "x" }, { cause: "y", text: "y" }], gaps: { device: [0, 0, 0, 1], start: [0, 100, 200, 300], duration: [90, 5, 20, 30], cause: [0, 0, 0, 1], node: [0, 0, 0, 0], ended_by: [0, 0, 0, 0] } });
  it("of its cause, from a time on", () => expect([longestGap(lines, "x", 0)?.start, longestGap(lines, "x", 1)?.start, longestGap(lines, "y", 0)?.duration, longestGap(lines, "z", 0)]).toEqual([0, 200, 30, null]));
});

describe("parts packed with zstd", () => {
  const file = new File(["x"], "x");
  const of = (...paths: string[]) => leftOutOf(paths.map((path) => ({ file, path })));
  it("are named, but not where another file has the same", () => expect(of("a/device.1.log.zst", "a/device.2.log.zst", "a/device.2.log.gz", "a/scope.log.zst", "a/scope.log", "a/notes.zst")).toEqual(["a/device.1.log.zst"]));
});
