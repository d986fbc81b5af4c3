// lengths.mjs - the limits of src/, scripts/ and tests/: functions of at most 60 lines with at most 6
// parameters, files of at most 600 lines. scripts/check-style has the same limits for other languages.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import ts from "typescript";

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const FOLDERS = ["src", "scripts", "tests"];
const MOST = { function: 60, parameters: 6, file: 600 };
const MADE = new Set(["schema.ts", "options.ts", "rules.ts", "rights.ts"].map((name) => path.join("src/api", name))); // by types.mjs

function files(folder) {
  return readdirSync(path.join(web, folder), { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(folder, entry.name);
    return entry.isDirectory() ? files(at) : /\.(tsx?|mjs)$/.test(entry.name) ? [at] : [];
  });
}

/** What a function is called: its own name, or that of the variable or the call that it stands in. */
function nameOf({ name, parent }, source) {
  if (name) return name.getText(source);
  if (parent.name) return parent.name.getText(source);
  return ts.isCallExpression(parent) ? `a function for ${parent.expression.getText(source)}` : "a function without a name";
}

/** The limits that a file exceeds, one line each. */
export function tooLong(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const wrong = [];
  const judge = (what, count, most, line) => count > most && wrong.push(`${file}:${line}: ${what}: ${count}, at most ${most}`);
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const first = lineOf(node.getStart(source));
      const name = nameOf(node, source);
      judge(`lines of ${name}`, lineOf(node.end) - first + 1, MOST.function, first);
      judge(`parameters of ${name}`, node.parameters.length, MOST.parameters, first);
    }
    ts.forEachChild(node, visit);
  };
  if (!MADE.has(file)) judge("lines", lineOf(text.trimEnd().length), MOST.file, 1);
  visit(source);
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = FOLDERS.flatMap(files);
  const wrong = all.flatMap((file) => tooLong(file, readFileSync(path.join(web, file), "utf8")));
  wrong.forEach((line) => console.error(line));
  console.log(`${all.length} files: ${wrong.length ? `${wrong.length} limits are exceeded` : "functions, parameters and files are within the limits"}`);
  process.exitCode = wrong.length ? 1 : 0;
}
