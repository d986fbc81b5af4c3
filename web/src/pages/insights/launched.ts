// launched.ts - the kernels that a line of the program has launched, by the stacks of GPU time.
import { baseName } from "../../format/format";
import { isKernel, type Stack } from "../flame/tree";

export interface LaunchedKernel {
  name: string;
  ns: number; // on the GPU
}

/** Kernels of which the line is in the stack of the launch, most time first. */
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
