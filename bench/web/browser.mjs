// browser.mjs - the parts that the measurements in a browser share: sessions, a server that shows them (gpufl view), the times of
// the browser's frames, and the main thread's CPU time from the browser's trace.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const WEB = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../web");
const { chromium } = createRequire(path.join(WEB, "package.json"))("playwright-core");

export function startBrowser() {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => existsSync(file));
  if (!executablePath) {
    console.log("skipped: no Chromium on this machine");
    process.exit(77);
  }
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"] });
}

/** A simulated session of that many kernels. */
export function simulate(bin, kernels, to) {
  if (existsSync(to)) return to;
  const done = spawnSync(path.join(bin, "gpufl"), ["sim", "-k", String(kernels), "--streams", "4", "-t", "2", "--scopes", "--sample", "250", "-n", "bench", "-o", to], { stdio: ["ignore", "ignore", "inherit"] });
  if (done.status !== 0) throw new Error(`gpufl sim ended with ${done.status}`);
  return to;
}

export function view(bin, session, cache) {
  const child = spawn(path.join(bin, "gpufl"), ["view", "--no-browser", "--cache", cache, session], { stdio: ["ignore", "pipe", "pipe"] });
  let wrong = "";
  child.stderr.on("data", (piece) => (wrong = `${wrong}${piece}`.slice(-2000)));
  const address = new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const found = /http\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.once("close", (code) => reject(new Error(`gpufl view ended with ${code}: ${wrong}`)));
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  return { address, pid: child.pid, stop: () => (child.kill("SIGTERM"), gone) };
}

/** Waits until the session has ended and is analysed, so that the loader has nothing to do; returns its row. */
export const loaded = (page) =>
  page.evaluate(async () => {
    for (;;) {
      const { rows } = await (await fetch("/api/v1/sessions")).json();
      if (rows?.[0] && rows[0].state !== "live" && rows[0].busy !== null) return rows[0];
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const round = (value) => Math.round(value * 100) / 100;
  return { median: round(quantile(sorted, 0.5)), p99: round(quantile(sorted, 0.99)), most: round(sorted.at(-1) ?? NaN) };
}

const TICK_MS = 10; // a tick of /proc: USER_HZ is 100 on Linux

/** ms of processor time of a process and of those that it has started. */
function treeMs(root) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      return [{ pid: Number(pid), parent: Number(fields[1]), ms: (Number(fields[11]) + Number(fields[12])) * TICK_MS }];
    } catch {
      return []; // the process has ended meanwhile
    }
  });
  const of = (pid) => all.filter((one) => one.parent === pid).reduce((sum, one) => sum + of(one.pid), all.find((one) => one.pid === pid)?.ms ?? 0);
  return of(root);
}

/** The processor time of the browser's processes and of the server until now, in ms; `since` subtracts an earlier result. */
export async function processorTime(cdp, server) {
  const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
  const browser = new Map(processInfo.map(({ id, cpuTime }) => [id, cpuTime * 1000]));
  return { browser, server: treeMs(server), since: (before) => ({ browser: [...browser].reduce((sum, [id, ms]) => sum + ms - (before.browser.get(id) ?? 0), 0), server: treeMs(server) - before.server }) };
}

/** Notes from now on when each frame is shown. */
export const record = (page) =>
  page.evaluate(() => {
    const notes = { shown: [], going: true };
    window.notes = notes;
    const next = (now) => {
      notes.shown.push(now);
      if (notes.going) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });

export async function recorded(page) {
  const notes = await page.evaluate(() => {
    window.notes.going = false;
    return window.notes;
  });
  const between = notes.shown.slice(1).map((at, i) => at - notes.shown[i]);
  return { frames: between.length, between_ms: spread(between), over_100_ms: between.filter((ms) => ms > 100).length };
}

/** Traces the page's main thread: the function that it returns gives the CPU ms between two animation frames. */
export async function trace(cdp) {
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
    // A frame has two callbacks: the page's and that of record().
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
