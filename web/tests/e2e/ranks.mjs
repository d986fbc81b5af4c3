// ranks.mjs - the ranks of a run as groups on the timeline: a recorded run of two processes, and one of 64 that begin
// one after the other. Groups open and close, zoom and pan affect all groups, each rank is drawn at the time at which it ran, and
// a click leads to its own timeline at that place.
//   node tests/e2e/ranks.mjs BIN TWO_RANKS OUT
import { rest } from "./crawl.mjs";
import { makeHarness, MARKUP, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { complete, REAL, send, session } from "./sessions.mjs";

const [bin, twoRanks, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const RANKS = 64;
const FEW = 6; // more ranks than are open at first
const LATER = 20e6; // ns by which each process begins after the one before it
const LENGTH = 1e9;
const BARE = 40; // a rank without GPU work
const MINE = 5;

const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);

/** Waits until the drawing does not change and the lanes of every rank are loaded: each rank has a request of its own. */
async function drawn(page) {
  await until(page, () => {
    const { frames, scene, shown } = window.gpuflTimeline ?? {};
    return frames > 0 && scene.tracks.length > 0 && shown.rests > 0 && shown.pending === 0 && ![...scene.heads.values()].some((head) => head.pending);
  });
  await rest(page);
}

async function open(page, address) {
  await page.goto(origin + address);
  await drawn(page);
}

const heads = (page) =>
  page.evaluate(() => {
    const { scene } = window.gpuflTimeline;
    return scene.layout.rows.filter((row) => row.lanes).map((row) => ({ group: row.category, ...scene.heads.get(row.category), lanes: row.lanes.length, y: row.y }));
  });

/** The times of the first and the last coloured column in the row of a group's head, and the time of a px. */
const inked = (page, group) =>
  page.evaluate((wanted) => {
    const { scene } = window.gpuflTimeline;
    const canvas = document.querySelector(".tl-canvas");
    const row = scene.layout.rows.find((one) => one.category === wanted && one.lanes);
    const y = Math.round((30 + row.y - scene.scroll + row.height - 3) * scene.ratio);
    const left = Math.round(scene.side * scene.ratio);
    const { data } = canvas.getContext("2d").getImageData(left, y, canvas.width - left, 1);
    const coloured = [];
    for (let x = 0; x < data.length / 4; x++) if (Math.max(data[4 * x], data[4 * x + 1], data[4 * x + 2]) - Math.min(data[4 * x], data[4 * x + 1], data[4 * x + 2]) > 60) coloured.push(x);
    const time = (x) => scene.view.from + (x / (data.length / 4)) * (scene.view.to - scene.view.from);
    return coloured.length ? { from: time(coloured[0]), to: time(coloured.at(-1) + 1), px: (scene.view.to - scene.view.from) / (data.length / 4) } : null;
  }, group);

async function rank(key, run, n) {
  const made = session(`${run}-${n}`, n === 3 ? MARKUP : "ranks", { host: n === 7 ? MARKUP : `node-${Math.floor(n / 8)}`, gpu: `GPU-${n}`, real: REAL + BigInt(n * LATER) });
  const ofRun = (lines) => lines.replace('"run":""', `"run":"${run}-ranks"`).replace('"pid":1,', `"pid":${1000 + n},`);
  const list = n === BARE ? [] : Array.from({ length: 200 }, (_, at) => [1e8 + at * 4e6, 3e6, 1 + (at % 2), at % 2]);
  if (list.length) await send(origin, key, made, "device", ofRun(made.kernels(list, { streams: 2, names: ["_Z4rankv", "_Z6reducev"] })));
  await send(origin, key, made, "system", ofRun(made.end(LENGTH)));
  await complete(origin, key, made);
}

/** The recorded run has both processes, each at the time that its own records say. */
async function two(page) {
  const rows = (await ask(page, "sessions?limit=100")).rows.filter((row) => row.app === "two_ranks").sort((a, b) => Number(BigInt(a.started) - BigInt(b.started)));
  await open(page, `/sessions/${rows[1].id}/timeline`);
  await page.getByRole("link", { name: "All 2 ranks" }).click();
  await page.getByLabel(/^Timeline of the ranks/).waitFor();
  await drawn(page);
  const groups = await heads(page);
  check(groups.length === 2 && groups.every((group) => group.lanes > 2 && /^vm · \d+$/.test(group.title) && /^busy/.test(group.note)), `two: heads: ${JSON.stringify(groups)}`);
  for (const [n, row] of rows.entries()) {
    const { lane, first, last } = (await ask(page, `sessions/${row.id}/lanes`)).data;
    const gpu = lane.flatMap((id, at) => (["1", "2", "7"].includes(String(BigInt(id) >> 56n)) ? [at] : []));
    const offset = Number(BigInt(row.started) - BigInt(rows[1].started));
    const shown = await page.evaluate((number) => {
      const { lanes } = window.gpuflTimeline.scene;
      const own = lanes.filter((one) => one.rank.number === number);
      return { lanes: own.length, offset: own[0].rank.offset, first: Math.min(...own.map((one) => one.first)), last: Math.max(...own.map((one) => one.last)) };
    }, n);
    const wanted = { lanes: gpu.length, offset, first: Math.min(...gpu.map((at) => first[at])), last: Math.max(...gpu.map((at) => last[at])) };
    check(JSON.stringify(shown) === JSON.stringify(wanted), `two: rank ${n}: ${JSON.stringify(shown)} for ${JSON.stringify(wanted)}`);
  }
  const titles = await page.evaluate(() => window.gpuflTimeline.scene.tracks.map((track) => track.title));
  check(titles.every((title) => /^GPU \d · stream \d+$/.test(title)), `two: streams by the driver's numbers: ${titles.join()}`);
  await t.shots(page, "ranks-two");
  // The tip of an event names its rank. First the drawing must have the window's first width again.
  await until(page, () => window.gpuflTimeline.scene.width * window.gpuflTimeline.scene.unit === document.querySelector(".tl-scroll").clientWidth);
  await drawn(page);
  const place = await page.evaluate(() => {
    const { scene } = window.gpuflTimeline;
    const row = scene.layout.rows.find((one) => one.track >= 0 && scene.lanes[scene.tracks[one.track].lane].rank.number === 1);
    const lane = scene.lanes[scene.tracks[row.track].lane];
    return { x: scene.side + ((lane.first + lane.rank.offset - scene.view.from) / (scene.view.to - scene.view.from)) * (scene.width - scene.side) + 1, y: 30 + row.y + row.height / 2 };
  });
  const box = await page.locator(".tl-canvas").boundingBox();
  await page.mouse.move(box.x + place.x, box.y + place.y);
  await page.locator(".tl-tip").waitFor();
  check((await page.locator(".tl-tip").innerText()).includes(String(rows[1].pid)), `two: the tip: ${await page.locator(".tl-tip").innerText()}`);
}

async function many(page) {
  const asked = [];
  const note = (request) => asked.push(new URL(request.url()).pathname);
  page.on("request", note);
  await open(page, `/sessions/many-${MINE}/timeline?ranks=all`);
  page.off("request", note);
  const groups = await heads(page);
  check(groups.length === RANKS && groups.every((group) => !group.pending), `many: ${groups.length} heads`);
  check(groups.find((group) => group.title.endsWith(String(1000 + BARE)))?.note === "no GPU work", "many: a rank without GPU work says so");
  check(groups.some((group) => group.title.startsWith("<img")) && (await page.title()) !== "taken", "many: a host's name stays text");
  // Tiles are requested only for ranks in view.
  const seen = await page.evaluate(() => { const { layout, height, scroll } = window.gpuflTimeline.scene; return layout.rows.filter((row) => row.y < scroll + height - 30 && row.y + row.height > scroll).length; });
  const tiles = asked.filter((one) => one.endsWith("/tiles")).length;
  check(seen < RANKS && tiles <= 2 * (seen + 2), `many: ${tiles} tiles for ${seen} rows in view`);
  check(asked.filter((one) => one.endsWith("/lanes")).length === RANKS, `many: lanes are asked for ${asked.filter((one) => one.endsWith("/lanes")).length} times`);
  for (const n of [0, MINE, 9]) {
    const { group } = groups.find(({ title }) => title.endsWith(`· ${1000 + n}`));
    const ink = await inked(page, group);
    const begin = (n - MINE) * LATER + 1e8;
    check(ink && Math.abs(ink.from - begin) < 4 * ink.px && Math.abs(ink.to - begin - 200 * 4e6) < 4 * ink.px, `many: rank ${n} is drawn at ${JSON.stringify(ink)}, not from ${begin}`);
  }
  await t.shots(page, "ranks-many");
  await page.mouse.move(0, 0);
}

/** A click on a head opens and closes its group; the address has the open groups and the view. */
async function groups(page) {
  await open(page, "/sessions/few-1/timeline?ranks=all");
  const box = await page.locator(".tl-canvas").boundingBox();
  const second = (await heads(page))[1];
  await page.mouse.click(box.x + 40, box.y + 30 + second.y + 10);
  await until(page, () => window.gpuflTimeline.scene.layout.rows.some((row) => row.track >= 0));
  await page.waitForURL(/open=1/);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.waitForURL(/at=/);
  const view = await page.evaluate(() => window.gpuflTimeline.shown.view);
  await page.reload();
  await drawn(page);
  const again = await page.evaluate(() => ({ ...window.gpuflTimeline.shown.view, rows: window.gpuflTimeline.scene.layout.rows.filter((row) => row.track >= 0).length }));
  check(Math.abs(again.from - view.from) <= 2 && Math.abs(again.to - view.to) <= 2 && again.rows === 2, `groups: after a reload ${JSON.stringify(again)} for ${JSON.stringify(view)}`);
  await page.getByRole("button", { name: "Open all" }).click();
  check(await page.evaluate((n) => window.gpuflTimeline.scene.layout.rows.filter((row) => row.track >= 0).length === 2 * n, FEW), "groups: all are open");
  await page.getByRole("button", { name: "Close all" }).click();
  // Keys select the third row, open it, and lead to its own timeline.
  await page.locator(".tl-scroll").focus();
  for (let n = 0; n < 3; n++) await page.keyboard.press("]");
  await page.keyboard.press(" ");
  await page.waitForURL(/open=2/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/sessions\/few-2\/timeline/);
  check(query(page).ranks === undefined, `groups: Enter leads to ${page.url()}`);
  await page.goBack();
  await drawn(page);
}

/** A click on a strip leads to the rank's own timeline, at the same time of the common clock and with the same width. */
async function click(page) {
  await open(page, "/sessions/few-1/timeline?ranks=all&at=200000000-400000000");
  const target = (await heads(page)).find(({ title }) => title.endsWith("· 1004"));
  const box = await page.locator(".tl-canvas").boundingBox();
  const { width } = page.viewportSize();
  await page.mouse.click(box.x + width / 2, box.y + 30 + target.y + 12);
  await page.waitForURL(/\/sessions\/few-4\/timeline\?at=/);
  const [from, to] = query(page).at.split("-").map(Number);
  check(from === 200e6 - 3 * LATER && to === 400e6 - 3 * LATER, `click: ${from}-${to}`);
  await drawn(page);
  check((await page.getByRole("link", { name: `All ${FEW} ranks` }).count()) === 1, "click: the way back");
  // The way back to all ranks shows the same time of this rank's clock.
  await page.getByRole("link", { name: `All ${FEW} ranks` }).click();
  await page.getByLabel(/^Timeline of the ranks/).waitFor();
  await drawn(page);
  check(query(page).at === `${from}-${to}`, `click: back among all: ${query(page).at}`);
}

/** Measures frames while all ranks move. */
async function frames(page) {
  await open(page, `/sessions/many-${MINE}/timeline?ranks=all`);
  await page.locator(".tl-scroll").focus();
  const before = await page.evaluate(() => window.gpuflTimeline.frames);
  await page.keyboard.down("d");
  await until(page, (from) => window.gpuflTimeline.frames > from + 30, before);
  await page.keyboard.up("d");
  await drawn(page);
  // The cost of a frame for the page itself, without other work of this machine.
  const cost = await page.evaluate(() => {
    const engine = window.gpuflTimeline;
    const times = Array.from({ length: 30 }, () => {
      const begin = performance.now();
      engine.step(begin);
      return performance.now() - begin;
    }).sort((a, b) => a - b);
    return times[5];
  });
  check(cost < 16, `frames: one costs ${cost} ms`);
}

async function odd(page) {
  await page.goto(`${origin}/sessions/alone/timeline?ranks=all&open=9.x&at=5--5`);
  await rest(page);
  check((await page.getByRole("link", { name: /^All \d+ ranks/ }).count()) === 0, "odd: a session without a run has no ranks");
}

try {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, twoRanks);
  for (let n = 0; n < RANKS; n++) await rank(key, "many", n);
  for (let n = 0; n < FEW; n++) await rank(key, "few", n);
  const alone = session("alone", "alone");
  await send(origin, key, alone, "device", alone.kernels([[0, 1e6, 1, 0]], { streams: 1, names: ["_Z4rankv"] }));
  await send(origin, key, alone, "system", alone.end(LENGTH));
  await complete(origin, key, alone);
  await until(page, async (wanted) => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.filter((row) => row.analyzed).length === wanted, RANKS + FEW + 3);
  await t.walk(page, { two, many, groups, click, frames, odd });
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("ranks");
