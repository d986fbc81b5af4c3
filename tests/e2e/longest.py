"""longest.py GPUFL ROOT - the place of every finding on the timeline, of every recorded session of the repository: read
from the report, and found again in the log by this file's own reading of it. A finding about waits or copies names the
longest one of its line; one about idle time the gap with the longest part of its cause and line; one about an order of kernels
the longest run of them (sequences.py); one about a kernel that kernel's longest launch."""
import collections
import fnmatch
import functools
import glob
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import sequences
from idle_gaps import Gaps

gpufl, root = sys.argv[1:3]
sys.path.insert(0, f"{root}/tests/answers")
import parts

WORK = ("kernel", "memcpy", "memset", "graph_run")
WAITS = ("wait", "sync")
COPY, LOAD, SMALL, PAGEABLE, PYTHON, MARK = 5, 9, 16 << 10, 1, 2, 3
LEAST = 400  # findings with a place; fewer: some sessions were not read
SCHEMA = "".join(path.read_text() for path in pathlib.Path(f"{root}/schema/records").glob("*.def"))
DIFFERENCES = set(re.findall(r"^COLUMN\((\w+), (\w+), (?:TIME|DELTA),", SCHEMA, re.M))


def column(name, kind, value, rows):
    """docs/format.md: a value is that of every row, an array has some columns as differences."""
    if not isinstance(value, list):
        return [value] * rows
    if (kind, name) not in DIFFERENCES:
        return value
    known = itertools.accumulate(v for v in value if v is not None)
    return [None if v is None else next(known) for v in value]


class Log:
    def __init__(self, folder):
        self.rows, self.names, self.lines, self.start = collections.defaultdict(list), {}, {}, None
        for path in sorted(pathlib.Path(folder).glob("*.log*")):
            for line in parts.lines_of(path):
                self.take(json.loads(line))
        self.stacks = {row["id"]: row for row in self.rows["stack"]}
        self.frames = {row["id"]: row for row in self.rows["frame"]}
        self.symbols = collections.defaultdict(list)
        for row in self.rows["symbol"]:
            self.symbols[row["frame"]].append(row)
        self.devices = {row["id"]: row["device"] for row in self.rows["stream"]}
        self.modules = {row["id"]: os.path.basename(self.names.get(row["path"], "")) for row in self.rows["module"]}

    def take(self, line):
        kind, rows = line.pop("type"), line.pop("rows", 0)
        if kind == "header":
            self.start = line["start"]
        elif kind == "names":
            self.names.update(zip(line["id"], line["text"]))
        elif rows:
            columns = [column(name, kind, value, rows) for name, value in line.items()]
            self.rows[kind] += [dict(zip(line, cells)) for cells in zip(*columns)]

    def places(self, stack):
        """(file, line) of a stack's frames, innermost first, inlined ones by their level."""
        while stack:
            frame = self.frames[self.stacks[stack]["frame"]]
            if frame["kind"] == PYTHON:
                yield self.names.get(frame["file"]), frame.get("line")
            for row in sorted(self.symbols[frame["id"]], key=lambda row: row["level"]):
                yield self.names.get(row.get("file")), row.get("line")
            stack = self.stacks[stack]["parent"]

    def place_in_library(self, stack):
        """The place of a stack without a line of the program: its innermost line of Python, else its innermost named
        function."""
        named, python = None, None
        while stack and not python:
            frame = self.frames[self.stacks[stack]["frame"]]
            python = (self.names.get(frame["file"]), frame["line"]) if frame["kind"] == PYTHON else None
            for row in sorted(self.symbols[frame["id"]], key=lambda row: row["level"]):
                if row.get("function"):
                    named = named or (self.modules.get(frame["module"]), self.names.get(row["function"]))
            stack = self.stacks[stack]["parent"]
        return python or named

    def line_of(self, row, files):
        """The innermost place in the program's own files, which are the same at each call."""
        stack = row.get("stack") or 0
        if stack not in self.lines:
            self.lines[stack] = next((place for place in self.places(stack) if place[0] in files), None)
        return self.lines[stack]


def copies(log, files, line, memory):
    """Copies whose `memory` is pageable and that a line made: by their own stack, or by that of the call with their id."""
    calls = {row["correlation"]: row for row in log.rows["wait"] if row["call"] == COPY}
    for row in log.rows["memcpy"]:
        made_by = row if row.get("stack") else calls.get(row["correlation"], row)
        if row[memory] == PAGEABLE and log.line_of(made_by, files) == line:
            yield row


def candidates(log, finding, files):
    """The rows of which a finding names the longest one; None: it names a gap."""
    line = finding["file"], finding["line"]
    rule = finding["id"]
    if rule == "pageable_copies" and "gpu_idle_ns" in finding["evidence"]:  # the host fills pinned memory meanwhile
        return None
    if rule == "pageable_copies":
        memory = "src_memory" if "HtoD" in finding["title"] else "dst_memory"
        return list(copies(log, files, line, memory)) if finding["line"] else log.rows["memcpy"]
    if rule == "small_copies":
        return [row for row in log.rows["wait"] if row["call"] == COPY and 0 < (row["bytes"] or 0) <= SMALL
                and (not finding["line"] or log.line_of(row, files) == line)]
    if rule in ("late_launch", "launch_storm", "idle_cause", "broken_graphs"):
        return None
    waits = [row for kind in WAITS for row in log.rows[kind]]
    if finding["line"]:
        return [row for row in waits if log.line_of(row, files) == line]
    module = finding["place"], finding["symbol"]
    return [row for row in waits if not log.line_of(row, files) and log.place_in_library(row.get("stack") or 0) == module]


def launches(log, finding):
    """The rows of the kernel that a finding is about."""
    configs = {row["id"] for row in log.rows["config"] if log.names.get(row["name"]) == finding["kernel_symbol"]}
    return [row for row in log.rows["kernel"] if row["config"] in configs]


STATES = {"No core for the thread that launches": 2, "Waiting for the interpreter's lock (GIL)": 4}
BY_CAUSE = {"Late launches": "late_launch", "Nothing submitted": "nothing_submitted", "Held up by other work": "queued",
            "Loading code": "code", "Other processes on the GPU": "other_process"}
HOST = {"late_launch", "nothing_submitted", "slow_launches"}
FROM_DATA = "/cupy/_creation/from_data.py"


class Activities:
    """Says what the host was busy with by its stack: activity.def."""

    def __init__(self, path):
        with open(path) as file:
            text = file.read()
        self.titles = {title: name for name, title in re.findall(r'^ACTIVITY\((\w+), "([^"]+)"', text, re.M)}
        self.frames = re.findall(r'^ACTIVITY_FRAME\((\w+), "([^"]*)", "([^"]*)"', text, re.M)

    def of(self, log, stack):
        """The activity of the innermost frame that has one; if compilers call each other, that of the outermost one."""
        found = None
        while stack:
            frame = log.frames[log.stacks[stack]["frame"]]
            one = self.of_frame(log, frame)
            found = one if one and (not found or (one.startswith("COMPILE") and found.startswith("COMPILE"))) else found
            stack = log.stacks[stack]["parent"]
        return found

    def of_frame(self, log, frame):
        python = frame["kind"] == PYTHON
        functions = [frame.get("function")] if frame["kind"] in (PYTHON, MARK) else [row.get("function") for row in log.symbols[frame["id"]]]
        file = log.names.get(frame["file"], "") if python else ""
        for name, of_file, of_function in self.frames:
            if bool(of_file) == python and (not of_file or fnmatch.fnmatchcase(file, of_file)):
                if any(fnmatch.fnmatchcase(log.names.get(one, ""), of_function) for one in functions):
                    return name
        return None


def innermost_python(log, stack):
    while stack and log.frames[log.stacks[stack]["frame"]]["kind"] != PYTHON:
        stack = log.stacks[stack]["parent"]
    return log.stacks[stack]["frame"] if stack else None


def give_plans(log, activities):
    """Samples show Python alone. One that leads to a load of code from within cuDNN's making of a plan, at that load's line,
    with no call, launch or other line in between, is of that plan: it gets the load's stack (docs/insights.md)."""
    plans = [row for row in log.rows["wait"] if row["call"] == LOAD and activities.of(log, row["stack"]) == "PLAN"]
    for thread in {row["thread"] for row in plans}:
        looks, calls, launches = (sorted((row for row in log.rows[kind] if row["thread"] == thread), key=lambda row: row["start"])
                                  for kind in ("host_sample", "wait", "launch"))
        for plan in (row for row in plans if row["thread"] == thread):
            since = [row["start"] + row["duration"] for row in calls if row["start"] < plan["start"]][-1:]
            since += [row["start"] for row in launches if row["start"] < plan["start"]][-1:]
            for look in reversed([row for row in looks if max(since, default=0) < row["start"] < plan["start"]]):
                if not look["stack"] or log.stacks[look["stack"]]["frame"] != innermost_python(log, plan["stack"]):
                    break
                look["stack"] = plan["stack"]


class Places:
    """Says which gap a finding about idle time has to name."""

    def __init__(self, log, report, files, activities):
        give_plans(log, activities)
        begins = log.start + report["steps"]["start_up_ns"] if report["steps"]["share_of"] == "steady_part" else None
        self.log, self.files, self.activities, self.gaps = log, files, activities, Gaps(log, begins)
        self.storm = any(one["id"] == "launch_storm" for one in report["insights"])
        self.named = {(one["title"], one["file"], one["line"]) for one in report["insights"]}
        self.kept = {(one["file"], one["line"]) for one in report["insights"] if "half_width_ns" in one["evidence"]}
        self.did = {}

    def line(self, stack):
        return self.log.line_of({"stack": stack}, self.files)

    def is_at(self, finding, part):
        place = (finding["file"], finding["line"]) if finding["line"] else (finding["place"], finding["symbol"])
        return (self.line(part.stack) or self.log.place_in_library(part.stack)) == place

    def activity(self, part):
        if part.stack not in self.did:
            self.did[part.stack] = self.activities.of(self.log, part.stack)
        return self.did[part.stack]

    def is_staged(self, finding, part):
        frame = self.log.frames[self.log.stacks[part.stack]["frame"]]
        file = self.log.names.get(frame["file"], "")
        here = (file, frame.get("line")) == (finding["file"], finding["line"])
        return frame["kind"] == PYTHON and (here or file.endswith(FROM_DATA))

    def of_line(self, finding, parts):
        """The host's own time at a line: all of it, or what it did there, or the state that its thread was in."""
        causes = HOST - ({"slow_launches"} if self.storm else set())
        rows = [part for part in parts if part.cause in causes and not part.ended]
        title = finding["title"].split(" @ ")[0]
        if finding["id"] == "pageable_copies":
            return [part for part in rows if part.look and part.cause != "slow_launches" and self.is_staged(finding, part)]
        if title in self.activities.titles:
            return [part for part in rows if part.look and self.activity(part) == self.activities.titles[title]]
        if title in STATES:
            return [part for part in rows if part.look and part.stack and part.look["state"] == STATES[title]]
        return rows

    def candidates(self, finding):
        """(ns, gap) of all parts that are the finding's."""
        gaps, here = self.gaps, []
        if finding["place"]:
            here = [part for part in gaps.parts if part.stack and self.is_at(finding, part)]
        title = finding["title"].split(" @ ")[0]
        if finding["id"] in ("launch_storm", "broken_graphs"):
            rows = [(part.ns, part.gap) for part in here if part.cause == "slow_launches"]
            more = gaps.by_cause["back_to_back"] if finding["id"] == "launch_storm" else []
            return rows or gaps.by_cause["slow_launches"] + more
        if finding["place"] and not finding["ended_by"]:
            return [(part.ns, part.gap) for part in self.of_line(finding, here)]
        if title in STATES:
            return [(part.ns, part.gap) for part in gaps.parts
                    if part.look and part.stack and part.look["state"] == STATES[title]]
        if title in self.activities.titles:  # at several lines, those without a finding that says so
            return [(part.ns, part.gap) for part in self.of_line(finding, gaps.parts)
                    if part.stack and (title, *(self.line(part.stack) or (None, None))) not in self.named]
        cause = BY_CAUSE[title]
        if finding["place"]:
            return [(part.ns, part.gap) for part in here if part.cause == cause and part.ended]
        parts = [part for part in gaps.parts if part.cause == cause]
        rest = [part for part in parts if part.ended or self.line(part.stack) not in self.kept]
        return gaps.by_cause[cause] if len(rest) == len(parts) else [(part.ns, part.gap) for part in rest]


EDGES = {"before_first", "after_last", "start_up", "engine"}  # time before, after and next to the work


def check_causes(places, report):
    """Every cause's time is the sum of its parts of the log's gaps."""
    for row in report["idle"]["causes"]:
        found = sum(ns for ns, _ in places.gaps.by_cause[row["cause"]])
        assert row["cause"] in EDGES or found == row["idle_ns"], f"{row['cause']}: {row['idle_ns']} ns, in the log {found}"


def check_gap(places, finding, begin, end, what):
    rows = places.candidates(finding)
    assert rows, f"{what}: no gap of the log is its"
    most = max(ns for ns, _ in rows)
    longest = {gap for ns, gap in rows if ns == most}
    assert (begin, end) in longest, f"{what}: {most} ns of {[(one.start, one.end - one.start) for one in longest]} is longer"


def check(log, finding, files, places, sequence):
    evidence = finding["evidence"]
    begin, length = log.start + evidence["longest_start_ns"], evidence["longest_ns"]
    what = f"{finding['id']} ({finding['title']}) at {finding['place']}: {length} ns from {begin}"
    if finding["id"] in sequences.RULES:
        most, starts = sequence(finding["id"])
        assert (length, begin) in {(most, start) for start in starts}, f"{what}: the longest has {most} ns from {starts}"
        return
    rows = launches(log, finding) if finding["kernel"] else candidates(log, finding, files)
    if rows is None:
        check_gap(places(), finding, begin, begin + length, what)
        return
    assert any((row["start"], row["duration"]) == (begin, length) for row in rows), f"{what}: no such row in the log"
    most = max(row["duration"] for row in rows)
    assert most == length, f"{what}: {most} is longer"


def sessions():
    for data in ("examples/data", "tests/data/answers"):
        for path in sorted(glob.glob(f"{root}/{data}/**/*.log.*", recursive=True)):
            yield os.path.dirname(path)


def main():
    rules, wrong, placed, left = collections.Counter(), [], 0, []
    activities = Activities(f"{root}/src/analyze/model/threads/activity.def")
    kinds = sequences.Kinds(f"{root}/src/symbol/names/kinds.def")
    for folder in sorted(set(sessions())):
        done = subprocess.run([gpufl, "report", "--json", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        files = {finding["file"] for finding in report["insights"] if finding["file"] and not finding["in_library"]}
        log = Log(folder)
        places = functools.cache(lambda: Places(log, report, files, activities))
        sequence = functools.partial(sequences.longest_of, log, report, kinds=kinds)
        for finding in report["insights"]:
            if "longest_start_ns" in finding["evidence"]:
                try:
                    check(log, finding, files, places, sequence)
                except AssertionError as error:
                    wrong.append(f"{folder}: {error}")
                rules[finding["id"]] += 1
                placed += 1
            elif log.rows["kernel"] or not finding["kernel"]:  # without a record of kernels no launch is known
                left.append(f"{finding['id']} at {finding['place']} of {folder}")
        if places.cache_info().currsize:
            check_causes(places(), report)
    assert not wrong, "\n".join(wrong)
    assert not left, f"without a place on the timeline: {left}"
    assert placed >= LEAST and len(rules) >= 12, f"too few findings for a verdict: {placed} of {rules}"
    print(f"{placed} findings of {len(set(sessions()))} recorded sessions: {dict(rules)}")


main()
