// server.mjs - a real gpufl-server for the tests: started on a free port with an empty store, its
// first account made as a person would, sessions sent with the real `gpufl upload`.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export const ACCOUNT = { email: "owner@example.org", name: "Owner", password: "a long pass phrase", workspace_name: "Lab" };

/** prepare(folder) may write into the server's data, `data` in that folder, before the server starts. */
export async function startServer(bin, prepare = () => undefined) {
  const folder = mkdtempSync(path.join(tmpdir(), "gpufl-web-"));
  prepare(folder);
  // The log is a file for people to read after a failure, and not part of the test's own output.
  const log = process.env.GPUFL_WEB_LOG ?? path.join(folder, "log");
  let said = "";
  let child;
  let gone;
  async function start(listen) {
    said = "";
    child = spawn(path.join(bin, "gpufl-server"), ["--data", path.join(folder, "data"), "--listen", listen, "--webhooks-allow", "10.255.255.1:9"], { stdio: ["ignore", "pipe", openSync(log, "a")] });
    const address = await new Promise((resolve, reject) => {
      child.stdout.on("data", (piece) => {
        said += piece;
        const found = /listening on (\S+)/.exec(said);
        if (found) resolve(found[1]);
      });
      child.once("exit", (code) => reject(new Error(`gpufl-server ended with ${code}: ${said}`)));
    });
    gone = new Promise((resolve) => child.once("exit", resolve));
    return address;
  }
  const origin = await start("127.0.0.1:0");

  return {
    origin,
    /** Kills the server, as a power cut would; `again` starts it at the same address with the same data. */
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
    again: () => start(new URL(origin).host),
    /** Waits until the server's output matches; returns the pattern's first group. */
    async printed(pattern) {
      for (;;) {
        const found = pattern.exec(said);
        if (found) return found[1];
        await new Promise((resolve) => child.stdout.once("data", resolve));
      }
    },
    upload(key, from) {
      const keyFile = path.join(folder, "key");
      writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
      const done = spawnSync(path.join(bin, "gpufl"), ["upload", "--server", origin, "--api-key-file", keyFile, from], { encoding: "utf8" });
      if (done.status !== 0) throw new Error(`gpufl upload ended with ${done.status}: ${done.stdout}${done.stderr}`);
    },
    async stop() {
      child.kill("SIGTERM");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes the owner's account with the link that the server printed. */
export async function firstAccount(page, server) {
  await page.goto(await server.printed(/first account at (\S+)/));
  for (const [name, value] of Object.entries(ACCOUNT)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByText("No sessions yet").waitFor();
}

/** Makes an alert that always fires and a key to send sessions with; returns the key. */
export const alertAndKey = (page) =>
  page.evaluate(async () => {
    const { csrf } = await (await fetch("/api/v1/auth/me")).json();
    const post = (path, body) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: JSON.stringify(body) });
    await post("/api/v1/alerts", { name: "hot", kind: "metric", subject: "host.cpu", threshold: 1 });
    return (await (await post("/api/v1/keys", { name: "test", scopes: "ingest" })).json()).key;
  });
