// run.ts - the sessions of a run in their order, and what each of its passes knows of a kernel.
import { ENGINE_RECORDS } from "../../api/options";
import type { RowSession } from "../../api/schema";
import { list, number, raw, word, type Raw } from "../../format/raw";
import { passOf } from "../session/facts";

/** By pass, then by host and start: the processes of a pass in the order in which they began. */
export const inOrder = (rows: readonly RowSession[]): RowSession[] =>
  [...rows].sort((a, b) => (passOf(a)?.pass ?? 0) - (passOf(b)?.pass ?? 0) || a.host.localeCompare(b.host) || Number(BigInt(a.started ?? 0) - BigInt(b.started ?? 0)) || (a.id < b.id ? -1 : 1));

/** When the first of the sessions began; null: unknown. */
export const earliest = (rows: readonly RowSession[]): string | null =>
  rows.reduce<string | null>((first, { started }) => (started !== null && (first === null || BigInt(started) < BigInt(first)) ? started : first), null);

export type Gift = "times" | "samples" | "instructions" | "counters";

const GIFTS: Readonly<Record<string, Gift>> = { pc_sample: "samples", sass_metric: "instructions", counter: "counters" };

/** What a session's engine records (docs/report.md, passes): times only where the engine adds nothing. */
export function giftsOf(engine: string): Gift[] {
  const records = Object.keys(ENGINE_RECORDS).filter((name) => engine.includes(name)).flatMap((name) => ENGINE_RECORDS[name] ?? []);
  const gifts = records.flatMap((record) => GIFTS[record] ?? []);
  return gifts.length ? gifts : records.includes("kernel") ? ["times"] : [];
}

/** The session's process in each pass: the process with the session's position in the order of
 * the pass. One session a pass. */
export function passesOf(rows: readonly RowSession[], session: string): RowSession[] {
  const ordered = inOrder(rows);
  const mine = ordered.find((row) => row.id === session);
  const pass = mine && passOf(mine);
  if (!mine || !pass) return [];
  const of = (n: number): RowSession[] => ordered.filter((row) => passOf(row)?.pass === n);
  const place = of(pass.pass).indexOf(mine);
  return Array.from({ length: pass.passes }, (_, at) => of(at + 1)[place]).filter((row) => row !== undefined);
}

/** The session with the times: the Trace pass, else the session itself. */
export const timesOf = (passes: readonly RowSession[]): RowSession | undefined => passes.find((row) => giftsOf(row.engine).includes("times"));

/** Whether a session's shares are those of a program that its engine slowed: a pass of a run in which another pass has the times. */
export const isSlowed = (row: RowSession, times: RowSession | undefined): boolean => times !== undefined && passOf(row) !== null && !giftsOf(row.engine).includes("times");

const SAMPLED = ["samples", "top_reason", "top_samples"];

/** The instructions of one function from two passes: each number comes from the pass that has
 * it. null: the passes ran two builds. */
function joined(a: Raw, b: Raw): Raw | null {
  const rows = new Map<number | null, Raw>(list(a.instructions).map((row) => [number(row.offset), row]));
  for (const row of list(b.instructions)) {
    const before = rows.get(number(row.offset));
    if (before && word(before.text) && word(row.text) && before.text !== row.text) return null;
    const next: Raw = { ...(before ?? {}) };
    for (const [key, value] of Object.entries(row)) {
      const known = before && before[key] !== null && before[key] !== undefined && before[key] !== "";
      if (!known || (SAMPLED.includes(key) && !number(before.samples) && number(row.samples))) next[key] = value;
    }
    rows.set(number(row.offset), next);
  }
  return { ...b, ...a, instructions: [...rows.values()].sort((x, y) => (number(x.offset) ?? 0) - (number(y.offset) ?? 0)) };
}

const keyOf = (row: Raw): string => JSON.stringify([row.symbol, row.arch]);

/** Functions of all passes. Functions of two passes are one if their names are unique and their
 * instructions are equal. */
function codeOf(parts: readonly unknown[]): Raw[] {
  const found = new Map<string, Raw[]>();
  for (const part of parts) {
    const mine = new Map<string, Raw[]>();
    for (const row of list(raw(part).code)) mine.set(keyOf(row), [...(mine.get(keyOf(row)) ?? []), row]);
    for (const [key, rows] of mine) {
      const before = found.get(key);
      const one = before?.length === 1 && rows.length === 1 ? joined(before[0]!, rows[0]!) : null;
      if (!before) found.set(key, rows);
      else if (one) found.set(key, [one]);
    }
  }
  return [...found.values()].flat();
}

const first = (parts: readonly unknown[], key: "samples" | "instructions"): unknown => parts.map((part) => raw(part)[key]).find((value) => list(raw(value).kernels).length > 0) ?? raw(parts[0])[key];

/** The parts `profile` of several passes as one: each number comes from one pass, and nothing is
 * added up. */
export function together(parts: readonly unknown[]): unknown {
  if (parts.length < 2) return parts[0];
  return { samples: first(parts, "samples"), instructions: first(parts, "instructions"), counters: parts.flatMap((part) => list(raw(part).counters)), code: codeOf(parts), code_left_out: Math.max(...parts.map((part) => number(raw(part).code_left_out) ?? 0)) };
}

/** The parts in which a kernel has rows. */
export function recordedOf(part: unknown, symbol: string): Record<"stalls" | "counts" | "counters", boolean> {
  const has = (rows: readonly Raw[], key = "symbol"): boolean => rows.some((row) => word(row[key]) === symbol);
  return { stalls: has(list(raw(raw(part).samples).kernels)), counts: has(list(raw(raw(part).instructions).kernels)), counters: has(list(raw(part).counters), "kernel_symbol") };
}
