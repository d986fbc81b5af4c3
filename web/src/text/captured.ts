// captured.ts - texts of what was asked for and what became of it: windows, messages, engines, options.
const many = (n: string, one: string, more: string): string => `${n} ${n === "1" ? one : more}`;

export const captured = {
  windows: "Windows of capture",
  windowsText: (n: string, time: string, part: string, open: boolean) =>
    `${n} opened${open ? ", one still open at the end" : ""}, ${time} in all, ${part} of the run. Outside of them nothing was recorded: percentages of time are shares of the windows, and a gap counts as idle time of the GPU if it is inside a window.`,
  kernelWindows: "Windows of kernel records",
  kernelWindowsText: (n: string, time: string, part: string) =>
    `${n}, ${time} in all, ${part} of the run; program counters were sampled between them (pc_kernel_collect=windows). Counts and times of kernels, copies and fills are those of the windows; the GPU's idle time in the windows is an estimate for the rest of the run.`,
  messages: "Messages",
  severities: { error: "ERROR", warning: "WARNING", note: "note" } as Record<string, string>,
  times: (n: string) => `(${n} times)`,
  notes: (n: string) => many(n, "note", "notes"),
  problems: (errors: number, warnings: number) => [errors ? many(String(errors), "error", "errors") : "", warnings ? many(String(warnings), "warning", "warnings") : ""].filter(Boolean).join(", "),
  engines: "How engines were set",
  standIn: (asked: string, ran: string) => `${asked} was asked for, ${ran} ran instead`,
  ran: (engine: string) => `${engine} ran, as asked for`,
  engine: "Engine",
  setting: "Setting",
  value: "Value",
  options: "Options",
  optionsDefault: "All options are at their default.",
  option: "Option",
  source: "Set by",
  sources: { default: "default", trace_default: "gpufl trace, by default", remote_config: "remote configuration", forced: "GPUFL_FORCE_ENGINE", config_file: "configuration file", environment: "environment", code: "the program", trace: "gpufl trace" } as Record<string, string>,
  statuses: { collected: "collected", partial: "in part", enabled_no_data: "no data", not_requested: "not asked for", unavailable: "not available", failed: "failed", not_built: "not built in" } as Record<string, string>,
  rest: (n: string) => many(n, "option at its default", "options at their default"),
} as const;
