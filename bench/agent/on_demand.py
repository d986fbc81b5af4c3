#!/usr/bin/env python3
"""Time from the request for a capture to its kernels on the server, over the fake driver: no GPU needed.

    bench/agent/on_demand.py [--build DIR] [--captures N] [--json FILE]

A real gpufl-server, a gpufl-agent with --allow-remote-control, and a program whose session (engine Monitor, option
remote_control) records nothing before. Each capture lasts 200 ms; the time is that from the POST until the server's row
of the session has more kernels than before, and until a page has them. The page asks as the dashboard does: when an
event of the session comes, at most once a second.
"""
import argparse
import contextlib
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from controlled import House  # noqa: E402
from run import events  # noqa: E402


class Page:
    """Follows a session; kernels: what it shows."""

    def __init__(self, house, session):
        self.house, self.session, self.kernels, self.changed = house, session, 0, threading.Condition()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        with contextlib.suppress(OSError):  # the server's end
            self.ask_at_events()

    def ask_at_events(self):
        asked = 0.0
        for session in events(self.house.server, self.house.owner):
            if session == self.session:
                time.sleep(max(0, asked + 1 - time.monotonic()))
                asked = time.monotonic()
                count = self.house.ask("GET", f"/sessions/{session}").json()["kernels"] or 0
                with self.changed:
                    self.kernels = count
                    self.changed.notify()

    def until_more(self, before):
        with self.changed:
            assert self.changed.wait_for(lambda: self.kernels > before, 60), "the page gets nothing new"


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
    page, shown = Page(house, program.session), []
    obeyed, seen = [], []
    for _ in range(args.captures):
        before, began = kernels(), time.monotonic()
        answer = house.capture(program, ms=200)
        row = house.outcome(answer, "open", "done")
        obeyed.append(time.monotonic() - began)
        house.server.until(lambda before=before: kernels() > before, "kernels come")
        seen.append(time.monotonic() - began)
        page.until_more(before)
        shown.append(time.monotonic() - began)
        house.server.until(lambda row=row: house.request(row["id"])["state"] == "done", "the capture ends")
    house.close()
    shutil.rmtree(folder)
    result = {}
    for name, values in (("obeyed", sorted(obeyed)), ("on the server", sorted(seen)), ("on a page", sorted(shown))):
        result[name] = {"median": values[len(values) // 2], "p95": values[int(len(values) * 0.95)], "most": values[-1]}
        print(f"{name:14} median {result[name]['median']:.3f} s   P95 {result[name]['p95']:.3f} s   most {values[-1]:.3f} s")
    if args.json:
        args.json.write_text(json.dumps({"captures": args.captures, **result}, indent=1))


if __name__ == "__main__":
    main()
