// stream.ts - live events of the server over one lasting connection: parsing, and reconnecting.
// EventSource is not used, because it hides why a connection was refused; 401 ends the stream until
// somebody logs in.
export interface LiveEvent {
  name: string; // of the event: session, report, lost, …
  data: Record<string, unknown>;
}

export type LiveState = "open" | "closed" | "denied";

export interface Receiver {
  state: (state: LiveState) => void;
  event: (event: LiveEvent) => void;
}

/** Takes pieces of a text/event-stream, returns whole events. */
export function makeParser(event: (event: LiveEvent) => void): (piece: string) => void {
  let rest = "";
  let name = "";
  let data: string[] = [];
  function line(text: string): void {
    if (text === "") {
      if (data.length) event({ name: name || "message", data: objectOf(data.join("\n")) });
      name = "";
      data = [];
    } else if (text.startsWith("event:")) name = text.slice(6).trim();
    else if (text.startsWith("data:")) data.push(text.slice(5).replace(/^ /, ""));
  }
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    lines.forEach(line);
  };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const FIRST_MS = 500;
const MOST_MS = 30_000;

/** Listens until the signal aborts. After a failure it connects again; the pauses grow. */
export function listen(url: string, receiver: Receiver): () => void {
  const stop = new AbortController();
  let pause = FIRST_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function once(): Promise<void> {
    const answer = await fetch(url, { signal: stop.signal, cache: "no-store", credentials: "same-origin", headers: { Accept: "text/event-stream" } });
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) {
      receiver.state("denied");
      stop.abort();
      return;
    }
    if (!answer.ok || !answer.body) throw new Error(String(answer.status));
    receiver.state("open");
    pause = FIRST_MS;
    const parse = makeParser(receiver.event);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) parse(piece.value);
  }

  function run(): void {
    once()
      .catch(() => undefined)
      .then(() => {
        if (stop.signal.aborted) return;
        receiver.state("closed");
        timer = setTimeout(run, pause);
        pause = Math.min(pause * 2, MOST_MS);
      });
  }
  run();
  return () => {
    clearTimeout(timer);
    stop.abort();
  };
}
