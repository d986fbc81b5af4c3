// view.ts - the shown window of time. Times are ns since the session's start as doubles: whole ns
// are exact up to 2^53 of them, 104 days, and a window is never narrower than SHORTEST.
export interface View {
  from: number;
  to: number;
}

export const SHORTEST = 20; // ns; one ns is then about as wide as a finger
export const EXACT = Number.MAX_SAFE_INTEGER;

/** A view within the bounds, at least SHORTEST wide; a wider view than the bounds is cut to
 * them. */
export function bounded(view: View, bounds: View): View {
  if (!Number.isFinite(view.to - view.from)) return bounded(bounds, bounds);
  const room = Math.max(SHORTEST, bounds.to - bounds.from);
  const margin = room * 0.02; // so that the ends are visible
  const width = Math.min(Math.max(SHORTEST, view.to - view.from), room + 2 * margin);
  let { from } = view;
  if (width !== view.to - view.from) from = (view.from + view.to) / 2 - width / 2;
  from = Math.max(bounds.from - margin, Math.min(from, bounds.to + margin - width));
  return { from, to: from + width };
}

/** Zooms around a time, which stays in its place on the screen; factor < 1: closer. */
export function zoomed(view: View, at: number, factor: number): View {
  const width = view.to - view.from;
  const next = Math.max(SHORTEST, width * factor);
  const part = (at - view.from) / width;
  const from = at - part * next;
  return { from, to: from + next };
}

export const panned = (view: View, by: number): View => ({ from: view.from + by, to: view.to + by });

/** An event with time around it, so that it fills about a third of the width. */
export function around(start: number, duration: number): View {
  const width = Math.max(SHORTEST, duration * 3);
  const middle = start + duration / 2;
  return { from: middle - width / 2, to: middle + width / 2 };
}

const digits = (text: string | null): number | null => (text !== null && /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null);

/** "120-4500": whole ns; any other text is not a range. */
export function rangeOf(text: string | null): View | null {
  const found = /^(-?\d{1,16})-(-?\d{1,16})$/.exec(text ?? "");
  const from = digits(found?.[1] ?? null);
  const to = digits(found?.[2] ?? null);
  return from !== null && to !== null && to > from ? { from, to } : null;
}

export const rangeText = (view: View): string => `${Math.floor(view.from)}-${Math.ceil(view.to)}`;
