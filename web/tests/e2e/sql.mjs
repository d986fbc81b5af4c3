// sql.mjs - the page that asks in SQL: completion from the server's own tables, the ten ready questions,
// the place of an error, table and plot, the address as a link, and the files of an answer. CSV and
// Parquet are read again, Parquet by DuckDB (LIBRARY: its shared library; without it this part is left out).
//   node tests/e2e/sql.mjs BIN DATA OUT [LIBRARY]
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";

const [bin, data, out, library] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const QUESTIONS = JSON.parse(readFileSync(path.join(here, "../../src/pages/sql/questions.json"), "utf8"));
const HOSTILE = `<img src=x onerror="document.title='taken'">`;
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { check } = t;
const { origin } = server;
let at; // the page, for a picture after a failure
t.expected.add(400); // statements that are wrong on purpose
t.expected.add(429); // one statement a workspace at once: the page asks again

const editor = (page) => page.getByRole("textbox", { name: "Statement" });
const settled = (page) => until(page, () => !document.querySelector(".button-main:disabled"));

async function write(page, statement) {
  await editor(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(statement);
  await page.keyboard.press("Escape"); // of the list of names
  await Promise.all([page.waitForResponse((r) => r.url().includes("/api/v1/sql") && r.request().postDataJSON()?.sql === statement && r.status() !== 429), page.keyboard.press("Control+Enter")]);
  await settled(page);
}

async function taken(page, button) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button, exact: true }).click()]);
  return file.path();
}

/** The editor and the list of tables, which load late, push nothing down that is already visible. */
async function stands(page) {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  for (const late of [/\/assets\/Editor-/, /\/sql\/tables/])
    await page.route(late, async (route) => {
      await held;
      await route.continue();
    });
  await page.goto(`${origin}/sql`);
  await page.getByText("train_loop ·").first().waitFor();
  await page.getByText("Nothing asked yet").waitFor();
  const tops = () => page.evaluate(() => [...document.querySelectorAll(".sql-page h2, .sql-page .button-main")].map((part) => [part.innerText, part.getBoundingClientRect().top]));
  const before = await tops();
  release();
  await editor(page).waitFor();
  await page.getByRole("region", { name: "Tables and columns" }).getByText("kernels", { exact: true }).first().waitFor();
  const after = new Map(await tops());
  for (const [what, top] of before) check(Math.abs(after.get(what) - top) < 1, `${what} stood at ${top} px and stands at ${after.get(what)} px`);
  check(before.length >= 2, `parts that stood before: ${JSON.stringify(before)}`);
  await page.unroute(/\/assets\/Editor-/);
  await page.unroute(/\/sql\/tables/);
}

async function completes(page) {
  await editor(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT * FROM kern");
  await page.locator(".cm-tooltip-autocomplete").getByText("kernels", { exact: true }).waitFor();
  check(new URL(page.url()).pathname === "/sql", "letters in the editor are no commands of the page");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT k.regi");
  await page.keyboard.insertText(" FROM kernels k");
  for (let i = 0; i < " FROM kernels k".length; i++) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete").getByText("registers", { exact: true }).waitFor();
  await t.accessible(page, "sql, completing");
  await page.keyboard.press("Enter");
  check((await editor(page).innerText()).includes("k.registers FROM kernels k"), "a column is completed");
}

async function wrongPlace(page) {
  await write(page, "SELECT name,\n  duratio\nFROM kernels");
  await page.getByRole("alert").waitFor();
  const said = await page.getByRole("alert").innerText();
  check(said.includes("duratio") && said.includes("Line 2, column 3") && !said.includes("LINE 2"), `the error has a place: ${said}`);
  check((await page.locator(".cm-wrong").innerText()) === "duratio", "the word is marked");
  await t.accessible(page, "sql, an error");
  await page.getByRole("button", { name: "Go there" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("n");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("status").filter({ hasText: "rows" }).waitFor();
  check((await page.locator(".cm-wrong").count()) === 0 && (await page.getByRole("alert").count()) === 0, "the error goes with its cause");
}

async function questions(page) {
  for (const question of QUESTIONS) {
    await page.getByRole("button", { name: question.title }).click();
    await until(page, (id) => new URLSearchParams(location.search).get("q") === id, question.id);
    await until(page, () => !document.querySelector(".button-main:disabled") && document.querySelector("[role=alert], main tbody tr"));
    check((await page.locator("main tbody tr").count()) > 0, `${question.title}: rows`);
    await page.getByRole("button", { name: "Plot", exact: true }).click();
    await page.locator(question.plot === "bars" ? ".sql-bars li" : ".plot canvas").first().waitFor();
    check((await page.locator(".u-legend").count()) === 0, `${question.title}: a key of colours with empty values`);
    if (question.id === "kernels") await t.picture(page, "sql-kernels", { wide: false });
    await page.getByRole("button", { name: "Table", exact: true }).click();
  }
}

async function link(page) {
  await page.getByRole("button", { name: "Kernels that take most time" }).click();
  await page.getByRole("button", { name: "Plot", exact: true }).click();
  await page.getByLabel("Up").selectOption("calls");
  await page.locator(".sql-bars li").first().waitFor();
  const look = () => page.evaluate(() => [location.search, document.querySelector(".sql-bars").innerText]);
  const [search, bars] = await look();
  check(bars.includes("matmul") && !bars.includes("_Z"), `names are short: ${bars.slice(0, 80)}`);
  await page.goto("about:blank");
  await page.goto(`${origin}/sql${search}`);
  await page.locator(".sql-bars li").first().waitFor();
  check((await look())[1] === bars, "the link shows the same bars");
  await page.goBack();
  await page.goForward();
  await page.locator(".sql-bars li").first().waitFor();
}

const read = (file) => {
  const done = spawnSync("python3", [path.join(here, "duckdb.py"), library, `SELECT typeof(n), n, typeof(r), r, t, b, e IS NULL FROM read_parquet('${file}')`], { encoding: "utf8" });
  return done.status === 0 ? done.stdout : `python3 ended with ${done.status}: ${done.stderr}`;
};

async function files(page) {
  await write(page, `SELECT 9007199254740993 AS n, 0.5::DOUBLE AS r, 'a,"b"' AS t, true AS b, NULL::VARCHAR AS e, '=1+1' AS f, -3 AS m`);
  const csv = readFileSync(await taken(page, "CSV"), "utf8");
  check(csv === `n,r,t,b,e,f,m\r\n9007199254740993,0.5,"a,""b""",true,,'=1+1,-3\r\n`, `CSV: ${csv}`);
  const parquet = await taken(page, "Parquet");
  if (library && existsSync(library)) {
    const said = read(parquet);
    check(said === `BIGINT\t9007199254740993\tDOUBLE\t0.5\ta,"b"\ttrue\ttrue\n`, `DuckDB reads the Parquet file: ${said}`);
  } else console.log("left out: DuckDB reads the Parquet file (no library)");
}

async function notebook(page, key) {
  await write(page, `SELECT count(*) AS n, 'it''s "quoted"' AS t FROM kernels`);
  await page.getByRole("button", { name: "Open in a notebook" }).click();
  const code = await page.locator(".sql-code").innerText();
  check(code.includes("GPUFL_API_KEY") && !code.includes("gpfl_"), "the key is not in the notebook's text");
  await t.accessible(page, "sql, notebook");
  await page.keyboard.press("Escape");
  // Python sends the request of the text; the lines for pandas and DuckDB follow it.
  const request = code.slice(0, code.indexOf("frame =")).replace(/^import duckdb.*$/m, "");
  const done = spawnSync("python3", ["-c", `${request}\nprint(answer["rows"])`], { encoding: "utf8", env: { ...process.env, GPUFL_API_KEY: key } });
  const pandas = spawnSync("python3", ["-c", "import pandas"]).status === 0;
  if (pandas) {
    const frame = code.slice(0, code.lastIndexOf("\nduckdb.sql")).replace("import duckdb, pandas as pd", "import pandas as pd");
    const framed = spawnSync("python3", ["-c", `${frame}\nprint(frame.shape, list(frame.columns))`], { encoding: "utf8", env: { ...process.env, GPUFL_API_KEY: key } });
    check(framed.stdout === "(1, 2) ['n', 't']\n", `the notebook has a frame: ${framed.stdout}${framed.stderr}`);
  } else console.log("left out: the notebook's frame (no pandas)");
  check(done.stdout === `[[10000, 'it\\'s "quoted"']]\n`, `the notebook asks: ${done.stdout}${done.stderr}`);
}

async function hostile(page) {
  await write(page, `SELECT '${HOSTILE.replace(/'/g, "''")}' AS "${HOSTILE.replace(/"/g, '""')}", 1 AS y`);
  await page.getByRole("button", { name: "Plot", exact: true }).click();
  await page.locator(".sql-bars li").first().waitFor();
  check((await page.title()) !== "taken" && (await page.locator("main img").count()) === 0, "markup in cells and names stays text");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await write(page, `SELECT 2001 AS n -- ${"x".repeat(7000)}`);
  await page.getByText("too long for an address").waitFor();
  check((await page.locator("main tbody").innerText()).replace(/\D/g, "") === "2001", "a long statement is asked");
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = (at = await context.newPage());
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  await alertAndKey(page);
  const key = await page.evaluate(async () => {
    const { csrf } = await (await fetch("/api/v1/auth/me")).json();
    const made = await fetch("/api/v1/keys", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: JSON.stringify({ name: "both", scopes: "ingest,read" }) });
    return (await made.json()).key;
  });
  server.upload(key, data);
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.some((row) => row.analyzed));
  await page.goto(`${origin}/sessions`);
  await page.getByRole("link", { name: "SQL", exact: true }).click();
  await page.getByText("train_loop ·").first().waitFor(); // the newest session is chosen
  await t.picture(page, "sql", { wide: false });
  await stands(page);
  await completes(page);
  await wrongPlace(page);
  await questions(page);
  await link(page);
  await files(page);
  await notebook(page, key);
  await hostile(page);
} catch (cause) {
  await at?.screenshot({ path: path.join(out, "sql-failed.png") });
  throw cause;
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish();
