// control.mjs - configurations of hosts and captures on demand, with a real agent and a program over the fake driver:
// the program takes the options written on the page, and records after a click on "Record now". The
// test ends with the page of a host that gpufl-monitor watches.
//   node tests/e2e/control.mjs BIN OUT
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { makeHarness, MARKUP, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { watched } from "./steps_monitor.mjs";

const [bin, out] = process.argv.slice(2);
const HOST = hostname();
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check, picture } = t;
const server = await startServer(bin);
const { origin } = server;
const folder = mkdtempSync(path.join(tmpdir(), "gpufl-web-control-"));
const [logs, cache] = ["logs", "cache"].map((name) => path.join(folder, name));
const children = [];
t.expected.add(403); // a viewer's request, made on purpose
t.expected.add(409); // two authors save at once

async function visitor() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  return page;
}

/** Makes a request as a page of this person does; returns status and answer. */
const api = (page, method, address, body) =>
  page.evaluate(
    async ([how, where, what]) => {
      const { csrf } = await (await fetch("/api/v1/auth/me")).json();
      const answer = await fetch(`/api/v1/${where}`, { method: how, headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: what && JSON.stringify(what) });
      return { status: answer.status, body: answer.status === 204 ? null : await answer.json() };
    },
    [method, address, body],
  );

/** Waits until a condition outside of the browser holds. */
async function holds(page, condition, what) {
  for (const end = Date.now() + PATIENCE_MS; !condition(); ) {
    if (Date.now() > end) throw new Error(`does not become so: ${what}`);
    await page.waitForTimeout(50);
  }
}

const cached = (name) => {
  const file = path.join(cache, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
};

function run(program, args, settings) {
  const child = spawn(program, args, { stdio: "ignore", env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8", ...settings } });
  children.push(child);
  return child;
}

function startAgent(key) {
  const keyFile = path.join(folder, "key");
  mkdirSync(logs);
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  const quick = ["--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms"];
  return run(path.join(bin, "gpufl-agent"), ["--source", logs, "--server", origin, "--api-key-file", keyFile, "--state", path.join(folder, "state"), "--config-cache", cache, "--allow-remote-control", ...quick], {});
}

/** Starts a program that launches kernels all the time, with the configuration of its host; returns its session's id. */
async function startProgram(page) {
  const fake = path.join(bin, "../fake");
  run(path.join(fake, "fake_program"), ["2000000", "rate=2"], {
    LD_LIBRARY_PATH: fake, CUDA_INJECTION64_PATH: path.join(bin, "../lib/libgpufl.so"), GPUFL_CUPTI_PATH: fake, GPUFL_LOG_PATH: logs,
    GPUFL_REMOTE_CONFIG: "@host", GPUFL_REMOTE_CONFIG_DIR: cache,
  });
  await holds(page, () => readdirSync(logs).length > 0, "a session begins");
  const [session] = readdirSync(logs);
  await until(page, async (id) => (await fetch(`/api/v1/sessions/${id}`)).status === 200, session);
  return session;
}

const settingsPage = (page, query = "") => page.goto(`${origin}/settings/configurations${query}`);
const form = (page, name) => page.getByRole("form", { name });
const addOption = (page, name) => page.getByRole("combobox", { name: "Add an option" }).selectOption(name);
const world = {};

/** A configuration is made, changed, changed by two people at once, and restored from a version; the history has all of it. */
async function write(page) {
  await settingsPage(page);
  await page.getByText("No configurations yet").waitFor();
  await picture(page, "control-none");
  await page.getByRole("button", { name: "Make a configuration" }).click();
  check(await page.evaluate(() => document.activeElement.name === "name"), "write: the form has the keyboard");
  const make = form(page, "A new configuration");
  await page.locator("input[name=name]").fill("no name");
  await page.getByText("The name begins with").waitFor();
  check(await make.getByRole("button", { name: "Make it" }).isDisabled(), "write: a wrong name is not sent");
  await page.locator("input[name=name]").fill("prod");
  await addOption(page, "profiling_engine");
  await page.getByRole("combobox", { name: "profiling_engine" }).selectOption("Monitor");
  await addOption(page, "flush_interval_ms");
  await page.getByRole("textbox", { name: "flush_interval_ms, ms" }).fill("5");
  await page.getByText("A whole number from 10 to 10").waitFor();
  check(await make.getByRole("button", { name: "Make it" }).isDisabled(), "write: a number beyond the limits is not sent");
  await page.getByRole("textbox", { name: "flush_interval_ms, ms" }).fill("50");
  await page.getByRole("textbox", { name: "Note" }).fill(MARKUP);
  await picture(page, "control-form");
  await make.getByRole("button", { name: "Make it" }).click();
  await page.waitForURL(/config=prod/);
  await page.getByRole("heading", { name: "Options of prod" }).waitFor();
  const first = (await api(page, "GET", "configs/prod")).body;
  check(JSON.stringify(first.options) === '{"flush_interval_ms":50,"profiling_engine":"Monitor"}' && first.version === 1, `write: as it was typed: ${JSON.stringify(first)}`);
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "write: a note stays text");

  // Another author writes meanwhile: nothing is overwritten, and what differs is shown.
  await page.getByRole("button", { name: "Change prod" }).click();
  await addOption(page, "remote_control");
  await page.getByText("remote_control: set to true").waitFor();
  await api(page, "PUT", "configs/prod", { options: '{"flush_interval_ms":60,"profiling_engine":"Monitor"}', note: "by another", base: 1 });
  await form(page, "Change prod").getByRole("button", { name: "Save as a new version" }).click();
  await page.getByText("somebody wrote version 2").waitFor();
  await page.getByRole("button", { name: "Compare with the newest" }).click();
  await page.getByText("flush_interval_ms: 60 → 50").waitFor();
  await form(page, "Change prod").getByRole("button", { name: "Save as a new version" }).click();
  await form(page, "Change prod").waitFor({ state: "detached" });
  check(await page.evaluate(() => document.activeElement.getAttribute("aria-label") === "Change prod"), "write: the keyboard is where it was before the form");
  const rows = page.getByRole("region", { name: "Versions" }).locator("tbody tr");
  await page.waitForFunction(() => document.querySelectorAll('[aria-label="Versions"] tbody tr').length === 3);
  const [third, second] = await rows.allInnerTexts();
  check(third.includes("remote_control: set to true") && third.includes("flush_interval_ms: 60 → 50") && third.includes("owner@example.org"), `write: version 3: ${third}`);
  check(second.includes("flush_interval_ms: 50 → 60") && second.includes("by another"), `write: version 2: ${second}`);
  await picture(page, "control-history");

  // The form begins with an older version.
  await page.getByRole("button", { name: "Use again: version 2" }).click();
  await page.getByText("remote_control: no longer set").waitFor();
  await form(page, "Change prod").getByRole("button", { name: "Cancel" }).click();
  // The address opens the same form again.
  await settingsPage(page, "?config=prod&edit=prod");
  await form(page, "Change prod").waitFor();
  await settingsPage(page, "?config=nobody");
  await page.getByText("There is no configuration nobody").waitFor();
}

/** A configuration is assigned to a host, fetched by its agent, and used by a program; the page says which version runs. */
async function assign(page) {
  await settingsPage(page);
  await page.getByRole("combobox", { name: `Configuration of ${HOST}` }).selectOption("prod");
  await holds(page, () => cached("@host")?.config === "prod", "the agent has it");
  check(cached("@host").version === 3 && cached("@host").options.remote_control === true, `assign: what the host has: ${JSON.stringify(cached("@host"))}`);
  world.session = await startProgram(page);
  await page.getByRole("link", { name: "prod, version 3: 1 session" }).waitFor();
  check((await page.getByText("newest is").count()) === 0, "assign: the newest version runs");
  await api(page, "PUT", "configs/prod", { options: '{"profiling_engine":"Trace"}', note: "", base: 3 });
  await settingsPage(page);
  await page.getByText("newest is 4").waitFor();
  await picture(page, "control-hosts");
  await page.getByRole("link", { name: "prod, version 3: 1 session" }).click();
  await page.waitForURL(/\/sessions\?/);
  await page.locator(`a[href*="${world.session}"]`).first().waitFor();
  await api(page, "PUT", "configs/prod", { options: '{"profiling_engine":"Monitor"}', note: "", base: 4 });
}

/** The click that requests a capture, the states of the request, and the link to what was recorded. */
async function record(page) {
  await page.goto(`${origin}/sessions/${world.session}/insights`);
  await page.getByRole("button", { name: "Record now" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  check((await dialog.getByRole("combobox", { name: "Engine" }).inputValue()) === "Trace", "record: a session without records is asked for Trace");
  await dialog.getByRole("textbox", { name: "Seconds" }).fill("0.01");
  await dialog.getByText("A number from 0.1").waitFor();
  check(await dialog.getByRole("button", { name: "Record", exact: true }).isDisabled(), "record: a duration that is too short is not sent");
  await dialog.getByRole("textbox", { name: "Seconds" }).fill("1");
  await t.accessible(page, "record: the dialog");
  await page.waitForFunction(() => ![...document.querySelectorAll("dialog button")].at(-1).disabled); // the agent has connected
  await dialog.getByRole("button", { name: "Record", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const line = page.getByRole("group", { name: "Captures that were asked for" });
  await line.getByText("Trace for 1.00 s").waitFor();
  await line.getByText("recorded").waitFor();
  check((await line.innerText()).includes("See it on the timeline"), `record: ${await line.innerText()}`);
  await picture(page, "control-recorded");
  await line.getByRole("link", { name: "See it on the timeline" }).click();
  await page.waitForURL(/\/timeline/);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).kernels > 0, world.session);
  await page.waitForFunction(() => window.gpuflTimeline?.scene.tracks.length > 0);
  await picture(page, "control-timeline", { wide: false });

  // If a session cannot be captured, its own page and the host's page say why.
  await page.goto(`${origin}/sessions/${world.session}/insights`);
  await page.getByRole("button", { name: "Record now" }).click();
  await dialog.getByRole("combobox", { name: "Engine" }).selectOption("Deep");
  await page.waitForFunction(() => ![...document.querySelectorAll("dialog button")].at(-1).disabled);
  await dialog.getByRole("button", { name: "Record", exact: true }).click();
  await line.getByText("refused").waitFor();
  const [refused] = (await api(page, "GET", `captures?session=${world.session}`)).body.rows;
  check(refused.reason.length > 10 && (await line.innerText()).includes(refused.reason), `record: why it was refused: ${await line.innerText()}`);
  await page.goto(`${origin}/hosts/${HOST}`);
  const list = page.getByRole("region", { name: "Captures that were asked for" });
  await list.locator("tbody tr").nth(1).waitFor();
  check((await list.locator("tbody tr").count()) === 2 && (await list.innerText()).includes(refused.reason), `record: the host's page: ${await list.innerText()}`);
  await picture(page, "control-host");

  // The host's page requests a capture of all its sessions.
  await page.getByRole("button", { name: "Record now" }).click();
  await dialog.getByRole("textbox", { name: "Seconds" }).fill("0.2");
  await page.waitForFunction(() => ![...document.querySelectorAll("dialog button")].at(-1).disabled);
  await dialog.getByRole("button", { name: "Record", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll('[aria-label="Captures that were asked for"] tbody tr').length === 3);
  await list.getByRole("link", { name: "See it on the timeline" }).nth(1).waitFor();
  // If no agent accepts requests, the page says so before the click.
  await page.goto(`${origin}/hosts/nowhere`);
  await page.getByRole("button", { name: "Record now" }).click();
  await dialog.getByText("No agent of nowhere takes requests").waitFor();
  check(await dialog.getByRole("button", { name: "Record", exact: true }).isDisabled(), "record: without an agent there is nobody to ask");
}

/** A viewer sees all of it and changes nothing. */
async function viewer(page) {
  const { body } = await api(page, "POST", "invitations", { role: "viewer" });
  const other = await visitor();
  await other.goto(`${origin}/invite#token=${body.token}`);
  await other.locator("input[name=email]").fill("viewer@example.org");
  await other.locator("input[name=password]").fill("another long phrase");
  await other.locator("input[name=name]").fill("Viewer");
  await other.getByRole("button", { name: "Join" }).click();
  await other.getByRole("heading", { name: "Over days" }).waitFor();
  await settingsPage(other, "?config=prod&edit=prod");
  await other.getByRole("heading", { name: "Versions" }).waitFor();
  await other.getByRole("region", { name: "Hosts" }).getByText("prod", { exact: true }).waitFor();
  const buttons = await other.locator(".settings-part").getByRole("button").allInnerTexts();
  check(buttons.every((name) => ["debug", "prod", "Copy"].includes(name.trim())), `viewer: buttons: ${buttons.join()}`);
  check((await other.locator(".settings-part select, .settings-part input").count()) === 0, "viewer: nothing can be changed");
  await picture(other, "control-viewer", { wide: false });
  await other.goto(`${origin}/sessions/${world.session}/insights`);
  await other.getByRole("group", { name: "Captures that were asked for" }).getByText("refused").waitFor();
  check((await other.getByRole("button", { name: "Record now" }).count()) === 0, "viewer: there is nothing to ask with");
  await other.goto(`${origin}/hosts/${HOST}`);
  await other.getByRole("region", { name: "Captures that were asked for" }).waitFor();
  check((await other.getByRole("button", { name: "Record now" }).count()) === 0, "viewer: nor on the host's page");
  for (const [method, where, what] of [["PUT", "configs/prod", { options: "{}", base: 5 }], ["PUT", `host-configs/${HOST}`, { config: "prod" }], ["POST", "captures", { host: HOST, engine: "Trace", duration: 1e9 }]])
    check((await api(other, method, where, what)).status === 403, `viewer: the server refuses ${where}`);
  await other.context().close();
}

/** After a configuration is deleted the host has none, and its versions stay. */
async function remove(page) {
  await settingsPage(page, "?config=prod");
  await page.getByRole("button", { name: "Delete prod" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("One host uses it now").waitFor();
  check(await page.evaluate(() => document.activeElement.innerText === "Cancel"), "remove: the keyboard is on what does no harm");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No configurations yet").waitFor();
  await holds(page, () => cached("@host") === null && cached("prod") === null, "the agent has removed it");
  await settingsPage(page, "?config=prod");
  await page.getByRole("region", { name: "Versions" }).getByText("deleted").waitFor();
  await page.getByText("deleted since").waitFor();
  check((await page.getByText("deleted since").count()) === 1, "remove: a session that still runs with it says so");
}

try {
  const page = await visitor();
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  startAgent(key);
  await until(page, async (host) => (await (await fetch("/api/v1/agents")).json()).rows.some((row) => row.host === host && row.control), HOST);
  const monitor = () => watched({ page, t, origin, bin, server, key, folder, logs, host: HOST, api });
  await t.walk(page, { write, assign, record, viewer, remove, monitor });
} finally {
  for (const child of children) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.kill("SIGKILL")) await gone;
  }
  await browser.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = t.finish();
