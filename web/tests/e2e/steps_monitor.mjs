// steps_monitor.mjs - the page of a host that gpufl-monitor watches (control.mjs): a day with planted faults is found and
// drawn, a monitor that ran just now is shown with it, and a session of the monitor can be chosen.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { until } from "./harness.mjs";

const DAY = "2026-11-28"; // on which bench_monitor_day begins, at midnight
const ROUNDS = 5400; // of a second each
const [GPUS, OF_HOST, OF_GPU] = [2, 2, 4]; // and their plots

/** The fake driver: GPU 0 is held by a process and idle, and heat holds both GPUs down. */
function plant(bin, file) {
  const e2e = path.join(bin, "../../tests/e2e");
  const code = `import sys; sys.path.insert(0, ${JSON.stringify(e2e)}); from nvml_control import Control; c = Control(${JSON.stringify(file)}); c.idle = 1; c.throttle = 64; c.pid(0, ${process.pid})`;
  const done = spawnSync("python3", ["-B", "-c", code], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return { LD_LIBRARY_PATH: path.join(bin, "../fake"), FAKE_NVML_DEVICES: String(GPUS), FAKE_NVML_CONTROL: file };
}

function aDay(bin, folder) {
  const logs = path.join(folder, "day");
  mkdirSync(logs);
  const env = { ...process.env, ...plant(bin, path.join(folder, "control")) };
  const done = spawnSync(path.join(bin, "bench_monitor_day"), [logs, String(ROUNDS), "1000"], { encoding: "utf8", env });
  if (done.status !== 0) throw new Error(`bench_monitor_day: ${done.stderr}`);
  return logs;
}

/** A monitor that samples until it has written some, and ends. */
async function now(bin, folder, holds) {
  const [logs, run] = ["now", "run"].map((name) => path.join(folder, name));
  [logs, run].forEach((name) => mkdirSync(name));
  const settings = ["--log-path", logs, "--run-dir", run, "--interval", "100ms", "--write-interval", "200ms"];
  const monitor = spawn(path.join(bin, "gpufl-monitor"), settings, { stdio: "ignore", env: { ...process.env, LD_LIBRARY_PATH: path.join(bin, "../fake"), FAKE_NVML_DEVICES: String(GPUS) } });
  const gone = new Promise((resolve) => monitor.once("exit", resolve));
  try {
    const written = () => readdirSync(logs, { recursive: true }).some((name) => /system.*\.log$/.test(name) && readFileSync(path.join(logs, name), "utf8").includes('"type":"device_metric"'));
    await holds(written, "the monitor writes samples");
  } finally {
    monitor.kill("SIGTERM");
    await gone;
  }
  return logs;
}

export async function watched({ page, t, origin, bin, server, key, folder, host, api, holds }) {
  const ofHost = `host=${encodeURIComponent(host)}&app=gpufl-monitor`;
  const query = `?from=${DAY}&to=${DAY}`;
  const panel = page.locator("section.panel").filter({ has: page.getByRole("heading", { name: "What the monitor saw" }) });
  await page.goto(`${origin}/hosts/${host}${query}`);
  await page.getByText("Sessions in these days").first().waitFor();
  await rest(page);
  t.check((await panel.count()) === 0, "host: a panel of the monitor without a session of it");

  server.upload(key, aDay(bin, folder));
  await until(page, async (of) => (await (await fetch(`/api/v1/sessions?${of}`)).json()).rows.some((row) => row.analyzed), ofHost);
  const { body } = await api(page, "GET", `sessions?${ofHost}`);
  const [{ id }] = body.rows;
  const { body: told } = await api(page, "GET", `sessions/${id}/insights`);
  const wanted = told.insights.filter((one) => one.id.startsWith("gpu_")).map((one) => one.title);
  await page.goto(`${origin}/hosts/${host}${query}`);
  const rows = panel.getByRole("table").locator("tbody tr");
  await rows.first().waitFor();
  await rest(page);
  const texts = await rows.allInnerTexts();
  t.check(wanted.length === 3 && texts.length === 3 && wanted.every((title) => texts.some((row) => row.includes(title))), `host: what the monitor found: ${texts.join(" | ")} for ${wanted}`);
  t.check(new Set(texts).size === texts.length && texts.some((row) => row.includes(`process ${process.pid}`)), `host: rows read alike, or do not say who holds the GPU: ${texts.join(" | ")}`);

  // Each GPU has its plots, with the numbers of the rows.
  const values = panel.locator(".plot-values");
  await page.waitForFunction((n) => [...document.querySelectorAll(".plot-values")].filter((one) => one.textContent.startsWith("Mean ")).length >= n, OF_HOST + GPUS * OF_GPU);
  const shown = (await values.allInnerTexts()).map((text) => text.replaceAll("\u202f", " "));
  const answer = await api(page, "POST", "sql", { sessions: id, sql: "SELECT d.index, min(m.temperature), max(m.temperature) FROM device_metric m JOIN device d ON d.session = m.session AND d.id = m.device GROUP BY 1 ORDER BY 1" });
  t.check(answer.status === 200 && answer.body.rows.length === GPUS, `host: the rows of its GPUs: ${JSON.stringify(answer)}`);
  for (const [gpu, least, most] of answer.body.rows) {
    const own = shown.slice(OF_HOST + gpu * OF_GPU, OF_HOST + (gpu + 1) * OF_GPU);
    t.check(own.some((text) => text.startsWith("Mean ") && text.endsWith(`, ${least} °C to ${most} °C`)), `host: GPU ${gpu} has ${least} to ${most} °C: ${own.join(" | ")}`);
  }
  await t.picture(page, "control-watched");
  await rows.first().getByRole("link").click();
  await page.waitForURL(new RegExp(`/sessions/${id}/insights`));
  await page.locator(".finding").filter({ hasText: wanted[0] }).first().waitFor();

  // A monitor of today comes first, and says that nothing is wrong; the other one can be chosen by its address.
  server.upload(key, await now(bin, folder, (condition, what) => holds(page, condition, what)));
  await until(page, async (of) => (await (await fetch(`/api/v1/sessions?${of}`)).json()).rows.filter((row) => row.analyzed).length === 2, ofHost);
  const newest = (await api(page, "GET", `sessions?${ofHost}`)).body.rows.find((row) => row.id !== id).id;
  const today = new Date().toISOString().slice(0, 10);
  const both = `?from=${DAY}&to=${today}`;
  await page.goto(`${origin}/hosts/${host}${both}`);
  await panel.getByRole("link", { name: "All metrics of this session" }).waitFor();
  const leads = () => panel.getByRole("link", { name: "All metrics of this session" }).getAttribute("href");
  t.check((await leads()).includes(newest), `host: the newest session of the monitor is shown: ${await leads()}`);
  await panel.getByRole("group", { name: "Which session of the monitor is shown" }).getByRole("button").last().click();
  await page.waitForURL((address) => address.searchParams.get("watched") === id);
  await page.waitForFunction((wantedId) => document.querySelector(`main a[href*="${wantedId}/system"]`), id);
  t.check((await leads()).includes(id), `host: the chosen session of the monitor: ${await leads()}`);
}
