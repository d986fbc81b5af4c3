// steps_views.mjs - views of a session and of many that need sessions of their own: memory, trends,
// kernels in groups, a host.
import { complete, send, session } from "./sessions.mjs";

/** A key that may send, as the settings would make it. */
export const keyOf = (page) =>
  page.evaluate(async () => {
    const me = await (await fetch("/api/v1/auth/me")).json();
    const answer = await fetch("/api/v1/keys", { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf }, body: JSON.stringify({ name: "views", scopes: "ingest" }) });
    return (await answer.json()).key;
  });

/** Until the server has these rows in its columns. */
const loaded = (page, made, record, rows) =>
  page.waitForFunction(
    async ([id, name, wanted]) => {
      const answer = await (await fetch(`/api/v1/sessions/${id}/counts`)).json();
      return answer.data !== undefined && answer.data.rows[answer.data.record.indexOf(name)] >= wanted;
    },
    [made.id, record, rows],
    { timeout: 30_000 },
  );

const MIB = 2 ** 20;

export async function memory({ page, server, see, check, picture, data }) {
  const key = await keyOf(page);
  const made = session("views-memory", "holds memory");
  const kernels = made.kernels([[0, 4e8, 1, 0], [5e8, 4e8, 1, 0]], { streams: 1, names: ["_Z1av"] });
  const held = made.allocations([[1e8, 64 * MIB, 0x1000], [2e8, 128 * MIB, 0x2000], [3e8, -128 * MIB, 0x2000], [7e8, 32 * MIB, 0x3000]]);
  await send(server.origin, key, made, "device", kernels + held);
  await send(server.origin, key, made, "system", made.end(1e9));
  await complete(server.origin, key, made);
  server.upload(key, data);
  await loaded(page, made, "alloc", 4);
  await page.goto(`${server.origin}/sessions/${made.id}/memory`);
  await page.locator(".uplot canvas").first().waitFor();
  const numbers = await page.locator(".panel .stats").last().innerText();
  check(numbers.includes("192 MiB") && numbers.includes("96.0 MiB"), `memory: peak and what is held at the end: ${numbers.replaceAll("\n", " ")}`);
  await see(page, "No copies were recorded");
  await picture(page, "memory-allocations");

  // A range that is dragged is in the address, and goes along to the timeline, where allocations have a row.
  await page.locator(".u-over").first().scrollIntoViewIfNeeded();
  const plot = await page.locator(".u-over").first().boundingBox();
  await page.mouse.move(plot.x + plot.width * 0.25, plot.y + 60);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 62, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  const [from, to] = new URL(page.url()).searchParams.get("at").split("-").map(Number);
  check(from > 2e8 && to < 6e8, `memory: the dragged range (${from} to ${to})`);
  await page.mouse.move(plot.x + plot.width * 0.5, plot.y + 60);
  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  await page.waitForFunction(() => window.gpuflTimeline?.shown.rests > 0);
  check(await page.evaluate(([a, b]) => Math.abs(window.gpuflTimeline.scene.view.from - a) < 2 && Math.abs(window.gpuflTimeline.scene.view.to - b) < 2, [from, to]), "memory: the timeline shows the same part");
  const pointed = await page.evaluate(() => window.gpuflTimeline.scene.pointed);
  check(pointed > from && pointed < to, `memory: the cross-hair is on the timeline (${pointed})`);
  await page.waitForFunction(() => window.gpuflTimeline.scene.tracks.some((track) => track.key === "d1.allocated" && window.gpuflTimeline.scene.points(track).some(({ piece }) => piece.points?.at.length)));
  await picture(page, "timeline-allocations", { wide: false });
  await page.getByRole("link", { name: "Memory", exact: true }).click();
  await page.getByRole("button", { name: "Whole session" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));

  // The recorded session's copies, and its trace for Perfetto.
  const h200 = "93a55c5d-90e8-4530-af02-a0335ad05a21";
  await page.goto(`${server.origin}/sessions/${h200}/memory`);
  const row = page.getByRole("row").filter({ hasText: "Host to device" }).first();
  await row.waitFor();
  check((await row.innerText()).replaceAll("\u202f", "").split(/\s+/).join(" ").includes("pinned device 1000 500 MiB"), "memory: copies by kind");
  await picture(page, "memory");
  await page.goto(`${server.origin}/sessions/${h200}/raw`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download Chrome trace" }).click()]);
  check((await file.failure()) === null && file.suggestedFilename().endsWith(".trace.json"), "raw: the trace is downloaded");
}
