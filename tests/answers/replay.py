#!/usr/bin/env python3
"""Analyses the recorded programs of tests/data/answers again and scores what the report says of them.

    tests/answers/replay.py --gpufl FILE [--data DIR] [--json FILE] [--docs FILE] [--any-score]

programs.json has the truth, written down before any analysis: causes (ids of findings), and functions or lines of the
program, or words that the statement must have. Of a program with a fault:

  right  the report's answer has one of these causes, and the truth's line or its words
  line   where a line is the truth: the answer names it
  gain   what the findings with the truth's cause and place give back is within 25 % of what the cure gained (of p99_s
         in percent of the run, where the program serves requests)

Of a clean program the report has no answer, and no finding that is MEDIUM or HIGH and gives back 1 % of the run or more.
Of all programs the idle lines sum up to the idle time, and at most 2 % of that between the first and the last work has
no line, if the program has Python frames. Exit 1 where that does not hold, or the score is below the one reached.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from sampler import first_line

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "answers"
UNKNOWN = {"no_samples", "several_waited", "no_stack", "no_python", "lost", "shared"}
EDGES = {"start_up", "before_first", "after_last"}
IDLE = {"late_launch", "idle_cause"}
NO_LINE, GAIN, WORTH = 0.02, 0.25, 0.01
BEGIN, END = "<!-- written by tests/answers/replay.py -->", "<!-- end -->"

# What must hold, what the product wants, and what the recorded programs reach: that may only rise.
TARGETS = {"right": 0.90, "line": 0.85, "gain": 0.80}
REACHED = {"right": 1, "line": 1, "gain": 1, "clean": 0}


class Truth:
    """The fault of a program: its causes, where it is, and what the statement says of it."""

    def __init__(self, name, entry):
        source = next((HERE / "programs").rglob(f"{name}.py")).read_text().splitlines()
        self.file, self.causes, self.functions = f"{name}.py", set(entry["causes"]), set(entry["functions"])
        self.lines = {k for k, text in enumerate(source, 1) if text.strip() in entry["lines"]}
        self.says, self.serves = entry["says"], entry["serves"]
        self.has_line = bool(self.lines or self.functions)

    def at(self, finding):
        """Whether the finding is at the truth's line, or in its function."""
        return (finding["file"] or "").rsplit("/", 1)[-1] == self.file and (
            finding["function"] in self.functions or finding["line"] in self.lines)

    def told(self, finding):
        """Whether the finding's sentence says what is the matter."""
        return bool(self.says and re.search(self.says, f"{finding['title']} {finding['text']}", re.I))

    def is_it(self, finding):
        """Whether the finding has the truth's cause, and its line or words."""
        return finding["id"] in self.causes and (self.at(finding) or self.told(finding))


def predicted(truth, findings):
    """What the findings of the truth give back in ns: idle time at lines adds up, and no other kind with it."""
    sums = {}
    for finding in findings:
        if finding["part_of"] is None and truth.is_it(finding):
            kind = "idle" if finding["id"] in IDLE else finding["id"]
            sums[kind] = sums.get(kind, 0) + finding["gives_back_ns"]
    return max(sums.values(), default=0)


def judge_fault(truth, report, measured):
    """The row of a program with a fault."""
    findings, answer = report["insights"], report["answer"]
    first = findings[answer["insight"]] if answer else None
    row = {"right": bool(first) and truth.is_it(first),
           "line": (bool(first) and truth.at(first)) if truth.has_line else None,
           "place": next((k for k, f in enumerate(findings, 1) if truth.is_it(f)), None)}
    ns = predicted(truth, findings)
    bare, cured = measured["bare"], measured.get("cured")
    if cured is None:
        return {**row, "gain": None}
    if truth.serves:
        row["unit"], row["gained"] = "of p99", 1 - cured["p99_s"] / bare["p99_s"]
        row["predicted"] = ns / report["time"]["whole_ns"]
    else:
        row["unit"], row["gained"], row["predicted"] = "s", bare["work_s"] - cured["work_s"], ns / 1e9
    row["gain"] = abs(row["predicted"] - row["gained"]) <= GAIN * abs(row["gained"])
    return row


def judge_clean(report):
    """The row of a clean program."""
    false = [f for f in report["insights"] if f["severity"] != "LOW" and f["gives_back_share"] >= WORTH]
    return {"clean": not false and report["answer"] is None, "false": [f"{f['id']} {f['place']}" for f in false]}


def broken(report):
    """Sentences: what does not hold of the idle time by line."""
    lines, idle = report["idle"]["lines"], report["idle"]["idle_ns"]
    if sum(line["idle_ns"] for line in lines) != idle:
        yield f"the lines do not sum up to the idle time {idle}"
    inner = [line for line in lines if line["cause"] not in EDGES]
    unknown = sum(line["idle_ns"] for line in inner if line["reason"] in UNKNOWN)
    if unknown > NO_LINE * sum(line["idle_ns"] for line in inner) and unknown > 1e-3 * report["time"]["whole_ns"]:
        yield f"no line is known for {unknown / 1e9:.3f} s of the idle time"


def judge(folder, entry, gpufl):
    """The row of a recorded program."""
    done = subprocess.run([gpufl, "report", "--json", folder], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    answer = report["answer"]
    row = {"name": folder.name, "by": entry["by"], "truth": entry.get("statement", "nothing to win"),
           "answer": f"{answer['cause']} {answer['place'] or ''} {answer['share']:.1%}" if answer else "nothing to win",
           "faults": list(broken(report))}
    if entry.get("clean"):
        return {**row, **judge_clean(report)}
    truth = Truth(folder.name, entry)
    line, function, share = first_line(folder, truth.file) or (None, None, 0)
    row["sampler"] = f"{truth.file}:{line} {share:.0%}" if line else "no line"
    row["sampler_line"] = (line in truth.lines or function in truth.functions) if truth.has_line else None
    return {**row, **judge_fault(truth, report, json.loads((folder / "measured.json").read_text()))}


def scores(rows):
    """By score: how many, of how many."""
    return {what: (sum(row[what] for row in rows if row.get(what) is not None),
                   sum(row.get(what) is not None for row in rows)) for what in (*REACHED, "sampler_line")}


def table(rows):
    """The rows as lines of Markdown."""
    def mark(value):
        return "–" if value is None else "yes" if value else "**no**"

    yield "| program | by | truth | first answer | right | line | predicted | gained | within 25 % | host sampler alone | its line |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        gain = ("–", "–") if "gained" not in row else (f"{row['predicted']:.1%} of p99", f"{row['gained']:.1%} of p99") \
            if row["unit"] == "of p99" else (f"{row['predicted']:.2f} s", f"{row['gained']:.2f} s")
        yield (f"| `{row['name']}` | {row['by'] or 'ours'} | {row['truth']} | {row['answer']} | "
               f"{mark(row.get('right', row.get('clean')))} | {mark(row.get('line'))} | {gain[0]} | {gain[1]} | "
               f"{mark(row.get('gain'))} | {row.get('sampler', '–')} | {mark(row.get('sampler_line'))} |")


def totals(score):
    """The scores as lines of a list."""
    for what, (good, of) in score.items():
        target = f", wanted {TARGETS[what]:.0%}" if what in TARGETS else ", wanted all" if what == "clean" else ""
        yield f"- {what.replace('sampler_line', 'line, by the host sampler alone')}: {good} of {of}" + (
            f" ({good / of:.0%}){target}" if of else target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--json", type=pathlib.Path, help="write the rows and the score there")
    parser.add_argument("--docs", type=pathlib.Path, help="put the table between the marks of this page")
    parser.add_argument("--any-score", action="store_true", help="do not compare the score with the one reached")
    args = parser.parse_args()
    programs = json.loads((HERE / "programs.json").read_text())
    recorded = sorted(path.parent for path in args.data.glob("*/measured.json"))
    rows = [judge(folder, programs[folder.name], args.gpufl) for folder in recorded]
    score = scores(rows)
    print(*table(rows), "", sep="\n")
    if args.docs:
        head, _, rest = args.docs.read_text().partition(BEGIN)
        args.docs.write_text("\n".join([head + BEGIN, "", *table(rows), "", *totals(score), "", END + rest.partition(END)[2]]))
    wrong = [f"{row['name']}: {text}" for row in rows for text in row["faults"]]
    print(*totals(score), sep="\n")
    if not args.any_score:
        wrong += [f"{what}: {good}, and {REACHED[what]} were reached before" for what, (good, _) in score.items()
                  if good < REACHED.get(what, 0)]
    print(*wrong, f"{len(rows)} programs, {len(wrong)} faults", sep="\n")
    if args.json:
        args.json.write_text(json.dumps({"score": score, "targets": TARGETS, "programs": rows}, indent=1) + "\n")
    return bool(wrong) or not recorded


if __name__ == "__main__":
    sys.exit(main())
