// Which session of a host's monitor its page shows, and its events.
import { describe, expect, it } from "vitest";
import type { AnswerGpuEvents, RowSession } from "../src/api/schema";
import { chosenOf, gpuEventsOf } from "../src/pages/fleet/monitor";

const rows = ["c", "b", "a"].map((id) => ({ id }) as RowSession); // newest first

describe("the session of a monitor that is shown", () => {
  it("is the newest one, or the one that the address names", () => {
    expect(chosenOf(rows, "")?.id).toBe("c");
    expect(chosenOf(rows, "a")?.id).toBe("a");
  });
  it("is the newest one where the address names one of other days", () => {
    expect(chosenOf(rows, "z")?.id).toBe("c");
  });
  it("is undefined if the monitor has none", () => {
    expect(chosenOf([], "a")).toBeUndefined();
  });
});

describe("events of GPUs", () => {
  it("have their time, their GPU and their number; what is unknown stays so", () => {
    const answer = { epoch: "1700000000000000000", columns: [], names: ["xid", "driver"], mangled: [], short_names: [], rows: 2, data: { at: [2_000_000_000, 1], device: [2, 0], kind: [0, 1], code: ["31", null], count: [4, 1] } } as AnswerGpuEvents;
    expect(gpuEventsOf(answer, ["H200", "H100"])).toEqual([
      { at: "1700000002000000000", gpu: "1 H100", kind: "xid", code: "31", count: 4 },
      { at: "1700000000000000001", gpu: "", kind: "driver", code: null, count: 1 },
    ]);
  });
});
