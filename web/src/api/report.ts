// report.ts - the parts of a session's report that the server passes on unchanged. docs/report.md
// describes them; this module has the members that pages use. A part that differs from the
// description is a Problem.
import { list, number as numberOf, raw, word } from "../format/raw";
import { Problem } from "./client";

export interface Between {
  pairs: number;
  median: number | null;
}

export interface SyncLine {
  place: string | null;
  file: string | null;
  line: number | null;
  function: string | null;
  blocks_host: boolean;
  calls: number;
  blocked_ns: number;
  share: number;
  gpu_idle_ns: number;
  median_ns: number | null;
  p99_ns: number | null;
  longest_ns: number | null;
  longest_start_ns: number | null; // since the session's start
  by_call?: { call: string; calls: number; total_ns: number }[]; // absent from older reports
  launches_between: { synchronizations: Between };
}

export interface Scope {
  id: number;
  parent: number;
  depth: number;
  name: string;
  path: string[] | null; // from the outermost scope to this one; null: too deep
  calls: number;
  wall_ns: number;
  wall_mean_ns: number | null;
  kernels: number | null;
  gpu_ns: number | null;
  self_gpu_ns: number | null;
  wait_ns: number | null;
  iterations: number | null; // how many were measured; 0 or null: the scope is not a measured loop
  iteration_ns: number | null; // mean of an iteration
}

function listAt(part: unknown, ...keys: string[]): unknown[] {
  let at: unknown = part;
  for (const key of keys) at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  if (!Array.isArray(at)) throw new Problem(0, "Unreadable answer", `The server's report has no list ${keys.join(".")}; it may be older than this page.`);
  return at;
}

/** What a finding rests on, and the step that it advises. These sentences are made for the case
 * at hand; the rule's own sentences hold for all cases. */
export interface Case {
  id: string; // id of the rule
  next: string;
  evidence: Record<string, number | null>;
  part_of?: number | null; // the finding with this one's line and time; null: the finding has a card of its own
  parts?: string[]; // parts of the GPUs' time (TimePart.part) that the finding is about, largest first; absent from older reports
}

/** What to change first, or that no change would help. */
export interface Answer {
  cause: string;
  place: string | null; // the line that owns the time
  function: string | null;
  statement: string;
  share: number; // part of the run that a fix of this alone gives back; 0: nothing
  share_error: number | null; // half the width of the 95 % interval
  next: string;
}

/** A part of the GPUs' time; the permille of all parts add up to 1000. */
export interface TimePart {
  part: string;
  name: string;
  idle: boolean;
  ns: number;
  permille: number;
}

/** Sentences that say which part of the waits and of the idle time the program did not cause. An
 * older report has none. */
export function caveatsOf(part: unknown): string[] {
  const caveats = typeof part === "object" && part !== null ? (part as Record<string, unknown>).caveats : undefined;
  return Array.isArray(caveats) ? caveats.filter((line) => typeof line === "string") : [];
}

const objectAt = (part: unknown, key: string): Record<string, unknown> | null => {
  const at = typeof part === "object" && part !== null ? (part as Record<string, unknown>)[key] : undefined;
  return typeof at === "object" && at !== null ? (at as Record<string, unknown>) : null;
};

/** An older report has no answer. */
export function answerOf(part: unknown): Answer | null {
  const answer = objectAt(part, "answer");
  return answer && typeof answer.statement === "string" && typeof answer.share === "number" ? (answer as unknown as Answer) : null;
}

/** Kernels, copies, then idle time by cause; empty if nothing is known of the GPUs' time. */
export function timeOf(part: unknown): TimePart[] {
  const parts = objectAt(part, "time")?.parts;
  return Array.isArray(parts) ? (parts as TimePart[]) : [];
}

/** The share base: the time that percentages are shares of. */
export interface Whole {
  of: string; // steady_part, run or windows
  ns: number | null; // of all GPUs together; null: unknown
  devices: number;
  startUp: number; // ns before the steady part; 0: there is none
  end: number; // ns after it
}

export function wholeOf(part: unknown): Whole {
  const time = raw(objectAt(part, "time"));
  return { of: typeof time.share_of === "string" ? time.share_of : "run", ns: numberOf(time.whole_ns), devices: numberOf(time.devices) ?? 0, startUp: numberOf(time.start_up_ns) ?? 0, end: numberOf(time.end_ns) ?? 0 };
}

/** Sentences that say what the session was. */
export const sentencesOf = (part: unknown): string[] => {
  const summary = raw(part).summary;
  return Array.isArray(summary) ? summary.filter((line) => typeof line === "string") : [];
};

/** A part of a cause's idle time: that of one line of the program, or of one reason why there is no line. */
export interface IdleLine {
  cause: string;
  place: string; // "": no line, for `reason`
  file: string; // "": the text of the line cannot be opened
  line: number;
  function: string;
  reason: string;
  ns: number;
  halfWidth: number | null; // ns at 95 %; 0: measured; null: unknown
  ended: boolean; // the line launched the work that ended the idle time, and may not have caused the idle time
  operator: string; // of the launches that ended the idle time; "": none
  before: boolean; // until that launch, the host did something else than the operator
  state: string; // of the line's thread; "": unknown
  syscall: string; // of a blocked one; "": unknown
}

/** All parts of the idle time in the report's order: lines first, most idle time first. */
export const idleLinesOf = (part: unknown): IdleLine[] =>
  list(raw(raw(part).idle).lines).map((row) => {
    const [ns, cause, ended, line] = [numberOf(row.idle_ns) ?? 0, word(row.cause), row.ended_by === true, numberOf(row.line)];
    const launches = cause === "slow_launches" || ended || row.inherited === true || (numberOf(row.exact_ns) ?? 0) > ns / 2;
    return {
      cause,
      place: word(row.place),
      file: line ? word(row.file) : "",
      line: line ?? 0,
      function: word(row.function),
      reason: word(row.reason),
      ns,
      halfWidth: numberOf(row.half_width_ns),
      ended,
      operator: word(row.operator),
      before: !launches,
      state: word(row.state),
      syscall: word(row.syscall),
    };
  });

/** The lines in the order of the findings. */
export const casesOf = (part: unknown): Case[] => listAt(part, "insights") as Case[];
export const syncLines = (part: unknown): SyncLine[] => listAt(part, "synchronization_lines", "lines") as SyncLine[];
export const scopesOf = (part: unknown): Scope[] => listAt(part, "scopes") as Scope[];
/** Number of all scopes, also of those that the report leaves out; null: not reported. */
export const scopePaths = (part: unknown): number | null => numberOf(raw(part).scope_paths);

export interface Ledger {
  verdict: string; // complete, uncounted, incomplete or absent
  missing: string[]; // sentences
}

export interface Capability {
  feature: string;
  status: string;
  reason: string | null;
}

export interface Message {
  severity: string; // error, warning or note
  text: string;
  count: number;
}

const SEVERITIES = ["error", "warning", "note"];

/** Messages that a person should know, worst first. */
export const messagesOf = (part: unknown): Message[] =>
  list(raw(part).messages)
    .map((row) => ({ severity: SEVERITIES.includes(word(row.severity)) ? word(row.severity) : "note", text: word(row.text) || word(row.code), count: numberOf(row.count) ?? 1 }))
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));

export interface Option {
  name: string;
  value: string;
  source: string; // "": the log does not say
}

export const optionsOf = (part: unknown): Option[] => list(raw(part).options).map((row) => ({ name: word(row.name), value: word(row.value), source: word(row.source) }));

/** An option that somebody set to another value than its default. */
export const isSet = (option: Option): boolean => option.source !== "" && option.source !== "default";

export interface Engine {
  name: string;
  ranAs: string; // "": not reported
  why: string; // why another engine ran instead
  settings: { name: string; values: string[] }[]; // a setting with several values is listed once
}

/** How engines were set, and which engine ran. */
export function enginesOf(part: unknown): Engine[] {
  const engines = new Map<string, Map<string, string[]>>();
  for (const row of list(raw(part).settings)) {
    const settings = engines.get(word(row.engine)) ?? new Map<string, string[]>();
    const values = settings.get(word(row.name)) ?? [];
    if (!values.includes(word(row.value))) values.push(word(row.value)); // equal values of several devices are listed once
    settings.set(word(row.name), values);
    engines.set(word(row.engine), settings);
  }
  return [...engines].map(([name, settings]) => {
    const [ranAs, why] = ["ran_as", "why"].map((key) => (settings.get(key) ?? []).join(", "));
    return { name, ranAs: ranAs!, why: why!, settings: [...settings].filter(([key]) => key !== "ran_as" && key !== "why").map(([key, values]) => ({ name: key, values })) };
  });
}

export interface Windows {
  opened: number;
  recorded: number | null; // ns
  stillOpen: boolean;
  kernelsOpened: number; // windows of kernel records, which alternate with samples
  kernelsRecorded: number | null; // ns
}

/** null: the whole session was recorded. */
export function windowsOf(part: unknown): Windows | null {
  const from = raw(raw(part).windows);
  const windows = { opened: numberOf(from.opened) ?? 0, recorded: numberOf(from.recorded_ns), stillOpen: from.still_open === true, kernelsOpened: numberOf(from.kernels_opened) ?? 0, kernelsRecorded: numberOf(from.kernels_recorded_ns) };
  return windows.opened > 0 || windows.kernelsOpened > 0 ? windows : null;
}

export const capabilitiesOf = (part: unknown): Capability[] => listAt(part, "capabilities") as Capability[];

export function ledgerOf(part: unknown): Ledger {
  const missing = listAt(part, "ledger", "missing").map(String);
  const { verdict } = (part as { ledger: { verdict: unknown } }).ledger;
  return { verdict: String(verdict), missing };
}

/** Why it is unknown what a session did of a kind of activity; null: known, or not reported. */
export function unknownOf(part: unknown, kind: string): string | null {
  const known = (part as { known?: Record<string, { without?: number; text?: string | null }> } | undefined)?.known?.[kind];
  return known?.without ? (known.text ?? null) : null;
}

/** Launches between two waits at a line that a loop waits at (docs/insights.md, sync_loop). */
export function loopLaunches(line: SyncLine): number | null {
  const { median } = line.launches_between.synchronizations;
  return line.calls >= 3 && median !== null && median >= 3 ? median : null;
}

/** Kernels that were launched, and kernels that are in the log; null: not reported. Kernels of
 * graphs are included, unless graphs were recorded as a whole: then the kernels of graphs have
 * no rows. */
export function launchedOf(part: unknown): { launched: number | null; written: number | null } {
  const ledger = (part as { ledger?: Record<string, unknown> }).ledger ?? {};
  const number = (key: string) => (typeof ledger[key] === "number" ? ledger[key] : null);
  const launches = number("launches");
  const whole = number("graphs_recorded") !== null;
  return { launched: launches === null ? null : launches + (whole ? 0 : (number("graph_kernels") ?? 0)), written: number("kernels_written") };
}
