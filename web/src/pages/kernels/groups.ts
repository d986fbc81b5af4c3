// groups.ts - groups of kernels by their names, and the rows of the table in their order: groups,
// and below an open group its kernels.
export type By = "" | "template" | "namespace" | "pattern";
export const BYS: readonly By[] = ["", "template", "namespace", "pattern"];

/** The numbers of a row, for one kernel or for several together. */
export interface Figures {
  total: number | null; // ns
  share: number | null;
  calls: number | null;
  mean: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  longest: number | null;
  configs: number | null;
  streams: number | null;
  occupancy: number | null; // 0 to 1, theoretical; the least of its launch shapes
  registers: number | null; // of a thread
  local: number | null; // bytes of a thread: spills or stack
  stall: number | null; // part of the samples that wait for the most frequent reason
}

export interface Named extends Figures {
  id: number; // in the session
  name: string;
}

export interface Group {
  name: string;
  ids: readonly number[]; // of its kernels
  open: boolean;
  figures: Figures;
}

/** A demangled name as groups compare it: without parameters and unnamed namespaces. */
function withoutParameters(name: string): string {
  const text = name.replace(/^void /, "").replaceAll("(anonymous namespace)::", "");
  const open = parametersAt(text);
  return open > 0 ? text.slice(0, open) : text;
}

/** Where the last parameter list outside of angle brackets begins. */
function parametersAt(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === "<") depth++;
    else if (letter === ">" && text[at - 1] !== "-") depth--;
    else if (letter === "(" && depth === 0 && at > 0 && !text.endsWith("operator", at)) return at;
  }
  return -1;
}

/** Removes template arguments, also those of enclosing classes. */
export function withoutTemplate(name: string): string {
  let text = "";
  let depth = 0;
  const short = withoutParameters(name);
  for (let at = 0; at < short.length; at++) {
    const letter = short[at]!;
    if (letter === "<" && !/operator<*$/.test(text)) depth++;
    else if (letter === ">" && depth > 0 && short[at - 1] !== "-") depth--;
    else if (depth === 0) text += letter;
  }
  return text.replace(/^.* (?=\S+$)/, "") || short; // the return type of a function template comes before its name
}

function namespaceOf(name: string): string {
  const whole = withoutTemplate(name);
  const at = whole.lastIndexOf("::");
  return at > 0 ? whole.slice(0, at) : "";
}

/** "*gemm*, flash": parts of names; a star matches any text. */
export function patternsOf(text: string): { text: string; fits: (name: string) => boolean }[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean)
    .map((word) => {
      const parts = word.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      const pattern = new RegExp(parts.join(".*"), "i");
      return { text: word, fits: (name: string) => pattern.test(name) };
    });
}

/** The name of a kernel's group; "": no pattern fits, or no namespace. */
export function groupNamer(by: By, patterns: string): (name: string) => string {
  const list = patternsOf(patterns);
  if (by === "template") return withoutTemplate;
  if (by === "namespace") return namespaceOf;
  return (name) => list.find((pattern) => pattern.fits(name))?.text ?? "";
}

const sum = (rows: readonly Figures[], key: keyof Figures): number | null => rows.reduce<number | null>((all, row) => (row[key] === null ? all : (all ?? 0) + row[key]!), null);
const least = (rows: readonly Figures[], key: keyof Figures): number | null => rows.reduce<number | null>((all, row) => (row[key] === null ? all : Math.min(all ?? row[key]!, row[key]!)), null);
const most = (rows: readonly Figures[], key: keyof Figures): number | null => rows.reduce<number | null>((all, row) => (row[key] === null ? all : Math.max(all ?? row[key]!, row[key]!)), null);

/** Several kernels together. Percentiles cannot be added, so that they are unknown. */
export function together(rows: readonly Figures[]): Figures {
  const total = sum(rows, "total");
  const calls = sum(rows, "calls");
  return {
    total,
    calls,
    share: sum(rows, "share"),
    mean: total !== null && calls ? total / calls : null,
    p50: null,
    p90: null,
    p99: null,
    longest: most(rows, "longest"),
    configs: sum(rows, "configs"),
    streams: most(rows, "streams"),
    occupancy: least(rows, "occupancy"),
    registers: most(rows, "registers"),
    local: most(rows, "local"),
    stall: null,
  };
}

export type Line<K extends Named> = { kernel: K; group: null; inner: boolean } | { kernel: null; group: Group; inner: false };

/** Open groups in an address: the id of one kernel of each group, since names may be 4 kB long. */
export const openOf = (text: string): ReadonlySet<number> => new Set(text.split(",").filter(Boolean).map(Number));

/** The open groups with this group closed, or opened. */
export function toggled(open: ReadonlySet<number>, group: Group): string {
  const others = [...open].filter((id) => !group.ids.includes(id));
  return (group.open ? others : [...others, group.ids[0]!]).join(",");
}

export interface Order {
  by: keyof Figures | "name";
  descending: boolean;
}

/** The order that the address names, or by time if the address names no known order. */
export function orderOf(by: string | null, descending: boolean): Order {
  const known = ["name", ...Object.keys(together([]))].find((key) => key === by);
  return { by: (known ?? "total") as Order["by"], descending };
}

function sorted<T>(rows: readonly T[], order: Order, nameOf: (row: T) => string, figuresOf: (row: T) => Figures): T[] {
  const sign = order.descending ? -1 : 1;
  const { by } = order;
  if (by === "name") return [...rows].sort((a, b) => sign * nameOf(a).localeCompare(nameOf(b)));
  // Unknown values come last in both directions.
  return [...rows].sort((a, b) => {
    const [x, y] = [figuresOf(a)[by], figuresOf(b)[by]];
    return x === null || y === null ? Number(x === null) - Number(y === null) : sign * (x - y);
  });
}

const itself = <K extends Named>(kernel: K): K => kernel;
const byName = (kernel: Named): string => kernel.name;

export function linesOf<K extends Named>(kernels: readonly K[], nameOf: ((name: string) => string) | null, open: ReadonlySet<number>, order: Order): Line<K>[] {
  if (!nameOf) return sorted(kernels, order, byName, itself).map((kernel) => ({ kernel, group: null, inner: false }));
  const groups = new Map<string, K[]>();
  for (const kernel of kernels) {
    const name = nameOf(kernel.name);
    const group = groups.get(name);
    if (group) group.push(kernel);
    else groups.set(name, [kernel]);
  }
  const made = [...groups].map(([name, members]) => ({ name, members, figures: members.length === 1 ? members[0]! : together(members) }));
  return sorted(made, order, (group) => group.name, (group) => group.figures).flatMap(({ name, members, figures }): Line<K>[] => {
    const [only] = members;
    if (only && members.length === 1) return [{ kernel: only, group: null, inner: false }];
    const ids = members.map((kernel) => kernel.id);
    const isOpen = ids.some((id) => open.has(id));
    const below: Line<K>[] = isOpen ? sorted(members, order, byName, itself).map((kernel) => ({ kernel, group: null, inner: true })) : [];
    return [{ kernel: null, group: { name, ids, open: isOpen, figures }, inner: false }, ...below];
  });
}
