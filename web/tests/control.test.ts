// control.test.ts - configurations and captures on demand as values.
import { describe, expect, it } from "vitest";
import { ENGINES, OPTIONS } from "../src/api/options";
import type { RowAgent, RowCapture, RowHostConfig, RowNamedConfig, RowSession } from "../src/api/schema";
import { durationOf, engineFor, isUnderWay, placeOf, readiness } from "../src/pages/control/captures";
import { bodyOf, configOf, differences, firstValue, historyOf, hostsOf, isName, settingsOf, wrongValue } from "../src/pages/control/configs";

const config = (version: number, options: unknown, more: Partial<RowNamedConfig> = {}): RowNamedConfig => ({ id: "prod", version, options, note: "", removed: false, created: "1", creator: "u", author: "ada", ...more }) as RowNamedConfig;
const agent = (host: string, control: boolean, seen: string | null): RowAgent => ({ host, holder: "k", version: "1", control, seen });

describe("options that a configuration may set", () => {
  it("are those of the library without those of a host", () => {
    expect(OPTIONS.profiling_engine?.kind).toBe("ENGINE");
    expect(OPTIONS.flush_interval_ms).toMatchObject({ kind: "INT", unit: "ms", least: 10, most: 10_000 });
    expect(OPTIONS.log_rotate_bytes?.most).toBeNull();
    expect(Object.keys(OPTIONS).filter((name) => ["log_path", "api_key", "backend_url", "remote_config_name", "config_file"].includes(name))).toEqual([]);
    expect(ENGINES).toContain("Monitor");
    expect(Object.values(OPTIONS).every(({ doc }) => doc.length > 10 && !doc.includes('"'))).toBe(true);
  });
  it("begin with a value that can be saved", () => {
    for (const [name, option] of Object.entries(OPTIONS)) expect(wrongValue({ name, value: firstValue(option) })).toBeNull();
  });
});

describe("a configuration", () => {
  it("is sent with all digits of its numbers, and texts stay texts", () => {
    const settings = [
      { name: "log_rotate_bytes", value: "9007199254740993" },
      { name: "windows", value: "true" },
      { name: "app_name", value: 'a "b"' },
      { name: "flush_interval_ms", value: " 0050 " },
      { name: "not_an_option", value: "7" },
    ];
    expect(bodyOf(settings)).toBe('{"log_rotate_bytes":9007199254740993,"windows":true,"app_name":"a \\"b\\"","flush_interval_ms":50,"not_an_option":"7"}');
    expect(bodyOf([])).toBe("{}");
  });
  it("is read with care", () => {
    expect(settingsOf({ b: true, a: 5 })).toEqual([{ name: "a", value: "5" }, { name: "b", value: "true" }]);
    for (const odd of [null, undefined, [], "x", 7]) expect(settingsOf(odd)).toEqual([]);
  });
  it("has numbers within limits", () => {
    const wrong = (value: string) => wrongValue({ name: "flush_interval_ms", value });
    expect(["10", "10000", " 50 "].map(wrong)).toEqual([null, null, null]);
    expect(["9", "10001", "1.5", "-1", "", "1e3"].map(wrong)).toEqual(Array(6).fill("number"));
    expect(wrongValue({ name: "app_name", value: "" })).toBeNull();
  });
  it("has a name that can be a file's", () => {
    expect(["a", "Prod-1.b_c", "9", "x".repeat(64)].every(isName)).toBe(true);
    expect(["", ".a", "-a", "a/b", "@host", "a b", "ä", "x".repeat(65)].some(isName)).toBe(false);
  });
});

describe("versions", () => {
  it("show what changed", () => {
    expect(differences([{ name: "a", value: "1" }, { name: "b", value: "2" }, { name: "c", value: "3" }], [{ name: "a", value: "1" }, { name: "c", value: "4" }, { name: "d", value: "5" }])).toEqual([
      { name: "b", before: "2", after: null },
      { name: "c", before: "3", after: "4" },
      { name: "d", before: null, after: "5" },
    ]);
  });
  it("begin again after a deletion", () => {
    const history = historyOf([config(4, { a: 1 }), config(3, {}, { removed: true }), config(2, { a: 2 }), config(1, {})]);
    expect(history.map(({ row, first, differences: list }) => [row.version, first, list.map(({ before, after }) => `${before}>${after}`).join()])).toEqual([
      [4, true, "null>1"],
      [3, false, "2>null"],
      [2, false, "null>2"],
      [1, true, ""],
    ]);
  });
});

describe("hosts", () => {
  const session = (host: string, label: unknown) => ({ host, labels: label === null ? {} : { config: label } }) as unknown as RowSession;
  it("a session's label says what it took", () => {
    expect(configOf(session("a", "prod-1.x, version 12"))).toEqual({ name: "prod-1.x", version: 12 });
    for (const odd of ["prod", "prod, version x", "a b, version 1", 7, null]) expect(configOf(session("a", odd))).toBeNull();
    expect(configOf({ labels: null } as unknown as RowSession)).toBeNull();
  });
  it("are those with an agent, a configuration or a running session with one", () => {
    const rows = hostsOf(
      [agent("b", false, "5")],
      [{ host: "c", config: "prod", created: "1", creator: "u", author: "ada" } as RowHostConfig],
      [session("a", "prod, version 1"), session("a", "prod, version 2"), session("a", "prod, version 1"), session("a", "old, version 3"), session("z", null)],
      [config(2, {})],
    );
    expect(rows.map(({ host, uses }) => [host, uses])).toEqual([["a", ""], ["b", ""], ["c", "prod"]]);
    expect(rows[0]!.runs).toEqual([
      { name: "old", version: 3, sessions: 1, newest: null },
      { name: "prod", version: 2, sessions: 1, newest: 2 },
      { name: "prod", version: 1, sessions: 2, newest: 2 },
    ]);
  });
});

describe("a capture", () => {
  it("has a duration that the server takes", () => {
    expect(["5", "0.1", "0,5", "600", " 2.25 "].map(durationOf)).toEqual([5e9, 1e8, 5e8, 6e11, 2.25e9]);
    expect(["0.05", "601", "", "-1", "1e2", "five", "1.2.3"].map(durationOf)).toEqual(Array(7).fill(null));
  });
  it("is asked of an agent that takes requests and has been in contact lately", () => {
    const now = 1_000_000;
    const ns = (ms: number) => String(BigInt(ms) * 1_000_000n);
    expect(readiness([agent("a", true, ns(now - 59_000))], "a", now)).toEqual({ ready: true });
    expect(readiness([agent("a", true, ns(now - 61_000))], "a", now)).toMatchObject({ ready: false, why: "silent" });
    expect(readiness([agent("a", false, ns(now))], "a", now)).toEqual({ ready: false, why: "none" });
    expect(readiness([agent("b", true, ns(now))], "a", now)).toEqual({ ready: false, why: "none" });
  });
  it("begins with the session's engine, or Trace", () => {
    expect(["Deep", "Monitor", "Sync", ""].map((engine) => engineFor({ engine }))).toEqual(["Deep", "Trace", "Trace", "Trace"]);
    expect(engineFor(null)).toBe("Trace");
  });
  it("is under way until its end is known", () => {
    expect(["waiting", "taken", "open", "done", "refused", "failed", "expired", "lost"].filter((state) => isUnderWay({ state }))).toEqual(["waiting", "taken", "open"]);
  });
  it("has a place on the timeline once it is over, where the clocks fit", () => {
    const at = (capture: Partial<RowCapture>, started = "1000000000000") => placeOf({ state: "done", ended: "1010000000000", duration: 2e9, ...capture } as RowCapture, { started, ended: null, received: "1020000000000" } as RowSession);
    expect(at({})).toBe("7000000000-11000000000");
    expect(at({ duration: 10e9 })).toBe("0-15000000000");
    expect(at({ state: "open" })).toBeNull();
    expect(at({}, "1009000000000")).toBeNull(); // else the capture would begin before its session
    expect(at({ ended: "1090000000000" })).toBeNull(); // and here after the last row of its session
  });
});
