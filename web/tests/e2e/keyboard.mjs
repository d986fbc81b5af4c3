// keyboard.mjs - the whole dashboard by keyboard alone. On every page Tab reaches each control, forwards and backwards, the focus
// is visible and not covered, and no page traps the focus. Then the usual work: commands, shortcuts, sessions, tabs,
// timeline, kernel, settings, link, deleting, logging out and in.
//   node tests/e2e/keyboard.mjs BIN DATA OUT
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { simulate } from "./sessions.mjs";
import { ACCOUNT, startServer } from "./server.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out, { whole: true });
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check, wrong } = t;

const MOST = 200; // presses of Tab for one page

const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
const page = await context.newPage();
t.watch(page, origin);
page.setDefaultTimeout(PATIENCE_MS);
// Runs in the page: which element has the focus, and what a person sees of it.
await page.addInitScript(() => {
  for (const type of ["pointerdown", "mousedown", "mousemove", "wheel", "touchstart"]) window.addEventListener(type, (event) => event.isTrusted && console.error(`a mouse was used: ${type}`), true);
  const reached = new WeakSet();
  const nameOf = (element) => `${element.tagName.toLowerCase()} ${element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText ?? ""}`.replace(/\s+/g, " ").trim().slice(0, 80);
  const tabbable = (element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true });
  const all = () => [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(tabbable);
  /** The element that covers the middle of an element; "": none does. */
  function cover(element) {
    const box = element.getBoundingClientRect();
    const clamp = (value, most) => Math.min(Math.max(value, 1), most - 2);
    const [left, right] = [clamp(box.left, innerWidth), clamp(box.right, innerWidth)];
    const [top, bottom] = [clamp(box.top, innerHeight), clamp(box.bottom, innerHeight)];
    const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const free = there !== null && (element.contains(there) || there.contains(element) || [...(element.labels ?? [])].some((label) => label.contains(there)));
    return free ? "" : (there?.outerHTML.slice(0, 120) ?? "the edge of the window");
  }
  window.keyboard = {
    here() {
      const element = document.activeElement;
      if (!element || element === document.body || element === document.documentElement) return null;
      const style = getComputedStyle(element);
      reached.add(element);
      return {
        name: nameOf(element),
        ring: element.matches("main") || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2),
        cover: cover(element),
        dialog: element.closest("dialog[open]") !== null,
        html: element.outerHTML.slice(0, 120),
      };
    },
    is: (selector, words) => {
      const element = document.activeElement;
      return Boolean(element?.matches(selector) && nameOf(element).includes(words));
    },
    missed: () => all().filter((element) => !reached.has(element)).map((element) => element.outerHTML.slice(0, 120)),
    row: () => Number(document.activeElement?.closest("tr")?.getAttribute("aria-rowindex") ?? 0),
  };
});

const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
const here = () => page.evaluate(() => window.keyboard.here());
const see = (text) => page.getByText(text, { exact: false }).filter({ visible: true }).first().waitFor();
const type = (text) => page.keyboard.type(text);

/** The focused element is visible and not covered; null if none has the focus. */
async function seen(name) {
  const at = await here();
  if (at === null) return null;
  check(at.ring, `${name}: the focus cannot be seen on ${at.html}`);
  check(at.cover === "", `${name}: ${at.cover} covers ${at.html}, which has the focus`);
  return at;
}

/** After an action some element gets the focus. */
async function kept(name) {
  await page.waitForFunction(() => window.keyboard?.here() !== null, undefined, { timeout: PATIENCE_MS }).catch(() => wrong.push(`${name}: the focus is lost`));
}

/** Presses Tab until the element has the focus. */
async function tabTo(selector, words = "", key = "Tab") {
  for (let presses = 0; presses < MOST; presses++) {
    if (await page.evaluate(([s, w]) => window.keyboard.is(s, w), [selector, words])) return seen(`${selector} ${words}`);
    await press(key);
  }
  throw new Error(`Tab does not come to ${selector} ${words} of ${page.url()}`);
}

/** Moves the focus to the row of a table with these words in such a control: with Tab to the table, with arrow keys to the row. */
async function rowTo(selector, words) {
  await tabTo(`tbody ${selector}`);
  await press("Home");
  for (let presses = 0; presses < MOST; presses++) {
    await until(page, (row) => window.keyboard.row() === row, presses + 2);
    if (await page.evaluate(([s, w]) => window.keyboard.is(s, w), [selector, words])) return seen(`${selector} ${words}`);
    await press("ArrowDown");
  }
  throw new Error(`no row of ${page.url()} has ${selector} ${words}`);
}

/** Moves through the whole page with Tab: it reaches every control, and then leaves the page; then back. */
async function walk(name) {
  const visited = [];
  let ended = false;
  for (let presses = 0; presses < MOST && !ended; presses++) {
    await press("Tab");
    const at = await seen(name);
    if (at) visited.push(at.name);
    ended = at === null;
  }
  check(ended, `${name}: Tab does not come to the end of the page: ${visited.slice(-4).join(" | ")}`);
  const missed = await page.evaluate(() => window.keyboard.missed());
  check(missed.length === 0, `${name}: Tab does not come to ${missed.slice(0, 5).join(" | ")}`);
  for (let presses = 0; presses <= Math.min(visited.length, MOST / 4); presses++) {
    await press("Shift+Tab");
    if ((await here()) === null) break;
    await seen(`${name}, back`);
  }
  return visited.length;
}

/** A dialog has the focus, Tab stays in it, Escape closes it, and then an element of the page has the focus. */
async function dialog(name, close = true) {
  await page.getByRole("dialog").waitFor();
  await kept(name);
  for (let presses = 0; presses < 12; presses++) {
    const at = await seen(name);
    check(at === null || at.dialog, `${name}: the focus leaves the dialog for ${at?.html}`);
    await press("Tab");
  }
  if (!close) return;
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await kept(`${name}, closed`);
}

const filled = async (name, value) => {
  await tabTo(`[name=${name}]`);
  await type(value);
};

async function begin() {
  await page.goto(await server.printed(/first account at (\S+)/));
  for (const [name, value] of Object.entries(ACCOUNT)) await filled(name, value);
  await press("Enter");
  await see("No sessions yet");
  await kept("the first page");
  const key = await page.evaluate(async () => {
    const me = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch("/api/v1/keys", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf }, body: JSON.stringify({ name: "test", scopes: "ingest" }) });
    return (await answer.json()).key;
  });
  server.upload(key, data);
  simulate(bin, ["--kernels", "5000", "--scopes", "--name", "doomed"], (folder) => server.upload(key, folder));
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 2);
}

/** Walks through every page, from top to bottom and back. */
async function pages(session) {
  await page.goto(`${origin}/sessions/${session}/insights`);
  await see("Findings, by what");
  const tabs = await page.locator("nav.tabs a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const rest = ["/", "/?view=table", "/sessions", `/compare?a=${session}&b=${session}`, "/alerts", "/upload"];
  await page.goto(`${origin}/settings`);
  await see("What roles may do");
  const parts = await page.locator("main nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  check(tabs.length >= 8 && parts.length >= 7, `the pages of a session and of the settings: ${tabs.length}, ${parts.length}`);
  for (const address of [...rest, ...tabs, ...parts]) {
    await page.goto(origin + address);
    await page.waitForFunction(() => document.querySelector("main h1, main h2") && !document.querySelector("main .skeleton"));
    if ((await walk(address)) < 8) wrong.push(`${address}: hardly a control`);
  }
}

async function commands() {
  await page.goto(`${origin}/sessions`);
  await page.getByRole("link", { name: "doomed" }).waitFor();
  await tabTo("th button", "Started");
  await press("Control+k");
  await dialog("commands");
  check(await page.evaluate(() => window.keyboard.is("th button", "Started")), "commands: Escape brings the focus back");
  await press("?");
  await see("This sheet");
  await dialog("shortcuts");
  await press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").waitFor();
  await type("alerts");
  await press("ArrowDown", "ArrowUp", "Enter");
  await see("No rules yet");
  await kept("after a command");
  for (const [keys, text] of [[["g", "f"], "Over days"], [["g", "u"], "Drop a folder here"], [["g", ","], "What roles may do"], [["g", "c"], "Choose sessions"], [["g", "q"], "Ready questions"], [["g", "s"], "train_loop"]]) {
    await press(...keys);
    await see(text);
  }
  await tabTo("tbody a", "train_loop");
  await press("Enter");
  for (const [key, text] of [["0", "What was captured"], ["3", "matmul"]]) {
    await press(key);
    await see(text);
  }
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await press("t");
  check((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme, "t changes the theme");
  await press("t");
}

async function sessions() {
  await page.goto(`${origin}/sessions`);
  await page.getByRole("link", { name: "doomed" }).waitFor();
  await press("/");
  check(await page.evaluate(() => window.keyboard.is("input", "Search sessions")), "/ goes to the search");
  await type("train");
  await page.getByRole("link", { name: "doomed" }).waitFor({ state: "detached" });
  await press("Control+a", "Delete");
  await page.getByRole("link", { name: "doomed" }).waitFor();
  await tabTo("summary", "Columns", "Shift+Tab");
  await press("Enter");
  await tabTo("input[type=checkbox]", "User");
  await press("Space");
  await page.getByRole("columnheader", { name: "User" }).waitFor();
  await tabTo("summary", "Columns", "Shift+Tab");
  await press("Enter");
  await tabTo("select", "");
  await press("t"); // the first application of that letter
  await page.waitForURL(/app=train_loop/);
  await press("Home");
  await page.waitForURL((address) => !address.searchParams.has("app"));
  await kept("a filter");
  await tabTo("th button", "Application");
  await press("Enter");
  await page.waitForURL(/sort=app/);
  check(await page.evaluate(() => window.keyboard.is("th button", "Application")), "sorting keeps the focus");
  for (const name of ["train_loop", "doomed"]) {
    await page.evaluate(() => document.activeElement.blur());
    await rowTo("input.choose", name);
    await press("Space");
  }
  await tabTo("a", "Compare"); // of the bar after the table
  await press("Enter");
  await see("Runs as a whole");
  await kept("two compared");
}

async function session(id) {
  await page.goto(`${origin}/sessions?text=train_loop`);
  await page.getByRole("link", { name: "train_loop" }).first().waitFor();
  await rowTo("td a", "train_loop");
  await press("Enter");
  await see("Findings, by what");
  await kept("a session opened");
  await tabTo("button.place");
  await press("Enter");
  await page.locator(".source-here").waitFor();
  await dialog("a finding's line");
  const tabs = await page.locator("nav.tabs a").allInnerTexts();
  for (let at = 0; at < Math.min(9, tabs.length); at++) {
    await press(String(at + 1));
    await page.locator("nav.tabs a[aria-current]", { hasText: tabs[at] }).waitFor();
    await kept(`tab ${tabs[at]}`);
  }
  for (const name of ["Kernels", "Scopes"]) {
    await page.evaluate(() => document.activeElement.blur());
    await tabTo("nav.tabs a", name);
    await press("Enter");
    await page.locator("nav.tabs a[aria-current]", { hasText: name }).waitFor();
    check(await page.evaluate((word) => window.keyboard.is("nav.tabs a", word), name), `the tab ${name} keeps the focus`);
  }
  await page.goto(`${origin}/sessions/${id}/kernels`);
  await page.getByRole("link", { name: "matmul" }).first().waitFor();
  await press("/");
  await type("matmul");
  await page.waitForURL(/search=matmul/);
  await rowTo("td a", "matmul");
  await press("Enter");
  await see("How long launches take");
  await kept("a kernel's page");
  await page.reload(); // Tab begins at the top
  await see("How long launches take");
  await page.waitForFunction(() => !document.querySelector("main .skeleton"));
  await walk("a kernel's page");
  await launches();
}

/** Hundreds of rows are one stop of Tab; the arrow keys reach each row and bring it into view. */
async function launches() {
  const rows = Number(await page.locator("table[aria-rowcount]").last().getAttribute("aria-rowcount"));
  check(rows > 300, `a kernel's launches, as many as are asked for at first: ${rows}`);
  await page.evaluate(() => document.activeElement.blur());
  await tabTo("a.launch-start");
  for (const [key, row] of [["End", rows], ["ArrowUp", rows - 1], ["Home", 2], ["ArrowUp", 2], ["ArrowDown", 3]]) {
    await press(key);
    await until(page, (wanted) => window.keyboard.row() === wanted, row);
    await seen(`a kernel's launches, ${key}`);
  }
  await press("PageDown");
  await until(page, () => window.keyboard.row() > 8);
  await seen("a kernel's launches, PageDown");
  const row = await page.evaluate(() => window.keyboard.row());
  await press("Shift+Tab");
  check((await page.evaluate(() => window.keyboard.row())) === 0, "a kernel's launches: Tab leaves them");
  await press("Tab");
  check((await page.evaluate(() => window.keyboard.row())) === row, "a kernel's launches: Tab comes back to the row that it left");
  await press("Enter");
  await page.waitForURL(/timeline\?at=/);
}

async function timeline(id) {
  const query = (name) => new URL(page.url()).searchParams.get(name);
  const has = (name, is = true) => page.waitForURL((address) => address.searchParams.has(name) === is);
  const changed = (name, before) => page.waitForURL((address) => address.searchParams.get(name) !== before);
  await page.goto(`${origin}/sessions/${id}/timeline`);
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0);
  await tabTo(".tl-scroll");
  for (const key of ["w", "w", "d", "a", "s", "ArrowRight", "ArrowLeft", "+", "-"]) {
    const before = query("at");
    await press(key);
    await changed("at", before);
  }
  await press("0");
  await has("at", false);
  await press("]", "."); // select a lane, and its first event
  await has("sel");
  const first = query("sel");
  await press(".");
  await changed("sel", first);
  const second = query("sel");
  await press(",");
  await changed("sel", second);
  await press("f");
  await has("at");
  await press("m");
  await has("range");
  await press("p");
  await has("pin");
  await kept("the timeline's keys");
  check(await page.evaluate(() => window.keyboard.is(".tl-scroll", "")), "timeline: its keys keep the focus on it");
  await press("/");
  await type("matmul");
  await has("find");
  const before = query("sel");
  await press("Enter");
  await changed("sel", before);
  const hit = query("sel");
  await press("Enter");
  await changed("sel", hit);
  await press("Shift+Enter");
  await page.waitForURL((address) => address.searchParams.get("sel") === hit);
  await tabTo("button", "Keys");
  await press("Enter");
  await dialog("the timeline's keys");
  await tabTo("button", "Close");
  await press("Enter");
  await has("sel", false);
  await kept("the details closed");
}

async function settings() {
  await page.goto(`${origin}/settings`);
  await see("What roles may do");
  await tabTo("main nav a", "API keys");
  await press("Enter");
  await see("Such as the host or the pipeline that will use it.");
  await kept("a part of the settings");
  await filled("name", "from the keyboard");
  await tabTo("select", "Expires");
  await press("ArrowDown");
  await tabTo("input[type=checkbox]", "read");
  await press("Space");
  await tabTo("button[type=submit]", "Make a key");
  await press("Enter");
  await page.locator("[data-secret]").waitFor();
  await kept("a key made");
  await page.evaluate(() => document.activeElement.blur());
  await tabTo("button", "Copy the key");
  await press("Enter");
  await see("Copied");
  await tabTo("button", "I have copied it");
  await press("Space");
  await page.locator("[data-secret]").waitFor({ state: "detached" });
  await kept("a key put away");
  await tabTo("button", "Revoke from the keyboard");
  await press("Enter");
  await dialog("taking a key back", false);
  await tabTo("dialog button", "Revoke");
  await press("Enter");
  await see("revoked");
  await kept("a revoked key");
  await page.goto(`${origin}/alerts`);
  await see("No rules yet");
  await tabTo("button", "Make a rule");
  await press("Enter");
  await dialog("a rule", false);
  await tabTo("dialog input", "Name");
  await type("hot");
  await press("Escape");
  await kept("a rule left");
}

async function shareAndDelete() {
  await page.goto(`${origin}/sessions?text=doomed`);
  await page.getByRole("link", { name: "doomed" }).first().waitFor();
  await rowTo("td a", "doomed");
  await press("Enter");
  await page.getByRole("button", { name: "Share" }).waitFor();
  await kept("a session opened");
  await tabTo("button", "Share");
  await press("Enter");
  await dialog("share", false);
  await tabTo("dialog button[type=submit]");
  await press("Enter");
  await page.locator("[data-link]").waitFor();
  await kept("a link made");
  await tabTo("dialog button", "Copy");
  await press("Enter");
  await see("Copied");
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  check(await page.evaluate(() => window.keyboard.is("button", "Share")), "share: Escape brings the focus back to its button");
  await tabTo("button", "Delete");
  await press("Enter");
  await page.getByRole("dialog").waitFor();
  check(await page.evaluate(() => window.keyboard.is("button", "Cancel")), "delete: the focus is on what does no harm");
  await tabTo("dialog button", "Delete for good");
  await press("Enter");
  await page.waitForURL(/\/sessions$/);
  await page.getByRole("link", { name: "train_loop" }).waitFor();
  await kept("a session deleted");
  check((await page.getByRole("link", { name: "doomed" }).count()) === 0, "delete: it is gone");
}

async function outAndIn() {
  await tabTo("summary", "Account");
  await press("Enter");
  await tabTo("button", "Log out");
  await press("Enter");
  await page.waitForURL(/\/login/);
  await kept("logged out");
  await filled("email", ACCOUNT.email);
  await filled("password", ACCOUNT.password);
  await press("Enter");
  await see("Over days");
  await kept("logged in");
}

try {
  await begin();
  const id = await page.evaluate(async () => (await (await fetch("/api/v1/sessions?text=train_loop")).json()).rows[0].id);
  const only = process.env.GPUFL_WEB_ONLY?.split(",");
  for (const [name, step] of Object.entries({ pages, commands, sessions, session, timeline, settings, shareAndDelete, outAndIn })) {
    if (only && !only.includes(name)) continue;
    try {
      await step(id);
    } catch (error) {
      await page.screenshot({ path: `${out}/failed-${name}.png` }).catch(() => undefined);
      wrong.push(`${name}: ${String(error?.stack ?? error)}; the focus is on ${JSON.stringify(await here().catch(() => null))}`);
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("by keyboard alone");
