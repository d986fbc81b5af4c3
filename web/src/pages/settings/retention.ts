// retention.ts - limits as people write them, days and GiB, and as the server stores them, ns and
// bytes. No limit is an empty field to people, and 0 to the server.
const DAY_NS = 86_400_000_000_000;
const GIB = 2 ** 30;

export interface Limits {
  sessions: number;
  bytes: number;
  metrics: number;
}
export type LimitTexts = Record<keyof Limits, string>;

const UNITS: Limits = { sessions: DAY_NS, bytes: GIB, metrics: DAY_NS };
const KEYS = Object.keys(UNITS) as (keyof Limits)[];

export function textsOf(row: Record<keyof Limits, number | null>): LimitTexts {
  return Object.fromEntries(KEYS.map((key) => [key, row[key] ? String(Number((row[key] / UNITS[key]).toPrecision(6))) : ""])) as LimitTexts;
}

/** null: a text that is neither empty nor a number above 0. */
export function limitsOf(texts: LimitTexts): Limits | null {
  const limits = {} as Limits;
  for (const key of KEYS) {
    const text = texts[key].trim().replace(",", ".");
    const value = Number(text);
    limits[key] = Math.round(value * UNITS[key]);
    if (text !== "" && !(limits[key] > 0 && limits[key] <= 9e18)) return null;
  }
  return limits;
}

/** Whether new limits would delete something that is kept now. 0 is no limit. */
export const keepsLess = (before: Limits, after: Limits): boolean => KEYS.some((key) => after[key] !== 0 && (before[key] === 0 || after[key] < before[key]));
