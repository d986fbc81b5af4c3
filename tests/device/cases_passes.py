"""`gpufl trace --passes`: one command, a run with each engine, one report."""
from cases_frameworks import TORCH
from lab import case, expect

GIVES = {"Trace": "times", "PcSampling": "samples", "SassMetrics": "instructions", "RangeProfiler": "counters",
         "PmSampling": "counters"}


def passed(lab, engines, *command):
    _, _, report = lab.trace(*command, options=("--passes", ",".join(engines)))
    group = report["groups"][0]
    gave = {p["engine"]: p["gives"] for p in group["passes"]}
    expect(gave == {e: [GIVES[e]] for e in engines}, f"{gave}: {[p.get('gave_nothing') for p in group['passes']]}")
    expect(report["samples"]["samples"] > 0 and report["instructions"]["kernels"], "a pass is not in the report")
    expect(report["ledger"]["verdict"] == "complete", f"{report['ledger']['missing']}")
    return report, group


@case
def passes_of_an_example(lab):
    """The example has scopes, several streams and a graph, and as many launches in each of its runs."""
    report, group = passed(lab, tuple(GIVES), lab.bin / "train_loop", "--steps", 30)
    launched = {p["engine"]: p["kernels_launched"] for p in group["passes"]}
    print(f"      launched: {launched}; alike: {group['alike']}")
    expect(group["alike"] != "no", f"{group['different_kernels']}")
    expect({c["source"] for c in report["counters"]} == {"sampled", "range"}, "counters of both engines")


@case
def passes_of_pytorch(lab):
    report, group = passed(lab, ("Trace", "PcSampling", "SassMetrics"), "python3", "-c", TORCH)
    timed = {k["name"] for k in report["kernels"]["by_name"]}
    counted = {k["kernel"] for k in report["instructions"]["kernels"]}
    expect(timed & counted, f"no kernel has both times and counts: {timed}, {counted}")
