// use.ts - the client for components: one hook. A component that goes away, or asks for something
// else, aborts its request; the last answer stays on screen while the next one comes.
import { useCallback, useEffect, useRef, useState } from "react";
import { address, client, Problem, type Answer, type Parameters, type RouteId } from "./client";

export interface Asked<T> {
  data: T | undefined;
  problem: Problem | undefined;
  loading: boolean;
  again: () => void;
}

/** null as parameters: do not ask yet. */
export function useApi<R extends RouteId>(id: R, parameters: Parameters<R> | null, everyMs = 0): Asked<Answer<R>> {
  const url = parameters ? address(id, parameters) : null;
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ url: string | null; data?: Answer<R>; problem?: Problem }>({ url: null });
  const wanted = useRef(parameters);
  wanted.current = parameters;
  const again = useCallback(() => setRound((n) => n + 1), []);

  useEffect(() => {
    const asked = wanted.current;
    if (!asked || !url) return;
    const stop = new AbortController();
    client.get(id, asked, stop.signal).then(
      (data) => setState({ url, data }),
      (cause: unknown) => {
        if (stop.signal.aborted) return;
        const problem = cause instanceof Problem ? cause : new Problem(0, "Unreadable answer", String(cause));
        setState((before) => ({ ...before, url, problem }));
      },
    );
    return () => stop.abort();
  }, [id, url, round]);

  useEffect(() => {
    if (!everyMs || !url) return;
    const timer = setInterval(again, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, url, again]);

  const current = state.url === url;
  const data = state.data ?? (parameters ? client.last(id, parameters) : undefined);
  return { data, problem: current ? state.problem : undefined, loading: !current, again };
}
