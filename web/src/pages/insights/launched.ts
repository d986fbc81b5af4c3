// launched.ts - the kernels of a line of the program: kernels that the line launched, by the stacks
// of GPU time, and kernels with instructions at the line.
import { baseName } from "../../format/format";
import { sameFile } from "../../format/place";
import { list, number, raw, word } from "../../format/raw";
import { isKernel, type Stack } from "../flame/tree";

export interface LaunchedKernel {
  name: string;
  ns: number; // on the GPU
}

/** Kernels that were launched from a stack with the line, most time first. */
export function kernelsAt(stacks: readonly Stack[], file: string, line: number): LaunchedKernel[] {
  const place = `(${baseName(file)}:${line})`;
  const sums = new Map<string, number>();
  for (const { frames, ns } of stacks) {
    const name = frames.at(-1);
    if (name === undefined || !isKernel(name) || !frames.slice(0, -1).some((frame) => frame.endsWith(place))) continue;
    sums.set(name, (sums.get(name) ?? 0) + ns);
  }
  return [...sums].map(([name, ns]) => ({ name, ns })).sort((a, b) => b.ns - a.ns);
}

export interface KernelWithCode {
  symbol: string;
  name: string;
  samples: number; // of the line's instructions
}

/** Kernels with instructions at the line, most samples first. part: the report's part `profile`. */
export function kernelsWithCode(part: unknown, file: string, line: number): KernelWithCode[] {
  const rows = list(raw(part).code).map((code) => ({ symbol: word(code.symbol), name: word(code.short_name) || word(code.symbol), at: list(code.instructions) }));
  const isFile = sameFile(rows.flatMap(({ at }) => at.map((row) => word(row.file))), file);
  const found = new Map<string, KernelWithCode>();
  for (const { symbol, name, at } of rows) {
    const here = at.filter((row) => number(row.line) === line && isFile(word(row.file)));
    if (here.length === 0) continue;
    const before = found.get(symbol)?.samples ?? 0;
    found.set(symbol, { symbol, name, samples: here.reduce((sum, row) => sum + (number(row.samples) ?? 0), before) });
  }
  return [...found.values()].sort((a, b) => b.samples - a.samples);
}
