// may.ts - who is logged in, and what a page may offer this user. The server checks every request;
// this module only avoids buttons that the server would refuse.
import { createContext, useContext } from "react";
import { RIGHTS, type Role } from "./rights";
import type { Me } from "./schema";

export type Right = keyof typeof RIGHTS;

export function may(me: Me | undefined, right: Right): boolean {
  if (!me) return false;
  if (right === "ADMIN") return me.admin === true;
  if (me.kind === "share") return right === "READ" || right === "PUBLIC";
  const role = me.role as Role | null;
  return role !== null && Object.hasOwn(RIGHTS[right], role) && RIGHTS[right][role];
}

/** Who is logged in, as the frame of the pages has asked; undefined: not known (yet). */
export const MeContext = createContext<Me | undefined>(undefined);
export const useMe = (): Me | undefined => useContext(MeContext);
