// lanePieces.ts - lanes of events: which pieces of theirs are asked for, and what there is to draw of them. A
// lane that the page made itself (gaps by cause) carries its piece, and nothing is asked for it.
import { BLOCK, blocksOf, lodOf, needed, resolve, spotsOf, type Block, type Spot } from "./blocks";
import type { Segment } from "./columns";
import { isLook, KIND, type Lane, type Track } from "./lanes";
import { columnsFor, keyOf, piecesOf, sums, topFor, type Lod } from "./lod";
import type { Piece } from "./piece";
import type { Want } from "./pieces";
import type { Scene } from "./scene";
import type { View } from "./view";

const kindOf = (lane: Lane): number => (lane.piece ? -1 : Number(isLook(lane.kind)));
const isWork = (lane: Lane): boolean => lane.kind === KIND.kernel || lane.kind === KIND.run;

export class LanePieces {
  looked: readonly number[] = []; // threads with captured launches
  private blocks: readonly Block[] = [];
  private spots: readonly Spot[] = [];
  private miniBlock: Block | null = null;
  private resolved = new Map<number, Segment[]>();

  constructor(
    private readonly session: string,
    private readonly scene: Scene,
    private readonly get: (key: string) => Piece | undefined,
    private readonly px: () => number, // CSS px of the axis
  ) {}

  setLanes(lanes: readonly Lane[]): void {
    const { blocks, spots } = spotsOf(lanes, kindOf);
    this.blocks = blocks;
    this.spots = spots;
    this.looked = lanes.filter((lane) => lane.kind === KIND.launch).map((lane) => lane.ref);
    const busiest = lanes.filter(isWork).sort((a, b) => b.events - a.events).slice(0, BLOCK);
    this.miniBlock = blocksOf(busiest)[0] ?? null;
  }

  /** What was resolved is of a view and of pieces that may have changed since. */
  forget(): void {
    this.resolved.clear();
  }

  /** The lane's place in its block. */
  at(lane: number): number {
    return this.spots[lane]?.at ?? 0;
  }

  get miniLanes(): number {
    return this.miniBlock?.ids.length ?? 0;
  }

  /** In the order of asking: the coarsest of all, the strip, what is in view, and what comes into view next. */
  wants(tracks: readonly Track[]): { first: Want[]; late: Want[] } {
    const { view, bounds } = this.scene;
    const top = sums(topFor(bounds.from, bounds.to));
    const inView: View = { from: Math.max(view.from, bounds.from - 1), to: Math.min(view.to, bounds.to + 1) };
    const blocks = [...new Set(tracks.flatMap((track) => this.blocks[this.spots[track.lane]?.block ?? -1] ?? []))];
    const first: Want[] = [];
    const then: Want[] = [];
    const late: Want[] = [];
    const width = inView.to - inView.from;
    for (const block of blocks) {
      const [a, b] = piecesOf(bounds.from, bounds.to, top.shift);
      for (let index = a; index <= b; index++) first.push(this.wantOf(block, top, index));
      const lod = lodOf(block, view, this.px());
      for (const need of needed(this.get, block, lod, inView)) then.push(this.wantOf(block, need.lod, need.index));
      // What comes into view next, as far as there is a session.
      const wider = { from: Math.max(bounds.from, inView.from - width / 2), to: Math.min(bounds.to, inView.to + width / 2) };
      for (const need of needed(this.get, block, lod, wider)) late.push(this.wantOf(block, need.lod, need.index));
    }
    return { first: [...first, ...this.miniWants(), ...then], late };
  }

  segments(lane: number): readonly Segment[] {
    const { piece } = this.scene.lanes[lane]!;
    if (piece) return [{ piece, ...this.scene.view }];
    const number = this.spots[lane]!.block;
    let found = this.resolved.get(number);
    if (!found) {
      found = this.resolveBlock(this.blocks[number]!);
      this.resolved.set(number, found);
    }
    return found;
  }

  miniSegments(): Segment[] {
    const { bounds } = this.scene;
    return this.miniBlock ? resolve(this.get, this.miniBlock, this.miniLod(), topFor(bounds.from, bounds.to), bounds) : [];
  }

  private resolveBlock(block: Block): Segment[] {
    const { view, bounds } = this.scene;
    return resolve(this.get, block, lodOf(block, view, this.px()), topFor(bounds.from, bounds.to), view);
  }

  private wantOf(block: Block, lod: Lod, index: number): Want {
    const size = 2 ** lod.shift;
    return { key: keyOf(lod, index, block.number), ask: { kind: "lanes", session: this.session, lod, from: index * size, to: (index + 1) * size, lanes: block.ids, threads: this.looked } };
  }

  private miniLod(): Lod {
    const { bounds } = this.scene;
    return sums(Math.max(columnsFor((bounds.to - bounds.from) / this.px()), 0));
  }

  private miniWants(): Want[] {
    const { bounds } = this.scene;
    const block = this.miniBlock;
    if (!block) return [];
    const lod = this.miniLod();
    const [a, b] = piecesOf(bounds.from, bounds.to, lod.shift);
    return Array.from({ length: b - a + 1 }, (_, i) => this.wantOf(block, lod, a + i));
  }
}
