// scopes.ts - texts of the tab of scopes.
export const scopes = {
  none: "No scopes",
  noneText: (ranges: string) => `The program did not open any scope. GFL_SCOPE in C++ and ${ranges} mark parts of a run.`,
  heading: "Scopes",
  icicle: "Scopes within scopes",
  aside: "A bar is the wall time, relative to the longest scope without a parent.",
  columns: { name: "Scope", wall: "Wall", bar: "", calls: "Calls", mean: "Mean", gpu: "GPU", self: "GPU self", kernels: "Kernels", waits: "Waiting", iterations: "Iterations", perIteration: "Per iteration", gpuPerIteration: "GPU per iteration" },
};
