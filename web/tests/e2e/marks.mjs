// marks.mjs - the marks of a program on the timeline: ticks with their names, the tip, the search, the details, the
// keyboard, ten thousand of them a second, and names that are markup.
//   node tests/e2e/marks.mjs BIN OUT
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { finished, makeHarness, PATIENCE_MS, shoot, startBrowser } from "./harness.mjs";
import { nasty } from "./hostile.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { BEGIN, deltas, header, lineOf, session as made } from "./sessions.mjs";

const [bin, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE_MS);
t.watch(page, origin);

const ID = "00000000-0000-4000-8000-000000000300";
const [MAIN, BUSY] = [77, 78]; // threads
const SECOND = 1e9;
const EPOCHS = 9;
const BURST = 30_000; // 10 000 a second
const LANE = (thread) => ((12n << 56n) | BigInt(thread)).toString();
const epochAt = (epoch) => epoch * SECOND + 137; // ns since the session's start

function write(folder) {
  const session = made(ID, "marked");
  const at = path.join(folder, ID);
  const texts = ["main", "busy", "nvtx", "loader", nasty("domain"), nasty("mark"), "batch loaded", ...Array.from({ length: EPOCHS }, (_, n) => `epoch ${n + 1} begins`), ...Array.from({ length: 100 }, (_, n) => `item ${n}`)];
  const id = (text) => 50 + texts.indexOf(text);
  const main = [
    ...Array.from({ length: EPOCHS }, (_, n) => ({ start: epochAt(n + 1), name: `epoch ${n + 1} begins`, tag: "nvtx", value: n === 2 ? 625 : null, exponent: n === 2 ? -4 : null })),
    { start: 4.2 * SECOND, name: nasty("mark"), tag: nasty("domain"), value: null, exponent: null },
    { start: 5.5 * SECOND, name: "batch loaded", tag: "loader", value: -3, exponent: 0 },
  ].sort((a, b) => a.start - b.start);
  const busy = Array.from({ length: BURST }, (_, n) => ({ start: 6 * SECOND + n * 100_000, name: `item ${n % 100}`, tag: "nvtx", value: null, exponent: null }));
  const rows = (list, thread) => lineOf({
    type: "mark", rows: list.length, start: deltas(list.map(({ start }) => BEGIN + start)), name: list.map(({ name }) => id(name)), tag: list.map(({ tag }) => id(tag)), thread,
    scope: deltas(list.map(({ start }) => (start > 4 * SECOND && start < 5 * SECOND ? 9 : 0))), value: list.map(({ value }) => value), exponent: list.map(({ exponent }) => exponent),
  });
  mkdirSync(at, { recursive: true });
  writeFileSync(path.join(at, "device.log"), session.kernels(Array.from({ length: 1000 }, (_, n) => [n * 10_000_000, 5_000_000, 1, 0]), { streams: 1, names: ["_Z4workv"] }));
  writeFileSync(path.join(at, "scope.log"), [
    lineOf(header(ID, "scope", "marked")),
    lineOf({ type: "names", rows: texts.length, id: texts.map(id), text: texts }),
    lineOf({ type: "thread", rows: 2, id: [MAIN, BUSY], name: [id("main"), id("busy")] }),
    lineOf({ type: "scope", rows: 1, start: BEGIN + 4 * SECOND, duration: SECOND, instance: 9, parent: 0, name: id("batch loaded"), tag: 0, thread: MAIN, depth: 0, repeat: 0, warmup: 0 }),
    rows(main, MAIN),
    rows(busy, BUSY),
  ].join(""));
  writeFileSync(path.join(at, "system.log"), session.end(10 * SECOND));
  return main;
}

const drawn = () => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
const query = (name) => new URL(page.url()).searchParams.get(name);
async function open(words) {
  await page.goto("about:blank");
  await page.goto(`${origin}/sessions/${ID}/timeline?${words}`);
  await drawn();
}
/** Where a time of a lane is on the page, and which event is there. */
const placeOf = (lane, at) =>
  page.evaluate(
    ([key, time]) => {
      const { scene, shown } = window.gpuflTimeline;
      const row = scene.layout.rows.find((one) => scene.tracks[one.track]?.key === key);
      const box = document.querySelector(".tl-canvas").getBoundingClientRect();
      const along = scene.side + ((time - scene.view.from) / (scene.view.to - scene.view.from)) * (scene.width - scene.side);
      const down = shown.height - scene.layout.height + row.y - scene.scroll + row.height / 2;
      const hit = window.gpuflTimeline.pickAt(along, down)?.hit ?? null;
      return { x: box.left + along * scene.unit, y: box.top + down * scene.unit, hit, name: hit ? window.gpuflTimeline.names.text(hit.name) : null };
    },
    [lane, at],
  );
/** How many px of a strip to the right of a place do not have the most frequent colour. */
const inked = (x, y, wide) =>
  page.evaluate(
    ([left, middle, width]) => {
      const canvas = document.querySelector(".tl-canvas");
      const box = canvas.getBoundingClientRect();
      const ratio = canvas.width / box.width;
      const { data } = canvas.getContext("2d").getImageData(Math.round((left - box.left) * ratio), Math.round((middle - box.top - 5) * ratio), Math.round(width * ratio), Math.round(10 * ratio));
      const px = new Uint32Array(data.buffer);
      const counts = new Map();
      for (const colour of px) counts.set(colour, (counts.get(colour) ?? 0) + 1);
      return px.length - Math.max(...counts.values());
    },
    [x, y, wide],
  );
async function shots(name) {
  for (const theme of ["dark", "light"]) {
    await t.theme(page, theme);
    await t.accessible(page, `${name} ${theme}`, { colours: theme === "light" });
    await shoot(page, { path: path.join(out, `${name}-${theme}.png`) });
  }
}
const details = page.locator(".tl-below");
const fact = (label) => details.locator(".tl-fact", { hasText: label }).locator("dd").first();

const folder = mkdtempSync(path.join(tmpdir(), "gpufl-marks-"));
try {
  const main = write(folder);
  await firstAccount(page, server);
  server.upload(await alertAndKey(page), folder);
  await finished(page, ID);

  // In the whole session each epoch is a tick with its name, though a px is milliseconds wide.
  await open("");
  const lanes = await page.evaluate(() => window.gpuflTimeline.scene.lanes.filter(({ kind }) => kind === 12).map(({ id, events }) => [id, events]));
  check(JSON.stringify(lanes) === JSON.stringify([[LANE(MAIN), main.length], [LANE(BUSY), BURST]]), `lanes of marks: ${JSON.stringify(lanes)}`);
  for (const epoch of [1, 3, 9]) {
    const { hit, name } = await placeOf(LANE(MAIN), epochAt(epoch));
    check(hit?.kind === "event" && hit.start === epochAt(epoch) && name === `epoch ${epoch} begins`, `epoch ${epoch}: ${JSON.stringify(hit)} ${name}`);
  }
  const third = await placeOf(LANE(MAIN), epochAt(3));
  check((await inked(third.x + 5, third.y, 60)) > 40, "a name is next to its tick");
  await shots("marks-whole");

  // Ten thousand marks a second are summed up: columns say how many there are.
  const many = await placeOf(LANE(BUSY), 7.5 * SECOND);
  check(many.hit && (many.hit.kind === "event" || many.hit.events > 1), `many marks: ${JSON.stringify(many.hit)}`);
  const tiles = await page.evaluate(async ([id, lane]) => (await fetch(`/api/v1/sessions/${id}/tiles?level=2&step=1&lanes=${lane}&from=0&to=10000000000`)).json(), [ID, LANE(BUSY)]);
  check(tiles.rows <= 1200 && tiles.data.events.reduce((sum, n) => sum + n, 0) === BURST, `tiles: ${tiles.rows} rows`);
  check(tiles.data.name.every((name) => tiles.names[name]?.startsWith("item ")), "tiles have a name of theirs");

  // The tip has name, domain, thread and time.
  await page.mouse.move(third.x, third.y);
  const tip = page.locator(".tl-tip");
  await tip.getByText("epoch 3 begins").waitFor();
  const words = await tip.innerText();
  check(words.includes("domain nvtx") && words.includes(String(MAIN)) && words.includes("3.000\u202f000\u202f137 s"), `tip: ${words}`);

  // A click selects the mark: its details have domain, payload and thread.
  await page.mouse.click(third.x, third.y);
  await page.waitForFunction((wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${LANE(MAIN)}~${epochAt(3)}`);
  await fact("Payload").getByText("0.0625").waitFor();
  check((await fact("Domain").innerText()) === "nvtx" && (await fact("Thread").innerText()) === String(MAIN), "details: domain and thread");
  check((await details.locator("h2").innerText()) === "epoch 3 begins", "details: the name");
  await shots("marks-selected");

  // A key selects the next mark of the lane, and the view moves to it.
  await page.locator(".tl-scroll").focus();
  await page.keyboard.press(".");
  await page.waitForFunction((wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${LANE(MAIN)}~${epochAt(4)}`);
  check((await page.locator("[aria-live=polite]").allInnerTexts()).some((said) => said.startsWith("epoch 4 begins, at ")), "the mark is said aloud");
  await page.keyboard.press("f");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  const [from, to] = query("at").split("-").map(Number);
  check(from <= epochAt(4) && to >= epochAt(4), `F: ${query("at")}`);

  // The search finds the next mark with these words; the address alone brings it back.
  await open("");
  await page.getByRole("searchbox", { name: "Search events" }).fill("EPOCH 7");
  await page.keyboard.press("Enter");
  await page.waitForFunction((wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${LANE(MAIN)}~${epochAt(7)}`);
  await shots("marks-search");
  await open(`sel=${LANE(MAIN)}~${epochAt(7)}`);
  await details.getByRole("heading", { name: "epoch 7 begins" }).waitFor();
  await fact("Domain").getByText("nvtx").waitFor();

  // Zoomed in, each of the very many marks is drawn.
  await open(`at=${7 * SECOND}-${7 * SECOND + 2_000_000}`);
  const close = await placeOf(LANE(BUSY), 7 * SECOND + 1_000_000);
  check(close.hit?.kind === "event" && close.hit.start === 7 * SECOND + 1_000_000 && close.name === "item 10", `one of many: ${JSON.stringify(close.hit)} ${close.name}`);
  await shots("marks-close");

  // Names and domains that are markup stay text.
  await open(`sel=${LANE(MAIN)}~${4.2 * SECOND}`);
  await fact("Domain").getByText("<script>").waitFor();
  check(!/instance/i.test(await page.locator(".tl-facts").innerText()), "details: no number of the log in place of a scope");
  const evil = await placeOf(LANE(MAIN), 4.2 * SECOND);
  await page.mouse.move(evil.x, evil.y);
  await tip.getByText("<script>").first().waitFor();
  check((await page.evaluate(() => window.taken)) === undefined && (await page.locator("#taken").count()) === 0, "markup in a mark's name was taken");

  // Perfetto's file has them as moments.
  const { traceEvents } = await page.evaluate(async (id) => (await fetch(`/api/v1/sessions/${id}/export.trace.json`)).json(), ID);
  const moments = traceEvents.filter((event) => event.ph === "i");
  const payload = moments.find((event) => event.name === "epoch 3 begins");
  check(moments.length === main.length + BURST && moments.every((event) => event.s === "t" && event.dur === undefined && event.cat === "mark"), `exported: ${moments.length} moments`);
  check(JSON.stringify(payload?.args) === JSON.stringify({ domain: "nvtx", value: 0.0625 }) && payload.tid === MAIN && payload.ts === 3_000_000.137, `exported: ${JSON.stringify(payload)}`);
} catch (error) {
  await page.screenshot({ path: path.join(out, "failed-marks.png") }).catch(() => undefined);
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = t.finish("marks on the timeline");
