// samples.mjs - the timeline of a session with very many samples of very many host threads: bytes and requests until
// it is shown, and the cost of its frames while it is scrolled, moved and zoomed.
//   node bench/web/samples.mjs BIN [--samples N] [--threads N] [--seconds N] [--keep FOLDER] [--json FILE]
// The script writes the log of a session (docs/format.md): threads are sampled in turn, and each has stacks with lines of its own.
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { loaded, record, recorded, spread, startBrowser, trace, view, WEB } from "./browser.mjs";
import { rest } from "./timeline.mjs";

const { BEGIN, deltas, header, lineOf, session: made } = await import(path.join(WEB, "tests/e2e/sessions.mjs"));
const options = { samples: { type: "string", default: "1000000" }, threads: { type: "string", default: "2000" }, seconds: { type: "string", default: "3" }, keep: { type: "string" }, json: { type: "string" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const [bin] = positionals;
if (!bin) {
  console.error("usage: node bench/web/samples.mjs BIN [--samples N] [--threads N] [--seconds N] [--keep FOLDER] [--json FILE]");
  process.exit(2);
}
const [samples, threads, hold] = [Number(values.samples), Number(values.threads), Number(values.seconds) * 1000];
const folder = values.keep ?? mkdtempSync(path.join(os.tmpdir(), "gpufl-bench-"));
const STACKS = 200;
const BATCH = 10_000;
const APART = 5e6; // ns between two samples of a thread
const KERNELS = 10_000;

function write(to) {
  if (existsSync(to)) return;
  const session = made("00000000-0000-4000-8000-000000000200", "many samples");
  const at = path.join(to, session.id);
  mkdirSync(at, { recursive: true });
  const rounds = Math.ceil(samples / threads);
  const length = rounds * APART;
  writeFileSync(path.join(at, "device.log"), session.kernels(Array.from({ length: KERNELS }, (_, n) => [Math.floor((n * length) / KERNELS), 200_000, 1, 0]), { streams: 1, names: ["_Z4workv"] }));
  writeFileSync(path.join(at, "system.log"), session.end(length));
  const file = openSync(path.join(at, "scope.log"), "w");
  const put = (line) => writeSync(file, typeof line === "string" ? line : lineOf(line));
  const ids = Array.from({ length: STACKS }, (_, n) => n + 1);
  put(header(session.id, "scope", "many samples"));
  put({ type: "names", rows: STACKS + 2, id: [100, 101, ...ids.map((n) => 200 + n)], text: ["worker", "work.py", ...ids.map((n) => `step_${n}`)] });
  put({ type: "thread", rows: threads, id: Array.from({ length: threads }, (_, n) => 1000 + n), name: Array.from({ length: threads }, () => 100) });
  put({ type: "frame", rows: STACKS, id: ids, kind: 2, module: 0, function: ids.map((n) => 200 + n), file: 101, line: ids.map((n) => 10 * n), first_line: ids.map((n) => 10 * n) });
  put({ type: "stack", rows: STACKS, id: ids, parent: ids.map(() => 0), frame: ids, depth: ids.map(() => 1) });
  for (let from = 0; from < samples; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, samples - from) }, (_, n) => from + n);
    const round = (n) => Math.floor(n / threads);
    const start = rows.map((n) => BEGIN + Math.floor((n * APART) / threads));
    put({
      type: "host_sample", rows: rows.length, start: deltas(start), late: rows.map(() => 0), thread: rows.map((n) => 1000 + (n % threads)), stack: rows.map((n) => 1 + ((n % threads) + Math.floor(round(n) / 7)) % STACKS),
      state: rows.map((n) => 1 + (((n % threads) + round(n)) % 3)), syscall: null, quality: 0,
    });
  }
  closeSync(file);
}

/** Counts the requests and their bytes from now on. */
function listen(page) {
  const sums = { requests: 0, bytes: 0 };
  page.on("requestfinished", async (request) => {
    const sizes = await request.sizes().catch(() => null);
    sums.requests++;
    sums.bytes += sizes?.responseBodySize ?? 0;
  });
  return sums;
}

async function moved(page, cdp, name, act) {
  await page.locator(".tl-scroll").focus();
  await record(page);
  const traced = await trace(cdp);
  await act();
  const main_thread_cpu_ms = await traced();
  const frames = { ...(await recorded(page)), main_thread_cpu_ms };
  await rest(page);
  console.log(`${name}: ${JSON.stringify(frames)}`);
  return frames;
}

const held = (page, key) => async () => {
  await page.keyboard.down(key);
  await page.waitForTimeout(hold); // the measurement lasts for this time
  await page.keyboard.up(key);
};

write(path.join(folder, "samples"));
const browser = await startBrowser();
const server = view(bin, path.join(folder, "samples"), path.join(folder, "cache-samples"));
try {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
  const page = await context.newPage();
  const address = await server.address;
  await page.goto(address);
  const row = await loaded(page);
  const fresh = await (await browser.newContext({ viewport: { width: 1600, height: 900 }, storageState: await context.storageState() })).newPage();
  const sums = listen(fresh);
  const began = performance.now();
  await fresh.goto(`${new URL(address).origin}/sessions/${row.id}/timeline`);
  await fresh.waitForFunction(() => window.gpuflTimeline?.frames > 0 && window.gpuflTimeline.heap > 0, undefined, { polling: "raf", timeout: 300_000 });
  const first = performance.now() - began;
  await rest(fresh);
  const whole = performance.now() - began;
  const rows = await fresh.evaluate(() => window.gpuflTimeline.scene.layout.rows.length);
  const result = { machine: `${os.cpus()[0].model}, ${os.cpus().length} cores`, load: os.loadavg()[0], samples, threads, rows, first_ms: Math.round(first), all_ms: Math.round(whole), load_sums: { ...sums }, moves: {} };
  console.log(JSON.stringify(result));
  const cdp = await browser.newBrowserCDPSession();
  const input = await fresh.context().newCDPSession(fresh);
  const box = await fresh.locator(".tl-scroll").boundingBox();
  const scroll = () => input.send("Input.synthesizeScrollGesture", { x: box.x + 300, y: box.y + 200, yDistance: -Math.round((3000 * hold) / 1000), speed: 3000, gestureSourceType: "mouse" });
  const moves = { "scroll, 3000 px a second": scroll, "zoom in": held(fresh, "w"), pan: held(fresh, "d"), "zoom out": held(fresh, "s") };
  for (const [name, act] of Object.entries(moves)) result.moves[name] = await moved(fresh, cdp, name, act);
  const costs = await fresh.evaluate(() => Array.from({ length: 60 }, () => {
    const begin = performance.now();
    window.gpuflTimeline.step(begin);
    return performance.now() - begin;
  }));
  Object.assign(result, { frame_alone_ms: spread(costs), all_sums: sums, pieces_bytes: await fresh.evaluate(() => window.gpuflTimeline.heap) });
  console.log(JSON.stringify(result));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
} finally {
  await browser.close();
  await server.stop();
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
}
