// The states of hosts and GPUs that events report between two answers.
import { describe, expect, it } from "vitest";
import { reasonsOf } from "../src/pages/fleet/GpuCard";
import { gpuName, hostName, withNewer } from "../src/pages/fleet/fresh";

const row = (uuid: string, seen: string | null, power: number, sessions = 3) => ({ host: "n1", uuid, seen, state: { power }, sessions });
const reported = (...rows: ReturnType<typeof row>[]) => new Map(rows.map((one) => [gpuName(one), one]));

describe("the states that events have reported", () => {
  it("take the place of older ones, and of nothing else in the row", () => {
    const rows = withNewer([row("a", "1700000000000000001", 100), row("b", "5", 200)], reported({ ...row("a", "1700000000000000002", 101), sessions: 0 }), gpuName);
    expect(rows).toEqual([{ ...row("a", "1700000000000000002", 101) }, row("b", "5", 200)]);
  });
  it("stay away from an answer that is newer, or as new", () => {
    expect(withNewer([row("a", "10", 100)], reported(row("a", "9", 1)), gpuName)).toEqual([row("a", "10", 100)]);
    expect(withNewer([row("a", "10", 100)], reported(row("a", "10", 1)), gpuName)).toEqual([row("a", "10", 100)]);
  });
  it("are those of the GPU of that host: what no row is about is left out", () => {
    expect(withNewer([row("a", "1", 100)], reported({ ...row("a", "2", 1), host: "n2" }), gpuName)).toEqual([row("a", "1", 100)]);
    expect(withNewer([], reported(row("a", "2", 1)), gpuName)).toEqual([]);
  });
  it("are known for a row that was never seen", () => {
    expect(withNewer([row("a", null, 100)], reported(row("a", "2", 1)), gpuName)[0]!.state).toEqual({ power: 1 });
    expect(hostName({ name: "n1", seen: null, state: {} })).toBe("n1");
  });
});

describe("why clocks are low", () => {
  const of = (vendor: string) => reasonsOf({ vendor, sample: { throttle_reasons: ["idle", "power_cap", "hardware_slowdown", "thermal_hardware"] } } as never);
  it("is said in the vendor's words", () => {
    expect(of("nvidia")).toBe("power cap, hardware slowdown, too hot");
    expect(of("amd")).toBe("power cap, another limit of the hardware, regulators or board too hot");
  });
});
