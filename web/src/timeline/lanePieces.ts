// lanePieces.ts - lanes of events: which of their pieces are asked for, and what can be drawn of
// them. A lane that the page made itself (gaps by cause) has its piece, and nothing is asked for
// it.
import { BLOCK, blocksOf, lodOf, needed, resolve, spotsOf, type Block, type Spot } from "./blocks";
import type { Segment } from "./columns";
import { isLook, KIND, type Lane } from "./lanes";
import { columnsFor, keyOf, piecesOf, sums, topFor, type Lod } from "./lod";
import type { Piece } from "./piece";
import type { Want } from "./pieces";
import type { Scene } from "./scene";
import type { View } from "./view";
import { gapsOf, within } from "./waiting";

const FEW_MARKS = 400; // of a lane; a block of such lanes is asked for without sums at any zoom
const ALONE = 1e6; // events; a lane with more is a block of its own, so that other lanes are not summed because of it
const ofMarks = (lane: Lane): number => (lane.events <= FEW_MARKS ? 2 : ALONE + lane.ref);
const kindOf = (lane: Lane): number => (lane.piece ? -1 : lane.rank ? 3 + lane.rank.number : lane.kind === KIND.mark ? ofMarks(lane) : Number(isLook(lane.kind)));
const NO_GAPS: readonly View[] = [];
/** The whole visible part of the lane is known, and it is empty. */
const NOTHING: Resolved = { segments: [], gaps: NO_GAPS };
const shifted = (view: View, by: number): View => ({ from: view.from - by, to: view.to - by });
const isWork = (lane: Lane): boolean => lane.kind === KIND.kernel || lane.kind === KIND.run;

/** The pieces of a block's visible part that are here. */
export interface Resolved {
  segments: readonly Segment[];
  gaps: readonly View[]; // the parts that have not arrived, on the block's clock
}

export class LanePieces {
  looked: readonly number[] = []; // threads with captured launches
  private blocks: readonly Block[] = [];
  private spots: readonly Spot[] = [];
  private miniBlock: Block | null = null;
  private resolved = new Map<number, Resolved>();

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
    const busiest = lanes.filter((lane) => isWork(lane) && (!lane.rank || lane.rank.session === this.session)).sort((a, b) => b.events - a.events).slice(0, BLOCK);
    this.miniBlock = blocksOf(busiest)[0] ?? null;
  }

  /** Forgets what was resolved, because the view or the pieces may have changed. */
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

  /** The wanted pieces in the order of asking: the coarsest of all, the strip, the view, and the
   * parts next to the view. There are many ranks, so that only the pieces of their view are wanted. */
  wants(lanes: readonly number[]): { first: Want[]; late: Want[] } {
    const blocks = [...new Set(lanes.flatMap((lane) => this.blocks[this.spots[lane]?.block ?? -1] ?? []))];
    const first: Want[] = [];
    const then: Want[] = [];
    const late: Want[] = [];
    for (const block of blocks) {
      const { view, bounds } = this.clockOf(block);
      const inView: View = { from: Math.max(view.from, bounds.from - 1), to: Math.min(view.to, bounds.to + 1) };
      if (inView.from >= inView.to) continue;
      const lod = lodOf(block, view, this.px());
      for (const need of needed(this.get, block, lod, inView)) then.push(this.wantOf(block, need.lod, need.index));
      if (block.rank) continue; // pieces of the whole run's view replace it
      const top = sums(this.topOf(block));
      const whole = inView.from <= bounds.from && inView.to >= bounds.to;
      const [a, b] = piecesOf(bounds.from, bounds.to, top.shift);
      // An answer with all events is at least as fine as the coarsest pieces.
      if (!whole || lod.raw || lod.m > top.m) for (let index = a; index <= b; index++) first.push(this.wantOf(block, top, index));
      // The parts next to the view, within the session.
      const width = inView.to - inView.from;
      const wider = { from: Math.max(bounds.from, inView.from - width / 2), to: Math.min(bounds.to, inView.to + width / 2) };
      for (const need of needed(this.get, block, lod, wider)) late.push(this.wantOf(block, need.lod, need.index));
    }
    return { first: [...first, ...this.miniWants(), ...then], late };
  }

  /** The shown view and the available segments, on the clock of the block. */
  private clockOf(block: Block): { view: View; bounds: View } {
    const { view, bounds } = this.scene;
    return block.rank ? { view: shifted(view, block.rank.offset), bounds: block.extent } : { view, bounds };
  }

  /** The coarsest columns of the block that exist. */
  private topOf(block: Block): number {
    const { bounds } = this.clockOf(block);
    const top = topFor(bounds.from, bounds.to);
    return block.rank ? Math.max(top, this.miniLod().m) : top;
  }

  segments(lane: number): readonly Segment[] {
    const { piece } = this.scene.lanes[lane]!;
    if (piece) return [{ piece, ...this.scene.view }];
    return this.found(lane).segments;
  }

  /** The visible parts of the lane that have not arrived yet, on its clock. */
  gaps(lane: number): readonly View[] {
    return this.scene.lanes[lane]!.piece ? NO_GAPS : this.found(lane).gaps;
  }

  private found(lane: number): Resolved {
    const number = this.spots[lane]!.block;
    let found = this.resolved.get(number);
    if (!found) {
      found = this.resolveBlock(this.blocks[number]!);
      this.resolved.set(number, found);
    }
    return found;
  }

  /** What the strip shows, and the parts of it that have not arrived. */
  mini(): Resolved {
    if (!this.miniBlock) return NOTHING;
    const { bounds } = this.clockOf(this.miniBlock);
    const segments = resolve(this.get, this.miniBlock, this.miniLod(), this.topOf(this.miniBlock), bounds);
    return { segments, gaps: gapsOf(segments, bounds) };
  }

  private resolveBlock(block: Block): Resolved {
    const { view, bounds } = this.clockOf(block);
    const asked = within(view, bounds); // nothing is asked for outside the session
    const seen = block.rank ? asked : view;
    if (seen.from >= seen.to) return NOTHING;
    const segments = resolve(this.get, block, lodOf(block, view, this.px()), this.topOf(block), seen);
    return { segments, gaps: gapsOf(segments, asked) };
  }

  private wantOf(block: Block, lod: Lod, index: number): Want {
    const size = 2 ** lod.shift;
    return { key: keyOf(lod, index, block.number), ask: { kind: "lanes", session: block.rank?.session ?? this.session, lod, from: index * size, to: (index + 1) * size, lanes: block.ids, threads: block.rank ? [] : this.looked } };
  }

  private miniLod(): Lod {
    const { bounds } = this.scene;
    return sums(Math.max(columnsFor((bounds.to - bounds.from) / this.px()), 0));
  }

  private miniWants(): Want[] {
    const block = this.miniBlock;
    if (!block) return [];
    const { bounds } = this.clockOf(block);
    const lod = this.miniLod();
    const [a, b] = piecesOf(bounds.from, bounds.to, lod.shift);
    return Array.from({ length: b - a + 1 }, (_, i) => this.wantOf(block, lod, a + i));
  }
}
