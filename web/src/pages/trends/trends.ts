// trends.ts - a history as the server answers it (docs/history.md), and the positions of its
// sessions in the picture.
import type { AnswerHistoryNames, History } from "../../api/schema";
import { nameOf, mangledOf, rowsOf, shortOf } from "../../api/columns";
import { list, number, word, type Raw } from "../../format/raw";

export type Kind = "kernel" | "scope" | "app";
export const KINDS: readonly Kind[] = ["kernel", "scope", "app"];

export interface Session {
  session: string;
  started: string; // ns since the Unix epoch
  app: string;
  host: string;
  gpu: string;
  calls: number | null;
  total: number | null;
  mean: number | null;
  p50: number | null;
  p99: number | null;
  share: number | null;
  level: number | null;
  ratio: number | null;
  outlier: boolean;
}

export const sessionsOf = (answer: History): Session[] =>
  answer.sessions.map((row: Raw) => ({
    session: word(row.session),
    started: word(row.started),
    app: word(row.app),
    host: word(row.host),
    gpu: word(row.gpu),
    calls: number(row.calls),
    total: number(row.total_ns),
    mean: number(row.mean_ns),
    p50: number(row.p50_ns),
    p99: number(row.p99_ns),
    share: number(row.share),
    level: number(row.level_ns),
    ratio: number(row.ratio),
    outlier: row.outlier === true,
  }));

export interface Step {
  session: string; // the first session after it
  started: string;
  p: number | null;
  before: number | null;
  after: number | null;
  ratio: number | null;
  otherMachines: boolean;
}

export const stepsOf = (answer: History): Step[] =>
  list(answer.steps).map((row) => ({
    session: word(row.session),
    started: word(row.started),
    p: number(row.p),
    before: number(row.before_ns),
    after: number(row.after_ns),
    ratio: number(row.ratio),
    otherMachines: row.other_machines === true,
  }));

/** Pettitt's test cannot give p ≤ 0.01 with fewer sessions, whatever their times: it takes 2 exp(-6K²/(n³+n²)), and K is n²/4 at
 * most (docs/history.md). */
export const STEP_LEAST = 16;
/** Fewer sessions have no outliers (docs/history.md). */
export const OUTLIER_LEAST = 6;

export interface Machine {
  name: string;
  sessions: number | null;
  ratio: number | null; // null: too few sessions
  q: number | null;
  outlying: boolean;
}

export const machinesOf = (rows: readonly Raw[]): Machine[] => rows.map((row) => ({ name: word(row.name), sessions: number(row.sessions), ratio: number(row.ratio), q: number(row.q), outlying: row.outlying === true }));

export interface Shape {
  shape: string;
  sessions: number | null;
}

export const shapesOf = (answer: History): Shape[] => list(answer.shapes).map((row) => ({ shape: word(row.shape), sessions: number(row.sessions) }));

export interface Dot {
  x: number; // 0 to 1
  value: number;
  outlier: boolean;
  at: number; // index into the sessions or days
}

export interface Picture {
  dots: Dot[];
  levels: { x0: number; x1: number; value: number }[];
  steps: { x: number; step: Step }[];
}

export type Spacing = "order" | "time";

const MS = 1_000_000n;
const msOf = (ns: string): number => (/^-?\d+$/.test(ns) ? Number(BigInt(ns) / MS) : 0);
const part = (at: number, from: number, to: number): number => (to > from ? (at - from) / (to - from) : 0.5);

/** Sessions as dots from left to right, their levels as lines, steps between the sessions that
 * they separate. */
export function pictureOf(sessions: readonly Session[], steps: readonly Step[], spacing: Spacing): Picture {
  const times = sessions.map((session) => msOf(session.started));
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? 0;
  const xs = sessions.map((_, at) => (spacing === "order" ? part(at, 0, sessions.length - 1) : part(times[at]!, first, last)));
  const dots: Dot[] = sessions.flatMap((session, at) => (session.mean !== null && session.mean > 0 ? [{ x: xs[at]!, value: session.mean, outlier: session.outlier, at }] : []));
  const levels: Picture["levels"] = [];
  sessions.forEach((session, at) => {
    if (session.level === null) return;
    const line = levels.at(-1);
    if (line && Math.abs(line.value - session.level) <= line.value * 1e-6) line.x1 = xs[at]!;
    else levels.push({ x0: xs[at]!, x1: xs[at]!, value: session.level });
  });
  const marks = steps.flatMap((step) => {
    const at = sessions.findIndex((session) => session.session === step.session);
    return at > 0 ? [{ x: (xs[at - 1]! + xs[at]!) / 2, step }] : [];
  });
  return { dots, levels, steps: marks };
}

export interface Day {
  day: number; // since the Unix epoch, UTC
  sessions: number | null;
  mean: number | null;
  p99: number | null;
  outliers: number | null;
}

export const daysOf = (answer: History): Day[] => list(answer.days).flatMap((row) => (number(row.day) === null ? [] : [{ day: number(row.day)!, sessions: number(row.sessions), mean: number(row.mean_ns), p99: number(row.p99_ns), outliers: number(row.outliers) }]));

export function dayPicture(days: readonly Day[]): Picture {
  const first = days[0]?.day ?? 0;
  const last = days.at(-1)?.day ?? 0;
  return { dots: days.flatMap((day, at) => (day.mean !== null && day.mean > 0 ? [{ x: part(day.day, first, last), value: day.mean, outlier: false, at }] : [])), levels: [], steps: [] };
}

/** The axis: from a little below the least to a little above the greatest value, by ratios. */
export function scaleOf(picture: Picture): { y: (value: number) => number; ticks: number[] } {
  const values = [...picture.dots, ...picture.levels].map(({ value }) => value).filter((value) => value > 0);
  const least = Math.log(values.length ? Math.min(...values) : 1);
  const most = Math.log(values.length ? Math.max(...values) : 1);
  const margin = Math.max(0.05, (most - least) * 0.12);
  const low = least - margin;
  const high = most + margin;
  return { y: (value) => 1 - (Math.log(value) - low) / (high - low), ticks: [0.08, 0.36, 0.64, 0.92].map((at) => Math.exp(low + at * (high - low))) };
}

/** The dot nearest to a place, both in px; null: none is near enough. */
export function nearest(dots: readonly Dot[], y: (value: number) => number, at: { x: number; y: number }, size: { width: number; height: number }, reach = 40): Dot | null {
  let best: Dot | null = null;
  let far = reach;
  for (const dot of dots) {
    const away = Math.hypot(dot.x * size.width - at.x, y(dot.value) * size.height - at.y);
    if (away < far) [best, far] = [dot, away];
  }
  return best;
}

const SIDE = 8; // sessions of one side that are compared at most

/** The sessions on both sides of a step that are nearest to it, for comparing. */
export function aroundStep(sessions: readonly Session[], step: Step): { a: string[]; b: string[] } {
  const at = sessions.findIndex((session) => session.session === step.session);
  const ids = sessions.map((session) => session.session);
  return { a: ids.slice(Math.max(0, at - SIDE), Math.max(0, at)), b: at < 0 ? [] : ids.slice(at, at + SIDE) };
}

export interface Candidate {
  name: string; // demangled
  short: string; // short name
  symbol: string; // the name with which the server is asked
  sessions: number;
  calls: number;
  total: number; // ns
}

/** Whether each word is in one of the names, without regard to case. */
export function hasWords({ name, short, symbol }: Pick<Candidate, "name" | "short" | "symbol">, search: string): boolean {
  const all = `${name}\n${short}\n${symbol}`.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((one) => all.includes(one));
}

export function candidatesOf(answer: AnswerHistoryNames): Candidate[] {
  return rowsOf(answer).flatMap((row) => {
    const symbol = mangledOf(answer, row.name) ?? "";
    if (!symbol) return [];
    return [{ name: nameOf(answer, row.name) ?? symbol, short: shortOf(answer, row.name) ?? symbol, symbol, sessions: row.sessions ?? 0, calls: row.calls ?? 0, total: row.total ?? 0 }];
  });
}
