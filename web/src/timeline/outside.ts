// outside.ts - the parts of other pages that the timeline shows: the source window and the flame
// graph. The page passes them in, because this folder does not import pages.
import { createContext, type ComponentType } from "react";

export interface FlameStack {
  frames: readonly string[]; // outermost first
  ns: number; // of samples: their number
}

export interface Outside {
  Source: ComponentType<{ session: string; file: string; line: number; evidence: Record<string, number | null>; onClose: () => void }> | null;
  Flame: ComponentType<{ stacks: readonly FlameStack[]; name: string; samples: boolean; fullOf: (name: string) => string }> | null;
}

export const OutsideContext = createContext<Outside>({ Source: null, Flame: null });
