// run.mjs - the dashboard in a headless Chromium against what the project promises of it: one command, a
// table and JSON.
//   node bench/web/run.mjs BIN [--kernels N,N,…] [--rounds N] [--seconds N] [--keep FOLDER] [--json FILE]
// For each size of simulated session (10 million kernels; 100 million where that is asked for): the time to
// the first useful paint of its pages, loaded by a browser that has nothing of them, median and most of ROUNDS, with
// the processor time that browser and server take until then (other work on the machine does not change it much);
// the timeline's frames while it moves for SECONDS; the JS heap after that and a collection. Then the table of
// 5 000 kernels, scrolled by the wheel. Sessions and what the server makes of them go to a folder of their own,
// which is kept and used again with --keep (100 million kernels: about 6 GB and minutes).
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { loaded, processorTime, record, recorded, simulate, spread, startBrowser, trace, view, WEB } from "./browser.mjs";
import { movements, rest } from "./timeline.mjs";

const { session: made } = await import(path.join(WEB, "tests/e2e/sessions.mjs"));

const options = { kernels: { type: "string", default: "10000000" }, rounds: { type: "string", default: "5" }, seconds: { type: "string", default: "4" }, keep: { type: "string" }, json: { type: "string" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const [bin] = positionals;
if (!bin) {
  console.error("usage: node bench/web/run.mjs BIN [--kernels N,N] [--rounds N] [--seconds N] [--keep FOLDER] [--json FILE]");
  process.exit(2);
}
const folder = values.keep ?? mkdtempSync(path.join(os.tmpdir(), "gpufl-bench-"));
mkdirSync(folder, { recursive: true });
const hold = Number(values.seconds) * 1000;
const DESK = { width: 1600, height: 900 };
const NAMES = 5000;
const PATIENCE_MS = 120_000;
const FRAME_MS = 16.7; // of 60 a second: a headless browser shows no more, so that a median of 16 cannot be

const A_KERNEL = "a kernel";

/** The pages whose first useful paint counts: what must stand on them. */
const PAINTS = {
  insights: { tab: "insights", useful: () => document.querySelector("main .finding") !== null, target: 1000 },
  timeline: { tab: "timeline", useful: () => window.gpuflTimeline?.frames > 0 && window.gpuflTimeline.heap > 0, target: 1500 },
  kernels: { tab: "kernels", useful: () => document.querySelector(".table tbody tr") !== null, target: 1500 },
  [A_KERNEL]: { tab: "kernels/{most}", useful: () => document.querySelector(".kernel-name") !== null && document.querySelector(".histogram rect") !== null && document.querySelector(".table tbody tr") !== null, target: 500 },
};

const rows = []; // of the table: what, measured, target
const round = (value) => Math.round(value);
const tell = (what, measured, target, met) => rows.push([what, measured, target, met ? "met" : "missed"]);

const EMPTY = { tab: "", useful: () => document.readyState === "complete", target: Infinity }; // what a browser costs without a page of ours
/** ms from the start of the navigation to the frame in which what is useful stands, in a browser without a cache. */
async function paint(browser, { state, cdp, pid }, address, useful) {
  const before = await processorTime(cdp, pid);
  const context = await browser.newContext({ viewport: DESK, storageState: state });
  try {
    const page = await context.newPage();
    await page.addInitScript(`{
      const useful = ${useful};
      const look = () => (useful() ? requestAnimationFrame(() => (window.usefulAt = performance.now())) : requestAnimationFrame(look));
      requestAnimationFrame(look);
    }`);
    await page.goto(address);
    const ms = await (await page.waitForFunction(() => window.usefulAt, undefined, { polling: "raf", timeout: PATIENCE_MS })).jsonValue();
    return { ms, ...(await processorTime(cdp, pid)).since(before) };
  } finally {
    await context.close();
  }
}

/** A number of measurements of one page: told, and in the result. */
function told(what, times, target) {
  const of = (part) => spread(times.map((one) => one[part]));
  const result = { ...of("ms"), browser_cpu: of("browser"), server_cpu: of("server") };
  if (target !== Infinity) tell(what, `${round(result.median)} ms, at most ${round(result.most)}`, `< ${target} ms`, result.most < target);
  console.log(`${what}: ${round(result.median)} ms; processor time of the browser ${round(of("browser").median)} ms, of the server ${round(of("server").median)} ms (medians of ${times.length})`);
  return result;
}

async function paints(browser, world, origin, session, most, millions) {
  const result = {};
  for (const [name, { tab, useful, target }] of Object.entries({ ...PAINTS, "an empty page": EMPTY })) {
    const address = tab ? `${origin}/sessions/${session.id}/${tab.replace("{most}", most)}` : `${origin}/favicon.svg`;
    const times = [];
    for (let at = 0; at < Number(values.rounds); at++) times.push(await paint(browser, world, address, useful));
    result[name] = told(`${millions}: first useful paint, ${name}`, times, target);
  }
  return result;
}

/** From the click on the first kernel of the list to the frame in which its page stands, in a browser that has the page's parts. */
async function click(page, { cdp, pid }, origin, session, millions) {
  const { useful, target } = PAINTS[A_KERNEL];
  const times = [];
  for (let at = 0; at < Number(values.rounds); at++) {
    await page.goto(`${origin}/sessions/${session.id}/kernels`);
    await page.locator(".table tbody tr a").first().waitFor();
    const before = await processorTime(cdp, pid);
    const ms = await page.evaluate(`new Promise((done) => {
      const useful = ${useful};
      const begin = performance.now();
      const look = () => (useful() && document.querySelector(".launch-start") ? requestAnimationFrame(() => done(performance.now() - begin)) : requestAnimationFrame(look));
      document.querySelector(".table tbody tr a").click();
      requestAnimationFrame(look);
    })`);
    times.push({ ms, ...(await processorTime(cdp, pid)).since(before) });
  }
  return told(`${millions}: from the click to a kernel's page`, times, target);
}

function tellFrames(what, frames) {
  const { between_ms: ms, over_100_ms: late, main_thread_cpu_ms: cpu } = frames;
  tell(what, `${ms.median} / ${ms.p99} / ${ms.most} ms between frames; CPU ${cpu.median} / ${cpu.p99} / ${cpu.most} ms`, "16 / 32 / 100 ms", ms.median <= FRAME_MS && ms.p99 <= 32 && late === 0);
}

/** gpufl view over a folder of sessions, for as long as `use` runs. */
async function served(browser, session, cache, use) {
  const server = view(bin, session, cache);
  const context = await browser.newContext({ viewport: DESK });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const address = await server.address;
    await page.goto(address);
    const row = await loaded(page);
    return await use({ page, row, origin: new URL(address).origin, world: { state: await context.storageState(), cdp: await browser.newBrowserCDPSession(), pid: server.pid } });
  } finally {
    await context.close();
    await server.stop();
  }
}

async function size(browser, kernels) {
  const millions = `${kernels / 1e6} million kernels`;
  return served(browser, simulate(bin, kernels, path.join(folder, `session-${kernels}`)), path.join(folder, `cache-${kernels}`), async ({ page, row, origin, world }) => {
    const most = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/kernels?limit=1`)).json()).data.name_id[0], row.id);
    const paint_ms = await paints(browser, world, origin, row, most, millions);
    const click_ms = await click(page, world, origin, row, millions);
    await page.goto(`${origin}/sessions/${row.id}/timeline`);
    await page.waitForFunction(PAINTS.timeline.useful, undefined, { polling: "raf", timeout: PATIENCE_MS });
    await rest(page);
    const moves = await movements(page, hold);
    for (const [name, frames] of Object.entries(moves)) tellFrames(`${millions}: timeline, ${name}`, frames);
    await (await page.context().newCDPSession(page)).send("HeapProfiler.collectGarbage");
    const { heap, pieces } = await page.evaluate(() => ({ heap: performance.memory.usedJSHeapSize, pieces: window.gpuflTimeline.heap }));
    tell(`${millions}: JS heap after moving`, `${(heap / 1e6).toFixed(1)} MB, pieces ${(pieces / 1e6).toFixed(1)} MB`, "< 200 MB", heap < 200e6);
    return { kernels: row.kernels, paint_ms, click_ms, moves, heap_bytes: heap, pieces_bytes: pieces };
  });
}

/** A session with kernels of that many names, as its log. */
function manyNames() {
  const session = made("00000000-0000-4000-8000-000000005000", "many names");
  const to = path.join(folder, "names", session.id);
  mkdirSync(to, { recursive: true });
  const names = Array.from({ length: NAMES }, (_, at) => `_ZN5bench${String(`kernel_${at}`).length}kernel_${at}Ef`);
  const list = Array.from({ length: NAMES * 4 }, (_, at) => [at * 2000, 200 + ((at * 7919) % 1500), 1 + (at % 4), at % NAMES]);
  writeFileSync(path.join(to, "device.log"), session.kernels(list, { streams: 4, names }));
  writeFileSync(path.join(to, "system.log"), session.end(list.length * 2000));
  return path.join(folder, "names");
}

async function table(browser) {
  return served(browser, manyNames(), path.join(folder, "cache-names"), async ({ page, row, origin }) => {
    await page.goto(`${origin}/sessions/${row.id}/kernels`);
    const box = page.locator(".table");
    await box.locator("tbody tr").first().waitFor();
    const count = Number(await page.locator(".table table").getAttribute("aria-rowcount")) - 1;
    if (count !== NAMES) throw new Error(`the table has ${count} rows, not ${NAMES}`);
    const place = await box.boundingBox();
    const browserCdp = await browser.newBrowserCDPSession();
    const input = await page.context().newCDPSession(page);
    const result = {};
    for (const [name, speed] of [["2000 px a second", 2000], ["5000 px a second", 5000]]) {
      await box.evaluate((element) => element.scrollTo(0, 0));
      await record(page);
      const traced = await trace(browserCdp);
      await input.send("Input.synthesizeScrollGesture", { x: place.x + 300, y: place.y + 200, yDistance: -Math.round((speed * hold) / 1000), speed, gestureSourceType: "mouse" });
      const main_thread_cpu_ms = await traced();
      const went = await box.evaluate((element) => element.scrollTop);
      if (went < speed) throw new Error(`the table scrolled ${went} px only`);
      result[name] = { ...(await recorded(page)), main_thread_cpu_ms, scrolled_px: went };
      tellFrames(`table of ${NAMES} kernels, ${name}`, result[name]);
    }
    return result;
  });
}

function print(result) {
  const columns = [["what", "measured", "target", ""], ...rows];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...columns.map((row) => row[at].length)));
  console.log(`${result.machine}, load ${result.load.toFixed(1)}, Chromium ${result.browser}, ${DESK.width} x ${DESK.height}; frames: median / P99 / most`);
  for (const row of columns) console.log(row.map((text, at) => text.padEnd(widths[at])).join("  ").trimEnd());
  console.log(JSON.stringify(result));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
}

const browser = await startBrowser();
try {
  const result = { machine: `${os.cpus()[0].model}, ${os.cpus().length} cores`, load: os.loadavg()[0], browser: browser.version(), sizes: [] };
  for (const kernels of values.kernels.split(",").map(Number)) result.sizes.push(await size(browser, kernels));
  result.table = await table(browser);
  print(result);
} finally {
  await browser.close();
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
}
