// odd.mjs - the timeline, flame graph and scopes of unusual sessions, and with a server that is slow,
// fails or gives invalid answers: readable and recoverable, never a blank page.
//   node tests/e2e/odd.mjs BIN OUT
import { finished, makeHarness, MARKUP, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { ACCOUNT, startServer } from "./server.mjs";
import { BEGIN, complete, send, session } from "./sessions.mjs";
import { clocks, countsOnly, everyExpired, everyProblem, everyTab, everyWait, expired, gone, hugeNames, longNames, lostChannels, manyThreads, metricsOnly, missing, olderStores, samplesOnly, savedLink } from "./steps_odd.mjs";

const [bin, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const world = { t, server, origin, out, bin, browser };
t.expected.add(500).add(503);

const HOUR = 3600e9;
const LONG = `_Z${"n".repeat(4000)}v`; // a name that cannot be demangled

async function firstAccount(page) {
  await page.goto(await server.printed(/first account at (\S+)/));
  for (const [name, value] of Object.entries(ACCOUNT)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByText("No sessions yet").waitFor();
  return page.evaluate(async () => {
    const me = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch("/api/v1/keys", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf }, body: JSON.stringify({ name: "test", scopes: "ingest" }) });
    return (await answer.json()).key;
  });
}

const holds = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: PATIENCE_MS });
const open = async (page, made, tab = "timeline", query = "") => page.goto(`${origin}/sessions/${made.id}/${tab}${query}`);
const drawn = (page) => holds(page, () => window.gpuflTimeline?.frames > 0 && window.gpuflTimeline.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
const loaded = (page, made, kernels) =>
  until(page, async ([id, wanted]) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).kernels >= wanted && (await (await fetch(`/api/v1/sessions/${id}/lanes`)).json()).data?.events.reduce((a, b) => a + b, 0) >= wanted, [made.id, kernels]);

/** How many px of the lanes have the colour of something. */
const filled = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".tl-canvas");
    const to = canvas.getContext("2d");
    const { data } = to.getImageData(Math.round(canvas.width * 0.25), 60, Math.round(canvas.width * 0.7), canvas.height - 60);
    const px = new Uint32Array(data.buffer);
    const counts = new Map();
    px.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
    return px.length - Math.max(...counts.values());
  });

async function nothing(page, key) {
  const made = session("odd-none", "no kernels");
  await send(origin, key, made, "system", made.end(2e9));
  await complete(origin, key, made);
  await open(page, made);
  await page.getByText("Nothing on the timeline").waitFor();
  await t.picture(page, "odd-no-kernels", { wide: false });
  await everyTab({ ...world, page }, made, { kernels: /Kernels unknown|No kernels/, flame: /No stacks|Not analysed yet/, scopes: "No scopes", memory: "No copies" });
}

async function streams(page, key) {
  const made = session("odd-streams", "ten thousand streams");
  const all = Array.from({ length: 30_000 }, (_, at) => [at * 1000, 900, (at % 10_000) + 1, at % 2]);
  await send(origin, key, made, "device", made.kernels(all, { streams: 10_000, names: ["_Z1av", "_Z1bv"] }));
  await send(origin, key, made, "system", made.end(31e6));
  await complete(origin, key, made);
  await loaded(page, made, 30_000);
  const lists = [];
  const asked = (request) => /\/(tiles|spans|events)$/.test(new URL(request.url()).pathname) && lists.push(new URL(request.url()).searchParams.get("lanes"));
  page.on("request", asked);
  await open(page, made);
  await drawn(page);
  page.off("request", asked);
  t.check(lists.length > 0 && lists.every((list) => /^\d+\*24$/.test(list)), `10 000 streams: a block of lanes is asked for by a run of numbers: ${lists.map((list) => list.slice(0, 60))}`);
  // Once the session is analysed there are lanes of idle gaps, too.
  const lanes = await page.evaluate(() => window.gpuflTimeline.scene.lanes.filter((lane) => lane.kind === 1).length);
  t.check(lanes === 10_000, `10 000 streams: ${lanes} lanes of kernels`);
  // After scrolling to the end the last row is in view.
  await page.evaluate(() => document.querySelector(".tl-scroll").scrollTo(0, 1e9));
  await holds(page, () => window.gpuflTimeline.scene.scroll > 100_000);
  await drawn(page);
  const last = await page.evaluate(() => {
    const { layout, tracks, height, scroll } = window.gpuflTimeline.scene;
    const rows = layout.rows.filter((row) => row.y + row.height > scroll && row.y < scroll + height);
    return { rows: rows.length, seen: rows.some((row) => row.track === tracks.length - 1) };
  });
  t.check(last.seen && last.rows < 200, `10 000 streams: the last row is in view (${JSON.stringify(last)})`);
  await t.picture(page, "odd-streams", { wide: false });
  await page.getByRole("searchbox", { name: "Rows" }).fill("stream 9999");
  await holds(page, () => window.gpuflTimeline.scene.layout.rows.filter((row) => row.track >= 0).length === 1);
  await drawn(page);
  t.check((await filled(page)) > 5, "10 000 streams: the one that was asked for has its kernels");
  await everyTab({ ...world, page }, made);
}

async function hour(page, key) {
  const made = session("odd-hour", "one kernel of an hour");
  await send(origin, key, made, "device", made.kernels([[5e9, HOUR, 1, 0]], { streams: 1, names: ["_Z7endlessv"] }));
  await send(origin, key, made, "system", made.end(HOUR + 6e9));
  await complete(origin, key, made);
  await loaded(page, made, 1);
  await open(page, made);
  await drawn(page);
  const wide = await filled(page);
  t.check(wide > 2000, `one kernel of an hour fills its row (${wide} px)`);
  await t.picture(page, "odd-hour", { wide: false });
  // A view of 20 ns in its middle still shows the kernel, which can be selected.
  await open(page, made, "timeline", `?at=${1800e9}-${1800e9 + 20}`);
  await drawn(page);
  t.check((await filled(page)) > 2000, "one kernel of an hour fills a view of 20 ns");
  const place = await page.evaluate(() => {
    const { scene } = window.gpuflTimeline;
    const row = scene.layout.rows.find((other) => other.track >= 0);
    const box = document.querySelector(".tl-scroll").getBoundingClientRect();
    return { x: box.left + scene.width / 2, y: box.top + 30 + row.y + 10 };
  });
  await page.mouse.click(place.x, place.y);
  await page.locator(".tl-below").getByText("3 600 000 000 000 ns".replaceAll(" ", "\u202f")).waitFor();
  await everyTab({ ...world, page }, made, { kernels: "endless", "kernels/10": "60.0 min" });
}

/** Graphs that were recorded as a whole have a row of their own, and can be selected. */
async function graphs(page, key) {
  const made = session("odd-graphs", "graphs as a whole");
  await send(origin, key, made, "device", made.kernels([[0, 1e6, 1, 0]], { streams: 1, names: ["_Z4initv"] }) + made.graphs([[2e6, 5e6, 1], [8e6, 5e6, 1], [14e6, 50e3, 1]]));
  await send(origin, key, made, "system", made.end(2e7));
  await complete(origin, key, made);
  await loaded(page, made, 1);
  await finished(page, made.id);
  await open(page, made);
  await drawn(page);
  const kinds = await page.evaluate(() => window.gpuflTimeline.scene.lanes.map((lane) => [lane.kind, lane.events, lane.busy]));
  const [work, gaps] = [kinds.filter(([kind]) => kind !== 11), kinds.filter(([kind]) => kind === 11)];
  t.check(JSON.stringify(work) === JSON.stringify([[1, 1, 1e6], [7, 3, 10.05e6]]), `graphs as a whole: lanes ${JSON.stringify(work)}`);
  const idle = gaps.reduce(([n, ns], [, events, busy]) => [n + events, ns + busy], [0, 0]);
  t.check(JSON.stringify(idle) === JSON.stringify([4, 8.95e6]), `graphs as a whole: idle gaps ${JSON.stringify(gaps)}`);
  await page.goto(`${origin}/sessions/${made.id}/timeline?at=${2e6}-${7e6}`);
  await drawn(page);
  const place = await page.evaluate(() => {
    const { scene } = window.gpuflTimeline;
    const row = scene.layout.rows.find((other) => other.track >= 0 && scene.lanes[scene.tracks[other.track].lane]?.kind === 7);
    const box = document.querySelector(".tl-scroll").getBoundingClientRect();
    return { x: box.left + scene.width / 2, y: box.top + 30 + row.y + 10 };
  });
  await page.mouse.click(place.x, place.y);
  await page.locator(".tl-below").getByText("800001").waitFor();
  await t.picture(page, "odd-graphs", { wide: false });
  await graphsAlone(page, key);
}

/** A session with only graphs as a whole: nothing is missing, and no page says that nothing ran. */
async function graphsAlone(page, key) {
  const made = session("odd-graphs-alone", "graphs alone");
  const ledger = { type: "ledger", rows: 1, time: BEGIN + 2e7, final: 1, launches: 0, graph_launches: 3, graph_kernels: 600, graph_unknown: 0, kernels_recorded: 0, kernels_written: 0, graphs_recorded: 3, graphs_written: 3 };
  await send(origin, key, made, "device", made.kernels([], { streams: 1, names: [] }) + made.graphs([[2e6, 5e6, 1], [8e6, 5e6, 1], [14e6, 50e3, 1]]));
  await send(origin, key, made, "system", made.end(2e7, { more: [ledger] }));
  await complete(origin, key, made);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}/ledger`)).json()).final === true, made.id);
  await open(page, made, "kernels");
  await page.getByText("3 runs of graphs recorded").waitFor();
  await t.picture(page, "odd-graphs-kernels", { wide: false });
  await open(page, made, "insights");
  await page.locator(".captured-good").waitFor();
  const header = await page.locator(".captured").innerText();
  t.check(!header.includes("%"), `graphs alone: all of it was captured: ${header}`);
  await page.locator("main .state, main .finding, main .panel-body").first().waitFor();
  const said = await page.locator("main").innerText();
  t.check(!said.includes("No kernels were recorded"), `graphs alone: ${said.slice(-300)}`);
  await t.picture(page, "odd-graphs-insights", { wide: false });
}

async function names(page, key) {
  const made = session("odd-names", MARKUP);
  await send(origin, key, made, "device", made.kernels([[0, 4e6, 1, 0], [5e6, 4e6, 1, 1]], { streams: 1, names: [LONG, MARKUP] }));
  await send(origin, key, made, "scope", made.scopes([[0, 1e7, 0], [1e7, 5e6, 1]], [MARKUP, "s".repeat(4096)]));
  await send(origin, key, made, "system", made.end(2e7));
  await complete(origin, key, made);
  await loaded(page, made, 2);
  await open(page, made);
  await drawn(page);
  const finder = page.getByRole("searchbox", { name: "Search events" });
  for (const words of ["nnnnnnnn", "onerror"]) {
    await finder.fill(words);
    await holds(page, (wanted) => new URLSearchParams(location.search).get("find") === wanted, words);
    await page.keyboard.press("Enter");
    await page.locator(".tl-below h2").waitFor();
    await page.locator(".tl-below details summary").first().click();
    await t.picture(page, `odd-names-${words.slice(0, 3)}`, { wide: false });
    await finder.focus();
    await page.evaluate(() => window.gpuflTimeline.select(null));
  }
  t.check((await page.title()) !== "taken" && (await page.locator("img").count()) === 0, "names stay text");
  await open(page, made, "scopes");
  await page.getByText("Scopes within scopes").waitFor();
  await t.picture(page, "odd-names-scopes", { wide: false });
}

/** The server answers late, then not at all, then again. */
async function trouble(page, key) {
  const made = session("odd-trouble", "a server in trouble");
  await send(origin, key, made, "device", made.kernels(Array.from({ length: 1000 }, (_, at) => [at * 1e6, 8e5, 1, 0]), { streams: 1, names: ["_Z1av"] }));
  await send(origin, key, made, "system", made.end(1e9));
  await complete(origin, key, made);
  await loaded(page, made, 1000);

  // With a slow server known values are shown, and the rest says that it loads.
  let openGate;
  const gate = new Promise((resolve) => (openGate = resolve));
  let held = 0;
  await page.context().route(/\/(tiles|spans|events)\?/, async (route) => {
    held++;
    await gate;
    await route.continue();
  });
  await open(page, made);
  await page.getByText("Loading…").waitFor();
  t.check((await page.locator(".tl-canvas").count()) === 1 && held > 0, "slow server: the frame of the timeline stands");
  await t.picture(page, "odd-slow", { wide: false });
  openGate();
  await drawn(page);
  t.check((await filled(page)) > 500, "slow server: the kernels came");
  await page.context().unroute(/\/(tiles|spans|events)\?/);

  // An answer 500 is shown in the server's words, with a way to try again; what was shown before stays.
  const fail = (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Internal Server Error", status: 500, detail: "The disk is on fire." }) });
  await page.context().route(/\/(tiles|spans|events)\?/, fail);
  await page.evaluate(() => window.gpuflTimeline.setView({ from: 2e8, to: 2.0001e8 }));
  await page.getByText("The disk is on fire.").waitFor({ timeout: PATIENCE_MS });
  const again = page.getByRole("button", { name: "Try again" });
  t.check((await filled(page)) > 100 && (await again.count()) === 1, "500: the coarser picture stays, and there is a way to try again");
  await t.picture(page, "odd-500", { wide: false });
  await page.context().unroute(/\/(tiles|spans|events)\?/);
  await again.evaluateAll((buttons) => buttons.forEach((button) => button.click())); // unless the page has asked again by itself
  await page.getByText("The disk is on fire.").waitFor({ state: "detached" });
  await drawn(page);

  // If all requests of a page fail, each view shows the problem and a way to continue.
  await page.context().route(/\/(lanes|flame|scopes)(\?|$)/, (route) => (route.request().resourceType() === "document" ? route.continue() : fail(route)));
  for (const tab of ["timeline", "flame", "scopes"]) {
    await open(page, made, tab);
    await page.getByText("The disk is on fire.").waitFor();
    t.check((await page.getByRole("button", { name: "Try again" }).count()) === 1, `500 of ${tab}: there is a way to try again`);
  }
  await page.context().unroute(/\/(lanes|flame|scopes)(\?|$)/);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No scopes").waitFor();
}

/** A session grows while its page is open. */
async function live(page, key) {
  const made = session("odd-live", "still running");
  const part = (from) => Array.from({ length: 100 }, (_, at) => [from + at * 1e6, 8e5, 1, 0]);
  let offset = await send(origin, key, made, "device", made.kernels(part(0), { streams: 1, names: ["_Z1av"] }));
  await loaded(page, made, 100);
  await open(page, made);
  await drawn(page);
  const end = () => page.evaluate(() => window.gpuflTimeline.scene.bounds.to);
  const before = await end();
  await page.getByRole("button", { name: "Follow" }).click();
  offset = await send(origin, key, made, "device", made.more(part(3e8), 101), offset);
  await holds(page, (was) => window.gpuflTimeline.scene.bounds.to > was, before);
  await drawn(page);
  t.check((await end()) >= 3.99e8, "live: the timeline grows with the session");
  t.check(await page.evaluate(() => window.gpuflTimeline.scene.view.to >= window.gpuflTimeline.scene.bounds.to - 1), "live: the newest is in view");
  await t.picture(page, "odd-live", { wide: false });
  await send(origin, key, made, "system", made.end(5e8));
  await complete(origin, key, made);
  await page.getByRole("button", { name: "Follow" }).waitFor({ state: "detached" });
}

const more = Object.fromEntries(Object.entries({ metricsOnly, samplesOnly, countsOnly, lostChannels, clocks, missing, longNames, hugeNames, manyThreads, savedLink, olderStores, everyWait, everyProblem, everyExpired, expired, gone }).map(([name, step]) => [name, (page, key) => step({ ...world, page, key })]));

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  t.watch(page, origin);
  page.setDefaultTimeout(PATIENCE_MS);
  const key = await firstAccount(page);
  await t.walk(page, { nothing, streams, hour, graphs, names, trouble, live, ...more }, key);
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish();
