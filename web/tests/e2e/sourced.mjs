// sourced.mjs - the timeline with source: waits, launches and gaps link to their line and stack; lanes of samples
// of the host; arrows from captured launches; a range's lines and flame; which metrics are shown; bookmarks. The
// texts of the page are compared with the server's own answers about a recorded session of a training program.
//   node tests/e2e/sourced.mjs BIN DATA OUT
import path from "node:path";
import { finished, makeHarness, PATIENCE_MS, shoot, startBrowser, themes, until } from "./harness.mjs";
import { rangeFlame } from "./steps_range.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { bookmarks } from "./steps_bookmarks.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE_MS);
t.watch(page, "http://127.0.0.1");

const [WAIT, SAMPLE, STATE, LAUNCH, GAP] = [4n, 8n, 9n, 10n, 11n];
const laneOf = (kind, depth, ref) => ((kind << 56n) | (BigInt(depth) << 48n) | BigInt(ref)).toString();
const query = (name) => new URL(page.url()).searchParams.get(name);
const drawn = () => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
let session = "";
const answer = (address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/sessions/${session}/${address}`);
const rows = async (address) => {
  const table = await answer(address);
  return Array.from({ length: table.rows }, (_, at) => Object.fromEntries(table.columns.map((name) => [name, table.data[name][at]])));
};
async function open(words) {
  await page.goto("about:blank");
  await page.goto(`${origin}/sessions/${session}/timeline?${words}`);
  await drawn();
}
async function shots(name) {
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: width === 1280 ? 800 : 900 });
    for (const theme of themes(width === 1280)) {
      await t.theme(page, theme);
      if (width === 1280 || theme === "dark") await t.accessible(page, `${name} ${theme} ${width}`, { colours: theme === "light" });
      await shoot(page, { path: path.join(out, `${name}-${width}-${theme}.png`) });
    }
  }
}
const details = page.locator(".tl-below");
/** Waits until the selected row is above the panel with its details. */
const uncovered = () =>
  until(page, () => {
    const { scene, shown } = window.gpuflTimeline;
    const { layout } = scene;
    const row = layout.rows.find(({ track }) => scene.tracks[track]?.key === scene.selected.track);
    const top = shown.height - layout.height + row.y - scene.scroll;
    const canvas = document.querySelector(".tl-canvas").getBoundingClientRect().top;
    return canvas + (top + row.height) * scene.unit <= document.querySelector(".tl-below").getBoundingClientRect().top;
  });
/** A kernel of Triton names the line that defines it, and opens the source there. */
async function definition(key) {
  const recorded = path.join(data, "..", "..", "sessions", "triton");
  server.upload(key, recorded);
  const listed = async () => (await (await fetch("/api/v1/sessions?app=tri")).json()).rows?.[0]?.id;
  await until(page, listed);
  const found = await page.evaluate(listed);
  await finished(page, found);
  const { data: kernels, names } = await page.evaluate(async (id) => (await fetch(`/api/v1/sessions/${id}/kernels?limit=100`)).json(), found);
  const at = kernels.name.findIndex((name) => names[name] === "add_scaled");
  await page.goto(`${origin}/sessions/${found}/kernels/${kernels.name_id[at]}`);
  const link = page.getByRole("link", { name: "tri.py:4", exact: true });
  await link.waitFor();
  check((await link.getAttribute("title")) === "/tmp/g/tri.py:4", "a kernel of Triton: the place has the whole path");
  await shoot(page, { path: path.join(out, "sourced-triton.png") });
  await link.click();
  const here = page.locator(".source-here");
  await here.waitFor();
  check((await here.innerText()).includes("def add_scaled("), "a kernel of Triton: the line that opens is its function");
  await shoot(page, { path: path.join(out, "sourced-triton-line.png") });
}
const selected = () => page.waitForFunction(() => window.gpuflTimeline.scene.selected !== null);

try {
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, data);
  await page.goto(`${origin}/sessions`);
  await page.locator("tbody a").first().waitFor();
  session = await page.locator("tbody a[href*='/sessions/']").first().evaluate((link) => new URL(link.href).pathname.split("/")[2]);
  await finished(page, session);
  const timeline = await answer("timeline");
  const placeOf = (node) => timeline.places[timeline.nodes.place[node]]?.place ?? null;
  const lineOf = (stack) => placeOf(timeline.stacks[stack]);

  // The whole session shows what the host did and what the GPU did.
  const tiles = [];
  const asked = (request) => new URL(request.url()).pathname.endsWith("/tiles") && tiles.push(new URL(request.url()).searchParams);
  page.on("request", asked);
  await open("");
  page.off("request", asked);
  const spans = tiles.map((words) => ["from", "to", "lanes"].map((name) => words.get(name)).join(" "));
  const twice = spans.filter((span, at) => spans.indexOf(span) !== at);
  check(spans.length > 0 && twice.length === 0, `overview: of ${spans.length} requests for columns these have one range: ${twice.join(" | ")}`);
  const lanes = await page.evaluate(() => window.gpuflTimeline.scene.lanes.map(({ id, kind, events }) => ({ id, kind, events })));
  for (const kind of [SAMPLE, STATE, LAUNCH, GAP]) check(lanes.some((lane) => BigInt(lane.kind) === kind && lane.events > 0), `lanes of kind ${kind}`);
  const metrics = await page.evaluate(() => window.gpuflTimeline.scene.layout.rows.flatMap(({ track }) => window.gpuflTimeline.scene.tracks[track]?.source?.metric.name ?? []));
  check(metrics.join() === "gpu_util,power", `metrics at first: ${metrics}`);
  await shots("sourced-whole");
  await page.getByRole("button", { name: "All metrics" }).click();
  await page.waitForFunction(() => window.gpuflTimeline.scene.layout.rows.filter(({ track }) => window.gpuflTimeline.scene.tracks[track]?.source).length > 5);
  check(query("metrics") === "all", "all metrics: the choice is in the address");

  // The longest wait: its line, its stack, its source.
  const waits = (await rows("waits?from=0&to=100000000000&limit=1000")).filter((row) => BigInt(row.lane) >> 56n === WAIT);
  const wait = waits.find((row) => row.stack && lineOf(row.stack)?.startsWith("hf_train.py"));
  await open(`at=${wait.start - wait.duration}-${wait.start + 2 * wait.duration}&sel=${wait.lane}~${wait.start}`);
  await selected();
  const line = details.getByRole("button", { name: lineOf(wait.stack), exact: true });
  await line.waitFor();
  check((await details.locator(".tl-stack li").count()) > 3, "wait: its stack");
  check(await page.evaluate(() => document.querySelector(".tl-below").innerText.includes("innermost first")), "wait: how the stack reads");
  const labels = await page.evaluate(([lane, at]) => {
    const { scene } = window.gpuflTimeline;
    const index = scene.lanes.findIndex((one) => one.id === lane);
    const hit = window.gpuflTimeline.pickAt(scene.side + ((at - scene.view.from) / (scene.view.to - scene.view.from)) * (scene.width - scene.side), [...scene.layout.rows].find((row) => scene.tracks[row.track]?.lane === index).y - scene.scroll + 32);
    return scene.lines.line(hit?.hit.stack ?? 0)?.place;
  }, [wait.lane, wait.start + wait.duration / 2]);
  check(labels === lineOf(wait.stack), `wait: it is labelled ${labels}, not ${lineOf(wait.stack)}`);
  const [x, y] = await page.evaluate(([lane, at]) => {
    const { scene, shown } = window.gpuflTimeline;
    const index = scene.lanes.findIndex((one) => one.id === lane);
    const row = scene.layout.rows.find((one) => scene.tracks[one.track]?.lane === index);
    const box = document.querySelector(".tl-canvas").getBoundingClientRect();
    const along = scene.side + ((at - scene.view.from) / (scene.view.to - scene.view.from)) * (scene.width - scene.side);
    return [box.left + along * scene.unit, box.top + (shown.height - scene.layout.height + row.y - scene.scroll + row.height / 2) * scene.unit];
  }, [wait.lane, wait.start + wait.duration / 2]);
  await page.mouse.move(x, y);
  await page.locator(".tl-tip").getByText(lineOf(wait.stack)).waitFor();
  // The tip of a kernel has the whole name below the short one.
  const named = await page.evaluate(() => {
    const { scene, shown } = window.gpuflTimeline;
    for (const row of scene.layout.rows) {
      if (scene.lanes[scene.tracks[row.track]?.lane]?.kind !== 1) continue; // KIND.kernel
      const y = shown.height - scene.layout.height + row.y - scene.scroll + row.height / 2;
      for (let x = scene.side + 1; x < scene.width && y > 0 && y < shown.height; x++) {
        const hit = window.gpuflTimeline.pickAt(x, y)?.hit;
        const full = hit ? scene.names.text(hit.name) : "";
        if (!full || full === scene.names.short(hit.name)) continue;
        const box = document.querySelector(".tl-canvas").getBoundingClientRect();
        return { full, x: box.left + x * scene.unit, y: box.top + y * scene.unit };
      }
    }
    return null;
  });
  check(named !== null, "tip: a kernel with a longer name is in sight");
  if (named) {
    await page.mouse.move(named.x, named.y);
    await page.locator(".tl-tip-full").getByText(named.full.slice(0, 900)).waitFor();
  }
  await page.mouse.move(0, 0);
  await shots("sourced-wait");
  // The panel says whether a loop waits there, as the report does; the line's window has the numbers of its waits.
  const waited = (await answer("sync")).synchronization_lines.lines.find(({ place }) => place === lineOf(wait.stack));
  const between = waited.launches_between.synchronizations.median;
  const verdict = !waited.blocks_host ? "a stream waits not the host" : waited.calls >= 3 && between >= 3 ? `in a loop ${between} launches between` : waited.calls === 1 ? "once" : `called ${waited.calls >= 1000 ? String(waited.calls).replace(/(?=\d{3}$)/, "\u202f") : waited.calls} times`;
  const fact = details.locator(".tl-fact", { hasText: "Verdict" });
  await fact.waitFor();
  check((await fact.locator("dd").innerText()) === verdict, `wait: its verdict is ${await fact.innerText()}, not ${verdict}`);
  await line.click();
  await page.getByRole("dialog").locator(".stat").first().waitFor();
  const stats = await page.getByRole("dialog").locator(".stat dd").evaluateAll((all) => all.map((cell) => Number(cell.title.replace(/\D/g, ""))));
  for (const key of ["calls", "blocked_ns", "gpu_idle_ns", "longest_ns"]) check(stats.includes(waited[key]), `wait: ${key} ${waited[key]} of its line stands in the window: ${stats}`);
  check(query("line")?.endsWith(lineOf(wait.stack).replace("hf_train.py", "hf_train.py")) === true, `wait: the opened line is in the address: ${query("line")}`);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("line"));

  // A captured launch: its line and stack, and the arrow to the kernel with its correlation.
  const threads = (await rows("looked-at")).map((row) => row.thread);
  const launches = (await rows(`captured?threads=${threads}&from=2000000000&to=9000000000&limit=1000`)).filter((row) => row.stack && row.correlation !== null && lineOf(row.stack));
  let launch = null;
  let kernel = null;
  for (const one of launches.slice(0, 40)) {
    [kernel] = await rows(`launches?correlation=${one.correlation}&from=${one.at}&to=${one.at + 1e9}`);
    if (kernel) {
      launch = one;
      break;
    }
  }
  check(launch !== null, "a captured launch with its kernel");
  const lane = laneOf(LAUNCH, 0, launch.thread);
  await open(`at=${launch.at - 200000}-${kernel.start + kernel.duration + 200000}&sel=${lane}~${launch.at}~0`);
  await selected();
  await details.getByText(lineOf(launch.stack), { exact: true }).first().waitFor();
  await page.waitForFunction((start) => window.gpuflTimeline.scene.flows.some((flow) => flow.to.start === start), kernel.start);
  check(query("sel") === `${lane}~${launch.at}~0`, `launch: the address keeps it: ${query("sel")}`);
  await shots("sourced-launch");

  // The kernel has the arrow back, readable numbers of its launch, and its line.
  const stream = laneOf(1n, 0, kernel.stream);
  await open(`at=${kernel.start - 200000}-${kernel.start + kernel.duration + 200000}&sel=${stream}~${kernel.start}`);
  await details.getByText("Grid", { exact: true }).waitFor();
  await page.waitForFunction((at) => window.gpuflTimeline.scene.flows.some((flow) => flow.from.start === at), launch.at);
  await details.getByText(lineOf(launch.stack), { exact: true }).first().waitFor();
  const config = (await rows("configs")).find((row) => row.config === kernel.config);
  const words = await details.innerText();
  check(words.includes(`${config.grid_x} × ${config.grid_y} × ${config.grid_z}`) && words.includes(`${config.block_x} × ${config.block_y} × ${config.block_z}`), `kernel: grid and block: ${words}`);
  check(/Occupancy, theoretical/.test(words) && /Registers/.test(words) && !/Configuration|Scope instance/.test(words), "kernel: registers and occupancy, no ids");
  const number = (await rows("streams")).find((row) => row.id === kernel.stream)?.number;
  check(number === null || words.includes(`stream ${number},`), `kernel: the driver's stream number ${number}`);
  check(await page.evaluate(() => !window.gpuflTimeline.scene.layout.rows.some(({ track }) => window.gpuflTimeline.scene.tracks[track]?.source)), "metrics are hidden in a view shorter than their period");
  const target = new URL(await details.getByRole("link", { name: "All launches of this kernel" }).getAttribute("href"), origin);
  check(target.searchParams.get("line")?.endsWith(`/${lineOf(launch.stack)}`) === true, `kernel: its page opens at the line of the launch: ${target.search}`);
  await uncovered();
  await shots("sourced-kernel");

  // The longest gap whose line is known: its cause and its line.
  const gap = timeline.gaps.start.map((start, i) => ({ start, duration: timeline.gaps.duration[i], cause: timeline.gaps.cause[i], node: timeline.gaps.node[i], device: timeline.gaps.device[i] })).filter((one) => placeOf(one.node)?.startsWith("hf_train.py") && one.start > 0).sort((a, b) => b.duration - a.duration)[0];
  await open(`at=${gap.start - gap.duration}-${gap.start + 2 * gap.duration}&sel=${laneOf(GAP, gap.cause, gap.device)}~${gap.start}~${gap.duration}`);
  await selected();
  await details.getByText(placeOf(gap.node), { exact: true }).first().waitFor();
  check((await details.innerText()).includes(timeline.causes[gap.cause].text), "gap: its cause");
  await shots("sourced-gap");

  // Samples in the gap name the lines of the program, as the server counts them.
  const samples = await rows(`samples?threads=${threads}&from=${gap.start}&to=${gap.start + gap.duration}`);
  check(samples.length > 0, "gap: the host was sampled in it");
  const seen = await page.evaluate(([kind, from, to]) => {
    const { scene } = window.gpuflTimeline;
    let count = 0;
    scene.lanes.forEach((one, index) => {
      if (one.kind !== kind) return;
      for (const { piece } of scene.segments(index)) {
        const at = scene.blockLane(index);
        for (let i = piece.events.offsets[at]; i < piece.events.offsets[at + 1]; i++) if (piece.events.start[i] < to && piece.events.start[i] + piece.events.duration[i] > from) count++;
      }
    });
    return count;
  }, [Number(STATE), gap.start, gap.start + gap.duration]);
  check(seen > 0, "gap: states of threads are drawn in it");

  // The choice of colours is part of the address, and changes the picture.
  const colours = () => page.evaluate(() => {
    const canvas = document.querySelector(".tl-canvas");
    const { data: px } = canvas.getContext("2d").getImageData(Math.round(canvas.width * 0.3), 60, Math.round(canvas.width * 0.6), canvas.height - 60);
    return new Uint32Array(px.buffer).reduce((sum, value) => Math.imul(sum, 31) + value, 7);
  });
  await open("");
  const pictures = new Map([["name", await colours()]]);
  for (const tint of ["scope", "stream", "line"]) {
    await page.getByLabel("Colour by").selectOption(tint);
    await page.waitForFunction((wanted) => window.gpuflTimeline.scene.tint === wanted && new URLSearchParams(location.search).get("colour") === wanted, tint);
    await until(page, () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))));
    pictures.set(tint, await colours());
  }
  check(new Set(pictures.values()).size === 4, `colours: each choice has a picture of its own: ${JSON.stringify([...pictures])}`);
  await shots("sourced-lines");

  // A range has its waiting lines, as the server reports them, and their flame graph.
  await open(`range=${Math.floor(waits.at(-1).start / 2)}-9000000000&of=lines`);
  const [from, to] = query("range").split("-").map(Number);
  await details.getByRole("button", { name: /^Lines that wait · \d/ }).waitFor();
  const inside = (await rows(`waits?from=${from}&to=${to}&limit=20000`)).filter((row) => BigInt(row.lane) >> 56n === WAIT);
  const sums = new Map();
  for (const row of inside) sums.set(lineOf(row.stack) ?? "not known", (sums.get(lineOf(row.stack) ?? "not known") ?? 0) + Math.max(0, Math.min(to, row.start + row.duration) - Math.max(from, row.start)));
  const [most] = [...sums].sort((a, b) => b[1] - a[1]);
  await details.locator(".tbody .tr, tbody tr, [role=row]").nth(1).waitFor();
  check((await details.innerText()).includes(most[0]), `range: the line that waits longest is ${most[0]}`);
  await shots("sourced-range-lines");

  // The range's kernels are distinguishable, are copied as shown, and one can be highlighted.
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  await details.getByRole("button", { name: /^Kernels · \d/ }).click();
  await details.locator("tbody tr").nth(1).waitFor();
  await t.legible(page, "range: kernels");
  const kernels = await answer(`kernels?from=${from}&to=${to}&limit=10000`);
  await details.getByRole("button", { name: "Copy as CSV" }).click();
  await details.getByRole("button", { name: "Copied" }).waitFor();
  const csv = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\n");
  const total = kernels.data.total.reduce((a, b) => a + b, 0);
  const cells = csv.slice(1).map((row) => row.match(/,(\d+),(\d+),(\d*),(\d*)$/).slice(1).map(Number));
  check(csv[0] === "name,calls,total_ns,mean_ns,longest_ns" && cells.length === kernels.rows && cells.reduce((sum, row) => sum + row[1], 0) === total, `range: what is copied: ${csv.slice(0, 3).join(" | ")}, ${cells.length} of ${kernels.rows} rows`);
  const one = details.locator("tbody tr").first();
  const whole = await one.locator("[data-name]").getAttribute("data-name");
  await one.getByRole("button", { name: /^These kernels only/ }).click();
  await page.waitForFunction((name) => new URLSearchParams(location.search).get("find") === name, whole.slice(0, 256));
  await page.waitForFunction(() => window.gpuflTimeline.scene.searching);
  check((await page.getByRole("searchbox", { name: "Search events" }).inputValue()) === whole.slice(0, 256), "range: the kernel stands in the search");
  await one.getByRole("button", { name: /^These kernels only/, pressed: true }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("find") && !window.gpuflTimeline.scene.searching);

  await details.getByRole("button", { name: "Flame", exact: true }).click();
  await details.locator("canvas").waitFor();
  check(query("of") === "flame", "range: the tab is in the address");
  await rangeFlame({ page, details, rows, shots, check, range: { from, to }, threads, waits: inside });

  await definition(key);

  t.expected.add(403); // a change with a share link is refused
  await page.setViewportSize({ width: 1280, height: 800 });
  await bookmarks({ page, context, session, open, shots, check, watch: t.watch, origin });
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("the timeline with source");
