// theme.ts - light or dark: the user's choice, or else the system's preference. uPlot draws with
// its own colours, so that it asks `token` and draws again when the theme changes.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
const KEY = "gpufl.theme";
const listeners = new Set<() => void>();

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // storage is switched off
  }
}

export function current(): Theme {
  return stored() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

export function apply(): void {
  document.documentElement.dataset.theme = current();
}

export function toggle(): void {
  try {
    localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
  } catch {
    return;
  }
  apply();
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  // Another tab of the browser changed the choice.
  const elsewhere = () => {
    apply();
    listener();
  };
  window.addEventListener("storage", elsewhere);
  listeners.add(listener);
  return () => {
    window.removeEventListener("storage", elsewhere);
    listeners.delete(listener);
  };
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** px of a plot, which grow with the letters of a wide screen. */
export const grown = (px: number): number => Math.round((px * (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16)) / 16);

/** px of the page's letters. They grow with the width of a wide screen, and plots are drawn again with them. */
export function useLetters(): number {
  return useSyncExternalStore(subscribeSize, () => parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
}

function subscribeSize(listener: () => void): () => void {
  window.addEventListener("resize", listener);
  return () => window.removeEventListener("resize", listener);
}

/** The letters of a plot's axes. */
export const axisFont = (): string => `${grown(12)}px ${token("--font")}`;

export const AXIS_GAP = 7; // px below a plot: the first text there does not touch the lowest text to the left of the plot
const LETTER = 7.5; // px of a wide letter of an axis, before the letters grow
const FEWEST = 6; // letters: "100 ms" is a text between 0 and 1.00 s
const GAP = 12; // px between two texts

/** px from a mark of an axis along the page to the next, so that no text of the axis touches another. */
export const spaceFor =
  (show: (value: number) => string) =>
  (_plot: unknown, _axis: number, low: number, high: number): number =>
    grown(GAP + LETTER * Math.max(FEWEST, ...[low, (low + high) / 2, high].map((value) => show(value).length)));
