// calls.ts - what the host waited in at a line: its kinds of calls, most time first.
import type { SyncLine } from "../../api/report";
import { syncs as text } from "../../text/syncs";

const FUNCTION_MOST = 44; // letters: two lines of a narrow column

const PARAMETERS_MOST = 20;

interface Parts {
  path: string; // with namespaces and template arguments, without the type that is returned
  parameters: string; // with their brackets; "": none
}

/** The parts of a C++ function's name. Template arguments may have brackets and spaces of their own. */
function partsOf(name: string): Parts {
  let depth = 0;
  let from = 0;
  for (let at = 0; at < name.length; at++) {
    const operator = /^operator(?:[^\w\s(]{1,3}(?: (?=<))?|\(\))/.exec(name.slice(at, at + 12))?.[0];
    if (operator && !/\w/.test(name[at - 1] ?? "")) at += operator.length - 1;
    else if (name[at] === "<") depth++;
    else if (name[at] === ">") depth--;
    else if (depth === 0 && name[at] === " " && !name.slice(from, at).endsWith("operator")) from = at + 1;
    else if (depth === 0 && name[at] === "(" && at > from) return { path: name.slice(from, at), parameters: name.slice(at) };
  }
  return depth === 0 && from < name.length ? { path: name.slice(from), parameters: "" } : { path: name, parameters: "" };
}

/** Template arguments that have no room are "<…>". */
function withoutLong(path: string): string {
  let [depth, from, out] = [0, 0, ""];
  for (let at = 0; at < path.length; at++) {
    if (path[at] === "<" && depth++ === 0) out += path.slice(from, (from = at));
    if (path[at] !== ">" || --depth !== 0) continue;
    out += at + 1 - from > PARAMETERS_MOST ? "<…>" : path.slice(from, at + 1);
    from = at + 1;
  }
  return depth === 0 ? out + path.slice(from) : path;
}

/** A C++ function as a row has room for it: without the first of its namespaces, and with its parameters and template arguments
 * only if they are short, because they distinguish functions of one name. */
export function shortFunction(name: string): string {
  const { path, parameters: all } = partsOf(name.replaceAll("(anonymous namespace)::", ""));
  const parameters = all.replace(/\w+::/g, "");
  let short = withoutLong(path) + (parameters.length <= PARAMETERS_MOST ? parameters : "");
  while (short.length > FUNCTION_MOST && /^\w+::/.test(short)) short = short.replace(/^\w+::/, "");
  return short || name;
}

const WORD_MOST = 14; // letters of the word in which names differ

/** The short texts of functions of one table. Where functions differ only in long template arguments, the first different
 * word of the arguments is in the text. */
export function shortFunctions(names: readonly string[]): ReadonlyMap<string, string> {
  const short = new Map(names.map((name) => [name, shortFunction(name)]));
  for (const text of new Set(short.values())) {
    const alike = [...short.keys()].filter((name) => short.get(name) === text);
    if (alike.length < 2 || !text.includes("<…>")) continue;
    let at = 0;
    while (alike.every((name) => name[at] === alike[0]![at])) at++;
    while (/\w/.test(alike[0]![at - 1] ?? "")) at--;
    const last = text.slice(text.slice(0, text.indexOf("<")).lastIndexOf("::") + 1).replace(/^:/, "");
    for (const name of alike) {
      const word = /^\w*/.exec(name.slice(at))![0].slice(0, WORD_MOST);
      short.set(name, last.replace("<…>", `<…${word}…>`));
    }
  }
  return short;
}

export interface Called {
  name: string;
  calls: number;
  ns: number;
}

export const calledAt = (line: Pick<SyncLine, "by_call">, vendor: string): Called[] =>
  (line.by_call ?? []).map(({ call, calls, total_ns }) => ({ name: call === "context" && vendor === "amd" ? text.deviceCalls : (text.calls[call] ?? call), calls, ns: total_ns })).sort((a, b) => b.ns - a.ns);
