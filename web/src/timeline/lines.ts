// lines.ts - the session's stacks and idle gaps, from the document that the server makes with the
// report (docs/timeline.md): the source line of a stack, its frames, and the gaps of the GPU as
// lanes.
import { GAP, laneIdOf, type Lane } from "./lanes";
import { hashOf, COLOURS } from "./names";
import type { Piece } from "./piece";

export interface Place {
  place: string; // "train.py:90"
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface Cause {
  cause: string;
  text: string;
}

/** Stacks of events are ids of the log; stacks of gaps are nodes of the document. This offset
 * distinguishes them. */
export const NODE = 2 ** 31;
const DEEPEST = 2000;

type Cells = readonly number[];

const numbers = (value: unknown): Cells => (Array.isArray(value) && value.every((cell) => cell === null || typeof cell === "number") ? (value as (number | null)[]).map((cell) => cell ?? 0) : []);
const at = (value: unknown, ...keys: string[]): unknown => keys.reduce<unknown>((part, key) => (typeof part === "object" && part !== null ? (part as Record<string, unknown>)[key] : undefined), value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string | null => (typeof value === "string" ? value : null);

function placeOf(value: unknown): Place | null {
  const place = word(at(value, "place"));
  const line = at(value, "line");
  return place === null ? null : { place, file: word(at(value, "file")), line: typeof line === "number" ? line : null, function: word(at(value, "function")) };
}

export class Lines {
  readonly causes: readonly Cause[];
  readonly places: readonly (Place | null)[];
  /** The place of each stack id of the log. */
  readonly ofStacks: Uint32Array;
  readonly gaps: readonly Lane[];
  private readonly stacks: Cells;
  private readonly parents: Cells;
  private readonly frames: Cells;
  private readonly nodePlaces: Cells;
  private readonly texts: readonly unknown[];
  private readonly kernels = new Map<string, { place: number; scope: string | null }>();
  private readonly colours: Uint8Array;
  private hits: ReadonlySet<number> = new Set(); // places

  /** A part that cannot be read is left out: a timeline without lines is better than none. */
  constructor(document: unknown) {
    this.causes = list(at(document, "causes")).map((one) => ({ cause: word(at(one, "cause")) ?? "", text: word(at(one, "text")) ?? "" }));
    this.places = list(at(document, "places")).map(placeOf);
    this.stacks = numbers(at(document, "stacks"));
    this.parents = numbers(at(document, "nodes", "parent"));
    this.frames = numbers(at(document, "nodes", "frame"));
    this.nodePlaces = numbers(at(document, "nodes", "place"));
    this.texts = list(at(document, "frames"));
    this.ofStacks = Uint32Array.from(this.stacks, (node) => this.nodePlaces[node] ?? 0);
    this.colours = Uint8Array.from(this.places, (place) => (place ? hashOf(place.place) % COLOURS : 0));
    for (const kernel of list(at(document, "kernels"))) {
      const place = at(kernel, "place");
      const symbol = word(at(kernel, "symbol"));
      if (symbol !== null) this.kernels.set(symbol, { place: typeof place === "number" ? place : 0, scope: word(at(kernel, "scope")) });
    }
    this.gaps = gapLanes(document, this.causes.length);
  }

  private nodeOf(stack: number): number {
    return stack >= NODE ? stack - NODE : (this.stacks[stack] ?? 0);
  }

  /** The number of the stack's line; 0: not known. */
  placeOf(stack: number): number {
    return stack ? (this.nodePlaces[this.nodeOf(stack)] ?? 0) : 0;
  }

  place(number: number): Place | null {
    return this.places[number] ?? null;
  }

  line(stack: number): Place | null {
    return this.place(this.placeOf(stack));
  }

  /** Innermost first. */
  framesOf(stack: number): string[] {
    const out: string[] = [];
    let node = stack ? this.nodeOf(stack) : 0;
    for (let depth = 0; node > 0 && depth < DEEPEST; depth++) {
      for (const text of list(this.texts[this.frames[node] ?? 0])) if (typeof text === "string") out.push(text);
      node = this.parents[node] ?? 0;
    }
    return out;
  }

  /** The line from which most of a kernel's time was launched, by the kernel's name in the
   * program. */
  kernel(symbol: string): { place: number; scope: string | null } | undefined {
    return this.kernels.get(symbol);
  }

  /** Sets the text that lines are searched for. */
  find(words: string): void {
    const low = words.toLowerCase();
    this.hits = new Set(low ? this.places.flatMap((place, at) => (place && `${place.place} ${place.function ?? ""}`.toLowerCase().includes(low) ? [at] : [])) : []);
  }

  /** Whether the event's stack is at a line that is searched for. */
  found(stack: number): boolean {
    return this.hits.size > 0 && this.hits.has(this.placeOf(stack));
  }

  get anyFound(): boolean {
    return this.hits.size > 0;
  }

  colour(place: number): number {
    return this.colours[place] ?? 0;
  }
}

/** The longest gap with that cause that starts at that time or later. The document lists the
 * longest gaps one by one. */
export function longestGap(lines: Lines, cause: string, from: number): { lane: string; start: number; duration: number } | null {
  let best: { lane: string; start: number; duration: number } | null = null;
  for (const lane of lines.gaps) {
    if (lines.causes[lane.depth]?.cause !== cause) continue;
    const { start, duration } = lane.piece!.events!;
    start.forEach((at, i) => {
      if (at >= from && duration[i]! > (best?.duration ?? 0)) best = { lane: lane.id, start: at, duration: duration[i]! };
    });
  }
  return best;
}

export const NO_LINES = new Lines(null);

interface Gaps {
  start: number[];
  duration: number[];
  cause: number;
  node: number[];
  ended: number[];
  sums: [number, number, number][]; // start, gaps, ns
}

const pieceOf = (of: Gaps, step: number, last: number): Piece => {
  const offsets = Uint32Array.of(0, of.start.length);
  const longest = Float64Array.of(of.duration.reduce((a, b) => Math.max(a, b), 0));
  of.sums.sort((a, b) => a[0] - b[0]);
  return {
    from: 0,
    to: last,
    column: step,
    events: { offsets, start: Float64Array.from(of.start), duration: Float64Array.from(of.duration), name: new Uint32Array(of.start.length).fill(of.cause), ref: Float64Array.from(of.ended), stack: Uint32Array.from(of.node, (node) => (node ? NODE + node : 0)), longest },
    sums: { offsets: Uint32Array.of(0, of.sums.length), at: Float64Array.from(of.sums, (s) => s[0]), events: Float64Array.from(of.sums, (s) => s[1]), busy: Float64Array.from(of.sums, (s) => s[2]), longest: new Float64Array(of.sums.length), name: new Uint32Array(of.sums.length).fill(of.cause) },
    points: null,
    halved: false,
  };
};

/** A lane for each cause of each GPU with gaps; the lane has all of its events. The rows come by
 * start. */
function gapLanes(document: unknown, causes: number): Lane[] {
  const [device, start, duration, cause, node, ended] = ["device", "start", "duration", "cause", "node", "ended_by"].map((column) => numbers(at(document, "gaps", column)));
  const step = at(document, "gap_sums", "step_ns");
  const lanes = new Map<string, Gaps>();
  const laneOf = (gpu: number, of: number): Gaps => {
    const id = laneIdOf(GAP, of, gpu);
    const known = lanes.get(id) ?? { start: [], duration: [], cause: of, node: [], ended: [], sums: [] };
    lanes.set(id, known);
    return known;
  };
  start!.forEach((from, i) => {
    const of = cause![i] ?? 0;
    if (of >= causes || !Number.isSafeInteger(from)) return;
    const lane = laneOf(device![i] ?? 0, of);
    lane.start.push(from);
    lane.duration.push(duration![i] ?? 0);
    lane.node.push(node![i] ?? 0);
    lane.ended.push(ended![i] ?? 0);
  });
  for (const row of list(at(document, "gap_sums", "rows"))) {
    const [gpu = 0, from = 0, of = 0, gaps = 0, ns = 0] = numbers(row);
    if (of < causes && Number.isSafeInteger(from)) laneOf(gpu, of).sums.push([from, gaps, ns]);
  }
  return [...lanes].map(([id, of]) => {
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
    const first = Math.min(of.start[0] ?? Infinity, of.sums[0]?.[0] ?? Infinity);
    const end = of.start.length ? of.start[of.start.length - 1]! + of.duration[of.duration.length - 1]! : 0;
    const last = of.sums.reduce((most, [from]) => Math.max(most, from), end);
    const number = BigInt(id);
    return {
      id,
      kind: GAP,
      depth: of.cause,
      ref: Number(number & 0xffffffffffffn),
      events: of.start.length + sum(of.sums.map((s) => s[1])),
      busy: sum(of.duration) + sum(of.sums.map((s) => s[2])),
      first,
      last,
      piece: pieceOf(of, typeof step === "number" && step > 0 ? step : 1, last),
    };
  });
}
