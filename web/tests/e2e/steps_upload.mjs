// steps_upload.mjs - sessions from this browser: a folder chosen and a folder dropped, interrupted and continued.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { until } from "./harness.mjs";

/** A folder without a log: the page says so, and sends nothing. */
async function nothing({ page, folder, see, picture }) {
  const empty = path.join(folder, "nothing");
  spawnSync("mkdir", [empty]);
  writeFileSync(path.join(empty, "notes.txt"), "hello");
  await page.locator("[data-folder]").setInputFiles(empty);
  await see(page, "There is no session in this folder");
  await picture(page, "upload-nothing", { wide: false });
}

/** The page names parts that browsers cannot unpack, and says how to send them. */
async function packed({ page, folder, picture }) {
  const zst = path.join(folder, "zst");
  spawnSync("mkdir", [zst]);
  writeFileSync(path.join(zst, "device.1.log.zst"), "x");
  await page.locator("[data-folder]").setInputFiles(zst);
  await page.getByRole("alert").filter({ hasText: "1 part is packed with zstd and is left out" }).getByText("device.1.log.zst").waitFor();
  await picture(page, "upload-zst", { wide: false });
}

/** The third body gets no answer: the upload continues after what was sent. */
async function interrupted({ page, folder, see, picture, wrong }) {
  let bodies = 0;
  await page.route("**/api/v1/events/stream*", (route) => (++bodies === 3 ? route.abort() : route.continue()));
  await page.locator("[data-folder]").setInputFiles(path.join(folder, "run"));
  await see(page, "dropped");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("alert").filter({ visible: true }).waitFor();
  await see(page, "The server does not answer");
  for (let at = wrong.length - 1; at >= 0; at--) if (/ERR_FAILED/.test(wrong[at])) wrong.splice(at, 1); // the browser's message about it
  await picture(page, "upload-failed");
  await page.unroute("**/api/v1/events/stream*");
  await page.getByRole("button", { name: "Go on" }).click();
  await see(page, "completely sent");
  await picture(page, "upload-done");
}

/** A folder of sessions, dropped as from a file manager. */
async function dropped({ page, data, see, check }) {
  await page.getByRole("button", { name: "Clear the list" }).click();
  const box = await page.locator(".drop").boundingBox();
  const browser = await page.context().newCDPSession(page);
  const at = { x: box.x + 20, y: box.y + 20, data: { items: [], files: [path.resolve(data)], dragOperationsMask: 1 } };
  for (const type of ["dragEnter", "dragOver", "drop"]) await browser.send("Input.dispatchDragEvent", { type, ...at });
  await see(page, "train_loop");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await see(page, "completely sent");
  await page.getByRole("link", { name: "Open" }).click();
  await see(page, "Findings, by what");
  const functions = await page.evaluate(async (at) => (await (await fetch(`/api/v1/sessions/${at}/findings`)).json()).rows.map((row) => row.function), page.url().split("/")[4]);
  check(functions.some((name) => name.includes("(")) && !functions.some((name) => name.startsWith("_Z")), `findings: functions are demangled: ${functions.join("; ")}`);
}

export async function upload(world) {
  const { page, server, see, check, picture, bin } = world;
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-upload-"));
  try {
    const made = spawnSync(path.join(bin, "gpufl"), ["sim", "--kernels", "400000", "--streams", "4", "--name", "dropped", "-o", path.join(folder, "run")], { encoding: "utf8" });
    check(made.status === 0, `gpufl sim: ${made.stderr}`);
    await page.goto(`${server.origin}/upload`);
    await see(page, "Drop a folder here");
    await picture(page, "upload");
    const here = { ...world, folder };
    await nothing(here);
    await packed(here);
    await interrupted(here);
    await dropped(here);
    await page.goto(`${server.origin}/sessions?text=dropped`);
    await page.getByRole("link", { name: "dropped" }).first().click();
    await page.waitForURL(/sessions\/[0-9a-f-]{36}/);
    const id = page.url().split("/")[4];
    await until(page, async (session) => (await (await fetch(`/api/v1/sessions/${session}`)).json()).kernels === 400000, id);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
