// live.ts - live events of the server, for pages. A SharedWorker holds one connection for the whole
// browser. Where there is no SharedWorker (some phones), or the SharedWorker fails, this tab holds
// its own connection. A visitor with a link's token has no live events: `live.state` stays closed,
// and pages ask every few seconds.
import { useEffect, useRef, useSyncExternalStore } from "react";
import { client } from "./client";
import type { FromTab, ToTab } from "./live.worker";
import { listen, type LiveEvent, type LiveState } from "./stream";
import { who } from "./who";

export type { LiveEvent } from "./stream";
type Listener = (event: LiveEvent) => void;

/** The name of the event after which events arrive. */
export const BEGAN = "began";

const listeners = new Set<Listener>();
const watchers = new Set<() => void>();
let state: LiveState = "closed";
let opened = false; // once, at this address
let url = "";
let hangUp: (() => void) | null = null;

function receive(message: ToTab): void {
  if ("event" in message) listeners.forEach((listener) => listener(message.event));
  else if (message.state !== state) {
    // Events before a connection are unknown, so each view asks again. Before
    // the first connection, only what may have changed since it was asked is asked again, a little later.
    const name = opened ? "lost" : BEGAN;
    state = message.state;
    watchers.forEach((watcher) => watcher());
    if (state !== "open") return;
    opened = true;
    listeners.forEach((listener) => listener({ name, data: {} }));
  }
}

const alone = (address: string): (() => void) => listen(address, { state: (now) => receive({ state: now }), event: (event) => receive({ event }) });

function shared(address: string): () => void {
  if (typeof SharedWorker === "undefined") return alone(address);
  let end: () => void;
  const worker = new SharedWorker(new URL("./live.worker.ts", import.meta.url), { type: "module", name: address });
  const say = (what: FromTab) => worker.port.postMessage(what);
  const bye = () => say("bye");
  const back = (event: PageTransitionEvent) => event.persisted && say("hello");
  worker.onerror = () => {
    end();
    hangUp = alone(address);
  };
  worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => receive(data);
  window.addEventListener("pagehide", bye);
  window.addEventListener("pageshow", back);
  say("hello");
  end = () => {
    window.removeEventListener("pagehide", bye);
    window.removeEventListener("pageshow", back);
    bye();
    worker.port.close();
  };
  return end;
}

function connect(): void {
  const wanted = who.link || who.expired ? "" : client.urlOf("live", {});
  if (wanted === url && state !== "denied") return;
  hangUp?.();
  hangUp = null;
  receive({ state: "closed" });
  opened = false;
  url = wanted;
  if (wanted) hangUp = shared(wanted);
}

const watch = (watcher: () => void): (() => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

/** Stays connected while the dashboard is open. Connects again when somebody logs in or changes
 * the workspace. */
export function useConnection(known: boolean): void {
  useEffect(() => {
    if (!known) return;
    connect();
    return who.subscribe(connect) as () => void;
  }, [known]);
}

export const useLiveState = (): LiveState => useSyncExternalStore(watch, () => state);

export const subscribe = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Calls the listener with every event. The listener may be another function at each render. */
export function useLive(listener: Listener): void {
  const newest = useRef(listener);
  newest.current = listener;
  useEffect(() => subscribe((event) => newest.current(event)), []);
}
