// ranks.ts - the processes of a run on one clock: when each began, and how busy its GPUs were.
import type { AnswerLanes, AnswerSpans, AnswerTiles, RowSession } from "../../api/schema";
import { rowsOf } from "../../api/columns";
import { Columns, type Drawing } from "../../timeline/columns";
import { KIND, laneOf } from "../../timeline/lanes";
import { columnsFor, levelOf } from "../../timeline/lod";
import { eventsOf, sumsOf } from "../../timeline/piece";

export const PX = 600; // columns of a strip

export interface Rank {
  session: RowSession;
  from: number; // ns since the first process of the run began
  length: number;
}

/** The processes in their order, and the length of the time in which any of them ran; processes
 * without times are left out. */
export function onOneClock(rows: readonly RowSession[]): { ranks: Rank[]; length: number } {
  const known = rows.filter((row) => row.started && (row.ended ?? row.received));
  const first = known.reduce<bigint | null>((least, row) => (least === null || BigInt(row.started!) < least ? BigInt(row.started!) : least), null);
  const ranks = known.map((session) => ({
    session,
    from: Number(BigInt(session.started!) - first!),
    length: Math.max(1, Number(BigInt((session.ended ?? session.received)!) - BigInt(session.started!))),
  }));
  return { ranks, length: ranks.reduce((most, rank) => Math.max(most, rank.from + rank.length), 1) };
}

export interface Group {
  host: string;
  ranks: Rank[];
}

/** Groups processes by host, in the order given. */
export function groupsOf(ranks: readonly Rank[]): Group[] {
  const groups = new Map<string, Rank[]>();
  for (const rank of ranks) groups.set(rank.session.host, [...(groups.get(rank.session.host) ?? []), rank]);
  return [...groups].map(([host, of]) => ({ host, ranks: of }));
}

/** Lanes of what runs on a GPU: kernels and graphs, and copies. */
export function lanesOf(answer: AnswerLanes): { work: string[]; copies: string[] } {
  const lanes = rowsOf(answer).flatMap((row) => laneOf(row) ?? []);
  const of = (...kinds: number[]): string[] => lanes.filter((lane) => kinds.includes(lane.kind)).map((lane) => lane.id);
  return { work: of(KIND.kernel), copies: of(KIND.copy) };
}

/** The question to the server for a strip of so many ns. */
export function askOf(length: number): { level: number; step: number; column: number; from: number; to: number } {
  const { level, step, column } = levelOf(columnsFor(length / PX));
  return { level, step, column, from: -column, to: Math.ceil(length) + column }; // a step may begin before the session
}

/** The busy part of each column of the strip, 0 to 1: the sum over the lanes, at most 1. */
export function busyOf(tiles: AnswerTiles, spans: AnswerSpans, lanes: readonly string[], column: number, length: number, px: number): Float32Array {
  const to = Math.ceil(length) + column;
  const piece = { from: -column, to, column, sums: sumsOf(tiles.data, lanes, -column, to, () => 0), events: eventsOf(spans.data, lanes, () => 0), points: null, halved: false };
  const busy = new Float32Array(px);
  const columns = new Columns();
  const drawing: Drawing = { from: 0, scale: px / length, paint: () => 0, labelFrom: Infinity };
  lanes.forEach((_, lane) => {
    columns.begin(px);
    columns.add({ piece, from: 0, to }, lane, drawing);
    for (let x = 0; x < px; x++) busy[x] = Math.min(1, busy[x]! + columns.cover[x]!);
  });
  return busy;
}

/** A strip as the outline of its columns, in a box of busy.length by 1. */
export function outline(busy: Float32Array): string {
  let path = "M0 1";
  for (let x = 0; x < busy.length; x++) {
    const y = 1 - busy[x]!;
    if (x === 0 || busy[x] !== busy[x - 1]) path += `L${x} ${y.toFixed(3)}`;
    if (x + 1 === busy.length || busy[x + 1] !== busy[x]) path += `L${x + 1} ${y.toFixed(3)}`;
  }
  return `${path}L${busy.length} 1Z`;
}
