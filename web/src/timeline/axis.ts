// axis.ts - ticks of the time axis. If times have more digits than fit, ticks count from a base
// that is written once at the left: "1.234 567 s" and "+20 ns".
import { grouped } from "../format/format";

export interface Tick {
  at: number; // ns
  text: string;
}

export interface Axis {
  base: number; // ns
  baseText: string; // "": ticks are times since the session's start
  step: number;
  ticks: Tick[];
}

const UNITS = [
  { from: 1e9, unit: "s", ns: 1e9 },
  { from: 1e6, unit: "ms", ns: 1e6 },
  { from: 1e3, unit: "µs", ns: 1e3 },
  { from: 0, unit: "ns", ns: 1 },
] as const;

/** 1, 2 or 5 times a power of ten, at least 1 ns. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const part = Math.max(1, least) / power;
  return Math.round((part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power);
}

function amount(ns: number, step: number): string {
  const size = Math.max(Math.abs(ns), step);
  const { unit, ns: one } = UNITS.find((u) => size >= u.from)!;
  const decimals = Math.max(0, Math.ceil(Math.log10(one / step) - 1e-9));
  return ns === 0 ? "0" : `${grouped(Number((ns / one).toFixed(decimals)))} ${unit}`;
}

/** A time with every digit: "1.234 567 890 s". */
export function exactTime(ns: number): string {
  const whole = Math.floor(Math.abs(ns) / 1e9);
  const rest = String(Math.round(Math.abs(ns) - whole * 1e9)).padStart(9, "0");
  return `${ns < 0 ? "-" : ""}${grouped(whole)}.${rest.slice(0, 3)}\u202f${rest.slice(3, 6)}\u202f${rest.slice(6)} s`;
}

const DIGITS = 1e4; // ticks from 0 that few digits still distinguish

export function axisOf(from: number, to: number, px: number, apart = 110): Axis {
  const step = niceStep(((to - from) / Math.max(1, px)) * apart);
  const far = Math.max(Math.abs(from), Math.abs(to)) / step > DIGITS;
  const round = 10 ** Math.ceil(Math.log10(to - from));
  const base = far ? Math.floor(from / round) * round : 0;
  const ticks: Tick[] = [];
  for (let i = Math.ceil((from - base) / step); base + i * step <= to && ticks.length < 200; i++) {
    const at = base + i * step;
    ticks.push({ at, text: far ? `+${amount(i * step, step)}` : amount(at, step) });
  }
  return { base, baseText: far ? exactTime(base) : "", step, ticks };
}
