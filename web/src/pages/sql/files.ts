// files.ts - an answer as a file: CSV (RFC 4180), Parquet, and the question as a cell of a
// notebook.
import { numberOf, type Answer, type Cell, type Column } from "./answer";

/** Spreadsheets read text that begins with these letters as a formula; an apostrophe keeps it
 * text. */
const FORMULA = /^[=+\-@\t\r]/;

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  const text = String(cell);
  const safe = typeof cell === "string" && numberOf(cell) === null && cell !== "-Infinity" && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export const csvOf = ({ columns, rows }: Answer): string => [columns.map((column) => csvCell(column.name)), ...rows.map((row) => row.map(csvCell))].map((cells) => `${cells.join(",")}\r\n`).join("");

export interface ParquetColumn {
  name: string;
  type: "BOOLEAN" | "INT64" | "DOUBLE" | "STRING";
  data: (string | number | bigint | boolean | null)[];
}

const WHOLE = /^(Nullable\()?(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|U?Int\d+)/;
const REAL = /^(Nullable\()?(FLOAT|DOUBLE|DECIMAL|Float\d+|Decimal)/;
const TRUTH = /^(Nullable\()?bool/i;
const INT64 = 2n ** 63n;

const wholeOf = (cell: Cell): bigint | null => {
  const text = String(cell);
  return /^-?\d+$/.test(text) ? BigInt(text) : null;
};

const realOf = (cell: Cell): number | null => (cell === null ? null : Number(cell));

/** Whole numbers stay whole; if one does not fit 64 bits, the whole column is text. */
function parquetColumn({ name, type }: Column, cells: Cell[]): ParquetColumn {
  if (TRUTH.test(type)) return { name, type: "BOOLEAN", data: cells.map((cell) => (typeof cell === "boolean" ? cell : null)) };
  if (REAL.test(type)) return { name, type: "DOUBLE", data: cells.map(realOf) };
  const whole = WHOLE.test(type) ? cells.map((cell) => (cell === null ? null : wholeOf(cell))) : [];
  if (WHOLE.test(type) && whole.every((value, at) => (value === null ? cells[at] === null : value < INT64 && value >= -INT64))) return { name, type: "INT64", data: whole };
  return { name, type: "STRING", data: cells.map((cell) => (cell === null ? null : String(cell))) };
}

export const parquetColumns = ({ columns, rows }: Answer): ParquetColumn[] => columns.map((column, at) => parquetColumn(column, rows.map((row) => row[at] ?? null)));

/** The writer is loaded when somebody downloads a file. */
export async function parquetOf(answer: Answer): Promise<ArrayBuffer> {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  return parquetWriteBuffer({ columnData: parquetColumns(answer) });
}

/** A text as a Python literal: over several lines if nothing in it needs escapes. */
export const pythonText = (text: string): string => (/\\|"""|"$|[^\n\x20-\uffff]/.test(text) ? JSON.stringify(text) : `"""${text}"""`);

export interface Asked {
  origin: string;
  sql: string;
  sessions: string;
}

/** The text names the variable of the key, and never contains the key. */
export const notebookOf = ({ origin, sql, sessions }: Asked): string => `# pip install pandas duckdb
import json, os, urllib.request
import duckdb, pandas as pd

statement = ${pythonText(sql)}
request = urllib.request.Request(
    ${JSON.stringify(`${origin}/api/v1/sql`)},
    data=json.dumps({"sql": statement, "sessions": ${JSON.stringify(sessions)}, "rows": 100000}).encode(),
    headers={"Authorization": "Bearer " + os.environ["GPUFL_API_KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
frame = pd.DataFrame(answer["rows"], columns=[column["name"] for column in answer["columns"]])
duckdb.sql("SELECT * FROM frame LIMIT 20").df()
`;

/** For a server without keys: reads the downloaded file. */
export const notebookOfFile = (file: string, sql: string): string => `# pip install pandas duckdb
import duckdb

# The file is the answer to this statement.
statement = ${pythonText(sql)}
frame = duckdb.sql("SELECT * FROM '${file}'").df()
frame.head(20)
`;
