// useKept.ts - the text of a file of the program, if the session keeps it.
import { useMemo } from "react";
import type { Problem } from "../../api/client";
import { useApi } from "../../api/use";
import { keptPath, textOf } from "./source";

export interface Kept {
  text: string | null; // null: not kept, or not here yet
  missing: boolean; // the session does not keep the file
  problem: Problem | undefined;
}

/** file: undefined asks for nothing. */
export function useKept(session: string, file: string | undefined): Kept {
  const sources = useApi("sources", file ? { session } : null);
  const path = sources.data && file ? keptPath(sources.data.data.path, file) : null;
  const source = useApi("source", path ? { session, path } : null);
  const text = useMemo(() => (path && source.data ? textOf(source.data.data.text) : null), [path, source.data]);
  return { text, missing: sources.data !== undefined && !path, problem: sources.problem ?? source.problem };
}
