// harness.mjs - the parts that the browser tests share: a Chromium of this machine, checks that
// hold for every page, and pictures of each view in both themes and three widths.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { noteTexts, notWhole, unreadable, violated } from "./seen.mjs";

// SHELL is Chromium without windows: the same engine, with a quarter less work.
const SHELL = "/usr/bin/chromium-headless-shell"; // moves the mouse when it starts
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Whether the tests take pictures, for somebody who wants to look at them. */
const PICTURES = Boolean(process.env.GPUFL_WEB_PICTURES);
const DESK = { width: 1280, height: 800 };
const WALL = { width: 3840, height: PICTURES ? 2160 : 800 }; // only the width is checked
const PHONE = { width: 390, height: 844 };
const DESKS = [DESK, { width: 1600, height: 900 }, WALL];

export const MARKUP = `<img src=x onerror="document.title='taken'">`;

/** The rules of axe that read colours: the themes differ only in these. */
const COLOURS = ["color-contrast", "link-in-text-block"];

/** The only rules of axe that pages need not follow, each with its reason. */
const LEFT_OUT = {
  "color-contrast-enhanced": "a contrast of 7, of level AAA: grey letters keep the 4.5 of level AA, so that they stand back",
};

/** How long a test waits for something that must happen, also on a busy machine. */
export const PATIENCE_MS = 90_000;

/** Waits until `condition` holds in the page. The condition may be asynchronous: page.waitForFunction would take the promise itself
 * for true. */
export async function until(page, condition, argument) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await page.evaluate(condition, argument))) {
    if (Date.now() > end) throw new Error(`does not become so: ${condition}`);
    await page.waitForTimeout(100);
  }
}

/** Waits until the session has ended and has its last report: before that the server's answers cover only a part. */
export const finished = (page, id) =>
  until(
    page,
    async (of) => {
      const { state, analyzed } = await (await fetch(`/api/v1/sessions/${of}`)).json();
      return state === "ended" && analyzed && (await fetch(`/api/v1/sessions/${of}/timeline`)).ok;
    },
    id,
  );

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

/** The themes that a test uses: both if it checks them or takes pictures, else the first. */
export const themes = (checked) => (checked || PICTURES ? ["dark", "light"] : ["dark"]);

/** Takes a picture for people to look at, if GPUFL_WEB_PICTURES is set; else waits until the page is drawn. No test reads pictures,
 * and encoding one takes longer than drawing the page. */
export async function shoot(page, options) {
  if (PICTURES) await page.screenshot(options);
  else await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** An array to which only lines with words are added: an empty line would hide an error. */
function wordsOnly() {
  const lines = [];
  const worded = (line) => (typeof line === "string" && line.trim() ? line : `no words: ${new Error(`what was said is ${JSON.stringify(line)}`).stack}`);
  lines.push = (...added) => Array.prototype.push.apply(lines, added.map(worded));
  return lines;
}

/** The checks of one test and what they found. Its functions may be taken out of it. */
class Harness {
  wrong = wordsOnly();
  expected = new Set([401, 404]); // statuses that tests cause on purpose, which the browser reports
  #views = 0;
  #checks = 0;
  #out; // the folder of the pictures

  constructor(out) {
    this.#out = out;
  }

  check = (fine, what) => {
    if (typeof what !== "string" || !what.trim()) throw new Error(`a check must have words: ${JSON.stringify(what)}`);
    this.#checks++;
    if (!fine) this.wrong.push(what);
  };

  watch = (page, origin) => {
    void page.addInitScript(noteTexts);
    page.on("console", (message) => {
      const status = /status of (\d+)/.exec(message.text())?.[1];
      if (message.type() === "error" && !this.expected.has(Number(status))) this.wrong.push(`console: ${message.text()} ${message.location().url} (${page.url()})`);
    });
    page.on("pageerror", (error) => this.wrong.push(`error: ${error.message} (${page.url()})`));
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(origin)) this.wrong.push(`another origin was asked: ${request.url()}`);
    });
  };

  /** axe finds nothing by any of its rules. Its script is evaluated once in each document, without a change of the page's policy. A
   * view that was checked in another theme can differ only in `colours`. */
  accessible = async (page, name, { colours = false } = {}) => {
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
    const { violations, rules } = await page.evaluate(violated, { only: colours ? COLOURS : null, leftOut: Object.keys(LEFT_OUT) });
    this.check(rules >= (colours ? COLOURS.length : 90), `${name}: axe has ${rules} rules`);
    for (const found of violations)
      this.wrong.push(`${name}: ${found.id}: ${found.help}: ${found.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  };

  /** Sets the theme as another tab of the browser would. */
  theme = (page, wanted) =>
    page.evaluate((t) => {
      localStorage.setItem("gpufl.theme", t);
      window.dispatchEvent(new StorageEvent("storage"));
    }, wanted);

  #narrow = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

  /** In tables no number is cut off, and the visible parts of different names differ. */
  legible = async (page, name) => {
    const { cut, alike, short } = await page.evaluate(unreadable);
    this.check(cut.length === 0, `${name}: cut off: ${cut.slice(0, 8).join(" | ")}`);
    this.check(short.length === 0, `${name}: shortened although there is room: ${short.slice(0, 4).join(" | ")}`);
    this.check(alike.length === 0, `${name}: read alike: ${alike.slice(0, 8).join(" | ")}`);
  };

  /** Everything that a person sees is whole: a table that goes on beyond an edge has a hint and ends with a whole column;
   * only text of programs scrolls sideways; no field cuts off its hint; no cell is higher than its row, no chip narrower than
   * its text, and no text of a plot touches another; a page that fits does not scroll; no two rows of a table read the same. */
  whole = async (page, name) => {
    const { clipped, hinting, sideways, high, tight, twins, hints, touching, empty } = await page.evaluate(notWhole);
    this.check(clipped.length === 0, `${name}: clipped: ${clipped.slice(0, 4).join(" | ")}`);
    this.check(hinting.length === 0, `${name}: hints that a table goes on, which does not: ${hinting.slice(0, 4).join(" | ")}`);
    this.check(sideways.length === 0, `${name}: scrolls sideways: ${sideways.slice(0, 4).join(" | ")}`);
    this.check(high.length === 0, `${name}: higher than their rows: ${high.slice(0, 4).join(" | ")}`);
    this.check(tight.length === 0, `${name}: chips that are narrower than their text: ${tight.slice(0, 4).join(" | ")}`);
    this.check(hints.length === 0, `${name}: hints that are cut off: ${hints.join(" | ")}`);
    this.check(touching.length === 0, `${name}: texts of a plot that touch: ${touching.slice(0, 6).join(" | ")}`);
    this.check(empty <= 0, `${name}: scrolls by ${empty} px though all of it fits`);
    this.check(twins.length === 0, `${name}: rows that read the same: ${twins.slice(0, 4).join(" | ")}`);
  };

  picture = async (page, name, { wide = true } = {}) => {
    await page.setViewportSize(DESK);
    for (const wanted of ["dark", "light"]) {
      await this.theme(page, wanted);
      await this.accessible(page, `${name} ${wanted}`, { colours: wanted === "light" });
      await shoot(page, { path: path.join(this.#out, `${name}-${wanted}.png`) });
    }
    this.check(await this.#narrow(page), `${name}: nothing is wider than the page at ${DESK.width}`);
    if (wide) {
      await page.setViewportSize(WALL);
      await shoot(page, { path: path.join(this.#out, `${name}-3840.png`), scale: "css" });
      this.check(await this.#narrow(page), `${name}: nothing is wider than the page at ${WALL.width}`);
    }
    await page.setViewportSize(PHONE);
    await shoot(page, { path: path.join(this.#out, `${name}-phone.png`) });
    this.check(await this.#narrow(page), `${name}: nothing is wider than a phone`);
    await page.setViewportSize(DESK);
    this.#views++;
  };

  /** Takes pictures of the page: at the desk's width from top to bottom, and as wider screens show it. judged: everything that a
   * person sees is whole in both themes at each width. */
  shots = async (page, name, { judged = false } = {}) => {
    for (const size of DESKS) {
      await page.setViewportSize(size);
      for (const wanted of themes(judged || size === DESK)) {
        await this.theme(page, wanted);
        if (size === DESK) await this.accessible(page, `${name} ${wanted}`, { colours: wanted === "light" });
        await shoot(page, { path: path.join(this.#out, `${name}-${size.width}-${wanted}.png`), scale: "css", fullPage: size === DESK });
        if (judged) {
          await this.legible(page, `${name} at ${size.width}, ${wanted}`);
          await this.whole(page, `${name} at ${size.width}, ${wanted}`);
        }
      }
      this.check(await this.#narrow(page), `${name}: wider than the page at ${size.width}`);
    }
    await page.setViewportSize(DESK);
  };

  /** Runs the steps in order, or those that GPUFL_WEB_ONLY names. After a step that throws it takes a picture, and runs the next
   * one. */
  walk = async (page, steps, ...given) => {
    const only = process.env.GPUFL_WEB_ONLY?.split(",");
    for (const [name, step] of Object.entries(steps)) {
      if (only && !only.includes(name)) continue;
      try {
        await step(page, ...given);
      } catch (error) {
        await page.screenshot({ path: path.join(this.#out, `failed-${name}.png`) }).catch(() => undefined);
        this.wrong.push(`${name}: ${String(error?.stack ?? error)}`);
      }
    }
  };

  /** Prints what was wrong; returns the process's exit status. */
  finish = (what) => {
    this.wrong.forEach((line, at) => console.log(`wrong ${at + 1} of ${this.wrong.length}: ${line}`));
    console.log(`${what ?? `${this.#views} views in two themes and three widths`}, ${this.#checks} checks, ${this.wrong.length} failed; pictures in ${this.#out}`);
    return this.wrong.length || !this.#checks ? 1 : 0;
  };
}

export const makeHarness = (out) => new Harness(out);
