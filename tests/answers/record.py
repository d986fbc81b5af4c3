#!/usr/bin/env python3
"""Records the programs of tests/answers on a machine with a GPU: each bare, traced and cured, one at a time.

    tests/answers/record.py --gpufl FILE --out DIR [--tar FILE] [--missing] [--shard I/N] [--limit S]
                            [--budget S] [NAME ...]

DIR/NAME then has the session and measured.json, the program's own clocks of each run. programs.json, which was written
before any analysis, says which lines make the GPU wait. A program that fails leaves DIR/NAME/failed.txt; a program that
lacks a package or a second GPU leaves DIR/NAME/skipped.txt; then the next program runs. Clean programs have no cure, so
they only run traced. The script needs no network.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "answers"
LARGE = 300 * 1024


class Skipped(Exception):
    """This machine lacks what the program needs."""


class Failed(Exception):
    """The program or its capture failed."""


def run(command, cwd, limit):
    """Runs the program; returns its last line as an object, with the run's wall time in s."""
    start = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=cwd, start_new_session=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise Failed(f"{command}: not done after {limit} s\n{out[-2000:]}\n{err[-6000:]}") from None
    missing = re.search(r"^ModuleNotFoundError: (.*)$", err, re.M)
    if process.returncode and missing:
        raise Skipped(missing[1])
    if process.returncode:
        raise Failed(f"{command}: exit {process.returncode}\n{out[-2000:]}\n{err[-6000:]}")
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if not lines:
        raise Failed(f"{command}: no clocks\n{out[-2000:]}\n{err[-6000:]}")
    clocks = json.loads(lines[-1])
    if "skip" in clocks:
        raise Skipped(clocks["skip"])
    return {**clocks, "wall_s": time.perf_counter() - start}


def pack(session):
    """Compresses the uncompressed parts; returns the session's size."""
    for part in session.rglob("*.log"):
        with open(part, "rb") as plain, gzip.GzipFile(f"{part}.gz", "wb", 9, mtime=0) as packed:
            shutil.copyfileobj(plain, packed)
        part.unlink()
    return sum(part.stat().st_size for part in session.rglob("*") if part.is_file())


def record(name, clean, args, work):
    """Runs a program in its ways, keeps session and clocks, and returns what to print of them."""
    program = work / f"{name}.py"
    shutil.copy(next((HERE / "programs").rglob(program.name)), program)
    python = [sys.executable, program]
    traced = [args.gpufl.resolve(), "trace", "-q", "--no-report", "-o", work / "session", "--", *python]
    ways = {"traced": traced} if clean else {"bare": python, "traced": traced, "cured": [*python, "cure"]}
    measured, failed = {}, ""
    for way, command in ways.items():
        try:
            measured[way] = run(command, work, args.limit)
        except Failed as reason:
            if way != "cured":
                raise
            failed = str(reason)
    if not (work / "session").is_dir():
        raise Failed(f"{name}: no session was recorded")
    size = pack(work / "session")
    shutil.copytree(work / "session", args.out / name)
    (args.out / name / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")
    seconds = ", ".join(f"{way} {clocks['work_s']:.2f} of {clocks['wall_s']:.1f} s" for way, clocks in measured.items())
    if failed:
        (args.out / name / "failed.txt").write_text(f"{failed}\n")
        seconds += ", its cure failed"
    return f"{seconds}; {size / 1024:.0f} KB{' (large)' if size > LARGE else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--tar", type=pathlib.Path, help="add each program's folder to this file, too, when it is done")
    parser.add_argument("--missing", action="store_true", help="only programs without a session in tests/data/answers")
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th program, from the I-th on")
    parser.add_argument("--limit", type=float, default=40, help="seconds that one run may take")
    parser.add_argument("--budget", type=float, help="no program begins after so many seconds")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    programs = json.loads((HERE / "programs.json").read_text())
    shard, shards = map(int, args.shard.split("/"))
    names = [name for name in args.names or programs if not (args.missing and (DATA / name).is_dir())]
    names = names[shard - 1::shards]
    begin, counts = time.perf_counter(), {"recorded": 0, "skipped": 0, "failed": 0, "not begun": 0}
    for place, name in enumerate(names, 1):
        if args.budget and time.perf_counter() - begin > args.budget:
            counts["not begun"] += 1
            continue
        shutil.rmtree(args.out / name, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="answers", ignore_cleanup_errors=True) as folder:
            result, text = "recorded", ""
            try:
                text = record(name, programs[name].get("clean", False), args, pathlib.Path(folder))
            except (Skipped, Failed) as reason:
                result, text = type(reason).__name__.lower(), str(reason)
                (args.out / name).mkdir(parents=True)
                (args.out / name / f"{result}.txt").write_text(f"{text}\n")
        if args.tar:
            with tarfile.open(args.tar, "a") as tar:
                tar.add(args.out / name, name)
        counts[result] += 1
        print(f"[{time.perf_counter() - begin:4.0f} s] {place}/{len(names)} {name}: {result}, "
              f"{text.splitlines()[0] if text else ''}", flush=True)
    print(*(f"{count} {what}" for what, count in counts.items()), sep=", ")
    return bool(counts["failed"] or counts["not begun"])


if __name__ == "__main__":
    sys.exit(main())
