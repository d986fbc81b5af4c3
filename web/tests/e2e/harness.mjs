// harness.mjs - what the browser tests share: a Chromium of this machine, what counts as wrong on any
// page, and pictures of each view in both themes and three widths for people to look at.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

// The first is Chromium without the windows around its pages: the same engine, a quarter less work.
const SHELL = "/usr/bin/chromium-headless-shell"; // which moves a mouse of its own
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DESK = { width: 1280, height: 800 };
const WALL = { width: 3840, height: 2160 };
const PHONE = { width: 390, height: 844 };
const DESKS = [DESK, { width: 1600, height: 900 }, WALL];

export const MARKUP = `<img src=x onerror="document.title='taken'">`;

/** The rules of axe that read colours: the themes differ in nothing else. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/** How long a test waits for what must come: a machine may have much else to do. */
export const PATIENCE_MS = 90_000;

/** Until `condition`, run in the page, holds. It may be asynchronous: page.waitForFunction would take the
 * promise itself for a yes. */
export async function until(page, condition, argument) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await page.evaluate(condition, argument))) {
    if (Date.now() > end) throw new Error(`does not become so: ${condition}`);
    await page.waitForTimeout(100);
  }
}

/** Starts the browser; without one on this machine the test is skipped. */
export async function startBrowser(out, { whole = false } = {}) {
  const executablePath = (whole ? [...BROWSERS, SHELL] : [SHELL, ...BROWSERS]).find((file) => existsSync(file));
  if (!executablePath) {
    console.log("skipped: no Chromium on this machine");
    process.exit(77);
  }
  mkdirSync(out, { recursive: true });
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** A picture for people to look at. No test reads any, and to encode one takes longer than to draw it, so they are made
 * where GPUFL_WEB_PICTURES asks for them; else the page has drawn itself as it is now. */
export async function shoot(page, options) {
  if (process.env.GPUFL_WEB_PICTURES) await page.screenshot(options);
  else await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export function makeHarness(out) {
  const wrong = [];
  // A line without words would hide what is wrong.
  wrong.push = (...lines) => Array.prototype.push.apply(wrong, lines.map((line) => (typeof line === "string" && line.trim() ? line : `no words: ${new Error(`what was said is ${JSON.stringify(line)}`).stack}`)));
  let views = 0;
  let checks = 0;
  const expected = new Set([401, 404]); // a browser's words about answers that a test asks for on purpose
  const check = (fine, what) => {
    if (typeof what !== "string" || !what.trim()) throw new Error(`a check must have words: ${JSON.stringify(what)}`);
    checks++;
    if (!fine) wrong.push(what);
  };

  function watch(page, origin) {
    page.on("console", (message) => {
      const status = /status of (\d+)/.exec(message.text())?.[1];
      if (message.type() === "error" && !expected.has(Number(status))) wrong.push(`console: ${message.text()} ${message.location().url} (${page.url()})`);
    });
    page.on("pageerror", (error) => wrong.push(`error: ${error.message} (${page.url()})`));
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(origin)) wrong.push(`another origin was asked: ${request.url()}`);
    });
  }

  /** axe finds nothing serious or critical. It is handed over as a function of the test's own world, once a document; the
   * page's policy stays as it is. Of a view that was looked at in another theme, `colours` are all that can differ. */
  async function accessible(page, name, { colours = false } = {}) {
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
    const { violations, rules } = await page.evaluate(async (only) => {
      // What no rule of less weight finds is not asked for: those take a third of the time.
      const runs = (rule) => rule.enabled && !rule.tags.some((tag) => tag === "experimental" || tag === "deprecated");
      const weighty = axe._audit.rules.filter((rule) => runs(rule) && ["serious", "critical"].includes(rule.impact)).map((rule) => rule.id);
      const values = only ? weighty.filter((id) => only.includes(id)) : weighty;
      const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: { type: "rule", values } });
      return { violations, rules: values.length };
    }, colours ? COLOURS : null);
    check(rules >= (colours ? COLOURS.length : 50), `${name}: axe has ${rules} rules`);
    for (const found of violations)
      wrong.push(`${name}: ${found.id}: ${found.help}: ${found.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }

  /** As another tab of the browser would choose it. */
  const theme = (page, wanted) =>
    page.evaluate((t) => {
      localStorage.setItem("gpufl.theme", t);
      window.dispatchEvent(new StorageEvent("storage"));
    }, wanted);

  const narrow = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

  /** In tables no number is cut off, and of names that differ what is seen of them differs, too. */
  async function legible(page, name) {
    const { cut, alike } = await page.evaluate(() => {
      const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
      const cut = [...document.querySelectorAll("main td.right, main th.right")].filter((cell) => seen(cell) && getComputedStyle(cell).overflowX === "hidden" && cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.innerText);
      /** The letters that stand within what the name's box shows. */
      const shown = (element) => {
        let box = element;
        while (box && getComputedStyle(box).overflowX !== "hidden") box = box.parentElement;
        const { right, bottom } = (box ?? element).getBoundingClientRect();
        const range = document.createRange();
        let text = "";
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode())
          for (let at = 0; at < node.data.length; at++) {
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            const letter = range.getBoundingClientRect();
            if (letter.bottom > bottom + 2 || letter.right > right + 1) return text;
            text += node.data[at];
          }
        return text;
      };
      const alike = [];
      for (const table of document.querySelectorAll("main table")) {
        const names = new Map();
        for (const element of [...table.querySelectorAll("[data-name]")].filter(seen)) {
          const text = shown(element).trim();
          const whole = element.dataset.name; // two kernels may have one short text
          if ((names.get(text) ?? whole) !== whole) alike.push(text);
          names.set(text, whole);
        }
      }
      return { cut, alike };
    });
    check(cut.length === 0, `${name}: cut off: ${cut.slice(0, 8).join(" | ")}`);
    check(alike.length === 0, `${name}: read alike: ${alike.slice(0, 8).join(" | ")}`);
  }

  async function picture(page, name, { wide = true } = {}) {
    await page.setViewportSize(DESK);
    for (const wanted of ["dark", "light"]) {
      await theme(page, wanted);
      await accessible(page, `${name} ${wanted}`, { colours: wanted === "light" });
      await shoot(page, { path: path.join(out, `${name}-${wanted}.png`) });
    }
    check(await narrow(page), `${name}: nothing is wider than the page at ${DESK.width}`);
    if (wide) {
      await page.setViewportSize(WALL);
      await shoot(page, { path: path.join(out, `${name}-3840.png`), scale: "css" });
      check(await narrow(page), `${name}: nothing is wider than the page at ${WALL.width}`);
    }
    await page.setViewportSize(PHONE);
    await shoot(page, { path: path.join(out, `${name}-phone.png`) });
    check(await narrow(page), `${name}: nothing is wider than a phone`);
    await page.setViewportSize(DESK);
    views++;
  }

  /** Whole pages: at the desk's width from top to bottom, and as wider screens show them. */
  async function shots(page, name, { judged = false } = {}) {
    for (const size of DESKS) {
      await page.setViewportSize(size);
      for (const wanted of ["dark", "light"]) {
        await theme(page, wanted);
        if (size === DESK) await accessible(page, `${name} ${wanted}`, { colours: wanted === "light" });
        await shoot(page, { path: path.join(out, `${name}-${size.width}-${wanted}.png`), scale: "css", fullPage: size === DESK });
      }
      check(await narrow(page), `${name}: wider than the page at ${size.width}`);
      if (judged) await legible(page, `${name} at ${size.width}`);
    }
    await page.setViewportSize(DESK);
  }

  /** Runs the steps in order, or those that GPUFL_WEB_ONLY names; a step that throws has a picture, and the next one runs. */
  async function walk(page, steps, ...given) {
    const only = process.env.GPUFL_WEB_ONLY?.split(",");
    for (const [name, step] of Object.entries(steps)) {
      if (only && !only.includes(name)) continue;
      try {
        await step(page, ...given);
      } catch (error) {
        await page.screenshot({ path: path.join(out, `failed-${name}.png`) }).catch(() => undefined);
        wrong.push(`${name}: ${String(error?.stack ?? error)}`);
      }
    }
  }

  /** Tells what was wrong; the process's exit status. */
  function finish(what) {
    wrong.forEach((line, at) => console.log(`wrong ${at + 1} of ${wrong.length}: ${line}`));
    console.log(`${what ?? `${views} views in two themes and three widths`}, ${checks} checks, ${wrong.length} failed; pictures in ${out}`);
    return wrong.length || !checks ? 1 : 0;
  }

  return { check, watch, accessible, legible, picture, shots, theme, walk, finish, wrong, expected };
}
