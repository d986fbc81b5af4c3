#!/usr/bin/env python3
"""The whole report of each recorded program contradicts itself nowhere.

    tests/answers/test_full.py --gpufl FILE [--data DIR]

Sessions without measurements (examples/data) are read, too. For each program: one fact has one number, wherever it stands;
the parts of idle time add up to what the bar says, and their shares to 100 % at most; a percentage of the summary names its
whole; "none" stands above no table with rows; what a note explains is in its table; and HIGH stands before MEDIUM before LOW.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = (ROOT / "tests" / "data" / "answers", ROOT / "examples" / "data")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
TIME = r"[\d.]+ (?:ns|us|ms|s|min)"


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def near(a, b, part=0.01):
    """True if two figures of three digits may be the same."""
    return abs(a - b) <= part * max(abs(a), abs(b)) + 1e-9


def section(text, title):
    """The lines of a section, "" if there is none."""
    found = re.search(rf"(?:^|\n){re.escape(title)}\n(.*?)(?:\n\n|\Z)", text, re.S)
    return found[1] if found else ""


def unwrapped(lines):
    return re.sub(r"\n +", " ", lines)


def count_of(text):
    return int(text.replace(",", ""))


def faults_of_idle(text):
    """Yields where the bar and the table of causes differ."""
    bar = re.search(rf"ran for <?[\d.]+ % of (?:the steady part, )?({TIME}); (?:kernels only waited .*? for {TIME}; )?"
                    rf"nothing ran for ({TIME})", unwrapped(section(text, "Where the time went")))
    causes = section(text, "Idle time of the GPU by cause")
    if not bar or "Summed over" in causes:
        return
    rows = re.findall(rf"^ +({TIME}) +<?([\d.]+) % +[\d,]+  ", causes, re.M)
    spent, shares = sum(seconds(time) for time, _ in rows), sum(float(share) for _, share in rows)
    if not near(spent, seconds(bar[2]), 0.015):
        yield f"{spent:.4f} s of idle time by cause, {bar[2]} above"
    if rows and not 99 <= shares <= 100.5 + 0.1 * len(rows):
        yield f"shares of causes add up to {shares:.1f} %"


def faults_of_waits(text, report):
    """Yields where sentences on waits differ from the tables, and titles from their texts."""
    said = re.search(rf"The host waited ({TIME}) in ([\d,]+) synchronization", unwrapped(section(text, "Summary")))
    rows = re.findall(rf"^  .+?  +([\d,]+) +({TIME}) .*the host waits$", section(text, "Synchronizations"), re.M)
    if said and rows:
        calls, time = sum(count_of(n) for n, _ in rows), sum(seconds(t) for _, t in rows)
        if calls != count_of(said[2]) or not near(time, seconds(said[1])):
            yield f"'{said[0]}', and {calls} of {time:.6f} s in the table"
    most = {}
    for line in report["synchronization_lines"]["lines"]:
        if not line["blocks_host"]:
            continue  # waits of a stream, in a row of their own
        key = (line["file"] or line["place"], line["line"], line["function"])
        most[key] = max(most.get(key, (0, 0)), (line["calls"], line["blocked_ns"]))
    for found in report["insights"]:
        if found["id"] not in ("sync_line", "sync_loop"):
            continue
        facts, key = found["evidence"], (found["file"] or found["place"], found["line"], found["function"])
        calls, blocked = most.get(key, (facts["calls"], facts["blocked_ns"]))
        if facts["calls"] > calls or facts["blocked_ns"] > blocked * 1.001:
            yield f"{found['title']}: {facts['calls']} calls, {facts['blocked_ns']} ns; in the table {calls}, {blocked}"
        if found["id"] == "sync_loop":
            title = int(re.search(r"× (\d+)", found["title"])[1])
            across, others = re.search(r"across (\d+) calls(?: in a loop and ([\d,]+) other call)?", found["text"]).groups()
            if title != int(across) or title != facts["calls_in_loop"] or title + count_of(others or "0") != facts["calls"]:
                yield f"{found['title']}: '{found['text'][:80]}', facts {facts['calls_in_loop']} of {facts['calls']}"


def faults_of_kernels(text, report):
    """Yields where the numbers of kernels differ."""
    kernels = report["kernels"]
    for what, sum_of in (("names", sum(one["count"] for one in kernels["by_name"])),
                         ("devices", sum(one["kernels"] or 0 for one in report["devices"]))):
        if sum_of != kernels["count"]:
            yield f"{sum_of} kernels by {what}, {kernels['count']} together"
    busy = re.search(r"GPU busy (<?[\d.]+) % of ", section(text, "Summary"))
    ran = re.findall(r"kernels ran (<?[\d.]+) % of ", unwrapped(section(text, "Kernels")))
    if busy and ran and ran != [busy[1]]:
        yield f"busy {busy[1]} %, and {ran}"


def faults_of_steps(text):
    """Yields two numbers of steps, unless one of them is said to be that of a part."""
    said = re.search(r"([\d,]+) steps, .*?; [\d,]+ of the ([\d,]+)( in the steady parts?)? run", unwrapped(section(text, "Steps")))
    if said and said[1] != said[2] and not said[3]:
        yield f"{said[1]} steps, and {said[2]} in the same sentence"


def faults_of_none(text, report):
    """Yields what is said to be none and has rows, and notes about rows that are not there."""
    rows = {"scopes": len(report["scopes"]), "nvtx": sum(bool(one["tag"]) for one in report["scopes"]),
            "copies": report["copies"]["count"] or 0, "kernels": report["kernels"]["count"] or 0}
    for what in re.findall(r"asked for (\w+): on; nothing was recorded", text):
        if rows.get(what):
            yield f"asked for {what}: 'nothing was recorded', and {rows[what]} rows"
    if rows["scopes"] and "program opened no scope" in text:
        yield f"'opened no scope', and {rows['scopes']} scopes"
    lines = section(text, "Idle time by line")
    if ("“Ended by”" in lines) != ("  ended by " in lines):
        yield "“Ended by” is explained and in no row, or the other way round"
    waits = section(text, "Synchronization by line")
    if ("call, …:" in waits) != bool(re.search(r"^ +[\d,]+ .*\w, … +\S", waits, re.M)):
        yield "'call, …' is explained and in no row, or the other way round"


def faults_of_shares(text):
    """Yields percentages of the summary that do not name their whole."""
    said = re.sub(r"GPU \d+ <?[\d.]+ %, (?=GPU \d)", "", unwrapped(section(text, "Summary")))  # their whole is that of the last
    for found in re.finditer(r"[^.:;]*?[\d.]+ %(?! of | \(?±| \(at least)[^.]{0,30}", said):
        if not re.search(r"[Oo]f the idle time of the (?:steady part|run|runs|sessions), ", found[0]) and "% of" not in found[0]:
            yield f"a share without its whole: {found[0].strip()}"


def faults_of_order(text, report):
    """Yields where the section of insights prints a finding below a less severe one, or in another order than by gain."""
    names = ("HIGH", "MEDIUM", "LOW")
    printed = re.findall(r"^  (HIGH|MEDIUM|LOW) [^\n]*\n(?:  \S[^\n]*\n)*      ([^\n]*)", section(text, "Insights"), re.M)
    severities = [names.index(severity) for severity, _ in printed]
    if severities != sorted(severities):
        yield f"a finding below a less severe one: {' '.join(severity for severity, _ in printed)}"
    for name in names:
        texts = [" ".join(one["text"].split()) for one in report["insights"] if one["severity"].upper() == name]
        at = [next((k for k, whole in enumerate(texts) if whole.startswith(said)), -1) for severity, said in printed if severity == name]
        if at != sorted(at) or -1 in at:
            yield f"{name} findings are printed as {at}, and not in the order of what they give back"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True, type=pathlib.Path)
    parser.add_argument("--data", action="append", type=pathlib.Path)
    args = parser.parse_args()
    programs = sorted(path for data in args.data or DATA for path in data.iterdir() if path.is_dir())
    faults = 0
    for program in programs:
        run = [args.gpufl, "report", "--no-color"]
        text = subprocess.run([*run, "--full", program], capture_output=True, text=True, check=True).stdout
        report = json.loads(subprocess.run([*run, "--json", program], capture_output=True, check=True).stdout)
        for fault in (*faults_of_idle(text), *faults_of_waits(text, report), *faults_of_kernels(text, report),
                      *faults_of_none(text, report), *faults_of_shares(text), *faults_of_steps(text), *faults_of_order(text, report)):
            faults += 1
            print(f"{program.name}: {fault}")
    print(f"{len(programs)} reports, {faults} contradictions")
    sys.exit(bool(faults) or not programs)


if __name__ == "__main__":
    main()
