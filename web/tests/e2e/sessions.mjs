// sessions.mjs - sessions that the simulator cannot make, written line by line (docs/format.md): without
// kernels, with thousands of streams, with one endless kernel, with names of 4 kB.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export const BEGIN = 1_000_000_000_000;
export const REAL = 1_735_689_600_000_000_000n;

/** Times and ids are written as differences. */
export const deltas = (values) => values.map((value, at) => value - (at ? values[at - 1] : 0));

/** host, gpu: where the session ran; real: when, ns since the Unix epoch; engine: its engine, Trace by default. */
const AT = { host: "made", gpu: "GPU-1", real: REAL };

export function header(id, channel, app, { host, real, engine = "Trace" } = AT) {
  return {
    type: "header", format: 1, session: id, channel, part: 1, offset: 0, app, pid: 1, host, run: "", command: app, engine, backend: "sim", simulated: true,
    version: "0.1.0", system: "Linux", start: BEGIN, clock_monotonic: BEGIN, clock_real: `${real}`, clock_uncertainty: 0,
  };
}

/** A line of JSON. The clock's values need 64 bits, so that the record has them as texts, which become numbers here. */
export const lineOf = (record) => `${JSON.stringify(record).replace(/"((?:clock_)?real)":"(\d+)"/, '"$1":$2')}\n`;

/** Makes lines of the device channel: kernels and graphs. */
const workLines = (id, app, at) => ({
  /** Lines of the device channel with these kernels: [start since the session's start, duration, stream, name]. */
  kernels(list, { streams, names }) {
    const ids = names.map((_, at) => at + 10);
    return [
      header(id, "device", app, at),
      { type: "names", rows: names.length + 5, id: [1, 2, 3, 4, 5, ...ids], text: [at.gpu, "Made GPU", "sim", "0000:01:00.0", "sm_90", ...names] },
      { type: "device", rows: 1, id: 1, index: 0, name: 2, uuid: 1, vendor: 3, pci: 4, arch: 5, memory_total: 1 << 30, sm_count: 132, warp_size: 32 },
      { type: "stream", rows: streams, id: Array.from({ length: streams }, (_, at) => at + 1), device: 1, context: 1, number: Array.from({ length: streams }, (_, at) => at + 7) },
      { type: "config", rows: names.length, id: names.map((_, at) => at + 1), name: ids, device: 1, grid_x: 1, grid_y: 1, grid_z: 1, block_x: 32, block_y: 1, block_z: 1 },
      this.more(list),
    ]
      .map((record) => (typeof record === "string" ? record : lineOf(record)))
      .join("");
  },
  more(list, correlation = 1) {
    const column = (at) => list.map((row) => row[at]);
    return lineOf({
      type: "kernel", rows: list.length, start: deltas(column(0).map((start) => BEGIN + start)), duration: column(1), config: column(3).map((name) => name + 1), stream: column(2),
      correlation: deltas(list.map((_, at) => at + correlation)), scope: deltas(list.map(() => 0)), graph: 0, graph_node: 0, external_kind: 0, external_id: 0, stack: 0, inherited: 0,
    });
  },
  /** Lines that follow those of kernels(): graphs as a whole, [start since the session's start, duration, stream]. */
  graphs(list) {
    const column = (at) => list.map((row) => row[at]);
    const zeros = deltas(list.map(() => 0));
    return lineOf({
      type: "graph_run", rows: list.length, start: deltas(column(0).map((start) => BEGIN + start)), duration: column(1), graph: 1, stream: column(2),
      correlation: deltas(list.map((_, at) => at + 800_001)), scope: zeros, stack: zeros, thread: null,
    });
  },
});

/** Makes lines that follow those of kernels(): of memory. */
const MEMORY_LINES = {
  /** Allocations and frees, [time, bytes (negative: freed), address]. */
  allocations(list) {
    const column = (at) => list.map((row) => row[at]);
    return lineOf({
      type: "alloc", rows: list.length, time: deltas(column(0).map((time) => BEGIN + time)), op: column(1).map((bytes) => (bytes > 0 ? 1 : 2)), memory: 3,
      address: column(2).map((address) => address.toString(16)), bytes: column(1).map(Math.abs), device: 1, stream: 0, correlation: deltas(list.map((_, at) => at + 900_001)),
    });
  },
  /** Managed memory, [time, duration (null: a moment), kind, bytes, faults]. */
  managed(list) {
    const column = (at) => list.map((row) => row[at]);
    return lineOf({ type: "managed", rows: list.length, start: deltas(column(0).map((time) => BEGIN + time)), duration: column(1), kind: column(2), bytes: column(3), faults: column(4), address: list.map(() => "7f00"), device: 1, peer: 0, cause: 1 });
  },
};

/** Makes lines that follow those of kernels(): of hardware counters. */
const COUNTER_LINES = {
  /** Samples of a counter every 10 ms. */
  counters(name, values) {
    return [
      { type: "names", rows: 1, id: [900], text: [name] },
      { type: "counter", rows: values.length, start: deltas(values.map((_, at) => BEGIN + at * 10_000_000)), duration: values.map(() => 10_000_000), source: 1, device: 1, metric: 900, value: values, exponent: 0, scope: deltas(values.map(() => 0)), kernel: 0, range: 0, ordinal: deltas(values.map((_, at) => at)) },
    ]
      .map(lineOf)
      .join("");
  },
  /** Counters of ranges and kernels, [metric, value in thousandths, name of the
   * range, number of the kernel's name from 0; null: of the whole range]. */
  ranges(list) {
    const texts = [...new Set(list.flatMap(([metric, , range]) => [metric, range]))];
    const idOf = (text) => 910 + texts.indexOf(text);
    const column = (of) => list.map(of);
    return [
      { type: "names", rows: texts.length, id: texts.map(idOf), text: texts },
      {
        type: "counter", rows: list.length, start: deltas(column((_, at) => BEGIN + at * 1_000_000)), duration: column(() => 1_000_000), source: column(([, , , kernel]) => (kernel === null ? 2 : 3)), device: 1,
        metric: column(([metric]) => idOf(metric)), value: column(([, value]) => value), exponent: -3, scope: deltas(column(() => 0)), kernel: column(([, , , kernel]) => (kernel === null ? 0 : kernel + 10)),
        range: column(([, , range]) => idOf(range)), ordinal: deltas(column((_, at) => at)),
      },
    ]
      .map(lineOf)
      .join("");
  },
};

/** Makes the lines of the other channels. */
const channelLines = (id, app, at) => ({
  /** parents: for each scope the number, from 1, of the scope around it; 0: none. */
  scopes(list, names, parents = list.map(() => 0)) {
    const column = (at) => list.map((row) => row[at]);
    return [
      header(id, "scope", app, at),
      { type: "names", rows: names.length, id: names.map((_, at) => at + 100), text: names },
      { type: "scope", rows: list.length, start: deltas(column(0).map((start) => BEGIN + start)), duration: column(1), instance: deltas(list.map((_, at) => at + 1)), parent: deltas(parents), name: column(2).map((name) => name + 100), tag: deltas(list.map(() => 0)), thread: 77, depth: parents.map((parent) => (parent ? 1 : 0)), repeat: 0, warmup: 0 },
    ]
      .map(lineOf)
      .join("");
  },
  /** The whole system channel of a session that ends after `length` ns. names: texts for `more`, with ids from 501 on. */
  end(length, { names = [], more = [] } = {}) {
    return [
      header(id, "system", app, at),
      { type: "clock", rows: 1, monotonic: BEGIN, real: `${at.real}`, uncertainty: 0 },
      { type: "names", rows: 1 + names.length, id: [500, ...names.map((_, at) => at + 501)], text: ["shutdown", ...names] },
      ...more,
      { type: "end", rows: 1, time: BEGIN + length, reason: 500 },
    ]
      .map(lineOf)
      .join("");
  },
});

export const session = (id, app, at = AT) => ({ id, app, ...workLines(id, app, at), ...MEMORY_LINES, ...COUNTER_LINES, ...channelLines(id, app, at) });

/** Sends lines of a channel as a sender does; the body begins with the part's header, or continues at `offset`. */
export async function send(origin, key, made, channel, lines, offset) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/x-ndjson" };
  if (offset !== undefined) Object.assign(headers, { "X-GpuFlight-Session-Id": made.id, "X-GpuFlight-Channel": channel, "X-GpuFlight-Offset": String(offset) });
  const answer = await fetch(`${origin}/api/v1/events/stream`, { method: "POST", headers, body: lines });
  const said = await answer.json();
  if (!answer.ok || said.rejected) throw new Error(`${channel} of ${made.app}: ${answer.status} ${JSON.stringify(said)}`);
  return (offset ?? 0) + Buffer.byteLength(lines);
}

export async function complete(origin, key, made) {
  const answer = await fetch(`${origin}/api/v1/events/session-complete`, { method: "POST", headers: { Authorization: `Bearer ${key}`, "X-GpuFlight-Session-Id": made.id } });
  if (!answer.ok) throw new Error(`session-complete: ${answer.status} ${await answer.text()}`);
}

/** Makes a session with `gpufl sim`, which exists while `use` runs. */
export function simulate(bin, options, use, settings = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-sim-"));
  try {
    const made = spawnSync(path.join(bin, "gpufl"), ["sim", ...options, "-o", path.join(folder, "run")], { encoding: "utf8", env: { ...process.env, ...settings } });
    if (made.status !== 0) throw new Error(`gpufl sim ended with ${made.status}: ${made.stderr}`);
    use(path.join(folder, "run"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the kernels' records: sessions that count or sample instructions on a real GPU have none. */
export function withoutKernels(folder) {
  for (const file of readdirSync(folder, { recursive: true }).filter((name) => /device.*\.log$/.test(name))) {
    const at = path.join(folder, file);
    const lines = readFileSync(at, "utf8").split("\n");
    const kept = lines.filter((line) => !line.includes('"type":"kernel"'));
    if (kept.length === lines.length) throw new Error(`${file}: no kernels to take out`);
    writeFileSync(at, kept.join("\n"));
  }
}
