// steps.mjs - the steps of two recorded runs: the page has as many rows as the report has steps, a row's link
// leads to the timeline with its range, slow steps show their differences; without steps the page says why.
//   node tests/e2e/steps.mjs BIN SCOPES SEQUENCE OUT
import path from "node:path";
import { rest } from "./crawl.mjs";
import { finished, makeHarness, PATIENCE_MS, shoot, startBrowser, themes, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { complete, send, session } from "./sessions.mjs";

const [bin, scopes, sequence, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE_MS);
t.watch(page, origin);

const LISTED = 10_000; // the most steps in a report

const ask = (address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const plain = (text) => text.replaceAll("\u202f", "").replace(/\s+/g, " ").trim();
const isAnalyzed = (id) => until(page, async (of) => (await (await fetch(`/api/v1/sessions/${of}`)).json()).analyzed, id);

async function shots(name) {
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: width === 1280 ? 800 : 900 });
    for (const theme of themes(width === 1280)) {
      await t.theme(page, theme);
      if (width === 1280) await t.accessible(page, `${name} ${theme}`, { colours: theme === "light" });
      await shoot(page, { path: path.join(out, `${name}-${width}-${theme}.png`), fullPage: width === 1280 });
    }
    check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: wider than the page at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** Compares the page of a session's steps with the report. */
async function view(id, name, rule) {
  await page.goto(`${origin}/sessions/${id}/steps`);
  await page.locator(".uplot canvas").first().waitFor();
  await rest(page);
  const { steps } = await ask(`sessions/${id}/steps`);
  const found = plain(await page.locator(".steps-found").innerText());
  check(found.startsWith(`${steps.count} steps with a median of`) && found.includes(rule), `${name}: summary: ${found}`);
  const rows = Number(await page.locator(".table table").getAttribute("aria-rowcount")) - 1;
  check(rows === steps.items.length && rows > 100, `${name}: ${rows} rows of ${steps.items.length}`);
  check((await page.locator(".table tbody tr").count()) < 100, `${name}: rows out of view are in the page`);
  const longest = steps.items.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a));
  const first = page.locator(".table tbody tr[aria-rowindex='2']");
  const said = plain(await first.innerText());
  check(said.startsWith(`${steps.items.indexOf(longest) + 1} `) && /slow .*idle \+/.test(said), `${name}: the longest step comes first and says why: ${said}`);
  // Below the plot are the keys of its colours, and values only while the pointer is on it.
  const keys = plain(await page.locator(".u-legend").innerText());
  check(keys.includes("GPU busy") && !keys.includes("–"), `${name}: keys of the plot: ${keys}`);
  check((await page.locator(".plot-values").innerText()) === "Point at a step to see its numbers.", `${name}: values where nothing is pointed at`);
  await page.locator(".u-over").hover();
  await page.waitForFunction(() => /^Step .+: .+, GPU busy .+/.test(document.querySelector(".plot-values").textContent));
  await page.mouse.move(0, 0);
  await page.waitForFunction(() => document.querySelector(".plot-values").textContent.startsWith("Point at a step"));
  await shots(name);
  return { steps, longest, first };
}

async function onTimeline({ longest, first }, name) {
  await first.getByRole("link").click();
  await page.waitForURL(/\/timeline\?/);
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0);
  const range = new URL(page.url()).searchParams.get("range");
  const end = longest.start_ns + longest.duration_ns;
  check(range === `${longest.start_ns}-${end}`, `${name}: range ${range} for ${longest.start_ns}-${end}`);
  const shown = await page.evaluate(() => window.gpuflTimeline.scene.view);
  check(shown.from < longest.start_ns && shown.to > end && shown.to - shown.from < 4 * longest.duration_ns, `${name}: the step fills a part of the timeline: ${JSON.stringify(shown)}`);
  await page.locator(".tl-range, .tl-below").first().waitFor();
  await shoot(page, { path: path.join(out, `steps-${name}-timeline.png`) });
}

async function sorted(id) {
  await page.goto(`${origin}/sessions/${id}/steps`);
  await page.getByRole("button", { name: /^Step/ }).click();
  await page.waitForURL(/sort=number/);
  const first = page.locator(".table tbody tr[aria-rowindex='2'] td").first();
  check((await first.innerText()).trim() === "1", `sorted by number: ${await first.innerText()}`);
  await page.getByRole("button", { name: /^Kernels/ }).click();
  await page.waitForURL(/sort=kernels/);
}

/** Each step is compared with the one whose number is typed, until the median one is chosen again. */
async function compared(id) {
  await page.goto(`${origin}/sessions/${id}/steps`);
  const { steps } = await ask(`sessions/${id}/steps`);
  const field = page.getByLabel("Compare with step");
  const usual = await field.inputValue();
  await field.fill("");
  await field.pressSequentially("50");
  await page.waitForURL(/with=50/);
  await page.getByText("Differences of each step are relative to step 50.").waitFor();
  await page.getByRole("button", { name: /^Step/ }).click();
  const [first, base] = steps.items.map(({ idle_ns }) => idle_ns).filter((_, at) => at === 0 || at === 49);
  const said = plain(await page.locator(".table tbody tr[aria-rowindex='2']").innerText());
  check(said.includes(first > base ? "idle +" : "idle −"), `compared: step 1 with step 50: ${said}`);
  await page.getByRole("button", { name: /^Duration/ }).click();
  await page.getByText("compared with", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Compare with the median step" }).click();
  await page.waitForFunction((number) => document.querySelector("input[type=number]").value === number && !location.search.includes("with="), usual);
}

/** With more steps than a report lists the page shows those that it gets, and says so. */
async function many(key) {
  const made = session("many-steps", "long");
  const at = Array.from({ length: LISTED + 2000 }, (_, n) => n * 100_000);
  await send(origin, key, made, "device", made.kernels(at.map((start, n) => [start + 10_000, n === 4321 ? 80_000 : 60_000, 1, 0]), { streams: 1, names: ["_Z4lonev"] }));
  await send(origin, key, made, "scope", made.scopes(at.map((start) => [start, 95_000, 0]), ["step"]));
  await send(origin, key, made, "system", made.end(at.length * 100_000));
  await complete(origin, key, made);
  await isAnalyzed(made.id);
  await page.goto(`${origin}/sessions/${made.id}/steps`);
  await page.locator(".uplot canvas").first().waitFor();
  const text = plain(await page.locator("main").innerText());
  check(text.includes(`The first ${LISTED} of ${at.length} steps are shown.`), `many: ${text.slice(0, 600)}`);
  check((await page.locator(".table table").getAttribute("aria-rowcount")) === String(LISTED + 1), "many: rows");
}

/** Three kernels of one name are not steps. */
async function none(key) {
  const made = session("no-steps", "once");
  await send(origin, key, made, "device", made.kernels([[0, 1e6, 1, 0], [3e6, 1e6, 1, 0], [9e6, 1e6, 1, 0]], { streams: 1, names: ["_Z4oncev"] }));
  await send(origin, key, made, "system", made.end(1e9));
  await complete(origin, key, made);
  await isAnalyzed(made.id);
  await page.goto(`${origin}/sessions/${made.id}/steps`);
  await page.getByText("No scope and no sequence of kernels repeats").waitFor();
  await t.accessible(page, "steps-none");
}

try {
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, scopes);
  server.upload(key, sequence);
  await until(page, async () => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.filter((row) => row.analyzed).length === 2);
  const { rows } = await ask("sessions?limit=100");
  for (const { id } of rows) await finished(page, id);
  const kinds = await Promise.all(rows.map(async ({ id }) => [(await ask(`sessions/${id}/steps`)).steps.by, id]));
  const { scope: byScope, sequence: bySequence } = Object.fromEntries(kinds);
  const training = await view(bySequence, "steps-sequence", "by the sequence of kernels, where each step ends with the optimizer");
  await onTimeline(training, "sequence");
  const loop = await view(byScope, "steps-scope", 'by the scope "train_step"');
  await onTimeline(loop, "scope");
  await sorted(byScope);
  await compared(bySequence);
  await many(key);
  await none(key);
} catch (error) {
  await page.screenshot({ path: path.join(out, "failed-steps.png") }).catch(() => undefined);
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("steps");
