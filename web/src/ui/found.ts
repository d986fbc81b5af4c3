// found.ts - a name in pieces: what was searched for is one of its own, so that a page can mark it. Where the
// shown text does not have it near its begin, a piece of the whole name that has it leads.
export interface Piece {
  text: string;
  hit: boolean;
}

export const SEEN = 40; // letters that any table shows
const BEFORE = 8; // letters that lead up to a hit
const AFTER = 8;

/** As the server compares; the length stays. */
const folded = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function marked(text: string, words: string): Piece[] {
  const pieces: Piece[] = [];
  const low = folded(text);
  let from = 0;
  for (let at = low.indexOf(words); at >= 0; at = low.indexOf(words, from)) {
    if (at > from) pieces.push({ text: text.slice(from, at), hit: false });
    from = at + words.length;
    pieces.push({ text: text.slice(at, from), hit: true });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), hit: false });
  return pieces;
}

export interface Pieces {
  lead: Piece[]; // empty: the text itself shows it
  text: Piece[];
}

/** others: longer forms of the name, in the order in which they are looked at. */
export function piecesOf(shown: string, others: readonly string[], find: string): Pieces {
  const words = folded(find.trim());
  if (!words) return { lead: [], text: [{ text: shown, hit: false }] };
  const text = marked(shown, words);
  const first = folded(shown).indexOf(words);
  if (first >= 0 && first + words.length <= SEEN) return { lead: [], text };
  const holder = [shown, ...others].find((one) => folded(one).includes(words));
  if (holder === undefined) return { lead: [], text };
  const at = folded(holder).indexOf(words);
  const [from, to] = [Math.max(0, at - BEFORE), at + words.length];
  const part = (piece: string): Piece[] => (piece ? [{ text: piece, hit: false }] : []);
  return { lead: [...part(`${from > 0 ? "…" : ""}${holder.slice(from, at)}`), { text: holder.slice(at, to), hit: true }, ...part(`${holder.slice(to, to + AFTER)}${to + AFTER < holder.length ? "…" : ""}`)], text };
}
