// steps_profile.mjs - counts of engines other than Trace: hardware counters of ranges and kernels, counted
// instructions, samples by scope; managed memory, which only the report has; the engine that was
// asked for and the one that ran, messages and windows.
import { BEGIN, complete, send, session, simulate } from "./sessions.mjs";
import { keyOf } from "./steps_views.mjs";
import { until } from "./harness.mjs";

const GEMM = "_Z4gemmPf";
const BUSY = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed";
const READ = "dram__bytes_read.sum.per_second";
const OWN = "smsp__cycles_stalled.sum";

/** Waits until the server has analysed the session. */
export const analysed = (page, id) => until(page, async (wanted) => (await (await fetch(`/api/v1/sessions/${wanted}/ledger`)).json()).final === true, id);
const plain = (text) => text.replaceAll("\u202f", "").replace(/\s+/g, " ");

async function ranged({ page, server, see, check, picture }, key) {
  const made = session("profile-ranges", "counts ranges", { host: "made", gpu: "GPU-1", real: 1_735_689_600_000_000_000n, engine: "RangeProfiler" });
  const of = (metric, values, range, kernel = null) => values.map((value) => [metric, value, range, kernel]);
  const counted = made.ranges([...of(BUSY, [20_000, 60_000], "epoch"), ...of(READ, [2_048_000, 2_048_000], "epoch"), ...of(BUSY, [90_500], "epoch", 0), ...of(OWN, [7_000], "epoch", 0)]);
  await send(server.origin, key, made, "device", made.kernels([[0, 4e8, 1, 0], [5e8, 1e8, 1, 1]], { streams: 1, names: [GEMM, "_Z4reluPf"] }) + counted);
  await send(server.origin, key, made, "system", made.end(1e9));
  await complete(server.origin, key, made);
  await analysed(page, made.id);
  await page.goto(`${server.origin}/sessions/${made.id}/kernels`);
  const table = page.getByRole("region", { name: "Hardware counters" }).and(page.locator(".table"));
  await table.getByRole("link", { name: /gemm/ }).waitFor();
  const rows = (await table.locator("tbody tr").allInnerTexts()).map(plain);
  check(rows.some((row) => row === "epoch 2 40 % 2.00 KiB/s –"), `counters: means of a scope with their units: ${rows.join(" | ")}`);
  check(rows.some((row) => /^gemm.* in epoch 1 90.5 % – 7$/.test(row)), `counters: a kernel in its scope: ${rows.join(" | ")}`);
  await page.getByRole("button", { name: "Most", exact: true }).click();
  await table.getByText("60 %").waitFor();
  check(new URL(page.url()).searchParams.get("figure") === "most", "counters: which figure is in the address");
  await table.getByRole("button", { name: "SMs active" }).click();
  check((await table.locator("tbody tr").first().innerText()).includes("gemm"), "counters: sorted by a metric");
  await page.getByText("What the columns are").click();
  await see(page, BUSY);
  await picture(page, "counters");
  await table.getByRole("link", { name: /gemm/ }).click();
  await see(page, "The values are of this kernel's launches");
  const kernel = await page.getByRole("region", { name: "Hardware counters" }).innerText();
  check(plain(kernel).includes("epoch 1 90.5 % 90.5 % 90.5 %"), `counters: on the kernel's page: ${plain(kernel)}`);
  await picture(page, "counters-kernel", { wide: false });
}

async function deep({ page, server, check, picture, bin }, key) {
  simulate(bin, ["--kernels", "20000", "--scopes", "--engine", "Deep", "--plant", "stall,divergence,uncoalesced,conflicts", "--name", "counts-deep"], (folder) => server.upload(key, folder));
  await page.goto(`${server.origin}/sessions?text=counts-deep`);
  await page.getByRole("link", { name: "counts-deep" }).first().click();
  await page.waitForURL(/sessions\/[^/?]+\//);
  const id = page.url().split("/")[4];
  await analysed(page, id);
  const table = page.getByRole("region", { name: "Counted instructions" }).and(page.locator(".table"));
  const first = table.locator("tbody tr").first();
  // The planted fault comes first if its column is sorted; the order is in the address.
  for (const [order, kernel, figure] of [["-threads", "fused_dropout", /8\d %/], ["-needed", "scatter_add", /22 %/], ["conflicts", "transpose", /16\.\d/]]) {
    await page.goto(`${server.origin}/sessions/${id}/kernels?executed=${order}`);
    await first.waitFor();
    const rowText = plain(await first.innerText());
    check(rowText.includes(kernel) && figure.test(rowText), `instructions by ${order}: ${rowText}`);
  }
  check((await first.locator(".wrong").count()) === 1, "instructions: bank conflicts stand out");
  await page.getByRole("button", { name: "By kernel and scope" }).click();
  await table.getByRole("columnheader", { name: "Scope" }).waitFor();
  await table.scrollIntoViewIfNeeded();
  await picture(page, "instructions");
  const scopes = page.getByRole("region", { name: "Samples by scope" }).and(page.locator(".table"));
  const epoch = plain(await scopes.locator("tbody tr").first().innerText());
  check(/^epoch \d+ % .*long_scoreboard \d+ %/.test(epoch), `samples by scope: ${epoch}`);
  await scopes.scrollIntoViewIfNeeded();
  await picture(page, "samples-scopes", { wide: false });
  await first.getByRole("link").click();
  await page.getByRole("heading", { name: "Counted instructions" }).waitFor();
  await page.getByRole("heading", { name: "Counted instructions" }).scrollIntoViewIfNeeded();
  await picture(page, "instructions-kernel", { wide: false });
}

/** Kernels that were sampled and not recorded, as in production, have shares and lines. */
async function sampled({ page, server, see, check, picture, bin }, key) {
  simulate(bin, ["--kernels", "20000", "--engine", "PcSampling", "--plant", "stall", "--name", "sampled-none"], (folder) => server.upload(key, folder), { GPUFL_PC_KERNEL_COLLECT: "none" });
  await page.goto(`${server.origin}/sessions?text=sampled-none`);
  await page.getByRole("link", { name: "sampled-none" }).first().click();
  await page.waitForURL(/sessions\/[^/?]+\//);
  const id = page.url().split("/")[4];
  await analysed(page, id);
  await page.goto(`${server.origin}/sessions/${id}/kernels`);
  await see(page, "Kernels were sampled and not recorded one by one");
  const table = page.getByRole("region", { name: "Samples by kernel" }).and(page.locator(".table"));
  const row = table.locator("tbody tr").filter({ hasText: "flash_backward_dq" });
  await row.waitFor();
  const rowText = plain(await row.innerText());
  check(/flash_backward_dq.* \d+(\.\d)? % ± 0\.\d .*long_scoreboard [67]\d %/.test(rowText), `samples by kernel: ${rowText}`);
  await row.getByRole("button", { name: /Lines/ }).click();
  const code = page.getByRole("region", { name: "Code" }).first();
  await code.waitFor();
  await see(page, "train.cu:24");
  check(new URL(page.url()).searchParams.get("lines")?.includes("flash_backward_dq") === true, "samples by kernel: whose lines is in the address");
  await picture(page, "samples-kernels");
}

export async function counters(world) {
  await world.page.goto(world.server.origin);
  const key = await keyOf(world.page);
  await ranged(world, key);
  await deep(world, key);
  await sampled(world, key);
}

export async function managed({ page, server, see, check, picture }) {
  await page.goto(server.origin);
  const key = await keyOf(page);
  const made = session("memory-managed", "managed alone");
  await send(server.origin, key, made, "device", made.kernels([[0, 4e8, 1, 0]], { streams: 1, names: [GEMM] }) + made.managed([[1e6, 1e6, 1, 2 * 2 ** 20, null], [3e6, 1e6, 1, 2 * 2 ** 20, null], [5e6, 2e6, 2, 2 ** 20, null], [7e6, null, 3, null, 12]]));
  await send(server.origin, key, made, "system", made.end(1e9));
  await complete(server.origin, key, made);
  await analysed(page, made.id);
  await page.goto(`${server.origin}/sessions/${made.id}/memory`);
  await see(page, "Migrated to devices");
  const rows = (await page.getByRole("region", { name: "Managed memory" }).locator("tbody tr").allInnerTexts()).map(plain);
  check(rows.join(" | ") === "Migrated to devices 2 4.00 MiB 2.00 MiB – 2.00 ms 1.95 GiB/s | Migrated to the host 1 1.00 MiB 1.00 MiB – 2.00 ms 500 MiB/s | Page faults of the host 1 – – 12 – –", `memory: managed: ${rows.join(" | ")}`);
  await picture(page, "memory-managed");
}

export async function asked({ page, server, see, check, picture }) {
  await page.goto(server.origin);
  const key = await keyOf(page);
  const made = session("asked-and-ran", "asked and ran", { host: "made", gpu: "GPU-1", real: 1_735_689_600_000_000_000n, engine: "Deep" });
  const names = ["Deep", "ran_as", "PcSampling", "why", "another tool holds the counters", "period_cycles", "4096", "kernel_sample_rate", "250", "environment", "flush_ms", "100", "default", "code.a", "The log's limit is near.", "code.b", "Counters are not available.", "code.c", "Sampling began late.", "trace", "window"];
  const of = (name) => names.indexOf(name) + 501;
  const more = [
    { type: "setting", rows: 3, time: [BEGIN, 0, 0], device: 0, engine: [of("Deep"), of("Deep"), of("PcSampling")], name: [of("ran_as"), of("why"), of("period_cycles")], value: [of("PcSampling"), of("another tool holds the counters"), of("4096")] },
    { type: "option", rows: 2, name: [of("kernel_sample_rate"), of("flush_ms")], value: [of("250"), of("100")], source: [of("environment"), of("default")] },
    { type: "message", rows: 4, time: [BEGIN + 1, 1, 1, 1], severity: [1, 2, 2, 3], code: [of("code.c"), of("code.a"), of("code.a"), of("code.b")], text: [of("Sampling began late."), of("The log's limit is near."), of("The log's limit is near."), of("Counters are not available.")] },
    { type: "window", rows: 4, time: [BEGIN + 1e8, 2e8, 1e8, 1e8], name: of("window"), phase: [0, 1, 0, 1], capture: 1 },
    { type: "ledger", rows: 1, time: BEGIN + 9e8, final: 1, launches: 1, graph_launches: 0, graph_kernels: 0, kernels_recorded: 1, kernels_written: 1 },
  ];
  await send(server.origin, key, made, "device", made.kernels([[1.5e8, 1e8, 1, 0]], { streams: 1, names: [GEMM] }));
  await send(server.origin, key, made, "system", made.end(1e9, { names, more }));
  await complete(server.origin, key, made);
  await analysed(page, made.id);
  await page.goto(`${server.origin}/sessions/${made.id}/insights`);
  await see(page, "2 opened, 300 ms in all, 30 % of the run. Outside of them nothing was recorded");
  check((await page.locator(".captured").innerText()).includes("1 error, 1 warning"), `captured: ${await page.locator(".captured").innerText()}`);
  await picture(page, "asked-windows");
  await page.locator(".captured").click();
  await see(page, "Deep was asked for, PcSampling ran instead");
  const said = plain(await page.locator("main").innerText());
  for (const words of ["ERROR: Counters are not available.", "WARNING: The log's limit is near. (2 times)", "another tool holds the counters", "period_cycles 4096", "kernel_sample_rate 250 environment", "1 option at its default"]) check(said.includes(words), `raw: ${words}`);
  check(!(await page.getByText("Sampling began late.").isVisible()), "raw: notes are folded");
  await page.getByText("1 note", { exact: true }).click();
  await see(page, "Sampling began late.");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("notes") === "1");
  await picture(page, "asked-raw");
  await page.reload();
  await see(page, "Sampling began late.");
}
