#!/usr/bin/env python3
"""Measures the time of scripts/test from a fresh clone: configuring, compiling, linking and testing of each preset.

    bench/suite/run.py [--presets release,asan-ubsan,tsan] [--tests REGEX | --no-tests] [--target NAME] [--jobs N]
                       [--keep FOLDER]

Prints a table for each preset: processor seconds (user and system) of its processes, which a busy machine changes little;
elapsed seconds; and the share of all processors that any process used meanwhile. On a machine without other work, the rest
to 100 % is time in which tests wait. Then it prints the tests by folder, and the most expensive ones.
"""
import argparse
import collections
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = {"release": "build", "asan-ubsan": "build-asan", "tsan": "build-tsan"}
DEAREST = 25


def ours():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine():
    """(busy, all) ticks of all processors."""
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def phase(command, cwd):
    """Runs a command; returns (its output, processor seconds, elapsed seconds, busy share of the machine)."""
    processor, began, before = ours(), time.monotonic(), machine()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    after = machine()
    share = (after[0] - before[0]) / max(after[1] - before[1], 1)
    return done.stdout, ours() - processor, time.monotonic() - began, share


def row(name, processor, took=None, share=None, more=""):
    took = "" if took is None else f"{took:.0f}"
    share = "" if share is None else f"{100 * share:.0f} %"
    print(f"| {name} | {processor:.1f} | {took} | {share} | {more} |", flush=True)


def built(preset, source, launcher, target, jobs):
    """Configures and builds; prints the rows of the table."""
    log = source / f"{preset}.spent"
    definitions = [f"-DCMAKE_{language}_{kind}_LAUNCHER={launcher};{log};{word}"
                   for language in ("C", "CXX") for kind, word in (("COMPILER", "compiled"), ("LINKER", "linked"))]
    _, processor, took, share = phase(["cmake", "--preset", preset, *definitions], source)
    row("configure", processor, took, share)
    _, processor, took, share = phase(["cmake", "--build", "--preset", preset, "-j", str(jobs), "--target", target], source)
    spent, counts = collections.Counter(), collections.Counter()
    for line in log.read_text().splitlines():
        seconds, kind, _ = line.split(" ", 2)
        spent[kind] += float(seconds)
        counts[kind] += 1
    row("build", processor, took, share)
    for kind in sorted(spent):
        row(f"- {kind}", spent[kind], more=f"{counts[kind]} files")
    row("- the rest: ninja, npm, the dashboard, CUDA, archives", processor - sum(spent.values()))


def tested(preset, source, pattern, jobs):
    """Runs the tests as ctest does, several at once; prints rows by folder, then the most expensive tests."""
    out, processor, took, share = phase([source / "scripts/costs", FOLDERS[preset], pattern, str(jobs)], source)
    costs = [(float(m[1]), float(m[2]), m[3]) for m in re.finditer(r"^ *([\d.]+) +([\d.]+)  (\S+)(?:  exit \d+)?$", out, re.M)]
    row("tests", processor, took, share, f"{len(costs)} tests")
    rooms = collections.defaultdict(list)
    for one in costs:
        rooms[one[2].split(".")[0]].append(one)
    for room in sorted(rooms, key=lambda name: -sum(one[0] for one in rooms[name])):
        row(f"- {room}", sum(one[0] for one in rooms[room]), more=f"{len(rooms[room])} tests")
    print("\nDearest: " + ", ".join(f"`{name}` {processor:.0f}" for processor, _, name in sorted(costs)[:-DEAREST - 1:-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--presets", default=",".join(FOLDERS))
    parser.add_argument("--tests", default="")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--target", default="all", help="build only this target, to try the script")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="folder of the clone, which is kept; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpufl-suite-") as work:
        source = options.keep or pathlib.Path(work) / "main"
        subprocess.run(["git", "clone", "-q", ROOT, source], check=True)
        launcher = source / "spent"
        subprocess.run(["cc", "-std=gnu11", "-O2", "-o", launcher, HERE / "spent.c"], check=True)
        for preset in options.presets.split(","):
            print(f"\n{preset}\n\n| what | processor, s | time, s | machine busy | |\n|---|---|---|---|---|")
            built(preset, source, launcher, options.target, options.jobs)
            if not options.no_tests:
                tested(preset, source, options.tests, 2 * options.jobs)


if __name__ == "__main__":
    main()
