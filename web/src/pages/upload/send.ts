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

export async function sendSession(session: Session, remote: Remote, complete: boolean, onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
  const progress = noProgress();
  const report = (change: Partial<Progress>) => onProgress(Object.assign(progress, change) && { ...progress });
  const at = await remote.positions(session.id);
  report({});

  function judge({ status, answer }: Answer, channel: string): number | null {
    if (status === 200) {
      const rejected = numberOf(answer.rejected) ?? 0;
      const errors = Array.isArray(answer.errors) ? (answer.errors as Record<string, unknown>[]) : [];
      const refusals = errors.map((e) => ({ line: numberOf(e.line) ?? 0, type: String(e.type ?? ""), reason: String(e.reason ?? "") }));
      report({ rejected: progress.rejected + rejected, refusals: [...progress.refusals, ...refusals].slice(0, REFUSALS) });
      return numberOf(answer.offset);
    }
    const expected = numberOf(answer.expected_offset);
    if (status === 409 && expected !== null) throw new Gap(channel, expected);
    if (status === 401 || status === 403) throw new Failure(text.failures.denied, true);
    if (status === 413) throw new Failure(text.failures.large);
    throw new Failure(text.failures.refused(status, String(answer.detail ?? "")));
  }

  async function sendPieces(part: Part, base: number, from: number): Promise<void> {
    const skip = from - base;
    try {
      for await (const piece of piecesOf(part.file, part.packed, skip)) {
        signal.throwIfAborted();
        const fields = { ...fieldsOf(session, part), "X-GpuFlight-Offset": String(base + piece.offset), "Content-Encoding": "gzip" };
        at.set(part.channel, judge(await remote.stream(fields, await packed(piece.bytes), signal), part.channel) ?? base + piece.offset + piece.bytes.length);
        report({ sent: done + Math.min(piece.read, part.file.size) });
      }
    } catch (cause) {
      if (!(cause instanceof BrokenOff)) throw cause;
      report({ notes: [...progress.notes, text.brokenOff(part.path)] });
    }
  }

  async function sendPart(part: Part, next: Part | undefined): Promise<void> {
    if (part.offset === null) {
      const fields = { ...fieldsOf(session, part), "X-GpuFlight-Window-Channel": part.channel, ...(part.number ? { "X-GpuFlight-Window-Sequence": String(part.number) } : {}) };
      const answer = await remote.stream(part.packed ? { ...fields, "Content-Encoding": "gzip" } : fields, part.file, signal);
      judge(answer, part.channel);
      if (answer.answer.repeated === true) report({ before: progress.before + part.file.size });
      return;
    }
    const have = at.get(part.channel) ?? 0;
    if (next?.offset != null && next.offset > part.offset && have >= next.offset) {
      report({ before: progress.before + part.file.size });
      return;
    }
    if (part.offset > have) throw new Gap(part.channel, have);
    if (part.packed && part.file.size <= AS_IT_IS && have === part.offset) {
      const fields = { ...fieldsOf(session, part), "X-GpuFlight-Offset": String(part.offset), "Content-Encoding": "gzip" };
      const answer = await remote.stream(fields, part.file, signal);
      if (answer.status !== 413) {
        at.set(part.channel, judge(answer, part.channel) ?? have);
        return;
      }
    }
    await sendPieces(part, part.offset, have);
  }

  let done = 0;
  for (const [index, part] of session.parts.entries()) {
    signal.throwIfAborted();
    const next = session.parts[index + 1];
    const same = next?.channel === part.channel ? next : undefined;
    try {
      await sendPart(part, same);
    } catch (cause) {
      if (!(cause instanceof Gap)) throw cause;
      // The server has another position than it said: another sender is at work, or the server was
      // restored.
      const known = part.offset !== null && cause.expected >= part.offset && cause.expected !== (at.get(part.channel) ?? 0);
      if (!known) throw new Failure(text.failures.gap(part.channel, `${cause.expected} bytes`));
      at.set(part.channel, cause.expected);
      await sendPieces(part, part.offset!, cause.expected);
    }
    done += part.file.size;
    report({ sent: done });
  }
  if (complete) judge(await remote.complete(session.id), "");
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
