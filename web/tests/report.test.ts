// The parts of the report that say what was captured.
import { expect, it } from "vitest";
import { launchedOf } from "../src/api/report";

it("kernels of graphs were launched, too; of graphs as a whole no kernels are recorded", () => {
  const ledger = { launches: 10, graph_kernels: 90, kernels_written: 100, graphs_recorded: null };
  expect(launchedOf({ ledger })).toEqual({ launched: 100, written: 100 });
  expect(launchedOf({ ledger: { ...ledger, kernels_written: 10, graphs_recorded: 0 } })).toEqual({ launched: 10, written: 10 });
  expect(launchedOf({ ledger: { ...ledger, launches: 0, kernels_written: 0, graphs_recorded: 3 } })).toEqual({ launched: 0, written: 0 });
  expect(launchedOf({ ledger: { launches: null } })).toEqual({ launched: null, written: null });
  expect(launchedOf({})).toEqual({ launched: null, written: null });
});
