#!/usr/bin/env python3
"""The cost of a Scope of the Python package, off and on, compared with an empty context manager in C; and the cost of `import gpufl`.

    PYTHONPATH=build/python bench/python/scope.py [--rounds N]

The figures are processor time of this thread for blocks of 2 000 in turn, medians over the rounds. On: a session of the
simulated GPU; pauses between blocks give its collector time to take the rows, so that none is lost. Import: processor
time of whole interpreters with and without the import, in turn.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import bench_empty

import gpufl

BLOCK = 2000


def block(kind):
    begin = time.thread_time_ns()
    for _ in range(BLOCK):
        with kind("forward"):
            pass
    return (time.thread_time_ns() - begin) / BLOCK


def loop():
    begin = time.thread_time_ns()
    for _ in range(BLOCK):
        pass
    return (time.thread_time_ns() - begin) / BLOCK


def blocks(rounds, pause):
    times = {"loop": [], "empty": [], "scope": []}
    for _ in range(rounds):
        times["loop"].append(loop())
        times["empty"].append(block(bench_empty.Empty))
        times["scope"].append(block(gpufl.Scope))
        time.sleep(pause)
    return {name: statistics.median(values) for name, values in times.items()}


def child(code):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    rounds = parser.parse_args().rounds
    off = blocks(rounds, 0)
    with tempfile.TemporaryDirectory() as folder:
        gpufl.init(log_path=folder, backend=gpufl.BackendKind.None_, profiling_engine=gpufl.ProfilingEngine.Trace)
        on = blocks(rounds, 0.05)
        gpufl.shutdown()
    imports = [(child("pass"), child("import gpufl")) for _ in range(31)]
    print(f"Python {sys.version.split()[0]}, {rounds} rounds of {BLOCK}, {os.cpu_count()} cores")
    for name, times in (("off", off), ("on", on)):
        empty, scope = times["empty"] - times["loop"], times["scope"] - times["loop"]
        print(f"{name:4} empty {empty:6.1f} ns   Scope {scope:6.1f} ns   x{scope / empty:.2f}")
    print(f"import gpufl {statistics.median(b - a for a, b in imports):.1f} ms of processor time")


if __name__ == "__main__":
    main()
