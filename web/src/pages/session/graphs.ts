// graphs.ts - runs of graphs that were recorded as a whole, if a session has no kernels.
import { rowsOf } from "../../api/columns";
import type { RowSession } from "../../api/schema";
import { useApi } from "../../api/use";

/** The count of runs; null: the session has kernels, or nobody asks. undefined: not known yet. */
export function useGraphRuns(session: RowSession, asks: boolean): number | null | undefined {
  const wanted = asks && !session.kernels;
  const counts = useApi("counts", wanted ? { session: session.id } : null);
  if (!wanted || counts.problem) return null;
  return counts.data && (rowsOf(counts.data).find((row) => row.record === "graph_run")?.rows ?? 0);
}
