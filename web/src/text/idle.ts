// idle.ts - texts of the lines of a cause of idle time; apart from insights.ts, so that the first screen does not load them.
export const idle = {
  heading: (cause: string) => `Lines: ${cause}`,
  columns: { place: "Line", operator: "Operator", state: "Thread", time: "Time", error: "± (95 %)", share: "Share" },
  operatorText: "The innermost operator of the framework in at least half of this time, by the launches that ended it",
  stateText: "What the line's thread did in most of its samples",
  shareText: "Share of the time of this part",
  before: (operator: string) => `before ${operator}`,
  beforeText: "The host did something else, and then launched this operator.",
  ended: "until this line's work came",
  noLine: "no line",
  more: (n: string) => `${n} more`,
  fewer: "Fewer",
  /** Why there is no line, by the report's name. */
  reasons: {
    no_samples: "the host's own time, with too few samples of its thread or none",
    several_waited: "the thread that launched ran no Python, and several others did",
    no_stack: "calls whose stack is not known",
    no_python: "no Python code ran: a library's thread, or the interpreter's end",
    lost: "samples that failed, or found no room",
    shared: "other processes used the GPU, and the launch is not timed",
    gpu: "the GPU itself, between two kernels",
    profiler: "the profiler",
    other_process: "another process",
    probably_other_process: "probably another process",
  } as Record<string, string>,
};
