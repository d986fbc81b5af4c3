// amd.mjs - sessions of AMD's GPUs, recorded by `gpufl trace` over the simulated rocprofiler-sdk: samples of program counters with
// the hardware's reasons, samples without reasons, and counters of single kernels. Every page uses AMD's words, the samples
// are shown with ISA and source, and a missing reason is unknown.
//   node tests/e2e/amd.mjs BIN OUT
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { alertAndKey, firstAccount, startServer } from "./server.mjs";

const [bin, out] = process.argv.slice(2);
const FAKES = path.join(bin, "../fake/rocm");
const CODE = path.join(bin, "../tests/amdgpu/gfx90a.hsaco"); // real ISA, with lines
if (!existsSync(CODE)) {
  console.log("skipped: no clang for AMD GPUs is installed (clang-16, lld-16)");
  process.exit(77);
}
const LAUNCHES = 400; // launches of two kernels in turn
const A_LAUNCH = 20; // samples
const WAITING = { waitcnt: 10, alu_dependency: 3, barrier_wait: 2 }; // of those 20 samples
const browser = await startBrowser(out);
const t = makeHarness(out);
const { check } = t;
const server = await startServer(bin);
const { origin } = server;

/** Records the program's kernels with an engine, over the simulated library, which behaves as `script` says; sends the session. */
function record(key, { script, options, name, metrics }) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-amd-"));
  const env = { PATH: process.env.PATH, LC_ALL: "C.UTF-8", HOME: folder, LD_LIBRARY_PATH: FAKES, GPUFL_ROCPROFILER_PATH: path.join(FAKES, "7"), FAKE_ROCP: script, FAKE_CODE: CODE, GPUFL_APP_NAME: name, ...(metrics ? { GPUFL_AMD_SMI_PATH: path.join(bin, "../fake/amd-7") } : {}) };
  try {
    const done = spawnSync(path.join(bin, "gpufl"), ["trace", ...options, "--output", path.join(folder, "logs"), "--", path.join(FAKES, "fake_hip"), String(LAUNCHES), "device=2"], { encoding: "utf8", env });
    if (done.status !== 0) throw new Error(`gpufl trace ended with ${done.status}: ${done.stderr}`);
    server.upload(key, path.join(folder, "logs"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const SESSIONS = [
  { name: "amd-reasons", script: "stochastic,sampled=1", options: ["-e", "PcSampling"] },
  { name: "amd-no-reasons", script: "", options: ["-e", "PcSampling"] },
  { name: "amd-counters", script: "", options: ["-e", "RangeProfiler", "--ranges", "kernels"], metrics: true },
];

const ask = (page, address) => page.evaluate(async (url) => (await fetch(`/api/v1/${url}`)).json(), address);
const open = async (page, address) => {
  await page.goto(origin + address);
  await rest(page);
};

/** Words that only NVIDIA uses. Names of options and of the log's records are not a vendor's words. */
const OTHERS = [/\bwarps?\b/i, /multiprocessor/i, /\bSMs?\b/, /\bCUDA\b/, /\bCUPTI\b/, /\bNVML\b/, /\bSASS\b/, /\bNVTX\b/, /\bPTX\b/, /\bNsight\b/i, /thread blocks?\b/i, /\bNVLink\b/i, /\bscheduler\b/i, /local memory/i, /\bcontext\b/i, /hardware slowdown/i, /[\d.]+ waves\b/i];

/** All tabs and the first kernel's page are whole, without a finding of axe, and in AMD's words. */
async function pages(page, made) {
  await open(page, `/sessions/${made.id}/insights?more=1`);
  const tabs = await page.locator("nav.tabs a").evaluateAll((all) => all.map((a) => new URL(a.href).pathname.split("/").at(-1)));
  check(tabs.length > 6, `${made.app}: views ${tabs}`);
  for (const tab of tabs) {
    await open(page, `/sessions/${made.id}/${tab}${tab === "insights" ? "?more=1" : ""}`);
    if (tab === "kernels") tabs.push(await page.locator("tbody td.lead a").first().evaluate((link) => new URL(link.href).pathname.split("/").slice(3).join("/")));
    await t.shots(page, `${made.app}-${tab.replace("/", "-")}`, { judged: true });
    const words = await page.locator("main").evaluate((main) => [main.innerText, ...[...main.querySelectorAll("[title], [aria-label]")].flatMap((one) => [one.title, one.getAttribute("aria-label")])].filter(Boolean).join("\n"));
    const leaked = tab === "raw" ? [] : OTHERS.flatMap((word) => words.split("\n").filter((line) => word.test(line)).slice(0, 2));
    check(leaked.length === 0, `${made.app}, ${tab}: NVIDIA's words: ${leaked.map((line) => line.slice(0, 160)).join(" | ")}`);
    check((await page.getByRole("alert").count()) === 0, `${made.app}, ${tab}: ${await page.getByRole("alert").allInnerTexts()}`);
  }
}

/** How often a kernel was sampled, by reason, as the server reports; "": without a reason. */
async function samplesOf(page, id, kernel) {
  const { samples } = await ask(page, `sessions/${id}/profile`);
  const sums = {};
  for (const one of samples.kernels.filter(({ symbol }) => symbol === kernel)) sums[one.reason ?? ""] = (sums[one.reason ?? ""] ?? 0) + one.samples;
  return sums;
}

const RELU = "_Z9fake_reluPfi";
const toKernel = async (page, id, name) => {
  await open(page, `/sessions/${id}/kernels`);
  await page.locator("tbody td.lead a").filter({ hasText: name }).first().click();
  await page.locator(".sass tbody tr").first().waitFor();
  await rest(page);
};

async function reasons(page, { "amd-reasons": made }) {
  const half = LAUNCHES / 2;
  const sums = await samplesOf(page, made.id, RELU);
  for (const [reason, each] of Object.entries(WAITING)) check(sums[reason] === half * each, `reasons: ${reason}: ${sums[reason]} of ${half * each} samples`);
  check(Object.values(sums).reduce((a, b) => a + b, 0) === half * A_LAUNCH, `reasons: samples ${JSON.stringify(sums)}`);
  await open(page, `/sessions/${made.id}/insights?more=1`);
  const card = page.locator(".finding").filter({ hasText: "waitcnt" }).filter({ hasText: "fake_relu" }).first();
  check(/1,?.?500 stalled samples|stalled samples/.test(await card.innerText()), `reasons: the finding: ${await card.innerText()}`);
  await open(page, `/sessions/${made.id}/kernels`);
  const listed = (await page.getByRole("region", { name: "Samples by kernel" }).locator("tbody tr").filter({ hasText: "fake_relu" }).innerText()).replace(/[\s\u202f]+/g, " ");
  check(listed.includes("21.1 %") || listed.includes("21 %"), `reasons: 4 of the 19 samples that have a reason are of wavefronts that issued: ${listed}`);
  check(!listed.includes("wave_issued"), `reasons: who issued waits for nothing: ${listed}`);
  await toKernel(page, made.id, "fake_relu");
  const shown = await page.locator("main").innerText();
  check(/s_waitcnt/.test(shown) && /kernels\.hip\.c/.test(shown), "reasons: ISA and source of the kernel");
  check(/waitcnt/.test(shown) && /barrier_wait/.test(shown) && /alu_dependency/.test(shown), "reasons: by AMD's names");
  check(/wavefront/i.test(shown) && /workgroup/i.test(shown) && /LDS/.test(shown), `reasons: AMD's words: ${shown.slice(0, 600)}`);
  const row = page.locator(".sass tbody tr").filter({ hasText: "s_waitcnt" }).first();
  check((await row.innerText()).replace(/\D+/g, " ").split(" ").includes(String(half * WAITING.waitcnt)) || (await row.innerHTML()).replace(/[\s\u202f,]/g, "").includes(String(half * WAITING.waitcnt)), `reasons: samples of s_waitcnt: ${await row.innerText()}`);
  await pages(page, made);
}

/** The driver's method does not say why: nothing is called stalled, and no reason is made up. */
async function noReasons(page, { "amd-no-reasons": made }) {
  const sums = await samplesOf(page, made.id, RELU);
  check(JSON.stringify(sums) === JSON.stringify({ "": (LAUNCHES / 2) * A_LAUNCH }), `no reasons: ${JSON.stringify(sums)}`);
  await open(page, `/sessions/${made.id}/insights?more=1`);
  check((await page.locator(".finding", { hasText: "Stalled" }).count()) === 0, "no reasons: no finding about stalls");
  await toKernel(page, made.id, "fake_relu");
  const why = await page.locator(".stalls").innerText();
  check(/^not known\s+100\s?%$/.test(why.trim()), `no reasons: why wavefronts wait: ${why}`);
  await open(page, `/sessions/${made.id}/kernels`);
  const rows = await page.getByRole("region", { name: "Samples by kernel" }).locator("tbody tr").evaluateAll((all) => all.map((row) => row.innerText.replace(/\s+/g, " ")));
  check(rows.length === 2 && rows.every((row) => !/\b0(\.0)? ?%/.test(row)), `no reasons: unknown is no 0: ${rows.join(" | ")}`);
  await pages(page, made);
}

async function counters(page, { "amd-counters": made }) {
  await open(page, `/sessions/${made.id}/kernels`);
  await page.getByText("Hardware counters").first().waitFor();
  await toKernel(page, made.id, "fake_gemm");
  const events = await page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}/export.trace.json`)).json()).traceEvents.map(({ name }) => name), made.id);
  check(events.includes("device synchronization") && !events.some((name) => /context/.test(name)), `counters: names in the export: ${[...new Set(events)].join(", ")}`);
  await open(page, `/sessions/${made.id}/system`);
  await page.getByText("AMD's driver reports the part of each sample's time").first().waitFor();
  await pages(page, made);
}

try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await firstAccount(page, server);
  const key = await alertAndKey(page);
  for (const session of SESSIONS) record(key, session);
  await until(page, async (least) => (await (await fetch("/api/v1/sessions")).json()).rows.filter((row) => row.analyzed).length === least, SESSIONS.length);
  const { rows } = await ask(page, "sessions");
  const made = Object.fromEntries(rows.map((row) => [row.app, row]));
  check(SESSIONS.every(({ name }) => made[name]), `sessions: ${Object.keys(made)}`);
  for (const { app, gpus } of rows) check(gpus.length > 0 && gpus.every(({ vendor }) => vendor === "amd"), `${app}: GPUs ${JSON.stringify(gpus)}`);
  await t.walk(page, { reasons, noReasons, counters }, made);
} catch (error) {
  t.wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("AMD");
