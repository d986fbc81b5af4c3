// faults.mjs - small faults that were found by using the pages: each has a check here.
//   node tests/e2e/faults.mjs BIN DATA OUT TRAINED SHARED
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, shoot, startBrowser, until } from "./harness.mjs";
import { lettersIn, sheetsOf } from "./pdf.mjs";
import { bar, clicked, folded, lines, low, names, opened, sections, shares, small } from "./steps_answer.mjs";
import { aligned, loading, named, onward, searched, wall, wholeTexts } from "./steps_looks.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { BEGIN, complete, header, lineOf, REAL, send, session, simulate } from "./sessions.mjs";

const [bin, data, out, trained, sharing] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });

async function visitor(where, whose) {
  const page = await where.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, whose);
  return page;
}

const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const open = async (page, address) => {
  await page.goto(origin + address);
  await rest(page);
};
const main = (page) => page.locator("main").innerText();

/** Takes pictures in both themes at three widths of a desk. */
async function shots(page, name) {
  for (const width of [1280, 1600, 3840]) {
    await page.setViewportSize({ width, height: width === 1280 ? 800 : width === 1600 ? 900 : 2160 });
    for (const theme of ["dark", "light"]) {
      await t.theme(page, theme);
      if (width === 1280) await t.accessible(page, `${name} ${theme}`, { colours: theme === "light" });
      await shoot(page, { path: path.join(out, `faults-${name}-${width}-${theme}.png`), scale: "css" });
    }
    check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: wider than the page at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

const NAMES = ["_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_", ...Array.from({ length: 60 }, (_, n) => `_Z${`kernel_${n}`.length}kernel_${n}v`)];

/** Sends kernels without stacks, one copy that has one, and sessions of GPUs on hosts with the same name. */
async function made(key) {
  const host = { host: "twin", real: REAL, gpu: "GPU-aaaaaaaa-1111" };
  const one = session("faults-stacks", "copies with stacks", host);
  const named = { type: "names", rows: 2, id: [800, 801], text: ["load", "train.py"] };
  const copy = { type: "memcpy", rows: 1, start: BEGIN + 1e6, duration: 5e6, bytes: 1 << 20, kind: 1, stream: 1, correlation: 90001, scope: 0, stack: 1 };
  const kernels = NAMES.map((_, at) => [2e7 + at * 1e7, 9e6, 1, at]);
  await send(origin, key, one, "code", [header(one.id, "code", one.app, host), named, { type: "frame", rows: 1, id: 1, kind: 2, module: 0, offset: "0", function: 800, file: 801, line: 7, first_line: 1 }, { type: "stack", rows: 1, id: 1, parent: 0, frame: 1, depth: 1 }].map(lineOf).join(""));
  await send(origin, key, one, "device", one.kernels(kernels, { streams: 1, names: NAMES }) + lineOf(copy));
  const metrics = { type: "device_metric", rows: 20, time: [BEGIN, ...Array(19).fill(5e7)], device: 1, gpu_util: Array.from({ length: 20 }, (_, at) => 20 + at), power: 200_000, temperature: 60 };
  await send(origin, key, one, "system", one.end(1e9, { more: [metrics] }));
  await complete(origin, key, one);
  const two = session("faults-twin", "the other machine", { ...host, gpu: "GPU-bbbbbbbb-2222" });
  await send(origin, key, two, "device", two.kernels([[0, 1e6, 1, 0]], { streams: 1, names: NAMES.slice(0, 1) }));
  await send(origin, key, two, "system", two.end(1e9));
  await complete(origin, key, two);
  const alike = session("faults-alike", "a GPU with nearly the same UUID", { ...host, gpu: "GPU-aaaaaaaa-1222" });
  await send(origin, key, alike, "device", alike.kernels([[0, 1e6, 1, 0]], { streams: 1, names: NAMES.slice(0, 1) }));
  await send(origin, key, alike, "system", alike.end(1e9));
  await complete(origin, key, alike);
  const idle = session("faults-idle", "no GPU work was recorded", host);
  await send(origin, key, idle, "scope", idle.scopes([[0, 9e8, 0]], ["step"]));
  await send(origin, key, idle, "system", idle.end(1e9));
  await complete(origin, key, idle);
  const lossy = session("faults-lossy", "one kernel in 4000 is lost", host);
  const ledger = { type: "ledger", rows: 1, time: BEGIN + 9e8, final: 1, launches: 4000, graph_launches: 0, graph_kernels: 0, kernels_recorded: 3999, kernels_written: 3999, lost_driver: 1 };
  await send(origin, key, lossy, "device", lossy.kernels(Array.from({ length: 3999 }, (_, at) => [at * 2e5, 1e5, 1, 0]), { streams: 1, names: NAMES.slice(1, 2) }));
  await send(origin, key, lossy, "system", lossy.end(1e9, { more: [ledger] }));
  await complete(origin, key, lossy);
}

const LINE = 140; // of the 300 lines of train.py

/** Sends a session whose kept source file has a line that launches kernels and waits for them. */
async function lineWithKernels(key) {
  const at = { host: "twin", real: REAL, gpu: "GPU-aaaaaaaa-1111" };
  const one = session("faults-launched", "launches and waits at a line", at);
  const source = Array.from({ length: 300 }, (_, n) => `    step_${n + 1}()\n`).join("");
  const named = { type: "names", rows: 3, id: [800, 801, 802], text: ["train", "train.py", source] };
  const kept = { type: "source", rows: 1, path: 801, hash: "1", size: source.length, offset: 0, text: 802 };
  await send(origin, key, one, "code", [header(one.id, "code", one.app, at), named, kept, { type: "frame", rows: 1, id: 1, kind: 2, module: 0, offset: "0", function: 800, file: 801, line: LINE, first_line: 1 }, { type: "stack", rows: 1, id: 1, parent: 0, frame: 1, depth: 1 }].map(lineOf).join(""));
  const kernels = one.kernels([[1e8, 3e7, 1, 1], [2e8, 1e7, 1, 2], [3e8, 3e7, 1, 1]], { streams: 1, names: NAMES });
  await send(origin, key, one, "device", kernels.replace('"stack":0,"inherited"', '"stack":1,"inherited"'));
  const wait = { type: "wait", rows: 1, start: BEGIN + 1e8, duration: 5e8, call: 3, async: 0, stream: 1, correlation: 9, scope: 0, stack: 1, thread: 77, launches: 3, bytes: null };
  await send(origin, key, one, "scope", one.scopes([[0, 9e8, 0]], ["step"]) + lineOf(wait));
  await send(origin, key, one, "system", one.end(1e9));
  await complete(origin, key, one);
}

/** The text of the marked line, and whether it is visible in its box and on the screen. */
const marked = (page, selector) =>
  page.locator(selector).evaluate((row) => {
    const within = (box, place) => place.top >= box.top - 1 && place.bottom <= box.bottom + 1;
    const place = row.getBoundingClientRect();
    return { text: row.innerText, seen: within(row.closest("[role=region]").getBoundingClientRect(), place) && within({ top: 0, bottom: innerHeight }, place) };
  });

/** A source line leads to the kernels launched there, and to the page of one of them, at that line. */
async function launched(page) {
  await open(page, "/sessions/faults-launched/syncs");
  await page.getByRole("button", { name: `train.py:${LINE}` }).click();
  const list = page.getByRole("dialog").getByRole("region", { name: "Kernels launched from this line" });
  await list.getByRole("link", { name: "kernel_0" }).waitFor(); // the name is a link once its target is known
  const rows = (await list.locator("tbody tr").allInnerTexts()).map((row) => row.replaceAll("\u202f", " ").split(/\s+/).join(" "));
  check(rows.join(" | ") === "kernel_0 60.0 ms | kernel_1 10.0 ms", `line: kernels launched there: ${rows.join(" | ")}`);
  await shots(page, "line-kernels");
  await list.getByRole("link", { name: "kernel_0" }).click();
  await page.waitForURL(/\/sessions\/faults-launched\/kernels\/\d+\?line=train\.py/);
  await page.locator(".kernel-name").waitFor();
  check((await page.locator(".kernel-name").innerText()).includes("kernel_0"), "line: the kernel's own page");
  await page.locator(".source-here").waitFor();
  await rest(page);
  const here = await marked(page, ".source-here");
  check(here.seen && here.text.includes(`step_${LINE}()`), `line: marked on the kernel's page: ${JSON.stringify(here)}`);
  const about = (await page.locator(".at-line").innerText()).replaceAll("\u202f", " ");
  check(about.includes("This line launched 60.0 ms"), `line: what of the kernel was launched there: ${about.slice(0, 200)}`);
  await shots(page, "line-kernel");
  await page.getByRole("button", { name: "Without the line" }).click();
  await page.waitForFunction(() => !location.search && !document.querySelector(".at-line"));
}

/** A line of a kernel's own code leads to the kernel, its SASS at that line with samples and counts, and why its warps wait. */
async function ownCode(page, id) {
  const { code } = await ask(page, `sessions/${id}/profile`);
  const { insights } = await ask(page, `sessions/${id}/insights`);
  const stall = insights.find((found) => found.id === "stall");
  const place = `${path.basename(stall.file)}:${stall.line}`;
  const rows = code.find(({ symbol }) => symbol === stall.kernel_symbol).instructions.filter((row) => row.line === stall.line);
  await open(page, `/sessions/${id}/insights?more=1`);
  await page.getByRole("button", { name: place, exact: true }).first().click();
  const list = page.getByRole("dialog").getByRole("region", { name: "Kernels with code from this line" });
  await list.getByRole("link").first().waitFor();
  const most = code.map(({ symbol, short_name: short, instructions }) => ({ symbol, short, samples: instructions.filter((row) => row.line === stall.line).reduce((sum, row) => sum + row.samples, 0) })).sort((a, b) => b.samples - a.samples);
  check((await list.locator("tbody tr").first().innerText()).startsWith(most[0].short), `own code: the kernel with most samples stands first: ${await list.innerText()}`);
  check(most[0].symbol === stall.kernel_symbol, `own code: the finding's kernel has most samples at its line: ${most[0].short}`);
  await list.getByRole("link", { name: most[0].short }).click();
  await page.waitForURL((url) => url.searchParams.get("line") === `${stall.file}:${stall.line}`);
  await page.locator(".code-here").waitFor();
  await rest(page);
  const head = await marked(page, ".code-here > .code-head");
  check(head.text.includes(place), `own code: the line is marked: ${JSON.stringify(head)}`);
  const sass = await page.locator(".code-here tr:not(.code-head)").allInnerTexts();
  check(sass.length === rows.length && rows.every(({ text }, at) => sass[at].includes(text)), `own code: its SASS: ${sass.join(" | ")}`);
  check(rows.some(({ top_reason: reason }) => reason && sass.some((row) => row.includes(reason))), `own code: why its warps wait, by instruction: ${sass.join(" | ")}`);
  const counted = await page.locator(".code-here td:nth-child(5)").allInnerTexts();
  check(counted.some((cell) => /\d/.test(cell)), `own code: what was counted: ${counted}`);
  for (const title of ["Code", "Why warps wait", "Counted instructions"]) check((await page.locator(".at-line h2").allInnerTexts()).includes(title), `own code: ${title} is next to the line: ${await page.locator(".at-line h2").allInnerTexts()}`);
  const source = await marked(page, ".source-here");
  check(source.text.trim().startsWith(String(stall.line)) && source.seen, `own code: the line in its file: ${JSON.stringify(source)}`);
  await shots(page, "line-code");
}

/** The header of a session with a small loss does not round the recorded share up to 100 %, and mentions nothing that it does not
 * show. */
async function lossy(page) {
  await open(page, "/sessions/faults-lossy/insights");
  const captured = (await page.locator(".captured").innerText()).replaceAll("\u202f", " ");
  check(captured.includes("> 99.9 %") && captured.includes("the driver dropped records") && !captured.includes("below"), `header: what is lost: ${captured}`);
}

/** The page says what the flame graph leaves out; columns in which no launch has a value are not shown. */
async function flame(page) {
  await open(page, "/sessions/faults-stacks/flame?tree=GPU");
  await page.getByText("No kernel of this session has a stack").waitFor();
  const note = await page.getByRole("note").innerText();
  check(note.includes("549 ms") && note.includes("5.00 ms"), `flame: what is shown and what is not: ${note}`);
  await shots(page, "flame");
  await open(page, "/sessions/faults-stacks/kernels/10");
  const heads = await page.getByRole("region", { name: "Launches" }).locator("th").allInnerTexts();
  const at = heads.findIndex((head) => head.startsWith("Stream"));
  const stream = await page.getByRole("region", { name: "Launches" }).locator("tbody tr").first().locator("td").nth(at).innerText();
  check(stream === "7", `launches: the stream goes by the driver's number: ${stream}`);
  check(heads.some((head) => head.startsWith("Stream")) && !heads.some((head) => /Graph|Thread/.test(head)), `launches: columns ${heads}`);
}

/** The table next to the graph has only frames with time of their own, which are the innermost frames of stacks, the largest
 * first. */
async function selves(page, _, { hf }) {
  const stacks = await page.evaluate(async (id) => (await fetch(`/api/v1/sessions/${id}/flame`)).text(), hf);
  const [times, all] = [new Map(), new Set()];
  for (const [, stack, ns] of stacks.matchAll(/^host blocked;(.*) (\d+)$/gm)) {
    const frames = stack.split(";");
    frames.forEach((frame) => all.add(frame));
    times.set(frames.at(-1), (times.get(frames.at(-1)) ?? 0) + Number(ns));
  }
  const wanted = [...times].sort(([, a], [, b]) => b - a).slice(0, 15);
  check(wanted.length > 2 && all.size > times.size, `flame: ${times.size} of ${all.size} frames have time of their own`);
  await open(page, `/sessions/${hf}/flame?tree=${encodeURIComponent("host blocked")}`);
  const rows = page.getByRole("region", { name: "Frames that take most time themselves" }).locator("tbody tr");
  await rows.first().waitFor();
  const own = await rows.evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText)));
  check(own.length > 2 && own.every((cells) => !cells.some((cell) => /^0(\.0)?\s(ns|%)$/.test(cell))), `flame: frames without time of their own: ${JSON.stringify(own)}`);
  const exact = await rows.evaluateAll((all) => all.map((row) => `${row.querySelector("[data-name]").dataset.name} ${row.querySelectorAll("td")[1].title.replace(/\D/g, "")}`));
  check(exact.join(" | ") === wanted.map(([name, ns]) => `${name} ${ns}`).join(" | "), `flame: frames that take most themselves: ${exact.join(" | ")}, not ${wanted.map((one) => one.join(" ")).join(" | ")}`);
}

/** The strip with the whole session says what it shows. It is empty, and says so, if no GPU work was recorded. */
async function strip(_, __, { hf }) {
  const page = await visitor(context, origin);
  await page.addInitScript(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.written = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      if (!this.canvas.classList.contains("tl-canvas")) window.written.add(text); // the strip is drawn on a canvas that is not in the page
      return fillText.call(this, text, ...rest);
    };
  });
  const look = async (id) => {
    await page.goto(`${origin}/sessions/${id}/timeline`);
    await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
    return page.evaluate(() => {
      const { scene } = window.gpuflTimeline;
      const canvas = document.querySelector("canvas.tl-mini");
      const pen = canvas.getContext("2d");
      const bar = scene.colours.series["--series-1"];
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(bar.slice(at, at + 2), 16));
      const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
      let bars = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) bars++;
      return { bar, bars: bars / (data.length / 4), words: [...window.written] };
    });
  };
  const work = await look(hf);
  check(work.bars > 0.02 && work.words.includes("GPU work, whole session") && !work.words.includes("No GPU work was recorded."), `strip: of a session with work: ${JSON.stringify(work)}`);
  const none = await look("faults-idle");
  check(none.bars === 0 && none.words.includes("No GPU work was recorded."), `strip: of a session without: ${JSON.stringify(none)}`);
  await page.close();
}

/** The form says that a key is too short, before anything is sent. */
async function secret(page) {
  await open(page, "/alerts");
  check((await page.getByText("nobody; shown here only").count()) > 0, "alerts: a rule that delivers to nobody says so");
  await page.getByRole("button", { name: "Make a rule" }).click();
  await page.getByLabel("Name").fill("hot GPUs");
  check((await page.getByText("An https or http address").count()) === 1, "alerts: both kinds of address are named");
  await page.getByLabel("Key that signs").fill("sekret");
  await page.getByText("has 6 of at least 16 characters").waitFor();
  check(await page.getByRole("button", { name: "Save" }).isDisabled(), "alerts: a key that is too short is not sent");
  await shots(page, "alert-secret");
  await page.getByLabel("Key that signs").fill("sixteen letters!");
  check(await page.getByRole("button", { name: "Save" }).isEnabled(), "alerts: sixteen letters will do");
  await page.keyboard.press("Escape");
}

/** No source window shows a key of the report's JSON. */
async function evidence(page, id) {
  await open(page, `/sessions/${id}/insights?more=1`);
  const chips = page.locator(".finding button.place");
  for (let at = 0; at < (await chips.count()); at++) {
    await chips.nth(at).click();
    await page.getByRole("dialog").waitFor();
    const labels = await page.getByRole("dialog").locator("dt").allInnerTexts();
    check(labels.every((label) => /^[A-Z±]/.test(label)), `source window: raw keys: ${labels}`);
    await page.keyboard.press("Escape");
  }
}

/** The list fits the screen, and a search finds the names as people read them. */
async function trends(page) {
  await open(page, "/trends");
  const tall = await page.evaluate(() => document.documentElement.scrollHeight);
  check(tall < 1200, `trends: ${tall} px tall`);
  await page.getByRole("searchbox", { name: "Search what to follow" }).fill("native::FillFunctor<float>");
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
  const [row] = await page.locator("main tbody tr").allInnerTexts();
  check(row.includes("Fill float"), `trends: found by a part of the name that people read: ${row}`);
  await shots(page, "trends");
}

const CARD = 250; // px: a plot of 150, its title and its values

/** A plot shows its values also while the pointer is elsewhere, and says what NVML's number means. */
async function system(page) {
  await open(page, "/sessions/faults-stacks/system");
  await page.locator(".uplot canvas").first().waitFor();
  const values = page.locator(".plot-values").first();
  check(/^Mean 30 %, 20 % to 39 %$/.test((await values.innerText()).replaceAll("\u202f", " ")), `system: values of the whole: ${await values.innerText()}`);
  check((await main(page)).includes("NVML reports"), "system: what the utilisation is");
  const cards = await page.locator("main .plots .panel").evaluateAll((all) => all.map((card) => Math.round(card.getBoundingClientRect().height)));
  check(cards.length > 1 && cards.every((height) => height <= CARD), `system: cards of ${cards} px, with plots of 150`);
  const cut = await page.locator(".plot-values").evaluateAll((all) => all.filter((line) => line.scrollWidth > line.clientWidth).map((line) => line.textContent));
  check(cut.length === 0, `system: values that are cut off: ${cut.join(" | ")}`);
  await page.locator(".u-over").first().hover();
  await page.waitForFunction(() => document.querySelector(".plot-values").textContent.startsWith("at "));
  await page.mouse.move(0, 0);
  await shots(page, "system");
}

/** The row of the timeline also says what NVML's number means. */
async function sampleTip(page) {
  await page.goto(`${origin}/sessions/faults-stacks/timeline`);
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
  const [x, y] = await page.evaluate(() => {
    const { scene, shown } = window.gpuflTimeline;
    const row = scene.layout.rows.find(({ track }) => scene.tracks[track]?.source?.metric.name === "gpu_util");
    const box = document.querySelector(".tl-canvas").getBoundingClientRect();
    return [box.left + (scene.width - 20) * scene.unit, box.top + (shown.height - scene.layout.height + row.y - scene.scroll + row.height / 2) * scene.unit];
  });
  await page.mouse.move(x, y);
  const tip = page.locator(".tl-tip");
  await tip.getByText("NVML reports the part of each sample's time").waitFor();
  check(/\d+ %/.test(await tip.innerText()), `timeline: a sample's value: ${await tip.innerText()}`);
  await page.mouse.move(0, 0);
}

/** The part of the UUID by which the page distinguishes three GPUs of one number: as short as possible. */
const SHORT = ["GPU-aaaaaaaa-11", "GPU-aaaaaaaa-12", "GPU-bbbbbbbb"];

/** GPUs with one number are distinguishable, old values are not shown as new, and the bars have axes. */
async function fleet(page) {
  await open(page, "/");
  const cards = await page.locator(".gpu-card").allInnerTexts();
  check(SHORT.every((short) => cards.filter((card) => card.includes(short)).length === 1), `fleet: cards ${cards.join(" | ")}`);
  check(await page.locator(".gpu-card .mono").evaluateAll((ids) => ids.every((id) => id.parentElement.scrollWidth <= id.parentElement.clientWidth)), "fleet: no UUID of a card is cut off");
  const torn = await page.locator(".gpu-card .mono, .gpu-card .gpu-numbers").evaluateAll((parts) => parts.filter((part) => part.getClientRects().length > 1 || part.getBoundingClientRect().height > 1.6 * parseFloat(getComputedStyle(part).lineHeight)).map((part) => part.innerText));
  check(torn.length === 0, `fleet: figures of a card on two lines: ${torn.join(" | ")}`);
  check(cards.some((card) => card.includes("last known values")), "fleet: old values are said to be old");
  const faded = await page.locator(".gpu-silent .meter").evaluateAll((bars) => bars.map((bar) => Number(/\/ ([\d.]+)\)/.exec(getComputedStyle(bar).backgroundImage)?.[1] ?? 1)));
  check(faded.length > 0 && faded.every((opacity) => opacity < 0.6), `fleet: bars of old values are faded: ${faded}`);
  const stats = await page.locator(".stats").first().innerText();
  check(/^Need attention\s+–\s+no GPU reports/.test(stats), `fleet: whether silent GPUs need attention is unknown: ${stats.replaceAll("\n", " ")}`);
  await shots(page, "fleet");
  await open(page, "/?view=table");
  await t.legible(page, "fleet, table");
  const ids = await page.locator("main .table tbody tr").evaluateAll((rows) => rows.map((row) => [row.querySelector(".mono"), row.querySelector("td")]).map(([id, cell]) => [id.innerText, id.getBoundingClientRect().right <= cell.getBoundingClientRect().right]));
  check(SHORT.every((wanted) => ids.filter(([id, seen]) => id === wanted && seen).length === 1), `fleet: GPUs of the table are distinguishable: ${JSON.stringify(ids)}`);
  const head = await page.locator("main .table thead th").allInnerTexts();
  check(head[1]?.startsWith("State") && head[2]?.startsWith("Last contact"), `fleet, table: the last contact is next to the state: ${head}`);
  const silent = page.locator("main .table tbody tr", { has: page.locator(".health-silent") });
  const colours = await silent.evaluateAll((rows) => rows.flatMap((row) => [...row.querySelectorAll("td:nth-child(n + 4)")].map((cell) => getComputedStyle(cell).color)));
  const quiet = await page.locator("main .quiet").first().evaluate((one) => getComputedStyle(one).color);
  check(colours.length > 0 && colours.every((colour) => colour === quiet), `fleet, table: values of silent GPUs are grey: ${[...new Set(colours)]}`);
  check((await page.getByText("Grey rows are silent").count()) === 1, "fleet, table: what grey means");
  await open(page, "/hosts/twin?from=2024-12-20&to=2025-01-05");
  const figure = await page.locator(".days-figure").innerText();
  check(["2024-12-20", "2025-01-05", "GPU hours held", "GPU was busy"].every((words) => figure.includes(words)), `host: the bars' axes and legend: ${figure.replaceAll("\n", " ")}`);
  check(/^\d[\d.]* (ms|s|min|h)$/m.test(figure) && !/\b0\.0\d* h/.test(figure), `host: the axis has a time that people can read: ${figure.replaceAll("\n", " ")}`);
  const used = page.locator("main .stat", { hasText: "from the driver: kernels of any program" });
  check((await used.count()) === 1, "host: what the driver's number is");
  // Without a requested capture there is the button that requests one, and no panel is empty.
  check((await page.getByRole("button", { name: "Record now" }).count()) === 1, "host: one button asks for a capture");
  const panels = await page.locator("main .panel").evaluateAll((all) => all.map((panel) => [panel.querySelector("h2")?.innerText ?? "", panel.querySelector("td, dd, svg, canvas") !== null]));
  check(panels.length > 1 && panels.every(([, filled]) => filled), `host: panels without content: ${JSON.stringify(panels)}`);
  await shots(page, "host");
}

/** Without recent samples the conditions of rules are unknown, and not false. */
async function alerts(page) {
  await open(page, "/alerts");
  const now = page.locator(".panel", { has: page.getByRole("heading", { name: "Now" }) });
  await now.getByText(/^No host has reported since .*20\d\d.*: conditions about hosts and GPUs are unknown\.$/).waitFor();
  check(!(await now.innerText()).includes("No condition holds"), `alerts: nothing is known of silent hosts: ${await now.innerText()}`);
  await shots(page, "alerts");
}

/** A hint leads to columns that are out of view; on paper all rows and columns are present. */
async function kernels(page) {
  await open(page, "/sessions/faults-stacks/kernels");
  const more = page.getByRole("button", { name: "More columns to the right" });
  await more.waitFor();
  await shots(page, "kernels");
  const atEnd = () => page.evaluate(() => [...document.querySelectorAll("main .table")].every((table) => table.scrollLeft + table.clientWidth >= table.scrollWidth - 2));
  for (let left = 9; left > 0 && !(await atEnd()); left--) await more.click();
  check(await atEnd(), "kernels: the hint leads to the end");
  await more.waitFor({ state: "detached" });
  const file = path.join(out, "faults-kernels.pdf");
  await page.pdf({ path: file, format: "A4", landscape: true });
  const sheets = sheetsOf(file).join("");
  const missing = Array.from({ length: 60 }, (_, n) => `kernel_${n}`).filter((name) => !sheets.includes(lettersIn(name)));
  check(missing.length === 0, `print: not on paper: ${missing}`);
  check(sheets.includes("Registers") && sheets.includes("Streams"), "print: all columns are on paper");
  await page.waitForFunction(() => document.querySelectorAll("main .table tbody tr").length < 61);
}

/** A server for one person has all pages except those about other people. */
async function local() {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-local-"));
  const child = spawn(path.join(bin, "gpufl-server"), ["--local", "--data", path.join(folder, "data"), "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  try {
    const link = await new Promise((resolve) => {
      let said = "";
      child.stdout.on("data", (piece) => {
        said += piece;
        const found = /(http:\/\/\S+[?&/]\S*)\n/.exec(said);
        if (found) resolve(found[1]);
      });
    });
    const page = await visitor(await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" }), new URL(link).origin);
    await page.goto(link);
    await page.getByText("No sessions yet").waitFor();
    const pages = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
    check(["Fleet", "Upload", "Settings"].every((name) => pages.includes(name)), `local server: pages ${pages}`);
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.locator(".command pre").filter({ hasText: "gpfl_" }).waitFor();
    await shots(page, "local-first");
  } finally {
    child.kill("SIGTERM");
    await gone;
    rmSync(folder, { recursive: true, force: true });
  }
}

const answer = Object.fromEntries(Object.entries({ bar, clicked, opened, sections, shares, folded, names, lines, low, small, wall, loading, aligned, searched, named, onward, wholeTexts }).map(([name, step]) => [name, (page, deep, world) => step({ page, t, origin, deep, ...world })]));
const steps = { ...answer, lossy, launched, ownCode, flame, selves, strip, secret, evidence, trends, system, sampleTip, fleet, alerts, kernels, local };
try {
  const page = await visitor(context, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  await made(key);
  await lineWithKernels(key);
  simulate(bin, ["--kernels", "20000", "--engine", "Deep", "--plant", "stall,divergence", "--name", "deep"], (folder) => server.upload(key, folder));
  server.upload(key, data);
  server.upload(key, trained);
  server.upload(key, sharing);
  server.upload(key, path.join(path.dirname(trained), "hf_generate")); // a card about the rest of a cause
  server.upload(key, path.join(path.dirname(trained), "pandas_features")); // functions with names of 791 letters
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 12);
  const { rows } = await ask(page, "sessions");
  const [deep, hf, id, shared, generate, long] = ["deep", "hf_train", "train_loop", "shared_gpu", "hf_generate", "pandas_features"].map((app) => rows.find((row) => row.app === app).id);
  await t.walk(page, steps, deep, { hf, id, shared, generate, long });
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("faults");
