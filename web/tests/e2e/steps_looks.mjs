// steps_looks.mjs - steps of faults.mjs about where things stand and how large they are: on a wall of 3840 px, in forms and
// in rows of filters.
import { rest } from "./crawl.mjs";

const WALL = { width: 3840, height: 2160 };
const DESK = { width: 1280, height: 800 };
const LETTERS_LEAST = 0.7; // of the page's letters: the smallest ones of a drawing
const LETTERS_MOST = 115; // in a line

/** Whether a box ends with a whole line. */
const whole = (box, line) => Math.abs(box / line - Math.round(box / line)) < 0.05;

async function wide(page, size, visit) {
  await page.setViewportSize(size);
  try {
    await visit();
  } finally {
    await page.setViewportSize(DESK);
  }
}

/** What the page drew on a canvas is as large as its other letters. */
const tooSmall = (page, canvasOf) =>
  page.evaluate(
    ([selector, least]) => {
      const root = parseFloat(getComputedStyle(document.documentElement).fontSize);
      const texts = window.drawnTexts.get(document.querySelector(selector)) ?? [];
      return { all: texts.length, small: texts.filter(({ size }) => size < least * root).map(({ text, size }) => `${text} ${size}`) };
    },
    [canvasOf, LETTERS_LEAST],
  );

/** On a wall letters of drawings grow with the page's, titles are whole, lists use the room, and lines of text stay short. */
export async function wall({ page, t, origin, hf }) {
  const open = async (path) => {
    await page.goto(origin + path);
    await rest(page);
  };
  await wide(page, WALL, async () => {
    await open(`/sessions/${hf}/flame`);
    const frames = await tooSmall(page, ".icicle-box canvas");
    t.check(frames.all > 20 && frames.small.length === 0, `wall, flame: small letters in ${frames.small.slice(0, 4)} of ${frames.all} frames`);
    const [box, row] = await page.locator(".icicle-box").evaluate((element) => [element.clientHeight, parseFloat(getComputedStyle(element).getPropertyValue("--icicle-row"))]);
    t.check(row > 28 && whole(box, row), `wall, flame: ${box} px are no whole rows of ${row} px`);
    await open(`/sessions/${hf}/timeline`);
    const { titles, gpu, left, brand, foot } = await page.evaluate(() => {
      const { scene, painter } = window.gpuflTimeline;
      const at = (selector) => document.querySelector(selector).getBoundingClientRect();
      return {
        titles: (window.drawnTexts.get(painter.titles.canvas) ?? []).map(({ text }) => text),
        gpu: scene.tracks.find((track) => track.source?.device)?.title,
        left: at(".tl-stage").left, brand: at(".brand").left, foot: at("footer").bottom - innerHeight,
      };
    });
    t.check(gpu?.includes("H100") && titles.includes(gpu), `wall, timeline: the title ${gpu} is among ${titles.join(" | ")}`);
    t.check(Math.abs(left - brand) < 2, `wall, timeline: the lanes begin at ${left}, the bar at ${brand}`);
    t.check(foot < 1, `wall, timeline: the footer ends ${foot} px below the screen`);
    await open("/sql");
    const { hidden, high, line, below } = await page.locator(".sql-tables").evaluate((list) => ({ hidden: list.scrollHeight - list.clientHeight, high: list.clientHeight, line: list.querySelector("summary").getBoundingClientRect().height, below: innerHeight - list.closest(".panel").getBoundingClientRect().bottom }));
    t.check(hidden <= 1 || (below >= 0 && below < 8 * line), `wall, sql: ${hidden} px of the tables are out of view, with ${below} px of room`);
    t.check(whole(high, line), `wall, sql: the list of tables is ${high} px high, its lines ${line} px`);
    await open(`/sessions/${hf}/insights`);
    const long = await page.evaluate((most) => {
      const lines = (element) => element.getBoundingClientRect().height / parseFloat(getComputedStyle(element).lineHeight);
      const texts = [...document.querySelectorAll("main p, main .summary li")].filter((element) => element.innerText.length > most);
      return { all: texts.length, long: texts.filter((element) => element.innerText.length / Math.round(lines(element)) > most).map((element) => element.innerText) };
    }, LETTERS_MOST);
    t.check(long.all > 2 && long.long.length === 0, `wall, insights: ${long.long.length} of ${long.all} texts have lines of more than ${LETTERS_MOST} letters: ${long.long[0]}`);
  });
  await open("/sql");
  const { high, line } = await page.locator(".sql-tables").evaluate((list) => ({ high: list.clientHeight, line: list.querySelector("summary").getBoundingClientRect().height }));
  t.check(whole(high, line), `sql: the list of tables is ${high} px high, its lines ${line} px`);
}
