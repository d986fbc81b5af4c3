// imports.mjs - a table of the parts of src/, with the parts and packages that each may import.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const src = path.join(path.dirname(fileURLToPath(import.meta.url)), "../src");

/** A part: the parts and packages it may use. `pages` is the only one that knows both server and looks. */
export const RULES = {
  text: [],
  format: [],
  router: ["react"],
  api: ["format", "react"],
  ui: ["text", "format", "react", "react-dom", "uplot", "@tanstack/react-table", "@tanstack/react-virtual"],
  timeline: ["api", "ui", "format", "text", "router", "react"],
  pages: ["api", "ui", "format", "text", "router", "timeline", "react", "@tanstack/react-table", "@codemirror/state", "@codemirror/view", "@codemirror/commands", "@codemirror/autocomplete", "@codemirror/language", "@codemirror/lang-sql", "@lezer/highlight", "hyparquet-writer"],
  "main.tsx": ["pages", "ui", "react", "react-dom"],
};

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const at = path.join(folder, name);
    return statSync(at).isDirectory() ? files(at) : /\.tsx?$/.test(name) ? [at] : [];
  });
}

const partOf = (file) => path.relative(src, file).split(path.sep)[0];
const packageOf = (name) => name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/");

export function broken(file, text) {
  const part = partOf(file);
  const allowed = RULES[part];
  if (!allowed) return [`${part}: no rule says what it may import`];
  const wrong = [];
  const IMPORT = /^(?:(?:import|export)\b[^;"']*?\bfrom\s*|import\s+)["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;
  for (const [, plain, later] of text.matchAll(IMPORT)) {
    const name = plain ?? later;
    const target = name.startsWith(".") ? partOf(path.resolve(path.dirname(file), name)) : packageOf(name);
    if (target !== part && !allowed.includes(target)) wrong.push(`${path.relative(src, file)}: ${part} may not import ${target}`);
  }
  // The server's policy refuses markup made of strings, and so does this check.
  if (/dangerouslySetInnerHTML|\.innerHTML|\beval\(|new Function\(/.test(text)) wrong.push(`${path.relative(src, file)}: markup or code from text`);
  // Comments make no requests: those of schema.ts are texts of the server.
  if (/https?:\/\//.test(text.replace(/\/\*[^]*?\*\//g, ""))) wrong.push(`${path.relative(src, file)}: an address of another origin`);
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = files(src);
  const wrong = all.flatMap((file) => broken(file, readFileSync(file, "utf8")));
  wrong.forEach((line) => console.error(line));
  console.log(`${all.length} files: ${wrong.length ? `${wrong.length} imports are against the rules` : "all imports are within the rules"}`);
  process.exitCode = wrong.length ? 1 : 0;
}
