#!/usr/bin/env python3
"""Stall reasons of the kernels of device_stalls as `ncu` samples them, for the table of docs/benchmarks.md.

    tests/device/beside_ncu.py [--build DIR] [KERNEL ...]

One launch of each, in a process of its own (ncu and we exclude each other); ours beside them come from
run.py --only samples_name_what_holds_a_kernel_up.
"""
import argparse
import csv
import io
import pathlib
import subprocess
import sys

from lab import HERE
from stalls import EXPECTED, RUNNING

GROUP = "smsp__pcsamp_warp_stall_reasons"
PREFIX, IDLE = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


def sampled(program, kernel):
    """Samples by reason, and those without an issue, of one launch under ncu."""
    done = subprocess.run(["ncu", "--metrics", f"group:{GROUP},group:{GROUP}{IDLE}", "--kernel-name", f"regex:{kernel}",
                           "--launch-count", "1", "--csv", "--page", "raw", str(program), "--ms", "1", kernel],
                          capture_output=True, text=True)
    rows = list(csv.reader(io.StringIO("\n".join(line for line in done.stdout.splitlines() if line.startswith('"')))))
    if done.returncode or len(rows) < 3:
        sys.exit(f"ncu gave nothing of {kernel} (exit {done.returncode}): {(done.stdout + done.stderr)[-500:]}")
    of, idle = {}, 0.0
    for name, value in zip(rows[0], rows[2]):  # the second row has the units
        if name.startswith(PREFIX) and name.endswith(IDLE):
            idle += number(value)
        elif name.startswith(PREFIX):
            of[name[len(PREFIX):]] = number(value)
    return of, idle


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("kernels", nargs="*", default=list(EXPECTED))
    args = parser.parse_args()
    print("| kernel | held up by (of stalled samples) | without an issue |\n|---|---|---|")
    for kernel in args.kernels:
        of, idle = sampled(args.build.resolve() / "bin" / "device_stalls", kernel)
        stalled = {reason: n for reason, n in of.items() if reason not in RUNNING}
        total, held = sum(of.values()), sum(stalled.values())
        top = sorted(stalled.items(), key=lambda item: -item[1])[:3]
        print(f"| {kernel} | " + ", ".join(f"{reason} {n / held:.1%}" for reason, n in top if held)
              + f" | {idle / total if total else 0:.0%} |", flush=True)


if __name__ == "__main__":
    main()
