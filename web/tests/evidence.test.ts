// What a finding rests on: the analysis's numbers with units; unknown ones are none.
import { expect, it } from "vitest";
import { factsOf, longestOf } from "../src/pages/insights/evidence";

const SYNC = { calls: 1000, blocked_ns: 112_000_000, gpu_idle_ns: null, threads: 1, first_ns: 5, longest_ns: 300, longest_start_ns: 1000, longest_correlation: 9, longest_thread: 7, share_permille: 250, odd_thing: 3 };

it("times, shares and counts have their units, places are no numbers", () =>
  expect(factsOf(SYNC).map(({ label, value }) => `${label}: ${value}`)).toEqual(["Calls: 1\u202f000", "Host blocked: 112 ms", "Threads: 1", "Longest: 300 ns", "share: 25 %", "odd thing: 3"]));
it("the longest one is in the middle of its part of the timeline", () => {
  expect(longestOf(SYNC)).toEqual({ at: "700-1600", range: "1000-1300" });
  expect(longestOf({ longest_ns: 300 })).toBeNull();
});
