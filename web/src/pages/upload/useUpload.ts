// useUpload.ts - the list of sessions to send and the state of each. Sessions are sent one after
// the other; sending can be stopped and continued.
import { useCallback, useEffect, useRef, useState } from "react";
import { client, Problem } from "../../api/client";
import { upload as text } from "../../text/upload";
import { leftOutOf, sessionsIn, type Found, type Session } from "./parts";
import { Failure, noProgress, sendSession, type Progress, type Remote } from "./send";

export type State = "waiting" | "sending" | "done" | "failed" | "stopped";

export interface Item {
  session: Session;
  state: State;
  progress: Progress;
  failure: string;
}

const remote: Remote = {
  async positions(session) {
    const { status, answer } = await client.body("session_positions", { session }, {}, null);
    if (status === 404) return new Map(); // the server has nothing of the session yet
    if (status === 401 || status === 403) throw new Failure(text.failures.denied, true);
    if (status !== 200) throw new Failure(text.failures.refused(status, String(answer.detail ?? "")));
    const rows = Array.isArray(answer.channels) ? (answer.channels as Record<string, unknown>[]) : [];
    return new Map(rows.map((row) => [String(row.channel), Number(row.offset)]));
  },
  stream: (fields, body, signal) => client.body("events_stream", {}, fields, body, signal),
  complete: (session) => client.body("session_complete", {}, { "X-GpuFlight-Session-Id": session }, null),
};

function wordsOf(cause: unknown, session: Session): string {
  if (cause instanceof Failure) return cause.message;
  if (cause instanceof Problem) return cause.status === 0 ? text.failures.network : cause.status === 401 ? text.failures.denied : cause.message;
  if (cause instanceof DOMException) return text.failures.unreadable(session.app || session.id);
  return String(cause);
}

/** The list with the sessions that were found. One that is there already is replaced, unless it is
 * being sent. */
function merged(now: readonly Item[], sessions: readonly Session[]): Item[] {
  const kept = now.filter((item) => item.state === "sending" || !sessions.some(({ id }) => id === item.session.id));
  const fresh = sessions.filter(({ id }) => !kept.some((item) => item.session.id === id));
  return [...kept, ...fresh.map((session): Item => ({ session, state: "waiting", progress: noProgress(), failure: "" }))];
}

/** Whether the next session would fail for the same reason. */
const concernsAll = (cause: unknown): boolean => (cause instanceof Failure && cause.denied) || (cause instanceof Problem && (cause.status === 0 || cause.status === 401));

/** The list of sessions, and what was found in the files that were added last. */
function useItems() {
  const [items, setItems] = useState<Item[]>([]);
  const [reading, setReading] = useState(false);
  const [nothing, setNothing] = useState(0); // files among which there was no session
  const [leftOut, setLeftOut] = useState<string[]>([]); // parts that this page cannot send
  const add = useCallback(async (files: Promise<Found[]> | Found[]) => {
    setReading(true);
    setNothing(0);
    setLeftOut([]);
    try {
      const found = await files;
      const sessions = await sessionsIn(found);
      setLeftOut(leftOutOf(found));
      if (sessions.length === 0) setNothing(found.length || 1);
      setItems((now) => merged(now, sessions));
    } finally {
      setReading(false);
    }
  }, []);
  return {
    items,
    reading,
    nothing,
    leftOut,
    add,
    change: useCallback((id: string, values: Partial<Item>) => setItems((now) => now.map((item) => (item.session.id === id ? { ...item, ...values } : item))), []),
    remove: useCallback((id: string) => setItems((now) => now.filter((item) => item.session.id !== id)), []),
    clear: useCallback(() => {
      setItems([]);
      setLeftOut([]);
    }, []),
  };
}

/** Closing the tab would cut the sending off; the browser asks first. */
function useQuestion(running: boolean): void {
  useEffect(() => {
    if (!running) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [running]);
}

export function useUpload(complete: boolean) {
  const { change, ...list } = useItems();
  const [running, setRunning] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const newest = useRef(list.items);
  newest.current = list.items;
  const ended = useRef(complete);
  ended.current = complete;

  const start = useCallback(async () => {
    const control = new AbortController();
    stop.current = control;
    setRunning(true);
    for (const { session, state } of newest.current) {
      if (control.signal.aborted) break;
      if (state === "done") continue;
      const { id } = session;
      change(id, { state: "sending", failure: "", progress: noProgress() });
      try {
        await sendSession(session, remote, ended.current, (progress) => change(id, { progress }), control.signal);
        change(id, { state: "done" });
      } catch (cause) {
        if (control.signal.aborted) change(id, { state: "stopped" });
        else change(id, { state: "failed", failure: wordsOf(cause, session) });
        if (concernsAll(cause)) break;
      }
    }
    setRunning(false);
  }, [change]);

  useQuestion(running);
  useEffect(() => () => stop.current?.abort(), []);
  return { ...list, running, start, stop: useCallback(() => stop.current?.abort(), []) };
}
