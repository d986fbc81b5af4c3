// deep.ts - of the report's parts what concerns one kernel: configurations with their occupancy, stalls
// by reason, and instructions by line. docs/report.md describes them; unknown stays null.
import { list, number, raw, word, type Raw } from "../../format/raw";

export interface Limit {
  resource: string; // warps, registers, shared_mem, blocks
  blocks: number | null; // null: no limit
}

export interface Config {
  grid: string;
  block: string;
  calls: number | null;
  total: number | null;
  registers: number | null;
  shared: number | null;
  local: number | null;
  limits: Limit[];
  limiter: string;
  occupancy: number | null; // 0 to 1
  waves: number | null;
}

const dims = (row: Raw, of: string): number[] => ["x", "y", "z"].map((axis) => number(row[`${of}_${axis}`]) ?? 1);

function configOf(row: Raw, devices: Raw[]): Config {
  const grid = dims(row, "grid");
  const warps = number(row.occ_warps);
  const most = number(row.occ_max_warps);
  const resident = number(row.occ_blocks);
  const sms = number(devices.find((device) => device.index === row.device)?.sm_count);
  const sum = (a: number | null, b: number | null) => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));
  return {
    grid: grid.join("×"),
    block: dims(row, "block").join("×"),
    calls: number(row.count),
    total: number(row.total_ns),
    registers: number(row.registers),
    shared: sum(number(row.shared_static), number(row.shared_dynamic)),
    local: number(row.local_per_thread),
    limits: [
      { resource: "warps", blocks: number(row.occ_limit_warps) },
      { resource: "registers", blocks: number(row.occ_limit_regs) },
      { resource: "shared_mem", blocks: number(row.occ_limit_shared) },
      { resource: "blocks", blocks: number(row.occ_limit_blocks) },
    ],
    limiter: word(row.occ_limiter),
    occupancy: warps !== null && most ? warps / most : null,
    waves: resident && sms ? grid.reduce((product, n) => product * n, 1) / (resident * sms) : null,
  };
}

export function configsOf(part: unknown, symbol: string): Config[] {
  const devices = list(raw(part).devices);
  const kernel = list(raw(raw(part).kernels).by_name).find((row) => row.symbol === symbol);
  return kernel ? list(kernel.configs).map((row) => configOf(row, devices)) : [];
}

export interface Stall {
  reason: string;
  samples: number;
  notIssued: number;
  part: number; // of the kernel's samples
}

export function stallsOf(part: unknown, symbol: string): Stall[] {
  const rows = list(raw(raw(part).samples).kernels).filter((row) => row.symbol === symbol);
  const all = rows.reduce((sum, row) => sum + (number(row.samples) ?? 0), 0);
  return rows
    .map((row) => ({ reason: word(row.reason) || "?", samples: number(row.samples) ?? 0, notIssued: number(row.not_issued) ?? 0, part: all ? (number(row.samples) ?? 0) / all : 0 }))
    .sort((a, b) => b.samples - a.samples);
}

export interface Instruction {
  offset: number;
  text: string;
  samples: number;
  reason: string;
  reasonSamples: number;
  executed: number | null;
  threads: number | null; // at work in a warp, mean
  coalescing: number | null; // part of the traffic that is needed, 0 to 1
  conflicts: number | null; // wavefronts, times what is needed
}

export interface Line {
  file: string;
  line: number | null;
  samples: number;
  part: number; // of the function's samples
  items: Instruction[];
}

const M = "smsp__sass_";
const ratio = (a: number | null, b: number | null): number | null => (a !== null && b !== null && b > 0 ? a / b : null);

function instructionOf(row: Raw): Instruction {
  const value = (name: string) => number(row[`${M}${name}`]);
  return {
    offset: number(row.offset) ?? 0,
    text: word(row.text),
    samples: number(row.samples) ?? 0,
    reason: word(row.top_reason),
    reasonSamples: number(row.top_samples) ?? 0,
    executed: value("inst_executed"),
    threads: ratio(value("thread_inst_executed"), value("inst_executed")),
    coalescing: ratio(value("sectors_mem_global_ideal"), value("sectors_mem_global")),
    conflicts: ratio(value("l1tex_pipe_lsu_wavefronts_mem_shared"), value("l1tex_pipe_lsu_wavefronts_mem_shared_ideal")),
  };
}

/** Lines of the kernel's functions in the order of the file, with their instructions; null: none came. */
export function codeOf(part: unknown, symbol: string): Line[] | null {
  const functions = list(raw(part).code).filter((row) => row.symbol === symbol);
  if (functions.length === 0) return null;
  const lines = new Map<string, Line>();
  let all = 0;
  for (const row of functions.flatMap((f) => list(f.instructions))) {
    const file = word(row.file);
    const at = number(row.line);
    const key = `${file}:${at}`;
    const line = lines.get(key) ?? { file, line: at, samples: 0, part: 0, items: [] };
    const item = instructionOf(row);
    line.items.push(item);
    line.samples += item.samples;
    all += item.samples;
    lines.set(key, line);
  }
  return [...lines.values()]
    .map((line) => ({ ...line, part: all ? line.samples / all : 0 }))
    .sort((a, b) => a.file.localeCompare(b.file) || (a.line ?? 0) - (b.line ?? 0));
}

export const leftOut = (part: unknown): number => number(raw(part).code_left_out) ?? 0;
export const hotFirst = (lines: readonly Line[]): Line[] => [...lines].sort((a, b) => b.samples - a.samples);
/** How strongly a part of the samples is drawn: small parts are seen, too. */
export const heat = (part: number): number => Math.min(1, Math.sqrt(Math.max(0, part)));
