// steps_views.mjs - views of a session and of many that need sessions of their own: memory, trends,
// kernels in groups, a host.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { complete, send, session } from "./sessions.mjs";

/** Makes a key to send with, as the settings do. */
export const keyOf = (page) =>
  page.evaluate(async () => {
    const me = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch("/api/v1/keys", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf }, body: JSON.stringify({ name: "views", scopes: "ingest" }) });
    return (await answer.json()).key;
  });

/** Asks the server, through the page, until the condition holds. waitForFunction would take a promise for true. */
async function until(page, condition, argument) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    if (await page.evaluate(condition, argument)) return;
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  throw new Error(`never came true: ${condition} of ${JSON.stringify(argument)}`);
}

/** Waits until the server has these rows in its columns. */
const loaded = (page, made, record, rows) =>
  until(
    page,
    async ([id, name, wanted]) => {
      const answer = await (await fetch(`/api/v1/sessions/${id}/counts`)).json();
      return answer.data !== undefined && answer.data.rows[answer.data.record.indexOf(name)] >= wanted;
    },
    [made.id, record, rows],
  );

const MIB = 2 ** 20;

export async function memory({ page, server, see, check, picture, data }) {
  const key = await keyOf(page);
  const made = session("views-memory", "holds memory");
  const kernels = made.kernels([[0, 4e8, 1, 0], [5e8, 4e8, 1, 0]], { streams: 1, names: ["_Z1av"] });
  const held = made.allocations([[1e8, 64 * MIB, 0x1000], [2e8, 128 * MIB, 0x2000], [3e8, -128 * MIB, 0x2000], [7e8, 32 * MIB, 0x3000]]);
  await send(server.origin, key, made, "device", kernels + held + made.counters("sm__warps_active.avg.pct_of_peak_sustained_active", Array.from({ length: 100 }, (_, at) => 40 + (at % 20))));
  await send(server.origin, key, made, "system", made.end(1e9));
  await complete(server.origin, key, made);
  server.upload(key, data);
  await loaded(page, made, "alloc", 4);
  await page.goto(`${server.origin}/sessions/${made.id}/memory`);
  await page.locator(".uplot canvas").first().waitFor();
  const numbers = await page.locator(".panel .stats").last().innerText();
  check(numbers.includes("192 MiB") && numbers.includes("96.0 MiB"), `memory: peak and what is held at the end: ${numbers.replaceAll("\n", " ")}`);
  await see(page, "No copies were recorded");
  await picture(page, "memory-allocations");

  // A dragged range is in the address, and links to the timeline keep it; allocations have a row there.
  await page.locator(".u-over").first().scrollIntoViewIfNeeded();
  const plot = await page.locator(".u-over").first().boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 60);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 62, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  const [from, to] = new URL(page.url()).searchParams.get("at").split("-").map(Number);
  check(from > 2e8 && to < 6e8, `memory: the dragged range (${from} to ${to})`);
  await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60);
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0);
  check(await page.evaluate(([a, b]) => Math.abs(window.gpuflTimeline.scene.view.from - a) < 2 && Math.abs(window.gpuflTimeline.scene.view.to - b) < 2, [from, to]), "memory: the timeline shows the same part");
  const pointed = await page.evaluate(() => window.gpuflTimeline.scene.pointed);
  check(pointed > from && pointed < to, `memory: the cross-hair is on the timeline (${pointed})`);
  await page.waitForFunction(() => window.gpuflTimeline.scene.tracks.some((track) => track.key === "d1.allocated" && window.gpuflTimeline.scene.points(track).some(({ piece }) => piece.points?.at.length)));
  await page.waitForFunction(() => window.gpuflTimeline.scene.tracks.some((track) => track.key.startsWith("d1.counter.") && window.gpuflTimeline.scene.points(track).some(({ piece }) => piece.points?.at.length)));
  await picture(page, "timeline-allocations", { wide: false });
  await page.getByRole("link", { name: "System", exact: true }).click();
  await see(page, "sm__warps_active.avg");
  await page.locator(".uplot canvas").first().waitFor();
  await picture(page, "system-counters", { wide: false });
  await page.getByRole("link", { name: "Memory", exact: true }).click();
  await page.getByRole("button", { name: "Whole session" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));

  // The recorded session's copies, and its trace for Perfetto.
  const h200 = "93a55c5d-90e8-4530-af02-a0335ad05a21";
  await page.goto(`${server.origin}/sessions/${h200}/memory`);
  const row = page.getByRole("row").filter({ hasText: "Host to device" }).first();
  await row.waitFor();
  check((await row.innerText()).replaceAll("\u202f", "").split(/\s+/).join(" ").includes("pinned device 1000 500 MiB"), "memory: copies by kind");
  await picture(page, "memory");
  await page.goto(`${server.origin}/sessions/${h200}/raw`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download Perfetto and Chrome" }).click()]);
  check((await file.failure()) === null && file.suggestedFilename().endsWith(".trace.json"), "raw: the trace is downloaded");
}

const DAY = 86_400n * 1_000_000_000n;
const MATMUL = "_Z6matmulPKfS0_Pf";

/** Sends sessions of a program that runs every day on two hosts. It is slower from the 15th run on; the sixth run alone is slow. */
async function nightly({ page, server }) {
  const key = await keyOf(page);
  const now = BigInt(Date.now()) * 1_000_000n;
  for (let run = 0; run < 28; run++) {
    const host = run % 3 ? "night-a" : "night-b";
    const slow = (run >= 14 ? 1.3 : 1) * (run === 5 ? 1.6 : 1) * (1 + ((run * 7) % 5) * 0.004);
    const made = session(`views-night-${run}`, "nightly", { host, gpu: `GPU-${host}`, real: now - DAY * BigInt(27 - run) });
    const kernels = Array.from({ length: 40 }, (_, at) => [at * 2_000_000, Math.round(1e6 * slow), 1, at % 2]);
    await send(server.origin, key, made, "device", made.kernels(kernels, { streams: 1, names: [MATMUL, "_Z4reluPfi"] }));
    await send(server.origin, key, made, "scope", made.scopes([[0, Math.round(9e7 * slow), 0], [10, Math.round(8e7 * slow), 1]], ["epoch", "step"], [0, 1]));
    await send(server.origin, key, made, "system", made.end(Math.round(1e8 * slow)));
    await complete(server.origin, key, made);
  }
  await until(page, async (name) => ((await (await fetch(`/api/v1/history?name=${name}&app=nightly`)).json()).session_count ?? 0) >= 28, MATMUL);
}

/** GPUs are shown by their model as well; the width that is left goes to texts, not to the date. */
async function sessionRows({ page, check }) {
  const rows = page.getByRole("region", { name: "Sessions", exact: true });
  check(/\S+ · GPU-night-[ab]/.test(await rows.locator("tbody tr").first().innerText()), `trends: model and UUID of a GPU: ${await rows.locator("tbody tr").first().innerText()}`);
  const wide = await rows.locator("thead th").evaluateAll((heads) => heads.map((head) => head.getBoundingClientRect().width));
  const cut = await rows.locator("tbody tr").first().locator("td").evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText));
  check(wide[0] < 180 && wide[3] >= wide[0] && cut.length === 0, `trends: widths of the columns: ${wide}, cut: ${cut}`);
}

/** Dots have tips, and lead to their session. */
async function dots({ page, see, check, picture }) {
  const box = await page.locator(".trend-box").boundingBox();
  await page.mouse.move(box.x + box.width - 1, box.y + box.height * 0.45);
  for (let down = 0.05; down < 1 && !(await page.locator(".trend-tip").count()); down += 0.05) await page.mouse.move(box.x + box.width - 2, box.y + box.height * down);
  check((await page.locator(".trend-tip").innerText()).includes("nightly"), "trends: a dot says which session it is");
  await page.getByRole("button", { name: "Days", exact: true }).click();
  await page.waitForURL(/by=day/);
  await page.locator(".trend-dot").first().waitFor({ state: "attached" });
  await picture(page, "trends-days", { wide: false });
  await page.getByRole("button", { name: "By date" }).click();
  await page.getByRole("link", { name: "Compare before and after" }).click();
  await see(page, "Runs as a whole");
  check(new URL(page.url()).searchParams.get("a").split(",").length === 8, "trends: eight sessions before the step are compared");
}

/** Pages of a kernel, a scope and a session link to trends; scopes and applications have trends of their own. */
async function toTrends({ page, server, see, check }) {
  await page.goto(`${server.origin}/sessions/views-night-20/kernels`);
  await page.getByRole("link", { name: "matmul" }).first().click();
  await page.getByRole("link", { name: "Trends of this" }).click();
  await page.locator(".trend-dot").first().waitFor({ state: "attached" });
  check(new URL(page.url()).searchParams.get("name") === MATMUL, "trends: reached from the kernel");
  await page.goto(`${server.origin}/sessions/views-night-20/scopes`);
  await page.getByRole("link", { name: "The trend of scope step over sessions and days" }).click();
  await page.locator(".trend-level").first().waitFor({ state: "attached" });
  check(new URL(page.url()).searchParams.get("name") === "epoch|step", "trends: a scope goes by its path");
  await page.goto(`${server.origin}/sessions/views-night-20/raw`);
  await page.getByRole("link", { name: "Trends of this" }).click();
  await see(page, "A run now takes");
}

/** One session has no verdict about a change. */
async function few({ page, server, see, check }) {
  await page.goto(`${server.origin}/trends?kind=app&name=nightly&from=${new Date(Date.now() - 864e5).toISOString().slice(0, 10)}`);
  await see(page, "too few to find a step, which takes 16");
  const level = await page.locator(".stat").filter({ hasText: /^A run now takes/ }).innerText();
  check(!level.includes("after the last step") && (await page.getByText("more than chance").count()) === 0, `trends: a verdict about few sessions: ${level}`);
  await page.goto(`${server.origin}/trends?kind=app`);
  await page.getByRole("columnheader").first().waitFor();
  const heads = await page.getByRole("columnheader").allInnerTexts();
  check(heads.some((head) => head.startsWith("Sessions")) && !heads.some((head) => head.startsWith("Calls")), `trends: applications have sessions, and no calls: ${heads}`);
}

export async function trends(world) {
  const { page, server, see, check, picture, MARKUP } = world;
  await page.goto(server.origin);
  await nightly({ page, server });
  await page.goto(server.origin);
  await page.getByRole("link", { name: "Trends", exact: true }).click();
  await page.getByRole("link", { name: "matmul" }).first().waitFor();
  await picture(page, "trends-choose");
  await page.getByRole("searchbox", { name: "Search what to follow" }).fill("matmulPKfS0");
  await page.waitForURL(/search=/);
  await page.getByRole("link", { name: "matmul" }).first().click();
  await page.getByRole("combobox", { name: "Application" }).selectOption("nightly");
  await see(page, "Compare before and after");
  const last = await page.locator(".stat").filter({ hasText: /^Last step/ }).innerText();
  check(/\+(29|30|31)\.\d %/.test(last), `trends: the step is found: ${last}`);
  check((await page.locator(".trend-mark").count()) === 1, "trends: the step is in the picture");
  check(Number((await page.locator(".stat").filter({ hasText: /^Outlying/ }).locator("dd").innerText()).trim()) >= 1, "trends: the slow run stands out");
  await picture(page, "trends");
  await sessionRows(world);
  await dots(world);
  await toTrends(world);
  await few(world);
  await page.goto(`${server.origin}/trends?kind=app&name=${encodeURIComponent(MARKUP)}`);
  await see(page, "No session has this");
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "trends: a name in the address stays text");
}

export async function host({ page, server, see, check, picture }) {
  await page.goto(server.origin);
  await page.getByRole("link", { name: "night-a" }).first().click();
  await see(page, "Usage over days");
  await page.locator(".gpu-card").first().waitFor();
  await page.locator(".days-wall").first().waitFor({ state: "attached" });
  const rows = await page.getByRole("region", { name: "Sessions in these days" }).locator("tbody tr").count();
  check(rows >= 17, `host: its sessions of these days (${rows})`);
  await picture(page, "host");
  await page.locator("svg.days").scrollIntoViewIfNeeded(); // below the host's GPUs and captures
  const box = await page.locator("svg.days").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/from=/);
  await page.waitForFunction((before) => document.querySelectorAll("[aria-label='Sessions in these days'] tbody tr").length < before, rows);
  await page.goto(`${server.origin}/hosts/never-seen`);
  await see(page, "This host is not known now");
  await see(page, "No session of this host");
}

/** The table of kernels: columns besides times, groups, and launches below. */
export async function kernels({ page, server, see, check, picture, bin }) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-kernels-"));
  try {
    const made = spawnSync(path.join(bin, "gpufl"), ["sim", "--name", "grouped", "-o", folder, "--kernels", "20000", "--engine", "PcSampling", "--plant", "stall"], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(`gpufl sim: ${made.stderr}`);
    server.upload(await keyOf(page), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  await page.goto(`${server.origin}/sessions?text=grouped`);
  await page.getByRole("link", { name: "grouped" }).first().click();
  await see(page, "Findings, by what");
  const session = page.url().split("/")[4];
  await page.goto(`${server.origin}/sessions/${session}/kernels`);
  const row = (name) => page.getByRole("row").filter({ hasText: name });
  await page.getByRole("columnheader", { name: "Waits most for" }).first().waitFor();
  const planted = await row("flash_backward_dq").first().innerText();
  check(planted.includes("long_scoreboard") && /regs/.test(planted), `kernels: occupancy's limit and the planted stall: ${planted.replace(/\s+/g, " ")}`);
  await page.getByRole("button", { name: "Registers" }).click();
  await page.waitForURL(/sort=registers/);
  await picture(page, "kernels-all");
  const each = Number(await page.locator(".table table").first().getAttribute("aria-rowcount"));
  await page.getByRole("button", { name: "Without template arguments" }).click();
  const group = page.locator(".table").first().getByRole("button", { name: /gemm_kernel/ });
  await group.waitFor();
  const closed = Number(await page.locator(".table table").first().getAttribute("aria-rowcount"));
  check(closed < each, `kernels: ${closed - 1} groups of ${each - 1}`);
  await group.click();
  await page.locator(".kernel-inner").first().waitFor();
  await picture(page, "kernels-groups");
  check(/^\d+$/.test(new URL(page.url()).searchParams.get("open") ?? ""), "kernels: the open group is in the address");
  await page.reload();
  await page.locator(".kernel-inner").first().waitFor();
  await page.getByRole("button", { name: /^train::gemm::gemm_kernel \d+$/ }).click();
  await page.locator(".kernel-inner").first().waitFor({ state: "detached" });
  check(!new URL(page.url()).searchParams.has("open"), "kernels: a group that is closed is out of it");
  await page.getByRole("button", { name: "By patterns" }).click();
  await page.getByRole("searchbox", { name: "Patterns of names" }).fill("gemm, *norm*");
  await page.getByRole("button", { name: "*norm*" }).waitFor();
  await page.getByRole("button", { name: "(others)" }).waitFor();
  check(new URL(page.url()).searchParams.get("patterns") === "gemm, *norm*", "kernels: the patterns are in the address");
  await page.getByRole("link", { name: "Waits", exact: true }).click();
  await page.waitForURL(/syncs/);
  await page.getByRole("link", { name: "Kernels", exact: true }).click();
  await page.getByRole("button", { name: "*norm*" }).waitFor();
  check(new URL(page.url()).searchParams.get("patterns") === "gemm, *norm*", "kernels: a tab is come back to as it was left");
  await page.getByRole("button", { name: "Each kernel" }).click();
  await page.getByRole("button", { name: /^Launches of train::attention::flash_backward_dq/ }).click();
  await page.locator(".histogram rect").first().waitFor();
  await page.locator(".launch-start").first().waitFor();
  check(new URL(page.url()).searchParams.has("peek"), "kernels: whose launches are shown is in the address");
  await page.locator(".histogram").scrollIntoViewIfNeeded();
  await picture(page, "kernels-launches", { wide: false });
  await page.locator(".launch-start").first().click();
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0);
}
