// The states of hosts and GPUs that events report between two answers.
import { describe, expect, it } from "vitest";
import { reasonsOf } from "../src/pages/fleet/GpuCard";
import { gpuName, hostName, withNewer } from "../src/pages/fleet/fresh";
import { attention, gpuOf } from "../src/pages/fleet/health";

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

describe("how many GPUs need attention", () => {
  const NOW = 1_700_000_000_000;
  const gpu = (temperature: number, agoMs: number) => gpuOf({ seen: `${NOW - agoMs}000000`, state: { temperature }, sessions: 0, memory: null } as never, NOW);
  it("counts those with a recent contact", () => expect(attention([gpu(90, 0), gpu(40, 0), gpu(90, 3_600_000)])).toBe(1));
  it("is unknown if no GPU has one, and without GPUs", () => expect([attention([gpu(90, 3_600_000)]), attention([])]).toEqual([null, null]));
});
