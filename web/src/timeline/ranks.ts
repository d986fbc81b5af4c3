// ranks.ts - the sessions of a run on the clock of the open session: one group of rows a session,
// with the lanes of its GPU work. A rank is one process; its lanes keep their own times, and an
// offset converts them to the common clock.
import type { AnswerLanes, AnswerStreams, RowSession } from "../api/schema";
import { rowsOf } from "../api/columns";
import { timelineText as text } from "../text/timeline";
import { groupOfRank, HEIGHT, inOrder, KIND, laneOf, NOBODY, type Group, type Lane, type Owners, type Track } from "./lanes";
import type { View } from "./view";

export interface Rank {
  session: RowSession;
  offset: number; // ns from the start of the session that is open
  length: number; // ns
  title: string;
  note: string;
}

const OF_GPU: readonly number[] = [KIND.kernel, KIND.copy, KIND.run];

/** The GPU work of a rank. */
export function lanesOfRank(rank: Rank, number: number, answer: AnswerLanes): Lane[] {
  const own = rowsOf(answer).flatMap((row) => laneOf(row) ?? []).filter((lane) => OF_GPU.includes(lane.kind));
  const of = { session: rank.session.id, number, offset: rank.offset };
  return inOrder(own).map((lane) => ({ ...lane, id: `${lane.id}@${number}`, rank: of }));
}

export function ownersOf(answer: AnswerStreams | undefined): Owners {
  if (!answer) return NOBODY;
  return { ...NOBODY, streams: new Map(rowsOf(answer).map((row) => [row.id ?? 0, { device: row.device ?? 0, number: row.number }])) };
}

/** Rows of all ranks; owners: of the ranks whose streams are known. */
export function tracksOfRanks(lanes: readonly Lane[], owners: ReadonlyMap<number, Owners>): Track[] {
  const places = new Map(lanes.map((lane, at) => [lane.id, at]));
  const numbers = [...new Set(lanes.map((lane) => lane.rank?.number ?? 0))];
  const ordered = numbers.flatMap((number) => inOrder(lanes.filter((lane) => (lane.rank?.number ?? 0) === number), owners.get(number)));
  return ordered.map((lane) => {
    const number = lane.rank?.number ?? 0;
    const stream = owners.get(number)?.streams.get(lane.ref);
    return {
      key: lane.id,
      category: groupOfRank(number),
      title: stream ? text.streamOf(stream.device - 1, stream.number) : "",
      note: text.kinds[lane.kind]!,
      height: HEIGHT.lane,
      lane: places.get(lane.id)!,
      source: null,
    };
  });
}

/** From the begin of the first rank to the end of the last. */
export const boundsOf = (ranks: readonly Rank[]): View => ({
  from: Math.min(...ranks.map(({ offset }) => offset)),
  to: Math.max(...ranks.map(({ offset, length }) => offset + length)),
});

/** The part of a view that the rank's own timeline can show, with the view's width. null: the
 * rank's whole timeline. */
export function viewOfRank({ offset, length }: Rank, view: View): View | null {
  const width = view.to - view.from;
  if (width >= length) return null;
  const from = Math.max(0, Math.min(view.from - offset, length - width));
  return { from, to: from + width };
}

export const numberOf = (group: Group): number => (group.startsWith("rank ") ? Number(group.slice(5)) : -1);

const OPEN_MOST = 4; // ranks that are open if the address does not say

/** The groups that are closed; open: the numbers of the others, in the address's form. null: the
 * address does not say. */
export function closedOf(ranks: number, open: string | null): Set<Group> {
  const numbers = Array.from({ length: ranks }, (_, at) => at);
  if (open === null) return new Set(ranks > OPEN_MOST ? numbers.map(groupOfRank) : []);
  const wanted = new Set(open.split(".").filter((word) => /^\d{1,3}$/.test(word)).map(Number));
  return new Set(numbers.filter((number) => !wanted.has(number)).map(groupOfRank));
}

/** The inverse of closedOf; null: the address need not say it. */
export function openText(ranks: number, closed: ReadonlySet<Group>): string | null {
  const open = Array.from({ length: ranks }, (_, at) => at).filter((number) => !closed.has(groupOfRank(number)));
  const usual = ranks > OPEN_MOST ? 0 : ranks;
  return open.length === usual ? null : open.join(".") || "none";
}
