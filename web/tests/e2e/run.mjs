// run.mjs - the passes and processes of one command: one page lists them with the answer of each, and a
// kernel's page has the data of each pass, whichever pass it is opened in. The recorded
// ranges have counters of the whole, so that of a kernel they are unknown, until a pass that
// measured each kernel takes their place.
//   node tests/e2e/run.mjs BIN DATA OUT
import { rest } from "./crawl.mjs";
import { makeHarness, MARKUP, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { complete, REAL, send, session } from "./sessions.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const RANKS = 64;
const LATER = 20e6; // ns by which each process begins after the one before it
const WHOLE = 1e9 + (RANKS - 1) * LATER;
const open = async (page, address) => {
  await page.goto(origin + address);
  await rest(page);
};
const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);

/** A session of a process: its headers name the run. */
async function rank(key, n) {
  const made = session(`rank-${n}`, n === 3 ? MARKUP : "ranks", { host: `node-${Math.floor(n / 8)}`, gpu: `GPU-${n}`, real: REAL + BigInt(n * LATER) });
  const ofRun = (lines) => lines.replace('"run":""', '"run":"many-ranks"').replace('"pid":1,', `"pid":${1000 + n},`);
  await send(origin, key, made, "device", ofRun(made.kernels([[0, 1e6, 1, 0]], { streams: 1, names: ["_Z4rankv"] })));
  await send(origin, key, made, "system", ofRun(made.end(1e9)));
  await complete(origin, key, made);
}

async function passes(page) {
  const rows = (await ask(page, "sessions?limit=100")).rows.filter((row) => row.labels?.pass);
  const of = Object.fromEntries(rows.map((row) => [row.engine, row.id]));
  // The passes of a run do not read alike, in the list and on the page of their host.
  await open(page, "/sessions?label=pass");
  const listed = await page.locator("main tbody tr").allInnerTexts();
  check(rows.every((row) => listed.some((line) => line.includes(`pass ${row.labels.pass}`) && line.includes(row.engine))), `sessions: passes: ${listed.join(" | ")}`);
  const began = new Date(Number(BigInt(rows[0].started) / 1_000_000n)).toISOString().slice(0, 10);
  await open(page, `/hosts/${encodeURIComponent(rows[0].host)}?from=${began}&to=${began}`);
  const host = await page.getByRole("region", { name: "Sessions in these days" }).locator("tbody tr").allInnerTexts();
  check(rows.every((row) => host.some((line) => line.includes(`pass ${row.labels.pass} · ${row.engine}`))), `host: passes: ${host.join(" | ")}`);
  await open(page, `/sessions/${of.PcSampling}/insights`);
  await page.getByRole("link", { name: "Run: 4 sessions" }).click();
  await page.waitForURL(/\/runs\//);
  await rest(page);
  const lines = await page.locator("main tbody tr").allInnerTexts();
  check(lines.length === 4 && ["Trace", "PcSampling", "SassMetrics", "RangeProfiler"].every((engine, at) => lines[at].includes(engine) && lines[at].includes(`${at + 1}\u00a0of\u00a04`)), `run: passes in order: ${lines.join(" | ")}`);
  check(lines[2].includes("counts of instructions") && lines[2].includes("–"), `run: what a pass gives, unknown as unknown: ${lines[2]}`);
  const { answer } = await ask(page, `sessions/${of.Trace}/summary`);
  const written = (text) => text.replaceAll("\u202f", ",");
  check(written(lines[0]).includes(answer.statement.slice(0, 20)), `run: the answer of Trace: ${lines[0]}`);
  check(lines.slice(1).every((line) => line.includes("slowed by its engine: the answer is that of pass 1") && !/\d % .*:/.test(line.split("\t").at(-1))), `run: shares of slowed passes: ${lines.slice(1).join(" | ")}`);
  const linked = await page.locator("main tbody tr").first().locator("td").last().locator("a").allInnerTexts();
  check(linked.length <= 1 && linked.every((text) => text.endsWith(":")), `run: the answer's beginning is its link: ${linked}`);
  await t.shots(page, "run-passes");
  await page.getByRole("link", { name: "Kernels with all passes" }).click();
  await page.getByRole("link", { name: /matmul/ }).first().click();
  await page.locator(".from-passes").waitFor();
  await rest(page);
  const whole = await kernelFacts(page);
  check(/Times: pass 1, Trace.*Stalls: pass 2, PcSampling.*Counts: pass 3, SassMetrics.*Counters: unknown: no pass recorded it/.test(whole.from), `kernel: which pass has what: ${whole.from}`);
  check(whole.stalls > 2 && whole.executed > 5 && whole.sampled > 2, `kernel: numbers of all passes: ${JSON.stringify(whole)}`);
  await t.shots(page, "run-kernel");
  // Opened in another pass the page is the same, with the times of Trace.
  const profiled = (await ask(page, `sessions/${of.PcSampling}/kernels?limit=100`)).data;
  const at = profiled?.name?.length ? profiled.name[0] : null;
  if (at !== null) {
    const names = (await ask(page, `sessions/${of.PcSampling}/kernels?limit=100`)).short_names;
    const same = profiled.name.find((id) => /matmul/.test(names[id]));
    await open(page, `/sessions/${of.PcSampling}/kernels/${profiled.name_id?.[profiled.name.indexOf(same)] ?? same}`);
    await page.locator(".from-passes").waitFor();
    const again = await kernelFacts(page);
    check(again.from === whole.from && again.stats === whole.stats, `kernel: in another pass: ${JSON.stringify(again)} for ${JSON.stringify(whole)}`);
  }
}

const kernelFacts = (page) =>
  page.evaluate(() => ({
    from: document.querySelector(".from-passes").innerText,
    stats: document.querySelector(".stats").innerText,
    stalls: document.querySelectorAll(".stalls > div").length,
    executed: [...document.querySelectorAll(".sass tbody tr td:nth-child(5)")].filter((cell) => cell.innerText.trim()).length,
    sampled: [...document.querySelectorAll(".sass tbody tr td:nth-child(3)")].filter((cell) => cell.innerText.trim()).length,
  }));

/** Makes the session with counters of each kernel the last pass of the recorded run, in place of the one that measured the whole. */
async function replaceLast(page, key) {
  const { rows } = await ask(page, "sessions?limit=100");
  const last = rows.find((row) => row.labels?.pass === "4 of 4");
  server.upload(key, `${data}_kernels`);
  await until(page, async () => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.some((row) => row.analyzed && row.app === "train_loop" && !row.labels?.pass));
  const one = (await ask(page, "sessions?limit=100")).rows.find((row) => row.app === "train_loop" && !row.labels?.pass);
  const statuses = await page.evaluate(async ({ last, one }) => {
    const { csrf } = await (await fetch("/api/v1/auth/me")).json();
    const send = async (method, path, body) => (await fetch(`/api/v1/sessions/${path}`, { method, headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, ...(body ? { body: JSON.stringify(body) } : {}) })).status;
    return [await send("PUT", `${one}/labels/run`, { value: last.run }), await send("PUT", `${one}/labels/pass`, { value: "4 of 4" }), await send("DELETE", last.id)];
  }, { last: { id: last.id, run: last.labels.run }, one: one.id });
  check(statuses.every((status) => status === 204), `counters: the last pass: ${statuses}`);
  return { run: last.labels.run, counted: one.id };
}

/** A kernel's page has the hardware counters of the pass that measured the kernel, each with the report's numbers. */
async function counters(page, key) {
  const { run, counted } = await replaceLast(page, key);
  const rows = (await ask(page, `sessions?label=run&label_value=${run}&limit=100`)).rows;
  const timed = rows.find((row) => row.engine === "Trace").id;
  const { counters: all } = await ask(page, `sessions/${counted}/profile`);
  const { mangled, data: kernels } = await ask(page, `sessions/${timed}/kernels?limit=100`);
  const symbol = mangled.find((name) => all.some((row) => row.kernel_symbol === name) && /matmul/.test(name));
  const wanted = all.filter((row) => row.kernel_symbol === symbol);
  check(wanted.length > 5, `counters: ${wanted.length} of ${symbol}`);
  for (const session of [timed, rows.find((row) => row.engine === "PcSampling").id]) {
    const at = session === timed ? kernels : (await ask(page, `sessions/${session}/kernels?limit=100`)).data;
    const names = session === timed ? mangled : (await ask(page, `sessions/${session}/kernels?limit=100`)).mangled;
    await open(page, `/sessions/${session}/kernels/${at.name_id[at.name.indexOf(names.indexOf(symbol))]}`);
    await page.getByRole("region", { name: "Hardware counters" }).locator("tbody tr").first().waitFor();
    const from = await page.locator(".from-passes").innerText();
    check(/Counters: pass 4, RangeProfiler/.test(from), `counters: which pass has them: ${from}`);
    const shown = await page.getByRole("region", { name: "Hardware counters" }).locator("tbody tr").evaluateAll((all) => all.map((row) => ({ text: row.innerText, cells: [...row.querySelectorAll("td[title]")].map((cell) => cell.title.replace(/[^\d.]/g, "")) })));
    check(shown.length === wanted.length, `counters: ${shown.length} rows of ${wanted.length}`);
    for (const { metric, values, mean, least, most } of wanted) {
      const row = shown.find(({ text }) => text.includes(metric));
      check(row?.cells.join() === [values, mean, least, most].join(), `counters: ${metric} is ${[values, mean, least, most]}, not ${row?.cells}`);
    }
    await t.shots(page, `run-counters-${session === timed ? "timed" : "sampled"}`, { judged: true });
  }
}

/** Each process has a strip in the group of its host, at its time on the common clock; a click leads to it. */
async function onOneClock(page) {
  const groups = page.locator(".ranks section");
  await page.waitForFunction((n) => document.querySelectorAll(".rank-work").length === n, RANKS);
  check((await groups.count()) === 8 && (await groups.nth(3).locator(".rank").count()) === 8, `ranks: ${await groups.count()} groups`);
  const boxes = await page.locator(".rank").evaluateAll((all) => all.map((rank) => ({ from: rank.querySelector(".rank-box").x.baseVal.value, to: rank.querySelector(".rank-box").x.baseVal.value + rank.querySelector(".rank-box").width.baseVal.value, path: rank.querySelector(".rank-work").getAttribute("d") })));
  check(boxes.every(({ from, to }, n) => Math.abs(from - (600 * n * LATER) / WHOLE) < 0.5 && to <= 600.5), `ranks: on one clock: ${JSON.stringify(boxes.map(({ from }) => from))}`);
  // A kernel of 1 ms in a second is in the first columns, and nothing is in those after them.
  check(boxes.every(({ path }) => /^M0 1L0 0\.\d+(L[1-4] [01]\.\d+)+L600 1\.000L600 1Z$/.test(path)), `ranks: the kernel's column: ${boxes[5].path}`);
  const strip = page.locator(".rank").nth(9);
  const box = await strip.locator(".rank-time").boundingBox();
  await strip.click({ position: { x: box.x + box.width / 2 - (await strip.boundingBox()).x, y: 10 } });
  await page.waitForURL(/\/sessions\/rank-9\/timeline\?at=/);
  const [from, to] = new URL(page.url()).searchParams.get("at").split("-").map(Number);
  check(from > 4e8 && to < 6e8, `ranks: a click in the middle of a second leads to ${from}-${to}`);
  await page.goBack();
  await page.waitForFunction((n) => document.querySelectorAll(".rank-work").length === n, RANKS);
}

async function ranks(page) {
  await open(page, "/sessions/rank-0/insights");
  await page.getByRole("link", { name: `Run: ${RANKS} sessions` }).click();
  await page.waitForURL(/\/runs\/many-ranks/);
  await rest(page);
  const lines = await page.locator("main tbody tr").allInnerTexts();
  check(lines.length === RANKS && lines[0].includes("node-0, process 1000") && lines[RANKS - 1].includes("node-7, process 1063"), `ranks: ${lines.length}: ${lines[0]} … ${lines.at(-1)}`);
  check(lines.every((line) => line.split("\t").at(-1).length > 10 || line.includes("unknown")), `ranks: an answer each: ${lines[5]}`);
  await onOneClock(page);
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "ranks: a name stays text");
  check((await page.getByRole("columnheader", { name: "Pass" }).count()) === 0, "ranks: without passes there is no column of them");
  await t.shots(page, "run-ranks");
  await open(page, "/runs/no-such-run");
  await page.getByText("There is no such run").waitFor();
}

try {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, `${data}_engines`);
  for (let n = 0; n < RANKS; n++) await rank(key, n);
  await until(page, async (wanted) => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.filter((row) => row.analyzed).length === wanted, RANKS + 4);
  await t.walk(page, { passes, ranks, counters }, key);
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("run");
