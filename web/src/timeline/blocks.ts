// blocks.ts - lanes are asked for in blocks of neighbours. A block's view is drawn from the pieces
// of its level, and from coarser or finer ones until these have arrived.
import type { Segment } from "./columns";
import { askedId, KIND, type Lane, type RankOf } from "./lanes";
import { coarser, keyOf, lodFor, lodForMarks, pieceAt, piecesOf, sums, type Lod } from "./lod";
import { hashOf } from "./names";
import type { Piece } from "./piece";
import type { View } from "./view";

export const BLOCK = 24;

export interface Block {
  number: number; // identifies the set of lanes: equal lanes keep their number, also after other lanes were added
  ids: readonly string[];
  density: number; // events per ns
  marks: number | null; // if all of its lanes are lanes of marks, how many marks they have
  rank?: RankOf; // all of its lanes belong to that session, and its pieces use that session's clock
  extent: View; // of its events
}

export function blocksOf(lanes: readonly Lane[]): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lanes.length; at += BLOCK) {
    const of = lanes.slice(at, at + BLOCK);
    const ids = of.map(askedId);
    const rank = of[0]!.rank;
    const extent = { from: Math.min(...of.map((lane) => lane.first)), to: Math.max(...of.map((lane) => lane.last)) + 1 };
    const density = of.reduce((sum, lane) => sum + lane.events / Math.max(1, lane.last - lane.first), 0);
    const marks = of[0]!.kind === KIND.mark ? of.reduce((sum, lane) => sum + lane.events, 0) : null;
    blocks.push({ number: hashOf(rank ? `${rank.session} ${ids.join()}` : ids.join()), ids, density, marks, extent, ...(rank ? { rank } : {}) });
  }
  return blocks;
}

/** The block that a lane is asked for in, and the lane's place in the block. */
export interface Spot {
  block: number; // index; -1: nothing is asked for
  at: number;
}

/** Blocks of lanes that are asked for alike; kindOf: the kind of a lane, -1: the lane is not
 * asked for. */
export function spotsOf(lanes: readonly Lane[], kindOf: (lane: Lane) => number): { blocks: Block[]; spots: Spot[] } {
  const blocks: Block[] = [];
  const spots: Spot[] = lanes.map(() => ({ block: -1, at: 0 }));
  for (const kind of new Set(lanes.map(kindOf).filter((one) => one >= 0))) {
    const places = lanes.flatMap((lane, i) => (kindOf(lane) === kind ? [i] : []));
    const made = blocksOf(places.map((i) => lanes[i]!));
    places.forEach((i, n) => {
      spots[i] = { block: blocks.length + Math.floor(n / BLOCK), at: n % BLOCK };
    });
    blocks.push(...made);
  }
  return { blocks, spots };
}

export const lodOf = (block: Block, view: View, px: number): Lod =>
  block.marks === null ? lodFor(view.to - view.from, px, block.density) : lodForMarks(view.to - view.from, px, block.density, block.marks);

type Get = (key: string) => Piece | undefined;

const halvesOf = (lod: Lod): Lod => ({ ...lod, shift: lod.shift - 1 });
const FINER = 3; // levels that are searched for a replacement

/** What pieces are searched for: those of a block, which `get` looks up. top: the coarsest level. */
interface Search {
  get: Get;
  block: Block;
  top: number;
}

/** The available segments of [from, to), in order. */
export function resolve(get: Get, block: Block, lod: Lod, top: number, view: View): Segment[] {
  const out: Segment[] = [];
  const search: Search = { get, block, top };
  const [first, last] = piecesOf(view.from, view.to, lod.shift);
  for (let index = first; index <= last; index++) resolveOne(search, lod, index, view, out);
  return out;
}

function resolveOne(search: Search, lod: Lod, index: number, view: View, out: Segment[]): void {
  const size = 2 ** lod.shift;
  const from = Math.max(view.from, index * size);
  const to = Math.min(view.to, (index + 1) * size);
  if (from >= to) return;
  const piece = search.get(keyOf(lod, index, search.block.number));
  if (piece?.halved) {
    for (const half of [2 * index, 2 * index + 1]) resolveOne(search, halvesOf(lod), half, view, out);
    return;
  }
  if (piece) out.push({ piece, from, to });
  else standIn(search, lod, index, { from, to }, out);
}

function standIn(search: Search, lod: Lod, index: number, view: View, out: Segment[]): void {
  const { get, block } = search;
  const finer = lod.raw ? [] : finerOnes(search, lod, index, view, 1);
  if (finer.length > 0 && covers(finer, view)) {
    out.push(...finer);
    return;
  }
  for (const other of coarser(lod, search.top)) {
    const piece = get(keyOf(other, pieceAt(view.from, other.shift), block.number));
    if (!piece || piece.halved) continue;
    out.push({ piece, from: view.from, to: view.to });
    return;
  }
  out.push(...(lod.raw ? [] : finerOnes(search, lod, index, view, FINER)));
}

const covers = (segments: readonly Segment[], view: View): boolean => segments.reduce((sum, s) => sum + s.to - s.from, 0) >= (view.to - view.from) * (1 - 1e-9);

function finerOnes(search: Search, lod: Lod, index: number, view: View, levels: number): Segment[] {
  if (levels === 0 || lod.m === 0) return [];
  const lower = sums(lod.m - 1);
  return [2 * index, 2 * index + 1].flatMap((half) => {
    const size = 2 ** lower.shift;
    const from = Math.max(view.from, half * size);
    const to = Math.min(view.to, (half + 1) * size);
    if (from >= to) return [];
    const piece = search.get(keyOf(lower, half, search.block.number));
    return piece ? [{ piece, from, to }] : finerOnes(search, lower, half, view, levels - 1);
  });
}

export interface Needed {
  lod: Lod;
  index: number;
}

/** The pieces of a view, those nearest to its middle first. A piece that had too many events is
 * asked for as two halves. */
export function needed(get: Get, block: Block, lod: Lod, view: View): Needed[] {
  const out: Needed[] = [];
  const add = (of: Lod, index: number): void => {
    const size = 2 ** of.shift;
    if ((index + 1) * size <= view.from || index * size >= view.to) return;
    out.push({ lod: of, index }); // the halved piece is asked for, too, so that a live session's piece is asked again
    if (get(keyOf(of, index, block.number))?.halved) for (const half of [2 * index, 2 * index + 1]) add(halvesOf(of), half);
  };
  const [first, last] = piecesOf(view.from, view.to, lod.shift);
  for (let index = first; index <= last; index++) add(lod, index);
  const middle = (view.from + view.to) / 2;
  const away = ({ lod: of, index }: Needed): number => Math.abs((index + 0.5) * 2 ** of.shift - middle);
  return out.sort((a, b) => away(a) - away(b));
}
