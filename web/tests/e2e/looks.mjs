// looks.mjs - every page that links lead to, as users see it: in both themes without
// a finding of axe, at the width of a phone, of a desk and of a wall without overflow, without
// animation if the user wants less motion, and without parts that later parts push away;
// and the insights on paper.
//   node tests/e2e/looks.mjs BIN DATA OUT
import { crawl, rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, shoot, startBrowser, until } from "./harness.mjs";
import { lettersIn, sheetsOf } from "./pdf.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { simulate } from "./sessions.mjs";

const [bin, data, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check } = t;

const LATE_MS = 120; // the delay of every answer, so that the test sees what a page shows meanwhile
const SHIFT_MOST = 0.1; // the most layout shift of a page that browsers call good
const A4 = { width: 794, height: 1123 }; // px at 96 px an inch
const shifts = [];

async function visitor(theme) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await page.addInitScript((wanted) => {
    localStorage.setItem("gpufl.theme", wanted);
    window.shift = 0;
    window.shifted = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.hadRecentInput) continue;
        window.shift += entry.value;
        const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join();
        window.shifted.push(...entry.sources.map((source) => `${entry.value.toFixed(3)} from ${place(source.previousRect)} to ${place(source.currentRect)} ${source.node?.outerHTML?.slice(0, 90) ?? source.node?.textContent?.slice(0, 40)}`));
      }
    }).observe({ type: "layout-shift", buffered: true });
  }, theme);
  return page;
}

async function begin(page) {
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  server.upload(key, data);
  simulate(bin, ["--kernels", "20000", "--scopes", "--sample", "250", "--engine", "Deep", "--plant", "stall,divergence,uncoalesced,conflicts", "--name", "deep"], (folder) => server.upload(key, folder));
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 2);
  return page.evaluate(async () => (await (await fetch("/api/v1/sessions")).json()).rows.map((row) => row.id));
}

/** While the page loaded nothing was pushed away, and nothing moves by itself. */
async function still(page, path) {
  const { shift, shifted, moving } = await page.evaluate(() => ({ shift: window.shift, shifted: window.shifted, moving: document.getAnimations().filter((animation) => animation.playState === "running").length }));
  shifts.push([path, shift]);
  check(shift < SHIFT_MOST, `${path}: layout shift of ${shift.toFixed(3)}: ${shifted.join(" | ")}`);
  check(moving === 0, `${path}: ${moving} animations though no motion is wished for`);
}

/** Paper has dark letters on white from either theme, nothing is cut off, and there are no controls. */
async function paper(page, session) {
  await page.goto(`${origin}/sessions/${session}/insights?more=1`);
  await rest(page);
  const findings = await page.locator(".finding").evaluateAll((all) => all.map((f) => ["h3", ".finding-main > p", ".place", ".finding-next", ".gain strong"].map((part) => f.querySelector(part)?.innerText ?? "")));
  check(findings.some(([, , , next]) => next.includes("Let the compiler use fewer registers")), "insights: steps are those of the case, not of the rule alone");
  await page.goto(`${origin}/sessions/${session}/insights`); // some findings are folded on the screen, none on paper
  await rest(page);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize(A4);
  const printed = await page.evaluate(() => {
    const light = (colour) => {
      const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const seen = (selector) => [...document.querySelectorAll(selector)].some((element) => element.checkVisibility());
    const texts = [...document.querySelectorAll("main h1, main h3, main p, main dd, main .place")].filter((element) => element.checkVisibility());
    return {
      controls: ["header.topbar", "nav.tabs", "main .button", "input"].filter(seen),
      pale: texts.filter((element) => light(getComputedStyle(element).color) > 140).map((element) => element.outerHTML.slice(0, 80)),
      wide: document.documentElement.scrollWidth - innerWidth,
      cut: texts.filter((element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible").map((element) => element.outerHTML.slice(0, 80)),
      places: texts.filter((element) => element.matches(".place")).length,
      ground: light(getComputedStyle(document.documentElement).backgroundColor),
    };
  });
  check(printed.controls.length === 0, `paper: ${printed.controls.join(", ")} are printed`);
  check(printed.pale.length === 0 && printed.ground > 250, `paper: pale letters (${printed.ground}): ${printed.pale.slice(0, 3).join(" | ")}`);
  check(printed.wide <= 0, `paper: ${printed.wide} px do not fit`);
  check(printed.cut.length === 0, `paper: cut off: ${printed.cut.slice(0, 3).join(" | ")}`);
  check(printed.places > 0, "paper: the lines of the findings are printed");
  await shoot(page, { path: `${out}/paper.png`, fullPage: true });
  const file = `${out}/insights.pdf`;
  await page.pdf({ path: file, format: "A4", printBackground: false, margin: { top: "12mm", bottom: "12mm", left: "12mm", right: "12mm" } });
  const sheets = sheetsOf(file);
  check(findings.length > 3 && sheets.length >= 1 && sheets.length <= Math.ceil(findings.length / 4) + 1, `paper: ${findings.length} findings on ${sheets.length} sheets`);
  check(findings.some(([, , place]) => place), "paper: there are findings with lines");
  for (const parts of findings) {
    const letters = parts.map(lettersIn);
    const missing = letters.filter((part) => !sheets.some((sheet) => sheet.includes(part)));
    check(missing.length === 0, `paper: ${parts[0]}: not on any sheet: ${missing.join(" | ")}`);
    check(sheets.some((sheet) => letters.every((part) => sheet.includes(part))), `paper: ${parts[0]} is torn over two sheets`);
  }
  await page.emulateMedia({ media: "screen" });
}

const lefts = (locator) => locator.evaluateAll((all) => all.map((element) => element.getBoundingClientRect().left));
const near = (a, b) => Math.abs(a - b) < 1.5;

const cut = []; // of each session, whether its flame graph did not fit

/** Parts stand where they say something: labels at the ends of bars, notes and tables below their title, whole rows and counts. */
async function places(page, session) {
  const open = async (path) => {
    await page.goto(`${origin}/sessions/${session}/${path}`);
    await rest(page);
  };
  await open("kernels");
  const row = page.locator(".table tbody tr", { has: page.locator(".meter") }).first();
  await row.hover();
  const [track, ground] = await row.evaluate((line) => [getComputedStyle(line.querySelector(".meter")).backgroundColor, getComputedStyle(line).backgroundColor]);
  check(track !== ground, `kernels: the bar of a row at the pointer has a track of ${track} on ${ground}`);
  const kernel = await page.locator(".table td.lead a").first().getAttribute("href");
  await open("kernels?group=template");
  const counts = await page.locator(".group-name .chip").evaluateAll((all) => all.map((chip) => [chip.getBoundingClientRect().right, chip.closest("td").getBoundingClientRect().right]));
  check(counts.length > 0 && counts.every(([chip, cell]) => chip <= cell), `kernels: counts of groups end at ${counts}`);

  await page.goto(origin + kernel);
  await page.locator(".histogram rect").first().waitFor();
  await page.locator(".launch-start").first().waitFor();
  const bars = await page.locator(".histogram rect").evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect()).map(({ left, right }) => [left, right]));
  const labels = await page.locator(".figure figcaption span").evaluateAll((all) => all.map((label) => label.getBoundingClientRect()).map(({ left, right }) => [left, right]));
  check(near(bars[0][0], labels[0][0]) && Math.abs(bars.at(-1)[1] - labels.at(-1)[1]) < 3, `histogram: bars from ${bars[0][0]} to ${bars.at(-1)[1]}, labels from ${labels[0][0]} to ${labels.at(-1)[1]}`);
  const starts = await page.locator(".launch-start").allInnerTexts();
  check(starts.length > 10 && new Set(starts).size === starts.length, `launches: two read the same: ${starts.slice(0, 9).join("; ")}`);
  check(near((await lefts(page.locator(".launch-start")))[0], (await lefts(page.locator(".launch-start").first().locator("xpath=..")))[0] + 12), "launches: the first column begins at the table's edge");

  await open("steps");
  const keys = await page.locator(".part-plot .u-series .u-marker").evaluateAll((all) => all.map((key) => [key.getBoundingClientRect().height, getComputedStyle(key).borderRadius]));
  if (keys.length > 0) check(keys[0][0] <= 3 && keys[1][0] > 8 && keys[2][1] === "50%", `steps: a line, an area and a dot in the legend: ${JSON.stringify(keys)}`);

  await page.setViewportSize({ width: 1280, height: 200 }); // too low for the whole tree
  await open("flame");
  const box = await page.locator(".icicle-box").evaluate((element) => [element.clientHeight, innerHeight, element.scrollHeight]);
  check(box[0] % 21 === 0 && box[0] <= box[1] * 0.72, `flame: a picture of ${box[0]} px, whose rows are 21 px high`);
  cut.push(box[2] > box[0]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await open("scopes");
  const texts = await page.locator(".panel > .scroll-x").first().evaluate((table) => {
    const style = getComputedStyle(table.querySelector("th"));
    return [table.querySelector("th").getBoundingClientRect().left + parseFloat(style.paddingLeft), table.closest(".panel").querySelector("h2").getBoundingClientRect().left];
  });
  check(near(texts[0], texts[1]), `scopes: the table's text begins at ${texts[0]}, its title at ${texts[1]}`);
  await page.setViewportSize({ width: 700, height: 900 });
  const notes = await page.locator(".panel-head").evaluateAll((all) => all.flatMap((head) => (head.children.length === 2 ? [[...head.children].map((child) => child.getBoundingClientRect())] : [])).map(([title, note]) => [title.left, title.bottom, note.left, note.top]));
  check(notes.some(([, bottom, , top]) => top >= bottom) && notes.every(([left, bottom, at, top]) => top < bottom || near(left, at)), `scopes: notes below their titles: ${JSON.stringify(notes)}`);
  await page.setViewportSize({ width: 1280, height: 800 });
}

try {
  const page = await visitor("light");
  const sessions = await begin(page);
  const cookies = await page.context().cookies();
  const late = await visitor("dark");
  await late.context().addCookies(cookies);
  await late.context().route(/\/api\/v1\/(?!live)/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    await route.continue().catch(() => undefined); // the page was left meanwhile
  });
  let at = 0;
  const paths = await crawl(late, origin, ["/", ...sessions.map((id) => `/sessions/${id}/insights`), "/login", "/share", "/invite", "/reset", "/no/such/page"], async (path) => {
    await still(late, path);
    await t.legible(late, path);
    await t.picture(late, `page-${String(at++).padStart(2, "0")}${path.replace(/[^a-z]+/g, "-").slice(0, 40)}`);
  });
  check(paths.length >= 25, `pages: ${paths.join(" ")}`);
  for (const id of sessions) await places(page, id);
  check(cut.includes(true), "flame: no picture was too high for the screen");
  await paper(late, sessions.at(-1));
  await paper(page, sessions.at(-1));
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
const worst = shifts.sort((a, b) => b[1] - a[1])[0];
console.log(`most layout shift: ${worst?.[1].toFixed(3)} of ${worst?.[0].replace(/[0-9a-f-]{36}/, "…")}`);
process.exitCode = t.finish();
