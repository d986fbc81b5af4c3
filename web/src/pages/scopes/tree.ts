// tree.ts - a list of nodes with parents as it is drawn: children below their parent, longest first.
interface Node {
  id: number;
  parent: number;
  wall_ns: number;
}

/** null where the scope is no measured loop. */
export const perIteration = (ns: number | null, iterations: number | null): number | null => (ns !== null && iterations ? ns / iterations : null);

/** A node whose parent is not there stands at the top; a circle, which no report has, is left out. */
export function inTreeOrder<T extends Node>(nodes: readonly T[]): T[] {
  const known = new Set(nodes.map((node) => node.id));
  const below = new Map<number, T[]>();
  for (const node of nodes) {
    const parent = known.has(node.parent) ? node.parent : 0;
    const list = below.get(parent);
    if (list) list.push(node);
    else below.set(parent, [node]);
  }
  for (const list of below.values()) list.sort((a, b) => a.wall_ns - b.wall_ns); // taken from the end
  const order: T[] = [];
  const open = [...(below.get(0) ?? [])];
  for (let node = open.pop(); node; node = open.pop()) {
    order.push(node);
    open.push(...(below.get(node.id) ?? []));
  }
  return order;
}
