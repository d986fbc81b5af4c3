// live.worker.ts - the connection for live events that all tabs of a browser share: a SharedWorker,
// to which every tab of this dashboard has a port. The worker's name is the address that it listens
// to.
import { listen, type LiveEvent, type LiveState } from "./stream";

export type ToTab = { state: LiveState } | { event: LiveEvent };
export type FromTab = "hello" | "bye";

interface Scope {
  name: string;
  onconnect: ((event: MessageEvent) => void) | null;
}

const scope = globalThis as unknown as Scope;
const ports = new Set<MessagePort>();
let state: LiveState = "closed";
let stop: (() => void) | null = null;

const broadcast = (message: ToTab): void => ports.forEach((port) => port.postMessage(message));

function start(): void {
  if (stop && state !== "denied") return;
  stop?.();
  state = "closed";
  stop = listen(scope.name, {
    state: (now) => {
      state = now;
      broadcast({ state });
    },
    event: (event) => broadcast({ event }),
  });
}

scope.onconnect = (connected) => {
  const port = connected.ports[0]!;
  port.onmessage = ({ data }: MessageEvent<FromTab>) => {
    if (data === "bye") {
      ports.delete(port);
      if (ports.size === 0) {
        stop?.();
        stop = null;
        state = "closed";
      }
      return;
    }
    ports.add(port);
    start();
    port.postMessage({ state } satisfies ToTab);
  };
};
