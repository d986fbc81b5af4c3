// steps_looks.mjs - steps of faults.mjs about where things stand and how large they are: on a wall of 3840 px, in forms and
// in rows of filters.
import { rest } from "./crawl.mjs";
import { PATIENCE_MS } from "./harness.mjs";

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

/** Runs in the page: how many px in the middle of each row, and of the strip above, have the colour of dashes. */
function dashes() {
  const { scene } = window.gpuflTimeline;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(scene.colours.line.slice(at, at + 2), 16));
  const count = (canvas, y, left) => {
    const { data } = canvas.getContext("2d").getImageData(left, y, canvas.width - left, 1);
    let all = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) all++;
    return all;
  };
  const left = Math.ceil((scene.side + 2) * scene.ratio);
  const [canvas, strip] = [document.querySelector(".tl-canvas"), document.querySelector(".tl-mini")];
  const rows = scene.layout.rows.filter((row) => row.track >= 0 && !scene.lanes[scene.tracks[row.track].lane]?.piece && row.y + row.height + 30 < scene.height);
  return {
    strip: count(strip, Math.round(strip.height / 2), left),
    metrics: rows.filter((row) => scene.tracks[row.track].source).map((row) => count(canvas, Math.round((30 + row.y + row.height / 2) * scene.ratio), left)),
    lanes: rows.filter((row) => !scene.tracks[row.track].source).map((row) => count(canvas, Math.round((30 + row.y + row.height / 2) * scene.ratio), left)),
  };
}

/** Until pieces have arrived, no row of the timeline looks as if nothing had run, or no power had been drawn. */
export async function loading({ page: before, t, origin, hf }) {
  const page = await before.context().newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await page.addInitScript(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.written = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.written.add(text); // the strip is drawn on a canvas that is not in the page
      return fillText.call(this, text, ...rest);
    };
  });
  let release;
  const held = new Promise((done) => (release = done));
  await page.route(/\/api\/v1\/sessions\/[^/]+\/(tiles|spans|samples|captured|device-series)\?/, async (route) => {
    await held;
    await route.continue().catch(() => undefined); // the timeline no longer wants it
  });
  await page.setViewportSize({ width: 1280, height: 1600 }); // the rows of metrics are in view
  await page.goto(`${origin}/sessions/${hf}/timeline`);
  await page.waitForFunction(() => window.gpuflTimeline?.shown.pending > 0 && window.gpuflTimeline.scene.tracks.length > 0 && window.written.has("Not loaded yet"));
  const waits = await page.evaluate(dashes);
  t.check(waits.strip > 100 && waits.metrics.length >= 2 && waits.lanes.length > 5 && [...waits.metrics, ...waits.lanes].every((px) => px > 100), `timeline, loading: dashes of ${JSON.stringify(waits)} px`);
  release();
  await rest(page);
  const whole = ({ strip, metrics, lanes }) => strip === 0 && [...metrics, ...lanes].every((px) => px === 0);
  let here = await page.evaluate(dashes);
  for (const end = Date.now() + PATIENCE_MS; !whole(here) && Date.now() < end; here = await page.evaluate(dashes)) await page.waitForTimeout(100); // a metric's series may come after the lanes
  t.check(whole(here), `timeline, loaded: dashes of ${JSON.stringify(here)} px`);
  await page.close();
}

/** A search among kernels keeps their shares, says how many match, and puts a piece of the whole name before a name only where the
 * match is not visible in the name. */
export async function searched({ page, t, origin, hf }) {
  const open = async (path) => {
    await page.goto(origin + path);
    await rest(page);
  };
  const table = page.locator("main .table").first();
  await open("/sessions/faults-stacks/kernels");
  const column = async () => (await table.locator("thead th").allInnerTexts()).findIndex((head) => head.startsWith("Share"));
  const shares = async () => new Map(await table.locator("tbody tr").evaluateAll((rows, at) => rows.map((row) => [row.querySelector("[data-name]").dataset.name, row.querySelectorAll("td")[at].innerText.trim()]), await column()));
  const whole = await shares();
  await open("/sessions/faults-stacks/kernels?search=kernel_1");
  await page.getByRole("status").getByText("11 kernels match", { exact: true }).waitFor();
  await page.waitForFunction((at) => [...document.querySelectorAll("main .table tbody tr")].every((row) => row.querySelectorAll("td")[at].innerText.trim() !== "–"), await column()); // the time of all kernels is known
  const part = await shares();
  t.check(part.size === 11 && [...part].every(([name, share]) => share === whole.get(name)), `search: shares ${[...part].map((one) => one.join(" "))} among ${whole.size}`);
  t.check((await page.locator("main .found").count()) === 0, `search: a piece before a name that shows the match: ${await page.locator("main .found").allInnerTexts()}`);
  await open(`/sessions/${hf}/kernels?search=elementwise`);
  await page.getByRole("status").getByText(/^\d+ kernels? match/).waitFor();
  const names = await table.locator("tbody [data-name]").evaluateAll((all) =>
    all.map((name) => {
      const lead = name.querySelector(".found")?.textContent ?? "";
      return { lead, rest: name.textContent.slice(lead.length), cut: name.scrollHeight > name.clientHeight + 1 };
    }),
  );
  const doubled = names.filter(({ lead, rest, cut }) => lead && !cut && rest.toLowerCase().includes("elementwise"));
  t.check(names.length > 3 && doubled.length === 0, `search: a piece before ${doubled.length} of ${names.length} names that show the match: ${doubled[0]?.lead} ${doubled[0]?.rest}`);
  t.check(names.every(({ lead, rest }) => `${lead}${rest}`.toLowerCase().includes("elementwise")), `search: a match that is not visible: ${JSON.stringify(names[0])}`);
}

/** A kernel's page names its session and has the kernel's share; the whole of a flame graph is said above it; rows of scopes are
 * low; a comparison says if its sides are reversed, and a run when it began. */
export async function named({ page, t, origin, hf, id }) {
  const open = async (path) => {
    await page.goto(origin + path);
    await rest(page);
  };
  const ask = (path) => page.evaluate(async (address) => (await fetch(`/api/v1/${address}`)).json(), path);
  const { data } = await ask(`sessions/${hf}/kernels?limit=10000`);
  const share = (100 * data.total[0]) / data.total.reduce((sum, total) => sum + total, 0);
  await open(`/sessions/${hf}/kernels/${data.name_id[0]}`);
  await page.locator("main .stat small").getByText(`${share.toFixed(share < 9.95 ? 1 : 0)} % of the time of all kernels`.replace(" %", "\u202f%")).or(page.locator("main .stat small").getByText(`${share.toFixed(share < 9.95 ? 1 : 0)} % of the time of all kernels`)).first().waitFor();
  const head = page.locator("main header");
  t.check((await head.getByRole("link", { name: "hf_train", exact: true }).count()) === 1 && (await head.locator(".session-id").innerText()) === hf.slice(0, 8), `kernel: its session: ${await head.innerText()}`);
  await open(`/sessions/${hf}/system`);
  await page.getByText("This process's CPU: 100 % is one core.").waitFor();
  const tops = await page.locator("main header .button").evaluateAll((all) =>
    all.map((button) => {
      const text = document.createRange();
      text.selectNodeContents(button);
      return text.getBoundingClientRect().top;
    }),
  );
  t.check(tops.length > 2 && Math.max(...tops) - Math.min(...tops) < 1.5, `session: texts of links and buttons begin at ${tops}`);
  await open(`/sessions/${hf}/flame`);
  const [shown, box] = await page.locator(".icicle").evaluate((icicle) => [".icicle-shown", ".icicle-box"].map((part) => icicle.querySelector(part).getBoundingClientRect().top));
  const blocked = await page.locator(".icicle-shown").innerText();
  t.check(shown < box && shown < DESK.height / 2 && /^Host blocked\s+\d[\d.]* ms/.test(blocked), `flame: the sum at ${shown} px, above the picture at ${box} px: ${blocked}`);
  await open(`/sessions/${id}/scopes`);
  const rows = await page.locator("main .simple tbody tr").evaluateAll((all) => all.map((row) => [row.getBoundingClientRect().height, row.querySelector(".scope-trend") !== null, row.querySelector(".scope-name").innerText.length]));
  t.check(rows.length > 3 && rows.filter(([, trend, letters]) => trend && letters < 20).every(([height]) => height < 55), `scopes: rows of ${rows.map(([height]) => height)} px`);
  const [first, second] = [await ask(`sessions/${hf}`), await ask(`sessions/${id}`)].sort((a, b) => (BigInt(a.started) < BigInt(b.started) ? -1 : 1));
  const hint = page.getByRole("note").getByText("B ran before A.");
  await open(`/compare?a=${second.id}&b=${first.id}`);
  await hint.waitFor();
  await page.getByRole("button", { name: "Swap sides" }).click();
  await hint.waitFor({ state: "detached" });
  const { labels, pid } = await ask(`sessions/${hf}`);
  await open(`/runs/${labels.run}`);
  const [about, row] = [await page.locator("main h1 + .session-id").innerText(), await page.getByRole("region", { name: "Sessions of the run" }).locator("tbody tr").innerText()];
  t.check(about === labels.run.slice(0, 8) && /started \d+ \w+ 20\d\d/.test(await page.locator("main").innerText()), `run: its id and date: ${about}`);
  t.check(row.includes(`process ${pid}`) && !row.includes("vm, process"), `run: a row repeats the host: ${row}`);
}

/** A link that does not work leads on to the login; a limit that is not set is an empty field that says so. */
export async function onward({ page, t, origin }) {
  const visitor = await (await page.context().browser().newContext({ viewport: DESK, reducedMotion: "reduce" })).newPage();
  visitor.setDefaultTimeout(PATIENCE_MS);
  t.watch(visitor, origin);
  const leads = async (path) => {
    await visitor.goto(origin + path);
    const link = visitor.locator("main [role=alert]").getByRole("link", { name: "Log in" });
    await link.waitFor();
    t.check(new URL(await link.evaluate((one) => one.href)).pathname === "/login", `${path}: the link leads to the login`);
  };
  for (const path of ["/invite", "/reset", "/setup", "/share", "/share#token=never-made"]) await leads(path);
  await visitor.goto(`${origin}/reset#token=never-made`);
  await visitor.getByLabel("Password").fill("a new pass phrase");
  await visitor.getByRole("button", { name: "Set the password" }).click();
  await visitor.locator("main [role=alert]").getByRole("link", { name: "Log in" }).click();
  await visitor.getByRole("button", { name: "Log in" }).waitFor();
  await visitor.context().close();
  await page.goto(`${origin}/settings/retention`);
  await rest(page);
  const fields = await page.locator(".with-unit").evaluateAll((all) => all.map((one) => [one.querySelector("input").value, one.querySelector("input").placeholder, one.innerText.trim()].join("|")));
  t.check(fields.join(" ") === "|no limit|days |no limit|GiB |no limit|days", `retention: ${fields}`);
}

/** Runs in the page: fields and buttons that stand side by side in a row and do not end at one height, and the heights of fields. */
function unaligned() {
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const named = (element) => `${element.name || element.innerText || element.placeholder} ends at ${element.getBoundingClientRect().bottom}`;
  const wrong = [];
  let rows = 0;
  for (const row of document.querySelectorAll("main .row, main .form-line")) {
    const controls = [...row.querySelectorAll(":scope > .button, :scope > .field, :scope > .field-of > .field, :scope > .choices > .button")].filter(seen);
    const fields = controls.filter((element) => element.matches(".field"));
    rows += Number(fields.length > 0 && fields.length < controls.length);
    for (const field of fields)
      for (const other of controls) {
        const [a, b] = [field, other].map((element) => element.getBoundingClientRect());
        if (a.top < b.bottom && b.top < a.bottom && Math.abs(a.bottom - b.bottom) > 1.6) wrong.push(`${named(field)}, ${named(other)}`);
      }
  }
  const heights = [...document.querySelectorAll("main input.field, main select.field")].filter(seen).map((field) => field.getBoundingClientRect().height);
  return { rows, wrong, heights: [...new Set(heights.map((height) => Math.round(height)))] };
}

/** Fields, dates, lists to choose from and the buttons next to them stand in line; the bar names no page of settings that does
 * not exist, and a session's id is next to its name. */
export async function aligned({ page, t, origin, hf }) {
  const PAGES = ["/settings/members", "/settings/server", "/settings/keys", "/sums", "/hosts/twin", "/", "/sessions", "/trends?kind=app&name=hf_train", `/sessions/${hf}/kernels`, `/sessions/${hf}/timeline`, "/alerts?edit=new"];
  let rows = 0;
  for (const size of [DESK, WALL])
    await wide(page, size, async () => {
      for (const path of PAGES) {
        await page.goto(origin + path);
        await rest(page);
        const found = await page.evaluate(unaligned);
        rows += found.rows;
        t.check(found.wrong.length === 0, `${path} at ${size.width}: ${found.wrong.join(" | ")}`);
        t.check(found.heights.length <= 1, `${path} at ${size.width}: fields are ${found.heights} px high`);
      }
    });
  t.check(rows >= 10, `rows with fields and buttons: ${rows}`);
  for (const tab of ["insights", "timeline"]) {
    await page.goto(`${origin}/sessions/${hf}/${tab}`);
    await rest(page);
    t.check(!(await page.locator(".topbar").innerText()).includes(hf.slice(0, 8)), `${tab}: the bar has no id of a session`);
    t.check((await page.locator("h1 + .session-id").innerText()) === hf.slice(0, 8), `${tab}: the session's id is next to its name`);
  }
}

/** Whether texts of the elements are whole: as wide as their boxes, and no dots at the end. Runs in the page. */
const cutTexts = (all) => all.filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "auto").map((box) => `${box.className || box.tagName}: ${box.textContent.slice(0, 80)}`);

/** Texts of a session's dialogs and below its plots are whole, on each view with a header of its own and on a phone; a text below a
 * heading stands apart from it. */
export async function wholeTexts({ page, t, origin, hf }) {
  for (const tab of ["insights", "timeline", "kernels", "flame"]) {
    for (const size of [DESK, { width: 390, height: 844 }]) {
      await page.setViewportSize(size);
      await page.goto(`${origin}/sessions/${hf}/${tab}`);
      await rest(page);
      for (const name of ["Share", "Delete"]) {
        await page.getByRole("button", { name, exact: true }).first().click(); // a column may have the same name
        const dialog = page.getByRole("dialog");
        await dialog.getByRole("button", { name: "Cancel" }).waitFor();
        const cut = await dialog.locator("h2, p, label, button").evaluateAll(cutTexts);
        const over = await dialog.evaluate((box) => box.scrollWidth - box.clientWidth);
        t.check(cut.length === 0 && over <= 0, `dialog ${name} of ${tab} at ${size.width} px: ${over} px too wide: ${cut}`);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      }
    }
  }
  await page.setViewportSize(DESK);
  for (const tab of ["system", "memory"]) {
    await page.goto(`${origin}/sessions/${hf}/${tab}`);
    await rest(page);
    const captions = page.locator(".plot-values").filter({ hasText: /\d/ });
    await captions.first().waitFor();
    const cut = await captions.evaluateAll(cutTexts);
    t.check(cut.length === 0, `${tab}: texts below plots that are cut off: ${cut}`);
  }
  await page.goto(`${origin}/sessions/${hf}/timeline`);
  await rest(page);
  await page.getByRole("searchbox", { name: "Search events" }).fill("gemm");
  await page.keyboard.press("Enter");
  const hit = page.getByRole("status").filter({ hasText: "gemm" });
  await hit.waitFor();
  t.check(/^at [\d.\u202f ]+ s: gemm/.test(await hit.innerText()), `timeline: the time of a hit stands before its name, which may be cut off: ${await hit.innerText()}`);
  await page.goto(`${origin}/upload`);
  await page.getByText("Drop a folder here").waitFor();
  const apart = await page.locator("h1 + p").evaluate((text) => text.getBoundingClientRect().top - text.previousElementSibling.getBoundingClientRect().bottom);
  t.check(apart >= 6, `upload: the text begins ${apart} px below the heading`);
}
