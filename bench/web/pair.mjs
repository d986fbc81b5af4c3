// pair.mjs - the dashboard of two builds, measured in turns, so that other work of the machine affects both equally.
//   node bench/web/pair.mjs NEW OLD [--kernels N] [--rounds N] [--seconds N] [--frames] [--keep FOLDER] [--json FILE]
// NEW and OLD are the folders bin of two builds, each with its own `gpufl view`, which has the server and the page of its commit.
// Both read one session, which OLD writes. Two builds with equal pages are refused, because comparing them says nothing. Each round
// measures both builds as run.mjs does, in the other order in every second round: pages until they are useful, the click on a
// kernel, frames while the timeline moves and while a long table scrolls, the JS heap. It prints the least of each, the medians,
// and the ratio of the medians, new to old, with its 95 % interval (bootstrap over rounds). A round before the first one warms up
// and is not counted. --frames: only the moving timeline.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { simulate, startBrowser } from "./browser.mjs";
import { addressOf, click, EMPTY, manyNames, moving, open, paint, PAINTS, scrolled } from "./pages.mjs";

const options = { kernels: { type: "string", default: "1000000" }, rounds: { type: "string", default: "10" }, seconds: { type: "string", default: "1" }, frames: { type: "boolean" }, keep: { type: "string" }, json: { type: "string" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
if (positionals.length !== 2) {
  console.error("usage: node bench/web/pair.mjs NEW OLD [--kernels N] [--rounds N] [--seconds N] [--frames] [--keep FOLDER] [--json FILE]");
  process.exit(2);
}
const BUILDS = ["new", "old"];
const SPEED = 2000; // px a second
const DRAWS = 2000;
const folder = values.keep ?? mkdtempSync(path.join(os.tmpdir(), "gpufl-bench-"));
mkdirSync(folder, { recursive: true });
const [rounds, hold] = [Number(values.rounds), Number(values.seconds) * 1000];

const sorted = (list) => [...list].sort((a, b) => a - b);
const at = (list, q) => sorted(list)[Math.min(list.length - 1, Math.floor(q * list.length))];
const median = (list) => at(list, 0.5);

/** Random numbers from 0 to 1, the same ones in each run, so that equal measurements have equal intervals. */
function random(seed) {
  let state = seed;
  return () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32);
}

/** Draws old and new of a round together, because other work of the machine affected both. */
function ratioOf(ours, theirs) {
  const next = random(7);
  const drawn = Array.from({ length: DRAWS }, () => {
    const picks = ours.map(() => Math.floor(next() * ours.length));
    return median(picks.map((n) => ours[n])) / median(picks.map((n) => theirs[n]));
  }).filter(Number.isFinite);
  return { ratio: median(ours) / median(theirs), low: at(drawn, 0.025), high: at(drawn, 0.975) };
}

/** Returns what one build shows in one round, as numbers by name. */
async function measured(browser, big, many) {
  const { page, row, origin, world } = big;
  const out = {};
  const put = (name, { ms, browser: cpu, server }) => Object.assign(out, { [`${name}, ms by the clock`]: ms, [`${name}, ms of processor`]: cpu + server });
  if (!values.frames) {
    for (const [name, { tab, useful }] of Object.entries({ ...PAINTS, "an empty page": EMPTY })) put(name, await paint(browser, world, addressOf(origin, row, tab), useful));
    put("click on a kernel", await click(page, world, origin, row));
  }
  const { moves, heap } = await moving(page, origin, row, hold);
  for (const [name, { main_thread_cpu_ms: cpu }] of Object.entries(moves)) out[`timeline, ${name}, ms of processor a frame`] = cpu.median;
  out["JS heap after moving, MB"] = heap / 1e6;
  if (values.frames) return out;
  out["table scrolled, ms of processor a frame"] = (await scrolled(browser, many.page, many.origin, many.row, SPEED, hold)).main_thread_cpu_ms.median;
  return out;
}

/** Throws if both builds have the same page, by the names of the scripts and styles that are compiled into each program. */
function differ({ new: [ours], old: [theirs] }) {
  if (!ours.assets.length || !theirs.assets.length) throw new Error("a page names no script of its own");
  if (ours.assets.join() === theirs.assets.join()) throw new Error(`both builds show the same page (${ours.assets.join(" ")}): build the older commit with its own web/`);
}

const browser = await startBrowser();
const opened = []; // closed at the end
try {
  const sessions = [simulate(positionals[1], Number(values.kernels), path.join(folder, `session-${values.kernels}`)), manyNames(folder)];
  const builds = { new: [], old: [] };
  for (const [n, bin] of positionals.entries())
    for (const [which, session] of sessions.entries()) {
      const one = await open(browser, bin, session, path.join(folder, `cache-${BUILDS[n]}-${which}`));
      opened.push(one);
      builds[BUILDS[n]].push(one);
    }
  differ(builds);
  const all = { new: [], old: [] };
  for (let round = -1; round < rounds; round++)
    for (const name of round % 2 === 0 ? BUILDS : [...BUILDS].reverse()) {
      const one = await measured(browser, ...builds[name]);
      if (round >= 0) all[name].push(one);
    }
  const names = Object.keys(all.new[0]);
  const of = (build, name) => all[build].map((one) => one[name]);
  const result = { machine: `${os.cpus()[0].model}, ${os.cpus().length} cores`, load: os.loadavg()[0], browser: browser.version(), kernels: Number(values.kernels), rounds, pages: { new: builds.new[0].assets, old: builds.old[0].assets }, measured: {} };
  console.log(`${result.machine}, load ${result.load.toFixed(1)}, Chromium ${result.browser}, ${values.kernels} kernels, ${rounds} rounds`);
  for (const name of names) {
    const [ours, theirs] = [of("new", name), of("old", name)];
    const { ratio, low, high } = ratioOf(ours, theirs);
    result.measured[name] = { new: { least: Math.min(...ours), median: median(ours) }, old: { least: Math.min(...theirs), median: median(theirs) }, ratio, low, high };
    console.log(`| ${name} | ${Math.min(...theirs).toFixed(1)} | ${median(theirs).toFixed(1)} | ${Math.min(...ours).toFixed(1)} | ${median(ours).toFixed(1)} | ${ratio.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}] |`);
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ ...result, rows: all }, null, 1)}\n`);
} catch (cause) {
  console.error(String(cause?.stack ?? cause));
  process.exitCode = 1;
} finally {
  for (const one of opened) await one.stop();
  await browser.close();
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
}
