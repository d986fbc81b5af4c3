// steps_places.mjs - from the findings of a session to their places on the timeline: the link of each card leads to the longest
// event that the report names for it, and the page that a click opens has that range marked, in view.
const drawn = (page) => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);

const placeOf = ({ evidence }) => (Number.isInteger(evidence.longest_start_ns) ? `${evidence.longest_start_ns}-${evidence.longest_start_ns + evidence.longest_ns}` : null);

/** Clicks the link of a card; returns the marked range and the view. */
async function clicked(page, at) {
  await page.evaluate(() => delete window.gpuflTimeline); // the engine of the place before
  await page.locator(".finding").nth(at).getByRole("link", { name: "On the timeline", exact: true }).click();
  await drawn(page);
  return page.evaluate(() => ({ marked: window.gpuflTimeline.shown.range, view: window.gpuflTimeline.shown.view }));
}

/** least: the least number of findings with a place; seen: called when the cards are shown; every: opens each place, not only the
 * first. Returns the number of places. */
export async function ownPlaces({ page, origin, check }, session, app, { least = 0, seen = () => undefined, every = false } = {}) {
  const all = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/insights`)).json()).insights, session);
  const insights = all.filter(({ part_of }) => part_of === null); // a finding that is part of another one has no card
  await page.goto(`${origin}/sessions/${session}/insights?more=1`);
  await page.locator(insights.length ? ".finding" : ".state, .finding-none, main h2").first().waitFor();
  const links = await page.locator(".finding").evaluateAll((cards) => cards.map((card) => [...card.querySelectorAll("a")].find((a) => a.innerText === "On the timeline")?.href ?? null));
  const wanted = insights.map(placeOf);
  check(links.length === insights.length, `${app}: ${links.length} cards of ${insights.length} findings`);
  check(wanted.filter(Boolean).length >= least, `${app}: places of findings: ${wanted}`);
  wanted.forEach((range, at) => range && check(links[at] && new URL(links[at]).searchParams.get("range") === range, `${app}: ${insights[at].title} leads to ${links[at]}, not to ${range}`));
  const launches = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).kernels > 0, session);
  insights.forEach(({ title, kernel }, at) => check(wanted[at] || (kernel && !launches), `${app}: ${title} has no place`));
  await seen();
  const places = [...new Map(wanted.map((range, at) => [range, at])).entries()].filter(([range]) => range);
  for (const [range, at] of every ? places : places.slice(0, 1)) {
    const { marked, view } = await clicked(page, at);
    check(`${marked?.from}-${marked?.to}` === range, `${app}: the range that is marked is ${marked?.from}-${marked?.to}, not ${range}`);
    check(view.from <= marked?.from && view.to >= marked?.to, `${app}: ${range} is not in view, but ${view.from}-${view.to}`);
    await page.goBack();
    await page.locator(".finding").nth(insights.length - 1).waitFor();
  }
  return wanted.filter(Boolean).length;
}
