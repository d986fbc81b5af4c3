// pieces.ts - the pieces that are here, and those under way. Their bytes are limited; the least
// recently used piece is dropped first. The engine says at each change of the view which pieces it
// wants, most urgent first: a request that is no longer wanted is aborted, a failed one is repeated
// a little later.
import type { Name } from "./names";
import { bytesOf, type Piece } from "./piece";
import type { Ask, Reply, Request, Wrong } from "./protocol";

export interface Want {
  key: string;
  ask: Ask;
}

interface Kept {
  piece: Piece;
  bytes: number;
  round: number; // of the session's data when it was asked for
}

interface Failure {
  times: number;
  wrong: Wrong;
}

/** The source of pieces: a Worker, or a substitute in tests. */
export interface Line {
  send: (request: Request) => void;
  onReply: (take: (reply: Reply) => void) => void;
  close: () => void;
}

export interface Clock {
  later: (run: () => void, ms: number) => unknown;
  never: (timer: unknown) => void;
}

const AT_ONCE = 4;
const TRIES = 4;
const AGAIN_MS = 500;

export class Pieces {
  private readonly kept = new Map<string, Kept>(); // least recently used first
  private bytes = 0;
  private readonly running = new Map<number, { key: string; round: number }>();
  private readonly failures = new Map<string, Failure>();
  private wants: readonly Want[] = [];
  private next = 1;
  private round = 0;
  private timer: unknown = null;

  constructor(
    private readonly line: Line,
    private readonly ceiling: number,
    private readonly onNames: (names: readonly Name[]) => void,
    private readonly changed: () => void,
    private readonly clock: Clock = { later: (run, ms) => setTimeout(run, ms), never: (timer) => clearTimeout(timer as number) },
  ) {
    line.onReply((reply) => this.take(reply));
  }

  get(key: string): Piece | undefined {
    const found = this.kept.get(key);
    if (!found) return undefined;
    this.kept.delete(key);
    this.kept.set(key, found);
    return found.piece;
  }

  /** Whether no newer piece exists. */
  fresh(key: string): boolean {
    return this.kept.get(key)?.round === this.round;
  }

  /** Sets what the view needs, most urgent first, and what may be needed next. */
  want(wants: readonly Want[]): void {
    this.wants = wants;
    const keys = new Set(wants.map((want) => want.key));
    for (const [id, { key }] of this.running)
      if (!keys.has(key)) {
        this.running.delete(id);
        this.line.send({ id, stop: true });
      }
    this.start();
  }

  /** The session has grown: the old pieces are drawn until new ones have arrived. */
  grown(): void {
    this.round++;
    this.start();
  }

  again(): void {
    this.failures.clear();
    this.start();
  }

  get pending(): number {
    return this.running.size;
  }

  get size(): number {
    return this.bytes;
  }

  /** The first problem of what is wanted now. */
  problem(): Wrong | null {
    for (const { key } of this.wants) {
      const failure = this.failures.get(key);
      if (failure && failure.times > 1) return failure.wrong; // the first failure may be temporary
    }
    return null;
  }

  close(): void {
    this.clock.never(this.timer);
    this.line.close();
    this.kept.clear();
    this.running.clear();
    this.wants = [];
  }

  private start(): void {
    const busy = new Set([...this.running.values()].map(({ key }) => key));
    for (const want of this.wants) {
      if (this.running.size >= AT_ONCE) return;
      if (busy.has(want.key) || this.fresh(want.key)) continue;
      const failure = this.failures.get(want.key);
      if (failure && (failure.times >= TRIES || this.timer !== null)) continue;
      const id = this.next++;
      this.running.set(id, { key: want.key, round: this.round });
      busy.add(want.key);
      this.line.send({ id, ask: want.ask });
    }
  }

  private take(reply: Reply): void {
    this.onNames(reply.names); // also names of an answer that is no longer wanted, because numbers continue
    const asked = this.running.get(reply.id);
    if (!asked) return;
    this.running.delete(reply.id);
    if ("piece" in reply) {
      this.failures.delete(asked.key);
      this.keep(asked.key, { piece: reply.piece, bytes: bytesOf(reply.piece), round: asked.round });
    } else {
      this.failed(asked.key, reply.wrong);
    }
    this.start();
    this.changed();
  }

  private failed(key: string, wrong: Wrong): void {
    const times = (this.failures.get(key)?.times ?? 0) + 1;
    this.failures.set(key, { times, wrong });
    if (times >= TRIES || this.timer !== null) return;
    this.timer = this.clock.later(
      () => {
        this.timer = null;
        this.start();
      },
      AGAIN_MS * 2 ** times,
    );
  }

  private keep(key: string, kept: Kept): void {
    this.bytes += kept.bytes - (this.kept.get(key)?.bytes ?? 0);
    this.kept.delete(key);
    this.kept.set(key, kept);
    for (const [old, { bytes }] of this.kept) {
      if (this.bytes <= this.ceiling || old === key) break;
      this.kept.delete(old);
      this.bytes -= bytes;
    }
  }
}
