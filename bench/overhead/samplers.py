#!/usr/bin/env python3
"""The CPU time of the samplers of several processes on one host, with and without one sampler for all.

Usage: bench/overhead/samplers.py [BUILD] [--ranks 8] [--devices 8] [--interval-ms 100] [--seconds 10]
       [--rounds 3] [--query-us 20]

Runs `gpufl trace` over the fake libraries of the tests (no GPU): RANKS processes that have initialized CUDA and
then wait, DEVICES GPUs, in three ways in turn: without a sampler, each process for itself
(share_system_samples=none), and one for all (folder). CPU time is that of the whole tree of processes,
launcher included, minus the time without a sampler. A query of the fake management library keeps a core busy
for --query-us, as a query of NVIDIA's does in the driver; with 0 only gpufl's own share remains.
Rows are those of the logs. Medians over the rounds, least and greatest in brackets."""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = {"no sampler": ("0", "folder"), "each for itself": (None, "none"), "one for all": (None, "folder")}


def spent():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def run(a, interval, share):
    """CPU seconds, wall seconds, and the report of one run."""
    fake = os.path.join(a.build, "fake")
    folder = tempfile.mkdtemp(prefix="gpufl-samplers-")
    env = dict(os.environ, LD_LIBRARY_PATH=fake, GPUFL_CUPTI_PATH=fake, FAKE_DEVICE=f"bench{os.getpid()}",
               FAKE_NVML_DEVICES=str(a.devices), FAKE_NVML_US=str(a.query_us))
    gpufl = os.path.join(a.build, "bin", "gpufl")
    try:
        logs = os.path.join(folder, "logs")
        before, began = spent(), time.monotonic()
        child = subprocess.Popen(
            [gpufl, "trace", "--no-report", "-e", "Monitor", "--system-interval", interval, "--option", f"share_system_samples={share}",
             "-o", logs, "--", os.path.join(fake, "fake_ranks"), str(a.ranks)],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child.stdout.readline()  # all of them are started
        time.sleep(a.seconds)
        child.communicate(b"end\n")
        if child.returncode:
            sys.exit(f"the run ended with {child.returncode}")
        took, wall = spent() - before, time.monotonic() - began
        report = json.loads(subprocess.run([gpufl, "report", "--json", logs], check=True, env=env, stdout=subprocess.PIPE).stdout)
    finally:
        shutil.rmtree(folder)
    return took, wall, report


def samples(report):
    return sum((d["metrics"] or {"samples": 0})["samples"] for d in report["devices"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", nargs="?", default="build")
    p.add_argument("--ranks", type=int, default=8)
    p.add_argument("--devices", type=int, default=8)
    p.add_argument("--interval-ms", type=int, default=100)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--query-us", type=int, default=20)
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    cores, rows = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for _ in range(a.rounds):
        for way, (interval, share) in WAYS.items():
            took, wall, report = run(a, interval or f"{a.interval_ms}ms", share)
            cores[way].append(took / wall)
            rows[way].append(samples(report))
    bare = statistics.median(cores["no sampler"])
    print(f"{a.ranks} processes, {a.devices} GPUs, every {a.interval_ms} ms, {a.query_us} us a query, {os.cpu_count()} cores")
    for way in WAYS:
        own = sorted(100 * (c - bare) for c in cores[way])
        print(f"{way:16} {statistics.median(own):6.1f} % of a core [{own[0]:.1f}, {own[-1]:.1f}], "
              f"{statistics.median(rows[way]):.0f} samples of GPUs")


if __name__ == "__main__":
    main()
