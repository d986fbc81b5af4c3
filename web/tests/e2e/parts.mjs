// parts.mjs - how a page loads: its parts are shown as soon as they arrive, without a timer in between, and a
// kernel's page asks at once for its data, and for nothing twice.
//   node tests/e2e/parts.mjs BIN LOGS OUT
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";

const [bin, logs, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });

const first = (page) => page.evaluate(async () => (await (await fetch("/api/v1/sessions?limit=1")).json()).rows[0]);

/** While the page's clock is stopped no timer ends: what is shown then has waited for none. */
async function noTimer(page) {
  const { id } = await first(page);
  const fresh = await context.newPage();
  t.watch(fresh, origin);
  fresh.setDefaultTimeout(PATIENCE_MS);
  await fresh.goto(origin); // the page uses the login of the context's cookie
  await rest(fresh);
  await fresh.clock.install({ time: Date.now() });
  await fresh.clock.pauseAt(Date.now() + 60_000);
  const shown = async (address, selector) => {
    await fresh.goto(origin + address);
    const there = await fresh.locator(selector).first().waitFor().then(() => true, () => false);
    check(there, `${address} waits for a timer before ${selector} is shown`);
  };
  await shown(`/sessions/${id}/insights`, "main .finding");
  await shown(`/sessions/${id}/kernels`, "main .table tbody tr");
  await shown(`/sessions`, "main .table tbody tr");
  await fresh.close();
}

/** The kernel's launches are requested before its own row has arrived, and no list of kernels is requested. */
async function kernel(page) {
  const { id } = await first(page);
  const list = await page.evaluate(async (session) => (await (await fetch(`/api/v1/sessions/${session}/kernels?limit=1`)).json()).data, id);
  const name = list.name_id[0];
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url())));
  await page.route(/\/kernels\?/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${origin}/sessions/${id}/kernels/${name}`);
  await page.locator(".launch-start").first().waitFor();
  check((await page.locator(".kernel-name").count()) === 0, "kernel: its launches are there before its name");
  release();
  await page.locator(".kernel-name").waitFor();
  await rest(page);
  await page.unroute(/\/kernels\?/);
  const api = asked.filter((url) => url.pathname.startsWith("/api/"));
  const twice = api.map((url) => url.pathname + url.search).filter((url, at, all) => all.indexOf(url) !== at);
  check(twice.length === 0, `kernel: asked twice: ${twice.join(" ")}`);
  const lists = api.filter((url) => url.pathname.endsWith("/kernels")).map((url) => url.searchParams.get("limit"));
  check(lists.join() === "1", `kernel: kernels asked for: ${lists.join()}`);
  // After a click in the list the page's head is shown at once.
  await page.goto(`${origin}/sessions/${id}/kernels`);
  await page.locator(".table tbody tr a").first().waitFor();
  const never = new Promise(() => undefined);
  await page.route(/\/kernels\?name=/, () => never);
  await page.locator(".table tbody tr a").first().click();
  await page.locator(".kernel-name").waitFor();
  await page.locator(".launch-start").first().waitFor();
  check((await page.locator(".stats").innerText()).includes("Calls"), "kernel: what the list has said of it");
  await page.unroute(/\/kernels\?name=/);
}

try {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, logs);
  await until(page, async () => (await (await fetch("/api/v1/sessions?limit=10")).json()).rows.some((row) => row.analyzed));
  await t.walk(page, { noTimer, kernel });
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("parts");
