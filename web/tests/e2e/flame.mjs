// flame.mjs - the flame graph and the icicle of scopes of the recorded session: mouse, keyboard, address.
import { PATIENCE_MS } from "./harness.mjs";
const query = (page, name) => new URL(page.url()).searchParams.get(name);
const holds = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: PATIENCE_MS });
const inQuery = (page, name, is = true) => holds(page, ([key, wanted]) => new URLSearchParams(location.search).has(key) === wanted, [name, is]);

export async function flameViews({ page, session, origin, see, picture, check }) {
  await page.goto(`${origin}/sessions/${session}/flame`);
  await see("Time by stack");
  await page.locator(".icicle canvas").waitFor();
  await picture(page, "flame");
  const text = await page.evaluate(async (url) => (await fetch(url)).text(), `/api/v1/sessions/${session}/flame`);
  const blocked = text.split("\n").filter((line) => line.startsWith("host blocked;"));
  check(blocked.length > 5, "flame: the session has stacks");

  // The colours say where frames come from; each has the time of the stacks with such a frame.
  const origins = (await page.getByRole("group", { name: "What the colours mean" }).innerText()).replace(/\s+/g, " ");
  check(/the program's own code 100 %/.test(origins) && /other libraries/.test(origins) && /calls that wait, and work of the GPU 100 %/.test(origins), `flame: the colours mean ${origins}`);

  // Keys select the widest callee and zoom into it, which the address records, and back out again.
  const box = page.locator(".icicle-box");
  await box.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  check((await page.locator(".icicle [aria-live]").innerText()).length > 5, "flame: the frame is announced to screen readers");
  await page.keyboard.press("Enter");
  await inQuery(page, "zoom");
  await picture(page, "flame-zoomed");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await inQuery(page, "zoom", false);

  // The sum of a search is that of the lines that have the words.
  await page.getByRole("searchbox", { name: "Search frames" }).fill("train_loop.cu:235");
  await inQuery(page, "find");
  await see("in matching frames");
  const sum = blocked.filter((line) => line.includes("train_loop.cu:235")).reduce((all, line) => all + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  const status = await page.locator("[role=status]", { hasText: "in matching frames" }).innerText();
  const shown = parseFloat(status);
  check(sum > 0 && [1, 1e3, 1e6, 1e9].some((unit) => Math.abs(shown * unit - sum) / sum < 0.01), `flame: ${status} for ${sum} ns`);
  await page.getByRole("button", { name: "Invert" }).click();
  await inQuery(page, "invert");
  await picture(page, "flame-inverted");
  await page.reload();
  await see("in matching frames");
  check(query(page, "invert") === "1", "flame: the address brings it back");

  await page.goto(`${origin}/sessions/${session}/scopes`);
  await see("Scopes within scopes");
  await page.locator(".icicle canvas").waitFor();
  await page.getByRole("button", { name: "train_step" }).click();
  await inQuery(page, "zoom");
  await page.getByRole("button", { name: "GPU time" }).click();
  await inQuery(page, "by");
  await picture(page, "scopes-zoomed");
}
