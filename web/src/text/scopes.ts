// scopes.ts - texts of the tab of scopes.
export const scopes = {
  none: "No scopes",
  noneText: (ranges: string) => `The program did not open any scope. GFL_SCOPE in C++ and ${ranges} mark parts of a run.`,
  heading: "Scopes",
  icicle: "Scopes within scopes",
  aside: "A bar is the wall time, relative to the longest scope without a parent. GPU is the time of the work that was launched inside a scope.",
  shown: (some: string, all: string) => `${some} of ${all} scopes are shown, the longest first.`,
  others: "other scopes",
  sum: (time: string) => `${time}, summed over calls and threads`,
  sumShown: (time: string) => `${time} of the scopes that are shown, summed over calls and threads`,
  within: (name: string) => `in ${name}`,
  ownOrHidden: (time: string) => `${time} itself or in scopes that are not shown`,
  hints: {
    wall: "From the scope's begin to its end, summed over calls and threads",
    gpu: "GPU time of the work that was launched inside the scope, also inside scopes below it; the work may run after the scope has ended",
    self: "GPU time of the work that was launched inside the scope itself, not inside a scope below it",
  },
  columns: { name: "Scope", wall: "Wall", bar: "", calls: "Calls", mean: "Mean", gpu: "GPU", self: "GPU self", kernels: "Kernels", waits: "Waiting", iterations: "Iterations", perIteration: "Per iteration", gpuPerIteration: "GPU per iteration" },
};
