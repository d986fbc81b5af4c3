// Canvases.tsx - what the engine draws on: the lanes with their scroll bar, and above them the
// miniature of the whole time. Input over them is the engine's.
import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import { timelineText as text } from "../text/timeline";
import { token, useTheme } from "../ui/theme";
import { coloursOf } from "./colours";
import type { Engine } from "./engine";
import { listen, type Commands } from "./input";
import { workerLine } from "./line";

interface Boxes {
  canvas: RefObject<HTMLCanvasElement | null>;
  scroller: RefObject<HTMLDivElement | null>;
  mini: RefObject<HTMLCanvasElement | null>;
}

/** Connects the engine with the boxes of Canvases, with its worker and with the input, as long as
 * they are in the page. */
export function useCanvases(engine: Engine, commands: Commands): Boxes {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const mini = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const newest = useRef(commands);
  newest.current = commands;
  useEffect(() => {
    engine.open(workerLine);
    engine.attach({ canvas: canvas.current!, scroller: scroller.current!, mini: mini.current! });
    const end = listen(engine, scroller.current!, mini.current!, {
      hit: (forward) => newest.current.hit(forward),
      event: (forward) => newest.current.event(forward),
      clear: () => newest.current.clear(),
      ...(newest.current.open ? { open: (row, time) => newest.current.open?.(row, time) } : {}),
    });
    return () => {
      end();
      engine.close();
    };
  }, [engine]);
  useEffect(() => engine.setColours(coloursOf(token)), [engine, theme]);
  useEffect(() => {
    Object.assign(window, { gpuflTimeline: engine }); // bench/web and the tests read its frames
  }, [engine]);
  return { canvas, scroller, mini };
}

/** label: of the lanes, for screen readers. children: what stands over the canvases. */
export function Canvases({ boxes, label, children }: { boxes: Boxes; label: string; children: ReactNode }) {
  return (
    <div className="panel tl-stage">
      <canvas className="tl-mini" ref={boxes.mini} role="img" aria-label={text.mini} />
      <div className="tl-scroll" ref={boxes.scroller} tabIndex={0} role="application" aria-label={label} aria-describedby="tl-lanes">
        <canvas className="tl-canvas" ref={boxes.canvas} aria-hidden="true" />
        <div />
      </div>
      {children}
    </div>
  );
}
