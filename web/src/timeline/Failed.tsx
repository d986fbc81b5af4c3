// Failed.tsx - says that data of the timeline could not be loaded, and asks for it again.
import { useSyncExternalStore } from "react";
import { timelineText as text } from "../text/timeline";
import type { Engine } from "./engine";

export function Failed({ engine }: { engine: Engine }) {
  const { problem } = useSyncExternalStore(engine.subscribe, () => engine.shown);
  if (!problem) return null;
  return (
    <span className="tl-problem" role="alert">
      {text.problem} {problem.message}{" "}
      <button type="button" className="button" onClick={() => engine.again()}>
        {text.again}
      </button>
    </span>
  );
}
