// steps_range.mjs - the flame graphs of a range (sourced.mjs): each has all of the range, as the server's rows add up.

/** GPU time has each kernel below the stack that launched it, host waits each wait, and host samples each sample; what has no stack is
 * there, too. */
export async function rangeFlame({ page, details, rows, shots, check, range: { from, to }, threads, waits }) {
  const launches = await rows(`launches?from=${from}&to=${to}&order=longest&limit=20000`);
  const ofCalls = new Map((await rows(`captured?threads=${threads}&from=${Math.max(0, from - 5e9)}&to=${to}&step=1&limit=100000`)).filter((row) => row.stack).map((row) => [row.correlation, row.stack]));
  const samples = await rows(`samples?threads=${threads}&from=${from}&to=${to}&step=1&limit=20000`);
  const within = (row) => Math.max(0, Math.min(to, row.start + row.duration) - Math.max(from, row.start));
  const add = (all, value) => all.reduce((sum, row) => sum + value(row), 0);
  const known = launches.filter((row) => row.stack || ofCalls.has(row.correlation));
  const wanted = {
    "GPU time": [add(launches, (row) => row.duration), add(launches, (row) => row.duration) - add(known, (row) => row.duration)],
    "Host waits": [add(waits, within), add(waits.filter((row) => !row.stack), within)],
    "Host samples": [add(samples, (row) => row.samples), add(samples.filter((row) => row.stack === null), (row) => row.samples)],
  };
  check(known.length > 100 && samples.length > 100, `flame: ${known.length} kernels with a stack, ${samples.length} samples`);
  for (const [name, [whole, without]] of Object.entries(wanted)) {
    await details.getByRole("button", { name, exact: true }).click();
    await details.getByRole("button", { name, exact: true, pressed: true }).waitFor();
    await details.getByRole("button", { name: "Copy stacks" }).click();
    await details.getByRole("button", { name: "Copied" }).waitFor();
    const stacks = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\n").map((line) => /^(.*) (\d+)$/.exec(line).slice(1));
    const sum = (all) => all.reduce((total, [, value]) => total + Number(value), 0);
    check(sum(stacks) === whole && sum(stacks.filter(([frames]) => frames.includes("(no stack)"))) === without, `flame: ${name}: ${sum(stacks)} of ${whole}, without a stack ${sum(stacks.filter(([frames]) => frames.includes("(no stack)")))} of ${without}`);
    check(stacks.some(([frames]) => frames.includes("hf_train.py")), `flame: ${name}: no frame of the program`);
    const said = (await details.locator(".icicle-shown").innerText()).replaceAll("\u202f", "");
    check(name === "Host samples" ? said.includes(`${whole} samples`) : /\d (s|ms) · 100 %/.test(said.replace(/\s/g, " ")), `flame: ${name}: ${said}`);
    const part = known.reduce((sum, row) => sum + row.duration, 0) / wanted["GPU time"][0];
    if (name === "GPU time") check((await details.innerText()).replaceAll("\u202f", " ").includes(`Stacks are known of ${Math.round(100 * part)} % of this time`), `flame: ${100 * part} % of the kernels' time has a stack: ${(await details.innerText()).slice(0, 900)}`);
    await shots(`sourced-range-flame-${name.split(" ")[1]}-${name.split(" ")[0]}`.toLowerCase());
  }
}
