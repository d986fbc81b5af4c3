// paths.ts - paths of scopes, short enough for a row. The end of a path says what the scope is;
// paths share their beginnings.
const ROOM = 72; // letters: a row has some 90
const FIRST = 36;
const LAST = 32;

/** The last `parts` of a path; … replaces the parts before them. */
function tailOf(path: string, parts: number): string {
  const names = path.split("|");
  return parts >= names.length ? path : `…|${names.slice(-parts).join("|")}`;
}

/** As many of the last parts as fit. If not even one fits, the beginning and the end of the last
 * part remain. */
function fitting(path: string): { text: string; parts: number } {
  const names = path.split("|");
  let parts = 1;
  while (parts < names.length && tailOf(path, parts + 1).length <= ROOM) parts++;
  const text = tailOf(path, parts);
  const letters = [...text];
  return { text: letters.length > ROOM + FIRST ? `${letters.slice(0, FIRST).join("")}…${letters.slice(-LAST).join("")}` : text, parts };
}

/** A short text for each path of a list. Paths that would look alike get more parts, in the end
 * all parts. */
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
