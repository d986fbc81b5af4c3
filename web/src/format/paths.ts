// paths.ts - paths of scopes, short enough for a row: their end says what they are, their begin is what they share with others.
const ROOM = 72; // letters: a row has some 90
const FIRST = 36;
const LAST = 32;

/** The last `parts` of a path; … stands for those before them. */
function tailOf(path: string, parts: number): string {
  const names = path.split("|");
  return parts >= names.length ? path : `…|${names.slice(-parts).join("|")}`;
}

/** As many of the last parts as have room: at least one, of which begin and end are left where it has none. */
function fitting(path: string): { text: string; parts: number } {
  const names = path.split("|");
  let parts = 1;
  while (parts < names.length && tailOf(path, parts + 1).length <= ROOM) parts++;
  const text = tailOf(path, parts);
  const letters = [...text];
  return { text: letters.length > ROOM + FIRST ? `${letters.slice(0, FIRST).join("")}…${letters.slice(-LAST).join("")}` : text, parts };
}

/** A short text for each path of a list: paths that would read alike have parts more, in the end all. */
export function shortPaths(paths: readonly string[]): ReadonlyMap<string, string> {
  const all = [...new Set(paths)];
  const short = new Map(all.map((path) => [path, path.length <= ROOM ? { text: path, parts: path.split("|").length } : fitting(path)]));
  for (let rounds = Math.max(0, ...all.map((path) => path.split("|").length)); rounds > 0; rounds--) {
    const seen = new Map<string, string[]>();
    for (const [path, { text }] of short) seen.set(text, [...(seen.get(text) ?? []), path]);
    const alike = [...seen.values()].filter((group) => group.length > 1).flat();
    if (alike.length === 0) break;
    for (const path of alike) {
      const parts = short.get(path)!.parts + 1;
      short.set(path, { text: tailOf(path, parts), parts });
    }
  }
  return new Map([...short].map(([path, { text }]) => [path, text]));
}
