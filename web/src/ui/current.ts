// current.ts - scrolls a bar of links that is wider than a phone to the current link.
import { useEffect, useRef, type RefObject } from "react";

/** The reference that the bar takes; `shown` changes with the current link. */
export function useCurrent(shown: unknown): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const [here, room] = [bar.current?.querySelector("[aria-current]")?.getBoundingClientRect(), bar.current?.getBoundingClientRect()];
    if (here && room && (here.left < room.left || here.right > room.right)) bar.current!.scrollLeft += here.left + here.width / 2 - (room.left + room.width / 2);
  }, [shown]);
  return bar;
}
