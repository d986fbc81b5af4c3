// host.ts - the host's time by line, of a session without records of kernels. It is apart from report.ts, so that the first screen
// does not load it.
import { list, number as numberOf, raw, word } from "../format/raw";

/** A line at which the threads that call the GPU were, and what they did there. */
export interface HostLine {
  place: string | null; // null: no line is known
  file: string | null;
  line: number | null;
  function: string | null;
  state: string; // running, runnable, blocked, gil or gpu_wait; "": unknown
  syscall: string; // of a blocked one; "": unknown
  call: string; // of a wait for the GPU
  ns: number;
  halfWidth: number | null; // ns at 95 %; 0: measured; null: unknown
}

export interface HostTime {
  threads: number;
  ns: number; // of all of them
  samples: number;
  lines: HostLine[]; // in the report's order
}

/** The host's time by line; null where kernels were recorded, or threads were not sampled. */
export function hostTimeOf(part: unknown): HostTime | null {
  const host = raw(raw(part).host_time);
  const [threads, ns] = [numberOf(host.threads) ?? 0, numberOf(host.time_ns)];
  if (!threads || ns === null) return null;
  const lines = list(host.lines).map((row) => ({
    place: word(row.place) || null,
    file: word(row.file) || null,
    line: numberOf(row.line),
    function: word(row.function) || null,
    state: word(row.state),
    syscall: word(row.syscall),
    call: word(row.call),
    ns: numberOf(row.time_ns) ?? 0,
    halfWidth: numberOf(row.half_width_ns),
  }));
  return { threads, ns, samples: numberOf(host.samples) ?? 0, lines };
}
