// names.ts - names of events: a number each, and what is drawn for it: a short text and a colour by the
// name's hash, so that a kernel has the same colour in every session and on every machine.
import { shortKernel } from "../format/format";

export const COLOURS = 12; // --event-1 … --event-12 of ui/tokens.css

/** FNV-1a, 32 bits, of the UTF-16 units. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** What fits into an event: neither namespaces nor parameters. */
export function labelOf(name: string): string {
  const short = shortKernel(name.slice(0, 2048));
  const open = short.indexOf("<");
  const from = (open < 0 ? short : short.slice(0, open)).lastIndexOf("::");
  return short.slice(from < 0 ? 0 : from + 2).slice(0, SHORT);
}

export const colourOf = (name: string): number => hashOf(name) % COLOURS;

export interface Name {
  name: string; // demangled
  mangled: string;
}

const SHORT = 120; // letters that a label may have; names have 4 kB at times

export class Names {
  private readonly full: string[] = [""]; // 0: none
  private readonly shorts: string[] = [""];
  private readonly mangled: string[] = [""];
  private readonly own: string[] = [];
  private pattern = "";
  private readonly hits: boolean[] = [true]; // as far as tested
  private colours = new Uint8Array(256);

  /** Those that the worker has seen first, in its order. */
  add(names: readonly Name[]): void {
    for (const { name, mangled } of names) {
      if (this.full.length === this.colours.length) {
        const more = new Uint8Array(2 * this.colours.length);
        more.set(this.colours);
        this.colours = more;
      }
      this.colours[this.full.length] = colourOf(name);
      this.full.push(name);
      this.mangled.push(mangled === name ? "" : mangled);
      this.shorts.push(labelOf(name));
    }
  }

  /** The number of a text that the server told the page itself: below 0, apart from the worker's. */
  numberOf(name: string): number {
    let at = this.own.indexOf(name);
    if (at < 0) at = this.own.push(name) - 1;
    return -1 - at;
  }

  /** A new worker counts from 1 again. */
  clear(): void {
    this.full.length = this.shorts.length = this.mangled.length = 1;
    this.hits.length = 0;
  }

  text(id: number): string {
    return (id < 0 ? this.own[-1 - id] : this.full[id]) ?? "";
  }

  short(id: number): string {
    return this.shorts[id] ?? "";
  }

  colour(id: number): number {
    return this.colours[id] ?? 0;
  }

  /** What is searched for; names without it are drawn pale. */
  find(pattern: string): void {
    this.pattern = pattern.toLowerCase();
    this.hits.length = 0;
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
