#!/usr/bin/env python3
"""Time from the request for a capture to its kernels on the server, over the fake driver: no GPU needed.

    bench/agent/on_demand.py [--build DIR] [--captures N] [--json FILE]

A real gpufl-server, a gpufl-agent with --allow-remote-control, and a program whose session (engine Monitor, option
remote_control) records nothing before. Each capture lasts 200 ms; the time is that from the POST until the server's row
of the session has more kernels than before.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from controlled import House  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--captures", type=int, default=40)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-on-demand-"))
    house = House(folder, args.build.absolute())
    program = house.start(remote_control=True)
    kernels = lambda: house.ask("GET", f"/sessions/{program.session}").json()["kernels"] or 0
    obeyed, seen = [], []
    for _ in range(args.captures):
        before, began = kernels(), time.monotonic()
        answer = house.capture(program, ms=200)
        row = house.outcome(answer, "open", "done")
        obeyed.append(time.monotonic() - began)
        house.server.until(lambda before=before: kernels() > before, "kernels come")
        seen.append(time.monotonic() - began)
        house.server.until(lambda row=row: house.request(row["id"])["state"] == "done", "the capture ends")
    house.close()
    shutil.rmtree(folder)
    result = {}
    for name, values in (("obeyed", sorted(obeyed)), ("on the server", sorted(seen))):
        result[name] = {"median": values[len(values) // 2], "p95": values[int(len(values) * 0.95)], "most": values[-1]}
        print(f"{name:14} median {result[name]['median']:.3f} s   P95 {result[name]['p95']:.3f} s   most {values[-1]:.3f} s")
    if args.json:
        args.json.write_text(json.dumps({"captures": args.captures, **result}, indent=1))


if __name__ == "__main__":
    main()
