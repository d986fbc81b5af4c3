// room.ts - how many letters of a name the rows of a table show: a name that is cut to differ from others
// (pages/kernels/apart.ts) is shown whole where there is room for it.
import { createContext, useEffect, useState, type RefObject } from "react";
import { grown, token } from "./theme";

/** Letters that a row of the table around a name shows; 0: as few as any table shows. Around names that are never cut
 * off it is Infinity. */
export const Room = createContext(0);

const LINES = 2; // of a row
const BROKEN = 12; // letters that a line may lose to a word that goes on below
const BESIDE = 76; // px of a cell that are its edges and the buttons of a name

function lettersIn(head: Element): number {
  const pen = document.createElement("canvas").getContext("2d");
  const size = parseFloat(getComputedStyle(head.closest("table") ?? head).fontSize) * 0.93; // as .mono in base.css
  if (!pen) return 0;
  pen.font = `600 ${size}px ${token("--mono")}`;
  const line = Math.floor((head.clientWidth - grown(BESIDE)) / pen.measureText("m").width);
  return Math.max(0, line, LINES * line - BROKEN);
}

/** The room in the column that leads; measured when its width changes. */
export function useRoom(box: RefObject<HTMLElement | null>, columns: unknown): number {
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const head = box.current?.querySelector("thead .lead");
    if (!head) return;
    const watch = new ResizeObserver(() => setRoom(lettersIn(head)));
    watch.observe(head);
    return () => watch.disconnect();
  }, [box, columns]);
  return room;
}
