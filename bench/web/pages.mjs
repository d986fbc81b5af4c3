// pages.mjs - measures what a page of the dashboard costs until it is useful, what the click on a kernel costs, and what scrolling
// the table of very many kernels costs: the parts that run.mjs and pair.mjs share.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { loaded, processorTime, record, recorded, trace, view, WEB } from "./browser.mjs";
import { movements, rest } from "./timeline.mjs";

const { session: made } = await import(path.join(WEB, "tests/e2e/sessions.mjs"));

export const DESK = { width: 1600, height: 900 };
export const NAMES = 5000;
export const A_KERNEL = "a kernel";
const PATIENCE_MS = 120_000;

/** The pages whose first useful paint counts, each with what makes it useful. */
export const PAINTS = {
  insights: { tab: "insights", useful: () => document.querySelector("main .finding") !== null, target: 1000 },
  timeline: { tab: "timeline", useful: () => window.gpuflTimeline?.frames > 0 && window.gpuflTimeline.heap > 0, target: 1500 },
  kernels: { tab: "kernels", useful: () => document.querySelector(".table tbody tr") !== null, target: 1500 },
  [A_KERNEL]: { tab: "kernels/{most}", useful: () => document.querySelector(".kernel-name") !== null && document.querySelector(".histogram rect") !== null && document.querySelector(".table tbody tr") !== null, target: 500 },
};

export const EMPTY = { tab: "", useful: () => document.readyState === "complete", target: Infinity }; // the cost of the browser alone
/** ms from the start of the navigation to the first frame in which the page is useful, in a browser without a cache. */
export async function paint(browser, { state, cdp, pid }, address, useful) {
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

/** The address of a page of the session, or of its kernel with most time (builds name that kernel in different ways). */
export const addressOf = (origin, { id, most }, tab) => (tab ? `${origin}/sessions/${id}/${tab.replace("{most}", most)}` : `${origin}/favicon.svg`);

/** The scripts and styles of a build's page: their names have the hash of what they contain. */
const assetsOf = async (page, origin) => [...(await (await page.request.get(origin)).text()).matchAll(/\/assets\/[\w.-]+/g)].map(([name]) => name).sort();

/** ms from the click on the first kernel of the list to the frame in which its page is useful, in a browser that has the page's
 * parts. atList is called before the click. */
export async function click(page, { cdp, pid }, origin, { id }, atList = () => undefined) {
  const { useful } = PAINTS[A_KERNEL];
  await page.goto(`${origin}/sessions/${id}/kernels`);
  await page.locator(".table tbody tr a").first().waitFor();
  atList();
  const before = await processorTime(cdp, pid);
  const ms = await page.evaluate(`new Promise((done) => {
    const useful = ${useful};
    const begin = performance.now();
    const look = () => (useful() && document.querySelector(".launch-start") ? requestAnimationFrame(() => done(performance.now() - begin)) : requestAnimationFrame(look));
    document.querySelector(".table tbody tr a").click();
    requestAnimationFrame(look);
  })`);
  return { ms, ...(await processorTime(cdp, pid)).since(before) };
}

/** The timeline's frames while it moves for `hold` ms, and the JS heap after that and a collection. */
export async function moving(page, origin, { id }, hold) {
  await page.goto(`${origin}/sessions/${id}/timeline`);
  await page.waitForFunction(PAINTS.timeline.useful, undefined, { polling: "raf", timeout: PATIENCE_MS });
  await rest(page);
  const moves = await movements(page, hold);
  await (await page.context().newCDPSession(page)).send("HeapProfiler.collectGarbage");
  return { moves, ...(await page.evaluate(() => ({ heap: performance.memory.usedJSHeapSize, pieces: window.gpuflTimeline.heap }))) };
}

/** gpufl view over a folder of sessions: its page, its newest session with its kernel of most time, and how to end it. */
export async function open(browser, bin, session, cache) {
  const server = view(bin, session, cache);
  const context = await browser.newContext({ viewport: DESK });
  const stop = async () => {
    await context.close();
    await server.stop();
  };
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const address = await server.address;
    await page.goto(address);
    const row = await loaded(page);
    const { origin } = new URL(address);
    await page.goto(`${origin}/sessions/${row.id}/kernels`);
    const most = await page.locator(".table tbody tr a").first().evaluate((link) => new URL(link.href).pathname.split("/").at(-1));
    return { page, row: { ...row, most }, origin, assets: await assetsOf(page, origin), world: { state: await context.storageState(), cdp: await browser.newBrowserCDPSession(), pid: server.pid }, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** Writes the log of a session with kernels of that many names. */
export function manyNames(folder) {
  const session = made("00000000-0000-4000-8000-000000005000", "many names");
  const to = path.join(folder, "names", session.id);
  mkdirSync(to, { recursive: true });
  const names = Array.from({ length: NAMES }, (_, at) => `_ZN5bench${String(`kernel_${at}`).length}kernel_${at}Ef`);
  const list = Array.from({ length: NAMES * 4 }, (_, at) => [at * 2000, 200 + ((at * 7919) % 1500), 1 + (at % 4), at % NAMES]);
  writeFileSync(path.join(to, "device.log"), session.kernels(list, { streams: 4, names }));
  writeFileSync(path.join(to, "system.log"), session.end(list.length * 2000));
  return path.join(folder, "names");
}

/** Scrolls the table of all those kernels by the wheel for `hold` ms. */
export async function scrolled(browser, page, origin, { id }, speed, hold) {
  await page.goto(`${origin}/sessions/${id}/kernels`);
  const box = page.locator(".table");
  await box.locator("tbody tr").first().waitFor();
  const count = Number(await page.locator(".table table").getAttribute("aria-rowcount")) - 1;
  if (count !== NAMES) throw new Error(`the table has ${count} rows, not ${NAMES}`);
  const place = await box.boundingBox();
  const browserCdp = await browser.newBrowserCDPSession();
  const input = await page.context().newCDPSession(page);
  await box.evaluate((element) => element.scrollTo(0, 0));
  await record(page);
  const traced = await trace(browserCdp);
  await input.send("Input.synthesizeScrollGesture", { x: place.x + 300, y: place.y + 200, yDistance: -Math.round((speed * hold) / 1000), speed, gestureSourceType: "mouse" });
  const main_thread_cpu_ms = await traced();
  const went = await box.evaluate((element) => element.scrollTop);
  if (went < speed) throw new Error(`the table scrolled ${went} px only`);
  return { ...(await recorded(page)), main_thread_cpu_ms, scrolled_px: went };
}
