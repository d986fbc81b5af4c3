// names.ts - names of events: a number each, and what is drawn for it: a short text and a colour by the
// name's hash, so that a kernel has the same colour in every session and on every machine.
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
  short: string; // the server's
}

export class Names {
  /** What an event of this name is called by the GPU's vendor, where that differs (text/kernel.ts). */
  words: Readonly<Record<string, string>> = {};
  private readonly full: string[] = [""]; // 0: none
  private readonly shorts: string[] = [""];
  private readonly taken = new Set<string>(); // shorts
  private readonly mangled: string[] = [""];
  private readonly own: string[] = [];
  private readonly ownShorts: string[] = [];
  private pattern = "";
  private readonly hits: boolean[] = [true]; // as far as tested
  private colours = new Uint8Array(256);

  /** Adds names that the worker has seen for the first time, in its order. */
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
      // Names of one answer differ; those of two answers may not.
      const label = this.taken.has(short) ? `${short} #${this.full.length - 1}` : short;
      this.taken.add(label);
      this.shorts.push(label);
    }
  }

  /** The number of a text that the server told the page itself: below 0, apart from the worker's. */
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

  /** As it stands in the program. */
  symbol(id: number): string {
    return (id > 0 && this.mangled[id]) || this.text(id);
  }

  colour(id: number): number {
    return this.colours[id] ?? 0;
  }

  /** Sets the text that is searched for; names without it are drawn pale. */
  find(pattern: string): void {
    this.pattern = pattern.toLowerCase();
    this.hits.length = 0;
  }

  get sought(): string {
    return this.pattern;
  }

  /** As the server compares: the name as it stands in the program; the readable one helps people. */
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

/** A text of so many letters at most, cut in its middle. */
export function cutMiddle(text: string, letters: number): string {
  if (text.length <= letters) return text;
  const tail = Math.floor((letters - 1) / 2);
  return letters < 3 ? "" : `${text.slice(0, letters - 1 - tail)}…${text.slice(text.length - tail)}`;
}
