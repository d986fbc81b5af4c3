// found.ts - a name in pieces: each match of the search is a piece, so that a page can mark it. If
// the visible part of the text has no match, a piece of the whole name with the match comes first.
export interface Piece {
  text: string;
  hit: boolean;
}

export const SEEN = 40; // letters that any table shows
const BEFORE = 8; // letters shown before a match
const AFTER = 8;

/** Folds case like the server; the length stays. */
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
  lead: Piece[]; // empty: the text itself shows the match
  text: Piece[];
}

/** others: longer forms of the name, in the order in which they are looked at. seen: how many letters of the text are
 * visible. */
export function piecesOf(shown: string, others: readonly string[], find: string, seen = SEEN): Pieces {
  const words = folded(find.trim());
  if (!words) return { lead: [], text: [{ text: shown, hit: false }] };
  const text = marked(shown, words);
  const first = folded(shown).indexOf(words);
  if (first >= 0 && first + words.length <= seen) return { lead: [], text };
  const holder = [shown, ...others].find((one) => folded(one).includes(words));
  if (holder === undefined) return { lead: [], text };
  const at = folded(holder).indexOf(words);
  const [from, to] = [Math.max(0, at - BEFORE), at + words.length];
  const part = (piece: string): Piece[] => (piece ? [{ text: piece, hit: false }] : []);
  return { lead: [...part(`${from > 0 ? "…" : ""}${holder.slice(from, at)}`), { text: holder.slice(at, to), hit: true }, ...part(`${holder.slice(to, to + AFTER)}${to + AFTER < holder.length ? "…" : ""}`)], text };
}
