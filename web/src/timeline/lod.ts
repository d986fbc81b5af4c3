// lod.ts - which pieces of the session a view is drawn from. A piece is a span of time of 2^shift
// ns that starts at a multiple of its length, for a block of lanes. Pieces of all levels nest, so
// that a coarser or a finer piece replaces the right one until that has arrived.
// 
// Sums come in columns of 2^(17 + m) ns, COLUMNS of them in a piece; a column is one to two px
// wide. In closer views single events come ("raw"), if there are few enough.
export const BASE = 17; // wire/tile.h: TILE_SHIFT
const LEVEL_SHIFT = 3;
const LEVELS = 8;
const COLUMNS_SHIFT = 10;
export const COLUMNS = 1 << COLUMNS_SHIFT;
const MOST = 43; // m; a column of 2^60 ns
const RAW_SHIFT_MAX = BASE + COLUMNS_SHIFT;
const RAW_SHIFT_MIN = 8;
const RAW_ROWS = 10_000; // events that a piece should have
const RAW_PIECES = 6; // pieces a screen at most
export const RAW_LIMIT = 50_000; // most events of a piece; a piece with more is halved

export interface Lod {
  raw: boolean;
  m: number; // of sums: column = 2^(17 + m) ns
  shift: number; // of a piece
}

/** The server's name of the columns of m: a level of the pyramid, and how many of its buckets. */
export function levelOf(m: number): { level: number; step: number; column: number } {
  const level = Math.min(LEVELS - 1, Math.floor(m / LEVEL_SHIFT));
  return { level, step: 2 ** (m - level * LEVEL_SHIFT), column: 2 ** (BASE + m) };
}

export const sums = (m: number): Lod => ({ raw: false, m, shift: BASE + COLUMNS_SHIFT + m });

/** The columns for a screen of nsPerPx: the narrowest that are wider than a px. */
export function columnsFor(nsPerPx: number): number {
  return Math.min(MOST, Math.max(0, Math.floor(Math.log2(nsPerPx)) + 1 - BASE));
}

/** Pieces of single events, as long as this density (events per ns) gives them RAW_ROWS. */
export function rawShift(density: number): number {
  if (!(density > 0)) return RAW_SHIFT_MAX;
  return Math.min(RAW_SHIFT_MAX, Math.max(RAW_SHIFT_MIN, Math.floor(Math.log2(RAW_ROWS / density))));
}

const MARKS_SHIFT_MAX = 50; // 13 days

/** Marks each have a name, and no length to sum. They are single events as long as a screen has
 * a few pieces of them; for a lane with few marks one piece has all of them. */
export function lodForMarks(width: number, px: number, density: number, count: number): Lod {
  const shift = count <= RAW_ROWS ? MARKS_SHIFT_MAX : Math.min(MARKS_SHIFT_MAX, Math.max(RAW_SHIFT_MIN, Math.floor(Math.log2(RAW_ROWS / density))));
  return width / 2 ** shift <= RAW_PIECES ? { raw: true, m: 0, shift } : lodFor(width, px, density);
}

/** The level for a view of that width, on that many px. */
export function lodFor(width: number, px: number, density: number): Lod {
  const nsPerPx = width / px;
  const m = columnsFor(nsPerPx);
  const shift = rawShift(density);
  if (nsPerPx < 2 ** BASE && width / 2 ** shift <= RAW_PIECES) return { raw: true, m: 0, shift };
  return sums(m);
}

export const pieceAt = (time: number, shift: number): number => Math.floor(time / 2 ** shift);

/** First and last piece of a window. */
export function piecesOf(from: number, to: number, shift: number): [number, number] {
  const first = pieceAt(from, shift);
  return [first, Math.max(first, Math.ceil(to / 2 ** shift) - 1)];
}

/** The name of a piece of a block of lanes; blocks are numbered. */
export const keyOf = (lod: Lod, index: number, block: number): string => `${lod.raw ? "r" : "t"}${lod.shift}/${index}/${block}`;

/** Coarser pieces, the nearest first, which replace a piece that is under way. */
export function coarser(lod: Lod, top: number): Lod[] {
  const list: Lod[] = [];
  for (let m = lod.raw ? 0 : lod.m + 1; m <= top; m++) {
    const next = sums(m);
    if (next.shift >= lod.shift) list.push(next);
  }
  return list;
}

/** The level at which one piece, or two, contain the whole session. */
export function topFor(from: number, to: number): number {
  for (let m = 0; m < MOST; m++) {
    const [first, last] = piecesOf(from, to, sums(m).shift);
    if (last - first <= 1) return m;
  }
  return MOST;
}
