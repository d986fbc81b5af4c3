// rangeFlame.ts - the stacks of a range of the timeline: the time of its kernels by the stack that
// launched them, and the samples of its host threads by what they did. What has no stack is
// counted as such, so that a flame graph shows all of the range.
import { client } from "../api/client";
import { nameOf, rowsOf, shortOf } from "../api/columns";
import { listOf } from "./lanes";
import type { Lines } from "./lines";
import type { FlameStack } from "./outside";
import type { View } from "./view";

const MOST = 20_000; // kernels, and samples, in one answer
const CALLS = 100_000; // captured launches in one answer
const THREADS = 1024;
const AHEAD = 5e9; // ns from a launch to its kernel, at most

export interface Launched {
  duration: number | null;
  stack: number | null; // of the kernel's own record; 0: not captured
  correlation: number | null;
  name: string;
}

/** Adds up by stack; `under` and `above` are frames outside and inside of it. */
function summed(rows: readonly { stack: number; under?: string; above?: string; value: number }[], lines: Lines, unknown: string): FlameStack[] {
  const sums = new Map<string, { stack: number; under: string | undefined; above: string | undefined; value: number }>();
  for (const { stack, under, above, value } of rows) {
    const key = JSON.stringify([stack, under, above]);
    const sum = sums.get(key) ?? { stack, under, above, value: 0 };
    sum.value += value;
    sums.set(key, sum);
  }
  return [...sums.values()].filter(({ value }) => value > 0).map(({ stack, under, above, value }) => {
    const frames = lines.framesOf(stack).reverse();
    return { frames: [...(under === undefined ? [] : [under]), ...(frames.length ? frames : [unknown]), ...(above === undefined ? [] : [above])], ns: value };
  });
}

/** Kernels by the stack of their launch, from their own record, or from the captured call with their
 * correlation id. The kernel is the innermost frame. */
export const stacksOfLaunches = (launches: readonly Launched[], captured: ReadonlyMap<number, number>, lines: Lines, unknown: string): FlameStack[] =>
  summed(launches.map(({ duration, stack, correlation, name }) => ({ stack: stack || captured.get(correlation ?? NaN) || 0, above: name, value: duration ?? 0 })), lines, unknown);

export interface Sampled {
  thread: number | null;
  samples: number | null;
  stack: number | null;
}

/** Samples by thread and stack; the numbers of the stacks are samples. */
export const stacksOfSamples = (samples: readonly Sampled[], threadOf: (thread: number) => string, lines: Lines, unknown: string): FlameStack[] =>
  summed(samples.map(({ thread, samples: value, stack }) => ({ stack: stack ?? 0, under: threadOf(thread ?? 0), value: value ?? 0 })), lines, unknown);

/** The part, 0 to 1, of which a stack is known. */
export function knownPart(stacks: readonly FlameStack[], unknown: string): number {
  const sum = (of: readonly FlameStack[]): number => of.reduce((all, { ns }) => all + ns, 0);
  return stacks.length ? sum(stacks.filter(({ frames }) => !frames.includes(unknown))) / sum(stacks) : 0;
}

/** One line a stack, as `gpufl report --flame` writes them. */
export const collapsed = (stacks: readonly FlameStack[]): string => stacks.map(({ frames, ns }) => `${frames.map((frame) => frame.replaceAll(";", ",")).join(";")} ${ns}\n`).join("");

export interface RangeStacks {
  stacks: FlameStack[];
  cut: boolean; // there are more kernels or samples than the limit
  full: ReadonlyMap<string, string>; // whole names of kernels by their short names
}

export interface Where {
  session: string;
  lines: Lines;
  range: View;
}

/** threads: those with captured launches. */
export async function launchStacks({ session, lines, range: { from, to } }: Where, threads: readonly number[], unknown: { stack: string; name: string }, signal: AbortSignal): Promise<RangeStacks> {
  const [kernels, calls] = await Promise.all([
    client.get("launches", { session, from, to, order: "longest", limit: MOST }, signal),
    threads.length ? client.get("captured", { session, threads: listOf(threads.slice(0, THREADS).map(String)), from: Math.max(0, from - AHEAD), to, step: 1, limit: CALLS }, signal) : null,
  ]);
  const captured = new Map((calls ? rowsOf(calls) : []).flatMap(({ correlation, stack }) => (correlation !== null && stack ? [[correlation, stack] as const] : [])));
  const full = new Map<string, string>();
  const rows = rowsOf(kernels).map(({ duration, stack, correlation, name }) => {
    const short = shortOf(kernels, name) || unknown.name;
    const whole = nameOf(kernels, name) ?? short;
    full.set(short, (full.get(short) ?? whole) === whole ? whole : short);
    return { duration, stack, correlation, name: short };
  });
  return { stacks: stacksOfLaunches(rows, captured, lines, unknown.stack), cut: kernels.rows >= MOST, full };
}

/** threads: those with samples. */
export async function sampleStacks({ session, lines, range: { from, to } }: Where, threads: readonly number[], threadOf: (thread: number) => string, unknown: string, signal: AbortSignal): Promise<RangeStacks> {
  if (threads.length === 0) return { stacks: [], cut: false, full: new Map() };
  const answer = await client.get("samples", { session, threads: listOf(threads.slice(0, THREADS).map(String)), from, to, step: 1, limit: MOST }, signal);
  return { stacks: stacksOfSamples(rowsOf(answer), threadOf, lines, unknown), cut: answer.rows >= MOST, full: new Map() };
}
