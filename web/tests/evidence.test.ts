// The numbers of a finding, with units; unknown numbers are left out.
import { expect, it } from "vitest";
import { readdirSync, readFileSync } from "node:fs";
import { evidence } from "../src/text/evidence";
import { longestOf } from "../src/pages/insights/evidence";
import { factsOf, PLACES } from "../src/pages/insights/facts";
import { wordsOf } from "../src/text/kernel";

const SYNC = { calls: 1000, blocked_ns: 112_000_000, gpu_idle_ns: null, threads: 1, first_ns: 5, longest_ns: 300, longest_start_ns: 1000, longest_correlation: 9, longest_thread: 7, share_permille: 250, odd_thing: 3 };

it("times, shares and counts have their units, places are no numbers", () =>
  expect(factsOf(SYNC, wordsOf("")).map(({ label, value }) => `${label}: ${value}`)).toEqual(["Calls: 1\u202f000", "Host blocked: 112 ms", "Threads: 1", "Longest: 300 ns", "Share of the samples: 25 %", "odd thing: 3"]));
it("a finding on AMD's GPUs is in AMD's words", () =>
  expect(factsOf({ warps: 4, max_warps: 8, registers: 96, shared_static: 64, stalled_samples: 400, calls: 2 }, wordsOf("amd")).map(({ label }) => label)).toEqual([
    "Wavefronts that fit", "Wavefronts at most", "Registers a work-item", "Static LDS, bytes", "Samples of waiting wavefronts", "Calls",
  ]));
it("the longest one is in the middle of its part of the timeline", () => {
  expect(longestOf(SYNC)).toEqual({ at: "700-1600", range: "1000-1300" });
  expect(longestOf({ longest_ns: 300 })).toBeNull();
});

it("each number of the analysis has a label, or is a place", () => {
  const folder = new URL("../../src/analyze/insight/", import.meta.url);
  const code = readdirSync(folder).filter((name) => name.endsWith(".c")).map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  const keys = [...code.matchAll(/insight_fact\(i,([^;]*?),[^,;]*\);/g)].flatMap(([, key]) => [...key!.matchAll(/"(\w+)"/g)].map(([, name]) => name!));
  expect(keys.length).toBeGreaterThan(60);
  expect([...new Set(keys)].filter((key) => !PLACES.has(key) && !(key in evidence.facts))).toEqual([]);
});
