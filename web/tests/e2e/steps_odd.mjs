// steps_odd.mjs - more unusual cases (odd.mjs): sessions without kernels but with other data,
// clocks that jump, missing columns, names of 4 kB on every page; and on every page a server that
// is slow, fails at everything or is gone, and a login that ends. No page is ever blank, and each offers a way to continue.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { rest } from "./crawl.mjs";
import { PATIENCE_MS, shoot, until } from "./harness.mjs";
import { ACCOUNT, startServer } from "./server.mjs";
import { BEGIN, complete, deltas, header, lineOf, REAL, send, session, simulate, withoutKernels } from "./sessions.mjs";

const LENGTH = 4e9;
const lines = (made, channel, records) => [header(made.id, channel, made.app), ...records].map(lineOf).join("");
const end = { type: "end", rows: 1, time: BEGIN + LENGTH, reason: null };
const device = { type: "device", rows: 1, id: 1, index: 0, name: 1, uuid: 1, vendor: 1, pci: 1, arch: 1, memory_total: 1 << 30, sm_count: 132, warp_size: 32 };
const named = (texts, first = 1) => ({ type: "names", rows: texts.length, id: texts.map((_, at) => at + first), text: texts });

async function deliver({ origin, key, page }, made, channels) {
  for (const [channel, records] of Object.entries(channels)) await send(origin, key, made, channel, typeof records === "string" ? records : lines(made, channel, records));
  await complete(origin, key, made);
  await until(page, async (id) => typeof (await (await fetch(`/api/v1/sessions/${id}`)).json()).busy !== "undefined", made.id);
}

/** The text of a page: it is never empty, and never says that a part of the page broke. */
async function readable(t, page, where) {
  const text = await page.locator("main").innerText();
  t.check(text.trim().length > 20, `${where}: hardly a word: ${text.slice(0, 60)}`);
  t.check(!text.includes("This part of the page failed"), `${where}: a part of it broke`);
  const [bars, out] = await page.locator("nav a[aria-current]").evaluateAll((links) => [links.length, links.filter((link) => link.getBoundingClientRect().right > innerWidth || link.getBoundingClientRect().left < 0).map((link) => link.innerText)]);
  t.check(bars > 0 && out.length === 0, `${where}: where one is, is out of view: ${out}`);
  const wide = await page.evaluate(() => (document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 1).map((element) => element.outerHTML.slice(0, 70)).slice(-3).join(" | ")));
  t.check(!wide, `${where}: wider than the page: ${wide}`);
  return text;
}

/** All tabs of a session and the page of its first kernel have text. texts: what some of them must say. */
export async function everyTab({ t, page, origin, out }, made, texts = {}) {
  await page.goto(`${origin}/sessions/${made.id}/insights`);
  await rest(page);
  const tabs = await page.locator("nav.tabs a").evaluateAll((links) => links.map((link) => new URL(link.href).pathname.split("/").at(-1)));
  t.check(tabs.length >= 9, `${made.app}: ${tabs.length} tabs`);
  for (const tab of tabs) {
    await page.goto(`${origin}/sessions/${made.id}/${tab}`);
    await rest(page);
    if (tab === "kernels" && (await page.locator("tbody a").count())) tabs.push(new URL(await page.locator("tbody a").first().evaluate((link) => link.href)).pathname.split("/").slice(3).join("/"));
    await shoot(page, { path: `${out}/${made.id}-${tab.replace("/", "-")}-${page.viewportSize().width}.png`, fullPage: true });
    const words = texts[tab];
    if (words) await page.getByText(words).first().waitFor();
    await readable(t, page, `${made.app}, ${tab}`);
    t.check((await page.getByRole("alert").count()) === 0, `${made.app}, ${tab}: ${await page.getByRole("alert").allInnerTexts()}`);
  }
}

export async function metricsOnly(world) {
  const made = session("odd-metrics", "only metrics");
  const rows = 40;
  const time = deltas(Array.from({ length: rows }, (_, at) => BEGIN + at * 1e8));
  const each = (value) => Array.from({ length: rows }, (_, at) => value + (at % 7));
  await deliver(world, made, {
    device: [named(["GPU-1"]), device],
    system: [{ type: "device_metric", rows, time, device: 1, gpu_util: each(40), power: each(200_000), temperature: each(60), memory_used: 1 << 28 }, { type: "host_metric", rows, time, cpu: each(2000), memory_used: 1 << 30, memory_total: 1 << 31 }, end],
  });
  await everyTab(world, made, { insights: "Kernels: unknown", kernels: /Kernels unknown|No kernels/, system: "GPU utilisation", scopes: "No scopes" });
}

/** A session with samples of program counters and no record of a kernel: the samples are shown, and unknown is not 0. */
export async function samplesOnly(world) {
  const { t, page, origin, key, bin, server } = world;
  const app = "only samples";
  simulate(bin, ["--kernels", "2000", "--engine", "PcSampling", "--plant", "stall", "--name", app], (folder) => {
    withoutKernels(folder);
    server.upload(key, folder);
  });
  const row = async () => page.evaluate(async (name) => (await (await fetch("/api/v1/sessions")).json()).rows.find((one) => one.app === name && one.analyzed), app);
  await until(page, async (name) => (await (await fetch("/api/v1/sessions")).json()).rows.some((one) => one.app === name && one.analyzed), app);
  const made = { id: (await row()).id, app };
  await everyTab(world, made, { kernels: "Samples by kernel" });
  await page.goto(`${origin}/sessions/${made.id}/insights`);
  await rest(page);
  const mainText = await page.locator("main").innerText();
  t.check(/GPU busy\s+(–|unknown)/.test(mainText) && !/GPU busy\s+0|Kernels\s+0\b/.test(mainText), `only samples: what is unknown is no 0: ${mainText.slice(0, 200)}`);
  const { samples } = await page.evaluate(async (id) => (await fetch(`/api/v1/sessions/${id}/profile`)).json(), made.id);
  const sums = new Map();
  for (const one of samples.kernels) sums.set(one.kernel, (sums.get(one.kernel) ?? 0) + one.samples);
  const [name, most] = [...sums].sort(([, a], [, b]) => b - a)[0];
  await page.goto(`${origin}/sessions/${made.id}/kernels`);
  await rest(page);
  await t.legible(page, "only samples, kernels");
  const first = page.getByRole("region", { name: "Samples by kernel" }).locator("tbody tr").first();
  const shown = await first.evaluate((line) => [line.querySelector("[data-name]")?.dataset.name, ...[...line.querySelectorAll("td [title]")].map((cell) => cell.title.replace(/\D/g, ""))]);
  // A search is for these kernels, too.
  await page.getByRole("searchbox").first().fill(name.slice(0, 4));
  await page.getByRole("region", { name: "Samples by kernel" }).locator("mark").first().waitFor();
  t.check(!/No kernels/.test(await page.locator("main").innerText()), "only samples: a kernel that is found is no kernel that is not there");
  await page.getByRole("searchbox").first().fill("no kernel has this name");
  await until(page, () => document.querySelectorAll('[aria-label="Samples by kernel"] tbody tr [data-name]').length === 0);
  await page.getByRole("searchbox").first().fill("");
  await first.locator("[data-name]").waitFor();
  t.check(most > 1000 && shown[0] === name && shown.includes(String(most)), `only samples: the kernel with most: ${shown}, not ${name} with ${most}`);
  await first.getByRole("link", { name: /^Lines/ }).or(first.getByRole("button", { name: /^Lines/ })).first().click();
  await page.locator(".sass tbody tr").first().waitFor();
  t.check(/\bLDG?\b/.test(await page.locator(".sass").first().innerText()), "only samples: the instructions stand by line");
}

/** The wall clock jumps back by a day and forward by a year; kernels begin before the session and after its end. */
export async function clocks(world) {
  const made = session("odd-clocks", "clocks that jump");
  const day = 86_400_000_000_000n;
  await deliver(world, made, {
    device: made.kernels([[0, 5e6, 1, 0], [2e9, 5e6, 1, 0], [-3e9, 5e6, 1, 0], [90e9, 5e6, 1, 0]], { streams: 1, names: ["_Z1av"] }),
    system: [...[REAL, REAL - day, REAL + 365n * day].map((real, at) => ({ type: "clock", rows: 1, monotonic: BEGIN + at * 1e9, real: `${real}`, uncertainty: 0 })), end],
  });
  await everyTab(world, made, { kernels: /^a$/ });
}

/** Rows in which most columns are missing. */
export async function missing(world) {
  const made = session("odd-missing", "");
  await deliver(world, made, {
    device: [{ type: "kernel", rows: 3, start: deltas([BEGIN, BEGIN + 1e6, BEGIN + 2e6]), duration: [1000, null, 3000] }, { type: "memcpy", rows: 1, start: BEGIN }, { type: "sync", rows: 1, start: BEGIN, duration: 500 }, { type: "alloc", rows: 1, time: BEGIN }],
    scope: [{ type: "scope", rows: 1, start: BEGIN, duration: null, instance: 1 }, { type: "wait", rows: 2, start: deltas([BEGIN, BEGIN + 5000]), duration: 4000 }],
    system: [{ type: "device_metric", rows: 1, time: BEGIN }, { type: "host_metric", rows: 1, time: BEGIN }, { type: "ledger", rows: 1, time: BEGIN }, end],
  });
  await everyTab(world, made, { kernels: "(no name recorded)", "kernels/0": "No launch of this kernel says how it was configured" });
}

export async function longNames(world) {
  const { t, page, origin } = world;
  const long = (letter, bytes = 4096) => letter.repeat(bytes);
  const made = session("odd-long", long("p", 255)); // the longest name of a host or program that the server accepts
  const head = (channel) => ({ ...header(made.id, channel, made.app), host: long("h", 255), command: long("c", 1024) });
  const all = (channel, records) => [head(channel), ...records].map(lineOf).join("");
  await deliver(world, made, {
    device: all("device", [named([long("g"), long("k")]), { ...device, vendor: 1 }, { type: "stream", rows: 1, id: 1, device: 1, context: 1, number: 7 }, { type: "config", rows: 1, id: 1, name: 2, device: 1, grid_x: 1, grid_y: 1, grid_z: 1, block_x: 32, block_y: 1, block_z: 1 }, { type: "kernel", rows: 1, start: BEGIN, duration: 1e6, config: 1, stream: 1, correlation: 1, scope: 1 }]),
    scope: all("scope", [named([long("s")], 100), { type: "scope", rows: 1, start: BEGIN, duration: 2e6, instance: 1, parent: 0, name: 100, tag: 0, thread: 77, depth: 0, repeat: 0, warmup: 0 }]),
    system: all("system", [end]),
  });
  await everyTab(world, made);
  await page.setViewportSize({ width: 390, height: 844 });
  await everyTab(world, made);
  for (const path of ["/sessions", "/", "/?view=table", `/compare?a=${made.id}&b=${made.id}`]) {
    await page.goto(origin + path);
    await rest(page);
    await readable(t, page, `names of 4 kB, ${path}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** A session with only counted instructions: unknown is not 0. */
export async function countsOnly(world) {
  const made = { id: "odd-counts", app: "only counts" };
  const M = "smsp__sass_inst_executed";
  await deliver(world, made, {
    code: [named(["_Z5alonev", "sm_90", "FADD R1, R2, R3"]), { type: "code_object", rows: 1, id: 1, crc: "ab", module: 0, arch: 2, size: 100, file: 0 }, { type: "function", rows: 1, id: 1, object: 1, name: 1, index: 1, file: 0 }, { type: "instruction", rows: 1, function: 1, offset: 16, level: 0, text: 3, file: 0, line: null, inlined: 0 }],
    device: [named(["GPU-1", M], 50), { ...device, name: 50, uuid: 50, vendor: 50, pci: 50, arch: 50 }, { type: "sass_metric", rows: 1, start: BEGIN, duration: LENGTH, device: 1, function: 1, offset: 16, metric: 51, value: 5000, scope: 0 }],
    system: [end],
  });
  await everyTab(world, made, { kernels: /Kernels unknown|No kernels|Counted instructions/ });
  const { t, page, origin } = world;
  await page.goto(`${origin}/sessions/${made.id}/insights`);
  await rest(page);
  t.check(!/GPU busy\s+0\.0 %/.test(await page.locator("main").innerText()), "only counts: no 0 for what is unknown");
}

/** Only one of four channels was sent: the page says what is missing, and shows what there is. */
export async function lostChannels(world) {
  const { t, page, key, origin } = world;
  const made = session("odd-lost", "lost channels");
  await send(origin, key, made, "device", made.kernels([[0, 5e6, 1, 0], [1e9, 5e6, 1, 0]], { streams: 1, names: ["_Z4leftv"] }));
  await complete(origin, key, made);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).analyzed, made.id);
  await everyTab(world, made, { kernels: /^left$/, scopes: "No scopes", system: "No samples" });
  await page.goto(`${origin}/sessions/${made.id}/raw`);
  await page.getByText("The session has no ledger.").waitFor();
  await page.goto(`${origin}/compare?a=${made.id}&b=odd-metrics`);
  await rest(page);
  t.check((await page.locator(".compare-answer").innerText()).includes("unknown"), "lost channels: compared with what knows no kernels");
}

/** Kernels and scopes with names of 16 kB that differ in their last letter. */
export async function hugeNames(world) {
  const { t, page, key, origin } = world;
  const made = session("odd-huge", "names of 16 kB");
  const huge = (last) => `${"<img src=x onerror=alert(1)>".repeat(585)}${last}`;
  await send(origin, key, made, "device", made.kernels([[0, 5e6, 1, 0], [1e9, 6e6, 1, 1]], { streams: 1, names: [huge("a"), huge("b")] }));
  await send(origin, key, made, "scope", made.scopes([[0, 1e7, 0], [1e9, 1e7, 1]], [huge("c"), huge("d")]));
  await send(origin, key, made, "system", made.end(2e9));
  await complete(origin, key, made);
  // Comparing needs the digest, which the analysis makes.
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).analyzed === true, made.id);
  await everyTab(world, made);
  for (const path of [`/compare?a=${made.id}&b=${made.id}`, `/compare?a=${made.id}&b=${made.id}&tree=scopes`, "/trends", `/sessions/${made.id}/timeline?at=0-20000000`]) {
    await page.goto(origin + path);
    await rest(page);
    await readable(t, page, `names of 16 kB, ${path}`);
    t.check((await page.locator("main img").count()) === 0, `names of 16 kB, ${path}: they stay text`);
  }
  // The tooltip has the whole name, and the visible parts of two names differ at their last letter.
  await page.goto(`${origin}/sessions/${made.id}/kernels`);
  await rest(page);
  await t.legible(page, "names of 16 kB, kernels");
  const kernels = await page.locator("main tbody [data-name]").evaluateAll((all) => all.map((name) => [name.dataset.name, name.title]));
  for (const last of ["a", "b"]) t.check(kernels.some((texts) => texts.every((text) => text === huge(last))), `names of 16 kB: the whole name that ends with ${last}: ${kernels.map((texts) => texts.map((text) => `${text.length} letters, …${text.slice(-3)}`))}`);
  await page.goto(`${origin}/sessions/${made.id}/scopes`);
  await rest(page);
  const scopes = await page.locator(".scope-name").allInnerTexts();
  t.check(["c", "d"].every((last) => scopes.includes(huge(last))), `names of 16 kB: scopes: ${scopes.map((text) => `${text.length} letters, …${text.slice(-3)}`)}`);
}

/** A session of two thousand threads with a scope each. */
export async function manyThreads(world) {
  const { t, page, key, origin } = world;
  const made = session("odd-threads", "2 000 threads");
  const THREADS = 2000;
  const ids = Array.from({ length: THREADS }, (_, at) => at);
  const scopes = { type: "scope", rows: THREADS, start: deltas(ids.map((at) => BEGIN + at * 1e5)), duration: 5e7, instance: deltas(ids.map((at) => at + 1)), parent: 0, name: 100, tag: deltas(ids.map(() => 0)), thread: ids.map((at) => at + 5000), depth: 0, repeat: 0, warmup: 0 };
  await send(origin, key, made, "device", made.kernels([[0, 5e6, 1, 0]], { streams: 1, names: ["_Z1av"] }));
  await send(origin, key, made, "scope", [header(made.id, "scope", made.app), named(["work"], 100), scopes].map(lineOf).join(""));
  await send(origin, key, made, "system", made.end(1e9));
  await complete(origin, key, made);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}/lanes`)).json()).rows > 2000, made.id);
  await everyTab(world, made);
  await page.goto(`${origin}/sessions/${made.id}/timeline`);
  await rest(page);
  const lanes = await page.evaluate(() => window.gpuflTimeline.scene.lanes.length);
  t.check(lanes > THREADS, `2 000 threads: ${lanes} lanes`);
}

/** Kept links lead to a session, a kernel, a run and a comparison that no longer exist. */
export async function savedLink({ t, page, key, origin }) {
  const made = session("odd-saved", "soon gone");
  await send(origin, key, made, "device", made.kernels([[0, 5e6, 1, 0]], { streams: 1, names: ["_Z1av"] }));
  await send(origin, key, made, "system", made.end(1e9));
  await complete(origin, key, made);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).analyzed, made.id);
  const status = await page.evaluate(async (id) => {
    const { csrf } = await (await fetch("/api/v1/auth/me")).json();
    return (await fetch(`/api/v1/sessions/${id}`, { method: "DELETE", headers: { "X-CSRF-Token": csrf } })).status;
  }, made.id);
  t.check(status === 204, `saved link: deleting answered ${status}`);
  for (const path of [`/sessions/${made.id}/timeline?at=0-5000000&sel=1~2`, `/sessions/${made.id}/insights`, `/sessions/${made.id}/kernels/10`, `/compare?a=${made.id}&b=odd-clocks&tree=scopes`, "/runs/gone"]) {
    await page.goto(origin + path);
    await rest(page);
    const text = await readable(t, page, `saved link, ${path}`);
    t.check(/deleted|not here|no session|not in the session/i.test(text), `saved link, ${path}: not said: ${text.slice(0, 200)}`);
  }
}

const PATHS = ["/", "/?view=table", "/sessions", "/compare?a=odd-metrics&b=odd-clocks", "/trends", "/trends?kind=app&name=clocks%20that%20jump", "/hosts/made", "/alerts", "/upload", ...["workspace", "keys", "members", "links", "retention", "server", "audit", "account"].map((part) => `/settings/${part}`), ...["insights", "timeline", "kernels", "scopes", "steps", "syncs", "flame", "memory", "system", "raw"].map((tab) => `/sessions/odd-clocks/${tab}`), "/sessions/odd-clocks/kernels/10"];
const API = /\/api\/v1\/(?!auth\/me|version|live|openapi)/;
/** Pages that request only the account. */
const ASK_NOTHING = ["/upload", "/settings/workspace", "/settings/account"];
const isSettled = (page) => page.waitForFunction(() => document.querySelector("main h1, main h2") && !document.querySelector("main .skeleton"), undefined, { polling: 100 });

/** Goes to another page as a link does, without loading the document. */
const goTo = (page, path) =>
  page.evaluate((to) => {
    history.pushState(null, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);

/** Every answer is late: each page shows meanwhile that it loads, and then its content. */
export async function everyWait({ t, page, origin }) {
  for (const path of PATHS) {
    let openGate;
    let held = 0;
    const gate = new Promise((resolve) => (openGate = resolve));
    const hold = async (route) => {
      held++;
      await gate;
      await route.continue().catch(() => undefined); // the page may have cancelled the request
    };
    await page.context().route(API, hold);
    await page.goto(origin + path);
    if (!ASK_NOTHING.includes(path)) {
      // The page is shown before it sends its first request: wait for both.
      const shown = () => page.evaluate(() => (document.querySelector("main .skeleton") ? document.body.innerText.trim().length + document.querySelectorAll("main .skeleton").length : 0));
      let stands = false;
      for (const last = Date.now() + PATIENCE_MS; !stands && Date.now() < last; await page.waitForTimeout(50)) stands = held > 0 && (await shown()) > 20;
      t.check(stands, `slow, ${path}: nothing stands meanwhile (${held} questions)`);
    }
    openGate();
    await rest(page);
    await readable(t, page, `slow, ${path}`);
    t.check((await page.getByRole("alert").count()) === 0, `slow, ${path}: ${await page.getByRole("alert").allInnerTexts()}`);
    await page.context().unroute(API);
  }
}

/** Every answer is an error: each page shows the server's words and a way to try again, and recovers. */
export async function everyProblem({ t, page, origin }) {
  const fail = (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "Internal Server Error", status: 500, detail: "The disk is on fire." }) });
  for (const path of PATHS) {
    await page.context().route(API, fail);
    await page.goto(origin + path);
    await page.locator("main h1, main h2").first().waitFor();
    const asks = !ASK_NOTHING.includes(path);
    if (asks) await page.getByText("The disk is on fire.").first().waitFor();
    await readable(t, page, `500, ${path}`);
    const again = page.getByRole("button", { name: "Try again" });
    if (asks) t.check((await again.count()) > 0, `500, ${path}: there is no way to try again`);
    await page.context().unroute(API);
    for (let left = await again.count(); left > 0; left = (await again.count()) && left - 1) await again.first().click({ timeout: 2000 }).catch(() => undefined); // one click may load all of them again
    await page.getByText("The disk is on fire.").first().waitFor({ state: "detached" });
  }
}

async function logIn(page) {
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Your login has ended").waitFor();
  await dialog.locator("input[name=email]").fill(ACCOUNT.email);
  await dialog.locator("input[name=password]").fill(ACCOUNT.password);
  await dialog.getByRole("button", { name: "Log in" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** The login ends before each page is opened: after a new login in the dialog the page is shown. */
export async function everyExpired({ t, page, origin }) {
  await page.goto(`${origin}/upload`);
  await page.locator(".account summary").getByText(ACCOUNT.email).waitFor(); // a page that does not know its user yet has a login form of its own
  for (const path of PATHS.filter((other) => !ASK_NOTHING.includes(other))) {
    await goTo(page, "/upload"); // this page requests nothing again
    await page.context().clearCookies();
    await goTo(page, path);
    await logIn(page);
    await rest(page);
    await readable(t, page, `an ended login, ${path}`);
    t.check((await page.getByRole("alert").count()) === 0, `an ended login, ${path}: ${await page.getByRole("alert").allInnerTexts()}`);
    t.check(page.url() === origin + path, `an ended login, ${path}: became ${page.url()}`);
  }
}

/** The login ends while the timeline is open; after a new login the timeline is as before. */
export async function expired({ t, page, origin }) {
  await page.goto(`${origin}/sessions/odd-clocks/timeline`);
  await rest(page);
  await page.evaluate(() => window.gpuflTimeline.setView({ from: 0, to: 2e9 }));
  await page.waitForURL(/at=/);
  const before = page.url();
  await page.context().clearCookies();
  await page.evaluate(() => window.gpuflTimeline.setView({ from: 1e6, to: 1.001e6 }));
  await logIn(page);
  await page.evaluate(() => window.gpuflTimeline.setView({ from: 0, to: 2e9 }));
  await rest(page);
  t.check(page.url().split("?")[0] === before.split("?")[0], "an ended login: the timeline stays");
  t.check((await page.locator(".tl-problem").count()) === 0, "an ended login: the pieces that were refused come");
}

/** Without a server the page says so, and what to do; when the server runs again the same address works. */
export async function gone({ t, page, origin, server }) {
  await page.goto(`${origin}/sessions`);
  await page.getByRole("link", { name: "only metrics" }).waitFor();
  await server.kill();
  await page.getByRole("link", { name: "only metrics" }).click();
  await page.getByText("The server does not answer").first().waitFor();
  const text = await readable(t, page, "no server");
  t.check(text.includes("Check that gpufl-server runs"), `no server: what to do is not said: ${text.slice(0, 200)}`);
  await server.again();
  await page.getByRole("button", { name: "Try again" }).first().click({ timeout: 2000 }).catch(() => undefined); // the page may have asked again by itself
  await page.locator("nav.tabs").waitFor();
  await readable(t, page, "the server is back");

  // A browser has only the first page: neither the parts of other pages nor answers arrive.
  const cookies = await page.context().cookies();
  for (const path of PATHS) {
    const context = await page.context().browser().newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
    try {
      await context.addCookies(cookies);
      const other = await context.newPage();
      other.setDefaultTimeout(PATIENCE_MS);
      other.on("pageerror", (error) => t.wrong.push(`no server, ${path}: error: ${error.message}`));
      await other.goto(`${origin}${path === "/trends" ? "/sessions" : "/trends"}`);
      await rest(other);
      await context.setOffline(true);
      await goTo(other, path);
      await isSettled(other);
      const said = await readable(t, other, `no server, ${path}`);
      t.check(/does not answer/.test(said), `no server, ${path}: it is not said: ${said.slice(0, 100)}`);
      await context.setOffline(false);
      for (let left = 40; left > 0 && (await other.getByText("does not answer").count()); left--) {
        await other.getByRole("button", { name: "Try again" }).first().click({ timeout: 500 }).catch(() => undefined); // the page may have asked again by itself
        await isSettled(other);
      }
      await rest(other);
      t.check(!(await readable(t, other, `the server is back, ${path}`)).includes("does not answer"), `the server is back, ${path}: it is not seen`);
    } catch (error) {
      t.wrong.push(`no server, ${path}: ${String(error?.stack ?? error).slice(0, 600)}`);
    } finally {
      await context.close();
    }
  }
  for (let at = t.wrong.length - 1; at >= 0; at--) if (/net::ERR_/.test(t.wrong[at])) t.wrong.splice(at, 1); // the browser's message about it
}

const STORES = fileURLToPath(new URL("../../../tests/data/stores", import.meta.url));
const EARLIER = { email: "ada@example.org", password: "correct horse battery" }; // tests/e2e/test_server_before.py made it

/** Data folders of older servers: all tabs of all their sessions, as this server migrates and analyses them. */
export async function olderStores({ t, bin, browser, out }) {
  const stores = readdirSync(STORES).filter((name) => name.endsWith(".tar.xz"));
  t.check(stores.length >= 2, `older stores: ${stores}`);
  for (const store of stores) {
    const { sessions } = JSON.parse(readFileSync(path.join(STORES, store.replace(".tar.xz", ".json")), "utf8"));
    const server = await startServer(bin, (folder) => {
      const done = spawnSync("tar", ["-xJf", path.join(STORES, store), "-C", folder], { encoding: "utf8" });
      if (done.status !== 0) throw new Error(`tar: ${done.stderr}`);
    });
    try {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      t.watch(page, server.origin);
      await page.goto(`${server.origin}/login`);
      for (const [name, value] of Object.entries(EARLIER)) await page.locator(`input[name=${name}]`).fill(value);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("link", { name: "Sessions", exact: true }).first().waitFor();
      await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.every((row) => row.analyzed || row.state === "live"));
      const rows = await page.evaluate(async () => (await (await fetch("/api/v1/sessions")).json()).rows);
      t.check(rows.length === Object.keys(sessions).length, `${store}: ${rows.length} sessions of ${Object.keys(sessions).length}`);
      for (const { id, app, kernels } of rows) {
        t.check((kernels ?? 0) === (sessions[id]?.row.kernels ?? 0), `${store}, ${app}: ${kernels} kernels of ${sessions[id]?.row.kernels}`);
        await everyTab({ t, page, origin: server.origin, out }, { id, app: `${store}, ${app}` });
      }
      await context.close();
    } finally {
      await server.stop();
    }
  }
}
