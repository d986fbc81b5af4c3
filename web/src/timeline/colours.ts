// colours.ts - the colours of the drawing: tokens of ui/tokens.css as px, with a text colour that
// is legible on each. They are read again when the theme changes.
import { KIND } from "./lanes";
import { COLOURS } from "./names";

export interface Colours {
  px: Uint32Array; // in ImageData's form; the second half is pale, for events that the search does not match
  ink: string[]; // colour of a text on each colour, by index
  css: string[];
  ground: string;
  surface: string;
  surface2: string;
  line: string;
  text: string;
  quiet: string;
  accent: string;
  focus: string;
  link: string;
  mark: string; // of bookmarks
  series: Record<string, string>; // by token
}

const KINDS: Record<number, string> = { [KIND.copy]: "copy", [KIND.sync]: "sync", [KIND.wait]: "wait", [KIND.graph]: "graph", [KIND.run]: "graph" };
const OF_KIND: readonly number[] = Object.keys(KINDS).map(Number);
/** Causes of idle time by their keys in the report, each with a token of its own. */
export const CAUSES = [
  "unknown", "host_sync", "copy", "memory", "code", "queued", "back_to_back", "slow_launches", "late_launch", "nothing_submitted", "before_first", "after_last", "engine", "other_process", "start_up",
];
const FIRST_CAUSE = COLOURS + OF_KIND.length;
export const ALL = FIRST_CAUSE + CAUSES.length;

/** Index of the colour of a kind whose events have no names. */
export const colourOfKind = (kind: number): number => COLOURS + OF_KIND.indexOf(kind);
/** Index of the colour of a cause of idle time. */
export const colourOfCause = (cause: string): number => FIRST_CAUSE + Math.max(0, CAUSES.indexOf(cause));
export const hasNames = (kind: number): boolean => kind === KIND.kernel || kind === KIND.scope || kind === KIND.mark;

type Rgb = [number, number, number];

/** "#rgb" or "#rrggbb". */
export function rgbOf(text: string): Rgb {
  const hex = text.trim().replace("#", "");
  const wide = hex.length === 3 ? [...hex].map((c) => c + c).join("") : hex;
  const value = /^[0-9a-f]{6}$/i.test(wide) ? parseInt(wide, 16) : 0x808080;
  return [value >> 16, (value >> 8) & 255, value & 255];
}

const linear = (part: number): number => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
export const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

export const DARK_INK = "#10181b";
const LIGHT_INK = "#ffffff";

export function inkOn(colour: Rgb): string {
  const light = luminance(colour);
  return (light + 0.05) / (luminance(rgbOf(DARK_INK)) + 0.05) >= 1.05 / (light + 0.05) ? DARK_INK : LIGHT_INK;
}

const packed = ([r, g, b]: Rgb, alpha: number): number => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

export function coloursOf(token: (name: string) => string): Colours {
  const names = [...Array.from({ length: COLOURS }, (_, at) => `--event-${at + 1}`), ...OF_KIND.map((kind) => `--event-${KINDS[kind]}`), ...CAUSES.map((cause) => `--cause-${cause}`)];
  const css = names.map(token);
  const rgb = css.map(rgbOf);
  const px = new Uint32Array(2 * ALL);
  rgb.forEach((colour, at) => {
    px[at] = packed(colour, 255);
    px[ALL + at] = packed(colour, 60);
  });
  return {
    px,
    css,
    ink: rgb.map(inkOn),
    ground: token("--ground"),
    surface: token("--surface"),
    surface2: token("--surface-2"),
    line: token("--line"),
    text: token("--ink"),
    quiet: token("--ink-2"),
    accent: token("--accent"),
    focus: token("--focus"),
    link: token("--link"),
    mark: token("--series-4"),
    series: Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`--series-${at + 1}`, token(`--series-${at + 1}`)])),
  };
}
