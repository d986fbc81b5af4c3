// manage.mjs - the management of a server with the dashboard: settings by role, keys, links,
// invitations, uploads, deleting; and logins that end in the middle of work.
//   node tests/e2e/manage.mjs BIN DATA OUT
import { ACCOUNT, startServer } from "./server.mjs";
import { makeHarness, MARKUP, PATIENCE_MS, startBrowser } from "./harness.mjs";
import { settings } from "./steps_settings.mjs";
import { alerts, fleet, kernel, sessions } from "./steps_sessions.mjs";
import { host, kernels, memory, trends } from "./steps_views.mjs";
import { asked, counters, managed } from "./steps_profile.mjs";
import { upload } from "./steps_upload.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);

/** A browser of another person, or another browser of the same person. */
async function visitor() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", acceptDownloads: true });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
  const page = await context.newPage();
  t.watch(page, server.origin);
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}

const world = { ...t, server, visitor, data, bin, MARKUP, ACCOUNT };
world.see = (page, text) => page.getByText(text, { exact: false }).filter({ visible: true }).first().waitFor();
try {
  const page = await visitor();
  world.page = page;
  await page.goto(await server.printed(/first account at (\S+)/));
  for (const [name, value] of Object.entries(ACCOUNT)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button", { name: "Make the account" }).click();
  await world.see(page, "No sessions yet");
  await page.locator(".dot-live").waitFor(); // the worker's own policy allows requests to the server
  const steps = { settings, upload, fleet, sessions, memory, trends, host, kernels, kernel, counters, managed, asked, alerts };
  await t.walk(page, Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, () => step(world)])));
} catch (error) {
  await world.page?.screenshot({ path: `${out}/failed.png` }).catch(() => undefined);
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish();
