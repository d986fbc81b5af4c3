// may.ts - who is logged in, and what a page may offer this user. The server checks every request;
// this module only avoids buttons that the server would refuse.
import { createContext, useContext } from "react";
import { RIGHTS, type Role } from "./rights";
import type { Me } from "./schema";
import type { Asked } from "./use";

export type Right = keyof typeof RIGHTS;

export function may(me: Me | undefined, right: Right): boolean {
  if (!me) return false;
  if (right === "ADMIN") return me.admin === true;
  if (me.kind === "share") return right === "READ" || right === "PUBLIC";
  const role = me.role as Role | null;
  return role !== null && Object.hasOwn(RIGHTS[right], role) && RIGHTS[right][role];
}

/** The frame's question who is logged in. Pages read its answer, and do not ask themselves. */
export const MeContext = createContext<Pick<Asked<Me>, "data" | "problem" | "again">>({ data: undefined, problem: undefined, again: () => undefined });
/** undefined: not known (yet). */
export const useMe = (): Me | undefined => useContext(MeContext).data;
