// format.ts - numbers as people read them: three significant digits with a unit that suits. The
// `exact` versions, with every digit, are for tooltips and copies. Unknown (null, NaN) is a dash,
// never zero.

export const UNKNOWN = "–";

const known = (value: number | null | undefined): value is number => typeof value === "number" && Number.isFinite(value);

/** Three significant digits: 1.234567 becomes 1.23, 999.6 becomes 1000. From 1 on trailing zeros
 * are kept. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.9995) return String(Number(value.toPrecision(3)));
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

interface Step {
  from: number;
  unit: string;
  divide: number;
}

function scaled(value: number, steps: readonly Step[]): string {
  const size = Math.abs(value);
  const step = steps.find((s) => size >= s.from) ?? steps[steps.length - 1]!;
  const text = `${step.divide === 1 && Number.isInteger(value) ? value : digits(value / step.divide)} ${step.unit}`;
  return text.replace("-", "−"); // the minus sign that percentages have, too
}

// A unit begins where three digits of the smaller unit would round up to a thousand.
const DURATIONS: readonly Step[] = [
  { from: 119.95e9, unit: "min", divide: 60e9 },
  { from: 0.9995e9, unit: "s", divide: 1e9 },
  { from: 0.9995e6, unit: "ms", divide: 1e6 },
  { from: 0.9995e3, unit: "µs", divide: 1e3 },
  { from: 0, unit: "ns", divide: 1 },
];

const HOUR = 3600e9;

export function duration(ns: number | null | undefined): string {
  if (!known(ns)) return UNKNOWN;
  if (Math.abs(ns) < 2 * HOUR) return scaled(ns, DURATIONS);
  const hours = Math.floor(ns / HOUR);
  return `${hours} h ${Math.round((ns % HOUR) / 60e9)} min`;
}

/** A moment of a session in seconds with `digits` decimals in groups of three, so that moments close to each other differ:
 * 8012345678 ns with 6 is "8.012 345 s". What is beyond the last digit is cut, as on a clock. */
export function moments(ns: number | null | undefined, digits: 3 | 6): string {
  if (!known(ns)) return UNKNOWN;
  const size = Math.abs(ns);
  const parts = String(Math.floor((size % 1e9) / 10 ** (9 - digits))).padStart(digits, "0").match(/\d{3}/g)!;
  return `${ns < 0 ? "−" : ""}${grouped(Math.floor(size / 1e9))}.${parts.join("\u202f")} s`;
}

const BYTES: readonly Step[] = [
  { from: 1023.5 * 2 ** 30, unit: "TiB", divide: 2 ** 40 },
  { from: 1023.5 * 2 ** 20, unit: "GiB", divide: 2 ** 30 },
  { from: 1023.5 * 2 ** 10, unit: "MiB", divide: 2 ** 20 },
  { from: 1023.5, unit: "KiB", divide: 2 ** 10 },
  { from: 0, unit: "B", divide: 1 },
];

export const bytes = (count: number | null | undefined): string => (known(count) ? scaled(count, BYTES) : UNKNOWN);

const COUNTS: readonly Step[] = [
  { from: 0.9995e9, unit: "G", divide: 1e9 },
  { from: 0.9995e6, unit: "M", divide: 1e6 },
  { from: 1e5, unit: "k", divide: 1e3 },
];

/** The exact number up to 99 999, then 123 k, 1.23 M. */
export function count(value: number | null | undefined): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) < 1e5 ? grouped(Math.round(value)) : scaled(value, COUNTS);
}

/** A fraction as percent. */
export function percent(part: number | null | undefined): string {
  if (!known(part)) return UNKNOWN;
  const value = part * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return "< 0.1 %";
  if (value > 99 && value < 100) return value < 99.95 ? `${value.toFixed(1)} %` : "> 99.9 %"; // a part that is less than the whole is not shown as 100 %
  return `${value.toFixed(Math.abs(value) < 9.95 ? 1 : 0)} %`;
}

/** 1234567 as "1 234 567", with narrow no-break spaces. */
export function grouped(value: number): string {
  const [whole, rest] = String(value).split(".");
  const spaced = whole!.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return rest ? `${spaced}.${rest}` : spaced;
}

export const exact = (value: number | null | undefined, unit = ""): string =>
  known(value) ? `${grouped(value)}${unit ? ` ${unit}` : ""}` : "unknown";

/** ns since the Unix epoch as a text (64 bits do not fit a number), shown to milliseconds. */
export const epochMs = (ns: string | null | undefined): number | null => (ns ? Number(BigInt(ns) / 1_000_000n) : null);

/** The difference of two such texts, in ns. */
export const between = (from: string | null | undefined, to: string | null | undefined): number | null =>
  from && to ? Number(BigInt(to) - BigInt(from)) : null;

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

export function date(ns: string | null | undefined): string {
  const ms = epochMs(ns);
  return ms === null ? UNKNOWN : DATE.format(ms);
}

const MOMENT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/** A date with milliseconds, for tables in which many things happen in one minute. */
export function moment(ns: string | null | undefined): string {
  const ms = epochMs(ns);
  return ms === null ? UNKNOWN : MOMENT.format(ms);
}

export function exactDate(ns: string | null | undefined): string {
  const ms = epochMs(ns);
  return ms === null ? "unknown" : `${new Date(ms).toISOString()} (${ns} ns since the Unix epoch)`;
}

/** The last part of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** 1.25 as "+25.0 %"; from 10 times on as "× 12". */
export function change(ratio: number | null): string {
  if (ratio === null) return "";
  if (ratio >= 10) return `× ${ratio.toFixed(ratio < 100 ? 1 : 0)}`;
  const percent = ((ratio - 1) * 100).toFixed(1);
  const size = percent.replace("-", "");
  return `${Number(percent) > 0 ? "+" : Number(percent) < 0 ? "−" : ""}${size} %`; // what is rounded to nothing has no sign
}

/** A sentence of the analysis, which is written for any terminal ("9.41 us", "-3 ms", "1,200
 * launches"), as pages write it. Commas between the numbers of a name stay. */
export const sentence = (text: string): string =>
  text
    .replace(/(\d) us\b/g, "$1 µs")
    .replace(/(^|[\s(])-(?=\d)/g, "$1−")
    .replace(/(^\(?|\s\(?)(\d{1,3}(?:,\d{3})+)(?=$|[\s).;:]|,\s)/g, (_, before: string, number: string) => before + number.replaceAll(",", "\u202f"));
