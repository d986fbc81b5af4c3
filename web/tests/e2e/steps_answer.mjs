// steps_answer.mjs - the answer's panel and the search (faults.mjs): the parts of the bar link to their finding,
// their line and their longest gap; more than five findings are folded; matches of a search are visible and
// names are copied whole; a source line is found on the timeline.
import { rest } from "./crawl.mjs";
import { until } from "./harness.mjs";

const CLIPBOARD = ["clipboard-read", "clipboard-write"];
const drawn = (page) => page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0 && window.gpuflTimeline.shown.pending === 0);
const ask = (page, address) => page.evaluate(async (url) => (await fetch(url)).json(), `/api/v1/${address}`);
const rowsOf = ({ rows, columns, data }) => Array.from({ length: rows }, (_, at) => Object.fromEntries(columns.map((name) => [name, data[name][at]])));

const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9 };
/** Whether a time with three digits, as pages show it, is about that many ns. */
const near = (text, ns) => {
  const [, value, unit] = /^([\d.]+) (\S+)$/.exec(text) ?? [];
  return Math.abs(Number(value) * UNITS[unit] - ns) <= ns / 150;
};

/** The gap that the page must link to, from the server's own answer. */
async function longestOf(page, session, cause, from) {
  const { causes, gaps } = await ask(page, `sessions/${session}/timeline`);
  const number = causes.findIndex((one) => one.cause === cause);
  const mine = gaps.start.map((start, i) => ({ start, duration: gaps.duration[i], cause: gaps.cause[i] })).filter((gap) => gap.cause === number && gap.start >= from);
  return mine.reduce((a, b) => (b.duration > a.duration ? b : a), { start: 0, duration: 0 });
}

export async function bar({ page, t, origin, hf }) {
  await page.goto(`${origin}/sessions/${hf}/insights`);
  await rest(page);
  const report = await ask(page, `sessions/${hf}/summary`);
  const said = (await page.getByRole("list", { name: "The session in sentences" }).innerText()).replaceAll("\u202f", " ");
  for (const line of report.summary) t.check(said.includes(line.replace(/(\d) us\b/g, "$1 µs").replace(/(\d),(?=\d{3}\b)/g, "$1 ")), `answer: the sentence "${line}" is missing from ${said}`);
  const bottom = await page.locator(".time-bar").evaluate((box) => box.getBoundingClientRect().bottom);
  t.check(bottom < 800, `answer: the bar ends at ${bottom} px`);
  const [part] = report.time.parts.filter(({ idle }) => idle).sort((a, b) => b.ns - a.ns);
  const line = report.idle.lines.find(({ cause, file }) => cause === part.part && file);
  await page.getByRole("group", { name: "Parts of the GPUs' time" }).getByRole("button", { name: part.name }).click();
  const where = page.locator(".time-part");
  await where.waitFor();
  t.check(new URL(page.url()).searchParams.get("part") === part.part, "answer: the part is in the address");
  await t.shots(page, "answer-part");
  await where.getByRole("button", { name: line.place, exact: true }).first().click();
  await page.getByRole("dialog").getByText(`${line.file.split("/").at(-1)}:${line.line}`).waitFor();
  await page.keyboard.press("Escape");
  await where.getByRole("button", { name: "Finding of this part" }).click();
  const finding = await page.evaluate(() => document.activeElement.innerText);
  t.check(finding.includes(line.place), `answer: the part's finding: ${finding.slice(0, 200)}`);
  await where.getByRole("link", { name: "Longest gap on the timeline" }).click();
  await drawn(page);
  const gap = await longestOf(page, hf, part.part, report.time.start_up_ns);
  await page.waitForFunction((range) => new URLSearchParams(location.search).get("range") === range, `${gap.start}-${gap.start + gap.duration}`);
  await page.waitForFunction((start) => window.gpuflTimeline.scene.selected?.hit.start === start, gap.start);
  await page.locator(".tl-below").getByRole("button", { name: /^hf_train\.py:\d+$/ }).first().waitFor();
  await t.shots(page, "answer-gap");
}

/** A sentence with its numbers written alike: the analysis writes 29,625, the page 29\u202f625. */
const plain = (text) => text.replace(/(?<=\d)[\u202f,](?=\d{3})/g, "").replaceAll("\u202f", " ");

/** Each part of the bar leads to the card about it, or to none if there is no finding. */
export async function opened({ page, t, origin, hf, shared }) {
  let buttons = 0;
  for (const session of [hf, shared]) {
    const { time } = await ask(page, `sessions/${session}/summary`);
    const { insights } = await ask(page, `sessions/${session}/insights`);
    const cardOf = (at) => insights[at].part_of ?? at;
    for (const { part, permille } of time.parts) {
      if (permille === 0) continue; // the bar has no such part
      const cards = new Set(insights.flatMap(({ parts }, at) => (parts.includes(part) ? [insights[cardOf(at)].title] : [])));
      await page.goto(`${origin}/sessions/${session}/insights?part=${part}`);
      await page.locator(".time-part").waitFor();
      const button = page.locator(".time-part").getByRole("button", { name: "Finding of this part" });
      t.check((await button.count()) === (cards.size > 0 ? 1 : 0), `parts: ${part} has ${await button.count()} buttons, and the findings ${[...cards]}`);
      if (cards.size === 0) continue;
      await button.click();
      const title = () => document.activeElement.querySelector("h3")?.innerText ?? "";
      await until(page, () => document.activeElement.matches(".finding"));
      const shown = plain(await page.evaluate(title));
      t.check([...cards].some((wanted) => plain(wanted) === shown), `parts: ${part} leads to "${shown}", not to one of ${[...cards]}`);
      buttons++;
    }
  }
  t.check(buttons > 6, `parts: ${buttons} lead to a finding`);
}

/** Where the report names a section of its own, the page links to what it shows of that section: a card's idle time to the table of
 * its lines. */
export async function sections({ page, t, origin, hf, generate }) {
  let links = 0;
  for (const session of [hf, generate]) {
    const { insights } = await ask(page, `sessions/${session}/insights`);
    await page.goto(`${origin}/sessions/${session}/insights?more=1`);
    await rest(page);
    const main = await page.locator("main").innerText();
    t.check(!main.includes("--section"), `sections: the page names an option of a command: ${main.slice(Math.max(0, main.indexOf("--section") - 60)).slice(0, 90)}`);
    for (const { title, parts } of insights.filter(({ next, part_of: of }) => of === null && next.includes("--section idle"))) {
      await page.goto(`${origin}/sessions/${session}/insights?more=1`);
      await rest(page);
      const link = page.getByRole("link", { name: "the lines of this part" }).first();
      await link.click();
      await page.locator(".time-part tbody tr").first().waitFor();
      t.check(new URL(page.url()).searchParams.get("part") === parts[0], `sections: ${title} leads to ${page.url()}, not to ${parts[0]}`);
      const top = await page.locator(".time-part").evaluate((box) => box.getBoundingClientRect().top - document.querySelector(".topbar").getBoundingClientRect().bottom);
      t.check(top >= 0, `sections: the table of ${title} is ${-top} px below the bar`);
      links++;
    }
  }
  t.check(links > 0, `sections: ${links} links`);
}

/** The event that the page must link to for a part that is work, from the server's own answer. */
async function longestWork(page, session, part, from) {
  const { data } = await ask(page, `sessions/${session}/lanes`);
  const lanes = data.lane.filter((lane) => (part === "kernels" ? [1n, 7n] : [2n]).includes(BigInt(lane) >> 56n));
  const rows = rowsOf(await ask(page, `sessions/${session}/events?lanes=${lanes}&from=${from}&to=1000000000000&limit=100000`));
  return rows.filter(({ start }) => start >= from).reduce((a, b) => (b.duration > a.duration ? b : a));
}

/** A click on each coloured part of the bar opens where the part leads: the finding about it, its lines, and its longest gap, kernel
 * or copy, which is then selected on the timeline. The tooltip names them. */
export async function clicked({ page, t, origin, hf, shared, id }) {
  const seen = new Set();
  for (const session of [hf, shared, id]) {
    const { time, idle } = await ask(page, `sessions/${session}/summary`);
    const { insights } = await ask(page, `sessions/${session}/insights`);
    for (const [at, { part, name, permille, idle: isIdle }] of time.parts.entries()) {
      if (permille === 0) continue; // it has no width
      await page.goto(`${origin}/sessions/${session}/insights`);
      await rest(page);
      const piece = page.locator(".time-bar > svg > rect").nth(at);
      const tip = await piece.locator("title").textContent();
      const short = part === "back_to_back"; // its gaps are too short for the timeline
      const opens = short ? "finding and lines" : isIdle ? "finding, lines and longest gap" : `all ${part} and the longest on the timeline`;
      t.check(tip === `${name}: ${opens}`, `bar: the tooltip of ${part}: ${tip}`);
      const { x, y, width, height } = await piece.evaluate((rect) => rect.getBoundingClientRect().toJSON());
      await page.mouse.click(x + width / 2, y + height / 2);
      await page.waitForFunction((wanted) => new URLSearchParams(location.search).get("part") === wanted, part);
      const leads = page.locator(".time-part");
      await leads.getByText(name, { exact: true }).first().waitFor();
      const about = insights.some(({ parts }) => parts.includes(part));
      t.check((await leads.getByRole("button", { name: "Finding of this part" }).count()) === Number(about), `bar: ${part} leads to no finding, or to one that is not about it`);
      const lines = idle.lines.filter(({ cause, idle_ns: ns }) => cause === part && ns > 0).length;
      t.check((await leads.locator("tbody tr").count()) === Math.min(lines, 5), `bar: ${part} has ${await leads.locator("tbody tr").count()} rows of ${lines} lines`);
      if (!isIdle) t.check((await leads.getByRole("link", { name: part === "kernels" ? "Kernels" : "Memory", exact: true }).count()) === 1, `bar: ${part} leads to no table`);
      seen.add(part);
      if (short) {
        t.check((await leads.getByRole("link", { name: /on the timeline$/ }).count()) === 0 && (await leads.innerText()).includes("shorter than 4"), `bar: ${part} leads to the timeline: ${await leads.innerText()}`);
        continue;
      }
      const event = isIdle ? await longestOf(page, session, part, time.start_up_ns) : await longestWork(page, session, part, time.start_up_ns);
      await page.evaluate(() => delete window.gpuflTimeline);
      await leads.getByRole("link", { name: `Longest ${isIdle ? "gap" : part === "kernels" ? "kernel" : "copy"} on the timeline`, exact: true }).click();
      await drawn(page);
      if (event.duration === 0) {
        await page.getByText("No single event stands for this part of the time").waitFor(); // its gaps have other main causes
        continue;
      }
      await page.waitForFunction(({ start, duration }) => window.gpuflTimeline.scene.selected?.hit.start === start && window.gpuflTimeline.scene.selected.hit.duration === duration, event);
      const view = await page.evaluate(() => window.gpuflTimeline.shown.view);
      t.check(view.from <= event.start && view.to >= event.start + event.duration, `bar: ${part}: the longest event is not in view: ${JSON.stringify([event, view])}`);
    }
  }
  t.check(["kernels", "copies"].every((part) => seen.has(part)) && seen.size > 7, `bar: the parts that were clicked: ${[...seen]}`);
}

/** The table of a part has all of its lines, each with its operator, its own time of that cause, the error of that time and its share;
 * the line's window says the same time. If a finding names a line, its window shows no more than all idle time at that line. */
export async function shares({ page, t, origin, hf }) {
  const report = await ask(page, `sessions/${hf}/summary`);
  const plain = (text) => text.replaceAll("\u202f", " ");
  let lines = 0;
  let operators = 0;
  for (const part of report.time.parts.filter(({ idle, permille }) => idle && permille > 0)) {
    await page.goto(`${origin}/sessions/${hf}/insights?part=${part.part}`);
    const shown = page.locator(".time-part");
    await shown.waitFor();
    const wanted = report.idle.lines.filter(({ cause, idle_ns: ns }) => cause === part.part && ns > 0);
    await shown.locator("tbody tr").first().waitFor();
    const more = shown.getByRole("button", { name: /^\d+ more$/ });
    if (await more.count()) await more.click();
    const heads = await shown.locator("table").first().locator("th").allInnerTexts();
    const rows = (await shown.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.innerText)))).map((cells) => Object.fromEntries(heads.map((name, at) => [name, plain(cells[at])])));
    t.check(rows.length === wanted.length, `shares: lines of ${part.name}: ${JSON.stringify(rows)}, not ${wanted.map(({ place }) => place)}`);
    const sum = wanted.reduce((all, { idle_ns: ns }) => all + ns, 0);
    for (const [at, { Line: place, Operator: operator = "", Thread: thread = "", Time: time, Share: share, "± (95 %)": error = "" }] of rows.entries()) {
      const { idle_ns: ns, exact_ns: measured, half_width_ns: half, ...row } = wanted[at];
      const launches = row.cause === "slow_launches" || row.ended_by || row.inherited || measured > ns / 2;
      const said = row.operator ? (launches ? row.operator : `before ${row.operator}`) : "";
      t.check(operator === said, `shares: the operator of ${place} of ${part.name}: "${operator}", not "${said}"`);
      t.check(row.place ? place.startsWith(row.place) && place.includes("until this line's work came") === row.ended_by : /^no line: [^_]+$/.test(place), `shares: ${place} of ${part.name}, not ${row.place} ${row.reason}`);
      t.check(near(time, ns) && ns <= part.ns * 1.001, `shares: ${place} of ${part.name}: ${time}, not ${ns} ns of ${part.ns} ns`);
      t.check(Math.abs(parseFloat(share.replace("<", "")) - (100 * ns) / sum) < 0.6, `shares: ${place} of ${part.name}: ${share} of ${ns} of ${sum} ns`);
      t.check(!row.place || (half === 0 ? error === "" : half === null ? error === "–" : near(error, half)), `shares: the error of ${place}: ${error}, not ${half} ns`);
      t.check((thread !== "") === Boolean(row.state), `shares: what the thread did at ${place}: "${thread}", not ${row.state}`);
      operators += Number(operator !== "");
      if (!row.file || at > 2) continue;
      await shown.locator("tbody tr").nth(at).locator("button.place").click();
      const inWindow = plain(await page.getByRole("dialog").locator(".stat", { hasText: row.ended_by ? "GPU idle until its work came" : "GPU idle because of it" }).locator("dd").innerText());
      t.check(inWindow === time, `shares: the window of ${place} says ${inWindow}, the line says ${time}`);
      await page.keyboard.press("Escape");
      lines++;
    }
  }
  t.check(operators > 5, `shares: ${operators} rows have an operator`);
  t.check(lines > 5, `shares: ${lines} lines were looked at`);
  const { insights } = await ask(page, `sessions/${hf}/insights`);
  for (const { id, file, line, place, evidence } of insights.filter((found) => found.file && typeof found.evidence.gpu_idle_ns === "number")) {
    const own = report.idle.lines.filter((row) => row.file === file && row.line === line).reduce((sum, row) => sum + row.idle_ns, 0);
    t.check(evidence.gpu_idle_ns <= own * 1.001 || evidence.lines > 1, `shares: ${id} gives ${place} ${evidence.gpu_idle_ns} ns of the ${own} ns that are the line's own`);
  }
}

export async function folded({ page, t, origin, deep }) {
  await page.goto(`${origin}/sessions/${deep}/insights`);
  await rest(page);
  const cards = page.locator(".finding").filter({ visible: true });
  const { insights } = await ask(page, `sessions/${deep}/insights`);
  const all = insights.filter(({ part_of }) => part_of === null).length;
  t.check(all > 5 && (await cards.count()) === 5, `findings: ${await cards.count()} of ${all} are open`);
  await page.getByText(`${all - 5} more findings`).click();
  await until(page, (n) => document.querySelectorAll(".finding").length === n && [...document.querySelectorAll(".finding")].every((card) => card.checkVisibility()), all);
  await page.waitForURL((url) => url.searchParams.get("more") === "1"); // that all are shown is in the address
  await page.reload();
  await cards.nth(5).waitFor();
}

/** The searched part is visible in each row, and the whole name is copied. */
export async function names({ page, t, origin, hf }) {
  await page.context().grantPermissions(CLIPBOARD, { origin });
  for (const [words, least] of [["direct_copy", 2], ["at::native", 10], ["gemm f32", 1]]) {
    await page.goto(`${origin}/sessions/${hf}/kernels?search=${encodeURIComponent(words)}`);
    await rest(page);
    const table = page.getByRole("region", { name: "Kernels by name" });
    await table.locator("tbody mark").first().waitFor();
    for (const width of [1280, 1600, 3840]) {
      await page.setViewportSize({ width, height: 900 });
      // The rows are read in one call after they have their height on this screen, because a row may be replaced.
      await until(page, () => {
        const all = [...document.querySelectorAll("main .table tbody tr")];
        const [first, second] = all.map((row) => row.getBoundingClientRect());
        return all.length > 0 && (!second || Math.abs(second.top - first.top - first.height) < 1);
      });
      const { rows, steps } = await table.evaluate((box) => {
        const all = [...box.querySelectorAll("tbody tr")];
        const tops = all.map((row) => row.getBoundingClientRect().top);
        const rows = all.map((row) => {
          const [mark] = row.querySelectorAll("mark");
          const cell = row.querySelector("td").getBoundingClientRect();
          const place = mark?.getClientRects()[0];
          const seen = place && place.left >= cell.left && place.right <= cell.right && place.top >= cell.top - 1 && place.bottom <= cell.bottom + 1;
          return { text: row.querySelector("a").innerText, seen: Boolean(seen), marked: mark?.innerText ?? "" };
        });
        return { rows, steps: tops.slice(1).map((top, at) => top - tops[at]).concat(all[0].getBoundingClientRect().height) };
      });
      t.check(steps.every((step) => Math.abs(step - steps[0]) < 1), `search ${words} at ${width}: rows stand ${steps} px apart`);
      t.check(rows.length >= least, `search ${words}: ${rows.length} rows`);
      for (const row of rows) t.check(row.seen && row.marked.toLowerCase() === words, `search ${words} at ${width}: not seen in ${JSON.stringify(row)}`);
      t.check(new Set(rows.map(({ text }) => text)).size === rows.length, `search ${words}: rows that read the same: ${JSON.stringify(rows)}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await t.shots(page, "names-found");
  const { names: full } = await ask(page, `sessions/${hf}/kernels?limit=1000`);
  const link = page.getByRole("region", { name: "Kernels by name" }).locator("tbody tr a").first();
  const whole = await link.locator("[data-name]").getAttribute("title");
  t.check(full.includes(whole), `names: the tooltip is the whole name: ${whole}`);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: /^Copy the whole name/ }).first().click();
  await until(page, async (name) => (await navigator.clipboard.readText()) === name, whole);
  await page.evaluate(() => navigator.clipboard.writeText("before"));
  await link.evaluate((name) => getSelection().selectAllChildren(name));
  await page.keyboard.press("Control+c");
  t.check((await copied()) === whole, `names: what is copied: ${await copied()}`);
}

/** The search for a source line finds the next wait, gap or launch there, whichever comes first. */
export async function lines({ page, t, origin, hf }) {
  await page.goto(`${origin}/sessions/${hf}/timeline`);
  await drawn(page);
  const { stacks, nodes, places, gaps } = await ask(page, `sessions/${hf}/timeline`);
  const placeOf = (node) => places[nodes.place[node]]?.place;
  const words = "hf_train.py:19";
  const waits = rowsOf(await ask(page, `sessions/${hf}/waits?from=0&to=100000000000&limit=100000`)).filter((row) => BigInt(row.lane) >> 56n === 4n && row.stack && placeOf(stacks[row.stack]) === words);
  const threads = rowsOf(await ask(page, `sessions/${hf}/looked-at`)).map((row) => row.thread);
  const launches = rowsOf(await ask(page, `sessions/${hf}/captured?threads=${threads}&from=0&to=100000000000&limit=100000`)).filter((row) => row.stack && placeOf(stacks[row.stack]) === words);
  const starts = [...waits.map((row) => row.start), ...launches.map((row) => row.at), ...gaps.start.filter((_, i) => placeOf(gaps.node[i]) === words)].sort((a, b) => a - b);
  t.check(starts.length > 10, `lines: ${starts.length} events at ${words}`);
  await page.getByRole("searchbox", { name: "Search events" }).fill(words);
  const unlike = starts.filter((start, at) => start !== starts[at - 1]);
  for (const start of unlike.slice(0, 3)) {
    await page.keyboard.press("Enter");
    await page.waitForFunction((wanted) => window.gpuflTimeline.scene.selected?.hit.start === wanted, start);
    await page.locator(".tl-below").getByText(words, { exact: true }).first().waitFor();
  }
  await page.keyboard.press("Shift+Enter");
  await page.waitForFunction((wanted) => window.gpuflTimeline.scene.selected?.hit.start === wanted, unlike[1]);
  await drawn(page);
  await t.shots(page, "lines-found");
  await page.getByRole("searchbox", { name: "Search events" }).fill("no_such_file.py:1");
  await page.keyboard.press("Enter");
  await page.getByText("No event has this text in its name or line.").waitFor();
}

const ROW_MOST = 110; // px of a row with four lines of letters of 16 px

/** Rows of waits are low also where PyTorch's functions have names of hundreds of letters; the whole name is in the tooltip. */
export async function low({ page, t, origin, long, id }) {
  for (const [session, letters] of [[long, 500], [id, 0]]) {
    const { synchronization_lines: waits } = await ask(page, `sessions/${session}/sync`);
    const names = waits.lines.map(({ function: name }) => name ?? "");
    t.check(names.some((name) => name.length >= letters), `waits: the longest name has ${Math.max(...names.map(({ length }) => length))} letters`);
    await page.goto(`${origin}/sessions/${session}/syncs`);
    await rest(page);
    for (const width of [1280, 1600, 3840]) {
      await page.setViewportSize({ width, height: 900 });
      const rows = await page.getByRole("region", { name: "Where the host waited, by line" }).locator("tbody tr").evaluateAll((all) =>
        all.map((row) => {
          const name = row.querySelector(".two-lines [data-name]");
          const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
          return { height: row.getBoundingClientRect().height / unit, whole: name?.dataset.name ?? "", tip: name?.title ?? "", cut: name ? name.scrollWidth - name.parentElement.clientWidth : 0 };
        }),
      );
      t.check(rows.length === names.length, `waits at ${width}: ${rows.length} rows of ${names.length}`);
      rows.forEach(({ height, whole, tip, cut }, at) => {
        t.check(height < ROW_MOST, `waits at ${width}: the row of ${whole.slice(0, 60)} is ${height} px tall`);
        t.check(whole === names[at] && tip === whole && cut <= 0, `waits at ${width}: the name of row ${at} is ${whole.slice(0, 60)}, its tooltip ${tip.slice(0, 60)}, ${cut} px too wide`);
      });
    }
    await t.shots(page, `waits-low-${letters}`, { judged: true });
  }
}

/** Details of many pages. */
export async function small({ page, t, origin, id }) {
  // A line of waits opens its source.
  await page.goto(`${origin}/sessions/${id}/syncs`);
  await rest(page);
  await page.getByRole("button", { name: "train_loop.cu:235" }).click();
  await page.getByRole("dialog").locator(".source-here").waitFor();
  await page.keyboard.press("Escape");
  // No space next to the bar of pages stays empty.
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const bar = await page.evaluate(() => document.querySelector("header.topbar").getBoundingClientRect().right - innerWidth);
    t.check(Math.abs(bar) < 1, `bar: ends ${bar} px from the edge at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  // The rule for findings has no threshold in degrees.
  await page.goto(`${origin}/alerts`);
  await page.getByRole("button", { name: "Make a rule" }).click();
  const threshold = page.getByRole("dialog").locator("input[name=threshold]");
  t.check((await threshold.inputValue()) === "85", `rule: of a temperature ${await threshold.inputValue()}`);
  await page.getByRole("dialog").getByRole("combobox").first().selectOption("insight");
  await until(page, () => document.querySelector("dialog input[name=threshold]").value === "10");
  await page.keyboard.press("Escape");
  // An empty view of scopes says how a program makes scopes.
  await page.goto(`${origin}/sessions/faults-stacks/scopes`);
  await page.getByText("torch.cuda.nvtx.range_push").waitFor();
}
