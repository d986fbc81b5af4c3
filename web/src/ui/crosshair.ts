// crosshair.ts - the time of a session that is under the pointer, for all pictures of the session:
// plots of one page, the view that is opened next, and other windows of this browser. The time
// stays when the pointer leaves.
export interface Crosshair {
  session: string;
  at: number; // ns since the session's start
}

type Listener = (crosshair: Crosshair) => void;

const listeners = new Set<Listener>();
let last: Crosshair | null = null;
const windows = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("gpufl.crosshair");
if (windows)
  windows.onmessage = (event: MessageEvent<Crosshair>) => {
    last = event.data;
    listeners.forEach((listener) => listener(event.data));
  };

/** Notifies all listeners except `from`. */
export function point(crosshair: Crosshair, from?: Listener): void {
  last = crosshair;
  windows?.postMessage(crosshair);
  listeners.forEach((listener) => listener !== from && listener(crosshair));
}

/** The time of this session that the pointer was on last; null: none. */
export const pointedAt = (session: string): number | null => (last?.session === session ? last.at : null);

export function onPoint(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
