// tree.ts - orders a list of nodes with parents for drawing: children below their parent, longest
// first. Captions of the icicle's blocks.
import { count, duration, percent } from "../../format/format";
import { flameText } from "../../text/flame";
import { scopes as text } from "../../text/scopes";
import type { Tree } from "../flame/tree";

interface Node {
  id: number;
  parent: number;
  wall_ns: number;
}

/** null if the scope is not a measured loop */
export const perIteration = (ns: number | null, iterations: number | null): number | null => (ns !== null && iterations ? ns / iterations : null);

/** A node whose parent is missing goes to the top; nodes in a circle, which no report has, are
 * left out. */
export function inTreeOrder<T extends Node>(nodes: readonly T[]): T[] {
  const known = new Set(nodes.map((node) => node.id));
  const below = new Map<number, T[]>();
  for (const node of nodes) {
    const parent = known.has(node.parent) ? node.parent : 0;
    const list = below.get(parent);
    if (list) list.push(node);
    else below.set(parent, [node]);
  }
  for (const list of below.values()) list.sort((a, b) => a.wall_ns - b.wall_ns); // ascending, because nodes are taken from the end
  const order: T[] = [];
  const open = [...(below.get(0) ?? [])];
  for (let node = open.pop(); node; node = open.pop()) {
    order.push(node);
    open.push(...(below.get(node.id) ?? []));
  }
  return order;
}

/** The note above the table; all: how many scopes the session has, null: unknown. */
export const noteOf = (shown: number, all: number | null): string => (all !== null && all > shown ? `${text.shown(count(shown), count(all))} ${text.aside}` : text.aside);

interface Shown {
  scopes: number; // nodes after these are blocks of other scopes
  complete: boolean; // every scope of the session is in the tree
  ownKnown: boolean; // the report has each scope's own part, so that blocks of other scopes have the rest
}

/** The numbers of a block. What no block below has is a scope's own time only if no scope can be
 * missing below the block. */
export function captionOf(tree: Tree, { scopes, complete, ownKnown }: Shown): (node: number) => string {
  const own = complete || ownKnown ? flameText.own : text.ownOrHidden;
  return (at) => {
    const { total, self } = tree[at]!;
    if (at === 0) return (complete ? text.sum : text.sumShown)(duration(total));
    const part = percent(tree[0]!.total > 0 ? total / tree[0]!.total : null);
    return at > scopes ? `${duration(total)} · ${part}` : `${duration(total)} · ${part} · ${own(duration(self))}`;
  };
}
