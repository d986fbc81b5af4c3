// crawl.mjs - visits every page that links lead to: so tests check a new page of the dashboard without naming it.

/** Waits until the page has loaded and the timeline does not move. */
export async function rest(page) {
  await page.waitForFunction(() => document.querySelector("main h1, main h2, main form") && !document.querySelector("main .skeleton"), undefined, { polling: 100 });
  await page.waitForFunction(() => {
    const engine = window.gpuflTimeline;
    if (!document.querySelector(".tl-canvas")) return true;
    if (!(engine?.shown.rests > 0) || engine.shown.pending > 0) return false;
    const [shown, now] = [engine.shown.view, engine.scene.view]; // they differ while the timeline moves
    return engine.shown.follow || (shown.from === now.from && shown.to === now.to);
  }, undefined, { polling: 100 });
}

/** Addresses that differ only in ids and numbers are one page. */
const shapeOf = (path) => path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "*").replace(/\/-?\d+/g, "/#");

/** Visits all pages that `first` and links lead to, each once; calls `visit(path)` when one is at rest. Returns their paths. */
export async function crawl(page, origin, first, visit) {
  const known = new Map();
  const add = (path) => known.has(shapeOf(path)) || known.set(shapeOf(path), path);
  first.forEach(add);
  for (const path of known.values()) {
    await page.goto(origin + path);
    await rest(page);
    await visit(path);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => link.href));
    for (const link of links) {
      const { origin: of, pathname } = new URL(link);
      if (of === origin && !pathname.startsWith("/api/")) add(pathname);
    }
  }
  return [...known.values()];
}
