// parts.ts - which files of a folder are parts of which session. A file's name has channel and
// number; the first line has the session and the position at which the part begins. The rules are
// those of gpufl upload.
export interface Found {
  file: File;
  path: string; // path within what was dropped
}

export interface Part extends Found {
  channel: string;
  number: number; // 0: the part that is still being written
  offset: number | null; // plain bytes of the channel before the part; null: a part of the public client's
  packed: boolean;
}

export interface Session {
  id: string;
  app: string;
  host: string;
  ours: boolean;
  parts: Part[]; // in the order of sending
  bytes: number;
}

/** "app.device.2.log.gz" is channel device, number 2. */
export function nameOfPart(name: string): { channel: string; number: number; packed: boolean } | null {
  const packed = name.endsWith(".gz");
  const stem = packed ? name.slice(0, -3) : name;
  if (!stem.endsWith(".log")) return null;
  const words = stem.slice(0, -4).split(".");
  const number = words.length > 1 && /^\d{1,18}$/.test(words.at(-1)!) ? Number(words.pop()) : 0;
  const channel = words.at(-1)!;
  return channel && channel.length < 24 ? { channel, number, packed } : null;
}

const PLAIN = /\.zst$/;

/** Parts packed with zstd whose contents are in no other file. A browser cannot unpack zstd, so
 * that they are left out. */
export function leftOutOf(files: readonly Found[]): string[] {
  const paths = new Set(files.map(({ path }) => path));
  return [...paths].filter((path) => {
    const plain = path.replace(PLAIN, "");
    return plain !== path && nameOfPart(plain.split("/").at(-1) ?? "") !== null && !paths.has(plain) && !paths.has(`${plain}.gz`);
  });
}

export interface Head {
  session: string;
  channel: string | null;
  offset: number | null;
  app: string;
  host: string;
}

/** The first lines of a part; null: they name no session. */
export function headOf(text: string): Head | null {
  for (const [at, line] of text.split("\n").slice(0, 64).entries()) {
    let row: unknown;
    try {
      row = JSON.parse(line);
    } catch {
      continue;
    }
    if (typeof row !== "object" || row === null) continue;
    const { type, session, session_id, channel, offset, app, host, hostname } = row as Record<string, unknown>;
    const word = (value: unknown) => (typeof value === "string" ? value : "");
    if (at === 0 && type === "header" && typeof session === "string" && typeof channel === "string")
      return { session, channel, offset: typeof offset === "number" ? offset : 0, app: word(app), host: word(host) };
    if (typeof session_id === "string") return { session: session_id, channel: null, offset: null, app: word(app), host: word(hostname) };
  }
  return null;
}

const HEAD_BYTES = 64 << 10;

const unpacked = (file: Blob): ReadableStream<Uint8Array> => (file.stream() as ReadableStream<Uint8Array>).pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>);

/** The beginning of a part as text. A damaged part is read as far as possible. */
export async function beginning(file: Blob, packed: boolean): Promise<string> {
  if (!packed) return file.slice(0, HEAD_BYTES).text();
  const reader = unpacked(file).getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < HEAD_BYTES) {
      const piece = await reader.read();
      if (piece.done) break;
      text += decoder.decode(piece.value, { stream: true });
    }
  } catch {
    /* The text before the damage is kept. */
  }
  await reader.cancel().catch(() => undefined);
  return text;
}

const folder = (path: string): string => path.split("/").at(-2) ?? "";
/** The part that is still being written comes last; a finished part replaces the plain file that
 * it was made of. */
const order = (a: Part, b: Part): number => (a.offset ?? 0) - (b.offset ?? 0) || (a.number || Infinity) - (b.number || Infinity) || Number(b.packed) - Number(a.packed);

/** The sessions of what was dropped; the other files belong to no session. */
export async function sessionsIn(files: readonly Found[]): Promise<Session[]> {
  const heads: { part: Part; head: Head | null }[] = [];
  for (const found of files) {
    const name = nameOfPart(found.path.split("/").at(-1) ?? "");
    if (!name || found.file.size === 0) continue;
    const head = headOf(await beginning(found.file, name.packed));
    heads.push({ part: { ...found, channel: head?.channel ?? name.channel, number: name.number, packed: name.packed, offset: head?.offset ?? null }, head });
  }
  // A part without a header belongs to the session of its folder.
  const byFolder = new Map(heads.flatMap(({ part, head }) => (head ? [[folder(part.path), head] as const] : [])));
  const sessions = new Map<string, Session>();
  for (const { part, head } of heads) {
    const of = head ?? byFolder.get(folder(part.path));
    if (!of) continue;
    const session = sessions.get(of.session) ?? { id: of.session, app: of.app, host: of.host, ours: of.channel !== null, parts: [], bytes: 0 };
    session.parts.push(part);
    sessions.set(of.session, session);
  }
  for (const session of sessions.values()) {
    const twin = (part: Part) => part.number > 0 && !part.packed && session.parts.some((p) => p.packed && p.channel === part.channel && p.number === part.number);
    session.parts = session.parts.filter((part) => !twin(part));
    session.parts.sort((a, b) => a.channel.localeCompare(b.channel) || order(a, b));
    session.bytes = session.parts.reduce((sum, part) => sum + part.file.size, 0);
  }
  return [...sessions.values()];
}

export interface Piece {
  bytes: Uint8Array<ArrayBuffer>; // whole lines
  offset: number; // plain bytes of the part before it
  read: number; // bytes of the file that have been read
}

const PIECE = 4 << 20;

/** The part's plain lines after `skip`, in pieces. Throws if the part cannot be read; the pieces
 * before that are good. */
export async function* piecesOf(file: Blob, packed: boolean, skip: number, size = PIECE): AsyncGenerator<Piece> {
  let read = 0;
  const counted = (file.stream() as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, control) {
        read += chunk.length;
        control.enqueue(chunk);
      },
    }),
  );
  const plain = packed ? counted.pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>) : counted;
  const reader = plain.getReader();
  let at = 0; // plain bytes seen
  let begin = skip;
  let held: Uint8Array<ArrayBuffer>[] = [];
  let heldBytes = 0;

  function cut(): Piece | null {
    const all = new Uint8Array(heldBytes);
    let to = 0;
    for (const chunk of held) {
      all.set(chunk, to);
      to += chunk.length;
    }
    const end = all.lastIndexOf(10) + 1;
    if (end === 0) {
      held = [all];
      return null;
    }
    const piece = { bytes: all.slice(0, end), offset: begin, read };
    begin += end;
    held = end < all.length ? [all.slice(end)] : [];
    heldBytes = all.length - end;
    return piece;
  }

  let failed: unknown;
  for (;;) {
    let next;
    try {
      next = await reader.read();
    } catch (cause) {
      failed = cause;
      break;
    }
    if (next.done) break;
    const from = Math.max(0, skip - at);
    at += next.value.length;
    if (from >= next.value.length) continue;
    const chunk = from ? next.value.slice(from) : next.value;
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < size) continue;
    const piece = cut();
    if (piece) yield piece;
  }
  const last = heldBytes ? cut() : null;
  if (last) yield last;
  if (failed) throw new BrokenOff();
}

/** The error of a part that cannot be read to its end. */
export class BrokenOff extends Error {}
