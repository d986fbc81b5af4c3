// The first page of `gpufl view`: one session, the only one of a command that used the GPU, or the list.
import { describe, expect, it } from "vitest";
import type { RowSession } from "../src/api/schema";
import { MOST, sessionOfHash, sessionsOfHash, theOneAtWork } from "../src/pages/fleet/local";

const row = (id: string, kernels: number | null, more: Partial<RowSession> = {}): RowSession => ({ id, kernels, state: "ended", analyzed: true, labels: { run: "r" }, ...more }) as RowSession;
const loading = { state: "live", analyzed: false };

describe("the address", () => {
  it("names a session", () => expect([sessionOfHash("#session=a-1"), sessionOfHash("#session="), sessionOfHash("#session=<b>"), sessionOfHash("#sessions=2")]).toEqual(["a-1", null, null, null]));
  it("says how many there are", () => expect([sessionsOfHash("#sessions=2"), sessionsOfHash("#sessions=1"), sessionsOfHash("#sessions=x"), sessionsOfHash("")]).toEqual([2, null, null, null]));
});

describe("the session that used the GPU", () => {
  it("is opened where the others did not", () => {
    const worker = row("worker", 0);
    expect(theOneAtWork([worker, row("main", 5)], 2)).toMatchObject({ id: "main" });
    expect(theOneAtWork([worker, row("main", null, loading)], 2)).toMatchObject({ id: "main" });
    expect(theOneAtWork([worker, row("counts", null)], 2)).toMatchObject({ id: "counts" });
  });
  it("is waited for", () => {
    expect(theOneAtWork([], 2)).toBe(null);
    expect(theOneAtWork([row("main", 5)], 2)).toBe(null);
    expect(theOneAtWork([row("main", 5), row("other", null, loading)], 2)).toBe(null);
    expect(theOneAtWork([row("main", 5), row("other", 0, { state: "live" })], 2)).toBe(null);
  });
  it("is not chosen among several, other commands or passes", () => {
    expect(theOneAtWork([row("a", 5), row("b", 5)], 3)).toBe("list");
    expect(theOneAtWork([row("a", 5), row("b", null)], 2)).toBe("list");
    expect(theOneAtWork([row("a", 0), row("b", 0)], 2)).toBe("list");
    expect(theOneAtWork([row("a", 0), row("b", 5, { labels: { run: "other" } })], 2)).toBe("list");
    expect(theOneAtWork([row("a", 0, { labels: {} }), row("b", 5, { labels: {} })], 2)).toBe("list");
    expect(theOneAtWork([row("a", 0), row("b", 5, { labels: { run: "r", pass: "2 of 2" } })], 2)).toBe("list");
    expect(theOneAtWork([row("a", 0)], MOST + 1)).toBe("list");
  });
});
