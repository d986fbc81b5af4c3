// size.mjs - what a browser loads before the first screen, compressed: what index.html names, and
// what these import at once, in the bytes that the server sends. The budget is 120 kB.
import { readFileSync, existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import path from "node:path";

const BUDGET = 120_000;
const dist = process.argv[2] ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist");
const seen = new Set();

function load(file) {
  if (seen.has(file) || !existsSync(file)) return;
  seen.add(file);
  if (!file.endsWith(".js")) return;
  for (const [, name] of readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*"(\.[^"]+\.js)"/g)) load(path.resolve(path.dirname(file), name));
}

const page = path.join(dist, "index.html");
const html = readFileSync(page, "utf8");
seen.add(page);
const named = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((m) => m[1]);
named.forEach((name) => load(path.join(dist, name)));
const missing = named.filter((name) => !existsSync(path.join(dist, name)));
const inline = /<script(?![^>]*\bsrc=)|<style|\sstyle=/.test(html);
const bytes = [...seen].reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
if (missing.length) console.error(`index.html names what is not there: ${missing.join(", ")}`);
if (inline) console.error("index.html has a script or style that the server's policy refuses");
console.log(`first screen: ${(bytes / 1000).toFixed(1)} kB gzip in ${seen.size} files, of ${BUDGET / 1000} kB`);
process.exitCode = missing.length || inline || bytes > BUDGET || !named.some((name) => name.endsWith(".js")) ? 1 : 0;
