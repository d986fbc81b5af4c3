// tree.ts - orders a list of nodes with parents for drawing: children below their parent, longest
// first.
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
