// window.ts - the part of a session that plots show. The address has it in the timeline's form, so
// that both views show the same part.
import { useCallback, useMemo } from "react";
import { stepFor } from "../../format/metrics";
import { useQuery } from "../../router/router";
import { rangeOf, rangeText } from "../../timeline/view";

export interface Window {
  from: number; // ns since the session's start
  to: number;
  step: number; // ns of a point
  part: boolean; // not the whole session
}

export function windowOf(text: string, length: number): Window {
  const asked = rangeOf(text);
  const from = Math.max(0, asked?.from ?? 0);
  const to = Math.min(length, asked?.to ?? length);
  if (!asked || to <= from) return { from: 0, to: length, step: stepFor(length), part: false };
  return { from, to, step: stepFor(to - from), part: true };
}

/** The window, and a function that chooses another one: in s since the session's start; without
 * arguments: the whole session. */
export function useWindow(length: number): [Window, (from?: number, to?: number) => void] {
  const [text, setText] = useQuery("at");
  const window = useMemo(() => windowOf(text, length), [text, length]);
  const choose = useCallback((from?: number, to?: number) => setText(from === undefined || to === undefined ? "" : rangeText({ from: from * 1e9, to: to * 1e9 })), [setText]);
  return [window, choose];
}
