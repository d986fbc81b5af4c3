// calls.ts - what the host waited in at a line: its kinds of calls, most time first.
import type { SyncLine } from "../../api/report";
import { syncs as text } from "../../text/syncs";

const FUNCTION_MOST = 44; // letters: two lines of a narrow column

const PARAMETERS_MOST = 20;

/** A C++ function as a row has room for it: without the first of its namespaces, and with its parameters only if they are short,
 * because they distinguish functions of one name. */
export function shortFunction(name: string): string {
  const named = name.replaceAll("(anonymous namespace)::", "");
  const at = named.indexOf("(");
  const parameters = at < 0 ? "" : named.slice(at).replace(/\w+::/g, "");
  let short = (at < 0 ? named : named.slice(0, at)) + (parameters.length <= PARAMETERS_MOST ? parameters : "");
  while (short.length > FUNCTION_MOST && /^\w+::/.test(short)) short = short.replace(/^\w+::/, "");
  return short || name;
}

export interface Called {
  name: string;
  calls: number;
  ns: number;
}

export const calledAt = (line: Pick<SyncLine, "by_call">, vendor: string): Called[] =>
  (line.by_call ?? []).map(({ call, calls, total_ns }) => ({ name: call === "context" && vendor === "amd" ? text.deviceCalls : (text.calls[call] ?? call), calls, ns: total_ns })).sort((a, b) => b.ns - a.ns);
