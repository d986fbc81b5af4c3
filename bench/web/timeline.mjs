// timeline.mjs - how smoothly the timeline moves: a simulated session of KERNELS kernels in a real
// gpufl-server, a headless Chromium of 1600 x 900, keys held as a person holds them.
//   node bench/web/timeline.mjs BIN [KERNELS [SECONDS [SESSION_FOLDER [CACHE]]]]
// Prints JSON: for each movement the times between frames as the browser shows them, the script's own
// time a frame, and the CPU time a frame of the page's main thread with all that the browser does in it
// (on a machine that others use, that one alone says something); the time to the first useful paint; the
// heap at the end. CACHE: of gpufl view, kept for the next run. A movement is made twice:
// "cold", while its pieces are on their way, and "warm", when the server has nothing to do.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../web");
const { chromium } = createRequire(path.join(web, "package.json"))("playwright-core");

const [bin, kernels = "10000000", seconds = "4", given, cache] = process.argv.slice(2);
if (!bin) {
  console.error("usage: node bench/web/timeline.mjs BIN [KERNELS [SECONDS [SESSION_FOLDER [CACHE]]]]");
  process.exit(2);
}
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => existsSync(file));
if (!executablePath) {
  console.log("skipped: no Chromium on this machine");
  process.exit(77);
}

const folder = mkdtempSync(path.join(os.tmpdir(), "gpufl-bench-"));
const hold = Number(seconds) * 1000;

function makeSession() {
  if (given) return given;
  const to = path.join(folder, "session");
  const done = spawnSync(path.join(bin, "gpufl"), ["sim", "-k", kernels, "-s", "4", "-t", "2", "--scopes", "--sample", "250", "-n", "bench", "-o", to], { stdio: ["ignore", "ignore", "inherit"] });
  if (done.status !== 0) throw new Error(`gpufl sim ended with ${done.status}`);
  return to;
}

function view(session) {
  const child = spawn(path.join(bin, "gpufl"), ["view", "--no-browser", "--cache", cache ?? path.join(folder, "cache"), session], { stdio: ["ignore", "pipe", "ignore"] });
  const address = new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const found = /http\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.once("exit", (code) => reject(new Error(`gpufl view ended with ${code}`)));
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  return { address, stop: () => (child.kill("SIGTERM"), gone) };
}

/** The session's row once it has ended and is summed up: then the loader has nothing to do. */
const loaded = (page) =>
  page.evaluate(async () => {
    for (;;) {
      const { rows } = await (await fetch("/api/v1/sessions")).json();
      if (rows?.[0] && rows[0].state !== "live" && rows[0].busy !== null) return rows[0];
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const round = (value) => Math.round(value * 100) / 100;
  return { median: round(quantile(sorted, 0.5)), p99: round(quantile(sorted, 0.99)), most: round(sorted.at(-1) ?? NaN) };
}

/** Notes each frame from now on: when it was shown, and how long the script drew. */
const record = (page) =>
  page.evaluate(() => {
    const engine = window.gpuflTimeline;
    const notes = { shown: [], script: [], going: true };
    window.notes = notes;
    const step = Object.getPrototypeOf(engine).step;
    engine.step = function (now) {
      const begin = performance.now();
      step.call(this, now);
      notes.script.push(performance.now() - begin);
    };
    const next = (now) => {
      notes.shown.push(now);
      if (notes.going) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });

async function recorded(page) {
  const notes = await page.evaluate(() => {
    window.notes.going = false;
    delete window.gpuflTimeline.step;
    return window.notes;
  });
  const between = notes.shown.slice(1).map((at, i) => at - notes.shown[i]);
  return { frames: between.length, between_ms: spread(between), over_100_ms: between.filter((ms) => ms > 100).length, script_ms: spread(notes.script) };
}

/** Nothing is on its way and nothing is drawn any more. */
const rest = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const engine = window.gpuflTimeline;
        let drawn = -1;
        let same = 0;
        const next = () => {
          same = engine.frames === drawn && engine.shown.pending === 0 ? same + 1 : 0;
          drawn = engine.frames;
          if (same >= 30) resolve();
          else requestAnimationFrame(next);
        };
        next();
      }),
  );

const MOVES = [
  ["zoom in", "w"],
  ["pan", "d"],
  ["zoom out", "s"],
  ["pan, all of it in view before", "d"],
];

/** What the page's main thread did, as the browser traces it: CPU ms between two animation frames. */
async function trace(cdp) {
  const events = [];
  cdp.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const done = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"] } });
  return async () => {
    await cdp.send("Tracing.end");
    await done;
    cdp.removeAllListeners("Tracing.dataCollected");
    const fired = events.filter((event) => event.name === "FireAnimationFrame");
    const thread = (event) => `${event.pid}/${event.tid}`;
    const counts = new Map();
    fired.forEach((event) => counts.set(thread(event), (counts.get(thread(event)) ?? 0) + 1));
    const main = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
    // Two callbacks of one frame: the page's and the note's.
    const frames = fired.filter((event) => thread(event) === main).map((event) => event.ts).sort((a, b) => a - b).filter((at, i, all) => i === 0 || at - all[i - 1] > 4000);
    const tasks = events.filter((event) => event.name === "RunTask" && thread(event) === main && event.tdur !== undefined).sort((a, b) => a.ts - b.ts);
    const cpu = [];
    let at = 0;
    for (let i = 0; i + 1 < frames.length; i++) {
      let sum = 0;
      while (at < tasks.length && tasks[at].ts < frames[i + 1]) sum += tasks[at++].tdur / 1000;
      cpu.push(sum);
    }
    return spread(cpu.slice(1));
  };
}

async function movements(page) {
  const cdp = await page.context().browser().newBrowserCDPSession();
  const result = {};
  for (const [name, key, at] of MOVES.map(([name, key], i) => [name, key, ["0.2-0.8", "0.5-0.502", "0.5-0.5002", "0.1-0.6"][i]])) {
    for (const state of ["cold", "warm"]) {
      await page.evaluate((part) => {
        const engine = window.gpuflTimeline;
        const [from, to] = part.split("-").map(Number);
        const { bounds } = engine.scene;
        engine.setView({ from: bounds.to * from, to: bounds.to * to });
      }, at);
      await rest(page);
      await page.locator(".tl-scroll").focus();
      await record(page);
      const traced = await trace(cdp);
      await page.keyboard.down(key);
      await page.waitForTimeout(hold); // what is measured is that time, not a condition
      await page.keyboard.up(key);
      const main_thread_cpu_ms = await traced();
      result[`${name}, ${state}`] = { ...(await recorded(page)), main_thread_cpu_ms };
      await rest(page);
    }
  }
  return result;
}

const server = view(makeSession());
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"] });
try {
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
  const address = await server.address;
  const { origin } = new URL(address);
  await page.goto(address);
  const session = await loaded(page);
  const begin = Date.now();
  await page.goto(`${origin}/sessions/${session.id}/timeline`);
  await page.waitForFunction(() => window.gpuflTimeline?.frames > 0 && window.gpuflTimeline.heap > 0, undefined, { polling: "raf" });
  const paint = Date.now() - begin;
  await rest(page);
  const moves = await movements(page);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
  console.log(JSON.stringify({ machine: `${os.cpus()[0].model}, ${os.cpus().length} cores`, load: os.loadavg()[0], browser: browser.version(), kernels: session.kernels, first_paint_ms: paint, moves, heap_bytes: heap, pieces_bytes: await page.evaluate(() => window.gpuflTimeline.heap) }, null, 1));
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
