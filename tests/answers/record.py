#!/usr/bin/env python3
"""Records the programs of tests/answers on a machine with a GPU: each bare, cured and traced, one at a time.

    tests/answers/record.py --gpufl FILE --out DIR [NAME ...]

DIR/NAME gets the session and measured.json: the program's own clocks of each run. programs.json says, before any
analysis, which lines hold the GPU up.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(command, cwd):
    """(the program's last line as JSON, wall time in s)"""
    start = time.perf_counter()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    wall = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1]), wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpufl", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    for name in args.names or json.loads((HERE / "programs.json").read_text()):
        work = pathlib.Path(tempfile.gettempdir()) / "answers"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        program = work / f"{name}.py"
        shutil.copy(HERE / "programs" / program.name, program)
        python = [sys.executable, program]
        measured = {}
        for way, command in (("bare", python), ("cured", [*python, "cure"]), ("traced", [
                args.gpufl.resolve(), "trace", "-q", "--no-report", "-o", work / "session", "--", *python])):
            measured[way], wall = run(command, work)
            measured[way]["wall_s"] = wall
        shutil.rmtree(args.out / name, ignore_errors=True)
        shutil.copytree(work / "session", args.out / name)
        (args.out / name / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")
        print(name, json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
