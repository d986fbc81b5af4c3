#!/usr/bin/env python3
"""Measures `gpufl view` of a session that was never loaded: when the page answers, when the first finding
can be read, when the whole session is loaded. For comparison it measures `gpufl report` of that session.

A session of `gpufl sim` is opened with an empty cache, --rounds times.
Prints JSON: the median and the greatest number of seconds since the command was started.

  bench/view/run.py [--build DIR] [--kernels N] [--rounds N]
"""
import argparse
import http.cookiejar
import json
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOWEST = 300  # longest wait, s
WAITS = ["link", "page", "session", "summary", "finding", "loaded"]


class Browser:
    """A browser that follows the link."""

    def __init__(self, link):
        self.base = re.match(r"http://[^/]+", link)[0]
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.read(link)

    def read(self, url):
        try:
            with self.opener.open(url, timeout=SLOWEST) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            return error.read()

    def get(self, path):
        return json.loads(self.read(self.base + path))


def until(ask):
    """Calls ask() until it returns a true value, and returns that value."""
    end = time.monotonic() + SLOWEST
    while time.monotonic() < end:
        said = ask()
        if said:
            return said
        time.sleep(0.01)
    raise RuntimeError("it does not come")


def look(gpufl, path, cache, kernels):
    """Opens the session once; returns the seconds until each of WAITS."""
    began, at = time.monotonic(), {}
    view = subprocess.Popen([gpufl, "view", "--no-browser", "--cache", cache, path], stdout=subprocess.PIPE, text=True)
    link = view.stdout.readline().strip()
    at["link"] = time.monotonic() - began
    browser = Browser(link)
    at["page"] = time.monotonic() - began

    def row():
        rows = browser.get("/api/v1/sessions").get("rows")
        return rows and rows[0]

    session = until(row)
    at["session"] = time.monotonic() - began
    base = f"/api/v1/sessions/{session['id']}"
    until(lambda: browser.get(base + "/summary").get("title") is None)
    at["summary"] = time.monotonic() - began
    until(lambda: browser.get(base + "/insights").get("insights"))
    at["finding"] = time.monotonic() - began
    until(lambda: row()["kernels"] >= kernels)
    at["loaded"] = time.monotonic() - began
    view.send_signal(signal.SIGINT)
    view.wait(60)
    view.stdout.close()
    return at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    gpufl, folder = f"{o.build}/bin/gpufl", tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        subprocess.run([gpufl, "sim", "--kernels", str(o.kernels), "--scopes", "--rate", "max", "--output",
                        f"{folder}/sim"], check=True, stdout=subprocess.DEVNULL)
        looks, reports = [], []
        for i in range(o.rounds):
            looks.append(look(gpufl, f"{folder}/sim", f"{folder}/cache-{i}", o.kernels))
            began = time.monotonic()
            subprocess.run([gpufl, "report", f"{folder}/sim"], check=True, stdout=subprocess.DEVNULL)
            reports.append(time.monotonic() - began)
        seconds = {name: [one[name] for one in looks] for name in WAITS} | {"report": reports}
        print(json.dumps({"kernels": o.kernels, "rounds": o.rounds} |
                         {name: {"median_s": round(statistics.median(v), 2), "worst_s": round(max(v), 2)}
                          for name, v in seconds.items()}, indent=2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
