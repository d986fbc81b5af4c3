// paths.ts - paths of scopes as the server writes them, "outer|inner": a bar within a name is written \|, a backslash \\. The
// module also shortens such paths for a row: a path's end says what it is, and others share its beginning.
const ROOM = 72; // letters: a row has some 90
const FIRST = 36;
const LAST = 32;

/** The path's names as the path has them. */
const partsOf = (path: string): string[] => {
  const parts = [""];
  for (const piece of path.match(/\\[\\|]|[^]/g) ?? []) {
    if (piece === "|") parts.push("");
    else parts[parts.length - 1] += piece;
  }
  return parts;
};

/** The names of a path, as they are. */
export const namesOf = (path: string): string[] => partsOf(path).map((part) => part.replace(/\\([\\|])/g, "$1"));

/** The path of a scope whose names these are, from the outermost to its own. */
export const pathText = (names: readonly string[]): string => names.map((name) => name.replace(/[\\|]/g, "\\$&")).join("|");

/** The last `parts` of a path; … stands for those before them. */
function tailOf(path: string, parts: number): string {
  const names = partsOf(path);
  return parts >= names.length ? path : `…|${names.slice(-parts).join("|")}`;
}

/** As many of the last parts as fit. If not even one fits, the beginning and the end of the last
 * part remain. */
function fitting(path: string): { text: string; parts: number } {
  const names = partsOf(path);
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
  const short = new Map(all.map((path) => [path, path.length <= ROOM ? { text: path, parts: partsOf(path).length } : fitting(path)]));
  for (let rounds = Math.max(0, ...all.map((path) => partsOf(path).length)); rounds > 0; rounds--) {
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
