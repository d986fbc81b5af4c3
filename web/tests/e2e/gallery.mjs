// gallery.mjs - every page that links lead to as pictures for people to look at, in both themes at 1280, 1600 and 3840
// px, with sessions of each kind. What a program can judge is judged: nothing is wider than the page, no number is cut off,
// and no two names read alike.
//   GPUFL_WEB_PICTURES=1 node tests/e2e/gallery.mjs BIN OUT SESSION...
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
    return rows.length >= least && rows.every((row) => row.analyzed);
  }, SIMULATED.length + sessions.length);
  const rows = await page.evaluate(async () => (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.map((row) => row.id));
  const paths = await crawl(page, origin, ["/", `/compare?a=${rows[0]}&b=${rows[1]}`, ...rows.map((id) => `/sessions/${id}/insights`), "/login", "/share", "/invite", "/reset", "/no/such/page"], async (path) => {
    await rest(page);
    await t.shots(page, nameOf(path), { judged: true });
  });
  console.log(paths.join("\n"));
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("pictures of every page");
