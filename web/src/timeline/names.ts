// names.ts - names of events: each has a number, a short text, and a colour by the name's hash, so
// that a kernel has the same colour in every session and on every machine.
export const COLOURS = 12; // --event-1 … --event-12 of ui/tokens.css

/** FNV-1a, 32 bits, of the UTF-16 units. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

export const colourOf = (name: string): number => hashOf(name) % COLOURS;

export interface Name {
  name: string; // demangled
  mangled: string;
  short: string; // the server's short name
}

export class Names {
  /** The vendor's word for an event of this name, if it differs (text/kernel.ts). */
  words: Readonly<Record<string, string>> = {};
  private readonly full: string[] = [""]; // number 0: no name
  private readonly shorts: string[] = [""];
  private readonly taken = new Set<string>(); // the short names in use
  private readonly mangled: string[] = [""];
  private readonly own: string[] = [];
  private readonly ownShorts: string[] = [];
  private pattern = "";
  private readonly hits: boolean[] = [true]; // results of the search, for the names tested so far
  private colours = new Uint8Array(256);

  /** Adds names that are new to the worker, in the worker's order. */
  add(names: readonly Name[]): void {
    for (const { name, mangled, short } of names) {
      if (this.full.length === this.colours.length) {
        const more = new Uint8Array(2 * this.colours.length);
        more.set(this.colours);
        this.colours = more;
      }
      this.colours[this.full.length] = colourOf(name);
      this.full.push(name);
      this.mangled.push(mangled === name ? "" : mangled);
      // Names of one answer differ; names of two answers may be equal.
      const label = this.taken.has(short) ? `${short} #${this.full.length - 1}` : short;
      this.taken.add(label);
      this.shorts.push(label);
    }
  }

  /** The number of a text that the page got from the server itself: below 0, to be distinct from
   * the worker's numbers. */
  numberOf(name: string, short: string): number {
    let at = this.own.indexOf(name);
    if (at < 0) {
      at = this.own.push(name) - 1;
      this.ownShorts.push(short);
    }
    return -1 - at;
  }

  /** A new worker counts from 1 again. */
  clear(): void {
    this.full.length = this.shorts.length = this.mangled.length = 1;
    this.taken.clear();
    this.hits.length = 0;
  }

  text(id: number): string {
    return this.said((id < 0 ? this.own[-1 - id] : this.full[id]) ?? "");
  }

  short(id: number): string {
    return this.said((id < 0 ? this.ownShorts[-1 - id] : this.shorts[id]) ?? "");
  }

  private said(name: string): string {
    return Object.hasOwn(this.words, name) ? this.words[name]! : name;
  }

  /** The name in the program. */
  symbol(id: number): string {
    return (id > 0 && this.mangled[id]) || this.text(id);
  }

  colour(id: number): number {
    return this.colours[id] ?? 0;
  }

  /** Sets the text that is searched for; events of other names are drawn pale. */
  find(pattern: string): void {
    this.pattern = pattern.toLowerCase();
    this.hits.length = 0;
  }

  get sought(): string {
    return this.pattern;
  }

  /** Compares like the server, with the name in the program; the demangled name is accepted as
   * well. */
  found(id: number): boolean {
    if (!this.pattern) return true;
    let hit = this.hits[id];
    if (hit === undefined) {
      hit = id > 0 && (this.text(id).toLowerCase().includes(this.pattern) || (this.mangled[id] ?? "").toLowerCase().includes(this.pattern));
      this.hits[id] = hit;
    }
    return hit;
  }
}

/** A text of at most so many letters, cut in its middle. */
export function cutMiddle(text: string, letters: number): string {
  if (text.length <= letters) return text;
  const tail = Math.floor((letters - 1) / 2);
  return letters < 3 ? "" : `${text.slice(0, letters - 1 - tail)}…${text.slice(text.length - tail)}`;
}
