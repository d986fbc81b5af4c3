// gallery.mjs - every page that links lead to, in both themes at 1280, 1600 and 3840 px, with sessions of each kind. No table is
// clipped, nothing but text of programs scrolls sideways, no number is cut off, no two names and no two rows look alike,
// axe has no finding by any of its rules, and the console is empty. With GPUFL_WEB_PICTURES=1 the test takes pictures of everything
// for people to look at. Each view of each recorded session, and of a simulated one, fits a desk and a phone, too.
//   node tests/e2e/gallery.mjs BIN OUT SESSION...
import { crawl, rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { simulate } from "./sessions.mjs";

const [bin, out, ...sessions] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const SIMULATED = [
  ["--kernels", "20000", "--scopes", "--sample", "250", "--devices", "2", "--engine", "Deep", "--plant", "stall,divergence,uncoalesced,conflicts", "--name", "deep"],
  ["--kernels", "3000", "--engine", "SassMetrics", "--name", "counts"],
];

const PHONE = { width: 390, height: 844 };
const ONE_LINE = 44; // px: a line of buttons

/** The kernel of a session of two GPUs: its configurations and streams would read alike without their GPU. */
async function namesGpus(page, name) {
  for (const label of ["Launch configurations", "Launches"]) {
    const rows = await page.getByRole("region", { name: label }).or(page.locator(`.table[aria-label="${label}"], .table:has(caption:text-is("${label}"))`)).first().locator("tbody tr").allInnerTexts();
    t.check(rows.length > 2 && rows.every((row) => /GPU [01]/.test(row)), `${name}: ${label} without their GPU: ${rows.slice(0, 2)}`);
  }
}

/** The views of a session, and the page of its first kernel, fit the widths of a desk and of a phone. Views that need the screen's
 * height have a header of one line. */
async function fits(page, { id, app }) {
  await page.goto(`${origin}/sessions/${id}/insights`);
  await rest(page);
  const tabs = await page.locator("nav.tabs a").evaluateAll((all) => all.map((a) => new URL(a.href).pathname.split("/").at(-1)));
  t.check(tabs.length > 6, `${app}: views ${tabs}`);
  for (const tab of tabs) {
    const name = `${app}, ${tab}`;
    await page.goto(`${origin}/sessions/${id}/${tab}`);
    await rest(page);
    await t.legible(page, name);
    await t.whole(page, name);
    if (tab === "kernels") tabs.push(...(await page.locator("tbody td.lead a").evaluateAll((links) => links.slice(0, 1).map((link) => new URL(link.href).pathname.split("/").slice(3).join("/")))));
    if (tab.startsWith("kernels/")) await t.accessible(page, name); // the crawl sees one kernel's page
    if (tab.startsWith("kernels/") && app === "deep") await namesGpus(page, name);
    for (const width of [1280, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      const tall = await page.locator(".session-line").evaluateAll((all) => all.map((line) => line.querySelector(".row").getBoundingClientRect().height));
      t.check(tall.every((height) => height <= ONE_LINE) && tall.length === Number(["timeline", "kernels", "flame"].includes(tab)), `${name}: at ${width} px the header is ${tall} px high`);
    }
    await page.setViewportSize(PHONE);
    const fit = () => document.documentElement.scrollWidth <= innerWidth;
    await page.waitForFunction(fit).catch(() => undefined); // plots follow the width of their box
    t.check(await page.evaluate(fit), `${name}: wider than a phone: ${await page.evaluate(() => document.documentElement.scrollWidth)} px`);
    await page.setViewportSize({ width: 1280, height: 800 });
  }
}

/** Addresses with a query, which the crawl does not distinguish: of a run, of one kernel over sessions, of a part of the time, of a
 * search. Runs in the page. */
async function statesOf() {
  const { rows } = await (await fetch("/api/v1/sessions?limit=100")).json();
  const longest = rows.reduce((most, row) => (row.kernels > most.kernels ? row : most));
  const { mangled, data } = await (await fetch(`/api/v1/sessions/${longest.id}/kernels?limit=1`)).json();
  const run = rows.map((row) => row.labels?.run).find((one, at, all) => one && all.indexOf(one) !== at);
  return [
    `/trends?name=${encodeURIComponent(mangled[data.name[0]])}`,
    ...(run ? [`/runs/${run}`] : []),
    ...["/?view=table", "/trends?kind=scope", "/trends?kind=app", "/sums?kind=scope", "/sums?kind=line"],
    ...["timeline?range=1000000000-1200000000", "timeline?range=2000000000-3000000000&of=flame", "kernels?search=float", "kernels?group=template"].map((view) => `/sessions/${longest.id}/${view}`),
  ];
}

const nameOf = (path) => path.slice(1).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => id.slice(0, 4)).replace(/[^a-z0-9]+/gi, "-").slice(0, 60) || "fleet";

try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  await t.shots(page, "first-run");
  const key = await alertAndKey(page);
  for (const options of SIMULATED) simulate(bin, options, (folder) => server.upload(key, folder));
  for (const folder of sessions) server.upload(key, folder);
  await until(page, async (least) => {
    const { rows } = await (await fetch("/api/v1/sessions?limit=100")).json();
    return rows.length >= least && rows.every((row) => row.analyzed); // a folder has one or more sessions
  }, SIMULATED.length + sessions.length);
  const rows = await page.evaluate(async () => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.map((row) => row.id));
  const states = await page.evaluate(statesOf);
  const paths = await crawl(page, origin, ["/", `/compare?a=${rows[0]}&b=${rows[1]}`, ...states, ...rows.map((id) => `/sessions/${id}/insights`), "/login", "/share", "/invite", "/reset", "/no/such/page"], async (path) => {
    await rest(page);
    await t.shots(page, nameOf(path), { judged: true });
  });
  t.check(paths.length >= 25, `pages: ${paths.join(" ")}`);
  const whole = await page.evaluate(async () => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.filter((row) => !row.simulated || row.app === "deep").map(({ id, app }) => ({ id, app })));
  t.check(whole.length === rows.length - 1, `sessions: ${whole.map(({ app }) => app)}`);
  for (const session of whole) await fits(page, session);
  console.log(paths.join("\n"));
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("pictures of every page");
