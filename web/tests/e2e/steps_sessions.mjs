// steps_sessions.mjs - the fleet, and actions on sessions: choosing, comparing, sharing, deleting.
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { lineOf } from "./sessions.mjs";

async function send(page, server, see, folder, ended) {
  await page.goto(`${server.origin}/upload`);
  await page.locator("[data-folder]").setInputFiles(folder);
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await page.getByRole("checkbox", { name: /The programs have ended/ }).setChecked(ended);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await see(page, "completely sent");
}

function sim(bin, folder, name, ...options) {
  const out = path.join(folder, name);
  const made = spawnSync(path.join(bin, "gpufl"), ["sim", "--name", name, "-o", out, ...options], { encoding: "utf8" });
  if (made.status !== 0) throw new Error(`gpufl sim: ${made.stderr}`);
  return out;
}

export async function fleet({ page, server, see, check, picture, bin, MARKUP }) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-fleet-"));
  try {
    const lively = sim(bin, folder, "lively", "--rate", "5000", "--kernels", "0", "--duration", "2s", "--devices", "6", "--threads", "2", "--sample", "100");
    await page.goto(server.origin);
    await send(page, server, see, lively, false);
    await page.getByRole("link", { name: "GPUFlight" }).click();
    await page.locator(".gpu-card").nth(5).waitFor(); // a card for each GPU
    await page.locator(".gpu-card .health").filter({ hasNotText: "silent" }).first().waitFor(); // a GPU with new samples is not silent
    await picture(page, "fleet");
    await page.getByRole("button", { name: "Table" }).click();
    await page.locator(".table tbody tr").first().waitFor();
    check(new URL(page.url()).searchParams.get("view") === "table", "fleet: the view is in the address");
    await page.getByRole("button", { name: "Power" }).click();
    await picture(page, "fleet-table");
    await page.getByRole("button", { name: "Cards" }).click();
    // The history has presets, other sums, and a range that is dragged over the days.
    await page.getByRole("button", { name: "90 days" }).click();
    const box = await page.locator("svg.days").boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 4 });
    await page.mouse.up();
    const { searchParams } = new URL(page.url());
    check(searchParams.get("from") !== null && searchParams.get("to") !== null, "fleet: the dragged range is in the address");
    await page.getByRole("button", { name: "By application" }).click();
    await page.locator(".days-part").first().waitFor();
    await page.locator("svg.days").scrollIntoViewIfNeeded();
    await picture(page, "fleet-history");
    check((await page.locator("img").count()) === 0, MARKUP);
    await page.getByRole("button", { name: /^Forget/ }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const waitRow = (page, name) => page.getByRole("link", { name, exact: true }).first().waitFor();

/** Filters are in the address; columns can be chosen. */
async function filters({ page, server, see, check, picture }) {
  await page.goto(`${server.origin}/sessions`);
  await waitRow(page, "after");
  await page.locator(".menu-plain summary").click();
  await page.getByRole("checkbox", { name: "User" }).check();
  await page.getByRole("checkbox", { name: "Engine" }).uncheck();
  await picture(page, "sessions-columns");
  await page.locator(".menu-plain summary").click();
  check((await page.getByRole("columnheader", { name: "User" }).count()) === 1 && (await page.getByRole("columnheader", { name: "Engine" }).count()) === 0, "sessions: columns as chosen");
  await page.getByRole("combobox", { name: "Started" }).selectOption("3600");
  await page.getByRole("searchbox", { name: "Label" }).fill("team=none");
  await page.waitForURL((address) => address.searchParams.get("label") === "team=none");
  await see(page, "No session matches");
  await page.goto(`${server.origin}/sessions?sort=app`);
  await waitRow(page, "after");
}

/** Two sessions are compared. */
async function compared({ page, see, picture }) {
  await page.getByRole("checkbox", { name: "Choose before" }).check();
  await page.getByRole("checkbox", { name: "Choose after" }).check();
  await picture(page, "sessions-chosen");
  await page.getByRole("link", { name: "Compare", exact: true }).last().click();
  await see(page, "Runs as a whole");
  await page.locator(".table tbody tr").first().waitFor();
  await picture(page, "compare");
  await page.getByRole("button", { name: "Swap sides" }).click();
  await page.locator(".table tbody tr").first().waitFor();
  await page.getByRole("searchbox", { name: /Before/ }).fill("train_loop");
  await page.getByRole("button", { name: /^train_loop/ }).first().click();
  await page.waitForURL(/a=[^&]*(,|%2C)/);
  await page.getByRole("link", { name: "Compare", exact: true }).first().click();
  await see(page, "Choose sessions for both sides");
  await picture(page, "compare-none", { wide: false });
}

/** A link shows its session, and nothing else. Returns the session and the page of the guest. */
async function shared({ page, visitor, server, see, check, picture, expected }) {
  await page.goto(`${server.origin}/sessions?text=train_loop`);
  await page.getByRole("link", { name: "train_loop" }).first().click();
  await see(page, "Findings, by what");
  const session = page.url().split("/")[4];
  await page.locator(".captured").waitFor();
  check((await page.locator(".captured").innerText()).includes("complete"), "session: the ledger is in the header");
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Make the link" }).click();
  const link = await page.locator("[data-link]").innerText();
  await picture(page, "share", { wide: false });
  await page.keyboard.press("Escape");
  const guest = await visitor();
  await guest.goto(link);
  await see(guest, "Findings, by what");
  check(!guest.url().includes("gpfs_"), "share: the token is not in the address");
  check((await guest.getByRole("button", { name: "Delete" }).count()) === 0, "share: nothing can be deleted");
  await picture(guest, "shared");
  for (const [tab, text] of [["kernels", "matmul"], ["export", "Download"], ["waits", "train_loop.cu:235"]]) {
    await guest.getByRole("link", { name: tab, exact: false }).filter({ visible: true }).first().click();
    await see(guest, text);
  }
  await guest.goto(`${server.origin}/sessions/${session}/raw`);
  const [download] = await Promise.all([guest.waitForEvent("download"), guest.getByRole("button", { name: "Download NDJSON" }).click()]);
  check((await download.failure()) === null, "share: NDJSON is downloaded with the link's token");
  expected.add(403);
  await guest.goto(`${server.origin}/sessions`);
  await guest.getByRole("alert").waitFor();
  return { session, guest, link };
}

/** The page Raw has every download for an owner. */
async function downloads({ page, server, see, check, picture, session }) {
  await page.goto(`${server.origin}/sessions/${session}/raw`);
  await see(page, "Parquet");
  await picture(page, "raw-exports");
  for (const name of ["Perfetto and Chrome", "NDJSON", "Parquet kernel", "Report", "pprof", "speedscope", "Collapsed stacks"]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: `Download ${name}`, exact: true }).click()]);
    check((await file.failure()) === null, `raw: ${name} is downloaded`);
  }
}

/** The link is revoked: its guest sees that it has ended. */
async function revoked({ page, server, see, picture, guest, link }) {
  await page.goto(`${server.origin}/settings/links`);
  await see(page, "open");
  await picture(page, "settings-links");
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await see(page, "revoked");
  await guest.goto(link);
  await see(guest, "This link has ended");
  await guest.context().close();
}

/** A session is deleted for good after a question; its address says so. */
async function deleted({ page, server, picture }) {
  await page.goto(`${server.origin}/sessions?text=before`);
  await page.getByRole("link", { name: "before" }).first().click();
  await page.waitForURL(/sessions\/[0-9a-f-]{36}/);
  const gone = page.url();
  await page.getByRole("button", { name: "Delete" }).click();
  await picture(page, "delete", { wide: false });
  await page.getByRole("dialog").getByRole("button", { name: "Delete for good" }).click();
  await page.waitForURL(/\/sessions(\?|$)/);
  await page.goto(gone);
  await page.getByRole("alert").waitFor();
}

export async function sessions(world) {
  const { page, server, see, bin, data } = world;
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-sessions-"));
  try {
    await page.goto(server.origin);
    await send(page, server, see, sim(bin, folder, "before", "--kernels", "5000", "--scopes", "--seed", "7"), true);
    await send(page, server, see, sim(bin, folder, "after", "--kernels", "6000", "--scopes", "--seed", "8"), true);
    await send(page, server, see, data, true);
    await filters(world);
    await compared(world);
    const made = await shared(world);
    await downloads({ ...world, ...made });
    await revoked({ ...world, ...made });
    await deleted(world);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Adds the PTX of one of the kernels to the log, as gpufl trace keeps it. */
function keepPtx(folder) {
  const log = path.join(folder, readdirSync(folder)[0], "code.log");
  const name = /_ZN\w*flash_backward_dq\w*/.exec(readFileSync(log, "utf8"))[0];
  const text = `.visible .entry ${name}(\n.param .u64 in\n)\n{\nld.global.f32 %f1, [%rd1];\nret;\n}`;
  appendFileSync(log, lineOf({ type: "names", rows: 2, id: [9001, 9002], text: [`${name}.ptx`, text] }));
  appendFileSync(log, lineOf({ type: "source", rows: 1, path: 9001, hash: "1", size: text.length, offset: 0, text: 9002 }));
}

/** The page of a sampled kernel says what limits it, why its warps wait, and where. */
export async function kernel({ page, server, see, check, picture, bin }) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-kernel-"));
  try {
    await page.goto(server.origin);
    const made = sim(bin, folder, "deep", "--kernels", "20000", "--scopes", "--engine", "Deep", "--plant", "stall,divergence,uncoalesced,conflicts");
    keepPtx(made);
    await send(page, server, see, made, true);
    await page.getByRole("link", { name: "Open" }).click();
    await see(page, "Findings, by what");
    const session = page.url().split("/")[4];
    const open = async (name) => {
      await page.goto(`${server.origin}/sessions/${session}/kernels?search=${name}`);
      await page.getByRole("link", { name }).first().click();
      await page.locator(".sass tbody td").first().waitFor();
    };
    await open("flash_backward_dq");
    check((await page.locator(".stalls dt").first().innerText()) === "long_scoreboard", "kernel: the planted stall comes first");
    await page.locator(".limit-here").first().waitFor(); // what limits the occupancy is marked
    const heads = await page.locator(".code-head").allInnerTexts();
    check(/train\.cu:\d+/.test(heads[0] ?? ""), `kernel: the hottest line comes first: ${heads[0]}`);
    await picture(page, "kernel-deep");
    await page.locator(".code").scrollIntoViewIfNeeded();
    await picture(page, "kernel-code");
    await page.getByRole("button", { name: "In the file's order" }).click();
    check(new URL(page.url()).searchParams.get("code") === "file", "kernel: the order is in the address");
    await page.getByRole("button", { name: "PTX", exact: true }).click();
    await page.waitForURL(/code=ptx/);
    const ptx = await page.getByRole("region", { name: "PTX of this kernel" }).innerText();
    check(ptx.includes("ld.global.f32 %f1, [%rd1];"), `kernel: its PTX is shown: ${ptx}`);
    await picture(page, "kernel-ptx");
    // The other planted faults are marked at their instructions.
    for (const [name, column] of [["fused_dropout", 6], ["scatter_add", 7], ["transpose", 8]]) {
      await open(name);
      check((await page.getByRole("button", { name: "PTX", exact: true }).count()) === 0, `kernel: nothing is said of PTX that ${name} has not`);
      check((await page.locator(`.sass td:nth-child(${column}).wrong`).count()) > 0, `kernel: ${name}'s fault is marked`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function alerts({ page, server, see, check, picture, MARKUP }) {
  await page.goto(`${server.origin}/alerts`);
  await see(page, "No rules yet");
  await page.getByRole("button", { name: "Make a rule" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill(MARKUP);
  await page.getByRole("combobox", { name: /^Metric/ }).selectOption("host.cpu");
  await page.getByLabel("Threshold").fill("x");
  check(await page.getByRole("button", { name: "Save" }).isDisabled(), "alerts: a rule needs a number");
  await page.getByLabel("Threshold").fill("99.5");
  await page.getByLabel("Deliver to").fill("http://10.255.255.1:9/hook");
  await picture(page, "alerts-rule");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Host CPU > 99.5 %");
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "alerts: a rule's name stays text");
  await page.getByRole("button", { name: /^Deliver a test/ }).click();
  await see(page, "A test is under way");
  await page.getByRole("region", { name: "Deliveries" }).getByText("hook").waitFor();
  await picture(page, "alerts");
  await page.getByRole("button", { name: /^Change/ }).click();
  await page.getByRole("checkbox", { name: "Enabled" }).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "off", exact: true }).waitFor();
  await page.getByRole("button", { name: /^Delete/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await see(page, "No rules yet");
}
