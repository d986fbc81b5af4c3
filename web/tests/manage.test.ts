// The logic of settings, of the identity for requests, and of live events, without the pages.
import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { makeClient, type Transport } from "../src/api/client";
import { may } from "../src/api/may";
import type { AnswerConfigs, Comparison, Me, RowGpuNow, RowSession } from "../src/api/schema";
import { makeParser, type LiveEvent } from "../src/api/stream";
import { Who } from "../src/api/who";
import { workspacesOf } from "../src/pages/account/Account";
import { change, date } from "../src/format/format";
import { idsIn, idsOf, kernelsOf } from "../src/pages/compare/model";
import { barsOf, dayFrom, dayText, heightsOf, rangeOf } from "../src/pages/fleet/days";
import { hours } from "../src/pages/fleet/DayBars";
import { gpuOf, isSilent, meanUtil, shortUuids } from "../src/pages/fleet/health";
import { quietText, unknownText } from "../src/pages/alerts/known";
import { bodyOf, conditionOf, draftOf, METRICS, newDraft, withKind, withMetric } from "../src/pages/alerts/rules";
import { codeOf, configsOf, hotFirst, stallsOf } from "../src/pages/kernels/deep";
import { hashToken } from "../src/pages/login/next";
import { readWith, sendWith, tokenLink } from "../src/pages/settings/commands";
import { scopesOf } from "../src/pages/settings/KeysPart";
import { endAfter, openLinks, stateOf } from "../src/pages/settings/links";
import { askedFor, askingOf, labelOf, sinceOf } from "../src/pages/sessions/filters";
import { columnsOf, wantedOf } from "../src/pages/sessions/columns";
import { chipsWidth } from "../src/pages/sessions/StateChips";
import { keepsLess, limitsOf, textsOf } from "../src/pages/settings/retention";
import { alerts } from "../src/text/alerts";

const me = (over: Partial<Me>): Me => ({ kind: "user", id: "u", name: "a@b", admin: false, workspace: "w", role: "member", session: null, csrf: "c", local: false, view: false, workspaces: [], ...over });

describe("rights", () => {
  it("by role, as the server's table says", () => {
    expect((["READ", "WRITE", "OWNER", "ADMIN"] as const).map((right) => may(me({ role: "viewer" }), right))).toEqual([true, false, false, false]);
    expect((["READ", "WRITE", "OWNER"] as const).map((right) => may(me({ role: "owner" }), right))).toEqual([true, true, true]);
    expect(may(me({ admin: true, role: null }), "ADMIN")).toBe(true);
    expect(may(me({ kind: "share", role: null }), "WRITE")).toBe(false);
    expect(may(undefined, "READ")).toBe(false);
    expect(may(me({ role: "constructor" }), "READ")).toBe(false);
  });
  it("workspaces that are not as described are left out", () =>
    expect(workspacesOf(me({ workspaces: [{ workspace: "w", name: "Lab", role: "owner" }, { name: "x" }, null as unknown as Record<string, unknown>] }))).toEqual([{ workspace: "w", name: "Lab", role: "owner" }]));
});

describe("keys and links", () => {
  it("lines to paste name the server, and keep the key off command lines", () => {
    const lines = sendWith("http://h:1", "gpfl_k").split("\n");
    expect(lines.filter((line) => line.includes("gpfl_k"))).toHaveLength(1);
    expect(lines[0]).toContain("umask 077");
    expect(lines.at(-1)).toContain("--server http://h:1");
    expect(readWith("http://h:1", "gpfl_k")).toContain("http://h:1/api/v1/");
  });
  it("a token is after #, and comes back", () => expect(hashToken(new URL(tokenLink("http://h:1", "share", "gpfs_a+b/c=")).hash)).toBe("gpfs_a+b/c="));
  it("scopes and ends", () => {
    expect(scopesOf(5)).toEqual(["ingest", "admin"]);
    expect(endAfter(0, 5)).toBe("0");
    expect(endAfter(1, 1_700_000_000_000)).toBe("1700086400000000000");
  });
  it("a link is open until it ends or is revoked", () => {
    const row = { id: "i", session: "s", created: "1", creator: "u", expires: "2000000000", revoked: null };
    expect([stateOf(row, 1), stateOf(row, 3000), stateOf({ ...row, revoked: "1" }, 1)]).toEqual(["open", "ended", "revoked"]);
    expect(openLinks([row, { ...row, revoked: "1" }], 1)).toBe(1);
  });
});

describe("the list of sessions", () => {
  it("labels by key, or key and value", () =>
    expect([labelOf("team"), labelOf(" team = a=b "), labelOf("="), labelOf("")]).toEqual([{ label: "team" }, { label: "team", label_value: "a=b" }, {}, {}]));
  it("times back from now, the same for a minute", () => {
    expect(sinceOf("3600", 7_200_000)).toBe("3600000000000");
    expect(sinceOf("3600", 7_200_000)).toBe(sinceOf("3600", 7_259_999));
    expect([sinceOf("", 1), sinceOf("x", 1), sinceOf("-5", 1)]).toEqual([undefined, undefined, undefined]);
  });
  it("what the address says is asked, and nothing else", () => {
    const asked = askedFor(new URLSearchParams("app=a&label=k=v&sort=bytes&ascending=true&evil=1&host="), 0);
    expect(asked).toEqual({ app: "a", label: "k", label_value: "v", sort: "bytes", ascending: true, limit: 200 });
    expect(askedFor(new URLSearchParams("sort=evil"), 0).sort).toBe("started");
    // The choice of rows and columns does not change the request.
    expect(askingOf(new URLSearchParams("chosen=a,b&app=x&columns=app&follow=1&ascending=true"))).toBe("app=x&ascending=true");
  });
  it("columns: known ones in order, the name always", () => {
    expect(wantedOf("labels,busy,evil")).toEqual(["app", "busy", "labels"]);
    expect(wantedOf(null)).toContain("engine");
  });
  it("the column of states is as wide as the states that are there", () => {
    const rows = (...states: [string, boolean][]) => states.map(([state, simulated]) => ({ state, simulated })) as unknown as RowSession[];
    const widths = [rows(["ended", false]), rows(["ended", false], ["ended", true]), rows(["aborted", false])].map(chipsWidth);
    expect(widths[0]).toBe(92);
    expect(widths[1]).toBeGreaterThan(170);
    expect(widths[2]).toBeGreaterThan(widths[1]!);
    const widthOf = (of: RowSession[]) => columnsOf(["app", "state"], of).map((column) => column.meta?.width);
    expect(widthOf(rows(["ended", false]))[1]).toBe("92px");
  });
});

describe("retention", () => {
  it("days and GiB there and back", () => {
    expect(textsOf({ sessions: 86_400_000_000_000 * 30, bytes: 2 ** 30 * 1.5, metrics: null })).toEqual({ sessions: "30", bytes: "1.5", metrics: "" });
    expect(limitsOf({ sessions: "30", bytes: "1,5", metrics: " " })).toEqual({ sessions: 86_400_000_000_000 * 30, bytes: 2 ** 30 * 1.5, metrics: 0 });
  });
  it("what is no number is refused", () => {
    for (const bad of ["0", "1e-30", "x", "-1", "1e999"]) expect(limitsOf({ sessions: bad, bytes: "", metrics: "" })).toBeNull();
  });
  it("0 is no limit: going from it to any is keeping less", () => {
    const limits = (sessions: number) => ({ sessions, bytes: 0, metrics: 0 });
    expect([keepsLess(limits(0), limits(9)), keepsLess(limits(9), limits(0)), keepsLess(limits(9), limits(8)), keepsLess(limits(8), limits(8))]).toEqual([true, false, true, false]);
  });
});

describe("who is asked as", () => {
  const answering = (...answers: Response[]): { transport: Transport; asked: { url: string; init: RequestInit }[] } => {
    const asked: { url: string; init: RequestInit }[] = [];
    const fetch = vi.fn((url: string, init: RequestInit) => {
      asked.push({ url, init });
      return Promise.resolve(answers.shift()!);
    });
    return { asked, transport: { fetch: fetch as unknown as typeof globalThis.fetch, wait: () => Promise.resolve() } };
  };
  const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
  const header = (init: RequestInit, name: string) => (init.headers as Record<string, string>)[name];

  it("the chosen workspace goes along where rights are needed, and only there", async () => {
    const { transport, asked } = answering(json({}), json({}), json({}));
    const who = new Who();
    who.workspace = "w2";
    const client = makeClient(transport, who);
    await client.get("version", {});
    await client.get("session", { session: "s" });
    await client.get("me", {});
    expect(asked.map(({ url }) => url.includes("workspace=w2"))).toEqual([false, true, true]);
  });
  it("a link's token goes in the header, and no workspace with it", async () => {
    const { transport, asked } = answering(json({}));
    const who = new Who();
    who.workspace = "w2";
    who.link = "gpfs_x";
    await makeClient(transport, who).get("session", { session: "s" });
    expect([header(asked[0]!.init, "Authorization"), asked[0]!.url]).toEqual(["Bearer gpfs_x", "/api/v1/sessions/s"]);
  });
  it("changes carry the login's token, asked for once", async () => {
    const { transport, asked } = answering(json(me({ csrf: "t1" })), new Response(null, { status: 204 }), new Response(null, { status: 204 }));
    const client = makeClient(transport, new Who());
    await client.change("key_revoke", { key: "a" }, undefined);
    await client.change("key_revoke", { key: "b" }, undefined);
    expect(asked.map(({ init }) => header(init, "X-CSRF-Token"))).toEqual([undefined, "t1", "t1"]);
    expect(asked.map(({ init }) => init.body)).toEqual([undefined, undefined, undefined]);
  });
  it("a login that worked and is refused has ended; one that never was has not", async () => {
    const who = new Who();
    const { transport } = answering(json({}, 401), json(me({})), json({}, 401), json({}));
    const client = makeClient(transport, who);
    await expect(client.get("me", {})).rejects.toThrow();
    expect(who.expired).toBe(false);
    await client.get("me", {});
    await expect(client.get("sessions", {})).rejects.toThrow();
    expect(who.expired).toBe(true);
    const round = who.round;
    who.renewed();
    expect([who.expired, who.round]).toEqual([false, round + 1]);
  });
  it("a wrong old password is no ended login", async () => {
    const who = new Who();
    const { transport } = answering(json(me({})), json({ detail: "wrong" }, 401));
    const client = makeClient(transport, who);
    await expect(client.change("password", {}, { old: "a", password: "b" })).rejects.toThrow("wrong");
    expect(who.expired).toBe(false);
  });
});

describe("live events", () => {
  const parsed = (...pieces: string[]): LiveEvent[] => {
    const events: LiveEvent[] = [];
    const parse = makeParser((event) => events.push(event));
    pieces.forEach(parse);
    return events;
  };
  it("whole, however they are cut", () => {
    const text = 'event: session\ndata: {"session":"s","rows":3}\n\n: a comment\n\nevent: lost\ndata: {"events":2}\n\n';
    const whole = [
      { name: "session", data: { session: "s", rows: 3 } },
      { name: "lost", data: { events: 2 } },
    ];
    expect(parsed(text)).toEqual(whole);
    expect(parsed(...text)).toEqual(whole);
    expect(parsed(...text.replaceAll("\n", "\r\n"))).toEqual(whole);
  });
  it("what is no JSON is an event without data", () => expect(parsed("data: {broken\n\n")).toEqual([{ name: "message", data: {} }]));
});

describe("the fleet", () => {
  const now = 1_700_000_000_000;
  const row = (state: unknown, over: Partial<RowGpuNow> = {}): RowGpuNow => ({ uuid: "G", host: "h", number: 0, name: "H200", vendor: "nvidia", driver: "1", memory: 100, session: "", state, created: "1", seen: `${now}000000`, sessions: 0, ...over });
  const health = (state: unknown, over: Partial<RowGpuNow> = {}) => gpuOf(row(state, over), now).health;
  it("what stands out, most urgent first", () => {
    expect(health({ gpu_util: 90 }, { sessions: 1 })).toBe("busy");
    expect(health({ gpu_util: 0 }, { sessions: 1 })).toBe("idle");
    expect(health({ gpu_util: 0 })).toBe("free");
    expect(health({ temperature: 85 })).toBe("hot");
    expect(health({ throttle_reasons: ["idle", "power_cap"] })).toBe("throttled");
    expect(health({ throttle_reasons: ["thermal_hardware"], temperature: 90 })).toBe("failing");
    expect(health({ ecc_uncorrected: 1 })).toBe("failing");
    expect(health({ memory_used: 97 })).toBe("full");
    expect(health({ ecc_uncorrected: 1 }, { seen: "1" })).toBe("silent");
  });
  it("unknown is not zero, and nonsense is unknown", () => {
    for (const state of [null, "x", [], { gpu_util: "9", temperature: NaN, throttle_reasons: 7 }]) expect(health(state, { sessions: 1 })).toBe("busy");
    expect(meanUtil([gpuOf(row({}), now)])).toBeNull();
    expect(meanUtil([gpuOf(row({ gpu_util: 50 }), now), gpuOf(row({}), now)])).toBe(0.5);
  });
  it("as much of a UUID as distinguishes its GPU from all others, the whole one where another begins with it", () => {
    const uuids = ["GPU-aaaaaaaa-1111", "GPU-aaaaaaaa-1222", "GPU-bbbbbbbb-2222", "GPU-cccccccc", "GPU-cccccccc-3", "x"];
    expect(uuids.map(shortUuids(uuids.map((uuid) => ({ uuid }))))).toEqual(["GPU-aaaaaaaa-11", "GPU-aaaaaaaa-12", "GPU-bbbbbbbb", "GPU-cccccccc", "GPU-cccccccc-", "x"]);
  });
  it("UUIDs with a long common beginning are shown with their end", () => {
    const uuids = ["GPU-51300000-0000-4000-8000-000000000000", "GPU-51300000-0000-4000-8000-000000000001", "GPU-51300000-0000-4000-8000-000000010001", "GPU-0eb04e32-1b9a-aaaa-bbbb-cccccccccccc"];
    const short = uuids.map(shortUuids(uuids.map((uuid) => ({ uuid }))));
    expect(short).toEqual(["GPU-51300000…0000", "GPU-51300000…00001", "GPU-51300000…10001", "GPU-0eb04e32"]);
  });
  it("ranges of days: the address's where they make sense", () => {
    expect(rangeOf("1970-01-03", "1970-01-05", 100)).toEqual({ from: 2, to: 5 });
    for (const [from, to] of [["x", "y"], ["1970-03-01", "1970-02-01"], ["", ""]] as const) expect(rangeOf(from, to, 100, 7).to - rangeOf(from, to, 100, 7).from).toBe(7);
    // A clock that shows the epoch or an earlier time.
    for (const today of [0, 3, -5]) expect(rangeOf("", "", today)).toEqual({ from: 0, to: Math.max(1, today + 1) });
    expect(rangeOf("1969-12-01", "1969-12-31", 100)).toEqual({ from: 0, to: 1 });
    expect([dayText(0), dayFrom("1970-01-02"), dayFrom("1970-13-02")]).toEqual(["1970-01-01", 1, null]);
  });
  it("every day has a bar; busy is a part of what is known", () => {
    const usage = (day: number, wall: number, known: number, busy: number) => ({ name: "h", day, sessions: 1, gpus: 1, wall, known, busy, kernels: 1, counted: 1, sampled: 0, utilized: 0, energy: null });
    expect(barsOf([usage(3, 10, 0, 0), usage(4, 10, 10, 5), usage(4, 10, 0, 0), usage(99, 1, 1, 1)], { from: 3, to: 6 })).toEqual([
      { day: 3, wall: 10, known: 0, busy: null },
      { day: 4, wall: 20, known: 10, busy: 0.5 },
      { day: 5, wall: 0, known: 0, busy: null },
    ]);
  });
  it("a bar shows unknown time as such, and not as busy as the rest", () => {
    expect(heightsOf({ day: 4, wall: 20, known: 10, busy: 0.5 }, 40)).toEqual({ whole: 0.5, busy: 0.125, unknown: 0.25 });
    expect(heightsOf({ day: 3, wall: 10, known: 0, busy: null }, 10)).toEqual({ whole: 1, busy: 0, unknown: 1 });
    expect(heightsOf({ day: 3, wall: 10, known: 12, busy: 1 }, 10)).toEqual({ whole: 1, busy: 1, unknown: 0 });
  });
  it("GPU hours below a tenth are durations", () => {
    expect([0, 8.9e9, 359e9, 360e9, 3600e9 * 1.25, 3600e9 * 250].map(hours)).toEqual(["0", "8.90 s", "5.98 min", "0.1 h", "1.3 h", "250 h"]);
  });
  it("two minutes without news are silence, for hosts as for GPUs", () => {
    expect([isSilent("1700000000000000000", 1700000120000), isSilent("1700000000000000000", 1700000120001), isSilent(null, 1700000000000)]).toEqual([false, true, true]);
  });
});

describe("comparing", () => {
  it("ids of an address", () => expect(idsOf("a, b,a,,<x>,../c")).toEqual(["a", "b"]));
  it("no more than the server compares, but as many as are chosen", () => {
    const many = Array.from({ length: 70 }, (_, at) => `s${at}`).join();
    expect([idsOf(many).length, idsIn(many).length]).toEqual([64, 70]);
  });
  it("changes as people read them", () => expect([change(1.25), change(0.5), change(1), change(12.3), change(null), change(0.99996), change(1.00004), change(0.9994)]).toEqual(["+25.0 %", "−50.0 %", "0.0 %", "× 12.3", "", "0.0 %", "0.0 %", "−0.1 %"]));
  it("rows that are not as described are unknown, not wrong", () => {
    const [line] = kernelsOf({ kernels: [{ name: "k", ratio: "x", a: null, verdict: 7 }] } as unknown as Comparison);
    expect([line!.ratio, line!.a.mean, line!.verdict]).toEqual([null, null, "7"]);
  });
});

describe("alerts", () => {
  it("percents, watts and seconds there and back", () => {
    const draft = { ...newDraft(), name: "n", metric: "gpu.power", threshold: "650.5", hold: "1,5" };
    const body = bodyOf(draft)!;
    expect([body.threshold, body.hold, body.subject]).toEqual([650500, 1.5e9, "gpu.power"]);
    const row = { id: "i", created: null, creator: "u", url: "", host: "", app: "", enabled: true, name: "n", kind: "metric", subject: "gpu.power", above: true, threshold: 650500, hold: 1.5e9 };
    expect(draftOf(row)).toMatchObject({ threshold: "650.5", hold: "1.5", metric: "gpu.power" });
    expect(conditionOf(row)).toBe("GPU power > 650.5 W for 1.50 s");
    expect(bodyOf({ ...draft, metric: "gpu.memory_share", threshold: "97" })!.threshold).toBe(0.97);
    expect(conditionOf({ ...row, kind: "insight", subject: "", threshold: 0.2 })).toContain("any finding gives back 20 %");
  });
  it("a threshold does not go on in another unit", () => {
    const found = withKind(newDraft(), "insight");
    expect([found.threshold, withKind(found, "insight"), withKind(found, "metric").threshold]).toEqual(["10", found, "85"]);
    expect([withMetric(newDraft(), "gpu.power").threshold, withMetric(newDraft(), "gpu.temperature").threshold]).toEqual(["", "85"]);
  });
  it("every metric can be chosen, and has a name", () => {
    const records = ["device", "system", "monitor"].map((name) => readFileSync(new URL(`../../schema/records/${name}.def`, import.meta.url), "utf8")).join("");
    const of = (record: string, as: string) => [...records.matchAll(new RegExp(`^COLUMN\\(${record}, (\\w+)`, "gm"))].map((m) => `${as}.${m[1]}`).filter((name) => !/\.(time|device)$/.test(name));
    const names = /\.(pid|gpu_instance|compute_instance|uuid|profile)$/; // of the process or part, no metrics
    const columns = [...of("device_metric", "gpu"), ...of("host_metric", "host"), ...of("process_metric", "process"), ...of("instance_metric", "part"), ...of("monitor", "monitor")].filter((name) => !names.test(name));
    expect(columns.length).toBeGreaterThan(70);
    expect(columns.filter((name) => !METRICS[name])).toEqual([]);
    expect(Object.keys(METRICS).filter((name) => !alerts.metrics[name])).toEqual([]);
    expect(new Set(Object.keys(METRICS).map((name) => alerts.metrics[name])).size).toBe(Object.keys(METRICS).length);
  });
  describe("what is known of conditions", () => {
    const NOW = 1_700_000_000_000;
    const rule = (subject: string, enabled = true, kind = "metric") => ({ subject, enabled, kind });
    const sampled = (agoMs: number) => ({ state: { time: `${NOW - agoMs}000000`, cpu: 100 } });
    const [hot, silent, finding] = [rule("host.cpu"), rule("gpu.silent"), rule("", true, "insight")];
    it("without recent samples, nothing is", () => {
      const said = quietText([hot], [sampled(7_200_000), sampled(3_600_000)], NOW);
      expect(said).toBe(alerts.allUnknown(date(`${NOW - 3_600_000}000000`)));
      expect(said).not.toContain("No condition holds");
      expect(quietText([hot], [{ state: {} }], NOW)).toBe(alerts.neverKnown);
      expect(quietText([hot], [], NOW)).toBe(alerts.neverKnown);
      expect(unknownText([hot], [sampled(7_200_000)], NOW)).toContain("are unknown"); // next to alerts that hold
    });
    it("with samples of some, those of the others are not", () => expect(quietText([hot], [sampled(0), sampled(3_600_000), { state: {} }], NOW)).toBe(alerts.partUnknown("2", "3")));
    it("with recent samples, all are", () => expect(quietText([hot], [sampled(0), sampled(119_000)], NOW)).toBe(alerts.nowNone));
    it("findings and silence need no samples; a rule that is off is not checked", () => {
      for (const known of [silent, finding]) expect(quietText([known, rule("host.cpu", false)], [sampled(7_200_000)], NOW)).toBe(alerts.nowNone);
      expect([quietText([], [], NOW), quietText([rule("host.cpu", false)], [sampled(0)], NOW)]).toEqual([alerts.noneEnabled, alerts.noneEnabled]);
    });
  });
  it("what is no number is no rule", () => {
    for (const bad of [{ threshold: "" }, { threshold: "x" }, { hold: "-1" }]) expect(bodyOf({ ...newDraft(), name: "n", ...bad })).toBeNull();
  });
});

describe("a kernel's report", () => {
  const S = "smsp__sass_";
  const part = {
    samples: { kernels: [{ symbol: "k", reason: "wait", samples: 25, not_issued: 5 }, { symbol: "k", reason: "long_scoreboard", samples: 75, not_issued: 70 }, { symbol: "other", reason: "wait", samples: 9 }] },
    code: [
      {
        symbol: "k",
        instructions: [
          { offset: 16, text: "LDG", file: "a.cu", line: 7, samples: 90, top_reason: "long_scoreboard", [`${S}inst_executed`]: 10, [`${S}thread_inst_executed`]: 80, [`${S}sectors_mem_global`]: 8, [`${S}sectors_mem_global_ideal`]: 2 },
          { offset: 0, text: "MOV", file: "a.cu", line: 3, samples: 10 },
        ],
      },
    ],
    devices: [{ index: 0, sm_count: 66 }],
  };
  it("stalls by reason, as parts of this kernel's samples", () => expect(stallsOf(part, "k").map((s) => [s.reason, s.part])).toEqual([["long_scoreboard", 0.75], ["wait", 0.25]]));
  it("lines in order, hot ones first; what was not counted is unknown", () => {
    const lines = codeOf(part, "k")!;
    expect(lines.map((l) => l.line)).toEqual([3, 7]);
    expect(hotFirst(lines)[0]!.line).toBe(7);
    const [ldg] = hotFirst(lines)[0]!.items;
    expect([ldg!.threads, ldg!.coalescing, ldg!.conflicts]).toEqual([8, 0.25, null]);
    expect(codeOf(part, "none")).toBeNull();
    expect(codeOf({ code: [{ symbol: "k", instructions: [] }] }, "k")).toBeNull();
  });
  it("occupancy per resource, and waves", () => {
    const columns = { config: [4, 5], name: [0, 0], device: [1, 2], grid_x: [66, 1], grid_y: [2, 1], grid_z: [1, 1], block_x: [128, 32], block_y: [1, 1], block_z: [1, 1], registers: [255, 8], shared_static: [null, 1], shared_dynamic: [null, 2], local: [0, 0], blocks: [2, null], limit_warps: [16, 1], limit_regs: [2, 1], limit_shared: [null, 1], limit_blocks: [32, 1], limiter: [1, 1], warps: [8, null], max_warps: [64, null] };
    const recorded = { columns: [], rows: 2, names: ["k", "registers"], mangled: ["k", "registers"], data: columns } as unknown as AnswerConfigs;
    const launched = (config: number) => ({ config, calls: 3, total: 30, mean: 10, p99: 12 });
    const [config, other, ...rest] = configsOf(recorded, [launched(4), launched(5), launched(77)], part);
    expect(rest).toEqual([]); // what is not recorded is left out
    expect([config!.device, other!.device]).toEqual([0, 1]);
    expect([other!.occupancy, other!.shared, other!.waves]).toEqual([null, 3, null]);
    expect([config!.occupancy, config!.waves, config!.limiter, config!.limits.map((l) => l.blocks)]).toEqual([0.125, 1, "registers", [16, 2, null, 32]]);
  });
  it("a report without these parts is empty, not wrong", () => {
    for (const nothing of [null, {}, { samples: null, code: [], kernels: 7 }]) expect([stallsOf(nothing, "k"), codeOf(nothing, "k")]).toEqual([[], null]);
  });
});
