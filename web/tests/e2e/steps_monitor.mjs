// steps_monitor.mjs - the pages of a host that gpufl-monitor watches (control.mjs): a day with planted faults is found and
// drawn, by host and on the fleet page; the samples of a running monitor reach the cards through the agent, as they are
// written; its events are listed, and a session of the monitor can be chosen.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { until } from "./harness.mjs";

const DAY = "2026-11-28"; // the day of bench_monitor_day, which begins at midnight
const ROUNDS = 5400; // rounds of a second each
const [GPUS, OF_HOST, OF_GPU] = [2, 2, 4]; // and their plots
const XIDS = 3;

/** The fake driver, as `how` sets the fields of its control `c`. */
function plant(bin, file, how) {
  const e2e = path.join(bin, "../../tests/e2e");
  const code = `import sys; sys.path.insert(0, ${JSON.stringify(e2e)}); from nvml_control import Control; c = Control(${JSON.stringify(file)}); ${how}`;
  const done = spawnSync("python3", ["-B", "-c", code], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return { ...process.env, LD_LIBRARY_PATH: path.join(bin, "../fake"), FAKE_NVML_DEVICES: String(GPUS), FAKE_NVML_CONTROL: file };
}

/** A process holds GPU 0, which is idle, and heat slows both GPUs down. */
function aDay(bin, folder) {
  const logs = path.join(folder, "day");
  mkdirSync(logs);
  const env = plant(bin, path.join(folder, "control"), `c.idle = 1; c.throttle = 64; c.pid(0, ${process.pid})`);
  const done = spawnSync(path.join(bin, "bench_monitor_day"), [logs, String(ROUNDS), "1000"], { encoding: "utf8", env });
  if (done.status !== 0) throw new Error(`bench_monitor_day: ${done.stderr}`);
  return logs;
}

/** Runs a monitor while `during` runs; its logs are in a folder that the agent sends, and programs cause XIDS page faults (XID
 * 31). */
async function running(bin, folder, logs, during) {
  const run = path.join(folder, "run");
  mkdirSync(run);
  const settings = ["--log-path", logs, "--run-dir", run, "--interval", "100ms", "--write-interval", "200ms"];
  const env = { ...plant(bin, path.join(folder, "control-now"), `c.xid = 31; c.events = ${XIDS}`), FAKE_NVML_NOISE: "1" };
  const monitor = spawn(path.join(bin, "gpufl-monitor"), settings, { stdio: "ignore", env });
  const gone = new Promise((resolve) => monitor.once("exit", resolve));
  try {
    await during();
  } finally {
    monitor.kill("SIGTERM");
    await gone;
  }
}

/** The cards of the fleet page follow what the monitor writes, also while requests for the list are not answered. */
async function follows({ page, t, origin, host, api }) {
  await page.goto(`${origin}/`);
  const selector = `.gpu-card[aria-label^="${host} "][aria-label*=" GPU-00000000-"]`;
  const cards = page.locator(selector);
  await page.waitForFunction(([n, of]) => {
    const all = [...document.querySelectorAll(of)];
    return all.length === n && all.every((card) => !card.classList.contains("gpu-silent"));
  }, [GPUS, selector]);
  const { body: frozen } = await api(page, "GET", "gpus");
  await page.route("**/api/v1/gpus*", (route) => route.fulfill({ json: frozen }));
  await page.reload();
  await cards.first().waitFor();
  const power = (text) => /\d+ W/.exec(text)?.[0];
  const before = (await cards.allInnerTexts()).map(power);
  await page.waitForFunction(([was, of]) => [...document.querySelectorAll(of)].every((card, k) => /\d+ W/.exec(card.innerText)?.[0] !== was[k]), [before, selector]);
  const [card] = await cards.allInnerTexts();
  t.check(before.every(Boolean) && /\d+ %/.test(card) && power(card), `fleet: a card that follows, after ${before}: ${card}`);
  await page.unroute("**/api/v1/gpus*");
}

/** The fleet page lists what was found on the host, with a link to the host. */
async function foundOnFleet({ page, t, origin, host, wanted }) {
  await page.goto(`${origin}/?from=${DAY}&to=${DAY}`);
  const rows = page.locator("section.panel").filter({ has: page.getByRole("heading", { name: "What the monitor found" }) }).locator("tbody tr");
  await rows.first().waitFor();
  await rest(page);
  const texts = await rows.allInnerTexts();
  t.check(texts.length === wanted.length && wanted.every((title) => texts.some((row) => row.includes(title) && row.includes(host))), `fleet: what monitors found: ${texts.join(" | ")}`);
  await t.picture(page, "control-found");
  await rows.first().getByRole("link", { name: host }).click();
  await page.waitForURL((address) => address.pathname === `/hosts/${host}`);
}

export async function watched({ page, t, origin, bin, server, key, folder, logs, host, api }) {
  const ofHost = `host=${encodeURIComponent(host)}&app=gpufl-monitor`;
  const query = `?from=${DAY}&to=${DAY}`;
  const panel = page.locator("section.panel").filter({ has: page.getByRole("heading", { name: "Samples of the monitor" }) });
  await page.goto(`${origin}/hosts/${host}${query}`);
  await page.getByText("Sessions in these days").first().waitFor();
  await rest(page);
  t.check((await panel.count()) === 0, "host: a panel of the monitor without a session of it");

  server.upload(key, aDay(bin, folder));
  await until(page, async (of) => (await (await fetch(`/api/v1/sessions?${of}`)).json()).rows.some((row) => row.analyzed), ofHost);
  const { body } = await api(page, "GET", `sessions?${ofHost}`);
  const [{ id }] = body.rows;
  const { body: report } = await api(page, "GET", `sessions/${id}/insights`);
  const wanted = report.insights.filter((one) => one.id.startsWith("gpu_")).map((one) => one.title);
  await page.goto(`${origin}/hosts/${host}${query}`);
  const rows = panel.getByRole("table").locator("tbody tr");
  await rows.first().waitFor();
  await rest(page);
  const texts = await rows.allInnerTexts();
  t.check(wanted.length === 3 && texts.length === 3 && wanted.every((title) => texts.some((row) => row.includes(title))), `host: what the monitor found: ${texts.join(" | ")} for ${wanted}`);
  t.check(new Set(texts).size === texts.length && texts.some((row) => row.includes(`process ${process.pid}`)), `host: rows read alike, or do not say who holds the GPU: ${texts.join(" | ")}`);

  // Each GPU has its plots, with the numbers of the rows.
  const values = panel.locator(".plot-values");
  await page.waitForFunction((n) => [...document.querySelectorAll(".plot-values")].filter((one) => one.textContent.trim() !== "").length >= n, OF_HOST + GPUS * OF_GPU);
  const shown = (await values.allInnerTexts()).map((text) => text.replaceAll("\u202f", " "));
  const answer = await api(page, "POST", "sql", { sessions: id, sql: "SELECT d.index, min(m.temperature), max(m.temperature) FROM device_metric m JOIN device d ON d.session = m.session AND d.id = m.device GROUP BY 1 ORDER BY 1" });
  t.check(answer.status === 200 && answer.body.rows.length === GPUS, `host: the rows of its GPUs: ${JSON.stringify(answer)}`);
  for (const [gpu, least, most] of answer.body.rows) {
    const own = shown.slice(OF_HOST + gpu * OF_GPU, OF_HOST + (gpu + 1) * OF_GPU);
    t.check(own.some((text) => (least === most ? text === `${least} °C` : text.startsWith("Mean ") && text.endsWith(`, ${least} °C to ${most} °C`))), `host: GPU ${gpu} has ${least} to ${most} °C: ${own.join(" | ")}`);
  }
  await t.picture(page, "control-watched");
  await rows.first().getByRole("link").click();
  await page.waitForURL(new RegExp(`/sessions/${id}/insights`));
  await page.locator(".finding").filter({ hasText: wanted[0] }).first().waitFor();

  await foundOnFleet({ page, t, origin, host, wanted });

  // The newest monitor comes first, with its events; an address chooses the other one.
  await running(bin, folder, logs, () => follows({ page, t, origin, host, api }));
  await until(page, async (of) => (await (await fetch(`/api/v1/sessions?${of}`)).json()).rows.filter((row) => row.analyzed).length === 2, ofHost);
  const newest = (await api(page, "GET", `sessions?${ofHost}`)).body.rows.find((row) => row.id !== id).id;
  const today = new Date().toISOString().slice(0, 10);
  const both = `?from=${DAY}&to=${today}`;
  await page.goto(`${origin}/hosts/${host}${both}`);
  await panel.getByRole("link", { name: "All metrics of this session" }).waitFor();
  const events = panel.getByRole("table").filter({ has: page.getByRole("columnheader", { name: "Number" }) }).locator("tbody tr");
  await events.filter({ hasText: "XID" }).first().waitFor();
  const xids = (await events.allInnerTexts()).filter((row) => row.includes("XID"));
  t.check(xids.length === 1 && /\b31\b/.test(xids[0]) && new RegExp(`\\b${XIDS}\\b`).test(xids[0]), `host: ${XIDS} times XID 31 in a row: ${xids.join(" | ")}`);
  const leads = () => panel.getByRole("link", { name: "All metrics of this session" }).getAttribute("href");
  t.check((await leads()).includes(newest), `host: the newest session of the monitor is shown: ${await leads()}`);
  await panel.getByRole("group", { name: "Which session of the monitor is shown" }).getByRole("button").last().click();
  await page.waitForURL((address) => address.searchParams.get("watched") === id);
  await page.waitForFunction((wantedId) => document.querySelector(`main a[href*="${wantedId}/system"]`), id);
  t.check((await leads()).includes(id), `host: the chosen session of the monitor: ${await leads()}`);
}
