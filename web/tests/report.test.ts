// The parts of the report about the capture.
import { expect, it } from "vitest";
import { answerOf, caveatsOf, enginesOf, isSet, launchedOf, messagesOf, optionsOf, timeOf, windowsOf } from "../src/api/report";

it("kernels of graphs were launched, too; of graphs as a whole no kernels are recorded", () => {
  const ledger = { launches: 10, graph_kernels: 90, kernels_written: 100, graphs_recorded: null };
  expect(launchedOf({ ledger })).toEqual({ launched: 100, written: 100 });
  expect(launchedOf({ ledger: { ...ledger, kernels_written: 10, graphs_recorded: 0 } })).toEqual({ launched: 10, written: 10 });
  expect(launchedOf({ ledger: { ...ledger, launches: 0, kernels_written: 0, graphs_recorded: 3 } })).toEqual({ launched: 0, written: 0 });
  expect(launchedOf({ ledger: { launches: null } })).toEqual({ launched: null, written: null });
  expect(launchedOf({})).toEqual({ launched: null, written: null });
});

it("messages: the worst first, what is not known is a note", () =>
  expect(messagesOf({ messages: [{ severity: "note", text: "n", count: 1 }, { severity: "warning", text: "w", count: 3 }, { severity: "odd", text: "", code: "c" }, { severity: "error", text: "e", count: 1 }] })).toEqual([
    { severity: "error", text: "e", count: 1 },
    { severity: "warning", text: "w", count: 3 },
    { severity: "note", text: "n", count: 1 },
    { severity: "note", text: "c", count: 1 },
  ]));

it("caveats: those there are; a report of before has none", () => {
  expect(caveatsOf({ caveats: ["a", 1, "b"] })).toEqual(["a", "b"]);
  expect(caveatsOf({})).toEqual([]);
  expect(caveatsOf(undefined)).toEqual([]);
});

it("answer and time: as the report has them; a report of before has neither", () => {
  const answer = { cause: "late_launch", place: "a.py:5", function: "f", statement: "The GPU sat idle.", share: 0.3, share_error: null, next: "Launch earlier." };
  const parts = [{ part: "kernels", name: "kernels", idle: false, ns: 7, permille: 700 }, { part: "late_launch", name: "late launches", idle: true, ns: 3, permille: 300 }];
  expect(answerOf({ answer, time: { parts } })).toEqual(answer);
  expect(timeOf({ answer, time: { parts } })).toEqual(parts);
  for (const older of [{}, undefined, { answer: null, time: null }, { answer: "", time: { parts: 1 } }]) {
    expect(answerOf(older)).toBeNull();
    expect(timeOf(older)).toEqual([]);
  }
});

it("options that somebody set", () => {
  const options = optionsOf({ options: [{ name: "a", value: "1", source: "default" }, { name: "b", value: "2", source: "environment" }, { name: "c", value: "3" }] });
  expect(options.filter(isSet).map(({ name }) => name)).toEqual(["b"]);
});

it("engines: what was asked for, what ran and why, what was set; several values stand together", () => {
  const set = (engine: string, name: string, value: string) => ({ engine, name, value });
  expect(enginesOf({ settings: [set("Deep", "ran_as", "PcSampling"), set("Deep", "why", "no room"), set("PcSampling", "period_cycles", "4096"), set("PcSampling", "metric", "a"), set("PcSampling", "metric", "b"), set("PcSampling", "metric", "a")] })).toEqual([
    { name: "Deep", ranAs: "PcSampling", why: "no room", settings: [] },
    { name: "PcSampling", ranAs: "", why: "", settings: [{ name: "period_cycles", values: ["4096"] }, { name: "metric", values: ["a", "b"] }] },
  ]);
  expect(enginesOf({})).toEqual([]);
});

it("windows: null if the session is recorded as a whole, or the report does not know them", () => {
  expect(windowsOf({})).toBeNull();
  expect(windowsOf({ windows: { opened: 0, recorded_ns: 0, still_open: false, kernels_opened: 0, kernels_recorded_ns: 0 } })).toBeNull();
  expect(windowsOf({ windows: { opened: 2, recorded_ns: 300, still_open: true } })).toEqual({ opened: 2, recorded: 300, stillOpen: true, kernelsOpened: 0, kernelsRecorded: null });
});
