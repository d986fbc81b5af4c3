#!/usr/bin/env python3
"""The kernels of device_stalls as `ncu` sees them, for the tables of docs/benchmarks.md.

    tests/device/compare_ncu.py [--build DIR] [KERNEL ...]               stall reasons, as ncu samples them
    tests/device/compare_ncu.py --counters [--rounds R] [KERNEL ...]     hardware counters, ours and ncu's

One launch of each, in a process of its own (ncu and gpufl exclude each other),
with unchanged clocks and caches. Our stall reasons come from
run.py --only samples_name_what_holds_a_kernel_up; of the counters both sides are taken in turns, R times,
by engine RangeProfiler with --ranges kernels: the first launch of the kernel, repeated for each pass.
"""
import argparse
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from lab import HERE
from stalls import EXPECTED, RUNNING

GROUP = "smsp__pcsamp_warp_stall_reasons"
PREFIX, IDLE = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"
# metric: its name in the table.
COUNTERS = {
    "gpu__time_duration.sum": "ms",
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed": "SM active %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy %",
    "sm__inst_executed.avg.per_cycle_elapsed": "instructions a cycle",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor %",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM %",
    "l1tex__t_sector_hit_rate.pct": "L1 hits %",
    "lts__t_sector_hit_rate.pct": "L2 hits %",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "bank conflicts",
}


def number(text):
    """The number; None: the text is a name, or the value of a metric that ncu does not have."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def under_ncu(program, kernel, metrics):
    """One launch under ncu: metric -> number."""
    done = subprocess.run(["ncu", "--clock-control", "none", "--cache-control", "none", "--metrics", metrics,
                           "--kernel-name", f"regex:{kernel}", "--launch-count", "1", "--csv", "--page", "raw",
                           "--print-units", "base", str(program), "--ms", "1", kernel], capture_output=True, text=True)
    rows = list(csv.reader(io.StringIO("\n".join(line for line in done.stdout.splitlines() if line.startswith('"')))))
    if done.returncode or len(rows) < 3:
        sys.exit(f"ncu gave nothing of {kernel} (exit {done.returncode}): {(done.stdout + done.stderr)[-500:]}")
    numbers = ((name, number(value)) for name, value in zip(rows[0], rows[2]))  # the second row has the units
    return {name: value for name, value in numbers if value is not None}


def under_gpufl(gpufl, program, kernel, metrics):
    """The same launch under engine RangeProfiler."""
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([str(gpufl), "trace", "-e", "RangeProfiler", "--ranges", "kernels", "--metrics", metrics,
                               "--option", "range_kernel_launches=1", "-o", f"{work}/out", "--",
                               str(program), "--ms", "1", kernel], capture_output=True, text=True)
        reported = subprocess.run([str(gpufl), "report", "--json", f"{work}/out"], capture_output=True, text=True)
    if done.returncode or reported.returncode:
        sys.exit(f"gpufl gave nothing of {kernel} (exit {done.returncode}): {(done.stderr + reported.stderr)[-500:]}")
    return {c["metric"]: c["mean"] for c in json.loads(reported.stdout)["counters"]
            if c["source"] == "kernel" and f"{len(kernel)}{kernel}E" in c["kernel_symbol"]}


def sampled(program, kernel):
    """The samples of one launch under ncu, by reason, and those without an issue."""
    of, idle = {}, 0.0
    for name, value in under_ncu(program, kernel, f"group:{GROUP},group:{GROUP}{IDLE}").items():
        if name.startswith(PREFIX) and name.endswith(IDLE):
            idle += value
        elif name.startswith(PREFIX):
            of[name[len(PREFIX):]] = value
    return of, idle


def show_samples(program, kernels):
    print("| kernel | held up by (of stalled samples) | without an issue |\n|---|---|---|")
    for kernel in kernels:
        of, idle = sampled(program, kernel)
        stalled = {reason: n for reason, n in of.items() if reason not in RUNNING}
        total, held = sum(of.values()), sum(stalled.values())
        top = sorted(stalled.items(), key=lambda item: -item[1])[:3]
        print(f"| {kernel} | " + ", ".join(f"{reason} {n / held:.1%}" for reason, n in top if held)
              + f" | {idle / total if total else 0:.0%} |", flush=True)


def shown(metric, values):
    """The median of the rounds and, if they differ in the digits that are shown, the least and the most."""
    scale = 1e-6 if metric == "gpu__time_duration.sum" else 1
    texts = [f"{value * scale:.4g}" for value in (statistics.median(values), min(values), max(values))]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def show_counters(gpufl, program, kernels, rounds):
    print("| kernel | metric | ours | `ncu` |\n|---|---|---|---|")
    metrics = ",".join(COUNTERS)
    for kernel in kernels:
        ours, theirs = zip(*((under_gpufl(gpufl, program, kernel, metrics), under_ncu(program, kernel, metrics))
                             for _ in range(rounds)))
        for metric, name in COUNTERS.items():
            sides = (shown(metric, [taken[metric] for taken in side]) if all(metric in taken for taken in side) else "-"
                     for side in (ours, theirs))
            print(f"| {kernel} | {name} | " + " | ".join(sides) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--counters", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("kernels", nargs="*", default=list(EXPECTED))
    args = parser.parse_args()
    programs = args.build.resolve() / "bin"
    if args.counters:
        show_counters(programs / "gpufl", programs / "device_stalls", args.kernels, args.rounds)
    else:
        show_samples(programs / "device_stalls", args.kernels)


if __name__ == "__main__":
    main()
