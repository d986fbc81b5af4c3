// places.mjs - every finding of every recorded session of the repository, in the browser: one click leads to its own longest event,
// which is marked. tests/e2e/longest.py checks that the report names the right event.
//   node tests/e2e/places.mjs BIN OUT FOLDER... (folders of recorded sessions)
import { readdirSync } from "node:fs";
import path from "node:path";
import { makeHarness, PATIENCE_MS, startBrowser } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { ownPlaces } from "./steps_places.mjs";

const [bin, out, ...folders] = process.argv.slice(2);
const LEAST = 330; // places of all recorded sessions; with fewer, some were not visited
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const recorded = folders.flatMap((folder) => readdirSync(folder, { withFileTypes: true }).filter((one) => one.isDirectory()).map(({ name }) => path.join(folder, name)));

try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  for (const folder of recorded) server.upload(key, folder);
  const list = () => page.evaluate(async () => {
    const rows = [];
    for (let next = ""; next !== null; ) {
      const page = await (await fetch(`/api/v1/sessions?limit=50${next && `&after=${encodeURIComponent(next)}`}`)).json();
      rows.push(...page.rows);
      next = page.next;
    }
    return rows.map(({ id, app, analyzed }) => ({ id, app, analyzed }));
  });
  let sessions = [];
  for (const end = Date.now() + 4 * PATIENCE_MS; Date.now() < end && !(sessions.length >= recorded.length && sessions.every(({ analyzed }) => analyzed)); await page.waitForTimeout(500)) sessions = await list();
  t.check(sessions.length >= recorded.length && sessions.every(({ analyzed }) => analyzed), `${sessions.length} sessions of ${recorded.length} folders, not analysed: ${sessions.filter(({ analyzed }) => !analyzed).map(({ app }) => app)}`);
  let places = 0;
  for (const { id, app } of sessions)
    try {
      places += await ownPlaces({ page, origin, check: t.check }, id, `${app} (${id.slice(0, 8)})`, { every: true });
    } catch (error) {
      t.wrong.push(`${app}: ${String(error?.stack ?? error)}`);
    }
  t.check(places >= LEAST, `${places} places of findings`);
  console.log(`${places} places of findings of ${sessions.length} sessions`);
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("places");
