// labels.ts - the texts in the rectangles of a row, as far as they fit. Different names below one
// parent that would read the same are shown from the place where they differ.

export interface Label {
  name: string;
  parent: number; // names below one parent must differ
  room: number; // px
}

export type Wide = (text: string) => number; // px

const NAME_MOST = 400; // letters that are measured
const BEFORE = 3; // letters before the first difference
const LEAST = 2; // letters; fewer say nothing

/** The beginning of a text that fits; "": there is no room for a word. */
export function fitted(text: string, room: number, wide: Wide): string {
  const short = text.length > NAME_MOST ? text.slice(0, NAME_MOST) : text;
  const width = wide(short);
  if (width <= room && short === text) return text;
  const letters = Math.floor((short.length * Math.min(room, width)) / width) - 2;
  return letters >= LEAST ? `${short.slice(0, letters)}…` : "";
}

/** Where the first letter is that not all of the texts have. */
function firstDifference(texts: readonly string[]): number {
  let at = 0;
  while (at < texts[0]!.length && texts.every((text) => text[at] === texts[0]![at])) at++;
  return at;
}

export function textsOf(row: readonly Label[], wide: Wide): string[] {
  const texts = row.map(({ name, room }) => fitted(name, room, wide));
  const alike = new Map<string, number[]>();
  texts.forEach((text, at) => {
    const key = `${row[at]!.parent} ${text}`;
    if (text.endsWith("…")) alike.set(key, [...(alike.get(key) ?? []), at]);
  });
  for (const places of alike.values()) {
    const names = [...new Set(places.map((at) => row[at]!.name))];
    if (names.length < 2) continue;
    const from = firstDifference(names) - BEFORE;
    if (from > 0) for (const at of places) texts[at] = fitted(`…${row[at]!.name.slice(from)}`, row[at]!.room, wide);
  }
  return texts;
}
