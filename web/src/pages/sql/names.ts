// names.ts - short names for mangled names in an answer. The server gives short names to the
// kernels of the sessions that were asked; other names stay as they are.
import { client } from "../../api/client";
import { mangledOf, nameOf, shortOf } from "../../api/columns";
import type { Answer } from "./answer";

export interface Called {
  short: string;
  full: string;
}
export type Names = ReadonlyMap<string, Called>;

const MANGLED = /^_Z/;
const SESSIONS_MOST = 8; // sessions whose names are asked for

const hasMangled = ({ rows }: Answer): boolean => rows.some((row) => row.some((cell) => typeof cell === "string" && MANGLED.test(cell)));

export async function namesFor(answer: Answer, sessions: readonly string[]): Promise<Names> {
  const names = new Map<string, Called>();
  if (!hasMangled(answer)) return names;
  for (const session of sessions.slice(0, SESSIONS_MOST)) {
    const said = await client.get("kernels", { session, limit: 10000 }).catch(() => null);
    for (const cell of said?.data.name ?? []) {
      const mangled = said && mangledOf(said, cell);
      if (said && mangled) names.set(mangled, { short: shortOf(said, cell) ?? mangled, full: nameOf(said, cell) ?? mangled });
    }
  }
  return names;
}
