// steps_places.mjs - from the findings of a session to their places on the timeline: the link of each card leads to the longest
// event that the report names for it, and the page that it opens has that range marked.
const drawn = (page) => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);

const placeOf = ({ evidence }) => (Number.isInteger(evidence.longest_start_ns) ? `${evidence.longest_start_ns}-${evidence.longest_start_ns + evidence.longest_ns}` : null);

/** least: findings that have a place; seen: what else looks at the cards; every: each place is opened, else the first. The
 * number of places. */
export async function ownPlaces({ page, origin, check }, session, app, { least = 0, seen = () => undefined, every = false } = {}) {
  const all = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/insights`)).json()).insights, session);
  const insights = all.filter(({ part_of }) => part_of === null); // what is part of another finding has no card
  await page.goto(`${origin}/sessions/${session}/insights?more=1`);
  await page.locator(insights.length ? ".finding" : ".state, .finding-none, main h2").first().waitFor();
  const links = await page.locator(".finding").evaluateAll((cards) => cards.map((card) => [...card.querySelectorAll("a")].find((a) => a.innerText === "On the timeline")?.href ?? null));
  const wanted = insights.map(placeOf);
  check(links.length === insights.length, `${app}: ${links.length} cards of ${insights.length} findings`);
  check(wanted.filter(Boolean).length >= least, `${app}: places of findings: ${wanted}`);
  wanted.forEach((range, at) => range && check(links[at] && new URL(links[at]).searchParams.get("range") === range, `${app}: ${insights[at].title} leads to ${links[at]}, not to ${range}`));
  await seen();
  const places = [...new Map(wanted.map((range, at) => [range, at])).entries()].filter(([range]) => range);
  for (const [range, at] of every ? places : places.slice(0, 1)) {
    await page.goto(links[at]);
    await drawn(page);
    const { from, to } = await page.evaluate(() => window.gpuflTimeline.shown.range);
    check(`${from}-${to}` === range, `${app}: the range that is marked is ${from}-${to}, not ${range}`);
  }
  return wanted.filter(Boolean).length;
}
