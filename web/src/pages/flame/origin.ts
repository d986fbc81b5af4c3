// origin.ts - where a frame of a stack comes from: Python, a framework, the GPU's libraries, the
// program's own source, another library. The colours of flame graphs show this.
export const ORIGINS = ["python", "framework", "gpu", "source", "library", "work"] as const;
export type Origin = (typeof ORIGINS)[number];

/** Each origin's index among the colours of names. */
export const TONE: Readonly<Record<Origin, number>> = { python: 0, framework: 5, gpu: 2, source: 4, library: 6, work: 3 };

const PLACED = /\(([^()\s]+?)(?::\d+|\+0x[\da-f]+)\)$/; // "train() (trainer.py:12)"
const FIRST = /^([^\s()<>]+?)(?::\d+|\+0x[\da-f]+)?(?= |$)/; // "trainer.py:12 train()", "libc.so.6+0x2a1c9"
const KINDS: readonly (readonly [Origin, RegExp])[] = [
  ["python", /\.py[xi]?$|^<(string|stdin|frozen .*)>$/],
  ["gpu", /^lib(cu(?!rl)|nv|nccl|hip|hsa|roc|amd|rccl|miopen)[^/]*\.so/i],
  ["framework", /^(lib(torch|c10|caffe2|jax|tensorflow|onnxruntime|triton|mlx)|xla_|_?jax|_C\.|_XLA)[^/]*\.so/i],
  ["library", /\.so([.\d]*)$|\.dll$/],
  ["source", /\.(cuh?|c|cc|cpp|cxx|h|hpp|hip|inl|rs|go|jl)$/],
];

/** The origin of a frame; what has no place is what was waited in, or what ran. */
export function originOf(name: string): Origin {
  const file = (PLACED.exec(name) ?? FIRST.exec(name))?.[1];
  const found = file && KINDS.find(([, pattern]) => pattern.test(file));
  return found ? found[0] : file && /\+0x[\da-f]+\)?$/.test(name) ? "source" : "work";
}
