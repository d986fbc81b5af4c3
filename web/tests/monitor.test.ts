// Which session of a host's monitor its page shows.
import { describe, expect, it } from "vitest";
import type { RowSession } from "../src/api/schema";
import { chosenOf } from "../src/pages/fleet/monitor";

const rows = ["c", "b", "a"].map((id) => ({ id }) as RowSession); // newest first

describe("the session of a monitor that is shown", () => {
  it("is the newest one, or the one that the address names", () => {
    expect(chosenOf(rows, "")?.id).toBe("c");
    expect(chosenOf(rows, "a")?.id).toBe("a");
  });
  it("is the newest one where the address names one of other days", () => {
    expect(chosenOf(rows, "z")?.id).toBe("c");
  });
  it("is none where the monitor has none", () => {
    expect(chosenOf([], "a")).toBeUndefined();
  });
});
