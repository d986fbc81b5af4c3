// run.mjs - the dashboard in a headless Chromium, compared with the targets of the project: one command, a
// table and JSON.
//   node bench/web/run.mjs BIN [--kernels N,N,…] [--rounds N] [--seconds N] [--keep FOLDER] [--json FILE]
// For each size of simulated session (10 million kernels, unless --kernels says otherwise) it measures the time to the first useful
// paint of its pages, loaded by a browser with an empty cache, median and most of ROUNDS, with the processor time that browser and
// server take until then (other work on the machine does not change it much); the timeline's frames while it moves for SECONDS; the
// JS heap after that and a collection. Last it scrolls the table of 5 000 kernels by the wheel. Sessions and what the server makes
// of them go to a folder of their own, which is kept and used again with --keep (100 million kernels: about 6 GB and minutes).
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { simulate, spread, startBrowser } from "./browser.mjs";
import { A_KERNEL, addressOf, click, DESK, EMPTY, manyNames, moving, NAMES, open, paint, PAINTS, scrolled } from "./pages.mjs";

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
const FRAME_MS = 16.7; // 60 frames a second, the most that a headless browser shows: a median of 16 is impossible

const rows = []; // rows of the table: what, measured, target, met or missed
const round = (value) => Math.round(value);
const addRow = (what, measured, target, met) => rows.push([what, measured, target, met ? "met" : "missed"]);

/** Prints the measurements of one page, and adds them to the table. */
function reportTimes(what, times, target) {
  const of = (part) => spread(times.map((one) => one[part]));
  const result = { ...of("ms"), browser_cpu: of("browser"), server_cpu: of("server") };
  if (target !== Infinity) addRow(what, `${round(result.median)} ms, at most ${round(result.most)}`, `< ${target} ms`, result.most < target);
  console.log(`${what}: ${round(result.median)} ms; processor time of the browser ${round(of("browser").median)} ms, of the server ${round(of("server").median)} ms (medians of ${times.length})`);
  return result;
}

async function repeated(measure) {
  const times = [];
  for (let at = 0; at < Number(values.rounds); at++) times.push(await measure());
  return times;
}

async function paints(browser, world, origin, row, millions) {
  const result = {};
  for (const [name, { tab, useful, target }] of Object.entries({ ...PAINTS, "an empty page": EMPTY }))
    result[name] = reportTimes(`${millions}: first useful paint, ${name}`, await repeated(() => paint(browser, world, addressOf(origin, row, tab), useful)), target);
  return result;
}

function addFrames(what, frames) {
  const { between_ms: ms, over_100_ms: late, main_thread_cpu_ms: cpu } = frames;
  addRow(what, `${ms.median} / ${ms.p99} / ${ms.most} ms between frames; CPU ${cpu.median} / ${cpu.p99} / ${cpu.most} ms`, "16 / 32 / 100 ms", ms.median <= FRAME_MS && ms.p99 <= 32 && late === 0);
}

/** gpufl view over a folder of sessions, for as long as `use` runs. */
async function served(browser, session, cache, use) {
  const served = await open(browser, bin, session, cache);
  try {
    return await use(served);
  } finally {
    await served.stop();
  }
}

async function size(browser, kernels) {
  const millions = `${kernels / 1e6} million kernels`;
  return served(browser, simulate(bin, kernels, path.join(folder, `session-${kernels}`)), path.join(folder, `cache-${kernels}`), async ({ page, row, origin, world }) => {
    const paint_ms = await paints(browser, world, origin, row, millions);
    const click_ms = reportTimes(`${millions}: from the click to a kernel's page`, await repeated(() => click(page, world, origin, row)), PAINTS[A_KERNEL].target);
    const { moves, heap, pieces } = await moving(page, origin, row, hold);
    for (const [name, frames] of Object.entries(moves)) addFrames(`${millions}: timeline, ${name}`, frames);
    addRow(`${millions}: JS heap after moving`, `${(heap / 1e6).toFixed(1)} MB, pieces ${(pieces / 1e6).toFixed(1)} MB`, "< 200 MB", heap < 200e6);
    return { kernels: row.kernels, paint_ms, click_ms, moves, heap_bytes: heap, pieces_bytes: pieces };
  });
}

async function table(browser) {
  return served(browser, manyNames(folder), path.join(folder, "cache-names"), async ({ page, row, origin }) => {
    const result = {};
    for (const speed of [2000, 5000]) {
      const name = `${speed} px a second`;
      result[name] = await scrolled(browser, page, origin, row, speed, hold);
      addFrames(`table of ${NAMES} kernels, ${name}`, result[name]);
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
