// line.ts - the worker as the source that pieces.ts expects.
import type { Line } from "./pieces";
import { who } from "../api/who";
import type { Asked, Reply } from "./protocol";

export function workerLine(): Line {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "timeline" });
  return {
    send: (request) => worker.postMessage({ ...request, as: { workspace: who.workspace, link: who.link } } satisfies Asked),
    onReply: (take) => {
      worker.onmessage = (event: MessageEvent<Reply>) => {
        if ("wrong" in event.data && event.data.wrong.status === 401) who.refused();
        take(event.data);
      };
    },
    close: () => worker.terminate(),
  };
}
