#!/usr/bin/env python3
"""Measures what the interval costs at which records are taken from CUPTI, and how much a killed program loses with it.

    bench/overhead/flushes.py [--build DIR] [--rounds 8] [--kills 8] [--intervals 250,200,100]

steps: a PyTorch step of about 900 kernels (pytorch_step.py) under `gpufl trace`, each interval in processes of its
own, in turns; the figure of a process is its median step. killed: a program that reports each completed kernel is
ended by SIGKILL after 3 s; the loss is the time before the kill from which on kernels are missing. Prints one line
a figure, and JSON.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from run import unpaired

HERE = pathlib.Path(__file__).resolve().parent


def steps(gpufl, work, interval):
    command = [gpufl, "trace", "-q", "--no-report", "-o", work / "logs", "--option", f"flush_interval_ms={interval}",
               "--", sys.executable, HERE / "pytorch_step.py", "bare", "--rounds", "12", "--steps", "20"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout.splitlines()[-1])
    rounds = said["bare"] if "bare" in said else next(v for v in said.values() if isinstance(v, list))
    return statistics.median(rounds[2:])


def killed(gpufl, programs, work, interval):
    out = pathlib.Path(tempfile.mkdtemp(dir=work))
    child = subprocess.Popen([str(gpufl), "trace", "-q", "--no-report", "-o", str(out), "--option",
                              f"flush_interval_ms={interval}", "--", str(programs), "steady"], stdout=subprocess.PIPE,
                             text=True)
    progress, begin = [], time.monotonic()
    for line in child.stdout:
        progress.append(tuple(map(int, line.split())))
        if time.monotonic() - begin > 3:
            break
    # Killed at any moment of a round, not at the same one each time.
    time.sleep((os.getpid() * 7919 + time.monotonic_ns()) % 200 / 1000)
    pids = subprocess.run(["pgrep", "-x", "device_programs"[:15]], capture_output=True, text=True).stdout.split()
    at = time.monotonic_ns()
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    progress += [tuple(map(int, l.split())) for l in child.stdout if len(l.split()) == 2 and l.endswith("\n")]
    child.wait()
    report = json.loads(subprocess.run([str(gpufl), "report", "--json", str(out)], capture_output=True,
                                       text=True).stdout)
    written = report["kernels"]["count"]
    missing = [when for n, when in progress if n > written and when <= at]
    return (at - missing[0]) / 1e6 if missing else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--intervals", default="250,200,100")
    args = parser.parse_args()
    intervals = [int(i) for i in args.intervals.split(",")]
    gpufl, programs = args.build.resolve() / "bin/gpufl", args.build.resolve() / "bin/device_programs"
    work = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-flushes-"))
    medians = {i: [] for i in intervals}
    losses = {i: [] for i in intervals}
    for round_number in range(args.rounds):
        for i in intervals if round_number % 2 == 0 else reversed(intervals):
            medians[i].append(steps(gpufl, work, i))
    for _ in range(args.kills):
        for i in intervals:
            losses[i].append(killed(gpufl, programs, work, i))
    for i in intervals:
        over = unpaired(medians[i], medians[intervals[0]], statistics.median)["ratio"]
        print(f"{i} ms: step {statistics.median(medians[i]):.2f} ms (median of {args.rounds} processes, "
              f"{min(medians[i]):.2f} to {max(medians[i]):.2f}), over {intervals[0]} ms "
              f"x{over[0]:.3f} [{over[1]:.3f}, {over[2]:.3f}]; lost by SIGKILL: median "
              f"{statistics.median(losses[i]):.0f} ms, most {max(losses[i]):.0f} ms of {args.kills}")
    print(json.dumps({"steps_ms": medians, "lost_ms": losses}))


if __name__ == "__main__":
    main()
