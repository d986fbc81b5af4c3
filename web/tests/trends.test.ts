// The server's histories: positions in the picture, and what can be followed.
import { describe, expect, it } from "vitest";
import type { AnswerHistoryNames, History, RowUsageSum } from "../src/api/schema";
import { sumOf } from "../src/pages/fleet/days";
import { aroundStep, candidatesOf, dayPicture, daysOf, machinesOf, nearest, pictureOf, scaleOf, sessionsOf, shapesOf, STEP_LEAST, stepsOf } from "../src/pages/trends/trends";

const DAY = 86_400_000_000_000n;
const row = (at: number, mean: number, level: number, outlier = false) => ({ session: `s${at}`, started: String(BigInt(at * at) * DAY), app: "a", host: "h", gpu: "g", calls: 1, total_ns: mean, mean_ns: mean, p50_ns: null, p99_ns: null, share: 0.5, level_ns: level, ratio: mean / level, outlier });
const answer = {
  kind: "kernel",
  name: "f",
  sessions: [row(0, 100, 100), row(1, 180, 100, true), row(2, 100, 100), row(3, 130, 130), row(4, 130, 130)],
  steps: [{ session: "s3", started: "0", p: 0.001, before_ns: 100, after_ns: 130, ratio: 1.3, other_machines: true }, { session: "gone", ratio: 2 }],
  hosts: [{ name: "h", sessions: 5, ratio: null, q: null, outlying: false }],
  gpus: [],
  shapes: [{ shape: "1x1x1/32x1x1", sessions: 5 }],
  days: [{ day: 3, sessions: 2, mean_ns: 100 }, { day: 9, sessions: 1, mean_ns: 130 }, { sessions: 1 }],
} as unknown as History;
const sessions = sessionsOf(answer);
const steps = stepsOf(answer);

describe("a history", () => {
  it("is read with care", () => {
    expect(sessions[1]).toMatchObject({ session: "s1", mean: 180, p50: null, outlier: true });
    expect(steps[0]).toMatchObject({ session: "s3", before: 100, otherMachines: true });
    expect(machinesOf(answer.hosts as Record<string, unknown>[])[0]).toMatchObject({ name: "h", ratio: null });
    expect(shapesOf(answer)).toEqual([{ shape: "1x1x1/32x1x1", sessions: 5 }]);
    expect(daysOf(answer).map((day) => day.day)).toEqual([3, 9]);
  });
  it("sessions one after the other: levels as lines, the step between its sessions", () => {
    const picture = pictureOf(sessions, steps, "order");
    expect(picture.dots.map((dot) => dot.x)).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(picture.levels).toEqual([{ x0: 0, x1: 0.5, value: 100 }, { x0: 0.75, x1: 1, value: 130 }]);
    expect(picture.steps.map(({ x }) => x)).toEqual([0.625]);
  });
  it("by date they stand as far apart as they were", () => expect(pictureOf(sessions, steps, "time").dots.map((dot) => dot.x)).toEqual([0, 1, 4, 9, 16].map((day) => day / 16)));
  it("one alone stands in the middle; none is an empty picture with a scale", () => {
    expect(pictureOf(sessions.slice(0, 1), [], "order").dots[0]!.x).toBe(0.5);
    expect(scaleOf(pictureOf([], [], "order")).ticks.every(Number.isFinite)).toBe(true);
  });
  it("days, with their gaps", () => expect(dayPicture(daysOf(answer)).dots.map((dot) => [dot.x, dot.value])).toEqual([[0, 100], [1, 130]]));
  it("all values are within the picture, greater ones above", () => {
    const picture = pictureOf(sessions, steps, "order");
    const { y, ticks } = scaleOf(picture);
    for (const { value } of picture.dots) expect(y(value) > 0 && y(value) < 1).toBe(true);
    expect(y(180)).toBeLessThan(y(100));
    expect([...ticks].sort((a, b) => a - b)).toEqual(ticks);
  });
  it("the dot that is pointed at", () => {
    const picture = pictureOf(sessions, steps, "order");
    const { y } = scaleOf(picture);
    const size = { width: 1000, height: 300 };
    expect(nearest(picture.dots, y, { x: 260, y: y(180) * 300 }, size)?.at).toBe(1);
    expect(nearest(picture.dots, y, { x: 400, y: y(180) * 300 }, size)).toBeNull();
  });
  it("fewer sessions than a step takes cannot have p ≤ 0.01", () => {
    const least = (n: number) => 2 * Math.exp((-6 * (Math.floor(n / 2) * Math.ceil(n / 2)) ** 2) / (n ** 3 + n ** 2)); // all of one side above all of the other
    expect(least(STEP_LEAST)).toBeLessThanOrEqual(0.01);
    expect(least(STEP_LEAST - 1)).toBeGreaterThan(0.01);
  });
  it("both sides of a step, for comparing", () => {
    expect(aroundStep(sessions, steps[0]!)).toEqual({ a: ["s0", "s1", "s2"], b: ["s3", "s4"] });
    expect(aroundStep(sessions, steps[1]!)).toEqual({ a: [], b: [] });
  });
});

describe("what can be followed", () => {
  it("in the server's order, with the names that people read; rows without a name are none", () => {
    const answer = { columns: [], rows: 3, names: ["g()", "f()", ""], mangled: ["_Z1gv", "_Z1fv", ""], short_names: ["g", "f", ""], data: { name: [0, 1, 2], sessions: [1, 2, 9], calls: [4, 6, 9], total: [100, 30, 9] } } as unknown as AnswerHistoryNames;
    expect(candidatesOf(answer)).toEqual([
      { name: "g()", short: "g", symbol: "_Z1gv", sessions: 1, calls: 4, total: 100 },
      { name: "f()", short: "f", symbol: "_Z1fv", sessions: 2, calls: 6, total: 30 },
    ]);
  });
});

describe("a host's days", () => {
  const day = (part: Partial<RowUsageSum>): RowUsageSum => ({ name: "h", day: 1, sessions: 1, gpus: 1, wall: 100, known: 50, busy: 25, kernels: 3, counted: 1, sampled: 0, utilized: 0, energy: null, ...part });
  it("parts are of what is known; what nobody knows stays unknown", () => {
    expect(sumOf([day({}), day({ known: 50, busy: 0 })])).toEqual({ wall: 200, busy: 0.25, utilization: null, energy: null, sessions: 2, counted: 2, kernels: 6 });
    expect(sumOf([day({}), day({ kernels: null, counted: 0 })])).toMatchObject({ sessions: 2, counted: 1, kernels: 3 });
    expect(sumOf([day({ kernels: null, counted: 0 })]).kernels).toBeNull();
    expect(sumOf([day({ energy: 5 }), day({})]).energy).toBe(5);
    expect(sumOf([]).busy).toBeNull();
  });
});
