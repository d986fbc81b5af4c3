// answer.ts - the server's answer to a statement, with its cells as the page needs them: numbers,
// texts of numbers that JSON's numbers cannot hold, and the place that an error names.
export type Cell = string | number | boolean | null;
export interface Column {
  name: string;
  type: string;
}
export interface Answer {
  columns: Column[];
  rows: Cell[][];
  truncated: boolean;
}

const isColumn = (value: unknown): value is Column => typeof value === "object" && value !== null && "name" in value && "type" in value && typeof value.name === "string" && typeof value.type === "string";
const isCell = (value: unknown): value is Cell => value === null || ["string", "number", "boolean"].includes(typeof value);

/** Columns with equal names get a number, so that each can be chosen. */
export function answerOf(said: { columns: unknown; rows: unknown; truncated: unknown }): Answer {
  const columns = (Array.isArray(said.columns) ? said.columns : []).filter(isColumn);
  const seen = new Map<string, number>();
  return {
    columns: columns.map(({ name, type }) => {
      const before = seen.get(name) ?? 0;
      seen.set(name, before + 1);
      return { name: before ? `${name} (${before + 1})` : name, type };
    }),
    rows: (Array.isArray(said.rows) ? said.rows : []).map((row: unknown) => (Array.isArray(row) ? row.map((cell: unknown) => (isCell(cell) ? cell : null)) : [])),
    truncated: said.truncated === true,
  };
}

const NUMBERS = /^(Nullable\()?(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL|U?Int\d+|Float\d+|Decimal)/;

export const isNumeric = (column: Column): boolean => NUMBERS.test(column.type);

/** The number of a cell; null: not a number. Numbers beyond 2^53 are rounded here, and only
 * here. */
export function numberOf(cell: Cell | undefined): number | null {
  if (typeof cell === "number") return cell;
  if (typeof cell !== "string" || cell.trim() === "") return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

export interface ErrorPlace {
  line: number; // from 1
  column: number; // from 1
}

/** The place that a message of DuckDB marks: "LINE 2: text", with a ^ below it. DuckDB cuts a
 * long line to its middle, between dots, so that the text is searched for in the statement. */
export function placeOf(message: string, statement: string): ErrorPlace | null {
  const found = /^LINE (\d+): ?(.*)\n( *)\^/m.exec(message);
  if (!found) return null;
  const line = Number(found[1]);
  const shown = found[2]!;
  const column = found[3]!.length - `LINE ${line}: `.length;
  const text = statement.split("\n")[line - 1];
  if (text === undefined || column < 0) return null;
  if (!shown.startsWith("...")) return { line, column: Math.min(column, text.length) + 1 };
  const at = text.indexOf(shown.replace(/^\.\.\.|\.\.\.$/g, ""));
  return at < 0 ? null : { line, column: Math.min(at + column - 3, text.length) + 1 };
}

/** The message without the marked line, which the editor shows. */
export const messageOf = (message: string): string => message.replace(/\n*^LINE \d+:[^]*$/m, "").trim() || message;

/** A place as a position in the statement, in letters from its beginning. */
export function offsetOf(statement: string, { line, column }: ErrorPlace): number {
  const lines = statement.split("\n");
  return Math.min(statement.length, lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1);
}
