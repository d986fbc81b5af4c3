#!/usr/bin/env python3
"""Measures requests over HTTP about a session of --kernels kernels: what the dashboard requests, cold and warm.

A session of `gpufl sim` is sent with `gpufl upload`; when it is loaded and summed up,
the server is started again. Cold: a request for the first time to a server that has just started (the system's page
cache stays). Warm: the request --rounds times on one connection. Tiles: --tiles windows of every size at random places,
1600 columns, all lanes. The same run measures `gpufl report` of the same files. The size on disk is listed by kind:
rows, sums of kernels, the pyramid. Prints JSON. Several builds get the log of the first one's `gpufl sim`; their servers run at
the same time and answer each request one after the other, so that builds are compared under the same load. A server's processor
time for one warm answer is printed too.

  bench/query/run.py [--build DIR ...] [--kernels N] [--rounds N] [--tiles N]
"""
import argparse
import csv
import ctypes
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

COLUMNS = 1600  # pixels of a screen
LANES = 1024  # the most lanes of one question
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


# The part of a session's file that a table belongs to, by the beginning of its name: the first match counts.
PARTS = {"pyramid": ("tile_", "span_", "lane"), "sums": ("kernel_",), "kernel_rows": ("kernel",), "other_rows": ("",)}


class Asker:
    """A connection that stays open, as in a browser."""

    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SLOWEST)

    def ask(self, path):
        """Requests the path; returns (seconds, bytes)."""
        began = time.monotonic()
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {self.server.key}"})
        response = self.connection.getresponse()
        text = response.read()
        seconds = time.monotonic() - began
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {text[:300]!r}")
        return seconds, len(text)


def stored(build, path, folder):
    """Bytes of a session's file by part: how much of its blocks the columns use. `rest` is unused space and metadata."""
    duck, database, link = ctypes.CDLL(f"{build}/lib/libduckdb.so"), ctypes.c_void_p(), ctypes.c_void_p()
    if duck.duckdb_open(os.fsencode(path), ctypes.byref(database)) or duck.duckdb_connect(database, ctypes.byref(link)):
        raise RuntimeError(f"{path} cannot be opened")

    def ask(sql):
        out = f"{folder}/answer.csv"
        if duck.duckdb_query(link, f"COPY ({sql}) TO '{out}' (HEADER false)".encode(), None):
            raise RuntimeError(f"refused: {sql}")
        with open(out, newline="") as rows:
            return list(csv.reader(rows))

    tables = [name for name, in ask("SELECT table_name FROM duckdb_tables()")]
    segments = " UNION ALL ".join(f"SELECT '{t}' AS name, block_id, block_offset FROM pragma_storage_info('{t}') WHERE block_id >= 0"
                                  for t in tables)
    sizes = ask("SELECT name, sum(size) FROM (SELECT name, coalesce(lead(block_offset) OVER (PARTITION BY block_id ORDER BY block_offset),"
                f" 262136) - block_offset AS size FROM (SELECT DISTINCT * FROM ({segments}))) GROUP BY name")
    duck.duckdb_disconnect(ctypes.byref(link))
    duck.duckdb_close(ctypes.byref(database))
    parts = dict.fromkeys(PARTS, 0)
    for name, size in sizes:
        parts[next(part for part, leads in PARTS.items() if name.startswith(leads))] += int(size)
    return parts | {"rest": os.path.getsize(path) - sum(parts.values())}


class Loaded:
    """A build's server with the session, in a folder of its own."""

    def __init__(self, o, build, log, folder):
        """Loads the session of the log, and measures `gpufl report` of the log."""
        self.build, self.folder, self.asker = build, folder, None
        server = Server(build, f"{folder}/data", "--loaders", "1")
        began = time.monotonic()
        subprocess.run([f"{build}/bin/gpufl", "upload", "--quiet", "--server", server.url, log], check=True,
                       env={**os.environ, "GPUFL_API_KEY": server.key})
        while server.metric("gpufl_loader_kernels_total") < o.kernels:
            time.sleep(0.05)
        loaded = time.monotonic() - began
        rows = server.until("/api/v1/sessions", lambda answer: answer["rows"] and answer["rows"][0]["state"] == "ended")["rows"]
        self.base = f"/api/v1/sessions/{rows[0]['id']}"
        server.until(self.base + "/insights", lambda answer: answer["final"])
        self.lanes = server.get(self.base + "/lanes")["data"]
        self.key = server.key
        server.close()
        files = [p for p in pathlib.Path(f"{folder}/data").rglob("*.duckdb") if p.stem == rows[0]["id"]]
        began = time.monotonic()
        subprocess.run([f"{build}/bin/gpufl", "report", log], check=True, stdout=subprocess.DEVNULL)
        self.result = {"build": str(build), "loaded_s": round(loaded, 1), "report_s": round(time.monotonic() - began, 2),
                       "bytes_per_kernel": {part: round(size / o.kernels, 2) for part, size in stored(build, files[0], folder).items()},
                       "questions": {}}

    def start(self):
        self.server = Server(self.build, f"{self.folder}/data", key=self.key)
        self.asker = Asker(self.server)

    def ask(self, path):
        return self.asker.ask(self.base + path)


def windows(o, lanes):
    """Yields what the timeline asks for a window over all lanes: sums and long events, or all events if the window is
    narrow."""
    chance, names = random.Random(1), ",".join(str(lane) for lane in lanes["lane"][:LANES])
    length = max(lanes["last"])
    for _ in range(o.tiles):
        wide = length / 2 ** chance.uniform(0, 20)
        start = chance.uniform(0, length - wide)
        where = f"lanes={names}&from={int(start)}&to={int(start + wide) + 1}"
        finest = wide / COLUMNS
        level = (int(finest).bit_length() - 1 - TILE_SHIFT) // TILE_SHIFT_STEP
        if level < 0:
            yield [f"/events?{where}"]
            continue
        level = min(level, TILE_LEVELS - 1)
        step = max(1, int(finest / (1 << TILE_SHIFT + TILE_SHIFT_STEP * level)))
        yield [f"/tiles?level={level}&step={step}&{where}", f"/spans?level={level}&{where}"]


def ask_all(o, every):
    """Asks the servers in turn: each question cold, then each of them warm, then tiles."""
    for name, path in QUESTIONS.items():
        for one in every:
            cold, size = one.ask(path)
            one.result["questions"][name] = {"bytes": size, "cold_ms": round(cold * 1e3, 1)}
    for name, path in QUESTIONS.items():
        waits, used = [[] for _ in every], [0.0 for _ in every]
        for _ in range(o.rounds):
            for at, one in enumerate(every):
                before = one.server.cpu()
                waits[at].append(one.ask(path)[0])
                used[at] += one.server.cpu() - before
        for at, one in enumerate(every):
            one.result["questions"][name] |= milliseconds(waits[at]) | {"cpu_ms": round(used[at] * 1e3 / o.rounds, 1)}
    tiles = [[] for _ in every]
    for paths in windows(o, every[0].lanes):
        for path in paths:
            for at, one in enumerate(every):
                tiles[at].append(one.ask(path))
    for at, one in enumerate(every):
        one.result["tiles"] = milliseconds([t for t, _ in tiles[at]]) | {"largest_bytes": max(n for _, n in tiles[at])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", default=[], help="build folder")
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--tiles", type=int, default=300)
    o = parser.parse_args()
    builds = o.build or [str(ROOT / "build")]
    folder = tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        subprocess.run([f"{builds[0]}/bin/gpufl", "sim", "--kernels", str(o.kernels), "--scopes", "--rate", "max", "--output",
                        f"{folder}/sim"], check=True, stdout=subprocess.DEVNULL)
        every = []
        for at, build in enumerate(builds):
            os.mkdir(f"{folder}/{at}")
            every.append(Loaded(o, build, f"{folder}/sim", f"{folder}/{at}"))
        for one in every:
            one.start()
        ask_all(o, every)
        for one in every:
            one.result["peak_rss_mib"] = round(one.server.peak() / 2**20)
            one.server.close()
        print(json.dumps({"kernels": o.kernels, "builds": [one.result for one in every]}, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
