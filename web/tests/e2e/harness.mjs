// harness.mjs - the parts that the browser tests share: a Chromium of this machine, checks that
// hold for every page, and pictures of each view in both themes and three widths.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

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

/** Runs in the page: notes each text that is drawn on a canvas, with its box, until the canvas is cleared. */
function noteTexts() {
  const drawn = (window.drawnTexts = new WeakMap());
  const pen = CanvasRenderingContext2D.prototype;
  const { fillText, clearRect } = pen;
  pen.clearRect = function (...box) {
    drawn.delete(this.canvas);
    return clearRect.apply(this, box);
  };
  pen.fillText = function (text, x, y, ...rest) {
    const { b, c, e, f } = this.getTransform();
    if (b === 0 && c === 0 && text.trim()) {
      const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = this.measureText(text);
      const { canvas } = this;
      if (!drawn.has(canvas)) drawn.set(canvas, []);
      const size = parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "10");
      const down = { top: 0.5, hanging: 0.5, middle: 0 }[this.textBaseline] ?? -0.35; // from y to the middle of the letters
      drawn.get(canvas).push({ text, left: e + x - left, right: e + x + right, y: f + y + down * size, size });
    }
    return fillText.call(this, text, x, y, ...rest);
  };
}

export function makeHarness(out) {
  const wrong = [];
  // An empty line would hide an error.
  wrong.push = (...lines) => Array.prototype.push.apply(wrong, lines.map((line) => (typeof line === "string" && line.trim() ? line : `no words: ${new Error(`what was said is ${JSON.stringify(line)}`).stack}`)));
  let views = 0;
  let checks = 0;
  const expected = new Set([401, 404]); // statuses that tests cause on purpose, which the browser reports
  const check = (fine, what) => {
    if (typeof what !== "string" || !what.trim()) throw new Error(`a check must have words: ${JSON.stringify(what)}`);
    checks++;
    if (!fine) wrong.push(what);
  };

  function watch(page, origin) {
    void page.addInitScript(noteTexts);
    page.on("console", (message) => {
      const status = /status of (\d+)/.exec(message.text())?.[1];
      if (message.type() === "error" && !expected.has(Number(status))) wrong.push(`console: ${message.text()} ${message.location().url} (${page.url()})`);
    });
    page.on("pageerror", (error) => wrong.push(`error: ${error.message} (${page.url()})`));
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(origin)) wrong.push(`another origin was asked: ${request.url()}`);
    });
  }

  /** axe finds nothing by any of its rules. Its script is evaluated once in each document, without a change of the page's policy. A
   * view that was checked in another theme can differ only in `colours`. */
  async function accessible(page, name, { colours = false } = {}) {
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
    const { violations, rules } = await page.evaluate(async ({ only, leftOut }) => {
      const asked = axe._audit.rules.filter((rule) => !rule.tags.includes("deprecated") && !leftOut.includes(rule.id)).map((rule) => rule.id);
      const values = only ? asked.filter((id) => only.includes(id)) : asked;
      const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: { type: "rule", values } });
      return { violations, rules: values.length };
    }, { only: colours ? COLOURS : null, leftOut: Object.keys(LEFT_OUT) });
    check(rules >= (colours ? COLOURS.length : 90), `${name}: axe has ${rules} rules`);
    for (const found of violations)
      wrong.push(`${name}: ${found.id}: ${found.help}: ${found.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
  }

  /** Sets the theme as another tab of the browser would. */
  const theme = (page, wanted) =>
    page.evaluate((t) => {
      localStorage.setItem("gpufl.theme", t);
      window.dispatchEvent(new StorageEvent("storage"));
    }, wanted);

  const narrow = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

  /** In tables no number is cut off, and the visible parts of different names differ. */
  async function legible(page, name) {
    const { cut, alike, short } = await page.evaluate(() => {
      const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
      const torn = [...document.querySelectorAll("main .table td > .button, main .table td > .row > .button")].filter((button) => seen(button) && button.getBoundingClientRect().right > button.closest("td").getBoundingClientRect().right);
      const cut = [...torn, ...[...document.querySelectorAll("main td.right, main th.right")].filter((cell) => seen(cell) && getComputedStyle(cell).overflowX === "hidden" && cell.scrollWidth > cell.clientWidth + 1)].map((cell) => cell.innerText);
      /** The letters that are visible in the name's box. */
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
      // A name is shortened only if the whole name does not fit one line of its cell.
      const pen = document.createElement("canvas").getContext("2d");
      const short = [...document.querySelectorAll("main .table td.lead [data-name]")].filter((element) => {
        const lead = element.querySelector(".found")?.textContent ?? ""; // the searched part, which is shown before the name
        if (!seen(element) || !element.textContent.replace(lead, "").includes("…") || element.dataset.name.includes("…")) return false;
        pen.font = getComputedStyle(element).font;
        const icons = [...element.closest("td").querySelectorAll("button")].reduce((sum, button) => sum + (button.contains(element) ? 0 : button.getBoundingClientRect().width + 12), 0);
        return pen.measureText(element.dataset.name).width + icons + 60 < element.closest("td").clientWidth;
      });
      return { cut, alike, short: short.map((element) => `${element.textContent} of ${element.dataset.name}`) };
    });
    check(cut.length === 0, `${name}: cut off: ${cut.slice(0, 8).join(" | ")}`);
    check(short.length === 0, `${name}: shortened although there is room: ${short.slice(0, 4).join(" | ")}`);
    check(alike.length === 0, `${name}: read alike: ${alike.slice(0, 8).join(" | ")}`);
  }

  /** Everything that a person sees is whole: a table that goes on beyond an edge has a hint and ends with a whole column;
   * only text of programs scrolls sideways; no field cuts off its hint; no cell is higher than its row, no chip narrower than
   * its text, and no text of a plot touches another; a page that fits does not scroll; no two rows of a table read the same. */
  async function whole(page, name) {
    const { clipped, hinting, sideways, high, tight, twins, hints, touching, empty } = await page.evaluate(() => {
      const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
      const named = (element) => `${element.tagName.toLowerCase()}.${element.className} ${element.getAttribute("aria-label") ?? ""} (${element.scrollWidth} of ${element.clientWidth} px)`;
      const clips = (element) => ["hidden", "clip"].includes(getComputedStyle(element).overflowX);
      const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
      const hinted = (element) => element.parentElement.querySelector(":scope > .table-more") !== null;
      const clipped = [...document.querySelectorAll("main table")].filter(seen).filter((table) => {
        for (let box = table.parentElement; box && box !== document.body; box = box.parentElement) {
          if (scrolls(box)) return false; // for the next check
          if (clips(box) && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1) return true;
        }
        return table.getBoundingClientRect().right > innerWidth + 1;
      });
      // The last column in view of a wide table is there as a whole, if three columns have room.
      const halved = [...document.querySelectorAll("main .table-frame > .table")].filter((box) => {
        const { left, right } = box.getBoundingClientRect();
        const heads = [...box.querySelectorAll("thead th")].map((head) => head.getBoundingClientRect());
        return seen(box) && box.scrollLeft === 0 && heads.filter((head) => head.left > left - 2 && head.right <= right).length >= 3 && heads.some((head) => head.left < right - 16 && head.right > right + 1);
      });
      // A hint that a table goes on covers a part of it, so that only tables that go on have one.
      const hinting = [...document.querySelectorAll("main .table-frame > .table")].filter((box) => seen(box) && hinted(box) && box.scrollWidth <= box.clientWidth + 1);
      const sideways = [...document.querySelectorAll("main, main *")].filter((element) => !element.matches("pre, textarea, input, select, canvas, .cm-scroller") && seen(element) && scrolls(element) && element.scrollWidth > element.clientWidth + 1 && !hinted(element));
      const high = [...document.querySelectorAll("main .table td")].filter((cell) => seen(cell) && cell.getBoundingClientRect().height > cell.parentElement.getBoundingClientRect().height + 1);
      const tight = [...document.querySelectorAll("main .chip")].filter((chip) => seen(chip) && getComputedStyle(chip).overflowX === "visible" && chip.scrollWidth > chip.clientWidth + 1);
      const twins = [...document.querySelectorAll("main table")].filter(seen).flatMap((table) => {
        const rows = [...table.querySelectorAll("tbody tr")].filter(seen).map((row) => row.innerText.replace(/\s+/g, " ").trim());
        return rows.filter((row, at) => row && rows.indexOf(row) !== at).map((row) => `${table.closest("[aria-label]")?.getAttribute("aria-label") ?? ""}: ${row.slice(0, 120)}`);
      });
      const pen = document.createElement("canvas").getContext("2d");
      const hints = [...document.querySelectorAll("main input[placeholder]")].filter((field) => {
        const { font, paddingLeft, paddingRight } = getComputedStyle(field);
        pen.font = font;
        return seen(field) && pen.measureText(field.placeholder).width > field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1;
      });
      // The text of a select element before anything is chosen; chosen names may be longer.
      const chosen = [...document.querySelectorAll("main select")].filter((select) => {
        const { font, paddingLeft, paddingRight } = getComputedStyle(select);
        pen.font = font;
        return seen(select) && select.value === "" && pen.measureText(select.selectedOptions[0]?.text ?? "").width > select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - 16; // px of the arrow
      });
      // Texts of a plot's axes do not touch, in lines and in columns.
      const touching = [...document.querySelectorAll("main .uplot canvas")].filter(seen).flatMap((canvas) => {
        const texts = window.drawnTexts?.get(canvas) ?? [];
        return texts.flatMap((one, at) => texts.slice(at + 1).filter((other) => Math.abs(one.y - other.y) < 0.8 * Math.max(one.size, other.size) && one.left < other.right + 3 && other.left < one.right + 3).map((other) => `${one.text} ${other.text}`));
      });
      const lowest = Math.max(0, ...[...document.querySelectorAll("main > *")].map((part) => part.getBoundingClientRect().bottom + scrollY));
      const below = document.querySelector("footer").getBoundingClientRect().height + parseFloat(getComputedStyle(document.querySelector("main")).paddingBottom);
      const empty = lowest + below <= innerHeight ? document.documentElement.scrollHeight - innerHeight : 0;
      return { empty, touching, hints: [...hints.map((field) => `${field.placeholder} (${field.clientWidth} px)`), ...chosen.map((select) => `${select.selectedOptions[0].text} (${select.clientWidth} px)`)], clipped: [...clipped, ...halved].map(named), hinting: hinting.map(named), sideways: sideways.map(named), high: high.map((cell) => cell.innerText), tight: tight.map((chip) => chip.innerText), twins };
    });
    check(clipped.length === 0, `${name}: clipped: ${clipped.slice(0, 4).join(" | ")}`);
    check(hinting.length === 0, `${name}: hints that a table goes on, which does not: ${hinting.slice(0, 4).join(" | ")}`);
    check(sideways.length === 0, `${name}: scrolls sideways: ${sideways.slice(0, 4).join(" | ")}`);
    check(high.length === 0, `${name}: higher than their rows: ${high.slice(0, 4).join(" | ")}`);
    check(tight.length === 0, `${name}: chips that are narrower than their text: ${tight.slice(0, 4).join(" | ")}`);
    check(hints.length === 0, `${name}: hints that are cut off: ${hints.join(" | ")}`);
    check(touching.length === 0, `${name}: texts of a plot that touch: ${touching.slice(0, 6).join(" | ")}`);
    check(empty <= 0, `${name}: scrolls by ${empty} px though all of it fits`);
    check(twins.length === 0, `${name}: rows that read the same: ${twins.slice(0, 4).join(" | ")}`);
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

  /** Takes pictures of the page: at the desk's width from top to bottom, and as wider screens show it. */
  async function shots(page, name, { judged = false } = {}) {
    for (const size of DESKS) {
      await page.setViewportSize(size);
      for (const wanted of themes(size === DESK)) {
        await theme(page, wanted);
        if (size === DESK) await accessible(page, `${name} ${wanted}`, { colours: wanted === "light" });
        await shoot(page, { path: path.join(out, `${name}-${size.width}-${wanted}.png`), scale: "css", fullPage: size === DESK });
      }
      check(await narrow(page), `${name}: wider than the page at ${size.width}`);
      if (judged) {
        await legible(page, `${name} at ${size.width}`);
        await whole(page, `${name} at ${size.width}`);
      }
    }
    await page.setViewportSize(DESK);
  }

  /** Runs the steps in order, or those that GPUFL_WEB_ONLY names. After a step that throws it takes a picture, and runs the next
   * one. */
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

  /** Prints what was wrong; returns the process's exit status. */
  function finish(what) {
    wrong.forEach((line, at) => console.log(`wrong ${at + 1} of ${wrong.length}: ${line}`));
    console.log(`${what ?? `${views} views in two themes and three widths`}, ${checks} checks, ${wrong.length} failed; pictures in ${out}`);
    return wrong.length || !checks ? 1 : 0;
  }

  return { check, watch, accessible, legible, whole, picture, shots, theme, walk, finish, wrong, expected };
}
