#!/usr/bin/env python3
"""The first screen of each recorded program, as it is read: whole sentences, one card a line and cause, sums of 100 %.

    tests/answers/test_first_screen.py --gpufl FILE [--data DIR]

Sessions without measurements (examples/data) are read, too. For each program: the shares of the bar add up to 100 %; at most five findings, of two lines each at 100 columns, no two of
them with the same words; a line that is cut keeps its place; a range has two different ends; a finding gives back no
more than the idle time in its sentence, if that is idle time of the host at its line; and no scope holds what it cannot:
a library's range inherits nothing, and one that never ended has no work.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = (ROOT / "tests" / "data" / "answers", ROOT / "examples" / "data")
WIDTH, FINDINGS = 100, 5
LIBRARIES = ("NCCL", "TSL", "CCCL", "cuDNN", "cuBLAS")
MADE = ("activity_calls_ns", "activity_copies_ns", "interrupted_ns")  # gains besides the idle time
HEAD = re.compile(r"^  (\d)\. (≤ )?([\d.]+(?: to [\d.]+)? %(?: ± [\d.]+)?) +(\S.*)$")


def shares(screen):
    """The shares below the bar."""
    legend = screen.split("Where the time went\n", 1)[1].split("What to change", 1)[0].split("\n\n")[0]
    found = []
    for line in legend.splitlines():
        if re.match(r"^  \S .*?[\d.]+ %|^  others", line) and "Kernels or copies" not in line:
            found += [float(one) for one in re.findall(r"([\d.]+) %(?:   |$)", line)]
    return found


def faults_of_bar(screen, time):
    """Yields what is wrong with the bar, which is there if the GPUs' time is known."""
    known = time["whole_ns"] is not None
    said = re.search(r"Kernels or copies ran for <?([\d.]+) %", screen)
    if ("Where the time went\n" in screen) != known:
        yield "no bar" if known else "a bar of an unknown time"
    elif known and abs(sum(shares(screen)) - 100) > 0.05:
        yield f"the bar's shares add up to {sum(shares(screen)):.1f} %"
    elif known:
        busy = 100 * sum(one["ns"] for one in time["parts"] if one["part"] in ("kernels", "copies")) / time["whole_ns"]
        if not said or abs(float(said.group(1)) - busy) > 0.1:
            yield f"the sentence above the bar does not say that kernels or copies ran for {busy:.1f} %"


def faults_of_text(screen):
    """Yields what would confuse a reader of the first screen."""
    lines = screen.splitlines()
    heads = [(at, HEAD.match(line)) for at, line in enumerate(lines)]
    heads = [(at, match) for at, match in heads if match]
    if len(heads) > FINDINGS:
        yield f"{len(heads)} findings"
    words = [match.group(4) for _, match in heads]
    for word in sorted({one for one in words if words.count(one) > 1}):
        yield f"two findings read the same: {word}"
    for at, match in heads:
        text = 1
        while at + text < len(lines) and lines[at + text].startswith("     ") and not HEAD.match(lines[at + text]):
            text += 1
        if text != 2:
            yield f"a finding of {text} lines: {match.group(4)}"
        if match.group(4).endswith("…") and not re.search(r"\.py:\d+|: ", match.group(4)):
            yield f"cut without a place: {match.group(4)}"
    for line in lines:
        if len(line) > WIDTH and not line.startswith(("  command", "Next:")):
            yield f"{len(line)} columns: {line}"
    for least, most in re.findall(r"([\d.]+) to ([\d.]+) ", screen):
        if least == most:
            yield f"both ends are {least}"


def faults_of_scopes(report):
    """Yields scopes with kernels that other threads launched, or that were launched after them."""
    for scope in report["scopes"]:
        never = scope["open"] and not scope["calls"]
        library = scope["tag"] in LIBRARIES
        if (library or never) and scope["self_inherited_kernels"]:
            yield f"{'|'.join(scope['path'])} inherits {scope['self_inherited_kernels']} kernels"
        if library and never and (scope["self_kernels"] or scope["waits"]):
            yield f"{'|'.join(scope['path'])} never ended, and has {scope['self_kernels']} kernels and {scope['waits']} waits"


def faults_of_json(report):
    """Yields claims that are larger than their evidence, and sentences that occur twice."""
    for at, finding in enumerate(report["insights"]):
        idle = finding["evidence"].get("gpu_idle_ns")
        made = sum(finding["evidence"].get(key, 0) for key in MADE)
        if finding["id"] in ("late_launch", "idle_cause") and idle and finding["gives_back_ns"] > idle + made:
            yield f"{finding['title']} gives back {finding['gives_back_ns']} of {idle} ns"
        ends = re.findall(r"([\d.]+) to ([\d.]+) (?:ms|us|s)\b", finding["text"])
        if any(least == most for least, most in ends):
            yield f"both ends are the same: {finding['text']}"
        if finding["severity"].upper() != "LOW" and 0 < finding["gives_back_ns"] <= (finding["half_width_ns"] or 0):
            yield f"{finding['title']} may give back nothing, and is {finding['severity']}"
        for other in report["insights"][:at]:
            if other["text"] == finding["text"] and other["part_of"] is None and finding["part_of"] is None:
                yield f"said twice: {finding['text']}"
        part = finding["part_of"]
        if part is not None and report["insights"][part]["part_of"] == at:
            yield f"findings {at} and {part} are parts of each other"


def runs(folders):
    """The runs below the folders: a folder with measurements is one run, any other one has runs."""
    for folder in folders:
        for one in sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir()):
            yield from [one] if (one / "measured.json").exists() else sorted(path for path in one.iterdir() if path.is_dir())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpufl", required=True)
    parser.add_argument("--data", nargs="*", default=[str(folder) for folder in DATA])
    arguments = parser.parse_args()
    programs = failed = 0
    for folder in runs(arguments.data):
        programs += 1
        command = [arguments.gpufl, "report", str(folder)]
        screen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        report = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
        screen = screen.replace(str(folder), folder.name)
        faults = [*faults_of_bar(screen, report["time"]), *faults_of_text(screen)]
        for fault in [*faults, *faults_of_json(report), *faults_of_scopes(report)]:
            failed += 1
            print(f"{folder.name}: {fault}")
    print(f"{programs} programs, {failed} faults")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
