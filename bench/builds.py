#!/usr/bin/env python3
"""The benchmarks that need no GPU, of two builds in turns.

    bench/builds.py OLD NEW [--rounds 10] [--only wire,store] [--quick] [--json FILE]

OLD and NEW are build folders. Each round runs each benchmark once by each build, and the next round begins with the other
build. Prints one row for each figure: its median by each build, and the ratio new/old with its 95 % interval over the
rounds (geometric mean of the rounds' ratios, Student's t). A figure is slower, faster, or neither ("=") if 1 lies in the
interval. Figures of the least of a run are steadier than medians where the machine has other work. --quick: the smallest
sizes and one round, to see that each benchmark runs; its figures mean nothing.
"""
import argparse
import gzip
import json
import math
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

LEAST = 1e-6  # stands for a figure that is printed as 0, which only --quick takes
# Student's t for 95 %, by degrees of freedom from 1 on; beyond the table 2.
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09)


def lines_of(text, table):
    """Figures by regular expressions: {name: first group}. A figure that is missing is an error."""
    found = {}
    for name, pattern in table.items():
        match = re.search(pattern, text, re.MULTILINE)
        if not match:
            raise ValueError(f"no line has {name}: {text[:500]}")
        found[name] = float(match.group(1))
    return found


def wire(run, quick):
    row = json.loads(run("bench_wire", 8 if quick else 256))
    return {"encode, ns a row": row["encode_ns_per_row"], "decode, ns a row": row["decode_ns_per_row"],
            "plain, bytes a row": row["plain_bytes_per_row"]}


def writer(run, quick):
    return lines_of(run("bench_writer", 20000 if quick else 2000000),
                    {"log writer, ns of processor a row": r"([\d.]+) ns/row cpu", "gzip level 1, bytes a row": r"gzip level 1: ([\d.]+)"})


def scope(run, quick):
    row = json.loads(run("bench_scope", "--rounds", 2 if quick else 60))
    return {"scope off, least ns": row["off_least_ns"], "scope on, least ns": row["on_least_ns"],
            "scope with tags, least ns": row["on_tagged_least_ns"], "NVTX range, least ns": row["nvtx_least_ns"]}


def stack(run, quick):
    row = json.loads(run("bench_stack", "--rounds", 2 if quick else 100))
    return {f"native stack, {depth}, least ns": row[depth]["gpufl"]["least"] for depth in ("depth 10", "depth 30", "depth 100")}


def store(run, quick):
    text = run("bench_store", 65536 if quick else 1000000, run.folder / "store")
    return lines_of(text, {
        "store, us of processor a kernel in": r"^in, with pyramid.* ([\d.]+) us of CPU each",
        "store, bytes a kernel": r"; ([\d.]+) bytes a kernel on disk",
        "top kernels, ms of processor": r"^top kernels, warm: [\d.]+ ms, ([\d.]+) ms of CPU",
        "tiles of level 0, ms of processor": r"^tiles, level 0: .* ([\d.]+) ms of CPU",
        "tiles of level 3, ms of processor": r"^tiles, level 3: .* ([\d.]+) ms of CPU",
        "spans, ms of processor": r"^spans, level 0: .* ([\d.]+) ms of CPU",
        "events, ms of processor": r"^events: .* ([\d.]+) ms of CPU"})


def meta(run, quick):
    text = run("bench_meta", 50 if quick else 3000)
    figures = {f"SQLite, {name}, ms": rf"^sqlite +{name}  .* p50 +([\d.]+) ms"
               for name in ("newest 100", "longest 100", "by app, ascending", "of a host", "of a GPU", "a word in many")}
    return lines_of(text, {"SQLite, sessions put and grown, ms each": r"^sqlite .* sessions put and grown: ([\d.]+) ms", **figures})


def tiles(run, quick):
    plain = run.folder / "plain"
    if not plain.exists():
        plain.mkdir()
        for path in run.log(quick).rglob("device*.log*"):
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            (plain / path.name).with_suffix("").write_bytes(text)
    row = json.loads(run("bench_tiles", *sorted(plain.iterdir())))
    return {"decoding, ns a byte": 1e3 / row["decode_mb_per_s"], "tiles, ns an event": 1e3 / row["tile_million_events_per_s"]}


def report(run, quick):
    folder = run.log(quick)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run("gpufl", "report", "--json", folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"gpufl report, s of processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


BENCHMARKS = {f.__name__: f for f in (wire, writer, scope, stack, store, meta, tiles, report)}


class Runner:
    """Runs programs of one build, in a folder of its own; keeps the simulated session that some of them read."""

    def __init__(self, build, folder):
        self.bin, self.folder = pathlib.Path(build).resolve() / "bin", folder
        folder.mkdir()

    def __call__(self, program, *words):
        done = subprocess.run([str(self.bin / program), *map(str, words)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"{self.bin / program} ended with {done.returncode}: {done.stderr[-1000:]}")
        shutil.rmtree(self.folder / "store", ignore_errors=True)
        return done.stdout

    def log(self, quick):
        made = self.folder / "simulated"
        if not made.exists():
            self("gpufl", "sim", "--kernels", 20000 if quick else 1000000, "--devices", 2, "--streams", 4, "--rate", "max",
                 "--seed", 1, "-o", made)
        return made


def ratio(old, new):
    """(geometric mean of new/old, lower end, upper end), by the rounds' ratios."""
    logs = [math.log(max(n, LEAST) / max(o, LEAST)) for o, n in zip(old, new)]
    mean = statistics.mean(logs)
    if len(logs) < 2:
        return math.exp(mean), 0.0, math.inf
    half = (T95[len(logs) - 2] if len(logs) - 2 < len(T95) else 2) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default=",".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    unknown = set(args.only.split(",")) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    figures = {}
    with tempfile.TemporaryDirectory(prefix="gpufl-builds-") as folder:
        runners = [Runner(build, pathlib.Path(folder) / side) for build, side in ((args.old, "old"), (args.new, "new"))]
        for number in range(1 if args.quick else args.rounds):
            for name in args.only.split(","):
                for side in ((0, 1), (1, 0))[number % 2]:
                    for figure, value in BENCHMARKS[name](runners[side], args.quick).items():
                        if not (0 < value < math.inf or args.quick and value == 0):
                            sys.exit(f"{name}: {figure} is {value}")
                        figures.setdefault(figure, ([], []))[side].append(value)
            print(f"round {number + 1}", file=sys.stderr, flush=True)
    print("| figure | old | new | new/old | |\n|---|---|---|---|---|")
    for figure, (old, new) in figures.items():
        mean, low, high = ratio(old, new)
        word = "slower" if low > 1 else "faster" if high < 1 else "="
        print(f"| {figure} | {statistics.median(old):.4g} | {statistics.median(new):.4g} | {mean:.3f} [{low:.3f}, {high:.3f}] | {word} |")
    if args.json:
        args.json.write_text(json.dumps({figure: {"old": old, "new": new} for figure, (old, new) in figures.items()}, indent=1))


if __name__ == "__main__":
    main()
