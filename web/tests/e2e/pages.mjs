// pages.mjs - the dashboard in a real Chromium on a real server: from an empty store to every page,
// in both themes, with a screenshot of each (below OUT) for people to look at.
//   node tests/e2e/pages.mjs BIN DATA OUT
// Fails on: anything that the server's policy refuses, a request to another origin, an error in the
// console, a finding of axe by any of its rules, names that become markup, a missing page.
import path from "node:path";
import { makeHarness, MARKUP, shoot, startBrowser } from "./harness.mjs";
import { ACCOUNT, startServer } from "./server.mjs";
import { flameViews } from "./flame.mjs";
import { timelineViews } from "./timeline.mjs";
import { PATIENCE_MS } from "./harness.mjs";

const [bin, data, out] = process.argv.slice(2);
const t = makeHarness(out);
const { check, watch, accessible, wrong } = t;
let views = 0;

async function picture(page, name) {
  for (const theme of ["light", "dark"]) {
    // Sets the theme as another tab of the browser would.
    await page.evaluate((wanted) => {
      localStorage.setItem("gpufl.theme", wanted);
      window.dispatchEvent(new StorageEvent("storage"));
    }, theme);
    await accessible(page, `${name} ${theme}`, { colours: theme === "dark" });
    await shoot(page, { path: path.join(out, `${name}-${theme}.png`) });
  }
  views++;
}

const browser = await startBrowser(out);
const server = await startServer(bin);
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  watch(page, server.origin);
  const see = (text) => page.getByText(text, { exact: false }).first().waitFor({ timeout: PATIENCE_MS });

  // Without a login there is the form to log in.
  await page.goto(server.origin);
  await see("Password");
  await picture(page, "login");

  // The link that the server printed makes the first account.
  await page.goto(await server.printed(/first account at (\S+)/));
  await picture(page, "setup");
  for (const [name, value] of Object.entries(ACCOUNT)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button", { name: "Make the account" }).click();

  // Nothing is here yet; the command lines are this server's.
  await see("No sessions yet");
  check((await page.locator(".command pre").allInnerTexts()).some((line) => line.includes(server.origin)), "first run: the server's address");
  const words = await page.locator(".command pre span").evaluateAll((all) => all.map((word) => [word.innerText, word.getBoundingClientRect().height / parseFloat(getComputedStyle(word).lineHeight)]));
  check(words.length > 10 && words.every(([, lines]) => lines < 1.6), `first run: commands break at spaces: ${words.filter(([, lines]) => lines >= 1.6).map(([word]) => word)}`);
  await picture(page, "first-run");

  // Sessions are sent as users send them.
  const key = await page.evaluate(async () => {
    const me = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch("/api/v1/keys", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf },
      body: JSON.stringify({ name: "test", scopes: "ingest" }),
    });
    const made = await answer.json();
    if (!made.key) throw new Error(JSON.stringify(made));
    return made.key;
  });
  server.upload(key, data);
  await page.goto(`${server.origin}/sessions`);
  await page.getByRole("link", { name: "train_loop" }).first().waitFor();
  await picture(page, "sessions");
  check((await page.locator("tbody tr").count()) >= 1, "sessions: a row");

  // The search is in the address; the page says if nothing matches.
  await page.getByRole("searchbox", { name: "Search sessions" }).fill(MARKUP);
  await see("No session matches");
  check(new URL(page.url()).searchParams.get("text") === MARKUP, "sessions: the search is in the address");
  await page.reload();
  await see("No session matches");
  check((await page.title()) !== "taken" && (await page.locator("img").count()) === 0, "markup in the address stays text");
  await picture(page, "sessions-none");
  await page.getByRole("link", { name: "Clear search and filters" }).click();

  // The views of a session.
  await page.getByRole("link", { name: "train_loop" }).first().click();
  await see("Findings, by what");
  const session = page.url().split("/")[4];
  await picture(page, "insights");
  const titles = await page.locator(".finding h3").allInnerTexts();
  check(titles.some((title) => title.includes("In-loop sync × 1000")), `insights: the in-loop sync among ${titles.join("; ")}`);
  await page.getByRole("button", { name: "train_loop.cu:235" }).first().click();
  await page.locator(".source-here").waitFor();
  await picture(page, "insights-line");
  check(new URL(page.url()).searchParams.has("line"), "insights: the opened line is in the address");
  await page.getByRole("dialog").getByText("Host blocked").waitFor();
  await page.getByRole("link", { name: "The longest event on the timeline" }).click();
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
  const [from, to] = new URL(page.url()).searchParams.get("at").split("-").map(Number);
  const inside = await page.evaluate(
    async ([id, a, b]) => {
      const ask = async (path) => (await (await fetch(`/api/v1/sessions/${id}/${path}`)).json()).data;
      const lanes = await ask("lanes");
      const waits = lanes.lane.filter((lane) => BigInt(lane) >> 56n === 4n);
      const { start, duration } = await ask(`events?lanes=${waits.join()}&from=${a}&to=${b}`);
      return start.some((at, i) => Math.abs(at - duration[i] - a) < 3 && Math.abs(at + 2 * duration[i] - b) < 3);
    },
    [session, from, to],
  );
  check(inside, `insights: the longest wait fills a third of the timeline (${from} to ${to})`);
  await page.goBack();
  await page.locator(".source-here").waitFor();
  await page.keyboard.press("Escape");

  await page.keyboard.press("3");
  await see("matmul");
  await picture(page, "kernels");
  check((await page.locator("tbody tr").count()) >= 5, "kernels: rows");
  await page.getByRole("button", { name: "Calls" }).click();
  check(new URL(page.url()).searchParams.get("sort") === "calls", "kernels: the order is in the address");
  await page.getByRole("link", { name: "matmul" }).first().click();
  await page.locator(".histogram rect").first().waitFor();
  await page.locator("tbody tr").nth(5).waitFor();
  await picture(page, "kernel");
  check((await page.locator(".table tbody tr").count()) < 200, "kernel: launches are in the page only as far as seen");

  for (const [tab, text] of [["scopes", "train_step"], ["syncs", "train_loop.cu:235"], ["system", "GPU memory in use"], ["raw", "The numbers of launched, recorded and written events agree."]]) {
    await page.goto(`${server.origin}/sessions/${session}/${tab}`);
    await see(text);
    if (tab === "system") await page.locator(".uplot canvas").first().waitFor();
    await picture(page, tab);
  }
  const row = async (name) => (await page.locator("tr", { has: page.getByRole("rowheader", { name, exact: true }) }).locator("td").innerText()).replaceAll("\u202f", "");
  const mine = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()), session);
  check((await row("Written by")) === `GPUFlight ${mine.client}` && (await row("Size in the store")).endsWith(`iB (${mine.bytes} bytes)`), `export: written by ${await row("Written by")}, ${await row("Size in the store")}`);
  check((await row("Received")).includes(mine.received), `export: received ${await row("Received")}`);
  await page.goto(`${server.origin}/sessions/${session}/memory`);
  const asked = (await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/ledger`)).json()), session)).capabilities.find(({ feature }) => feature === "memory");
  check(asked.status === "not_requested", `memory: ${asked.status}`);
  await see("Allocations were not asked for. gpufl trace --option enable_memory_tracking=true records them.");

  await flameViews({ page, session, origin: server.origin, see, picture, check });
  await timelineViews({ page, session, origin: server.origin, see, picture, check });

  // The header of one line shows the id of the session or nothing of it, at any width.
  for (const width of [1600, 1440, 1360, 1280, 1200, 1024, 900]) {
    await page.setViewportSize({ width, height: 800 });
    const [shown, whole] = await page.locator(".session-line .session-id").evaluateAll(([id]) => [id.offsetWidth > 0, id.scrollWidth <= id.clientWidth && id.innerText.length === 8 && id.getBoundingClientRect().right <= id.closest(".row").getBoundingClientRect().right + 0.5]);
    check(shown ? whole : width <= 1100, `header at ${width}: the session's id is ${shown ? "cut" : "not there"}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  // Keys open the commands and the list of shortcuts.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Where to?" }).fill("Kern");
  await picture(page, "palette");
  await page.keyboard.press("Enter");
  await see("matmul");
  await page.keyboard.press("?");
  await see("This sheet");
  await picture(page, "shortcuts");
  await page.keyboard.press("Escape");

  // A session that does not exist is reported as such.
  await page.goto(`${server.origin}/sessions/no-such-session/insights`);
  await page.getByRole("alert").waitFor();
  await picture(page, "missing");
  await page.goto(`${server.origin}/nowhere/at/all/really`);
  await see("There is no such page");

  // The passes of one run, each of another engine: the insights say what the engine itself has caused.
  server.upload(key, `${data}_engines`);
  const passes = await page.evaluate(async () => {
    const made = {};
    for (;;) {
      const rows = (await (await fetch("/api/v1/sessions?limit=100")).json()).rows.filter((row) => row.labels?.run);
      for (const row of rows) if (row.analyzed) made[row.engine] = row.id;
      if (Object.keys(made).length === 4) return made;
      await new Promise((done) => setTimeout(done, 200));
    }
  });
  await page.goto(`${server.origin}/sessions/${passes.SassMetrics}/insights`);
  await see("What to change: not known");
  const next = page.locator(".finding-next").first();
  check(!(await next.innerText()).includes("--section"), `insights: the next step names an option of a command: ${await next.innerText()}`);
  await next.getByRole("link", { name: "Export" }).click();
  await see("What was captured");
  for (const [engine, text] of [["PcSampling", "while engine PcSampling was set up"], ["SassMetrics", "engine SassMetrics makes kernels take many times as long"], ["RangeProfiler", "while engine RangeProfiler was set up"]]) {
    await page.goto(`${server.origin}/sessions/${passes[engine]}/insights`);
    await see(text);
    // Counts alone do not say what to change, which is not the same as "nothing".
    if (engine === "SassMetrics") await see("What to change: not known from what was recorded");
    await page.goto(`${server.origin}/sessions/${passes[engine]}/kernels`);
    await see("matmul");
    await picture(page, `kernels-${engine}`);
  }
  await page.goto(`${server.origin}/sessions/${passes.Trace}/insights`);
  await see("Findings, by what");
  check((await page.getByText("not the program's own").count()) === 0, "insights: of Trace all is the program's");

  // At the width of a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${server.origin}/sessions/${session}/insights`);
  await see("Findings, by what");
  check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "phone: nothing is wider than the page");
  await picture(page, "insights-phone");
} catch (error) {
  wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
check(views > 0, "views");
process.exitCode = t.finish(`${views} views in two themes`);
