// kernel.mjs - the page of a kernel with very many launches: the server's time for each of the page's questions, the bytes
// over the wire, and the time from the click in the list, and from the address, until the page shows the launches.
//   node bench/web/kernel.mjs BIN [--launches N] [--rounds N] [--keep FOLDER] [--json FILE] [--hold]
// The session is simulated (a million launches unless --launches says otherwise), and all its launches are made launches of one
// kernel.
// --hold: exits with 1 if a page asks for more than it shows, or if its best round takes more processor time than CPU_MS, longer
// than TARGET_MS after a click, or longer than ADDRESS_MS by its address. The best round of an idle machine takes less than half of each,
// so that the test that runs alone fails for the page, and not for the machine.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { simulate, spread, startBrowser } from "./browser.mjs";
import { A_KERNEL, addressOf, click, open, paint, PAINTS } from "./pages.mjs";

const options = { launches: { type: "string", default: "1000000" }, rounds: { type: "string", default: "9" }, keep: { type: "string" }, json: { type: "string" }, hold: { type: "boolean" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
if (positionals.length !== 1) {
  console.error("usage: node bench/web/kernel.mjs BIN [--launches N] [--rounds N] [--keep FOLDER] [--json FILE] [--hold]");
  process.exit(2);
}
const [launches, rounds] = [Number(values.launches), Number(values.rounds)];
const TARGET_MS = 500;
const CPU_MS = 1500; // of browser and server for a click: about 400 on an idle machine
const ADDRESS_MS = 1500;
const SEEN = 1000; // launches that a page asks for at first
const WIRE = 100_000; // bytes of all answers after a click
const folder = values.keep ?? mkdtempSync(path.join(os.tmpdir(), "gpufl-bench-"));
mkdirSync(folder, { recursive: true });

/** All launches of a session become those of its first kernel. */
function oneKernel(from) {
  let changed = 0;
  for (const name of readdirSync(from, { recursive: true }).filter((one) => /device.*\.log$/.test(one))) {
    const at = path.join(from, name);
    const lines = readFileSync(at, "utf8").split("\n").map((line) => {
      if (!line.startsWith('{"type":"kernel"')) return line;
      const record = JSON.parse(line);
      changed += record.rows;
      return JSON.stringify({ ...record, config: 1 });
    });
    writeFileSync(at, lines.join("\n"));
  }
  if (changed !== launches) throw new Error(`${changed} launches in the log, not ${launches}`);
  return from;
}

/** Returns what the page asks for after the click: the server's time and bytes of each answer, by the browser's clock. */
async function asked(page, world, origin, row) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  const requests = new Map();
  cdp.on("Network.requestWillBeSent", ({ requestId, request, type }) => type !== "EventSource" && request.url.includes("/api/v1/") && requests.set(requestId, { path: new URL(request.url).pathname.replace(row.id, "{session}"), query: new URL(request.url).search, bytes: null }));
  cdp.on("Network.responseReceived", ({ requestId, response }) => requests.has(requestId) && Object.assign(requests.get(requestId), { server_ms: response.timing ? response.timing.receiveHeadersEnd - response.timing.sendEnd : null }));
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => requests.has(requestId) && (requests.get(requestId).bytes = encodedDataLength));
  cdp.on("Network.loadingFailed", ({ requestId }) => requests.delete(requestId)); // cancelled: its page was left
  await click(page, world, origin, row, () => requests.clear());
  while ([...requests.values()].some(({ bytes }) => bytes === null)) await page.evaluate(() => new Promise(requestAnimationFrame));
  await cdp.detach();
  return [...requests.values()];
}

const median = (of) => spread(of).median;
const printSpread = (what, { median: middle, most }, least) => console.log(`${what}: least ${Math.round(least)} ms, median ${Math.round(middle)} ms, most ${Math.round(most)} ms`);

function reportTimes(what, times) {
  const sums = times.map(({ browser, server }) => browser + server);
  const ms = times.map((one) => one.ms);
  printSpread(what, spread(ms), Math.min(...ms));
  console.log(`  processor time of browser and server: least ${Math.round(Math.min(...sums))} ms, median ${Math.round(median(sums))} ms; of the server: median ${Math.round(median(times.map((one) => one.server)))} ms`);
  return { ms: { ...spread(ms), least: Math.min(...ms) }, cpu_ms: { ...spread(sums), least: Math.min(...sums) } };
}

function held({ clicked, addressed, answers }) {
  const wrong = [];
  const launchesAsked = answers.map(({ path: one, query }) => (one.endsWith("/launches") ? Number(new URLSearchParams(query).get("limit")) : 0));
  const bytes = answers.reduce((sum, one) => sum + one.bytes, 0);
  if (!launchesAsked.some((limit) => limit > 0) || launchesAsked.some((limit) => limit > SEEN)) wrong.push(`launches asked for: ${launchesAsked.filter(Boolean)}, at most ${SEEN} are seen`);
  if (bytes > WIRE) wrong.push(`${bytes} bytes over the wire, at most ${WIRE}`);
  if (clicked.cpu_ms.least > CPU_MS) wrong.push(`${clicked.cpu_ms.least} ms of processor, at most ${CPU_MS}`);
  if (clicked.ms.least > TARGET_MS) wrong.push(`${clicked.ms.least} ms after a click, at most ${TARGET_MS}`);
  if (addressed.ms.least > ADDRESS_MS) wrong.push(`${addressed.ms.least} ms by the address, at most ${ADDRESS_MS}`);
  return wrong;
}

const browser = await startBrowser();
let opened;
try {
  const session = oneKernel(simulate(positionals[0], launches, path.join(folder, `kernel-${launches}`)));
  opened = await open(browser, positionals[0], session, path.join(folder, "cache-kernel"));
  const { page, row, origin, world } = opened;
  const kernels = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/kernels`)).json()).data, row.id);
  if (kernels.calls.length !== 1 || kernels.calls[0] !== launches) throw new Error(`kernels: ${kernels.calls}`);
  const answers = await asked(page, world, origin, row);
  const [clicks, addresses] = [[], []];
  for (let round = 0; round < rounds; round++) {
    clicks.push(await click(page, world, origin, row));
    addresses.push(await paint(browser, world, addressOf(origin, row, PAINTS[A_KERNEL].tab), PAINTS[A_KERNEL].useful));
  }
  console.log(`${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}, Chromium ${browser.version()}, a kernel of ${launches} launches, ${rounds} rounds`);
  for (const { path: one, query, server_ms: ms, bytes } of answers) console.log(`  ${one}${query}: ${ms === null || ms === undefined ? "?" : ms.toFixed(1)} ms until its first byte, ${bytes} bytes`);
  const clicked = reportTimes("from the click in the list until the launches are shown", clicks);
  const addressed = reportTimes("by its address, in a browser that has nothing of the page", addresses);
  console.log(`target of the click: ${TARGET_MS} ms, ${clicked.ms.most <= TARGET_MS ? "met" : clicked.ms.least <= TARGET_MS ? "met by some rounds" : "missed"}`);
  const wrong = values.hold ? held({ clicked, addressed, answers }) : [];
  wrong.forEach((line) => console.log(`wrong: ${line}`));
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ launches, rounds, load: os.loadavg()[0], clicked, addressed, answers }, null, 1)}\n`);
  process.exitCode = wrong.length ? 1 : 0;
} catch (cause) {
  console.error(String(cause?.stack ?? cause));
  process.exitCode = 1;
} finally {
  await opened?.stop();
  await browser.close();
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
}
