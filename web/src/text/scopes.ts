// scopes.ts - words of the tab of scopes.
export const scopes = {
  none: "No scopes",
  noneText: (ranges: string) => `The program opened none. GFL_SCOPE in C++ and ${ranges} mark parts of a run.`,
  heading: "Scopes",
  icicle: "Scopes within scopes",
  aside: "Bars: wall time, as a part of the longest scope without a parent.",
  columns: { name: "Scope", wall: "Wall", bar: "", calls: "Calls", mean: "Mean", gpu: "GPU", self: "GPU self", kernels: "Kernels", waits: "Waiting", iterations: "Iterations", perIteration: "Per iteration", gpuPerIteration: "GPU per iteration" },
};
