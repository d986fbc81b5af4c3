// The upload page's logic: which session and channel a file belongs to, pieces of whole lines, and a sender with a server that
// enforces its rules (offsets, gaps, repeats).
import { gzipSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { BrokenOff, headOf, nameOfPart, piecesOf, sessionsIn, type Found } from "../src/pages/upload/parts";
import { Failure, sendSession, type Progress, type Remote } from "../src/pages/upload/send";

const header = (channel: string, offset: number, part = 1) => `${JSON.stringify({ type: "header", format: 1, session: "s1", channel, part, offset, app: "train", host: "h" })}\n`;
const found = (path: string, content: string | Uint8Array<ArrayBuffer>): Found => ({ path, file: new Blob([content]) as File });
const zipped = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(text));

describe("parts", () => {
  it("names", () => {
    expect(nameOfPart("device.log")).toEqual({ channel: "device", number: 0, packed: false });
    expect(nameOfPart("app.v2.device.12.log.gz")).toEqual({ channel: "device", number: 12, packed: true });
    for (const no of ["notes.txt", "device.log.bak", ".log", "x.gz", ""]) expect(nameOfPart(no)).toBeNull();
  });
  it("the first line says whose", () => {
    expect(headOf(header("device", 7))).toEqual({ session: "s1", channel: "device", offset: 7, app: "train", host: "h" });
    expect(headOf('{"type":"x"}\n{"version":1,"type":"job_start","session_id":"p1","app":"a","hostname":"n"}')).toEqual({ session: "p1", channel: null, offset: null, app: "a", host: "n" });
    for (const no of ["", "no json", '{"type":"header"}', "[1]", "null"]) expect(headOf(no)).toBeNull();
  });
  it("sessions of a folder: in order, the packed one of twins, files of nobody left out", async () => {
    const files = [
      found("d/s1/device.log", header("device", 200, 3)),
      found("d/s1/device.2.log.gz", zipped(header("device", 100, 2))),
      found("d/s1/device.1.log", header("device", 0)),
      found("d/s1/device.1.log.gz", zipped(header("device", 0))),
      found("d/s1/empty.log", ""),
      found("d/notes.txt", "hello"),
      found("d/p1/device.1.log", '{"type":"job_start","session_id":"p1"}\n'),
      found("d/p1/device.2.log", '{"type":"kernel"}\n'),
    ];
    const sessions = await sessionsIn(files);
    expect(sessions.map((s) => [s.id, s.ours, s.parts.map((p) => p.path)])).toEqual([
      ["s1", true, ["d/s1/device.1.log.gz", "d/s1/device.2.log.gz", "d/s1/device.log"]],
      ["p1", false, ["d/p1/device.1.log", "d/p1/device.2.log"]],
    ]);
  });
});

describe("pieces", () => {
  const text = Array.from({ length: 1000 }, (_, at) => `{"line":${at}}\n`).join("");
  const all = async (blob: Blob, packed: boolean, skip: number, size: number) => {
    const pieces: { offset: number; text: string }[] = [];
    for await (const piece of piecesOf(blob, packed, skip, size)) pieces.push({ offset: piece.offset, text: new TextDecoder().decode(piece.bytes) });
    return pieces;
  };
  it.each([
    ["plain", false],
    ["packed", true],
  ])("%s: whole lines, one after the other, from where was asked", async (_, packed) => {
    const blob = new Blob([packed ? zipped(text) : text]);
    for (const skip of [0, text.indexOf("\n") + 1, text.length]) {
      const pieces = await all(blob, packed, skip, 100);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text.slice(skip));
      let at = skip;
      for (const piece of pieces) {
        expect([piece.offset, piece.text.endsWith("\n")]).toEqual([at, true]);
        at += piece.text.length;
      }
    }
  });
  it("a line that is being written waits", async () => expect((await all(new Blob(["a\nb\nc"]), false, 0, 1)).map((p) => p.text).join("")).toBe("a\nb\n"));
  it("what breaks off is read as far as it goes, and says so", async () => {
    const whole = zipped(text.repeat(50));
    const pieces: string[] = [];
    const read = async () => {
      for await (const piece of piecesOf(new Blob([whole.slice(0, whole.length / 2)]), true, 0, 1000)) pieces.push(new TextDecoder().decode(piece.bytes));
    };
    await expect(read()).rejects.toBeInstanceOf(BrokenOff);
    expect(text.repeat(50).startsWith(pieces.join(""))).toBe(true);
    expect(pieces.length).toBeGreaterThan(0);
  });
});

/** A server that keeps bytes by channel as docs/server-sending.md says. */
function makeServer(most = Infinity) {
  const channels = new Map<string, string>();
  const asked: string[] = [];
  let failures = 0;
  const remote: Remote = {
    positions: () => Promise.resolve(new Map([...channels].map(([channel, text]) => [channel, text.length]))),
    async stream(fields, body) {
      if (failures > 0 && failures-- === 1) throw new Failure("cut");
      const bytes = Buffer.from(await body.arrayBuffer());
      if (bytes.length > most) return { status: 413, answer: {} };
      const text = (fields["Content-Encoding"] === "gzip" ? gunzipSync(bytes) : bytes).toString();
      const channel = fields["X-GpuFlight-Channel"]!;
      const offset = Number(fields["X-GpuFlight-Offset"]);
      const have = channels.get(channel) ?? "";
      asked.push(`${channel}@${offset}`);
      if (offset > have.length) return { status: 409, answer: { expected_offset: have.length } };
      channels.set(channel, have + text.slice(have.length - offset));
      return { status: 200, answer: { accepted: 1, rejected: 0, errors: [], offset: channels.get(channel)!.length } };
    },
    complete: () => {
      asked.push("complete");
      return Promise.resolve({ status: 200, answer: {} });
    },
  };
  return { remote, channels, asked, failAt: (n: number) => (failures = n) };
}

describe("sending", () => {
  const first = `${header("device", 0)}${'{"a":1}\n'.repeat(50)}`;
  const second = `${header("device", first.length, 2)}${'{"b":2}\n'.repeat(50)}`;
  const whole = () => sessionsIn([found("s1/device.1.log.gz", zipped(first)), found("s1/device.log", second)]);
  const send = async (remote: Remote, signal = new AbortController().signal) => {
    const reports: Progress[] = [];
    await sendSession((await whole())[0]!, remote, true, (progress) => reports.push(progress), signal);
    return reports.at(-1)!;
  };
  it("all of it, in order, and says that it is complete", async () => {
    const server = makeServer();
    const last = await send(server.remote);
    expect(server.channels.get("device")).toBe(first + second);
    expect(server.asked.at(-1)).toBe("complete");
    expect(last.sent).toBe((await whole())[0]!.bytes);
  });
  it("goes on where the server stands, at any byte of whole lines", async () => {
    for (const have of [first.length, first.indexOf("\n") + 1, first.length + second.indexOf("\n") + 1, first.length + second.length]) {
      const server = makeServer();
      server.channels.set("device", (first + second).slice(0, have));
      await send(server.remote);
      expect(server.channels.get("device")).toBe(first + second);
      expect(server.asked.filter((row) => row !== "complete").every((row) => Number(row.split("@")[1]) >= Math.min(have, first.length + second.length))).toBe(true);
    }
  });
  it("after a failure the next attempt ends it", async () => {
    const server = makeServer();
    server.failAt(2);
    await expect(send(server.remote)).rejects.toThrow("cut");
    await send(server.remote);
    expect(server.channels.get("device")).toBe(first + second);
  });
  it("a body that is too large goes in pieces", async () => {
    const server = makeServer(zipped(first).length - 1);
    await expect(send(server.remote)).rejects.toThrow(); // the pieces cannot be smaller: the sender reports that and does not send them for ever
  });
  it("a missing part is a gap, in words", async () => {
    const [session] = await sessionsIn([found("s1/device.log", second)]);
    await expect(sendSession(session!, makeServer().remote, true, () => undefined, new AbortController().signal)).rejects.toThrow("gap");
  });
  it("stops where it is asked to", async () => {
    const stop = new AbortController();
    stop.abort();
    const server = makeServer();
    await expect(send(server.remote, stop.signal)).rejects.toThrow();
    expect(server.asked).toEqual([]);
  });
});
