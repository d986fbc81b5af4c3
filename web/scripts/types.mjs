// types.mjs - generates TypeScript from the server's tables: src/api/schema.ts from docs/openapi.json
// (rows, answers, and each route's address and parameters), src/api/rules.ts from
// src/analyze/insight/insight.def (the next step of each rule), src/api/rights.ts from src/server/auth/rights.def,
// src/api/options.ts from the capture library's options. Every build makes these files, and they are not
// committed, so that they cannot drift: code that no longer fits them does not compile.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const at = (...parts) => path.join(web, ...parts);

const camel = (name) => name.replace(/(^|_)([a-z0-9])/g, (_, __, letter) => letter.toUpperCase());
const quoted = (text) => JSON.stringify(text);
const comment = (text) => (text ? `/** ${text.replace(/\*\//g, "* /")} */ ` : "");

function typeOf(schema, pad) {
  if (!schema) return "unknown";
  if (schema.$ref) return camel(schema.$ref.split("/").pop());
  if (schema.enum) return schema.enum.map(quoted).join(" | ");
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => plainType(type, schema, pad)).join(" | ");
}

function plainType(type, schema, pad) {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return type;
    case "array": {
      const item = typeOf(schema.items, pad);
      return item.includes(" ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return schema.properties ? objectOf(schema, pad) : "Record<string, unknown>";
    default:
      return "unknown";
  }
}

function objectOf(schema, pad = "") {
  const inner = pad + "  ";
  const lines = Object.entries(schema.properties).map(
    ([name, member]) =>
      `${inner}${comment(member.description)}${/^\w+$/.test(name) ? name : quoted(name)}: ${typeOf(member, inner)};\n`,
  );
  return `{\n${lines.join("")}${pad}}`;
}

function parametersOf(operation, where) {
  const found = (operation.parameters ?? []).filter((p) => p.in === where);
  if (!found.length) return "{}";
  const lines = found.map(
    (p) => `      ${comment(p.description)}${p.name}${p.required ? "" : "?"}: ${typeOf(p.schema, "      ")};\n`,
  );
  return `{\n${lines.join("")}    }`;
}

export function schemaText(document) {
  const out = ["// Made by scripts/types.mjs from docs/openapi.json.\n"];
  for (const [name, schema] of Object.entries(document.components.schemas))
    out.push(`${schema.description ? `/** ${schema.description} */\n` : ""}export ${
      schema.properties ? `interface ${camel(name)} ${objectOf(schema)}` : `type ${camel(name)} = ${typeOf(schema)};`
    }\n`);
  const routes = [];
  const gets = [];
  for (const [address, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const body = operation.requestBody?.content?.["application/json"]?.schema;
      const json = operation.responses?.["200"]?.content?.["application/json"];
      const id = operation.operationId;
      routes.push(
        `  ${comment(operation.summary)}\n  ${id}: {\n    path: ${parametersOf(operation, "path")};\n    query: ${parametersOf(
          operation,
          "query",
        )};\n    body: ${body ? typeOf(body, "    ") : "undefined"};\n    answer: ${json ? typeOf(json.schema, "    ") : "undefined"};\n  };\n`,
      );
      gets.push(`  ${id}: [${quoted(method.toUpperCase())}, ${quoted(address)}, ${quoted(operation["x-rights"] ?? "")}],\n`);
    }
  out.push(`export interface Routes {\n${routes.join("")}}\n`);
  out.push(`/** Method, address and right (src/server/auth/rights.def) of each. */\nexport const ROUTES: Record<keyof Routes, readonly [string, string, string]> = {\n${gets.join("")}};\n`);
  return out.join("\n");
}

export function rulesText(definition) {
  const literal = String.raw`((?:"(?:[^"\\]|\\.)*"\s*)+)`;
  const rule = new RegExp(
    String.raw`^INSIGHT\((\w+),\s*(\w+),\s*(MEASURED|ESTIMATED),\s*${[literal, literal, literal, literal].join(String.raw`,\s*`)}\)`,
    "gm",
  );
  const joined = (text) => [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => m[1]).join("");
  const rows = [...definition.matchAll(rule)].map(
    (m) => `  ${m[1]}: { bound: ${quoted(joined(m[6]).replace(/\\(.)/g, "$1"))}, next: ${quoted(joined(m[7]).replace(/\\(.)/g, "$1"))} },\n`,
  );
  if (rows.length !== (definition.match(/^INSIGHT\(/gm) ?? []).length) throw new Error("insight.def: a rule that cannot be read");
  return `// Made by scripts/types.mjs from src/analyze/insight/insight.def.\n\nexport interface Rule {\n  /** What it could give back, at most. */\n  bound: string;\n  /** The step to take. */\n  next: string;\n}\n\nexport const RULES: Record<string, Rule> = {\n${rows.join("")}};\n`;
}

/** The roles' part of src/server/auth/rights.def: what a page may offer to whom. The server decides. */
export function rightsText(definition) {
  const rows = [...definition.matchAll(/^RIGHT\((\w+), ([01]), ([01]), ([01]),/gm)].map(
    ([, right, viewer, member, owner]) => `  ${right}: { viewer: ${viewer === "1"}, member: ${member === "1"}, owner: ${owner === "1"} },\n`,
  );
  if (rows.length !== (definition.match(/^RIGHT\(/gm) ?? []).length || !rows.length) throw new Error("rights.def: a right that cannot be read");
  return `// Made by scripts/types.mjs from src/server/auth/rights.def.\n\nexport type Role = "viewer" | "member" | "owner";\n\nexport const RIGHTS = {\n${rows.join("")}} as const satisfies Record<string, Record<Role, boolean>>;\n`;
}

/** The options that a configuration of the server may set: schema/options.def without those of a host alone. */
export function optionsText(options, local, engines, header) {
  const names = (definition, macro) => [...definition.matchAll(new RegExp(`^${macro}\\(\\w*,? ?"?(\\w+)"?`, "gm"))].map((found) => found[1]);
  const ofHost = new Set([...local.matchAll(/^LOCAL_OPTION\((\w+)\)/gm)].map((found) => found[1]));
  const row = /^OPTION\((\w+), (\w+), ([^,]+),\s*"([^"]*)", (ANY|RANGE\(([^,]+), ([^)]+)\)),\s*\w+,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)/gm;
  const limit = (text, other) => (text === undefined || text === "INT64_MAX" ? other : numberOf(text));
  const rows = [...options.matchAll(row)].map(([, kind, name, , unit, , least, most, doc]) => ({
    name, kind, unit, least: limit(least, 0), most: limit(most, null), doc: [...doc.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((piece) => piece[1]).join("").replace(/\\(.)/g, "$1").replaceAll("`", ""),
  }));
  if (rows.length !== (options.match(/^OPTION\(/gm) ?? []).length || rows.some(({ most }) => Number.isNaN(most))) throw new Error("options.def: an option that cannot be read");
  const lines = rows.filter(({ name }) => !ofHost.has(name)).map(({ name, ...about }) => `  ${name}: ${JSON.stringify(about)},\n`);
  const head = "// Made by scripts/types.mjs from schema/options.def, schema/local_options.def, schema/engines.def and include/gpufl/gpufl.h.\n\n";
  const type = 'export interface Option {\n  kind: "STR" | "BOOL" | "INT" | "BACKEND" | "ENGINE";\n  unit: string;\n  least: number; // of an INT\n  most: number | null; // null: no limit\n  doc: string;\n}\n\n';
  const backends = [...(/#define GPUFL_BACKENDS\(B\)((?:.*\\\n)*.*)/.exec(header)?.[1] ?? "").matchAll(/B\(\w+, (\w+)\)/g)].map(([, word]) => word);
  if (!backends.length) throw new Error("gpufl.h: GPUFL_BACKENDS cannot be read");
  const words = { ENGINES: names(engines, "ENGINE"), BACKENDS: backends };
  const tables = Object.entries(words).map(([name, list]) => `export const ${name}: readonly string[] = ${JSON.stringify(list)};\n`);
  return `${head}${type}export const OPTIONS: Readonly<Record<string, Option>> = {\n${lines.join("")}};\n\n${tables.join("")}${recordsText(engines)}`;
}
/** The records of each engine: its own, and those of the engines whose bits it asks for. */
function recordsText(engines) {
  const rows = [...engines.matchAll(/^ENGINE\((\w+), "(\w+)",([^]*?)\)$/gm)].map(([, id, name, members]) => ({
    id, name, record: /\.record = RECORD_(\w+)/.exec(members)?.[1], asks: [...(/\.asks = ([^,]+)/.exec(members)?.[1] ?? "").matchAll(/ENGINE_(\w+)/g)].map((found) => found[1]),
  }));
  if (rows.length !== (engines.match(/^ENGINE\(/gm) ?? []).length) throw new Error("engines.def: an engine that cannot be read");
  const records = rows.map(({ name, asks }) => [name, rows.filter(({ id, record }) => record && asks.includes(id)).map(({ record }) => record)]);
  return `/** The records that each engine makes. */\nexport const ENGINE_RECORDS: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(Object.fromEntries(records))};\n`;
}
/** A limit as C writes it: 5, 1 << 20, INT32_MAX. */
function numberOf(text) {
  const [number, bits = 0] = text.replace("INT32_MAX", String(2 ** 31 - 1)).split("<<").map(Number);
  return number * 2 ** bits;
}

const document = process.env.GPUFL_OPENAPI ?? at("../docs/openapi.json");
export const made = () => [
  [at("src/api/schema.ts"), schemaText(JSON.parse(readFileSync(document, "utf8")))],
  [at("src/api/rights.ts"), rightsText(readFileSync(at("../src/server/auth/rights.def"), "utf8"))],
  [at("src/api/options.ts"), optionsText(...["schema/options.def", "schema/local_options.def", "schema/engines.def", "include/gpufl/gpufl.h"].map((name) => readFileSync(at(`../${name}`), "utf8")))],
  [at("src/api/rules.ts"), rulesText(readFileSync(at("../src/analyze/insight/insight.def"), "utf8"))],
];

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [file, text] of made()) if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
