// syncs.ts - texts of the tab of waits.
export const syncs = {
  none: "No waits for the GPU",
  noneText: "The session has no calls that wait for the GPU, or none with a stack.",
  heading: "Where the host waited, by line",
  noPlace: "(no line known)",
  columns: { place: "Line", what: "Waited in", verdict: "Verdict", blocked: "Blocked", share: "Of the run", calls: "Calls", median: "Median", p99: "P99", longest: "Longest", idle: "GPU idle\nbecause of it" },
  onTimeline: (time: string) => `${time}, on the timeline`,
  loop: "in a loop",
  between: (launches: string) => `${launches} launches between`,
  once: "once",
  times: (calls: string) => `called ${calls} times`,
  more: (n: number) => `${n} more ${n === 1 ? "kind" : "kinds"}`,
  stream: "a stream waits",
  notHost: "not the host",
  /** Kinds of calls, by their names in the report (docs/report.md). */
  calls: {
    other: "other calls", event: "event synchronizations", "stream wait": "waits of a stream for an event", stream: "stream synchronizations", context: "context synchronizations", copy: "blocking copies", fill: "blocking fills", free: "frees", allocate: "allocations", "load code": "loading code",
  } as Record<string, string>,
  deviceCalls: "device synchronizations", // of AMD's GPUs, for "context"
};
