// send.ts - sends one session: asks how much of each channel the server has, and sends the rest.
// Sending may be stopped and begun again at any point; the server's answer decides
// (docs/server-sending.md).
import { upload as text } from "../../text/upload";
import { BrokenOff, piecesOf, type Part, type Session } from "./parts";

export interface Answer {
  status: number;
  answer: Record<string, unknown>;
}

/** What the sender asks the server. */
export interface Remote {
  positions: (session: string) => Promise<Map<string, number>>;
  stream: (fields: Record<string, string>, body: Blob, signal: AbortSignal) => Promise<Answer>;
  complete: (session: string) => Promise<Answer>;
}

export interface Refusal {
  line: number;
  type: string;
  reason: string;
}

export interface Progress {
  sent: number; // bytes of the files that are done
  before: number; // the part of `sent` that the server already had
  rejected: number;
  refusals: Refusal[]; // the first ones
  notes: string[];
}

export const noProgress = (): Progress => ({ sent: 0, before: 0, rejected: 0, refusals: [], notes: [] });

/** Why sending cannot go on, in words for people. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly denied = false,
  ) {
    super(message);
  }
}

const AS_IT_IS = 8 << 20; // bytes; a packed part up to this size is sent as it is
const REFUSALS = 5;

const packed = async (bytes: Uint8Array<ArrayBuffer>): Promise<Blob> =>
  new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)).blob();

const numberOf = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

interface Sending {
  session: Session;
  remote: Remote;
  onProgress: (progress: Progress) => void;
  signal: AbortSignal;
}

/** complete: whether the session ends with what is sent. */
export async function sendSession(session: Session, remote: Remote, complete: boolean, onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
  await new Sender({ session, remote, onProgress, signal }, await remote.positions(session.id)).run(complete);
}

/** The sending of one session, and how far it is. */
class Sender {
  private readonly progress = noProgress();
  private done = 0; // bytes of the files that are done

  /** at: the next byte that the server expects of each channel. */
  constructor(
    private readonly sending: Sending,
    private readonly at: Map<string, number>,
  ) {}

  async run(complete: boolean): Promise<void> {
    const { session, remote, signal } = this.sending;
    this.report({});
    for (const [index, part] of session.parts.entries()) {
      signal.throwIfAborted();
      const next = session.parts[index + 1];
      await this.sendOrMove(part, next?.channel === part.channel ? next : undefined);
      this.done += part.file.size;
      this.report({ sent: this.done });
    }
    if (complete) this.judge(await remote.complete(session.id), "");
  }

  private report(change: Partial<Progress>): void {
    Object.assign(this.progress, change);
    this.sending.onProgress({ ...this.progress });
  }

  /** Counts what the server refused. Returns the server's next position in the channel, if it says
   * one. */
  private judge({ status, answer }: Answer, channel: string): number | null {
    if (status === 200) {
      const { progress } = this;
      const rejected = numberOf(answer.rejected) ?? 0;
      this.report({ rejected: progress.rejected + rejected, refusals: [...progress.refusals, ...refusalsOf(answer)].slice(0, REFUSALS) });
      return numberOf(answer.offset);
    }
    const expected = numberOf(answer.expected_offset);
    if (status === 409 && expected !== null) throw new Gap(channel, expected);
    if (status === 401 || status === 403) throw new Failure(text.failures.denied, true);
    if (status === 413) throw new Failure(text.failures.large);
    throw new Failure(text.failures.refused(status, String(answer.detail ?? "")));
  }

  /** Sends a part, from another position if the server has another one than it said: then another
   * sender is at work, or the server was restored. */
  private async sendOrMove(part: Part, next: Part | undefined): Promise<void> {
    try {
      await this.sendPart(part, next);
    } catch (cause) {
      if (!(cause instanceof Gap)) throw cause;
      const known = part.offset !== null && cause.expected >= part.offset && cause.expected !== (this.at.get(part.channel) ?? 0);
      if (!known) throw new Failure(text.failures.gap(part.channel, `${cause.expected} bytes`));
      this.at.set(part.channel, cause.expected);
      await this.sendPieces(part, part.offset!, cause.expected);
    }
  }

  /** next: the part after this one in its channel. */
  private async sendPart(part: Part, next: Part | undefined): Promise<void> {
    if (part.offset === null) return this.sendWindow(part);
    const have = this.at.get(part.channel) ?? 0;
    if (next?.offset != null && next.offset > part.offset && have >= next.offset) {
      this.report({ before: this.progress.before + part.file.size });
      return;
    }
    if (part.offset > have) throw new Gap(part.channel, have);
    const asItIs = part.packed && part.file.size <= AS_IT_IS && have === part.offset;
    if (!asItIs || !(await this.sendFile(part, have))) await this.sendPieces(part, part.offset, have);
  }

  /** Sends a part that has no position in its channel: a window, which the server has or lacks. */
  private async sendWindow(part: Part): Promise<void> {
    const { session, remote, signal } = this.sending;
    const fields = { ...fieldsOf(session, part), "X-GpuFlight-Window-Channel": part.channel, ...(part.number ? { "X-GpuFlight-Window-Sequence": String(part.number) } : {}) };
    const answer = await remote.stream(part.packed ? { ...fields, "Content-Encoding": "gzip" } : fields, part.file, signal);
    this.judge(answer, part.channel);
    if (answer.answer.repeated === true) this.report({ before: this.progress.before + part.file.size });
  }

  /** Sends a packed file as it is. False if it is too large for the server. */
  private async sendFile(part: Part, have: number): Promise<boolean> {
    const { session, remote, signal } = this.sending;
    const fields = { ...fieldsOf(session, part), "X-GpuFlight-Offset": String(part.offset), "Content-Encoding": "gzip" };
    const answer = await remote.stream(fields, part.file, signal);
    if (answer.status === 413) return false;
    this.at.set(part.channel, this.judge(answer, part.channel) ?? have);
    return true;
  }

  /** Sends a part piece by piece from position `from` on; base: the position of its first byte. */
  private async sendPieces(part: Part, base: number, from: number): Promise<void> {
    const { session, remote, signal } = this.sending;
    const { channel } = part;
    try {
      for await (const piece of piecesOf(part.file, part.packed, from - base)) {
        signal.throwIfAborted();
        const fields = { ...fieldsOf(session, part), "X-GpuFlight-Offset": String(base + piece.offset), "Content-Encoding": "gzip" };
        this.at.set(channel, this.judge(await remote.stream(fields, await packed(piece.bytes), signal), channel) ?? base + piece.offset + piece.bytes.length);
        this.report({ sent: this.done + Math.min(piece.read, part.file.size) });
      }
    } catch (cause) {
      if (!(cause instanceof BrokenOff)) throw cause;
      this.report({ notes: [...this.progress.notes, text.brokenOff(part.path)] });
    }
  }
}

function refusalsOf({ errors }: Answer["answer"]): Refusal[] {
  const rows = Array.isArray(errors) ? (errors as Record<string, unknown>[]) : [];
  return rows.map((row) => ({ line: numberOf(row.line) ?? 0, type: String(row.type ?? ""), reason: String(row.reason ?? "") }));
}

class Gap extends Error {
  constructor(
    readonly channel: string,
    readonly expected: number,
  ) {
    super("gap");
  }
}

function fieldsOf(session: Session, part: Part): Record<string, string> {
  const fields: Record<string, string> = { "Content-Type": "application/x-ndjson", "X-GpuFlight-Session-Id": session.id };
  if (part.offset !== null) fields["X-GpuFlight-Channel"] = part.channel;
  return fields;
}
