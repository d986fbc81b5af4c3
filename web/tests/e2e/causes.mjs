// causes.mjs - the way to the cause of a slow program: an empty server and its first key, from a finding to its own event, and
// through a range's tables to the kernel. Unknown values are shown as unknown. The test also counts the bytes of the first screen
// over the wire, and opens `gpufl view`.
//   node tests/e2e/causes.mjs BIN DATA OUT HF_TRAIN JAX_TRAIN
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, shoot, startBrowser, themes, until } from "./harness.mjs";
import { ACCOUNT, startServer } from "./server.mjs";
import { ownPlaces } from "./steps_places.mjs";
import { simulate, withoutKernels } from "./sessions.mjs";

const [bin, data, out, ...trained] = process.argv.slice(2);
const WIRE_MOST = 120_000; // bytes of the first screen of a session's insights
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });

async function visitor(where = context) {
  const page = await where.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, "http://127.0.0.1");
  return page;
}

const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const query = (page, name) => new URL(page.url()).searchParams.get(name);
const inQuery = (page, name) => page.waitForFunction((wanted) => new URLSearchParams(location.search).has(wanted), name);
const drawn = (page) => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);

async function shots(page, name) {
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: width === 1280 ? 800 : 900 });
    for (const theme of themes(width === 1280)) {
      await t.theme(page, theme);
      if (width === 1280 || theme === "dark") await t.accessible(page, `${name} ${theme} ${width}`, { colours: theme === "light" });
      await shoot(page, { path: path.join(out, `${name}-${width}-${theme}.png`) });
    }
  }
}

/** The form to log in is at the address that was opened, without a redirection; the first page makes the key. */
async function firstVisit(page) {
  await page.goto(`${origin}/trends`);
  await page.getByLabel("Password").waitFor();
  check((await page.getByText("Unauthorized").count()) === 0, "first visit: a form, no refusal");
  await shots(page, "causes-login");
  await page.goto(await server.printed(/first account at (\S+)/));
  for (const [name, value] of Object.entries(ACCOUNT)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button", { name: "Make the account" }).click();
  const upload = page.locator("main a[href='/upload']");
  await upload.first().waitFor();
  check(/drop a folder/i.test(await upload.first().innerText()), `first run: a folder can be dropped, too: ${await upload.first().innerText()}`);
  await page.getByRole("button", { name: "Make a key" }).click();
  const line = page.locator(".command pre").filter({ hasText: "gpfl_" });
  await line.waitFor();
  await shots(page, "causes-first-run");
  const key = /'(gpfl_[\w-]+)'/.exec(await line.innerText())?.[1];
  check(Boolean(key), `first run: a key to paste: ${await line.innerText()}`);
  for (const folder of [data, ...trained]) server.upload(key, folder);
  simulate(bin, ["--kernels", "2000", "--scopes", "--engine", "SassMetrics", "--plant", "divergence,uncoalesced,conflicts", "--name", "counted"], (folder) => {
    withoutKernels(folder);
    server.upload(key, folder);
  });
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 4);
  const { rows } = await ask(page, "sessions");
  return Object.fromEntries(rows.map((row) => [row.app, row.id]));
}

/** The link of each finding leads to the finding's own longest event, which is marked. */
async function ownEvents(page, session, app, least) {
  await ownPlaces({ page, origin, check }, session, app, { least, seen: () => shots(page, `causes-insights-${app}`) });
}

/** The share base of the bar and of the findings: in a session with a steady part it is that part, and the page says what the bar
 * leaves out. */
async function ofWhole(page, session, wanted) {
  await page.goto(`${origin}/sessions/${session}/insights`);
  await page.locator(".finding").first().waitFor();
  const { time } = await ask(page, `sessions/${session}/insights`);
  check(time.share_of === wanted, `the share base: ${time.share_of}`);
  const [notes, shares] = [await page.locator(".time-of").allInnerTexts(), (await page.locator(".finding .gain .number").allTextContents()).map((one) => one.trim())];
  const plain = wanted === "run" ? [] : [/^The bar is the steady part, \d[^,]*s\. The bar leaves out the start-up, \d[^,]*s, and \d[^,]*s after the last work\.$/];
  check(notes.length === plain.length && plain.every((of, at) => of.test(notes[at])), `what the bar is of: ${notes}`);
  check(shares.length > 0 && shares.every((share) => share.endsWith(wanted === "run" ? "of the run" : "of the steady part")), `shares of findings: ${shares}`);
}

/** The range's tables are below the timeline, and as wide. */
async function range(page, session) {
  await page.goto(`${origin}/sessions/${session}/timeline?range=0-2000000000`);
  const table = page.locator(".tl-below .table");
  await table.locator("tbody tr").first().waitFor();
  await shots(page, "causes-range");
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: 900 });
    const seen = await page.evaluate(() => {
      const table = document.querySelector(".tl-below .table");
      return { cut: table.scrollWidth - table.clientWidth, panel: document.querySelector(".tl-below").clientWidth, stage: document.querySelector(".tl-stage").clientWidth, top: document.querySelector(".tl-stage").getBoundingClientRect().top };
    });
    check(seen.cut <= 0 && seen.panel >= seen.stage - 4, `range: at ${width} px ${seen.cut} px are cut off, ${seen.panel} of ${seen.stage} px wide`);
    check(seen.top < 240, `timeline: begins at ${seen.top} px`);
  }
  await table.getByRole("button", { name: "Calls" }).click();
  const calls = (await table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => Number(row.children[3].innerText.replace(/\D/g, ""))))).slice(0, 5);
  check(calls.length > 1 && calls.every((n, at) => at === 0 || n <= calls[at - 1]), `range: sorted by calls: ${calls}`);
  const facts = (await page.locator(".tl-facts .tl-fact").allInnerTexts()).map((text) => text.replaceAll("\u202f", ""));
  check(/^Kernels\n\d+ launch(es)?$/.test(facts[0]?.trim() ?? "") && facts.some((text) => /^Host waits\n(\d+ waits?, |none)/.test(text)) && facts.some((text) => /^Copies\n(\d+ (copy|copies), |none)/.test(text)), `range: ${JSON.stringify(facts)}`);
  const names = (await page.getByRole("button", { name: /^Kernels/ }).innerText()).trim();
  check(/^Kernels · \d+ names?$/.test(names), `range: a tab says ${names}`);
  await page.getByRole("button", { name: /^Waits/ }).click();
  await inQuery(page, "of");
  await table.locator("tbody tr").first().waitFor();
  await page.getByRole("button", { name: /^Kernels/ }).click();
  await table.getByRole("link").first().click();
  await page.locator(".histogram rect").first().waitFor();
}

/** Enter works at once, before the typed text is in the address. */
async function enter(page, session) {
  await page.goto(`${origin}/sessions/${session}/timeline`);
  await drawn(page);
  const field = page.getByRole("searchbox", { name: "Search events" });
  await field.focus();
  await page.keyboard.insertText("matmul");
  await page.keyboard.press("Enter");
  await inQuery(page, "sel");
  const [hit] = (await ask(page, `sessions/${session}/search?pattern=matmul&limit=1`)).data.lane;
  check(query(page, "sel").startsWith(`${hit}~`), "timeline: Enter at once finds the first hit");
  await shots(page, "causes-selected");
}

/** A session that counts instructions and records no kernels: unknown is not 0, and links lead to the counts. */
async function unknown(page, session) {
  await page.goto(`${origin}/sessions/${session}/insights`);
  await page.locator(".finding").first().waitFor();
  await shots(page, "causes-unknown");
  const wanted = (await ask(page, `sessions/${session}/insights`)).insights.filter(({ part_of }) => part_of === null).map(({ title }) => title);
  const cards = await page.locator(".finding h3").evaluateAll((all) => all.map((title) => title.textContent));
  const plain = (text) => text.replace(/\s/g, "");
  check(wanted.length > 1 && cards.map(plain).join() === wanted.map(plain).join(), `unknown: cards ${cards}, not in the report's order ${wanted}`);
  const mainText = await page.locator("main").innerText();
  check(!/GPU busy\s+0\.0 %|Kernels\s+0\b/.test(mainText), "unknown: the header shows no 0");
  check(!mainText.includes("--section"), "unknown: the page names no option of a command");
  const kernel = page.locator(".finding").filter({ has: page.getByRole("link", { name: "Among the kernels" }) }).first();
  check((await kernel.locator(".gain").innerText()).includes("unknown"), `unknown: what it could give back: ${await kernel.locator(".gain").innerText()}`);
  check((await kernel.getByRole("link", { name: "On the timeline" }).count()) === 0, "unknown: no link to launches that are not recorded");
  await kernel.getByRole("link", { name: "Among the kernels" }).click();
  await page.locator(".sass tbody tr").first().waitFor();
  check((await page.locator(".sass").innerText()).length > 100, "unknown: the counts stand by line");
  await shots(page, "causes-counts");
}

/** The bar that appears when sessions are chosen moves no row away from the pointer. */
async function choose(page) {
  await page.goto(`${origin}/sessions`);
  const rows = page.locator("tbody tr");
  await rows.nth(1).waitFor();
  const before = (await rows.nth(1).boundingBox()).y;
  await rows.first().getByRole("checkbox").click();
  await page.locator(".chosen").waitFor();
  check((await rows.nth(1).boundingBox()).y === before, `sessions: a row moves from ${before} to ${(await rows.nth(1).boundingBox()).y}`);
}

/** The addresses of pages besides those of one session: lists, comparisons, trends and settings. */
async function others(page) {
  const { rows } = await ask(page, "sessions");
  const { kind, name } = { kind: "app", name: rows[0].app };
  const { mangled, data } = await ask(page, `sessions/${rows.find((row) => row.kernels > 0).id}/kernels?limit=1`);
  const kernel = encodeURIComponent(mangled[data.name[0]]);
  const run = rows.find((row) => row.labels?.run).labels.run;
  return [
    ...["/", "/?view=table", "/sessions", "/sessions?text=train", `/compare?a=${rows[0].id}&b=${rows[1].id}`, `/runs/${run}`, `/hosts/${encodeURIComponent(rows[0].host)}`],
    ...["/trends", "/trends?kind=scope", `/trends?kind=${kind}&name=${name}`, `/trends?name=${kernel}`, "/sums", "/sums?kind=line", "/sql", "/alerts", "/upload"],
    ...["workspace", "members", "keys", "links", "retention", "audit", "account", "server"].map((part) => `/settings/${part}`),
  ];
}

const APART_MS = 2500; // a page asks again what may have changed before events arrived, not earlier than this

/** No address is requested twice while a page loads, though the connection for events opens meanwhile. */
async function once(session) {
  const page = await visitor();
  await page.addInitScript(() => delete window.SharedWorker); // so that the connection for events is the page's own
  let asked = [];
  const failed = [];
  page.on("request", (request) => request.url().includes("/api/") && asked.push([request.url().slice(origin.length), Date.now()]));
  page.on("requestfailed", (request) => !request.url().includes("/api/v1/live") && failed.push(request.url())); // the connection ends with its page
  const load = async (path, selector = "main") => {
    await page.goto("about:blank");
    asked = [];
    failed.length = 0;
    const live = page.waitForResponse((answer) => answer.url().includes("/api/v1/live"));
    await page.goto(origin + path);
    await page.locator(selector).first().waitFor();
    await live;
    await rest(page);
    await page.waitForLoadState("load");
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const twice = asked.filter(([url, time], at) => asked.some(([other, before], first) => first < at && other === url && time - before < APART_MS)).map(([url]) => url);
    check(asked.length > 1 && twice.length === 0 && failed.length === 0, `load of ${path}: asked twice: ${twice.join(", ")}; called off: ${failed.join(", ")}`);
  };
  await load(`/sessions/${session}/insights`, ".finding");
  // Each other page of the session, opened by its address.
  const tabs = await page.locator("nav.tabs a").evaluateAll((all) => all.map((a) => new URL(a.href).pathname));
  check(tabs.length > 6, `load: pages of the session: ${tabs}`);
  for (const tab of [...tabs, ...(await others(page))]) await load(tab);
  // What changed between the list's answer and the first event is asked for once more, later.
  await load("/sessions");
  if (!asked.some(([url], at) => asked.findIndex(([other]) => other === url) !== at)) await page.waitForRequest((request) => request.url().includes("/api/v1/sessions?"));
  await page.close();
}

/** Bytes over the wire until the insights are shown, in a browser with an empty cache. */
async function wire(app, session) {
  const fresh = await browser.newContext({ viewport: { width: 1280, height: 800 }, storageState: await context.storageState() });
  const page = await visitor(fresh);
  const client = await fresh.newCDPSession(page);
  await client.send("Network.enable");
  const files = new Map();
  const sizes = [];
  client.on("Network.responseReceived", ({ requestId, response }) => files.set(requestId, { url: response.url, packed: response.headers["content-encoding"] ?? response.headers["Content-Encoding"] ?? "" }));
  client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.push([encodedDataLength, files.get(requestId)]));
  const underWay = new Map();
  client.on("Network.requestWillBeSent", ({ requestId, request: { url } }) => /^http/.test(url) && !/live/.test(new URL(url).pathname) && underWay.set(requestId, url)); // without the connection for events, which does not end
  for (const end of ["Network.loadingFinished", "Network.loadingFailed"]) client.on(end, ({ requestId }) => underWay.delete(requestId));
  await page.goto(`${origin}/sessions/${session}/insights`);
  await page.locator(".finding").first().waitFor();
  await rest(page);
  for (const end = Date.now() + PATIENCE_MS; underWay.size > 0 && Date.now() < end; ) await page.evaluate(() => new Promise(requestAnimationFrame));
  check(underWay.size === 0, `first screen of ${app}: never at rest: ${[...underWay.values()]}`);
  const bytes = sizes.reduce((sum, [size]) => sum + size, 0);
  const plain = sizes.filter(([size, file]) => /\.(js|css)$/.test(file?.url ?? "") && size > 2000 && !file.packed);
  check(sizes.length > 3 && bytes <= WIRE_MOST, `first screen of ${app}: ${bytes} bytes over the wire`);
  check(plain.length === 0, `first screen: not compressed: ${plain.map(([, file]) => file.url).join(", ")}`);
  console.log(`first screen of insights, ${app}: ${(bytes / 1000).toFixed(1)} kB over the wire in ${sizes.length} answers`);
  await fresh.close();
  const name = readdirSync(path.join(bin, "../web/assets")).find((file) => /^index-.*\.js$/.test(file));
  for (const [accept, wanted] of [["br", "br"], ["gzip", "gzip"], ["identity", null], ["gzip;q=0, br;q=0", null]]) {
    const answer = await context.request.get(`${origin}/assets/${name}`, { headers: { "Accept-Encoding": accept } });
    const headers = answer.headers();
    check((headers["content-encoding"] ?? null) === wanted && headers.vary === "Accept-Encoding", `assets: ${accept}: ${headers["content-encoding"]}, Vary ${headers.vary}`);
    check((await answer.text()).includes("function"), `assets: ${accept}: the script itself`);
  }
}

/** Notes each page that the bar ever shows, while the answer who is logged in comes late. */
async function watchBar(page) {
  await page.addInitScript(() => {
    window.barShown = new Set();
    const look = () => {
      for (const link of document.querySelectorAll(".main-nav a")) if (link.checkVisibility({ checkVisibilityCSS: true })) window.barShown.add(link.innerText);
      requestAnimationFrame(look);
    };
    look();
  });
  await page.route("**/api/v1/auth/me*", async (route) => {
    await page.waitForFunction(() => document.querySelector(".topbar"));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await route.continue();
  });
}

const barShown = (page) => page.evaluate(() => [...window.barShown].join());

/** The bar has no page before it is known who asks, and then all pages of a server. */
async function lateBar(session) {
  const page = await visitor();
  await watchBar(page);
  let release;
  const held = new Promise((done) => (release = done));
  await page.route("**/api/v1/auth/me*", async (route) => {
    await held;
    await route.fallback();
  });
  await page.goto(`${origin}/sessions/${session}/insights`);
  await page.locator(".finding").first().waitFor();
  const before = await page.locator(".topbar").evaluate((bar) => bar.getBoundingClientRect().height);
  check((await barShown(page)) === "", `bar: shown before it is known who asks: ${await barShown(page)}`);
  await page.keyboard.press("?");
  const sheet = await page.getByRole("dialog").innerText();
  check(/Compare/.test(sheet) && !/Alerts|Settings|Fleet/.test(sheet), `bar: keys before it is known who asks: ${sheet.replaceAll("\n", " ")}`);
  await page.keyboard.press("Escape");
  release();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Fleet" }).waitFor();
  check((await barShown(page)) === "Fleet,Sessions,Compare,Trends,SQL,Alerts,Upload,Settings", `bar: of a server: ${await barShown(page)}`);
  check((await page.locator(".topbar").evaluate((bar) => bar.getBoundingClientRect().height)) === before, "bar: it has another height than before");
  await page.close();
}

/** Neither the list of shortcuts nor a shortcut leads to a page that `gpufl view` does not have. */
async function onlyItsPages(page) {
  await page.keyboard.press("?");
  const sheet = await page.getByRole("dialog").innerText();
  check(/Compare/.test(sheet) && !/Alerts|Settings|Fleet|Upload/.test(sheet), `view: the sheet of keys: ${sheet.replaceAll("\n", " ")}`);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const before = page.url();
  for (const key of ["a", "u", ",", "f"]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
  }
  check(page.url() === before, `view: keys lead to ${page.url()}`);
  for (const address of ["/alerts", "/upload", "/settings/workspace", "/hosts/here"]) {
    await page.goto(new URL(address, before).href);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  }
  await page.goto(before);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).waitFor();
}

/** `gpufl view` opens one session, or the only one of a command that used the GPU, lists several, and has nothing else. */
async function view(folder, then) {
  const cache = mkdtempSync(path.join(tmpdir(), "gpufl-cache-"));
  const child = spawn(path.join(bin, "gpufl"), ["view", "--no-browser", "--cache", cache, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  try {
    const link = await new Promise((resolve, reject) => {
      child.stdout.once("data", (text) => resolve(String(text).trim()));
      void gone.then((code) => reject(new Error(`gpufl view ended with ${code} before it printed its address`)));
    });
    const own = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
    const page = await visitor(own);
    await watchBar(page);
    await page.goto(link);
    await then(page);
    check((await barShown(page)) === "Sessions,Compare,Trends,SQL", `view: pages that the bar has ever shown: ${await barShown(page)}`);
    await onlyItsPages(page);
    const pages = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
    check(pages.join() === "Sessions,Compare,Trends,SQL", `view: pages ${pages}`);
    await own.close();
  } finally {
    child.kill("SIGINT");
    await gone;
    rmSync(cache, { recursive: true, force: true });
  }
}

async function views(session) {
  await view(data, async (page) => {
    await page.waitForURL(`**/sessions/${session}/insights`);
    await page.locator(".finding").first().waitFor();
    await shots(page, "causes-view");
  });
  // A program with a process that compiles: the other one used the GPU.
  await view(path.join(data, "../../../tests/data/answers/clean_compile"), async (page) => {
    await page.waitForURL("**/sessions/*/insights");
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    const rows = (await ask(page, "sessions")).rows;
    const open = rows.find((row) => page.url().includes(row.id));
    check(rows.length === 2 && open?.kernels > 0 && rows.some((row) => row.kernels === 0), `view: opened ${page.url()} of ${JSON.stringify(rows.map((row) => [row.id, row.kernels]))}`);
  });
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-two-"));
  try {
    cpSync(data, path.join(folder, "one"), { recursive: true });
    simulate(bin, ["--kernels", "100", "--name", "second"], (made) => cpSync(made, path.join(folder, "two"), { recursive: true }));
    await view(folder, async (page) => {
      await page.waitForURL("**/sessions");
      await page.getByRole("link", { name: "second" }).waitFor();
      await page.locator("main tbody tr").nth(1).waitFor(); // one session may be there before the other
      const started = (await ask(page, "sessions")).rows.map((row) => [row.app, Number(row.started)]).sort(([, a], [, b]) => b - a);
      const listed = await page.locator("main tbody tr a").evaluateAll((all, apps) => all.map((a) => a.innerText.trim()).filter((name) => apps.includes(name)), started.map(([app]) => app));
      check(listed.join() === started.map(([app]) => app).join() && listed.length === 2, `view: the newest comes first: ${listed}, started ${JSON.stringify(started)}`);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const page = await visitor();
  const { train_loop: whole, hf_train: hf, jax_train: jax, counted } = await firstVisit(page);
  await ownEvents(page, whole, "train_loop", 3);
  await ownEvents(page, hf, "hf_train", 3);
  await ownEvents(page, jax, "jax_train", 1);
  const wholes = [];
  for (const one of [whole, hf, jax]) wholes.push((await ask(page, `sessions/${one}/insights`)).time.share_of);
  check(wholes.includes("steady_part"), `no session has a steady part: ${wholes}`);
  for (const [at, one] of [whole, hf, jax].entries()) await ofWhole(page, one, wholes[at]);
  await range(page, whole);
  await enter(page, whole);
  await unknown(page, counted);
  await choose(page);
  await once(whole);
  await lateBar(whole);
  await wire("train_loop", whole);
  await wire("hf_train", hf);
  await views(whole);
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("causes");
