// The page that asks in SQL: values computed from an answer, an error and a statement.
import { afterEach, describe, expect, it, vi } from "vitest";
import { fromAddress, toAddress } from "../src/pages/sql/address";
import { answerOf, messageOf, numberOf, offsetOf, placeOf } from "../src/pages/sql/answer";
import { client } from "../src/api/client";
import { csvOf, notebookOf, notebookOfFile, parquetColumns, pythonText } from "../src/pages/sql/files";
import { namesFor } from "../src/pages/sql/names";
import { questionsIn } from "../src/pages/sql/questions";
import { barsOf, kindFor, numberColumns, pointsOf, standard } from "../src/pages/sql/plot";

const answer = answerOf({
  columns: [
    { name: "name", type: "VARCHAR" },
    { name: "n", type: "BIGINT" },
    { name: "n", type: "DOUBLE" },
  ],
  rows: [
    ["b", 2, 0.5],
    ["a", "9007199254740993", "NaN"],
    [null, null, 1.5],
  ],
  truncated: false,
});

describe("an answer", () => {
  it("names columns apart, and keeps what is no answer out", () => {
    expect(answer.columns.map(({ name }) => name)).toEqual(["name", "n", "n (2)"]);
    expect(answerOf({ columns: null, rows: [1, [{}]], truncated: 1 })).toEqual({ columns: [], rows: [[], [null]], truncated: false });
  });
  it("has numbers that are texts, and texts that are none", () => {
    expect([numberOf("9007199254740993"), numberOf("NaN"), numberOf(""), numberOf(null), numberOf(true)]).toEqual([9007199254740992, null, null, null, null]);
  });
});

describe("the place of an error", () => {
  const sql = "SELECT *\nFROM kernelz\nWHERE 1";
  const message = 'Catalog Error: Table with name kernelz does not exist!\nDid you mean "kernel"?\n\nLINE 2: FROM kernelz\n             ^';
  it("is where the drawing says", () => {
    const place = placeOf(message, sql)!;
    expect(place).toEqual({ line: 2, column: 6 });
    expect(sql.slice(offsetOf(sql, place))).toBe("kernelz\nWHERE 1");
    expect(messageOf(message)).toBe('Catalog Error: Table with name kernelz does not exist!\nDid you mean "kernel"?');
  });
  it("is found in a long line that is shown in part", () => {
    const long = `SELECT ${"a, ".repeat(60)}wrong FROM kernels`;
    expect(placeOf("Binder Error: no\n\nLINE 1: ...a, a, wrong FROM kernels\n                    ^", long)).toEqual({ line: 1, column: long.indexOf("a, a, wrong") + 10 });
  });
  it("is unknown where nothing is drawn, or what is drawn is not in the statement", () => {
    expect([placeOf("Only a single SELECT can be run here", sql), placeOf("x\nLINE 9: y\n        ^", sql), placeOf("x\nLINE 1: ...elsewhere\n            ^", sql)]).toEqual([null, null, null]);
  });
});

describe("a statement", () => {
  it("comes out of an address as it went in", () => {
    for (const text of ["SELECT 1\n\tFROM a -- ~ ~n ~~", "~", "'é'\n\n"]) {
      expect(fromAddress(toAddress(text))).toBe(text);
      expect(/[\u0000-\u001f]/.test(toAddress(text))).toBe(false);
    }
  });
  it("is a text of Python whatever is in it", () => {
    expect([pythonText("SELECT 1\nFROM a"), pythonText('SELECT "a"'), pythonText('SELECT """'), pythonText("'\\n'")]).toEqual(['"""SELECT 1\nFROM a"""', '"SELECT \\"a\\""', '"SELECT \\"\\"\\""', `"'\\\\n'"`]);
  });
  it("goes into a notebook without a key", () => {
    const text = notebookOf({ origin: "https://gpu.example.org", sql: "SELECT 1", sessions: "a,b" });
    expect(text).toContain('os.environ["GPUFL_API_KEY"]');
    expect(text).toContain('"sessions": "a,b"');
  });
});

describe("files", () => {
  it("are CSV with quotes where needed, and no formulas", () => {
    const said = answerOf({ columns: [{ name: "=a", type: "VARCHAR" }, { name: 'q"', type: "DOUBLE" }], rows: [["x,y", -1], ["@SUM", "-Infinity"], [null, 2]], truncated: false });
    expect(csvOf(said)).toBe('\'=a,"q"""\r\n"x,y",-1\r\n\'@SUM,-Infinity\r\n,2\r\n');
  });
  it("are Parquet columns of the answer's types, with every digit", () => {
    expect(parquetColumns(answer)).toEqual([
      { name: "name", type: "STRING", data: ["b", "a", null] },
      { name: "n", type: "INT64", data: [2n, 9007199254740993n, null] },
      { name: "n (2)", type: "DOUBLE", data: [0.5, NaN, 1.5] },
    ]);
    const huge = answerOf({ columns: [{ name: "h", type: "HUGEINT" }], rows: [["170141183460469231731687303715884105727"], [1]], truncated: false });
    expect(parquetColumns(huge)[0]).toEqual({ name: "h", type: "STRING", data: ["170141183460469231731687303715884105727", "1"] });
  });
});

describe("a plot", () => {
  it("takes numbers up and anything across", () => {
    expect(numberColumns(answer)).toEqual(["n", "n (2)"]);
    expect(standard(answer, { x: "", y: "" })).toEqual({ x: "name", y: "n" });
    expect(standard(answer, { x: "gone", y: "name" })).toEqual({ x: "name", y: "n" });
    expect([kindFor(answer, "name", ""), kindFor(answer, "n", ""), kindFor(answer, "n", "points")]).toEqual(["bars", "line", "points"]);
  });
  it("has bars in the answer's order and points from left to right; unknown is not drawn as 0", () => {
    expect(barsOf(answer, "name", "n (2)")).toEqual([{ label: "b", value: 0.5 }, { label: null, value: 1.5 }]);
    expect(pointsOf(answer, "n", "n (2)")).toEqual({ x: [2, 9007199254740992], y: [0.5, null] });
  });
});

describe("ready questions", () => {
  it("are in the dialect of the server, and those that it cannot answer are left out", () => {
    const files = questionsIn("duckdb");
    const clickhouse = questionsIn("clickhouse");
    expect([files.length, clickhouse.length]).toEqual([10, 9]);
    expect(files.filter(({ id }) => !clickhouse.some((other) => other.id === id)).map(({ id }) => id)).toEqual(["lines"]);
    expect(clickhouse.every(({ id, sql }) => sql === files.find((other) => other.id === id)?.clickhouse)).toBe(true);
    expect(questionsIn(undefined)).toBe(files);
  });
});

describe("names in an answer", () => {
  afterEach(() => vi.restoreAllMocks());
  const listed = (mangled: string[]) => ({ names: mangled.map((name) => `full ${name}`), mangled, short_names: mangled.map((name) => `short ${name}`), rows: mangled.length, data: { name: mangled.map((_, at) => at) } });
  const answerWith = (...cells: string[]) => ({ ...answerOf({ columns: [{ name: "kernel", type: "VARCHAR" }], rows: [], truncated: false }), rows: cells.map((cell) => [cell]) });
  const asked: string[] = [];
  const answering = (byQuestion: Record<string, string[]>) =>
    vi.spyOn(client, "get").mockImplementation(((route: string, { session }: { session?: string }) => {
      const question = session ? `${route} ${session}` : route;
      asked.push(question);
      return byQuestion[question] ? Promise.resolve(listed(byQuestion[question])) : Promise.reject(new Error("no"));
    }) as never);

  it("come from every chosen session, and from the history for other kernels", async () => {
    const sessions = Array.from({ length: 12 }, (_, at) => `s${at}`);
    answering({ "kernels s11": ["_Z4lastv"], history_names: ["_Z3oldv"] });
    const names = await namesFor(answerWith("_Z4lastv", "_Z3oldv", "_Z7nobodyv", "plain"), sessions);
    expect(names.get("_Z4lastv")).toEqual({ short: "short _Z4lastv", full: "full _Z4lastv" });
    expect(names.get("_Z3oldv")?.short).toBe("short _Z3oldv");
    expect(names.has("_Z7nobodyv")).toBe(false);
  });
  it("are asked for until none is missing", async () => {
    asked.length = 0;
    answering({ "kernels a": ["_Z1av"], "kernels b": ["_Z1bv"], history_names: [] });
    await namesFor(answerWith("_Z1av"), ["a", "b"]);
    await namesFor(answerWith("no kernel"), ["a", "b"]);
    expect(asked).toEqual(["kernels a"]);
  });
});

describe("the snippet for a notebook of a local server", () => {
  it("reads the file of the answer, and has the statement as one text", () => {
    const code = notebookOfFile("answer.parquet", `SELECT 'a"b' AS x -- \\`);
    expect(code).toContain("duckdb.sql(\"SELECT * FROM 'answer.parquet'\").df()");
    expect(code).toContain(`statement = ${pythonText(`SELECT 'a"b' AS x -- \\`)}`);
  });
});
