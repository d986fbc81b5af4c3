// timeline.mjs - the timeline of the recorded session, with mouse and keyboard. The canvas is checked
// by its pixels, by the address, and by comparing the details with the server's own answers.
import { PATIENCE_MS } from "./harness.mjs";

/** Waits until a condition of the page holds, without a fixed time. */
const holds = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: PATIENCE_MS });

/** How many colours the lanes' part of the canvas has: one or two where it is empty. */
const colours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".tl-canvas");
    const { data } = canvas.getContext("2d").getImageData(Math.round(canvas.width * 0.3), Math.round(canvas.height * 0.1), Math.round(canvas.width * 0.6), Math.round(canvas.height * 0.8));
    return new Set(new Uint32Array(data.buffer)).size;
  });

const query = (page, name) => new URL(page.url()).searchParams.get(name);
const inQuery = (page, name) => holds(page, (wanted) => new URLSearchParams(location.search).has(wanted), name);
const drawn = (page) => holds(page, () => document.querySelector(".tl-status [role=status]")?.textContent.includes("lanes of events") && !document.querySelector(".tl-status")?.textContent.includes("Loading"));

/** The columns of an answer as rows. */
async function ask(page, session, path) {
  const answer = await page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/sessions/${session}/${path}`);
  return Array.from({ length: answer.rows }, (_, at) => Object.fromEntries(answer.columns.map((name) => [name, answer.data[name][at]])));
}

/** The wheel zooms in at the pointer, and the address has the new view. */
async function zoom({ page, session, check }) {
  const box = await page.locator(".tl-scroll").boundingBox();
  const lanes = await ask(page, session, "lanes");
  const length = Math.max(...lanes.map((lane) => lane.last));
  await page.mouse.move(box.x + box.width * 0.6, box.y + 150);
  await page.keyboard.down("Control");
  for (let at = 0; at < 6; at++) await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await holds(
    page,
    (most) => {
      const [from, to] = (new URLSearchParams(location.search).get("at") ?? "").split("-").map(Number);
      return to - from < most;
    },
    length / 10,
  );
  const [from, to] = query(page, "at").split("-").map(Number);
  check(to - from < length / 10 && from > 0, `timeline: the wheel zooms (${from} to ${to} of ${length})`);
}

/** The keys W, A, S and D move and zoom, 0 shows everything. */
async function move({ page, picture, check }) {
  await page.locator(".tl-scroll").focus();
  for (const [key, moved] of [["d", (a, b) => b[0] > a[0]], ["a", (a, b) => b[0] < a[0]], ["w", (a, b) => b[1] - b[0] < a[1] - a[0]], ["s", (a, b) => b[1] - b[0] > a[1] - a[0]]]) {
    const before = query(page, "at");
    await page.keyboard.press(key);
    await holds(page, (old) => new URLSearchParams(location.search).get("at") !== old, before);
    const parts = (text) => text.split("-").map(Number);
    check(moved(parts(before), parts(query(page, "at"))), `timeline: ${key} moves`);
  }
  await drawn(page);
  await picture(page, "timeline-zoomed");
  await page.keyboard.press("0");
  await holds(page, () => !new URLSearchParams(location.search).has("at"));
}

/** The search selects the server's first hit, whose details are the launch's own values. Returns this hit. */
async function search({ page, session, picture, check }) {
  await page.getByRole("searchbox", { name: "Search events" }).fill("matmul");
  await inQuery(page, "find");
  await page.keyboard.press("Enter");
  await inQuery(page, "sel");
  await page.locator(".tl-below h2").waitFor();
  const [first, second] = await ask(page, session, "search?pattern=matmul&limit=2");
  check(query(page, "sel") === `${first.lane}~${first.start}`, "timeline: the first hit of the search is selected");
  const details = await page.locator(".tl-below").innerText();
  check(details.includes(String(first.ref)), `timeline: details have the correlation id ${first.ref}`);
  check((await page.locator(`.tl-below dd[title="${String(first.duration).replace(/\B(?=(\d{3})+$)/g, "\u202f")} ns"]`).count()) === 1, "timeline: details have the exact duration");
  await page.keyboard.press("Enter");
  await holds(page, (wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${second.lane}~${second.start}`);
  await page.keyboard.press("Shift+Enter");
  await holds(page, (wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${first.lane}~${first.start}`);
  await drawn(page);
  await picture(page, "timeline-search");
  return first;
}

/** Keys select the event after `first`, pin its row, and select its time as a range. */
async function select({ page, first, check }) {
  await page.locator(".tl-scroll").focus();
  await page.keyboard.press(".");
  await holds(page, (old) => new URLSearchParams(location.search).get("sel") !== old, `${first.lane}~${first.start}`);
  check(Number(query(page, "sel").split("~")[1]) > first.start, "timeline: the next event of the lane starts later");
  await page.keyboard.press("p");
  await inQuery(page, "pin");
  await page.keyboard.press("m");
  await inQuery(page, "range");
  await page.keyboard.press("Escape");
  await holds(page, () => !new URLSearchParams(location.search).has("range") && !new URLSearchParams(location.search).has("sel"));
}

/** A range that is dragged over the axis has the server's numbers for that time. Returns the range. */
async function range({ page, session, picture, check }) {
  await page.keyboard.press("0");
  await holds(page, () => !new URLSearchParams(location.search).has("at"));
  const stage = await page.locator(".tl-scroll").boundingBox();
  await page.mouse.move(stage.x + stage.width * 0.7, stage.y + 12);
  await page.mouse.down();
  await page.mouse.move(stage.x + stage.width * 0.85, stage.y + 14, { steps: 4 });
  await page.mouse.up();
  await inQuery(page, "range");
  const [a, b] = query(page, "range").split("-").map(Number);
  const calls = (await ask(page, session, `kernels?from=${a}&to=${b}&limit=10000`)).reduce((sum, row) => sum + row.calls, 0);
  await page.locator(`.tl-below dd[title="${String(calls).replace(/\B(?=(\d{3})+$)/g, "\u202f")}"]`).waitFor();
  check(calls > 0, "timeline: the range's kernels are the server's");
  await picture(page, "timeline-range");
  return `${a}-${b}`;
}

/** The address alone brings all of it back. */
async function again({ page, origin, see, first, range, check }) {
  const address = page.url();
  await page.goto(`${origin}/`);
  await page.goto(address);
  await see("Kernels that took most");
  await drawn(page);
  check(query(page, "range") === range && query(page, "pin") === first.lane, "timeline: the address brings range and pin back");
}

/** Without input the timeline does no work: it draws no frame in 60 frames of the browser. */
async function resting({ page, check }) {
  const rests = await page.evaluate(
    () =>
      new Promise((resolve) => {
        let drawn = -1;
        let same = 0;
        let left = 900;
        const next = () => {
          same = window.gpuflTimeline.frames === drawn ? same + 1 : 0;
          drawn = window.gpuflTimeline.frames;
          if (same >= 60 || left-- === 0) resolve(same >= 60);
          else requestAnimationFrame(next);
        };
        next();
      }),
  );
  check(rests, "timeline: frames are drawn though nothing moves");
}

/** At the deepest zoom single nanoseconds are distinguishable. */
async function nanoseconds({ page, session, origin, first, picture, check }) {
  await page.goto(`${origin}/sessions/${session}/timeline?at=${first.start}-${first.start + 20}`);
  await drawn(page);
  const wide = await page.evaluate(() => {
    const { view } = window.gpuflTimeline.scene;
    return view.to - view.from;
  });
  check(wide <= 20, `timeline: a view of ${wide} ns`);
  await picture(page, "timeline-ns");
}

/** The link of an insight opens the longest wait. */
async function longestWait({ page, session, origin, check }) {
  await page.goto(`${origin}/sessions/${session}/timeline?show=wait`);
  await inQuery(page, "sel");
  await drawn(page);
  const kinds = [4n, 3n];
  check(kinds.includes(BigInt(query(page, "sel").split("~")[0]) >> 56n), "timeline: the longest wait is shown");
}

export async function timelineViews(world) {
  const { page, session, origin, picture, check } = world;
  await page.goto(`${origin}/sessions/${session}/timeline`);
  await page.locator(".tl-canvas").waitFor();
  await drawn(page);
  check((await colours(page)) > 3, "timeline: events are drawn");
  await picture(page, "timeline");
  await zoom(world);
  await move(world);
  const first = await search(world);
  await select({ ...world, first });
  await again({ ...world, first, range: await range(world) });
  await resting(world);
  await nanoseconds({ ...world, first });
  await longestWait(world);
  await onAWall({ ...world, kernel: first });
}

/** If the page's letters are larger, so is the drawing, and a click selects what is drawn there. */
async function onAWall({ page, session, origin, picture, check, kernel }) {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 3840, height: 2160 });
  await page.goto(`${origin}/sessions/${session}/timeline?at=${kernel.start - kernel.duration}-${kernel.start + 2 * kernel.duration}&pin=${kernel.lane}`);
  await drawn(page);
  const place = await page.evaluate(() => {
    const { scene } = window.gpuflTimeline;
    const box = document.querySelector(".tl-scroll").getBoundingClientRect();
    const [pinned] = scene.layout.pinned;
    return { unit: scene.unit, x: box.left + (scene.unit * (scene.side + scene.width)) / 2, y: box.top + scene.unit * (30 + pinned.y + pinned.height / 2), wide: document.querySelector(".tl-canvas").getBoundingClientRect().width / box.width };
  });
  check(place.unit > 1.2 && place.wide > 0.98 && place.wide <= 1, `timeline: at 3840 px a unit is ${place.unit} px, the canvas ${place.wide} of its place`);
  await holds(page, () => {
    const { scene } = window.gpuflTimeline; // the events are loaded, not only their sums
    return window.gpuflTimeline.pickAt((scene.side + scene.width) / 2, 30 + scene.layout.pinned[0].y + 10)?.hit.kind === "event";
  });
  await page.mouse.click(place.x, place.y);
  await holds(page, (wanted) => new URLSearchParams(location.search).get("sel") === wanted, `${kernel.lane}~${kernel.start}`);
  await picture(page, "timeline-wall");
  await page.setViewportSize(before);
}
