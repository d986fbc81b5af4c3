"""longest.py GPUFL ROOT - the place of every finding on the timeline, of every recorded session of the repository: read
from the report, and found again in the log by this file's own reading of it. A finding about waits or copies names the
longest one of its line; a finding about idle time names a gap of the GPU from the end of its work to the next."""
import collections
import glob
import gzip
import itertools
import json
import os
import subprocess
import sys

gpufl, root = sys.argv[1:3]
TIMES = {"start", "time"}
DELTAS = {"correlation", "scope", "stack", "graph_node", "external_id", "launches"}
WORK = ("kernel", "memcpy", "memset", "graph_run")
WAITS = ("wait", "sync")
COPY, SMALL, PAGEABLE, PYTHON, EVENTS = 5, 16 << 10, 1, 2, WORK + WAITS


def column(name, kind, value, rows):
    """docs/format.md: a value is that of every row, an array has times and some ids as differences."""
    if not isinstance(value, list):
        return [value] * rows
    if name not in TIMES and not (name in DELTAS and kind in EVENTS):
        return value
    known = itertools.accumulate(v for v in value if v is not None)
    return [None if v is None else next(known) for v in value]


SEQUENCES = ("elementwise_chains", "attention_pieces")  # from their first kernel to their last


class Log:
    def __init__(self, folder):
        self.rows, self.names, self.start = collections.defaultdict(list), {}, None
        for path in sorted(glob.glob(f"{folder}/*.log.gz")):
            with gzip.open(path, "rt") as file:
                for line in file:
                    self.take(json.loads(line))
        self.stacks = {row["id"]: row for row in self.rows["stack"]}
        self.frames = {row["id"]: row for row in self.rows["frame"]}
        self.symbols = collections.defaultdict(list)
        for row in self.rows["symbol"]:
            self.symbols[row["frame"]].append(row)
        self.devices = {row["id"]: row["device"] for row in self.rows["stream"]}

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

    def line_of(self, row, files):
        """The innermost place in the program's own files."""
        return next((place for place in self.places(row.get("stack") or 0) if place[0] in files), None)

    def gaps(self):
        """Begin and length of each time between a device's works in which it had none."""
        works = collections.defaultdict(list)
        for kind in WORK:
            for row in self.rows[kind]:
                works[self.devices.get(row.get("stream"))].append((row["start"], row["start"] + row["duration"]))
        found = set()
        for rows in works.values():
            end = None
            for begin, until in sorted(rows):
                if end is not None and begin > end:
                    found.add((end, begin - end))
                end = until if end is None else max(end, until)
        return found


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
    if rule in SEQUENCES:
        return [row for row in log.rows["kernel"] if row["start"] == log.start + finding["evidence"]["longest_start_ns"]]
    if rule in ("late_launch", "launch_storm", "idle_cause", "broken_graphs"):
        return None
    waits = [row for kind in WAITS for row in log.rows[kind]]
    return [row for row in waits if log.line_of(row, files) == line] if finding["line"] else waits


def check(log, finding, files):
    evidence = finding["evidence"]
    begin, length = log.start + evidence["longest_start_ns"], evidence["longest_ns"]
    rows = candidates(log, finding, files)
    what = f"{finding['id']} at {finding['place']}: {length} ns from {begin}"
    if rows is None:
        assert (begin, length) in log.gaps(), f"{what}: no gap of the GPU's work"
        return
    if finding["id"] in SEQUENCES:
        assert any(row["start"] == begin and row["duration"] <= length for row in rows), f"{what}: no kernel begins there"
        return
    assert any((row["start"], row["duration"]) == (begin, length) for row in rows), f"{what}: no such row in the log"
    if finding["line"]:  # of a place in a library the frames alone say which waits are its
        assert max(row["duration"] for row in rows) == length, f"{what}: {max(row['duration'] for row in rows)} is longer"


def sessions():
    for data in ("examples/data", "tests/data/answers"):
        for path in sorted(glob.glob(f"{root}/{data}/**/device*.log.gz", recursive=True)):
            yield os.path.dirname(path)


def main():
    rules, placed, left = collections.Counter(), 0, []
    for folder in sorted(set(sessions())):
        done = subprocess.run([gpufl, "report", "--json", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        findings = json.loads(done.stdout)["insights"]
        files = {finding["file"] for finding in findings if finding["file"] and not finding["in_library"]}
        log = Log(folder)
        for finding in findings:
            if "longest_start_ns" in finding["evidence"]:
                check(log, finding, files)
                rules[finding["id"]] += 1
                placed += 1
            elif not finding["kernel"]:
                left.append(f"{finding['id']} at {finding['place']} of {folder}")
    assert not left, f"without a place on the timeline: {left}"
    assert placed > 30 and len(rules) >= 6, f"too few findings to tell: {rules}"
    print(f"{placed} findings of {len(set(sessions()))} recorded sessions: {dict(rules)}")


main()
