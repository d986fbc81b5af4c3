// use.ts - the questions of an effect to the server, as state: the answer to the newest question. A
// question that is no longer wanted is aborted; after a login the question is asked again.
import { useEffect, useState, useSyncExternalStore } from "react";
import { Problem } from "../api/client";
import { who } from "../api/who";

export interface Asked<T> {
  data: T | undefined;
  problem: Problem | undefined;
}

/** key: identifies the question; null: no question. */
export function useAsked<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ key: string | null } & Asked<T>>({ key: null, data: undefined, problem: undefined });
  const round = useSyncExternalStore(who.subscribe, () => who.round);
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    ask(stop.signal).then(
      (data) => !stop.signal.aborted && setState({ key, data, problem: undefined }),
      (cause: unknown) => {
        if (stop.signal.aborted) return;
        setState({ key, data: undefined, problem: cause instanceof Problem ? cause : new Problem(0, "Unreadable answer", String(cause)) });
      },
    );
    return () => stop.abort();
    // The key identifies the whole question.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, round]);
  return state.key === key ? state : { data: undefined, problem: undefined };
}
