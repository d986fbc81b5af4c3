#!/usr/bin/env python3
"""Analyses the recorded programs of tests/data/answers again and compares what the report says with what the
programs' own clocks said.

    tests/answers/replay.py --gpufl FILE

For each: the function that programs.json names (written down before any analysis) is that of one of the first three
findings, of a cause listed there; the idle time at its lines is within 15 % of the time that the program's clock saw
in it; the lines sum up to the idle time, and at most 2 % of that between the first and the last work has none.
Exit 1 where one does not hold.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "answers"
UNKNOWN = {"no_samples", "several_waited", "no_stack", "no_python", "lost", "shared"}
EDGES = {"start_up", "before_first", "after_last"}
CLOCK, NO_LINE, FINDINGS = 0.15, 0.02, 3


def judge(name, expected, report, measured):
    """Sentences of what does not hold."""
    lines, idle = report["idle"]["lines"], report["idle"]["idle_ns"]
    inner = [line for line in lines if line["cause"] not in EDGES]
    named = sum(line["idle_ns"] for line in lines if line["function"] in expected["functions"]) / 1e9
    unknown = sum(line["idle_ns"] for line in inner if line["reason"] in UNKNOWN)
    share = unknown / max(1, sum(line["idle_ns"] for line in inner))
    spent, gain = measured["traced"]["spent_s"], measured["bare"]["work_s"] - measured["cured"]["work_s"]
    found = [f for f in report["insights"][:FINDINGS]
             if f["function"] in expected["functions"] and f["id"] in expected["causes"]]
    print(f"{name}: {expected['functions'][0]} {named:.3f} s, by the program's clock {spent:.3f} s; cured "
          f"{gain:.3f} s faster; no line {share:.2%}; place among the findings "
          f"{[report['insights'].index(f) + 1 for f in found]}")
    if sum(line["idle_ns"] for line in lines) != idle:
        yield f"the lines do not sum up to the idle time {idle}"
    if not found:
        yield f"not among the first findings: {[(f['id'], f['place']) for f in report['insights'][:FINDINGS]]}"
    if abs(named - spent) > CLOCK * spent:
        yield f"{named:.3f} s at its lines"
    if share > NO_LINE:
        yield f"no line is known for {share:.2%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True)
    args = parser.parse_args()
    programs, recorded = json.loads((HERE / "programs.json").read_text()), sorted(DATA.iterdir())
    wrong = []
    for folder in recorded:
        done = subprocess.run([args.gpufl, "report", "--json", folder], capture_output=True, text=True, check=True)
        measured = json.loads((folder / "measured.json").read_text())
        wrong += [f"{folder.name}: {text}"
                  for text in judge(folder.name, programs[folder.name], json.loads(done.stdout), measured)]
    print(*wrong, f"{len(recorded)} programs, {len(wrong)} faults", sep="\n")
    return bool(wrong) or not recorded


if __name__ == "__main__":
    sys.exit(main())
