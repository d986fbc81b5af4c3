// exports.mjs - the files of the page Export are loaded by the programs that the page names: pprof's file by
// `go tool pprof`, speedscope's, the collapsed stacks and the trace of events by speedscope's own page (npm's package, which
// reads Chrome's format of traces), Parquet by DuckDB. Neither Debian (perfetto, trace-processor, catapult) nor npm (perfetto,
// trace-processor) has a package with Perfetto's own reader, its trace processor: the test uses it if it is in the path. And a
// shared link opens the view from which it was made.
//   node tests/e2e/exports.mjs BIN DATA OUT LIBRARY
import { spawnSync } from "node:child_process";
import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { makeHarness, PATIENCE_MS, shoot, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";

const [bin, data, out, library] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { check } = t;
const { origin } = server;
const TOTAL_NS = 117429239; // how long this session's host was blocked, by its report

/** Debian's package of Go has its tools below the version's folder; `go` in the path needs another package. */
function pprofProgram() {
  const found = (existsSync("/usr/lib") ? readdirSync("/usr/lib") : [])
    .filter((name) => /^go-\d/.test(name))
    .flatMap((name) => ["amd64", "arm64"].map((arch) => `/usr/lib/${name}/pkg/tool/linux_${arch}/pprof`))
    .find((file) => existsSync(file));
  return found ? [found] : spawnSync("go", ["version"]).status === 0 ? ["go", "tool", "pprof"] : null;
}

async function taken(page, name) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: `Download ${name}`, exact: true }).click()]);
  return { file: await file.path(), name: file.suggestedFilename() };
}

function pprof(file) {
  const program = pprofProgram();
  if (!program) {
    console.log("left out: pprof's file is loaded by pprof (no Go on this machine)");
    return;
  }
  const ask = (...options) => spawnSync(program[0], [...program.slice(1), ...options, file], { encoding: "utf8" }).stdout;
  const top = ask("-top", "-sample_index=host_blocked", "-unit=ns");
  check(top.includes(`of ${TOTAL_NS}ns total`) && top.includes("stream synchronizations"), `pprof reads the waits: ${top.slice(0, 300)}`);
  const lines = ask("-top", "-lines", "-cum", "-sample_index=host_blocked");
  check(/train_loop\.cu:235/.test(lines), `pprof knows the line: ${lines.slice(0, 900)}`);
  check(ask("-top", "-sample_index=gpu_time").includes("GPU"), "pprof reads the GPU's time");
}

/** Serves the page of the package, and the files that it loads, at an address of this machine. */
async function serve(files) {
  const root = path.join(path.dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release");
  const http = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname).slice(1) || "index.html";
    const file = files[name] ?? path.join(root, path.basename(name));
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    const type = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" }[path.extname(name)];
    response.writeHead(200, type ? { "Content-Type": type } : {});
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { at: `http://127.0.0.1:${http.address().port}`, close: () => http.close() };
}

/** Checks the text of speedscope's table of all frames. */
async function speedscope(context, at, name, wanted) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${at}/#profileURL=${encodeURIComponent(`${at}/${name}`)}&view=sandwich`);
  await page.locator("table tr").nth(3).waitFor();
  const text = await page.locator("body").innerText();
  for (const word of wanted) check(text.includes(word), `speedscope shows ${word} of ${name}: ${text.slice(0, 400)}`);
  await shoot(page, { path: path.join(out, `speedscope-${name}.png`) });
  await page.close();
}

/** Perfetto's own reader counts the kernels. */
function traceProcessor(file) {
  const program = ["trace_processor_shell", "trace_processor"].find((name) => spawnSync(name, ["--version"]).status === 0);
  if (!program) {
    console.log("left out: Perfetto's trace processor reads the trace (none in the path)");
    return;
  }
  const done = spawnSync(program, ["-Q", "SELECT count(*) AS kernels FROM slice WHERE category = 'kernel'", file], { encoding: "utf8" });
  check(/^\s*10000\s*$/m.test(done.stdout ?? ""), `Perfetto's trace processor reads the kernels: ${done.stdout}${done.stderr}`);
}

/** Chrome's format has a profile for each row; n goes to the next one. */
async function speedscopeTrace(context, at, name, kernel) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${at}/#profileURL=${encodeURIComponent(`${at}/${name}`)}&view=sandwich`);
  await page.locator("tr[title*='pid']").first().waitFor({ state: "attached" });
  const rows = await page.locator("tr[title*='pid']").evaluateAll((all) => all.map((row) => row.title));
  check(rows.length > 2, `speedscope has the rows of the trace: ${rows}`);
  let text = "";
  for (const _ of rows) {
    text = await page.locator("body").innerText();
    if (text.includes(kernel)) break;
    await page.keyboard.press("n");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  check(text.includes(kernel), `speedscope shows ${kernel} of ${name}: ${rows}: ${text.slice(0, 400)}`);
  await shoot(page, { path: path.join(out, `speedscope-${name}.png`) });
  await page.close();
}

function duckdb(file) {
  const done = spawnSync("python3", [path.join(here, "duckdb.py"), library, `SELECT count(*), sum(duration) FROM read_parquet('${file}')`], { encoding: "utf8" });
  check(done.stdout === "10000\t145767523\n", `DuckDB reads the kernels: ${done.stdout}${done.stderr}`);
}

async function shared(page, visitor, session) {
  const view = `/sessions/${session}/timeline?at=300000000-310000000&range=301000000-305000000`;
  await page.goto(origin + view);
  await until(page, () => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
  const sent = await page.evaluate(() => location.pathname + location.search);
  await page.getByRole("banner").or(page.locator("main header")).getByRole("button", { name: "Share", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Make the link" }).click();
  const link = await page.locator("[data-link]").innerText();
  check((await dialog.getByRole("button", { name: "Make the link" }).count()) === 0 && (await dialog.getByRole("button", { name: "Done" }).count()) === 1, "a link that was made leaves Done alone");
  await t.accessible(page, "share");
  await dialog.getByRole("button", { name: "Done" }).click();
  check((await page.locator("dialog[open]").count()) === 0, "Done closes");
  await visitor.goto(link);
  await until(visitor, () => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
  check((await visitor.evaluate(() => location.pathname + location.search)) === sent, `the link opens the view: ${visitor.url()} for ${sent}`);
  check(!visitor.url().includes("gpfs_"), "the token is not in the address");
  // A link to a view outside of this session is not followed.
  await visitor.goto(link.replace(/to=[^#]*/, `to=${encodeURIComponent("/settings/keys")}`));
  await visitor.waitForURL(/insights/);
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  server.upload(await alertAndKey(page), data);
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.some((row) => row.analyzed));
  const session = await page.evaluate(async () => (await (await fetch("/api/v1/sessions")).json()).rows[0].id);
  await page.goto(`${origin}/sessions/${session}/raw`);
  await page.getByRole("link", { name: "Download pprof" }).waitFor();
  await t.picture(page, "export");
  pprof((await taken(page, "pprof")).file);
  const files = { "a.speedscope.json": (await taken(page, "speedscope")).file, "a.collapsed.txt": (await taken(page, "Collapsed stacks")).file };
  files["a.trace.json"] = (await taken(page, "Perfetto and Chrome")).file;
  traceProcessor(files["a.trace.json"]);
  const trace = JSON.parse(readFileSync(files["a.trace.json"], "utf8"));
  check(trace.traceEvents.filter((event) => event.cat === "kernel").length === 10000, "the trace has every kernel");
  if (library && existsSync(library)) duckdb((await taken(page, "Parquet kernel")).file);
  else console.log("left out: DuckDB reads the kernels (no library)");
  const site = await serve(files);
  const other = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await speedscope(other, site.at, "a.speedscope.json", ["stream synchronizations", "Host blocked"]);
  await speedscope(other, site.at, "a.collapsed.txt", ["stream synchronizations"]);
  await speedscopeTrace(other, site.at, "a.trace.json", "matmul");
  site.close();
  const guest = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" })).newPage();
  t.watch(guest, origin);
  await shared(page, guest, session);
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish();
