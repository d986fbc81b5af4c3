// sums.mjs - the page of sums over days: the numbers of the server, which stay when the sessions are deleted,
// one kernel day by day and by host, a year in few requests, and names that are distinguishable.
//   node tests/e2e/sums.mjs BIN DATA OUT
import path from "node:path";
import { makeHarness, MARKUP, PATIENCE_MS, shoot, startBrowser, themes, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { simulate } from "./sessions.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;

const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const numbers = (text) => Number(text.replace(/\D/g, ""));

const SIZES = [[1280, 800], [1600, 900], [3840, 2160]];

async function shots(page, name, sizes = SIZES) {
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    for (const theme of themes(width === 1280)) {
      await t.theme(page, theme);
      if (width === 1280) await t.accessible(page, `${name} ${theme}`, { colours: theme === "light" });
      await shoot(page, { path: path.join(out, `${name}-${width}-${theme}.png`), timeout: PATIENCE_MS });
      const cut = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      check(cut <= 0, `${name}: at ${width} px ${cut} px are cut off`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** The rows of the table: name, number of calls, number of sessions. */
const table = (page, label) =>
  page.locator(`[role=region][aria-label="${label}"] tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim())));

async function same(page, days, label, what) {
  await page.locator(`[role=region][aria-label="${label}"] tbody tr`).first().waitFor();
  const { rows } = await ask(page, `rollups?kind=kernel&${days}`);
  const shown = await table(page, label);
  check(rows.length > 2 && shown.length === rows.length, `${what}: ${shown.length} rows, the server has ${rows.length}`);
  const ordered = [...rows.filter((row) => row.name), ...rows.filter((row) => !row.name)];
  ordered.forEach((row, at) => {
    check(shown[at]?.[0] === (row.short_name || "All others of these sessions") && numbers(shown[at][5]) === row.sessions, `${what}: row ${at}: ${shown[at]}, not ${JSON.stringify(row)}`);
  });
  check(new Set(shown.map((cells) => cells[0])).size === shown.length, `${what}: two rows read alike`);
  return rows;
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, data);
  simulate(bin, ["--kernels", "2000", "--scopes", "--name", MARKUP], (folder) => server.upload(key, folder));
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 2);
  const sessions = (await ask(page, "sessions")).rows;
  const first = Math.min(...sessions.map((row) => Math.floor(Number(BigInt(row.started) / 86_400_000_000_000n))));
  const today = Math.floor(Date.now() / 86_400_000);
  const text = (day) => new Date(day * 86_400_000).toISOString().slice(0, 10);
  const from = Math.max(first, today - 1000);
  const days = `from=${from}&to=${today + 1}`;

  // The trends link to the page; its table has the server's numbers.
  await page.goto(`${origin}/trends`);
  await page.getByRole("link", { name: "Sums over days, with deleted sessions" }).click();
  await page.waitForURL("**/sums*");
  await page.goto(`${origin}/sums?from=${text(from)}&to=${text(today)}`);
  const before = await same(page, days, "Kernels", "sums");
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "sums: an application's name stays text");
  await shots(page, "sums");

  // One kernel has a bar for each day with a session, as many calls as the table says, and its host.
  const name = before[0].name;
  await page.locator('[role=region][aria-label="Kernels"] tbody a').first().click();
  await page.locator("svg.days").waitFor();
  check(new URL(page.url()).searchParams.get("name") === name, "sums: the kernel is in the address");
  const titles = await page.locator("svg.days title").evaluateAll((all) => all.map((one) => one.textContent));
  check(titles.length === today + 1 - from, `sums: ${titles.length} days, not ${today + 1 - from}`);
  const calls = titles.reduce((sum, one) => sum + numbers(/, ([^,]*) calls/.exec(one)[1]), 0);
  check(calls === before[0].calls || before[0].calls >= 10000, `sums: ${calls} calls in the bars, ${before[0].calls} in the table`);
  await page.getByRole("button", { name: "By host" }).click();
  await page.locator('[role=region][aria-label="By host"] tbody tr').first().waitFor();
  const hosts = await table(page, "By host");
  const wanted = new Set((await ask(page, `rollups/days?kind=kernel&name=${encodeURIComponent(name)}&by=host&${days}`)).rows.map((row) => row.name));
  check(hosts.length === wanted.size && hosts.every((cells) => wanted.has(cells[0])), `sums: hosts ${hosts}`);
  await shots(page, "sums-days");

  // The page can show one application alone; scopes are paths.
  await page.getByLabel("Application").selectOption(MARKUP);
  await until(page, (label) => document.querySelectorAll(`[role=region][aria-label="${label}"] tbody tr`).length > 0, "Kernels");
  check(new URL(page.url()).searchParams.get("app") === MARKUP, "sums: the application is in the address");
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/rollups\?kind=scope/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "Scopes" }).click();
  await page.locator(".skeleton").first().waitFor();
  check((await page.locator('[role=region][aria-label="Scopes"]').count()) === 0, "sums: kernels stand under the heading of scopes");
  release();
  await page.locator('[role=region][aria-label="Scopes"] tbody tr').first().waitFor();
  await page.unroute(/rollups\?kind=scope/);
  const scopes = await table(page, "Scopes");
  check(scopes.some((cells) => cells[0].includes("|")), "sums: scopes are paths");
  const heads = await page.locator('[role=region][aria-label="Scopes"] th').allInnerTexts();
  check(heads.length > 2 && !heads.some((head) => head.includes("Share")), `sums: a scope contains others and has no share: ${heads}`);

  // Sessions are deleted, and their sums stay.
  for (const { id } of sessions) await page.evaluate(async (id) => {
    const { csrf } = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch(`/api/v1/sessions/${id}`, { method: "DELETE", headers: { "X-CSRF-Token": csrf } });
    if (answer.status !== 204) throw new Error(`deleting: ${answer.status}`);
  }, id);
  await page.goto(`${origin}/sums?from=${text(from)}&to=${text(today)}`);
  const after = await same(page, days, "Kernels", "sums without sessions");
  check(JSON.stringify(after) === JSON.stringify(before), "sums: the same when the sessions are gone");

  // A year of the fleet takes two requests, whatever the number of hosts.
  const asked = [];
  page.on("request", (request) => /\/api\/v1\/(usage|fleet)\?/.test(request.url()) && asked.push(request.url()));
  await page.goto(`${origin}/?by=gpu&from=${text(today - 364)}&to=${text(today)}`);
  await page.locator("svg.days").waitFor();
  await page.locator(".days-part").first().waitFor();
  check(asked.length === 2 && asked.some((url) => url.includes("by=day")), `fleet: a year asks ${asked}`);
  check((await page.locator("svg.days title").count()) === 365, "fleet: a bar for each day of a year");
  await page.locator("svg.days").scrollIntoViewIfNeeded();
  await shots(page, "fleet-year", SIZES.slice(0, 1));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("sums");
