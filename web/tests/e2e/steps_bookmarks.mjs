// steps_bookmarks.mjs - bookmarks in the page: a bookmark is made from a range, shown as a mark and in the list, kept after a
// reload, changed and deleted. A note of markup stays text. A reader with a share link can read bookmarks and cannot change them.
import { MARKUP, until } from "./harness.mjs";

const [FROM, TO] = [1_000_000_000, 3_000_000_000];
const EARLIER = { start: 200_000_000, duration: 0, note: "warm-up ends" };

/** Makes a request with the page's login. */
const api = (page, method, address, body) =>
  page.evaluate(
    async ([way, url, what]) => {
      const { csrf } = await (await fetch("/api/v1/auth/me")).json();
      const response = await fetch(`/api/v1/${url}`, { method: way, headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, ...(what ? { body: JSON.stringify(what) } : {}) });
      const text = await response.text();
      return text ? JSON.parse(text) : null;
    },
    [method, address, body],
  );

const ready = (page) => until(page, () => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
/** Where on the screen a time of the axis is. */
const onAxis = (page, at) =>
  page.evaluate((time) => {
    const { scene } = window.gpuflTimeline;
    const box = document.querySelector(".tl-canvas").getBoundingClientRect();
    return [box.x + (scene.side + ((time - scene.view.from) / (scene.view.to - scene.view.from)) * (scene.width - scene.side)) * scene.unit, box.y + 15];
  }, at);
/** No part of a note has become an element or has run. */
const isText = (page) => page.evaluate(() => document.querySelector(".tl img") === null && document.title !== "taken");
const rangeIs = (page, range) => until(page, (wanted) => new URLSearchParams(location.search).get("range") === wanted, range);

/** The server's bookmarks of the session. */
const stored = async (page, session) => (await api(page, "GET", `sessions/${session}/bookmarks`)).rows;
const notesOf = (page) => page.locator(".tl-bookmark .tl-note");

/** A bookmark is made from the selected range. Returns the bookmark. */
async function make({ page, session, open, check }) {
  const below = page.locator(".tl-below");
  const notes = notesOf(page);
  await open(`range=${FROM}-${TO}`);
  check((await page.getByRole("button", { name: /^Bookmarks/ }).count()) === 0, "bookmarks: no list where there are none");
  await below.getByRole("button", { name: "Bookmark this range" }).click();
  const save = below.getByRole("button", { name: "Save" });
  check(await save.isDisabled(), "bookmarks: without a note none is made");
  await below.getByLabel("Note", { exact: true }).fill(MARKUP);
  await save.click();
  await notes.getByText(MARKUP, { exact: true }).waitFor();
  const [made] = await stored(page, session);
  check(made.start === FROM && made.duration === TO - FROM && made.note === MARKUP, `bookmarks: the server keeps the range and the note: ${JSON.stringify(made)}`);
  return made;
}

/** The axis shows a bookmark, with its note in the tooltip. */
async function onTheAxis({ page, made, shots, check }) {
  await until(page, (id) => window.gpuflTimeline.scene.bookmarks.some((one) => one.id === id), made.id);
  await page.mouse.move(...(await onAxis(page, FROM)));
  await page.locator(".tl-tip").getByText(MARKUP, { exact: true }).waitFor();
  check(await isText(page), "bookmarks: a note of markup stays text");
  await shots("sourced-bookmark");
}

/** After a reload the list has the bookmarks, in the order of begins; a click goes there and selects the range. */
async function listed({ page, session, open, shots, check }) {
  const notes = notesOf(page);
  await api(page, "POST", `sessions/${session}/bookmarks`, EARLIER);
  await open("");
  await page.getByRole("button", { name: "Bookmarks 2" }).click();
  await notes.nth(1).waitFor();
  check((await notes.allInnerTexts()).join() === `${EARLIER.note},${MARKUP}`, `bookmarks: sorted by begin: ${await notes.allInnerTexts()}`);
  await page.reload();
  await ready(page);
  await notes.nth(1).click();
  await rangeIs(page, `${FROM}-${TO}`);
  await until(page, ([from, to]) => window.gpuflTimeline.shown.view.from < from && window.gpuflTimeline.shown.view.to > to && window.gpuflTimeline.shown.view.to - window.gpuflTimeline.shown.view.from < 2 * (to - from), [FROM, TO]);
  check(await isText(page), "bookmarks: after a reload the note is text, too");
  await shots("sourced-bookmarks");
  await notes.first().click();
  await rangeIs(page, null); // a moment is no range
  await until(page, (at) => window.gpuflTimeline.shown.view.from <= at && window.gpuflTimeline.shown.view.to >= at, EARLIER.start);
  await page.mouse.click(...(await onAxis(page, EARLIER.start)));
  await page.locator(".tl-tip").getByText(EARLIER.note, { exact: true }).waitFor();
}

/** The note can be changed; Escape leaves it as it was. */
async function change({ page, session, check }) {
  const entry = page.locator(".tl-bookmark").nth(1);
  await entry.getByRole("button", { name: /^Change note:/ }).click();
  await entry.getByRole("textbox").fill("not kept");
  await page.keyboard.press("Escape");
  check(await page.evaluate(() => document.activeElement.getAttribute("aria-label")?.startsWith("Change note:") === true), "bookmarks: Escape brings the focus back to the button");
  await entry.getByRole("button", { name: /^Change note:/ }).click();
  check((await entry.getByRole("textbox").inputValue()) === MARKUP, "bookmarks: what was not saved is forgotten");
  await entry.getByRole("textbox").fill("the slow part");
  await entry.getByRole("button", { name: "Save" }).click();
  await notesOf(page).getByText("the slow part", { exact: true }).waitFor();
  check((await stored(page, session))[1].note === "the slow part", "bookmarks: the server keeps the changed note");
}

/** A bookmark is deleted after a question. */
async function remove({ page, session, check }) {
  for (const left of [1, 0]) {
    await page.locator(".tl-bookmark").first().getByRole("button", { name: /^Delete:/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await until(page, (count) => document.querySelectorAll(".tl-bookmark").length === count && window.gpuflTimeline.scene.bookmarks.length === count, left);
  }
  await page.locator(".tl-below").getByText("The session has no bookmarks.").waitFor();
  check(await page.evaluate(() => document.activeElement.matches(".tl-bookmarks")), "bookmarks: after the last one the focus is in the list");
  check((await stored(page, session)).length === 0, "bookmarks: the server has none any more");
}

export async function bookmarks(world) {
  const made = await make(world);
  await onTheAxis({ ...world, made });
  await listed(world);
  await change(world);
  await byLink(world);
  await remove(world);
}

/** A reader with a link can read bookmarks; there is no button to change them, and the server refuses changes. */
async function byLink({ page, context, session, check, watch, origin }) {
  const { token } = await api(page, "POST", `sessions/${session}/shares`, { expires: "9000000000000000000" });
  const other = await context.browser().newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const guest = await other.newPage();
  watch(guest, origin);
  await guest.goto(`${origin}/share?to=${encodeURIComponent(`/sessions/${session}/timeline?marks=list&range=${FROM}-${TO}`)}#token=${encodeURIComponent(token)}`);
  await ready(guest);
  await guest.locator(".tl-bookmark").nth(1).waitFor();
  await guest.locator(".tl-facts").waitFor();
  check((await guest.locator(".tl-bookmark").nth(1).innerText()).includes("the slow part"), "bookmarks: a link reads them");
  check((await guest.getByRole("button", { name: /Bookmark this range|Change note|Delete/ }).count()) === 0, "bookmarks: a link is offered nothing that writes");
  const refused = await page.evaluate(async ([id, bearer]) => (await fetch(`/api/v1/sessions/${id}/bookmarks`, { method: "POST", credentials: "omit", headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` }, body: JSON.stringify({ start: 1, note: "x" }) })).status, [session, token]);
  check(refused === 403, `bookmarks: the server refuses to write by a link: ${refused}`);
  await other.close();
}
