#!/usr/bin/env python3
"""Questions over HTTP to a session of --kernels kernels: what the dashboard asks, cold and warm.

A session of `gpufl sim` is sent with `gpufl upload`; when it is loaded and summed up,
the server is started again. Cold: the first time a question is asked of a server that
has just started (the system's page cache stays). Warm: --rounds times, one after the
other, one connection. Tiles: --tiles windows of every size at random places, 1600 columns, all lanes.
Beside it, in the same run: `gpufl report` of the same files. Prints JSON.

  bench/query/run.py [--build DIR] [--kernels N] [--rounds N] [--tiles N]
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from served import SLOWEST, Server, milliseconds  # noqa: E402

COLUMNS = 1600  # of a screen
LANES = 1024  # of one question
TILE_LEVELS, TILE_SHIFT, TILE_SHIFT_STEP = 8, 17, 3  # src/wire/tile.h
QUESTIONS = {
    "summary": "/summary",
    "insights": "/insights",
    "sync": "/sync",
    "scopes": "/scopes",
    "ledger": "/ledger",
    "top kernels": "/kernels?limit=100",
    "lanes": "/lanes",
    "launches": "/launches?limit=100",
    "copies": "/copies",
}


class Asker:
    """One connection, as a browser keeps it."""

    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SLOWEST)

    def ask(self, path):
        """(seconds, bytes)."""
        began = time.monotonic()
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {self.server.key}"})
        response = self.connection.getresponse()
        text = response.read()
        seconds = time.monotonic() - began
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {text[:300]!r}")
        return seconds, len(text)


def load(o, folder):
    """A server's folder with the session; (session, key, seconds of loading, length in ns, lanes)."""
    server = Server(o.build, f"{folder}/data", "--loaders", "1")
    began = time.monotonic()
    subprocess.run([f"{o.build}/bin/gpufl", "upload", "--quiet", "--server", server.url, f"{folder}/sim"], check=True,
                   env={**os.environ, "GPUFL_API_KEY": server.key})
    while server.metric("gpufl_loader_kernels_total") < o.kernels:
        time.sleep(0.05)
    loaded = time.monotonic() - began
    rows = server.until("/api/v1/sessions", lambda answer: answer["rows"] and answer["rows"][0]["state"] == "ended")["rows"]
    base = f"/api/v1/sessions/{rows[0]['id']}"
    server.until(base + "/insights", lambda answer: answer["final"])
    lanes = server.get(base + "/lanes")["data"]
    length = max(lanes["last"])
    key, size = server.key, sum(p.stat().st_size for p in pathlib.Path(f"{folder}/data").rglob("*.duckdb*"))
    server.close()
    return base, key, loaded, length, lanes, size


def windows(o, base, length, lanes):
    """What the timeline asks for a window, all lanes: sums and long events, or where it is narrow all events."""
    chance, names = random.Random(1), ",".join(str(lane) for lane in lanes["lane"][:LANES])
    for _ in range(o.tiles):
        wide = length / 2 ** chance.uniform(0, 20)
        start = chance.uniform(0, length - wide)
        where = f"lanes={names}&from={int(start)}&to={int(start + wide) + 1}"
        finest = wide / COLUMNS
        level = (int(finest).bit_length() - 1 - TILE_SHIFT) // TILE_SHIFT_STEP
        if level < 0:
            yield [f"{base}/events?{where}"]
            continue
        level = min(level, TILE_LEVELS - 1)
        step = max(1, int(finest / (1 << TILE_SHIFT + TILE_SHIFT_STEP * level)))
        yield [f"{base}/tiles?level={level}&step={step}&{where}", f"{base}/spans?level={level}&{where}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--tiles", type=int, default=300)
    o = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        subprocess.run([f"{o.build}/bin/gpufl", "sim", "--kernels", str(o.kernels), "--scopes", "--rate", "max", "--output",
                        f"{folder}/sim"], check=True, stdout=subprocess.DEVNULL)
        base, key, loaded, length, lanes, size = load(o, folder)
        began = time.monotonic()
        subprocess.run([f"{o.build}/bin/gpufl", "report", f"{folder}/sim"], check=True, stdout=subprocess.DEVNULL)
        report = time.monotonic() - began
        server = Server(o.build, f"{folder}/data", key=key)
        asker, answers = Asker(server), {}
        for name, path in QUESTIONS.items():
            cold, length_of = asker.ask(base + path)
            answers[name] = {"bytes": length_of, "cold_ms": round(cold * 1e3, 1)}
        for name, path in QUESTIONS.items():
            answers[name] |= milliseconds([asker.ask(base + path)[0] for _ in range(o.rounds)])
        tiles = [asker.ask(path) for paths in windows(o, base, length, lanes) for path in paths]
        result = {"kernels": o.kernels, "loaded_s": round(loaded, 1), "report_s": round(report, 2),
                  "columns_bytes_per_kernel": round(size / o.kernels, 2), "questions": answers,
                  "tiles": milliseconds([t for t, _ in tiles]) | {"largest_bytes": max(n for _, n in tiles)},
                  "peak_rss_mib": round(server.peak() / 2**20)}
        server.close()
        print(json.dumps(result, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
