// The words of the page: what it explains is a word of docs/GLOSSARY.md, and it has none of the words that
// another word of the project replaces. scripts/check-style finds forbidden phrases of all languages.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = path.join(here, "../src/text");

/** Every text of a value, with its place; functions are called with words in place of numbers. */
function* textsIn(value: unknown, at: string): Generator<[string, string]> {
  if (typeof value === "string") yield [at, value];
  else if (typeof value === "function") {
    const made: unknown = ((): unknown => {
      try {
        return (value as (...given: unknown[]) => unknown)("N", "N", "N", "N");
      } catch {
        return undefined; // it wants an object
      }
    })();
    if (typeof made === "string") yield [at, made];
  } else if (typeof value === "object" && value !== null) for (const [key, part] of Object.entries(value)) yield* textsIn(part, `${at}.${key}`);
}

/** Labels that have an explanation: `name` where there is `nameText`. */
function* explained(value: unknown, at: string): Generator<[string, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (typeof part === "string" && `${key}Text` in value) yield [`${at}.${key}`, part];
    yield* explained(part, `${at}.${key}`);
  }
}

const modules = await Promise.all(readdirSync(folder).map(async (file): Promise<[string, unknown]> => [file.replace(/\.ts$/, ""), await import(`../src/text/${file.replace(/\.ts$/, "")}.ts`)]));
const glossary = readFileSync(path.join(here, "../../docs/GLOSSARY.md"), "utf8")
  .split("\n")
  .flatMap((line) => /^\| ([^|]+) \|/.exec(line)?.[1]?.toLowerCase().split(/, | \(|\)/) ?? [])
  .filter((word) => word && word !== "word");

const isWord = (text: string): boolean => glossary.some((word) => new RegExp(`\\b${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?:e?s)?\\b`, "i").test(text));

/** Keys of labels that stand for a place without rows, for something that failed, or for something that a person does: their
 * explanations say what happens, and not what a word means. */
const NO_TERMS = /\.(\w*[nN]one|nothing|empty|pending|missing|loading|several|lostPage|broken|notHere|notYours|choose|remove|revoke|forget|share|invite|shorter|noStep|follow|pin|only|invert|metrics|setup|open|closed|notebook|history|send|from|range|others|differences|launched|ownCode|distribution|transfers|sizes|allocations|agent|answers|otherMachines|clock)$|^(exports|firstrun)\.|\.server\.backup$/;

/** Words of a sentence about what is drawn or typed. */
const ORDINARY = ["bar", "limit"];

it("a label that the page explains is a word of the glossary", () => {
  const terms = modules.flatMap(([file, module]) => [...explained(module, file)]).filter(([at]) => !NO_TERMS.test(at));
  expect(terms.length).toBeGreaterThan(8);
  expect(terms.filter(([, label]) => !isWord(label))).toEqual([]);
});

it("a word that the page defines in a sentence is in the glossary", () => {
  const defined = modules.flatMap(([file, module]) => [...textsIn(module, file)]).flatMap(([at, text]) => [...text.matchAll(/(?:^|[.:] )An? ([a-z]+(?: [a-z]+)?) is (?:an?|the) /g)].map((found) => [at, found[1]!] as const));
  expect(defined.length).toBeGreaterThan(1);
  expect(defined.filter(([, word]) => !isWord(word) && !ORDINARY.includes(word))).toEqual([]);
});

/** What the page must not say, and what it says instead. */
const FORBIDDEN: readonly [RegExp, string][] = [
  [/\b[Ss]yncs\b/, "waits; synchronizations"],
  [/\blaunch shapes?\b|^Shapes$/i, "launch configurations"],
  [/^Raw$/, "Export"],
  [/^Watche[ds]$|^Watches$/, "Enabled"],
  [/^Posts?( to)?$/, "Deliveries, Deliver to"],
  [/\bof its own\b/i, "itself"],
  [/\bno end came\b/i, "stopped without an end"],
  [/\bchance \(q\)/i, "False discovery rate (q)"],
  [/\bwhat stands in the way\b/i, "what each could give back"],
  [/\bcapture windows?\b/i, "window of capture"],
  [/\btiles?\b/i, "sums"],
  [/\bsub-?sessions?\b/i, "pass, session"],
];

it("the page has no word that another one replaces", () => {
  const texts = modules.flatMap(([file, module]) => [...textsIn(module, file)]);
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.flatMap(([at, text]) => FORBIDDEN.flatMap(([word, instead]) => (word.test(text) ? [`${at}: "${text}": write: ${instead}`] : [])))).toEqual([]);
});
