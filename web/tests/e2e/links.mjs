// links.mjs - every view has an address: a copied address, opened in a new browser, shows
// the settings of the page (search, filters, order, columns, and what is chosen,
// marked, opened, zoomed, pinned).
//   node tests/e2e/links.mjs BIN DATA OUT
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { complete, send, session, simulate } from "./sessions.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;
const H200 = "93a55c5d-90e8-4530-af02-a0335ad05a21";

async function visitor(cookies = []) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  await context.addCookies(cookies);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  listen(page);
  return page;
}

async function begin(page) {
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, data);
  simulate(bin, ["--kernels", "20000", "--scopes", "--sample", "100", "--devices", "2", "--engine", "Deep", "--plant", "stall", "--name", "deep"], (folder) => server.upload(key, folder));
  const many = session("links-many", "many");
  const kernels = Array.from({ length: 120_000 }, (_, at) => [at * 250, 240, (at % 60) + 1, at % 2]);
  await send(origin, key, many, "device", many.kernels(kernels.slice(0, 60_000), { streams: 60, names: ["_Z1av", "_Z1bv"] }) + many.more(kernels.slice(60_000), 60_001));
  await send(origin, key, many, "system", many.end(31e6));
  await complete(origin, key, many);
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 3);
  return key;
}

/** What a page shows of a person's choices. */
const look = (page) =>
  page.evaluate(() => {
    const all = (selector) => [...document.querySelectorAll(`main ${selector}`)].filter((element) => element.checkVisibility());
    const label = (element) => element.getAttribute("aria-label") ?? element.closest("label")?.innerText ?? element.name;
    const engine = document.querySelector(".tl-canvas") ? window.gpuflTimeline : null;
    const { view, range, selected, pinned, closed, scroll, follow } = engine?.shown ?? {};
    return JSON.stringify({
      address: location.pathname + location.search,
      fields: all("input, select").map((field) => `${label(field)}: ${field.type === "checkbox" ? field.checked : field.value}`),
      pressed: all("[aria-pressed=true], [aria-expanded=true]").map((button) => button.innerText || label(button)),
      order: all("th[aria-sort]").map((head) => `${head.innerText} ${head.ariaSort}`),
      open: all("details[open]:not(.menu)").map((details) => details.innerText),
      dialogs: [...document.querySelectorAll("dialog[open]")].map((dialog) => dialog.innerText),
      heads: all("th[scope=col]").map((head) => head.innerText),
      rows: all("tbody tr").slice(0, 12).map((row) => row.innerText),
      marked: all(".scope-here, .icicle [aria-live], .tl-below h2").map((element) => element.innerText),
      time: engine && { view: [Math.floor(view.from), Math.ceil(view.to)] /* as the address says it */, range, sel: selected && [selected.track, selected.hit.kind, selected.hit.start], pinned, closed: [...closed], scroll, follow },
    });
  });

/** Requests that are not answered yet; quiet() waits until there are none and the page is drawn. */
const flying = new WeakMap();
function listen(page) {
  const asked = new Set();
  flying.set(page, asked);
  page.on("request", (request) => /\/api\/v1\/(?!live)/.test(request.url()) && asked.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => asked.delete(request));
}
async function quiet(page) {
  await rest(page);
  const frames = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  for (await frames(); flying.get(page).size > 0; ) await frames();
  await frames();
  await rest(page);
}

const inAddress = (page, names) => page.waitForFunction((wanted) => wanted.every((name) => new URLSearchParams(location.search).has(name)), names, { polling: 50 });

const ALIKE_MS = 20_000; // the longest wait until two pages show the same

/** Acts on a page; another browser sees the same at the address that the action made. */
async function view(page, fresh, path, names, act) {
  await page.goto(origin + path);
  await rest(page);
  const before = await page.evaluate(() => history.length);
  await act(page);
  await inAddress(page, names);
  await quiet(page);
  check((await page.evaluate(() => history.length)) <= before + 1, `${path}: entries in the history for ${names}`);
  await fresh.goto(page.url());
  await quiet(fresh);
  let mine = await look(page);
  for (const end = Date.now() + ALIKE_MS; (await look(fresh)) !== mine && Date.now() < end; mine = await look(page)) await fresh.evaluate(() => new Promise(requestAnimationFrame));
  const theirs = await look(fresh);
  if (theirs !== mine) {
    const [a, b] = [JSON.parse(mine), JSON.parse(theirs)];
    for (const part of Object.keys(a)) if (JSON.stringify(a[part]) !== JSON.stringify(b[part])) t.wrong.push(`${page.url()}: ${part}: ${JSON.stringify(a[part]).slice(0, 700)} became ${JSON.stringify(b[part]).slice(0, 700)}`);
  }
  check(theirs === mine, `${path}: the address brings back ${names}`);
  return fresh;
}

/** The script keeps the pixels of a few lanes, also if the screen shows many; all lanes are drawn. */
async function fewPixels(page) {
  await page.setViewportSize({ width: 1280, height: 2000 });
  await page.goto(`${origin}/sessions/links-many/timeline`);
  await rest(page);
  const { held, lanes, empty } = await page.evaluate(() => {
    const { scene, painter } = window.gpuflTimeline;
    const canvas = document.querySelector(".tl-canvas");
    const rows = scene.layout.rows.filter((row) => row.track >= 0 && scene.tracks[row.track].lane >= 0 && row.y + row.height + 30 < scene.height);
    const pen = canvas.getContext("2d");
    const left = Math.round((scene.side + 4) * scene.ratio);
    const plain = rows.filter((row) => {
      const { data } = pen.getImageData(left, Math.round((30 + row.y + row.height - 3) * scene.ratio), canvas.width - left, 1);
      return !data.some((value, at) => at % 4 === 0 && Math.max(value, data[at + 1], data[at + 2]) - Math.min(value, data[at + 1], data[at + 2]) > 60);
    });
    return { held: painter.px.length / painter.strip.width / 10, lanes: rows.length, empty: plain.length };
  });
  check(held <= 4 && lanes >= 60, `timeline: pixels of ${held} lanes are held for ${lanes} on the screen`);
  check(lanes - empty >= 60, `timeline: ${empty} of ${lanes} lanes are not drawn, of which 60 are streams with kernels`);
  await page.setViewportSize({ width: 1280, height: 800 });
}

const press = (name, how = {}) => (page) => page.getByRole("button", { name, ...how }).first().click();
const fill = async (page, name, words) => page.getByRole("searchbox", { name }).first().fill(words);
const dragged = async (page, selector, y) => {
  await page.locator(selector).first().scrollIntoViewIfNeeded();
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + y, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(1, 1);
};
const inTurn = (...acts) => async (page) => {
  for (const act of acts) await act(page);
};

/** Pages of the workspace: their actions, and what the address has after them. */
const pageViews = (deep) => [
  ["/sessions", ["text", "app", "state", "since", "label", "sort", "columns", "chosen"], async (page) => {
    await page.locator(".menu-plain summary").click();
    await page.getByRole("checkbox", { name: "User" }).check();
    await page.getByRole("checkbox", { name: "Engine" }).uncheck();
    await page.locator(".menu-plain summary").click();
    await page.getByRole("checkbox", { name: /^Choose many/ }).check();
    await page.getByRole("checkbox", { name: /^Choose deep/ }).check();
    await press("Kernels", { exact: true })(page);
    await fill(page, "Search sessions", "deep");
    await page.getByRole("combobox", { name: "Application" }).selectOption("deep");
    await page.getByRole("combobox", { name: "State" }).selectOption("ended");
    await page.getByRole("combobox", { name: "Started" }).selectOption({ index: 4 });
    await fill(page, "Label", "team");
  }],
  [`/compare?a=${deep}&b=links-many`, ["find-a", "find-b", "k-show", "k-sort"], async (page) => {
    await fill(page, /Before/, "man");
    await fill(page, /After/, "train");
    await page.locator(".side-found li").nth(1).waitFor();
    await press(/^gone/)(page);
    await press("A: mean")(page);
  }],
  ["/trends", ["search"], (page) => fill(page, "Search what to follow", "gemm")],
  ["/trends?kind=app&name=deep", ["by"], press("Days", { exact: true })],
  ["/", ["view", "sort", "show", "by", "from", "to"], inTurn(press("Table"), press("Power"), (page) => page.getByRole("group", { name: "Show", exact: true }).getByRole("button").nth(1).click(), press("By application"), press("90 days"), (page) => dragged(page, "svg.days", 60))],
  ["/hosts/made", ["from", "to"], inTurn(press("90 days"), (page) => dragged(page, "svg.days", 60))],
  ["/alerts", ["edit"], press(/^Change|^Edit/)],
];

/** Views of a session: their actions, and what the address has after them. */
const sessionViews = (deep) => [
  [`/sessions/${H200}/insights`, ["line"], press("train_loop.cu:235")],
  [`/sessions/${deep}/kernels`, ["search", "group", "open", "sort"], inTurn((page) => fill(page, "Search", "gemm"), press("Without template arguments"), press(/gemm_kernel/), press("Calls"))],
  [`/sessions/${deep}/kernels`, ["group", "patterns", "peek"], inTurn(press(/^Launches of/), press("By patterns"), (page) => fill(page, "Patterns of names", "gemm, *norm*"))],
  [`/sessions/${H200}/scopes`, ["by", "mark", "zoom"], inTurn(press("train_step"), press("GPU time"))],
  [`/sessions/${H200}/flame`, ["tree", "invert", "find", "mark"], async (page) => {
    await page.locator("main [role=group]").first().getByRole("button").nth(1).click();
    await press("Invert")(page);
    await fill(page, "Search frames", "train");
    await page.locator(".icicle-box").focus();
    for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  }],
  [`/sessions/${H200}/flame`, ["zoom", "mark"], async (page) => {
    await page.locator(".icicle-box").focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter", "ArrowDown"]) await page.keyboard.press(key);
  }],
  [`/sessions/${deep}/system`, ["at"], (page) => dragged(page, ".u-over", 60)],
  [`/sessions/${H200}/raw`, ["record"], (page) => page.getByRole("combobox").first().selectOption({ index: 2 })],
];

/** The timeline: its actions, and what the address has after them. */
const TIMELINE_VIEWS = [
  [`/sessions/${H200}/timeline`, ["at", "range", "sel", "pin", "find", "rows"], async (page) => {
    await fill(page, "Search events", "matmul");
    await inAddress(page, ["find"]);
    await page.keyboard.press("Enter");
    await page.locator(".tl-below h2").first().waitFor();
    await page.locator(".tl-scroll").focus();
    await page.keyboard.press("p");
    await page.keyboard.press("m");
    await page.keyboard.press("s");
    await fill(page, "Rows", "stream");
  }],
  // An event that is too small to be seen in the whole session is selected, and the whole session stays in view.
  [`/sessions/${H200}/timeline`, ["sel", "closed"], async (page) => {
    await fill(page, "Search events", "matmul");
    await inAddress(page, ["find"]);
    await page.keyboard.press("Enter");
    await page.locator(".tl-below h2").first().waitFor();
    await page.locator(".tl-scroll").focus();
    await page.keyboard.press("0");
    await page.evaluate(() => window.gpuflTimeline.toggleCategory("host"));
  }],
  // A column of many kernels far down is selected.
  ["/sessions/links-many/timeline", ["sel", "y"], async (page) => {
    const box = await page.locator(".tl-scroll").boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 150);
    await page.mouse.wheel(0, 300);
    await inAddress(page, ["y"]);
    await rest(page);
    const at = await page.evaluate(() => {
      const engine = window.gpuflTimeline;
      for (let x = engine.scene.side + 100; x < engine.scene.width; x++) if (engine.pickAt(x, 200)?.hit.kind === "sum") return x;
      return 0;
    });
    check(at > 0, "timeline: there are sums");
    await page.mouse.click(box.x + at, box.y + 200);
    await page.mouse.move(1, 1);
    await page.locator(".tl-below h2").first().waitFor();
  }],
];

const VIEWS = (deep) => [...pageViews(deep), ...sessionViews(deep), ...TIMELINE_VIEWS];

/** The views of a kernel's page, reached by its own links. */
async function kernelPage(page, fresh, deep) {
  await page.goto(`${origin}/sessions/${deep}/kernels?sort=calls`);
  await page.getByRole("link", { name: /gemm_kernel/ }).first().click();
  await rest(page);
  await view(page, fresh, new URL(page.url()).pathname, ["full", "code", "launches"], inTurn((p) => p.locator("main details summary").click(), press("By start"), press("In the file's order")));
  await page.goto(`${origin}/sessions/${deep}/kernels?sort=calls`);
  await page.getByRole("link", { name: /gemm_kernel/ }).first().click();
  await page.getByRole("link", { name: "All kernels" }).click();
  check(new URL(page.url()).searchParams.get("sort") === "calls", "kernel: back to the table as it was left");
  await page.keyboard.press("4");
  await page.waitForURL(/scopes/);
  await page.keyboard.press("3");
  await page.waitForURL(/kernels/);
  check(new URL(page.url()).searchParams.get("sort") === "calls", "kernels: a key comes back to the table as it was left");
}

/** Settings that this browser keeps are in the address from the beginning, so that a copied address has them. */
async function keptColumns(page, fresh) {
  await page.goto(`${origin}/sessions`);
  await inAddress(page, ["columns"]);
  await fresh.goto(page.url());
  await fresh.getByRole("columnheader", { name: "User" }).waitFor();
  await fresh.goto(`${origin}/sessions`);
  await fresh.getByRole("columnheader", { name: "Engine" }).waitFor();
  check(!new URL(fresh.url()).searchParams.has("columns"), "sessions: another's columns are not kept");
  // Chosen rows survive more pages and another order, and are compared.
  await page.goto(`${origin}/sessions?chosen=links-many,${H200}&sort=app`);
  const ticked = page.getByRole("checkbox", { name: /^Choose/, checked: true });
  await ticked.nth(1).waitFor();
  check((await ticked.count()) === 2, "sessions: the chosen ones are ticked");
  await page.locator(".chosen").getByRole("link", { name: "Compare" }).click();
  check(page.url().endsWith(`/compare?a=links-many&b=${H200}`), `sessions: the chosen ones are compared: ${page.url()}`);
}

/** After a command the engine reports the goal at once, before the animation reaches it. */
async function atOnce(page) {
  await page.goto(`${origin}/sessions/${H200}/timeline?at=0-100000000`);
  await rest(page);
  const [before, after] = await page.evaluate(() => {
    const engine = window.gpuflTimeline;
    const isWhole = () => engine.shown.view.from <= engine.shown.bounds.from && engine.shown.view.to >= engine.shown.bounds.to;
    const were = isWhole();
    engine.go(engine.scene.bounds);
    return [were, isWhole()];
  });
  check(!before && after, `timeline: the goal of a command is reported at once (whole before: ${before}, after: ${after})`);
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));
}

/** A list that follows goes to the newest live session once; an address can ask for that, too. */
async function following(page, key) {
  const made = session("links-live", "still running");
  await page.goto(`${origin}/sessions?sort=app`);
  await page.getByRole("checkbox", { name: "Follow the newest" }).check();
  await inAddress(page, ["follow"]);
  let offset = await send(origin, key, made, "device", made.kernels(Array.from({ length: 200 }, (_, at) => [at * 1e6, 8e5, 1, 0]), { streams: 1, names: ["_Z1av"] }));
  await page.waitForURL(/links-live/);
  await page.goBack();
  await page.getByRole("link", { name: "still running" }).waitFor();
  check(await page.getByRole("checkbox", { name: "Follow the newest" }).isChecked(), "sessions: who comes back stays, and follows on");
  await page.goto(`${origin}/sessions/links-live/timeline?at=0-100000000&follow=1`);
  await rest(page);
  check((await page.getByRole("button", { name: "Follow" }).getAttribute("aria-pressed")) === "true", "timeline: the address follows");
  offset = await send(origin, key, made, "device", made.more(Array.from({ length: 100 }, (_, at) => [5e8 + at * 1e6, 8e5, 1, 0]), 201), offset);
  await page.waitForFunction(() => window.gpuflTimeline.scene.bounds.to > 5e8 && window.gpuflTimeline.scene.view.to >= window.gpuflTimeline.scene.bounds.to - 1);
  const width = await page.evaluate(() => window.gpuflTimeline.scene.view.to - window.gpuflTimeline.scene.view.from);
  check(Math.abs(width - 1e8) < 1e3, `timeline: as wide as the address says (${width})`);
  await send(origin, key, made, "system", made.end(7e8));
  await complete(origin, key, made);
}

let at = "";
try {
  const page = await visitor();
  const key = await begin(page);
  const cookies = await page.context().cookies();
  const deep = await page.evaluate(async () => (await (await fetch("/api/v1/sessions?text=deep")).json()).rows[0].id);
  for (const [path, names, act] of VIEWS(deep)) {
    at = path;
    const fresh = await visitor(cookies);
    try {
      await view(page, fresh, path, names, act);
    } catch (error) {
      await page.screenshot({ path: `${out}/failed-links-${names[0]}.png` }).catch(() => undefined);
      t.wrong.push(`${path} ${names}: ${page.url()} ${String(error?.stack ?? error)}`);
    }
    await fresh.context().close();
  }
  const fresh = await visitor(cookies);
  for (const step of [() => kernelPage(page, fresh, deep), () => keptColumns(page, fresh), () => atOnce(page), () => fewPixels(page), () => following(page, key)])
    try {
      await step();
    } catch (error) {
      await page.screenshot({ path: `${out}/failed-links.png` }).catch(() => undefined);
      t.wrong.push(String(error?.stack ?? error));
    }
} catch (error) {
  t.wrong.push(`${at}: ${String(error?.stack ?? error)}`);
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("links of every view, each opened in another browser");
