// Addresses, columns, import rules, tables generated from the server's, and the small logic of pages.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { mangledOf, nameOf, rowsOf, shortOf } from "../src/api/columns";
import { hostTimeOf } from "../src/api/host";
import { ledgerOf, loopLaunches, syncLines, type SyncLine } from "../src/api/report";
import { inTreeOrder } from "../src/pages/scopes/tree";
import { stateOf } from "../src/pages/syncs/state";
import { href, match, withQuery } from "../src/router/router";
import { boundOf, excerpt, inOrder, keptPath, onTimeline, shownOf, textOf } from "../src/pages/insights/source";
import { barsOf, endsOf } from "../src/pages/kernels/Histogram";
import { Meter } from "../src/ui/parts";
import { safeNext, sharedView } from "../src/pages/login/next";
import { waysIn } from "../src/pages/firstrun/ways";
import { DEVICE, DEVICE_MORE, HOST, stepFor } from "../src/format/metrics";
import { system } from "../src/text/system";
import { rowAfter } from "../src/ui/rows";
import { grown, leastOf } from "../src/ui/Table";
// @ts-expect-error plain JavaScript
import { made, rightsText, rulesText } from "../scripts/types.mjs";
// @ts-expect-error plain JavaScript
import { broken } from "../scripts/imports.mjs";
// @ts-expect-error plain JavaScript
import { tooLong } from "../scripts/lengths.mjs";

describe("a shared view", () => {
  const id = "93a55c5d-90e8-4530-af02-a0335ad05a21";
  it("keeps place, selection and range of a page of the session", () => {
    expect(sharedView(`/sessions/${id}/timeline`, "?at=1-2&sel=3&range=4-5", id)).toBe(`/sessions/${id}/timeline?at=1-2&sel=3&range=4-5`);
    expect(sharedView(`/sessions/${id}/kernels/12`, "", id)).toBe(`/sessions/${id}/kernels/12`);
  });
  it("is none of another session, page or origin", () => {
    for (const path of ["/settings/keys", "/sessions", `/sessions/another/timeline`, "//evil.example/x", "https://evil.example/x", "", `/sessions/${id}/a/b/c`]) expect(sharedView(path, "", id)).toBe("");
    expect(sharedView(`/sessions/${id}/timeline`, `?at=${"1".repeat(5000)}`, id)).toBe("");
    expect(sharedView(`/sessions/${id}/timeline`, "?workspace=other&at=1-2", id)).toBe(`/sessions/${id}/timeline?at=1-2`);
  });
});

describe("metrics", () => {
  it("have a label each, and their own unit", () => {
    for (const metric of [...DEVICE, ...DEVICE_MORE, ...HOST]) expect(system.metrics[metric.text], metric.name).toBeTruthy();
    const shown = Object.fromEntries(DEVICE_MORE.map((metric) => [metric.name, metric.show]));
    expect([shown.temperature_memory!(64), shown.energy!(1_234_567_890), shown.ecc_corrected!(3), shown.ecc_uncorrected!(0), shown.ecc_uncorrected!(null)]).toEqual(["64 °C", "1\u202f234.6 kJ", "3", "0", "–"]);
    expect([shown.temperature_junction!(58), shown.fan!(40), shown.voltage!(806), shown.voltage!(null)]).toEqual(["58 °C", "40 %", "0.806 V", "–"]);
  });
});

describe("keys in a table", () => {
  it("go from row to row, and never out of it", () => {
    expect(["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => rowAfter(key, 5, 100, 20))).toEqual([6, 4, 25, 0, 0, 99]);
    expect([rowAfter("ArrowUp", 0, 100, 20), rowAfter("PageDown", 95, 100, 20)]).toEqual([0, 99]);
  });
  it("others are for somebody else", () => expect(["Enter", " ", "a", "Tab", "ArrowLeft"].map((key) => rowAfter(key, 5, 100, 20))).toEqual([null, null, null, null, null]));
});

describe("tables of the server", () => {
  it("every rule of insight.def has its next step", () => {
    const rules = (made() as [string, string][]).find(([file]) => file.endsWith("rules.ts"));
    const known = [...readFileSync(new URL("../../src/analyze/insight/insight.def", import.meta.url), "utf8").matchAll(/^INSIGHT\((\w+)/gm)].map((m) => m[1]);
    expect(known.length).toBeGreaterThan(5);
    for (const rule of known) expect(rules![1]).toMatch(new RegExp(`^  ${rule}: \\{ bound: ".+", next: ".+" \\}`, "m"));
  });
  it("every right of rights.def has its roles", () => {
    const rights = (made() as [string, string][]).find(([file]) => file.endsWith("rights.ts"))!;
    for (const [, right] of readFileSync(new URL("../../src/server/auth/rights.def", import.meta.url), "utf8").matchAll(/^RIGHT\((\w+)/gm)) expect(rights[1]).toContain(`  ${right}: {`);
    expect(() => rightsText("RIGHT(X, yes, no)\n")).toThrow();
  });
  it("a rule that cannot be read is an error", () => expect(() => rulesText("INSIGHT(x, Y, MEASURED, NULL)\n")).toThrow());
});

describe("package-lock.json", () => {
  const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as { packages: Record<string, { integrity?: string; resolved?: string }> };
  const all = Object.entries(packages).filter(([at]) => at);
  it("says what every package is, and of no place where it lies", () => {
    expect(all.length).toBeGreaterThan(50);
    for (const [at, { integrity, resolved }] of all) expect([at, integrity, resolved]).toEqual([at, expect.stringMatching(/^sha512-/), undefined]);
  });
});

describe("import rules", () => {
  const file = (part: string) => new URL(`../src/${part}/x.ts`, import.meta.url).pathname;
  it("parts that know too much", () => {
    expect(broken(file("ui"), 'import { client } from "../api/client";')).toHaveLength(1);
    expect(broken(file("ui"), 'import {\n  a,\n  b,\n} from "../api/client";')).toHaveLength(1);
    expect(broken(file("format"), 'import "react";')).toHaveLength(1);
    expect(broken(file("pages"), 'const x = import("left-pad");')).toHaveLength(1);
    expect(broken(file("pages"), 'import { a } from "../api/client";')).toEqual([]);
  });
  it("markup of strings, other origins", () => {
    expect(broken(file("ui"), "box.innerHTML = name;")).toHaveLength(1);
    expect(broken(file("ui"), 'fetch("https://example.org")')).toHaveLength(1);
    expect(broken(file("ui"), "/* as https://example.org does */ fetch(\"/\")")).toEqual([]);
  });
});

describe("lengths", () => {
  const lines = (count: number, line: string): string => Array.from({ length: count }, () => `${line}\n`).join("");
  it("of functions and files, and numbers of parameters", () => {
    expect(tooLong("src/x.ts", `function long() {\n${lines(59, "  act();")}}\n`)).toEqual(["src/x.ts:1: lines of long: 61, at most 60"]);
    expect(tooLong("src/x.ts", `function fits() {\n${lines(58, "  act();")}}\n`)).toEqual([]);
    expect(tooLong("src/x.ts", "const many = (a, b, c, d, e, f, g) => a;\n")).toEqual(["src/x.ts:1: parameters of many: 7, at most 6"]);
    expect(tooLong("src/x.ts", lines(601, "act();"))).toEqual(["src/x.ts:1: lines: 601, at most 600"]);
    expect(tooLong("src/x.ts", lines(600, "act();"))).toEqual([]);
  });
  it("of files that a build makes do not count", () => expect(tooLong("src/api/schema.ts", lines(3000, "act();"))).toEqual([]));
});

describe("router", () => {
  it("finds pages and their parameters", () => {
    expect(match("/", "")).toMatchObject({ page: "fleet" });
    expect(match("/sessions", "")).toMatchObject({ page: "sessions" });
    expect(match("/settings", "")).toMatchObject({ page: "settings", path: { part: "workspace" } });
    expect(match("/sessions/abc", "")).toMatchObject({ page: "session", path: { session: "abc", tab: "insights" } });
    expect(match("/sessions/a%2Fb/kernels/7", "x=1")).toMatchObject({ page: "kernel", path: { session: "a/b", name: "7" } });
    expect(match("/nowhere", "").page).toBeNull();
    expect(match("/sessions/%E0%A4%A", "").page).toBeNull();
  });
  it("href and match are each other's inverse", () => {
    const [path, query] = href("session", { session: "a/b?c", tab: "raw" }, { q: "<&>" }).split("?") as [string, string];
    const place = match(path, query);
    expect(place.path).toEqual({ session: "a/b?c", tab: "raw" });
    expect(place.query.get("q")).toBe("<&>");
  });
  it("takes empty values out", () => expect(withQuery("/", new URLSearchParams("a=1&b=2"), { a: "", c: 0 })).toBe("/?b=2&c=0"));
});

describe("columns", () => {
  it("become rows, with null for unknown", () =>
    expect(rowsOf({ rows: 2, data: { a: [1, null], b: ["x", "y"] } })).toEqual([
      { a: 1, b: "x" },
      { a: null, b: "y" },
    ]));
  it("names by number", () => {
    const answer = { names: ["f()"], mangled: ["_Z1fv"], short_names: ["f"] };
    expect([shortOf(answer, 0), shortOf(answer, null), shortOf({ names: ["g()"] }, 0)]).toEqual(["f", null, "g()"]);
    expect([nameOf(answer, 0), mangledOf(answer, 0), nameOf(answer, 9), nameOf(answer, null)]).toEqual(["f()", "_Z1fv", null, null]);
  });
});

describe("source lines", () => {
  it("five findings stand open at most, and those of which little is to be won do not", () => {
    const [high, low] = [(share: number | null) => ({ severity: 2, share }), (share: number | null) => ({ severity: 0, share })];
    expect(shownOf([high(0.4), low(0.004), low(0)])).toBe(1);
    expect(shownOf([high(0.4), low(0.004), high(0.003), low(0)])).toBe(3); // the order stays
    expect(shownOf([low(0.2), low(0.01), low(0.0099)])).toBe(2);
    expect(shownOf([high(0.4), low(null)])).toBe(2); // unknown is not little
    expect(shownOf([low(0.004), low(0)])).toBe(2); // all there is
    expect([shownOf(Array.from({ length: 9 }, () => high(0.1))), shownOf([])]).toEqual([5, 0]);
  });
  it("what the timeline can show of a finding", () =>
    expect([
      onTimeline({ kernel: "_Z1fv" }, {}, true),
      onTimeline({ kernel: "_Z1fv" }, {}, false),
      onTimeline({ kernel: "" }, { longest_start_ns: 1000, longest_ns: 300 }, true),
      onTimeline({ kernel: "" }, {}, true),
    ]).toEqual([{ find: "_Z1fv" }, null, { at: "700-1600", range: "1000-1300" }, null]));
  it("a bound that nobody knows is not 0", () =>
    expect([boundOf({ kernel: "_Z1fv", gives_back: 0 }, false), boundOf({ kernel: "_Z1fv", gives_back: 0 }, true), boundOf({ kernel: "", gives_back: 0 }, false)]).toEqual([null, 0, 0]));
  it("the very path first, else the only file of the name", () => {
    expect(keptPath(["/a/x.py", "/b/x.py"], "/b/x.py")).toBe("/b/x.py");
    expect(keptPath(["/a/x.py"], "/elsewhere/x.py")).toBe("/a/x.py");
    expect(keptPath(["/a/x.py", "/b/x.py"], "/c/x.py")).toBeNull();
  });
  it("what surrounds a line", () => {
    const text = textOf(["one\r\ntwo\nthr", "ee\nfour"]);
    expect(excerpt(text, 3, 1).map((row) => row.text)).toEqual(["two", "three", "four"]);
    expect(excerpt(text, 1, 1)[0]).toEqual({ number: 1, text: "one" });
    expect(excerpt(text, 5)).toEqual([]);
    expect(excerpt(text, 0)).toEqual([]);
  });
  it("findings in the server's order", () => expect(inOrder([{ number: 2 }, { number: 0 }]).map((f) => f.number)).toEqual([0, 2]));
});

describe("scopes and waits", () => {
  const node = (id: number, parent: number, wall_ns: number) => ({ id, parent, wall_ns });
  it("children below their parent, longest first; orphans at the top", () =>
    expect(inTreeOrder([node(1, 0, 10), node(2, 1, 3), node(3, 1, 7), node(4, 0, 20), node(5, 99, 1)]).map((n) => n.id)).toEqual([4, 1, 3, 2, 5]));
  const line = (calls: number, median: number | null) => ({ calls, launches_between: { synchronizations: { pairs: calls - 1, median } } }) as SyncLine;
  it("a loop is three calls with three launches between", () =>
    expect([line(1000, 9), line(2, 9), line(3, 3), line(3, 2), line(9, null)].map(loopLaunches)).toEqual([9, null, 3, null, null]));
  it("the ledger's verdict and what is missing", () => {
    expect(ledgerOf({ ledger: { verdict: "incomplete", missing: ["3 kernels"] } })).toEqual({ verdict: "incomplete", missing: ["3 kernels"] });
    expect(() => ledgerOf({ ledger: null })).toThrow("ledger.missing");
  });
  it("a part that is not as described says so", () => expect(() => syncLines({ lines: [] })).toThrow("synchronization_lines.lines"));
});

describe("the host's time", () => {
  const row = { place: "train.py:8", file: "/a/train.py", line: 8, function: "parse", reason: null, state: "blocked", syscall: "read", call: null, time_ns: 700, exact_ns: 0, estimated_ns: 700, half_width_ns: null, samples: 7 };
  it("is null where kernels were recorded, and in reports of older servers", () =>
    expect([hostTimeOf({}), hostTimeOf({ host_time: { threads: 0, time_ns: null, samples: 0, lines: [] } })]).toEqual([null, null]));
  it("has lines with their state, and an unknown error stays unknown", () =>
    expect(hostTimeOf({ host_time: { threads: 2, time_ns: 1000, samples: 10, lines: [row] } })).toEqual({
      threads: 2, ns: 1000, samples: 10,
      lines: [{ place: "train.py:8", file: "/a/train.py", line: 8, function: "parse", state: "blocked", syscall: "read", call: "", ns: 700, halfWidth: null }],
    }));
  it("says what a thread did", () =>
    expect([
      stateOf({ state: "blocked", syscall: "read", call: "" }),
      stateOf({ state: "gpu_wait", syscall: "", call: "stream" }),
      stateOf({ state: "gil", syscall: "futex", call: "" }),
      stateOf({ state: "", syscall: "", call: "" }),
    ]).toEqual(["blocked: read", "waited for the GPU: stream synchronizations", "waited for the GIL: futex", "unknown"]));
});

describe("pages", () => {
  it("a part that is unknown has no bar, a part of zero an empty one", () => {
    const classOf = (part: number | null) => /class="([^"]*)"/.exec(renderToStaticMarkup(createElement(Meter, { part })))?.[1];
    expect([classOf(null), classOf(0)]).toEqual(["meter unknown", "meter"]);
  });
  it("histogram bars stay within the picture", () => {
    const bars = barsOf([
      { least: 0, most: 0, calls: 1 },
      { least: 1024, most: 1151, calls: 10 },
    ]);
    expect(bars.every((bar) => bar.x >= 0 && bar.x + bar.width <= 1 && bar.height <= 1)).toBe(true);
    expect(bars[1]!.height).toBe(1);
    expect(barsOf([{ least: null, most: 1, calls: 1 }])).toEqual([]);
  });
  it("the labels of a histogram's axis stand at the ends of its first and last bar", () => {
    const [left, right] = endsOf(barsOf([{ least: 1024, most: 1151, calls: 3 }, { least: 2048, most: 4095, calls: 1 }]));
    expect(left).toBeCloseTo(0.1 / 2.2, 6); // a tenth of a doubling on each side of two
    expect(right).toBeCloseTo(0.1 / 2.2, 6);
  });
  it("after logging in only to this dashboard", () =>
    expect(["/sessions/x?y=1", "//evil", "https://evil", "/\\evil", null].map(safeNext)).toEqual(["/sessions/x?y=1", "/", "/", "/", "/"]));
  it("command lines name this server", () =>
    expect(waysIn("http://h:1").flatMap((way) => way.commands).filter((line) => line.includes("http://h:1"))).toHaveLength(3));
  it("steps give some hundred points, and exist without a length", () => expect([stepFor(471309494), stepFor(600e9), stepFor(null)]).toEqual([1e6, 1e9, 1e6]));
  it("widths grow with the letters", () => expect(grown("minmax(160px, 3fr)")).toBe("minmax(10rem, 3fr)"));
  it("least widths of tracks", () => expect([leastOf("120px"), leastOf("minmax(280px, 3fr)"), leastOf("1fr")]).toEqual([120, 280, 100]));
});
