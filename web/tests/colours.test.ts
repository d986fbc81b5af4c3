// The colours of ui/tokens.css: every text on an event can be read, every part of the GPUs' time has one name and one colour, and
// the edges of fields can be seen.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { timelineText } from "../src/text/timeline";
import { CAUSES, colourOfCause, coloursOf, inkOn, luminance, rgbOf } from "../src/timeline/colours";
import { nameOfCause } from "../src/timeline/causes";

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The tokens that hold in one of the two themes; a later rule wins. */
function tokensOf(theme: "light" | "dark"): Map<string, string> {
  const css = textOf("web/src/ui/tokens.css").replace(/\/\*[\s\S]*?\*\//g, "");
  const dark = css.slice(css.indexOf("@media screen"), css.indexOf("}", css.indexOf("}", css.indexOf("@media screen"))) + 1);
  const base = css.replace(dark, "");
  const read = (text: string) => [...text.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map((m) => [m[1]!, m[2]!] as const);
  return new Map([...read(base), ...(theme === "dark" ? read(dark) : [])]);
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(rgbOf(a)), luminance(rgbOf(b))].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("colours of the %s theme", (theme) => {
  const tokens = tokensOf(theme);
  const token = (name: string): string => {
    const value = tokens.get(name);
    if (value === undefined) throw new Error(`no token ${name}`);
    return value;
  };
  it("the text on every event and on every part of the GPUs' time has a contrast of at least 4.5", () => {
    const events = [...tokens].filter(([name]) => /^--(event|cause)-/.test(name));
    expect(events.length).toBe(12 + 4 + 18);
    expect(events.filter(([, css]) => contrast(css, inkOn(rgbOf(css))) < 4.5)).toEqual([]);
  });
  it("parts of the GPUs' time stand out from the panel, and differ", () => {
    const parts = [...tokens].filter(([name]) => name.startsWith("--cause-"));
    expect(parts.filter(([, css]) => contrast(css, token("--surface")) < 3)).toEqual([]);
    expect(new Set(parts.map(([, css]) => css)).size).toBe(parts.length);
  });
  it("edges of buttons and fields have a contrast of at least 3 to what they stand on", () => {
    for (const ground of ["--surface", "--ground"]) expect(contrast(token("--edge"), token(ground))).toBeGreaterThanOrEqual(3);
    const css = textOf("web/src/ui/base.css");
    for (const part of [".button", ".field"]) expect(new RegExp(`^\\${part} \\{[^}]*border: 1px solid var\\(--edge\\)`, "m").test(css)).toBe(true);
  });
  it("the drawing has the colour of each cause's token", () => {
    const { css } = coloursOf(token);
    for (const cause of CAUSES) expect(css[colourOfCause(cause)]).toBe(token(`--cause-${cause}`));
    expect(css[colourOfCause("of a newer report")]).toBe(token("--cause-unknown"));
  });
});

describe("causes of idle time", () => {
  const names = [...textOf("src/analyze/model/idle/idle.c").matchAll(/\[IDLE_\w+\] = \{"(\w+)", "([^"]+)"/g)].map((m) => [m[1]!, m[2]!] as const);
  it("have the names of the report's bar", () => {
    expect(names.length).toBe(14);
    expect(timelineText.causes).toEqual(Object.fromEntries(names));
  });
  it("have a colour of their own", () => expect(CAUSES).toEqual(["unknown", ...names.map(([key]) => key)]));
  it("that are newer than the page have the report's sentence", () => expect([nameOfCause({ cause: "new", text: "something new" }), nameOfCause(undefined)]).toEqual(["something new", ""]));
});
