#!/usr/bin/env python3
"""Measures what the cure of a program of tests/answers gains: it runs bare and cured in turn, several times, on a GPU.

    bench/answers/cure.py [--rounds N] [--json FILE] NAME ...

Each round runs the program and its cure; every second round runs them in the other order. Prints the medians of
`work_s`, the gain of the medians, and the least and the most that a round gained. The first run of each side is not
counted: it fills the caches of compilers.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "tests/answers/programs"


def work_s(program, folder, *arguments):
    done = subprocess.run([sys.executable, program, *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "HF_HUB_OFFLINE": "1"})
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"{program.name} {' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(lines[-1])["work_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    measured = {}
    for name in args.names:
        program = next(PROGRAMS.rglob(f"{name}.py"))
        bare, cured = [], []
        sides = [(bare, ()), (cured, ("cure",))]
        with tempfile.TemporaryDirectory(prefix="cure") as folder:
            for number in range(args.rounds + 1):
                for times, arguments in sides if number % 2 else sides[::-1]:
                    times.append(work_s(program, folder, *arguments))
        gains = [1 - after / before for before, after in zip(bare[1:], cured[1:])]
        before, after = statistics.median(bare[1:]), statistics.median(cured[1:])
        measured[name] = {"bare_s": bare, "cured_s": cured}
        print(f"{name}: {before:.3f} s bare, {after:.3f} s cured, {100 * (1 - after / before):.1f} % gained "
              f"[{100 * min(gains):.1f}, {100 * max(gains):.1f}], {args.rounds} rounds", flush=True)
    if args.json:
        args.json.write_text(json.dumps(measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
