#!/usr/bin/env python3
"""Measures what sampling the program's threads costs: CPU time of the thread gpufl-stacks.

Usage: bench/overhead/host_samples.py [BUILD] [--threads 1,4,16] [--seconds 5] [--rounds 3] [--hz 200]

Runs `gpufl trace` over the fake libraries of the tests (no GPU), in turn: a C program with THREADS threads that block
in read(2), and a Python program with THREADS threads that sleep 20 calls deep. The process's first thread is
sampled, too. CPU time and samples are those of the ledger; "of a core" is CPU time divided by the session's length.
Prints medians over the rounds, with least and greatest in brackets."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

PYTHON = """
import ctypes, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
stream = ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
end = time.monotonic() + float(sys.argv[2])
def sleep(depth):
    if depth:
        return sleep(depth - 1)
    time.sleep(max(0, end - time.monotonic()))
def work():
    assert cuda.cuLaunchKernel(b"_Z4idlePf", 1, 1, 1, 64, 1, 1, 0, stream, None, None) == 0
    sleep(20)
threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def run(a, kind, threads):
    fake = os.path.join(a.build, "fake")
    folder = tempfile.mkdtemp(prefix="gpufl-host-samples-")
    env = dict(os.environ, LD_LIBRARY_PATH=fake, GPUFL_CUPTI_PATH=fake, GPUFL_BACKEND="Auto")
    gpufl = os.path.join(a.build, "bin", "gpufl")
    program = ([os.path.join(fake, "idle_threads"), f"many={threads}", f"ms={a.seconds * 1000}"] if kind == "C"
               else [sys.executable, "-c", PYTHON, str(threads), str(a.seconds)])
    try:
        subprocess.run([gpufl, "trace", "--no-report", "-o", folder, "--option", f"host_samples_hz={a.hz}", "--", *program],
                       check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = json.loads(subprocess.run([gpufl, "report", "--json", folder], check=True, env=env,
                                           stdout=subprocess.PIPE).stdout)
    finally:
        shutil.rmtree(folder)
    ledger, length = report["ledger"], report["session"]["duration_ns"]
    n = ledger["host_samples"]
    return (100 * ledger["cost_host_samples"] / length, n * 1e9 / length / (threads + 1),
            ledger["cost_host_samples"] / n / 1000, 100 * ledger["host_samples_late"] / n)


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build", nargs="?", default="build")
    p.add_argument("--threads", default="1,4,16")
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--hz", type=int, default=200)
    a = p.parse_args()
    print("| program | threads | % of a core | looks a second at each | µs a sample | % late |")
    print("|---|---|---|---|---|---|")
    for kind in ("C", "Python"):
        for threads in (int(t) for t in a.threads.split(",")):
            got = list(zip(*(run(a, kind, threads) for _ in range(a.rounds))))
            print(f"| {kind} | {threads} | {spread(got[0], '.2f')} | {spread(got[1], '.0f')} | {spread(got[2], '.1f')} | {spread(got[3], '.1f')} |",
                  flush=True)


main()
