// deep.ts - the data of one kernel: how it was launched, with its occupancy; from the report's
// parts, stalls by reason, and instructions by line (docs/report.md). Unknown stays null.
import { nameOf, rowsOf, type Row } from "../../api/columns";
import type { AnswerConfigs, AnswerKernelConfigs } from "../../api/schema";
import { sameFile, type SourcePlace } from "../../format/place";
import { list, number, raw, word, type Raw } from "../../format/raw";
import { idealSectors } from "./profile";

const ratio = (a: number | null, b: number | null): number | null => (a !== null && b !== null && b > 0 ? a / b : null);

const RESOURCES: Record<string, string> = { wavefronts: "warps", vgprs: "registers", sgprs: "registers", lds: "shared_mem", workgroups: "blocks" };

/** The resources that limit occupancy; AMD's GPUs have other names for them. */
export const resourceOf = (limiter: string): string => RESOURCES[limiter] ?? limiter;

export interface Limit {
  resource: string; // warps, registers, shared_mem, blocks
  blocks: number | null; // null: no limit
}

export interface Config {
  id: number;
  device: number | null; // from 0; null: unknown
  grid: string;
  block: string;
  calls: number | null;
  total: number | null; // ns
  mean: number | null;
  p99: number | null;
  registers: number | null;
  shared: number | null;
  local: number | null;
  limits: Limit[];
  limiter: string;
  occupancy: number | null; // 0 to 1
  waves: number | null;
}

export type Recorded = Row<AnswerConfigs["data"]>;
type Launched = Row<AnswerKernelConfigs["data"]>;

const sum = (a: number | null, b: number | null): number | null => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));
export const occupancyOf = (row: Pick<Recorded, "warps" | "max_warps">): number | null => ratio(row.warps, row.max_warps);

/** How a kernel was launched, most time first. part: the report, which has the GPUs. */
export function configsOf(recorded: AnswerConfigs, launched: readonly Launched[], part: unknown): Config[] {
  const sms = new Map(list(raw(part).devices).map((device) => [(number(device.index) ?? -1) + 1, number(device.sm_count)]));
  const rows = new Map(rowsOf(recorded).map((row) => [row.config, row]));
  return launched.flatMap((sums) => {
    const row = rows.get(sums.config);
    if (!row) return [];
    const blocks = (row.grid_x ?? 1) * (row.grid_y ?? 1) * (row.grid_z ?? 1);
    const sm = sms.get(row.device ?? -1);
    return [
      {
        id: sums.config ?? 0,
        device: row.device === null ? null : row.device - 1,
        grid: [row.grid_x, row.grid_y, row.grid_z].map((n) => n ?? 1).join("×"),
        block: [row.block_x, row.block_y, row.block_z].map((n) => n ?? 1).join("×"),
        calls: sums.calls,
        total: sums.total,
        mean: sums.mean,
        p99: sums.p99,
        registers: row.registers,
        shared: sum(row.shared_static, row.shared_dynamic),
        local: row.local,
        limits: [
          { resource: "warps", blocks: row.limit_warps },
          { resource: "registers", blocks: row.limit_regs },
          { resource: "shared_mem", blocks: row.limit_shared },
          { resource: "blocks", blocks: row.limit_blocks },
        ],
        limiter: nameOf(recorded, row.limiter) ?? "",
        occupancy: occupancyOf(row),
        waves: row.blocks && sm ? blocks / (row.blocks * sm) : null,
      },
    ];
  });
}

export interface Stall {
  reason: string; // "": not known
  samples: number;
  notIssued: number | null; // null: not known
  part: number; // of the kernel's samples
}

export function stallsOf(part: unknown, symbol: string): Stall[] {
  const rows = list(raw(raw(part).samples).kernels).filter((row) => row.symbol === symbol);
  const all = rows.reduce((sum, row) => sum + (number(row.samples) ?? 0), 0);
  return rows
    .map((row) => ({ reason: word(row.reason), samples: number(row.samples) ?? 0, notIssued: number(row.not_issued), part: all ? (number(row.samples) ?? 0) / all : 0 }))
    .sort((a, b) => b.samples - a.samples);
}

export interface Instruction {
  offset: number;
  text: string;
  samples: number;
  reason: string;
  reasonSamples: number;
  executed: number | null;
  threads: number | null; // threads at work in a warp, mean
  coalescing: number | null; // part of the traffic that is needed, 0 to 1
  conflicts: number | null; // wavefronts, as a multiple of what is needed
}

export interface Line {
  file: string;
  line: number | null;
  samples: number;
  part: number; // of the function's samples
  items: Instruction[];
}

const M = "smsp__sass_";

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
    coalescing: ratio(idealSectors(value), value("sectors_mem_global")),
    conflicts: ratio(value("l1tex_pipe_lsu_wavefronts_mem_shared"), value("l1tex_pipe_lsu_wavefronts_mem_shared_ideal")),
  };
}

/** Lines of the kernel's functions in the order of the file, with their instructions; null:
 * there are none. */
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
  if (lines.size === 0) return null; // only the function's name is known
  return [...lines.values()]
    .map((line) => ({ ...line, part: all ? line.samples / all : 0 }))
    .sort((a, b) => a.file.localeCompare(b.file) || (a.line ?? 0) - (b.line ?? 0));
}

/** The kernel's own code at a line of the program; undefined: there is none. */
export function lineAt(lines: readonly Line[], place: SourcePlace | null): Line | undefined {
  const isFile = place && sameFile(lines.map(({ file }) => file), place.file);
  return isFile ? lines.find(({ file, line }) => line === place.line && isFile(file)) : undefined;
}

/** Where a session keeps a function's PTX (docs/format.md, source). */
export const ptxPath = (symbol: string): string => `${symbol}.ptx`;

export const leftOut = (part: unknown): number => number(raw(part).code_left_out) ?? 0;
export const hotFirst = (lines: readonly Line[]): Line[] => [...lines].sort((a, b) => b.samples - a.samples);
/** How strongly a part of the samples is drawn; small parts are visible, too. */
export const heat = (part: number): number => Math.min(1, Math.sqrt(Math.max(0, part)));
