#!/usr/bin/env python3
"""Analyses the recorded programs of tests/data/answers again and scores the reports.

    tests/answers/replay.py --gpufl FILE [--data DIR] [--json FILE] [--docs FILE | --current FILE] [--any-score]

programs.json has the truth, written down before any analysis: causes (ids of findings), and functions or lines of the
program, or words that the statement must have. For a program with a fault:

  right  the report's answer has one of these causes, and the truth's line or its words
  line   where a line is the truth: the answer names it
  gain   what the findings with the truth's cause and place give back is within 25 % of what the cure gained, both as
         shares of the program's own clock in that run (of p99_s and of the steady part where it serves requests)

For a clean program:

  clean  the report's answer is that there is nothing to win
  calm   no finding is MEDIUM or HIGH and gives back 1 % of the run or more, except those that a cure showed to be true
         ("true" in programs.json, with the gain in docs/answers.md)

A wait at a line is one cause, whether its rule says that it is in a loop (sync_loop) or not (sync_line).

For all programs:

  known  at most 2 % of the idle time between the first and the last work has no line

and the idle lines sum up to the idle time. Programs that were held out ("held_out" in programs.json) have a table and a
score of their own, and no score that they have to reach. Exit 1 if an idle time does not add up, a score of the other
programs is below the recorded one, or the page of --current has other tables.
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
NOTHING = "nothing_to_win"
IDLE = {"late_launch", "idle_cause", "launch_storm"}
NO_LINE, GAIN, WORTH = 0.02, 0.25, 0.01
BEGIN, END = "<!-- written by tests/answers/replay.py -->", "<!-- end -->"
HELD_OUT = "<!-- held out, written by tests/answers/replay.py -->"

# The shares that the product aims at, and the scores that the recorded programs reach, which may only rise.
TARGETS = {"right": 0.90, "line": 0.85, "gain": 0.80}
REACHED = {"right": 42, "line": 37, "gain": 37, "clean": 15, "calm": 16, "known": 60}


class Truth:
    """The fault of a program: its causes, its place, and words that the finding must have."""

    def __init__(self, name, entry):
        source = next((HERE / "programs").rglob(f"{name}.py")).read_text().splitlines()
        self.file, self.causes, self.functions = f"{name}.py", set(entry["causes"]), set(entry["functions"])
        self.lines = {k for k, text in enumerate(source, 1) if text.strip() in entry["lines"]}
        self.says, self.serves = entry["says"], entry["serves"]
        if "sync_loop" in self.causes:
            self.causes.add("sync_line")
        self.has_line = bool(self.lines or self.functions)

    def at(self, finding):
        """Returns True if the finding is at the truth's line, or in its function, or its sentence names one of them."""
        if (finding["file"] or "").rsplit("/", 1)[-1] == self.file and (
                finding["function"] in self.functions or finding["line"] in self.lines):
            return True
        named = re.findall(rf"{re.escape(self.file)}:(\d+)(?: in ([\w.<>]+)\(\))?", finding["text"])
        return finding["place"] is None and any(
            int(line) in self.lines or function in self.functions for line, function in named)

    def has_words(self, finding):
        """Returns True if the finding's title or text has the truth's words."""
        return bool(self.says and re.search(self.says, f"{finding['title']} {finding['text']}", re.I))

    def is_it(self, finding):
        """Returns True if the finding has the truth's cause, and its line or words."""
        return finding["id"] in self.causes and (self.at(finding) or self.has_words(finding))


def predicted(truth, findings):
    """Returns how many ns the findings of the truth give back. Idle times at lines add up, and so do findings of one rule at
    places; the largest of these sums counts."""
    sums = {}
    for number, finding in enumerate(findings):
        if finding["part_of"] is None and truth.is_it(finding):
            at_line = finding["id"] in IDLE and finding["place"]
            kind = "idle" if at_line else finding["id"] if finding["place"] else number
            sums[kind] = sums.get(kind, 0) + finding["gives_back_ns"]
    return max(sums.values(), default=0)


def judge_fault(truth, report, measured):
    """The row of a program with a fault."""
    findings, answer = report["insights"], report["answer"]
    first = findings[answer["insight"]] if answer and answer["insight"] is not None else None
    row = {"right": bool(first) and truth.is_it(first),
           "line": (bool(first) and truth.at(first)) if truth.has_line else None,
           "place": next((k for k, f in enumerate(findings, 1) if truth.is_it(f)), None)}
    bare, traced, cured = (measured.get(way) for way in ("bare", "traced", "cured"))
    if cured is None:
        return {**row, "gain": None}
    row["unit"] = unit = "p99_s" if truth.serves and "p99_s" in bare and "p99_s" in cured else "work_s"
    steady = report["time"]["whole_ns"] / report["time"]["devices"]
    whole = steady if unit == "p99_s" else traced["work_s"] * 1e9
    row["predicted"] = predicted(truth, findings) / whole
    row["gained"] = 1 - cured[unit] / bare[unit]
    row["gain"] = abs(row["predicted"] - row["gained"]) <= GAIN * abs(row["gained"])
    return row


def judge_clean(entry, report):
    """The row of a clean program."""
    false = [f for f in report["insights"]
             if f["severity"] != "LOW" and f["gives_back_share"] >= WORTH and f["id"] not in entry.get("true", ())]
    nothing = report["answer"] is None or report["answer"]["cause"] == NOTHING
    return {"clean": nothing, "calm": not false, "false": [f"{f['id']} {f['place']}" for f in false]}


def without_line(report):
    """The part without a line of the idle time between the first and the last work."""
    inner = [line for line in report["idle"]["lines"] if line["cause"] not in EDGES]
    unknown = sum(line["idle_ns"] for line in inner if line["reason"] in UNKNOWN)
    return unknown / max(1, sum(line["idle_ns"] for line in inner))


def first_words(answer):
    """The report's answer in a cell of the table."""
    if answer is None or answer["cause"] == NOTHING:
        return "nothing to win"
    return f"{answer['cause']} {answer['place'] or 'without a line'}, {answer['share']:.1%}"


def judge(folder, entry, gpufl):
    """The row of a recorded program."""
    done = subprocess.run([gpufl, "report", "--json", folder], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    answer = report["answer"]
    no_line = without_line(report)
    row = {"name": folder.name, "by": entry["by"], "truth": entry.get("statement", "nothing to win"),
           "answer": first_words(answer), "no_line": no_line, "known": no_line <= NO_LINE,
           "sums_up": sum(line["idle_ns"] for line in report["idle"]["lines"]) == report["idle"]["idle_ns"]}
    if entry.get("clean"):
        return {**row, **judge_clean(entry, report)}
    truth = Truth(folder.name, entry)
    line, function, share = first_line(folder, truth.file) or (None, None, 0)
    row["sampler"] = f"{truth.file}:{line} {share:.0%}" if line else "no line"
    row["sampler_line"] = (line in truth.lines or function in truth.functions) if truth.has_line else None
    return {**row, **judge_fault(truth, report, json.loads((folder / "measured.json").read_text()))}


def scores(rows):
    """Returns (how many reached it, of how many) for each score."""
    return {what: (sum(row[what] for row in rows if row.get(what) is not None),
                   sum(row.get(what) is not None for row in rows)) for what in (*REACHED, "sampler_line")}


def parted(rows, programs):
    """(the rows of the programs that rules were made with, those of the held-out ones)."""
    held = [row for row in rows if programs[row["name"]].get("held_out")]
    return [row for row in rows if row not in held], held


def table(rows):
    """The rows as lines of Markdown."""
    def mark(value):
        return "–" if value is None else "yes" if value else "**no**"

    yield "| program | by | truth | first answer | right | line | predicted | gained | within 25 % | host sampler alone | its line |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        gain = (f"{row['predicted']:.0%}", f"{row['gained']:.0%} of {row['unit']}") if "gained" in row else ("–", "–")
        yield (f"| `{row['name']}` | {row['by'] or 'ours'} | {row['truth']} | {row['answer']} | "
               f"{mark(row.get('right', row.get('clean')))} | {mark(row.get('line'))} | {gain[0]} | {gain[1]} | "
               f"{mark(row.get('gain'))} | {row.get('sampler', '–')} | {mark(row.get('sampler_line'))} |")


def totals(score, rows):
    """The scores as lines of a list, with the program that has most idle time without a line."""
    for what, (good, of) in score.items():
        target = f", wanted {TARGETS[what]:.0%}" if what in TARGETS else ", wanted all" if what in REACHED else ""
        yield f"- {what.replace('sampler_line', 'line, by the host sampler alone')}: {good} of {of}" + (
            f" ({good / of:.0%}){target}" if of else target)
    most = max(rows, key=lambda row: row["no_line"], default=None)
    if most:
        yield f"- idle time without a line, between the first and the last work: at most {most['no_line']:.2%} (`{most['name']}`)"


def held_out(rows, programs):
    """The score of the held-out programs as a line, then their table."""
    count = sum(bool(entry.get("held_out")) for entry in programs.values())
    begin = f"Held out: {count} programs, written and their truth committed before the first analysis"
    if not rows:
        yield f"{begin}; none is recorded."
        return
    reached = ", ".join(f"{what} {good}/{of}" for what, (good, of) in scores(rows).items() if what in REACHED)
    recorded = f" ({len(rows)} are recorded)" if len(rows) < count else ""
    yield f"{begin}: {reached}{recorded}."
    yield ""
    yield from table(rows)


def between(text, begin, lines):
    """The text with these lines between the mark and the end."""
    head, mark, rest = text.partition(begin)
    if not mark or END not in rest:
        raise SystemExit(f"the page lacks {begin} or {END}")
    return "\n".join([head + begin, "", *lines, "", END + rest.partition(END)[2]])


def page_of(text, rows, programs):
    """The page with the tables and the scores between its marks."""
    rows, held = parted(rows, programs)
    text = between(text, BEGIN, [*table(rows), "", *totals(scores(rows), rows)])
    return between(text, HELD_OUT, held_out(held, programs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--json", type=pathlib.Path, help="write the rows and the score there")
    parser.add_argument("--docs", type=pathlib.Path, help="put the tables between the marks of this page")
    parser.add_argument("--current", type=pathlib.Path, help="the tables between the marks of this page have to be these")
    parser.add_argument("--any-score", action="store_true", help="do not compare the score with the one reached")
    args = parser.parse_args()
    programs = json.loads((HERE / "programs.json").read_text())
    recorded = sorted(path.parent for path in args.data.glob("*/measured.json"))
    rows = [judge(folder, programs[folder.name], args.gpufl) for folder in recorded]
    known, held = parted(rows, programs)
    score = scores(known)
    print(*table(known), "", *held_out(held, programs), "", sep="\n")
    if args.docs:
        args.docs.write_text(page_of(args.docs.read_text(), rows, programs))
    wrong = [f"{row['name']}: the idle lines do not sum up to the idle time" for row in rows if not row["sums_up"]]
    if args.current and args.current.read_text() != page_of(args.current.read_text(), rows, programs):
        wrong.append(f"{args.current.name} has other tables: tests/answers/replay.py --docs writes them")
    print(*totals(score, known), sep="\n")
    if not args.any_score:
        wrong += [f"{what}: {good}, and {REACHED[what]} were reached before" for what, (good, _) in score.items()
                  if good < REACHED.get(what, 0)]
    print(*wrong, f"{len(rows)} programs, {len(wrong)} faults", sep="\n")
    if args.json:
        args.json.write_text(json.dumps({"score": score, "held_out": scores(held), "targets": TARGETS, "programs": rows}, indent=1) + "\n")
    return bool(wrong) or not recorded


if __name__ == "__main__":
    sys.exit(main())
