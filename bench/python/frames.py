#!/usr/bin/env python3
"""Measures processor time and memory of reading a session's kernels as a DataFrame and of making all columns.

    PYTHONPATH=build/python bench/python/frames.py SESSION [--rounds N]

Each round is an interpreter of its own, with pandas imported before the clock starts. A session of 10 million kernels comes from
`gpufl sim --kernels 10000000 --scopes -o FOLDER`.
"""
import argparse
import statistics
import subprocess
import sys

ROUND = """
import resource, sys, time
import pandas
from gpufl.analyzer import GpuFlightSession
begin, wall = time.process_time(), time.monotonic()
session = GpuFlightSession(sys.argv[1])
read = time.process_time()
rows = len(session.kernels)
print(rows, read - begin, time.process_time() - read, time.monotonic() - wall,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = []
    for _ in range(options.rounds):
        done = subprocess.run([sys.executable, "-c", ROUND, options.session], check=True, capture_output=True, text=True)
        rounds.append([float(word) for word in done.stdout.split()])
    rows, read, make, wall, memory = (statistics.median(column) for column in zip(*rounds))
    print(f"{rows:.0f} kernels: read {read:.2f} s, columns {make:.2f} s of processor time; {wall:.2f} s of wall-clock time; "
          f"{memory:.2f} GiB at most")


if __name__ == "__main__":
    main()
