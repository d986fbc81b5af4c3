// compare.mjs - comparing two sides: the answer comes first, in the words of `gpufl compare`; kernels and scopes link to their
// pages; a large difference that is not certain is called not clear; and a flame graph shows where the time differs.
//   node tests/e2e/compare.mjs BIN OUT
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";
import { BEGIN, complete, deltas, header, lineOf, REAL, send, session } from "./sessions.mjs";

const [bin, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const AT = { host: "made", gpu: "GPU-1", real: REAL };
const NAMES = ["_Z4gemmPf", "_Z4reluPf", "_Z5laterv"];
const PASSES = 8;
const COMPILER = ["XlaCompile:#module=jit_step_of_a_model#", ...Array.from({ length: PASSES }, (_, at) => `XlaPassPipeline:Pass:#name=p${at},module=jit_step_of_a_model,program_id=2648${at}#`)];

const ODD_NAMES = ["a|b", "a", "b", "c\\", "d;e f/g%h#i?j&k=l"];
const ODD_PARENTS = [0, 0, 2, 0, 4, 0];
const oddScopes = (times) => [[0, 1e9, 0], [2e9, 2e9, 1], [2.5e9, 5e8, 2], [5e9, 3e8, 3], [5.1e9, 1e8, 0], [6e9, 2e8, 4]].map(([start, ns, name]) => [start, ns * times, name]);
/** The paths as the server writes them, the names, and the durations in the second session. */
const ODD = [["a\\|b", "a|b", "500 ms"], ["a", "a", "1.00 s"], ["a|b", "b", "250 ms"], ["c\\\\", "c\\", "150 ms"], ["c\\\\|a\\|b", "a|b", "50.0 ms"], ["d;e f/g%h#i?j&k=l", "d;e f/g%h#i?j&k=l", "100 ms"]].map(([path, name, wall]) => ({ path, name, wall }));

/** Sends kernels, scopes and waits with stacks: all that a comparison shows. waits: [duration, line]. */
async function made(key, id, { kernels, scopes, waits, named = ["epoch", "step"], parents = [0, 1] }) {
  const one = session(id, id, AT);
  const texts = { type: "names", rows: 4, id: [800, 801, 802, 803], text: ["main", "step", "read_loss", "train.py"] };
  const frames = { type: "frame", rows: 3, id: [1, 2, 3], kind: [2, 2, 2], module: 0, offset: "0", function: [800, 801, 802], file: 803, line: [1, 20, 30], first_line: 1 };
  const stacks = { type: "stack", rows: 3, id: [1, 2, 3], parent: [0, 1, 1], frame: [1, 2, 3], depth: [1, 2, 2] };
  const ids = deltas(waits.map((_, at) => at + 1));
  const blocked = { type: "wait", rows: waits.length, start: deltas(waits.map((_, at) => BEGIN + 1e6 + at * 1e9)), duration: waits.map(([ns]) => ns), call: 3, async: 0, stream: 1, correlation: ids, scope: 0, stack: deltas(waits.map(([, stack]) => stack)), thread: 77, launches: ids, bytes: null };
  await send(origin, key, one, "code", [header(id, "code", id, AT), texts, frames, stacks].map(lineOf).join(""));
  await send(origin, key, one, "scope", one.scopes(scopes, named, parents) + lineOf(blocked));
  await send(origin, key, one, "device", one.kernels(kernels, { streams: 1, names: NAMES }));
  await send(origin, key, one, "system", one.end(8e9));
  await complete(origin, key, one);
}

const many = (n, ns, name, from) => Array.from({ length: n }, (_, at) => [from + at * 5e6, ns + (at % 40), 1, name]);
const open = async (page, address) => {
  await page.goto(origin + address);
  await rest(page);
};
const caption = (page) => page.locator(".icicle-shown").innerText();
const plain = (text) => text.replaceAll("\u202f", " ");

async function answer(page) {
  await open(page, "/compare?a=cmp-a&b=cmp-b");
  const first = page.locator(".compare-answer");
  const lines = (await first.locator("p").allInnerTexts()).map(plain);
  const { sentences } = await page.evaluate(async () => (await fetch("/api/v1/compare?a=cmp-a&b=cmp-b")).json());
  check(sentences.length >= 3 && sentences.every((line) => lines.includes(plain(line.replace(/(\d) us\b/g, "$1 µs").replace(/ -(?=\d)/g, " −").replace(/(\d),(?=\d{3}\b)/g, "$1 ")))), `answer: ${lines.join(" | ")} for ${sentences.join(" | ")}`);
  check(lines.every((line) => !/(^|[\s(])-\d/.test(line)), `answer: a hyphen for a minus: ${lines.join(" | ")}`);
  check(/^B: \d+\.\d % less kernel time \(/.test(lines[0]), `answer: begins with ${lines[0]}`);
  check(lines.some((line) => line.includes("gemm") && line.includes("shorter a call")), `answer: names the kernel: ${lines.join(" | ")}`);
  check(lines.some((line) => line.startsWith("The applications differ: A is cmp-a, B is cmp-b.")), `answer: other applications: ${lines.join(" | ")}`);
  const busy = plain(await page.getByRole("row", { name: /^GPU busy/ }).innerText());
  check(/%\s+\S+ %\s+[+−]\d+\.\d points$/.test(busy), `answer: a difference of shares: ${busy}`);
  const above = await page.evaluate(() => document.querySelector(".compare-answer").getBoundingClientRect().bottom < document.querySelector(".side-runs").getBoundingClientRect().top);
  check((await page.getByRole("columnheader", { name: "After (B)" }).count()) === 2, "answer: columns of both tables say whose they are");
  check(above, "answer: stands above the choice of sessions");
  const rows = await page.getByRole("region", { name: /^Kernels/ }).locator("tbody tr").allInnerTexts();
  check(rows.some((row) => row.startsWith("relu") && row.includes("not clear")), `verdicts: a large change that is not sure: ${rows.join(" | ")}`);
  await t.shots(page, "compare-answer");
}

async function links(page) {
  await open(page, "/compare?a=cmp-a&b=cmp-b");
  await page.getByRole("link", { name: /^later/ }).click(); // only in b
  await page.waitForURL(/sessions\/cmp-b\/kernels\/12/);
  await open(page, "/compare?a=cmp-a&b=cmp-b");
  await page.getByRole("link", { name: /^epoch\|step/ }).click();
  await page.waitForURL(/sessions\/cmp-b\/scopes/);
  await rest(page);
  await page.locator(".scope-here").waitFor();
  check((await page.locator(".scope-here").innerText()).startsWith("step"), "links: a scope leads to itself");
}

/** Scopes of a compiler have paths of hundreds of letters, which differ late: each has a row of its own, and no two look equal. */
async function longPaths(page) {
  await open(page, "/compare?a=cmp-c&b=cmp-d");
  const rows = page.getByRole("region", { name: /^Scopes/ }).locator("tbody tr");
  await rows.nth(2).waitFor();
  check((await rows.count()) === 1 + PASSES, `long paths: ${await rows.count()} rows`);
  for (const width of [1280, 1600, 3840]) {
    await page.setViewportSize({ width, height: 800 });
    await t.legible(page, `long paths at ${width}`);
    await t.whole(page, `long paths at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await t.shots(page, "compare-paths");
  await open(page, "/trends?kind=scope");
  await page.getByRole("link", { name: /Pass:#name=p3/ }).first().waitFor();
  await t.legible(page, "long paths, trends");
  await t.whole(page, "long paths, trends");
}

/** Names contain separators of paths and addresses: each row of the comparison leads to its own scope, and each scope to its own
 * trend. */
async function oddNames(page) {
  await open(page, "/compare?a=cmp-e&b=cmp-f");
  const rows = page.getByRole("region", { name: /^Scopes/ }).locator("tbody tr td.lead a");
  await rows.nth(ODD.length - 1).waitFor();
  const found = await rows.evaluateAll((links) => links.map((link) => ({ path: link.querySelector("[data-name]").dataset.name, href: link.href })));
  check(found.length === ODD.length, `odd names: ${found.map(({ path }) => path)}`);
  for (const { path, name, wall } of ODD) {
    const link = found.filter((one) => one.path === path);
    check(link.length === 1, `odd names: ${link.length} rows of ${path}`);
    await page.goto(link[0].href);
    await rest(page);
    const [scope, time] = (await page.locator(".scope-here td").allInnerTexts()).map(plain);
    check(scope?.startsWith(`${name}\n`) && time === wall, `odd names: ${path} leads to ${scope} of ${time}`);
    await page.locator(".scope-here .scope-trend").click();
    await page.waitForURL(/\/trends/);
    await rest(page);
    check(new URL(page.url()).searchParams.get("name") === path && plain(await page.locator("main table").last().innerText()).includes(wall), `odd names: the trend of ${path}: ${page.url()}`);
  }
  const { nodes } = await page.evaluate(async () => (await fetch("/api/v1/compare/flame?a=cmp-e&b=cmp-f&tree=scopes")).json());
  const roots = nodes.filter(([parent]) => parent === 0).map(([, name]) => name).sort();
  check(JSON.stringify(roots) === JSON.stringify(["a", "a|b", "c\\", "d;e f/g%h#i?j&k=l"]), `odd names: outermost scopes of the picture: ${JSON.stringify(roots)}`);
}

/** How many px of the picture are much redder than blue, and much bluer than red. */
const colours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector(".icicle canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let [red, blue] = [0, 0];
    for (let at = 0; at < data.length; at += 4) {
      red += data[at] > data[at + 2] + 60;
      blue += data[at + 2] > data[at] + 60;
    }
    return { red, blue };
  });

async function flame(page) {
  await open(page, "/compare?a=cmp-a&b=cmp-b");
  await page.locator(".icicle canvas").waitFor();
  check(plain(await caption(page)).includes("A 1.20 s → B 600 ms a run, −600 ms"), `flame: the whole: ${await caption(page)}`);
  const before = await page.evaluate(async () => (await (await fetch("/api/v1/compare/flame?a=cmp-a&b=cmp-b")).json()).nodes);
  check(before.some(([, name, a, b]) => name.startsWith("read_loss") && a === 2e8 && b === 5e8), `flame: the frames: ${JSON.stringify(before)}`);
  await page.locator(".icicle-box").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const widest = plain(await caption(page));
  check(widest.includes("read_loss") && widest.includes("A 200 ms → B 500 ms a run, +300 ms (+150.0 %)"), `flame: the widest frame of B: ${widest}`);
  const b = await colours(page);
  await page.getByRole("button", { name: "A (before)" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("width") === "a");
  const a = await colours(page);
  check(b.red > 2 * a.red && a.blue > b.blue && a.red > 100, `flame: colours: as wide as B ${JSON.stringify(b)}, as A ${JSON.stringify(a)}`);
  await t.shots(page, "compare-flame");
  await page.getByRole("button", { name: "Scopes", exact: true }).click();
  await page.waitForFunction(() => document.querySelector(".icicle-shown")?.textContent.startsWith("Scopes"));
  check(plain(await caption(page)).includes("A 6.00 s → B 3.00 s a run"), `flame: scopes: ${await caption(page)}`);
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".icicle-shown")?.textContent.startsWith("Scopes"));
  for (const [name, words] of [["GPU time", "gpufl trace --stacks=launch"], ["Idle by line", /A .* → B .* a run/]]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByText(words).first().waitFor();
  }
}

/** A sentence says that a side does not exist, or that there are too many. */
async function bad(page) {
  for (const [query, status] of [["a=cmp-a&b=no-such", 404], ["a=cmp-a&b=", 400], ["a=cmp-a&b=cmp-b&tree=x", 400], [`a=cmp-a&b=${Array.from({ length: 65 }, () => "cmp-b").join()}`, 400]]) {
    const answer = await page.evaluate(async (url) => {
      const got = await fetch(url);
      return { status: got.status, ...(await got.json()) };
    }, `/api/v1/compare/flame?${query}`);
    check(answer.status === status && answer.detail?.length > 10, `flame of ${query.slice(0, 30)}: ${JSON.stringify(answer)}`);
  }
  await open(page, "/compare?a=cmp-a&b=no-such");
  check((await page.getByRole("alert").count()) > 0, "a session that is gone: said");
}

try {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  t.expected.add(400).add(409);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  const relu = many(100, 10_000, 1, 5e6);
  const slow = relu.map((row, at) => (at === 7 ? [row[0], 4_000_000, 1, 1] : row));
  await made(key, "cmp-a", { kernels: [...many(200, 2_000_000, 0, 1e9), ...relu], scopes: [[0, 6e9, 0], [1e9, 4e9, 1]], waits: [[1e9, 2], [2e8, 3]] });
  await made(key, "cmp-b", { kernels: [...many(200, 400_000, 0, 1e9), ...slow, ...many(10, 1000, 2, 3e9)], scopes: [[0, 3e9, 0], [1e9, 1e9, 1]], waits: [[1e8, 2], [5e8, 3]] });
  const compiled = { named: COMPILER, parents: COMPILER.map((_, at) => Number(at > 0)), waits: [[1e8, 2]], kernels: relu };
  await made(key, "cmp-c", { ...compiled, scopes: COMPILER.map((_, at) => (at ? [at * 5e8, 4e8, at] : [0, 6e9, 0])) });
  await made(key, "cmp-d", { ...compiled, scopes: COMPILER.map((_, at) => (at ? [at * 5e8, 2e8, at] : [0, 6e9, 0])) });
  for (const [id, times] of [["cmp-e", 1], ["cmp-f", 0.5]]) await made(key, id, { named: ODD_NAMES, parents: ODD_PARENTS, waits: [[1e8, 2]], kernels: relu, scopes: oddScopes(times) });
  await until(page, async () => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === 6);
  await t.walk(page, { answer, links, flame, longPaths, oddNames, bad });
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("compare");
