// usePasses.ts - the passes of a session's run and the counts of each, for a kernel's page.
import { useEffect, useMemo, useState } from "react";
import { client, Problem } from "../../api/client";
import type { RowSession } from "../../api/schema";
import { useApi } from "../../api/use";
import { runOf } from "../session/facts";
import { giftsOf, passesOf, timesOf } from "./run";

export interface Passes {
  own: RowSession | undefined; // the session itself, once known
  rows: RowSession[]; // in order; empty: the command ran once
  times: RowSession | undefined; // the pass with the times
  settled: boolean;
}

const NONE: RowSession[] = [];

export function usePasses(session: string): Passes {
  const own = useApi("session", { session });
  const run = own.data ? runOf(own.data) : "";
  const asked = useApi("sessions", run ? { label: "run", label_value: run, limit: 200 } : null);
  const rows = useMemo(() => (asked.data ? passesOf(asked.data.rows, session) : NONE), [asked.data, session]);
  const settled = own.data !== undefined || own.problem !== undefined ? !run || asked.data !== undefined || asked.problem !== undefined : false;
  return { own: own.data, rows, times: timesOf(rows), settled };
}

/** The parts `profile` of all passes except the session's own, by session; parts that failed are
 * left out. */
export function useProfiles(rows: readonly RowSession[], own: string): Map<string, unknown> | undefined {
  const wanted = rows.filter((row) => row.id !== own && row.analyzed && giftsOf(row.engine).some((gift) => gift !== "times")).map((row) => row.id);
  const key = wanted.join();
  const [state, setState] = useState<{ key: string; parts: Map<string, unknown> }>();
  useEffect(() => {
    const stop = new AbortController();
    const ids = key ? key.split(",") : [];
    const one = async (session: string): Promise<[string, unknown] | null> => {
      try {
        return [session, await client.get("section_profile", { session }, stop.signal)];
      } catch (cause) {
        if (cause instanceof Problem) return null; // the page says that the pass does not report it
        throw cause;
      }
    };
    Promise.all(ids.map(one)).then(
      (parts) => setState({ key, parts: new Map(parts.filter((part) => part !== null)) }),
      () => undefined, // the page was left
    );
    return () => stop.abort();
  }, [key]);
  return state?.key === key ? state.parts : undefined;
}
