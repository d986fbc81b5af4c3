// Stack.tsx - the source line of an event as a button that opens the source window, and the event's stack.
import { useContext } from "react";
import { placeOf, placeText } from "../format/place";
import { useQuery } from "../router/router";
import { timelineText as text } from "../text/timeline";
import type { Engine } from "./engine";
import type { Place } from "./lines";
import { OutsideContext } from "./outside";
import { evidenceOf, useWaitLine } from "./waitLine";

export const LINE = "line"; // parameter of the address

export function LineButton({ place }: { place: Place | null }) {
  const [, open] = useQuery(LINE);
  if (!place) return <span className="quiet">{text.noLine}</span>;
  const { file, line } = place;
  return (
    <>
      {file && line !== null ? (
        <button type="button" className="place" title={file} onClick={() => open(placeText({ file, line }))}>
          {place.place}
        </button>
      ) : (
        <span className="place">{place.place}</span>
      )}
      {place.function && <span className="quiet mono tl-function"> {place.function}</span>}
    </>
  );
}

export function StackList({ engine, stack }: { engine: Engine; stack: number }) {
  const frames = engine.scene.lines.framesOf(stack);
  if (frames.length === 0) return null;
  return (
    <div className="tl-stack">
      <h3 className="small quiet">{text.stackOf(frames.length)}</h3>
      <div className="tl-frames" tabIndex={0} role="region" aria-label={text.stack}>
        <ol className="mono small">
          {frames.map((frame, at) => (
            <li key={at}>{frame}</li>
          ))}
        </ol>
      </div>
    </div>
  );
}

/** The source window, if the address names a line; above the text are the numbers of the waits
 * at the line. */
export function SourceWindow({ engine }: { engine: Engine }) {
  const { Source } = useContext(OutsideContext);
  const [opened, setOpened] = useQuery(LINE);
  const place = placeOf(opened);
  const waits = useWaitLine(engine.session, place);
  if (!Source || !place) return null;
  return <Source session={engine.session} file={place.file} line={place.line} evidence={waits ? evidenceOf(waits) : {}} onClose={() => setOpened("")} />;
}
