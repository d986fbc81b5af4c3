#!/usr/bin/env python3
"""Writes a session for `gpufl report` with KERNELS kernels, each of another name.

  bench/names/session.py FOLDER [KERNELS]      default 100000
  /usr/bin/time -v build/bin/gpufl report --json FOLDER > /dev/null

Names are those of tests/data/names/kernels.txt, each with another first number, or with a number at its end. Each kernel
is launched once.
"""
import argparse
import json
import os
import re

ROWS = 4096  # of a line
SESSION = "5a1c9f0e-7b3d-4e62-8f14-2d6b0c9e7a35"
HERE = os.path.dirname(os.path.abspath(__file__))


def instance(name, number):
    return re.sub(r"\d+|$", str(number), name, count=1)


def put(out, kind, columns):
    count = len(next(iter(columns.values())))
    for at in range(0, count, ROWS):
        part = {key: values[at:at + ROWS] for key, values in columns.items()}
        rows = len(next(iter(part.values())))
        out.write(json.dumps({"type": kind, "rows": rows, **part}, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("kernels", nargs="?", type=int, default=100000)
    args = parser.parse_args()
    folder, count = args.folder, args.kernels
    with open(os.path.join(HERE, "../../tests/data/names/kernels.txt")) as f:
        known = [line.rstrip("\n").split("\t")[1] for line in f]
    where = os.path.join(folder, SESSION)
    os.makedirs(where, exist_ok=True)
    head = {"type": "header", "format": 1, "session": SESSION, "channel": "device", "part": 1, "offset": 0, "app": "names",
            "pid": 4711, "host": "bench", "run": "", "command": "names", "engine": "Trace", "backend": "nvidia",
            "simulated": False, "version": "0.1.0", "system": "", "start": 1000000000, "clock_monotonic": 1000000000,
            "clock_real": 1760000001000000000, "clock_uncertainty": 120}
    ids = list(range(1, count + 1))
    with open(os.path.join(where, "device.log"), "w") as out:
        out.write(json.dumps(head, separators=(",", ":")) + "\n")
        texts = ["GPU", "GPU-1"] + [instance(known[i % len(known)], i) for i in range(count)]
        for at in range(0, len(texts), ROWS // 8):  # lines of a log are bounded
            some = texts[at:at + ROWS // 8]
            put(out, "names", {"id": list(range(at + 1, at + 1 + len(some))), "text": some})
        put(out, "device", {"id": [1], "index": [0], "name": [1], "uuid": [2]})
        put(out, "stream", {"id": [1], "device": [1], "context": [1], "number": [7]})
        put(out, "config", {"id": ids, "name": [i + 2 for i in ids], "device": [1] * count})
        # A row's first start is a time; the others are steps from the one before.
        starts = [(1000000000 + at * 2000 if at % ROWS == 0 else 2000) for at in range(count)]
        put(out, "kernel", {"start": starts, "duration": [1000] * count, "config": ids, "stream": [1] * count})


main()
