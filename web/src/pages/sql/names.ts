// names.ts - short names for mangled names in an answer. The server gives short names to the
// kernels of the sessions that were asked, and to those of the workspace's history; other names
// stay as they are.
import { client } from "../../api/client";
import { mangledOf, nameOf, shortOf } from "../../api/columns";
import type { Answer } from "./answer";

export interface Called {
  short: string;
  full: string;
}
export type Names = ReadonlyMap<string, Called>;

const MANGLED = /^_Z/;
const LIMIT = 10000; // names of one answer

const mangledIn = ({ rows }: Answer): Set<string> => new Set(rows.flatMap((row) => row.filter((cell): cell is string => typeof cell === "string" && MANGLED.test(cell))));

/** Adds the names of one answer of the server. */
function add(names: Map<string, Called>, said: Parameters<typeof nameOf>[0] & { data: { name: (number | null)[] } }): void {
  for (const cell of said.data.name) {
    const mangled = mangledOf(said, cell);
    if (mangled) names.set(mangled, { short: shortOf(said, cell) ?? mangled, full: nameOf(said, cell) ?? mangled });
  }
}

export async function namesFor(answer: Answer, sessions: readonly string[]): Promise<Names> {
  const names = new Map<string, Called>();
  const wanted = mangledIn(answer);
  const isMissing = (): boolean => [...wanted].some((name) => !names.has(name));
  for (const session of sessions) {
    if (!isMissing()) return names;
    const said = await client.get("kernels", { session, limit: LIMIT }).catch(() => null);
    if (said) add(names, said);
  }
  const all = isMissing() ? await client.get("history_names", { kind: "kernel", limit: LIMIT }).catch(() => null) : null;
  if (all) add(names, all);
  return names;
}
