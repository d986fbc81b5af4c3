// host.ts - texts of the host's time by line; apart from syncs.ts, so that the first screen does not load them.
export const host = {
  heading: "Where the host's time went",
  about: (threads: number, time: string, samples: string) =>
    `What the ${threads === 1 ? "thread that calls" : `${threads} threads that call`} the GPU did in ${time}${threads === 1 ? "" : " together"}: calls that wait are measured, the rest is by ${samples} samples. Kernels were not recorded, so whether the GPU was idle meanwhile is not known.`,
  columns: { place: "Line", state: "State", time: "Time", error: "± (95 %)", share: "Share" },
  /** States of a thread, by their names in the report. */
  states: { running: "running", runnable: "ready, but no core was free", blocked: "blocked", gil: "waited for the GIL", gpu_wait: "waited for the GPU" } as Record<string, string>,
  unknown: "unknown",
};
