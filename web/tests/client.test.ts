// The client of the server: addresses, ETags, waits that the server asks for, problems in the server's words.
import { describe, expect, it } from "vitest";
import { address, makeClient, pause, Problem, subject } from "../src/api/client";
import { Who } from "../src/api/who";
import { tame, tameJson, wild } from "../src/format/tame";

interface Seen {
  url: string;
  headers: Headers;
}

/** A transport that returns these answers in turn, and notes requests and waits. */
function scripted(...answers: (Response | Error)[]) {
  const seen: Seen[] = [];
  const waits: number[] = [];
  const client = makeClient({
    fetch: async (url, init) => {
      seen.push({ url: String(url), headers: new Headers(init?.headers) });
      const next = answers.shift();
      if (!next) throw new Error("asked more often than expected");
      if (next instanceof Error) throw next;
      return next;
    },
    wait: async (ms) => void waits.push(ms),
  });
  return { client, seen, waits };
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) => new Response(status === 304 ? null : JSON.stringify(body), { status, headers });

describe("addresses", () => {
  it("puts path and query where they belong", () =>
    expect(address("kernel_configs", { session: "a b/c", name: 7, limit: 3 })).toBe("/api/v1/sessions/a%20b%2Fc/kernels/7/configs?limit=3"));
  it("leaves out what is not said", () => expect(address("sessions", { text: "", app: undefined, sort: null })).toBe("/api/v1/sessions"));
  it("keeps markup as text", () => expect(address("sessions", { text: "<b>&x" })).toBe("/api/v1/sessions?text=%3Cb%3E%26x"));
});

describe("subjects", () => {
  const sums = { kind: "kernel", from: 1, to: 9, limit: 100 } as const;
  it("other days, more rows and another order are of one subject", () => {
    expect(subject("rollups", { ...sums, from: 5, app: "x" })).toBe(subject("rollups", sums));
    expect(subject("launches", { session: "s", name: 1, order: "start", limit: 9 })).toBe(subject("launches", { session: "s", name: 1 }));
  });
  it("another kind, kernel, session or route is another subject", () => {
    const all = [subject("rollups", sums), subject("rollups", { ...sums, kind: "scope" }), subject("launches", { session: "s", name: 1 }), subject("launches", { session: "s", name: 2 }), subject("launches", { session: "t", name: 1 }), subject("kernels", { session: "t" })];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("asking", () => {
  it("sends the tag and keeps the object when nothing changed", async () => {
    const { client, seen } = scripted(json({ count: 1 }, 200, { ETag: 'W/"1"' }), json(null, 304));
    const first = await client.get("session_count", {});
    expect(await client.get("session_count", {})).toBe(first);
    expect(seen[1]!.headers.get("If-None-Match")).toBe('W/"1"');
    expect(client.last("session_count", {})).toBe(first);
  });
  it("keeps what is made of an answer in its place, and makes it once", async () => {
    const { client, seen } = scripted(json({ count: 7 }, 200, { ETag: 'W/"1"' }), json(null, 304));
    const made: unknown[] = [];
    const make = (answer: { count: number | null }): string => (made.push(answer), `${answer.count} sessions`);
    expect(await client.get("session_count", {}, undefined, make)).toBe("7 sessions");
    expect(await client.get("session_count", {}, undefined, make)).toBe("7 sessions");
    expect([made.length, seen[1]!.headers.get("If-None-Match"), client.last("session_count", {})]).toEqual([1, 'W/"1"', "7 sessions"]);
  });
  it("a refusal of the login before the present one is asked again, and ends nothing", async () => {
    const who = new Who();
    who.answered();
    const answers = [json({}, 401), json({ count: 3 }), json({}, 401)];
    let asked = 0;
    const client = makeClient({
      fetch: async () => {
        if (asked++ === 0) who.renewed(); // somebody logs in while the first request is under way
        return answers.shift()!;
      },
      wait: async () => undefined,
    }, who);
    expect(await client.get("session_count", {})).toEqual({ count: 3 });
    expect([asked, who.expired]).toEqual([2, false]);
    await expect(client.get("session_count", {})).rejects.toThrow(Problem);
    expect([asked, who.expired]).toEqual([3, true]);
  });
  it("waits as long as the server says, then asks again", async () => {
    const { client, waits } = scripted(json({}, 429, { "Retry-After": "2" }), json({}, 503), json({ count: 3 }));
    expect(await client.get("session_count", {})).toEqual({ count: 3 });
    expect(waits).toEqual([2000, 500]);
  });
  it("gives up with the server's words", async () => {
    const busy = () => json({ title: "Too Many Requests", detail: "Later, please." }, 429);
    const { client } = scripted(busy(), busy(), busy(), busy());
    await expect(client.get("session_count", {})).rejects.toMatchObject({ status: 429, message: "Later, please." });
  });
  it("does not ask again after other problems", async () => {
    const { client, seen } = scripted(json({ title: "Not Found", detail: "No such session." }, 404, { "X-Request-Id": "r1" }));
    await expect(client.get("session", { session: "x" })).rejects.toMatchObject({ status: 404, request: "r1", message: "No such session." });
    expect(seen).toHaveLength(1);
  });
  it("says so where the answer is no problem document", async () => {
    const { client } = scripted(new Response("<html>bad gateway", { status: 502 }));
    await expect(client.get("session_count", {})).rejects.toThrow("502");
  });
  it("says so where no answer comes", async () => {
    const { client } = scripted(new TypeError("refused"));
    await expect(client.get("session_count", {})).rejects.toBeInstanceOf(Problem);
  });
});

describe("pauses", () => {
  it("double without the server's word", () => expect([pause(0, null), pause(1, null), pause(2, "soon")]).toEqual([250, 500, 1000]));
  it("have an end", () => expect(pause(0, "86400")).toBe(30_000));
});

describe("letters that act", () => {
  it("are named", () => {
    expect(tame("a\u202eb\u0000c\u2066d\te\nf ü عربي")).toBe("a⟨202E⟩b⟨0000⟩c⟨2066⟩d\te\nf ü عربي");
  });
  it("are named in JSON however it writes them", () => {
    for (const name of ["a\u202eb", "\u0000", "\b\f\u001f\u007f\u0085", "\\u202e", "\\\\u0000", "\u061c\u200e\u200f\u2069", "tab\tline\nreturn\r"]) {
      expect(JSON.parse(tameJson(JSON.stringify({ name })))).toEqual({ name: tame(name) });
      const escaped = JSON.stringify({ name }).replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
      expect(JSON.parse(tameJson(escaped))).toEqual({ name: tame(name) });
    }
    expect(JSON.parse(tameJson('"\\u0009\\u000A\\u000d"'))).toBe("\t\n\r");
  });
  it("are themselves again in what the server is asked for", () => {
    for (const name of ["a\u202eb\u0085", "⟨0041⟩ ⟨x⟩ ⟨202e⟩", "plain"]) expect(wild(tame(name))).toBe(name);
    expect(address("source", { session: "s", path: tame("a\u202e.py") })).toContain("path=a%E2%80%AE.py");
  });
  it("of an answer are named before anybody has them", async () => {
    const { client } = scripted(json({ rows: [{ app: "x\u202ey\u0000" }], next: null }));
    expect((await client.get("sessions", {})).rows[0]!.app).toBe("x⟨202E⟩y⟨0000⟩");
  });
});
