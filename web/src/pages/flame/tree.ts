// tree.ts - collapsed stacks (docs/report.md) as trees of frames, and a tree as rectangles. Plain
// functions from text to numbers.
import { hashOf } from "../../timeline/names";

export interface Stack {
  frames: readonly string[]; // outermost first
  ns: number;
}

export interface Node {
  id: number; // index into the tree's nodes; 0: the root
  name: string;
  parent: number; // -1: this is the root
  depth: number; // 0: the root
  total: number; // ns
  self: number; // ns that no child has
  children: number[]; // most time first
  path: number; // hash of the names from the root: the same in each load of the session
}

export type Tree = Node[];

/** Stacks by tree, "host blocked" and "GPU"; a line that is not a stack is skipped. */
export function stacksOf(text: string): Map<string, Stack[]> {
  const trees = new Map<string, Stack[]>();
  for (const line of text.split("\n")) {
    const end = line.lastIndexOf(" ");
    const ns = end < 0 ? NaN : Number(line.slice(end + 1));
    if (!Number.isFinite(ns) || ns <= 0 || line.slice(end + 1) === "") continue;
    const [root, ...frames] = line.slice(0, end).split(";");
    const list = trees.get(root!);
    if (list) list.push({ frames, ns });
    else trees.set(root!, [{ frames, ns }]);
  }
  return trees;
}

/** Kernels among stacks of GPU time end in their name; copies and graphs end in words of the
 * report. */
export const isKernel = (innermost: string): boolean => !/^(copy |CUDA graph|HIP graph|CUDA (and|or) HIP graph)/.test(innermost);
export const ofKernels = (stacks: readonly Stack[]): number => stacks.reduce((sum, { frames, ns }) => (isKernel(frames.at(-1) ?? "") ? sum + ns : sum), 0);

/** The whole names of kernels by their short names, which the stacks of GPU time have. A short name
 * of two kernels stays as it is. */
export function fullNames(kernels: readonly { short: string; name: string }[]): ReadonlyMap<string, string> {
  const full = new Map<string, string>();
  for (const { short, name } of kernels) full.set(short, full.has(short) ? short : name);
  return full;
}

/** The node that an address names by its path, or 0, the root, if no node has this path. */
export const nodeAt = (tree: Tree, path: string): number => (path ? Math.max(0, tree.findIndex((node) => String(node.path) === path && node.id > 0)) : 0);

/** The path of a node below the root: the names on the way to the node. */
export const pathOf = (names: readonly string[]): number => names.reduce((path, name) => hashOf(`${path};${name}`), 0);

function child(tree: Tree, index: Map<string, number>[], parent: number, name: string): number {
  const known = index[parent]!.get(name);
  if (known !== undefined) return known;
  const id = tree.length;
  const { depth, path } = tree[parent]!;
  tree.push({ id, name, parent, depth: depth + 1, total: 0, self: 0, children: [], path: hashOf(`${path};${name}`) });
  index.push(new Map());
  index[parent]!.set(name, id);
  tree[parent]!.children.push(id);
  return id;
}

const DEEPEST = 2000;

/** inverted: from the innermost frame outwards, so that the frames that take the time come
 * first. */
export function treeOf(stacks: readonly Stack[], name: string, inverted: boolean): Tree {
  const tree: Tree = [{ id: 0, name, parent: -1, depth: 0, total: 0, self: 0, children: [], path: 0 }];
  const index: Map<string, number>[] = [new Map()];
  for (const { frames, ns } of stacks) {
    const order = (inverted ? [...frames].reverse() : frames).slice(0, DEEPEST);
    let at = 0;
    tree[0]!.total += ns;
    for (const frame of order) {
      at = child(tree, index, at, frame);
      tree[at]!.total += ns;
    }
    tree[at]!.self += ns;
  }
  return sorted(tree);
}

function sorted(tree: Tree): Tree {
  for (const node of tree) node.children.sort((a, b) => tree[b]!.total - tree[a]!.total || (tree[a]!.name < tree[b]!.name ? -1 : 1));
  return tree;
}

export interface Part {
  id: number;
  parent: number;
  name: string;
  value: number | null;
  own?: number | null; // of `value`, what no child has, known without the children; absent or null: unknown
}

/** A tree of nodes that have parents already: scopes. A node whose parent is missing goes to the
 * top. A parent is at least as wide as its children together, because scopes of several threads
 * may overlap in time. If a node's own part is known and its children that are here do not have
 * the rest, children were left out: a node named `other` gets the rest. */
export function treeOfParts(parts: readonly Part[], name: string, other = ""): Tree {
  const tree: Tree = [{ id: 0, name, parent: -1, depth: 0, total: 0, self: 0, children: [], path: 0 }];
  const ids = new Map<number, number>();
  for (const part of parts) ids.set(part.id, tree.push({ id: tree.length, name: part.name, parent: 0, depth: 0, total: Math.max(0, part.value ?? 0), self: 0, children: [], path: 0 }) - 1);
  for (const part of parts) {
    const node = tree[ids.get(part.id)!]!;
    node.parent = part.parent === part.id ? 0 : (ids.get(part.parent) ?? 0);
    tree[node.parent]!.children.push(node.id);
  }
  addOthers(tree, parts, other);
  const order = [0];
  for (let at = 0; at < order.length; at++) order.push(...tree[order[at]!]!.children);
  for (const id of order.slice(1)) {
    const node = tree[id]!;
    const above = tree[node.parent]!;
    node.depth = above.depth + 1;
    node.path = hashOf(`${above.path};${node.name}`);
  }
  for (const id of order.reverse()) {
    const node = tree[id]!;
    const below = node.children.reduce((sum, child) => sum + tree[child]!.total, 0);
    node.total = Math.max(node.total, below);
    node.self = node.total - below;
  }
  return sorted(tree);
}

/** Others follow the parts, so that a part's node stays at the part's place. */
function addOthers(tree: Tree, parts: readonly Part[], name: string): void {
  for (const [at, part] of parts.entries()) {
    if (part.value === null || typeof part.own !== "number") continue;
    const node = tree[at + 1]!;
    const rest = part.value - part.own - node.children.reduce((sum, child) => sum + tree[child]!.total, 0);
    if (rest > 0) node.children.push(tree.push({ id: tree.length, name, parent: node.id, depth: 0, total: rest, self: rest, children: [], path: 0 }) - 1);
  }
}

export interface Rect {
  node: number;
  x0: number; // 0 to 1 of the width
  x1: number;
  row: number;
}

/** The rectangles when `focus` fills the width: its ancestors, and its descendants that are at
 * least `least` wide. */
export function rectsOf(tree: Tree, focus: number, least: number, rows: number): Rect[] {
  const rects: Rect[] = [];
  for (let at = focus; at >= 0; at = tree[at]!.parent) rects.push({ node: at, x0: 0, x1: 1, row: tree[at]!.depth });
  rects.reverse();
  const open: Rect[] = [rects[rects.length - 1]!];
  for (let rect = open.pop(); rect; rect = open.pop()) {
    const { children, total } = tree[rect.node]!;
    let x0 = rect.x0;
    for (const id of children) {
      const x1 = x0 + (total > 0 ? (tree[id]!.total / total) * (rect.x1 - rect.x0) : 0);
      const next = { node: id, x0, x1, row: rect.row + 1 };
      x0 = x1;
      if (x1 - next.x0 < least || next.row >= rows) continue;
      rects.push(next);
      open.push(next);
    }
  }
  return rects;
}

export function rectAt(rects: readonly Rect[], x: number, row: number): Rect | null {
  return rects.find((rect) => rect.row === row && x >= rect.x0 && x < rect.x1) ?? null;
}

/** Nodes whose name contains the words, and their time; time below a match is not counted twice. */
export function search(tree: Tree, words: string): { found: Set<number>; total: number } {
  const found = new Set<number>();
  if (!words) return { found, total: 0 };
  const low = words.toLowerCase();
  let total = 0;
  const open: [number, boolean][] = [[0, false]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [id, within] = next;
    const node = tree[id]!;
    const hit = id > 0 && node.name.toLowerCase().includes(low);
    if (hit) found.add(id);
    if (hit && !within) total += node.total;
    for (const child of node.children) open.push([child, within || hit]);
  }
  return { found, total };
}

export interface Frame {
  name: string;
  self: number;
  total: number; // recursion is counted once
}

/** Frames by the time that they take themselves, over all stacks; the innermost frame of a stack
 * is a call or a kernel. */
export function framesOf(stacks: readonly Stack[]): Frame[] {
  const frames = new Map<string, Frame>();
  const of = (name: string): Frame => {
    let frame = frames.get(name);
    if (!frame) frames.set(name, (frame = { name, self: 0, total: 0 }));
    return frame;
  };
  for (const stack of stacks) {
    for (const name of new Set(stack.frames)) of(name).total += stack.ns;
    const inner = stack.frames[stack.frames.length - 1];
    if (inner !== undefined) of(inner).self += stack.ns;
  }
  return [...frames.values()].sort((a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1));
}

export type Way = "up" | "down" | "left" | "right";

/** The frame that an arrow key goes to: the caller, the widest callee, or a neighbour. */
export function step(tree: Tree, at: number, way: Way): number {
  const node = tree[at];
  if (!node) return 0;
  if (way === "up") return Math.max(0, node.parent);
  if (way === "down") return node.children[0] ?? at;
  const siblings = node.parent < 0 ? [at] : tree[node.parent]!.children;
  const place = siblings.indexOf(at) + (way === "right" ? 1 : -1);
  return siblings[Math.max(0, Math.min(siblings.length - 1, place))] ?? at;
}
