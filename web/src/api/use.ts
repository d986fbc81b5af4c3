// use.ts - the client for components. A component that is removed, or asks something else, aborts
// its request. The last answer stays on screen while the next answer about its subject is fetched.
// Live events say when to ask again; without live events a clock does.
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { address, client, Problem, subject, type Answer, type Parameters, type RouteId } from "./client";
import { BEGAN, subscribe, useLiveState, type LiveEvent } from "./live";
import { who } from "./who";

export interface Asked<T> {
  data: T | undefined;
  problem: Problem | undefined;
  loading: boolean;
  again: () => void;
}

/** When to ask again: every so many ms (0: never), or on those events and then rarely by the
 * clock. settled: the answer does not change any more by itself, so that it is not asked again
 * when events begin. */
export interface Freshness {
  every: number;
  on: (event: LiveEvent) => boolean;
  settled?: boolean;
}

const RARELY_MS = 60_000;
const LEAST_MS = 1000; // between two questions because of events
const CHECK_MS = 3000; // from the first connection for events to the question whether something happened before

export const onSession =
  (session?: string) =>
  ({ name, data }: LiveEvent): boolean =>
    name === "lost" || ((name === "session" || name === "report") && (!session || data.session === session));

/** answered: what was asked is there. */
function useEvents(fresh: Freshness | undefined, url: string | null, answered: boolean, again: () => void): void {
  const newest = useRef(fresh?.on);
  newest.current = fresh?.on;
  const wants = fresh !== undefined && url !== null;
  const here = useRef({ answered, settled: fresh?.settled });
  here.current = { answered, settled: fresh?.settled };
  useEffect(() => {
    if (!wants) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let check: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const ask = (): void => {
      clearTimeout(check);
      timer = undefined;
      last = Date.now();
      again();
    };
    // The answer may be older than the events: it is asked for once more, after the page has loaded.
    const later = (): void => {
      check = setTimeout(() => {
        if (here.current.settled) return;
        if (here.current.answered) ask();
        else later();
      }, CHECK_MS);
    };
    const end = subscribe((event) => {
      if (event.name === BEGAN) later();
      else if (!timer && newest.current?.(event)) timer = setTimeout(ask, Math.max(0, last + LEAST_MS - Date.now()));
    });
    return () => {
      end();
      clearTimeout(timer);
      clearTimeout(check);
    };
  }, [wants, url, again]);
}

const asItIs = <T,>(answer: T): T => answer;

/** null as parameters: do not ask yet. */
export const useApi = <R extends RouteId>(id: R, parameters: Parameters<R> | null, fresh: number | Freshness = 0): Asked<Answer<R>> => useMade(id, parameters, asItIs<Answer<R>>, fresh);

/** What `make`, which never changes, makes of the answer: the answer itself is not kept. */
export function useMade<R extends RouteId, T>(id: R, parameters: Parameters<R> | null, make: (answer: Answer<R>) => T, fresh: number | Freshness = 0): Asked<T> {
  const url = parameters ? address(id, parameters) : null;
  const [round, setRound] = useState(0);
  const everything = useSyncExternalStore(who.subscribe, () => who.round);
  const about = parameters ? subject(id, parameters) : null;
  const [state, setState] = useState<{ url: string | null; about?: string | null; data?: T; problem?: Problem; everything?: number }>({ url: null });
  const wanted = useRef(parameters);
  wanted.current = parameters;
  const again = useCallback(() => setRound((n) => n + 1), []);

  useEffect(() => {
    const asked = wanted.current;
    if (!asked || !url) return;
    const stop = new AbortController();
    client.get(id, asked, stop.signal, make).then(
      (data) => setState({ url, about, data }),
      (cause: unknown) => {
        if (stop.signal.aborted) return;
        const problem = cause instanceof Problem ? cause : new Problem(0, "Unreadable answer", String(cause));
        setState((before) => (before.about === about ? { ...before, url, problem, everything } : { url, about, problem, everything }));
      },
    );
    return () => stop.abort();
  }, [id, url, about, make, round, everything]);

  const current = state.url === url;
  const events = useLiveState() === "open" && typeof fresh === "object";
  const clock = typeof fresh === "number" ? fresh : fresh.every;
  const every = clock && events ? RARELY_MS : clock;
  useEvents(typeof fresh === "object" ? fresh : undefined, url, current, again);
  useEffect(() => {
    if (!every || !url) return;
    const timer = setInterval(again, every);
    return () => clearInterval(timer);
  }, [every, url, again]);

  const kept = about === null || state.about === about ? state.data : undefined;
  const data = kept ?? (parameters ? client.last<R, T>(id, parameters) : undefined);
  // A refusal of an earlier login is not shown while the present login asks.
  return { data, problem: current && state.everything === everything ? state.problem : undefined, loading: !current, again };
}

export interface Act<A extends unknown[], T> {
  run: (...with_: A) => Promise<T | undefined>; // undefined: it failed, and `problem` says why
  busy: boolean;
  problem: Problem | undefined;
  clear: () => void;
}

/** An action of a person, with its result. */
export function useAct<A extends unknown[], T>(act: (...with_: A) => Promise<T>): Act<A, T> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const newest = useRef(act);
  newest.current = act;
  const run = useCallback(async (...with_: A) => {
    setBusy(true);
    setProblem(undefined);
    try {
      return await newest.current(...with_);
    } catch (cause) {
      setProblem(cause instanceof Problem ? cause : new Problem(0, "", String(cause)));
      return undefined;
    } finally {
      setBusy(false);
    }
  }, []);
  const clear = useCallback(() => setProblem(undefined), []);
  return { run, busy, problem, clear };
}
