"""Traces frames.py over the fake libraries with this interpreter, and compares the stacks of its samples with the
program's own account: which function the first thread was in (it runs for an instant between two in which it sleeps, and
a thread that has not run is not read again), that the other one blocked in block(), and that the library's thread was in
linger().

Usage: frames_run.py BUILD [SECONDS]"""
import collections
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST = 0.95     # share of right samples, of those that are not near the ends of a span
LATE_NS = 1500000000  # Python may get to know a thread after its launch: the sampler notices that once a second
EDGE_NS = 500000  # a sample that is so near to the end of a span may belong to the next one
KNOWN = range(9, 14)  # CPython 3: versions whose other threads are read


def cells(row, column, n):
    value = row.get(column)
    return value if isinstance(value, list) else [value] * n


def times(row, n):
    value = row["start"] if isinstance(row["start"], list) else [row["start"]]
    out = []
    for step in value:
        out.append(step + (out[-1] if out else 0))
    return out[:n]


def rows(logs):
    """Yields all rows of the scope channel, in order, as dicts of single cells."""
    for path in sorted(glob.glob(os.path.join(logs, "*", "scope.*"))):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as part:
            for line in part:
                row = json.loads(line)
                n = row.get("rows", 0)
                lists = {c: times(row, n) if c == "start" else cells(row, c, n) for c in row if c not in ("type", "rows")}
                if row["type"] == "names":
                    n = len(lists["id"])
                for i in range(n):
                    yield row["type"], {c: v[i] for c, v in lists.items() if i < len(v)}


def samples(logs):
    names, frames, stacks, out = {}, {}, {}, []
    for kind, row in rows(logs):
        if kind == "names":
            names[row["id"]] = row["text"]
        elif kind == "frame":
            frames[row["id"]] = names.get(row.get("function"))
        elif kind == "stack":
            stacks[row["id"]] = stacks.get(row["parent"], []) + [frames[row["frame"]]]
        elif kind == "host_sample":
            out.append(dict(row, stack=stacks.get(row["stack"], [])))
    return out


def trace(build, seconds, work):
    fake = os.path.join(build, "fake")
    env = dict(os.environ, LD_LIBRARY_PATH=fake, GPUFL_CUPTI_PATH=fake, GPUFL_BACKEND="Auto", PYTHONDONTWRITEBYTECODE="1")
    gpufl = os.path.join(build, "bin", "gpufl")
    done = subprocess.run([gpufl, "trace", "--no-report", "-o", work, "--", sys.executable,
                           os.path.join(HERE, "frames.py"), seconds, os.path.join(fake, "libidle_late.so")], env=env, text=True, stdout=subprocess.PIPE, timeout=200)
    if done.returncode:
        sys.exit("the run ended with %d" % done.returncode)
    return json.loads(done.stdout.splitlines()[0])


def judge(said, found):
    """Counts (function, right) for the first thread, the other one, the library's, and those that had the GIL."""
    count = collections.Counter()
    begin, end = said["spans"][0][1], said["spans"][-1][2]
    late, late_begin, late_end = said["late"]
    hogs = {tid for tid, _, _ in said["held"]}
    for s in found:
        if s["thread"] in hogs:
            count["hog", "hog" in s["stack"]] += 1
        if not begin <= s["start"] < end:
            continue
        if s["thread"] == said["other"]:
            if s["start"] > begin + 50_000_000:
                count["block", "block" in s["stack"]] += 1
            continue
        if s["thread"] == late:
            if late_begin + LATE_NS <= s["start"] < late_end - EDGE_NS:
                count["linger", "linger" in s["stack"]] += 1
            continue
        for function, first, last in said["spans"]:
            if s["thread"] == said["first"] and first + EDGE_NS <= s["start"] < last - EDGE_NS:
                count[function, function in s["stack"]] += 1
    return count


def judge_gil(said, found):
    """Counts the states of two threads that compute in Python: one at a time has the GIL, and the other one waits for
    it, or, on a busy machine, for a core."""
    begin, end = said["contend"]
    states = collections.Counter()
    for s in found:
        if begin + 20_000_000 <= s["start"] < end - 20_000_000 and s["thread"] in (said["first"], said["rival"]):
            states[s["state"]] += 1
    return states


def judge_holder(said, found):
    """The first thread competes for the GIL with others, one after the other, that never call CUDA: when the first one
    waits for the GIL, the other one is sampled. For each of the others, counts the waits, and those with a sample of
    it in the same round: before the next sample of the first thread, however late the sampler is."""
    counts = []
    for hog, begin, end in said["held"]:
        waits, held, open_wait = 0, 0, False
        for s in sorted(found, key=lambda s: s["start"]):
            if s["thread"] == said["first"]:
                open_wait = s["state"] == 4 and begin + 20_000_000 <= s["start"] < end - 20_000_000
                waits += open_wait
            elif s["thread"] == hog and open_wait:
                held, open_wait = held + 1, False
        counts.append((waits, held))
    return counts


def main():
    if sys.version_info[1] not in KNOWN:
        print("skipped: other threads of this Python are not read")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        said = trace(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "3", work)
        found = samples(work)
    count, states = judge(said, found), judge_gil(said, found)
    bad = False
    for function, least in ("compute", 20), ("rest", 20), ("doze", 20), ("block", 20), ("linger", 20), ("hog", 1):
        right, wrong = count[function, True], count[function, False]
        print("%s: %d samples, %d right" % (function, right + wrong, right))
        bad |= right + wrong < least or right < LEAST * (right + wrong)
    total = sum(states.values())
    print("GIL: of %d samples %d on a core, %d ready, %d blocked elsewhere, %d wait for it" %
          (total, states[1], states[2], states[3], states[4]))
    for waits, held in judge_holder(said, found):
        print("GIL: of %d waits %d show the thread that had it" % (waits, held))
        bad |= not held or held + 1 < 0.8 * waits
    bad |= states[4] < 10 or states[3] > 0.05 * total or states[1] > 0.6 * total
    sys.exit(bad)


main()
