// syncs.ts - texts of the tab of waits.
export const syncs = {
  none: "No waits for the GPU",
  noneText: "The session has no calls that wait for the GPU, or none with a stack.",
  heading: "Where the host waited, by line",
  noPlace: "(no line known)",
  columns: { place: "Line", verdict: "Verdict", blocked: "Blocked", share: "Of the run", calls: "Calls", median: "Median", p99: "P99", longest: "Longest", idle: "GPU idle because of it" },
  onTimeline: (time: string) => `${time}, on the timeline`,
  loop: (launches: string) => `in a loop: ${launches} launches between`,
  once: "no loop seen",
  stream: "a stream waits, not the host",
};
