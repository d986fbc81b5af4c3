// settings.mjs - the pages for settings, in both themes at 1280, 1600 and 3840 px and on a phone: empty,
// full of names that are HTML and as long as the server accepts, after a refusal of the server, and
// as a viewer sees them. Nothing is clipped, nothing scrolls sideways without a hint, no two rows look alike, names stay text.
//   node tests/e2e/settings.mjs BIN OUT
import { rest } from "./crawl.mjs";
import { makeHarness, MARKUP, PATIENCE_MS, startBrowser } from "./harness.mjs";
import { ACCOUNT, firstAccount, startServer } from "./server.mjs";
import { complete, send, session } from "./sessions.mjs";

const [bin, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const PHONE = { width: 390, height: 844 };
const PARTS = ["workspace", "members", "keys", "links", "retention", "configurations", "audit", "account", "server"];
const PAGES = [...PARTS.map((part) => `/settings/${part}`), "/alerts", "/upload"];
for (const status of [400, 403, 409, 413, 422]) t.expected.add(status); // refusals, asked for on purpose

async function visitor() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  return page;
}

/** Makes a request as the page does; returns the answer, and throws if it is an error. */
async function api(page, method, address, body) {
  const { status, text } = await page.evaluate(
    async ([how, where, what]) => {
      const { csrf } = await (await fetch("/api/v1/auth/me")).json();
      const workspace = localStorage.getItem("gpufl.workspace");
      const answer = await fetch(`/api/v1/${where}${workspace ? `?workspace=${workspace}` : ""}`, { method: how, headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: JSON.stringify(what) });
      return { status: answer.status, text: await answer.text() };
    },
    [method, address, body],
  );
  if (status >= 300) throw new Error(`${method} ${address}: ${status}: ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Checks the page at all widths. */
async function look(page, name) {
  await t.shots(page, `settings-${name}`, { judged: true });
  await page.setViewportSize(PHONE);
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(beyond <= 0, `${name}: ${beyond} px wider than a phone`);
  await page.setViewportSize({ width: 1280, height: 800 });
  check((await page.locator("main img").count()) === 0 && (await page.title()) !== "taken", `${name}: what people write stays text`);
}

const nameOf = (path) => path.split("/").at(-1);
async function lookAtAll(page, how, paths = PAGES) {
  for (const path of paths) {
    await page.goto(origin + path);
    await rest(page);
    await look(page, `${how}-${nameOf(path)}`);
  }
}

const empty = (page) => lookAtAll(page, "empty");

/** HTML of that many bytes, which begins like all others and ends with a text of its own. */
const long = (bytes, last) => `${MARKUP.repeat(9).slice(0, bytes - last.length - 1)} ${last}`;
const unbroken = (bytes, last) => `${"w".repeat(bytes - last.length)}${last}`;

async function join(page, role, email, name) {
  const { token } = await api(page, "POST", "invitations", { role });
  const other = await visitor();
  await other.goto(`${origin}/invite#token=${token}`);
  for (const [field, value] of Object.entries({ email, password: ACCOUNT.password, name })) await other.locator(`input[name=${field}]`).fill(value);
  await other.getByRole("button", { name: "Join" }).click();
  await other.locator("nav[aria-label=Pages]").waitFor();
  return other;
}

let viewer;

/** A user who makes a workspace stays in the current one. A workspace that was chosen at an earlier visit and no longer exists is
 * forgotten. */
async function workspaces(page) {
  const here = async () => (await page.evaluate(async () => (await (await fetch("/api/v1/auth/me")).json()).workspaces)).find(({ name }) => name === ACCOUNT.workspace_name);
  const lab = await here();
  await page.goto(`${origin}/settings/server`);
  for (const last of ["Paris", "Prague"]) {
    await page.getByLabel("Name").fill(long(200, last));
    await page.getByRole("button", { name: "Make a workspace" }).click();
    await page.locator(`[data-name$="${last}"]`).waitFor();
  }
  await page.goto(`${origin}/settings/workspace`);
  await rest(page);
  check((await page.locator(".stat", { hasText: "Name" }).innerText()).includes(ACCOUNT.workspace_name), `workspaces: after making others one is in ${await page.locator(".stats").innerText()}`);
  await page.evaluate(() => localStorage.setItem("gpufl.workspace", "gone"));
  await page.goto(`${origin}/settings/workspace`);
  await page.locator(".stat").first().waitFor();
  check((await page.evaluate(() => localStorage.getItem("gpufl.workspace"))) === null, "workspaces: a choice that is gone is forgotten");
  await page.evaluate((id) => localStorage.setItem("gpufl.workspace", id), lab.workspace);
}

async function fill(page) {
  const keys = [];
  for (const [name, scopes] of [[long(200, "one"), "ingest,read,admin"], [long(200, "two"), "read"], [unbroken(200, "three"), "ingest"], ["ci", "ingest"]])
    keys.push(await api(page, "POST", "keys", { name, scopes, expires: name === "ci" ? `${(Date.now() + 9e8) * 1e6}` : "0" }));
  await api(page, "DELETE", `keys/${keys[1].id}`, {});
  const made = session("settings-shared", long(200, "app"));
  await send(origin, keys[0].key, made, "device", made.kernels([[0, 5e6, 1, 0]], { streams: 1, names: ["_Z1av"] }));
  await send(origin, keys[0].key, made, "system", made.end(1e9));
  await complete(origin, keys[0].key, made);
  for (const days of [7, 7, 30]) await api(page, "POST", `sessions/${made.id}/shares`, { expires: `${BigInt(Date.now() + days * 86_400_000) * 1_000_000n}` });
  viewer = await join(page, "viewer", `${unbroken(180, "a")}@example.org`, long(200, "viewer"));
  await (await join(page, "member", `${unbroken(180, "b")}@example.org`, unbroken(200, "member"))).context().close();
  for (const last of ["hot", "hotter"])
    await api(page, "POST", "alerts", { name: long(256, last), kind: "metric", subject: "host.cpu", threshold: 1, host: unbroken(255, last), app: long(255, last), url: `http://10.255.255.1:9/${unbroken(900, last)}` });
  for (const last of ["-a", "-b"]) await api(page, "PUT", `configs/${unbroken(63, last)}`, { options: JSON.stringify({ profiling_engine: "Monitor", flush_interval_ms: 50, app_name: unbroken(200, last) }), note: long(1024, last), base: 0 });
  await api(page, "PUT", `host-configs/${unbroken(255, "h")}`, { config: unbroken(63, "-a") });
  const actions = await page.evaluate(async () => (await (await fetch(`/api/v1/audit?limit=100&workspace=${localStorage.getItem("gpufl.workspace")}`)).json()).rows.map((row) => row.action));
  for (const action of ["key.create", "key.revoke", "share.create", "member.join", "alert.create", "config.write", "config.assign"]) check(actions.includes(action), `audit: ${action} among ${actions}`);
}

async function full(page) {
  await workspaces(page);
  await fill(page);
  await lookAtAll(page, "full");
  await page.goto(`${origin}/settings/configurations?config=${unbroken(63, "-a")}&edit=${unbroken(63, "-b")}`);
  await rest(page);
  await look(page, "full-configuration");
}

/** A refusal is shown in the server's words next to its form, and what was typed stays. */
async function refused(page, path, name, act) {
  await page.goto(origin + path);
  await rest(page);
  await act();
  await page.getByRole("alert").first().waitFor();
  check((await page.getByRole("alert").first().innerText()).trim().length > 15, `${name}: why it was refused`);
  await look(page, `refused-${name}`);
}

async function refusals(page) {
  const press = (name) => page.getByRole("button", { name }).click();
  const typed = (label, words) => page.getByLabel(label).fill(words);
  const endless = unbroken(201, "x");
  await refused(page, "/settings/keys", "key", async () => {
    await typed(/^Name/, endless);
    await press("Make a key");
  });
  check((await page.getByRole("textbox", { name: /^Name/ }).inputValue()) === endless, "a refused key: its name stays typed");
  await refused(page, "/settings/members", "role", () => page.getByRole("combobox", { name: `Role of ${ACCOUNT.name}` }).selectOption("viewer"));
  check((await page.getByRole("combobox", { name: `Role of ${ACCOUNT.name}` }).inputValue()) === "owner", "a refused role: the role that holds is shown");
  await refused(page, "/settings/retention", "retention", () => typed("Keep sessions for", "-1"));
  await refused(page, "/settings/account", "password", async () => {
    await typed("Current password", "wrong wrong wrong");
    await typed("New password", "a long new phrase");
    await press("Change the password");
  });
  check((await page.getByRole("alert").innerText()).includes("The current password is wrong."), `a refused password: ${await page.getByRole("alert").innerText()}`);
  await refused(page, "/settings/server", "workspace", async () => {
    await typed("Name", endless);
    await press("Make a workspace");
  });
  await refused(page, "/alerts?edit=new", "rule", async () => {
    await typed("Name", "hot");
    await typed("Deliver to", "ftp://example.org/");
    await press("Save");
  });
  await refused(page, "/settings/configurations?edit=/new", "configuration", async () => {
    await page.locator("input[name=name]").fill("long-note");
    await page.locator("[name=note]").fill(unbroken(1025, "x"));
    await press("Make it");
  });
}

/** A page does not offer what a role may not do, and says whom to ask. */
async function asViewer() {
  await lookAtAll(viewer, "viewer");
  for (const part of ["keys", "links", "audit"]) {
    await viewer.goto(`${origin}/settings/${part}`);
    await viewer.getByText("Not with your role").waitFor();
  }
  await viewer.goto(`${origin}/settings/retention`);
  await viewer.getByText("You are a viewer here.").waitFor();
  await viewer.goto(`${origin}/settings/server`);
  await viewer.getByText("for administrators of the server").waitFor();
}

const steps = { empty, full, refusals, asViewer };
try {
  const page = await visitor();
  await firstAccount(page, server);
  await t.walk(page, steps);
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("settings");
