// report.ts - the columns of the table besides a kernel's times: occupancy and its limit,
// registers, spills, and why its warps wait; by the kernel's name in the program.
import { mangledOf, nameOf, rowsOf } from "../../api/columns";
import { ENGINE_RECORDS } from "../../api/options";
import type { AnswerConfigs } from "../../api/schema";
import { list, number, raw, word } from "../../format/raw";
import { occupancyOf } from "./deep";
import { PICKED } from "./profile";

export interface Reported {
  occupancy: number | null; // 0 to 1; the least of its launch configurations
  limiter: string; // of that configuration
  registers: number | null; // of a thread, the most of its launch configurations
  local: number | null; // bytes of a thread, the most of its launch configurations
  stall: number | null; // part of the samples
  reason: string;
}

const NONE: Reported = { occupancy: null, limiter: "", registers: null, local: null, stall: null, reason: "" };

const most = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b));

function shapesBySymbol(configs: AnswerConfigs): Map<string, Reported> {
  const found = new Map<string, Reported>();
  for (const row of rowsOf(configs)) {
    const symbol = mangledOf(configs, row.name) ?? "";
    const before = found.get(symbol) ?? NONE;
    const occupancy = occupancyOf(row);
    const less = occupancy !== null && (before.occupancy === null || occupancy < before.occupancy);
    found.set(symbol, { ...before, ...(less ? { occupancy, limiter: nameOf(configs, row.limiter) ?? "" } : {}), registers: most(before.registers, row.registers), local: most(before.local, row.local) });
  }
  return found;
}

/** profile: the report's samples, if there are any. */
export function reportedBySymbol(configs: AnswerConfigs | undefined, profile: unknown): Map<string, Reported> {
  const found = configs ? shapesBySymbol(configs) : new Map<string, Reported>();
  const samples = new Map<string, { all: number; most: number; reason: string }>();
  for (const row of list(raw(raw(profile).samples).kernels)) {
    const symbol = word(row.symbol);
    const reason = word(row.reason);
    const n = number(row.samples) ?? 0;
    const sum = samples.get(symbol) ?? { all: 0, most: 0, reason: "" };
    sum.all += n;
    if (n > sum.most && !PICKED.has(reason)) [sum.most, sum.reason] = [n, reason];
    samples.set(symbol, sum);
  }
  for (const [symbol, { all, most, reason }] of samples) if (reason) found.set(symbol, { ...(found.get(symbol) ?? NONE), stall: most / all, reason });
  return found;
}

/** Engines that sample warps, count instructions, or read hardware counters: more than kernels. */
export const profiled = (engine: string): boolean =>
  Object.entries(ENGINE_RECORDS).some(([name, records]) => engine.includes(name) && records.some((record) => record !== "kernel"));
