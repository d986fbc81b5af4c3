// timeline.mjs - how smoothly the timeline moves while keys are held. Each movement is made twice: "cold", while its data is being
// requested, and "warm", when the page has the data already.
import { record, recorded, trace } from "./browser.mjs";

/** Waits until no request is pending and nothing is drawn any more. */
export const rest = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const engine = window.gpuflTimeline;
        let drawn = -1;
        let same = 0;
        const next = () => {
          same = engine.frames === drawn && engine.shown.pending === 0 ? same + 1 : 0;
          drawn = engine.frames;
          if (same >= 30) resolve();
          else requestAnimationFrame(next);
        };
        next();
      }),
  );

const MOVES = [
  ["zoom in", "w"],
  ["pan", "d"],
  ["zoom out", "s"],
  ["pan, all of it in view before", "d"],
];

export async function movements(page, hold) {
  const cdp = await page.context().browser().newBrowserCDPSession();
  const result = {};
  for (const [name, key, at] of MOVES.map(([name, key], i) => [name, key, ["0.2-0.8", "0.5-0.502", "0.5-0.5002", "0.1-0.6"][i]])) {
    for (const state of ["cold", "warm"]) {
      await page.evaluate((part) => {
        const engine = window.gpuflTimeline;
        const [from, to] = part.split("-").map(Number);
        const { bounds } = engine.scene;
        engine.setView({ from: bounds.to * from, to: bounds.to * to });
      }, at);
      await rest(page);
      await page.locator(".tl-scroll").focus();
      await record(page);
      const traced = await trace(cdp);
      await page.keyboard.down(key);
      await page.waitForTimeout(hold); // the measurement lasts for this time
      await page.keyboard.up(key);
      const main_thread_cpu_ms = await traced();
      result[`${name}, ${state}`] = { ...(await recorded(page)), main_thread_cpu_ms };
      await rest(page);
    }
  }
  return result;
}
