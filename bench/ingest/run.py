#!/usr/bin/env python3
"""Measures durable ingest over HTTP: how many kernel rows a second reach the columns.

Sessions of `gpufl sim` are sent, gzip as the agent sends them, to a gpufl-server of
this run; the clock stops when the loader has committed every row, including the pyramid of tiles. The same run measures
decoding alone, the pyramid alone, and the store's append alone with the same rows. Prints JSON.

  bench/ingest/run.py [--build DIR] [--kernels N] [--sessions N] [--loaders N]
"""
import argparse
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from served import SLOWEST, Server  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--kernels", type=int, default=5_000_000, help="of each session")
    parser.add_argument("--sessions", type=int, default=1, help="sent side by side")
    parser.add_argument("--loaders", type=int, default=1, help="threads of the server that load")
    parser.add_argument("--level", type=int, default=6, help="of gzip; 0: plain")
    return parser.parse_args()


def simulate(build, folder, kernels, number):
    """Simulates a session; returns (what `gpufl sim` printed, paths of the uncompressed files)."""
    done = subprocess.run([f"{build}/bin/gpufl", "sim", "--kernels", str(kernels), "--scopes", "--rate", "max", "--seed",
                           str(number + 1), "--output", folder], capture_output=True, text=True, check=True)
    paths = []
    for path in sorted(pathlib.Path(folder).rglob("*.log*"), key=part_number):
        if path.suffix == ".gz":
            plain = path.with_suffix("")
            if not plain.exists():
                plain.write_bytes(gzip.decompress(path.read_bytes()))
            path = plain
        if path not in paths:
            paths.append(path)
    return json.loads(done.stdout), paths


def part_number(path):
    match = re.search(r"\.(\d+)\.log", path.name)
    return (path.name.split(".")[0], int(match.group(1)) if match else 1 << 30)


def run_json(*command):
    return json.loads(subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout)


def send_all(server, bodies, packed, waits):
    for body in bodies:
        waits.append(server.send(body, packed))


def main():
    o = options()
    folder = tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        sessions, rows = [], 0
        for i in range(o.sessions):
            _, paths = simulate(o.build, f"{folder}/sim-{i}", o.kernels, i)
            sessions.append(paths)
            rows += o.kernels
        plain = sum(p.stat().st_size for paths in sessions for p in paths)
        bodies = [[gzip.compress(p.read_bytes(), o.level) if o.level else p.read_bytes() for p in paths] for paths in sessions]
        server = Server(o.build, f"{folder}/data", "--loaders", str(o.loaders))
        waits, cpu, began = [], server.cpu(), time.monotonic()
        senders = [threading.Thread(target=send_all, args=(server, b, bool(o.level), waits)) for b in bodies]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        acknowledged = time.monotonic() - began
        while server.metric("gpufl_loader_kernels_total") < rows:
            if time.monotonic() - began > SLOWEST:
                raise RuntimeError("the rows do not come")
            time.sleep(0.02)
        seconds, cpu = time.monotonic() - began, server.cpu() - cpu
        result = {
            "kernels": rows, "plain_bytes_per_kernel": round(plain / rows, 2),
            "sent_bytes_per_kernel": round(sum(len(b) for s in bodies for b in s) / rows, 2),
            "acknowledged_s": round(acknowledged, 3), "loaded_s": round(seconds, 3),
            "kernels_per_s": round(rows / seconds), "server_cpu_s": round(cpu, 3),
            "peak_rss_mib": round(server.peak() / 2**20),
            "longest_answer_s": round(max(waits), 3),
        }
        server.close()
        columns = sum(p.stat().st_size for p in pathlib.Path(f"{folder}/data").rglob("*.duckdb*"))
        result["columns_bytes_per_kernel"] = round(columns / rows, 2)
        paths = sessions[0]
        result["alone"] = {"decode_and_pyramid": run_json(f"{o.build}/bin/bench_tiles", *paths),
                           "append": run_json(f"{o.build}/bin/bench_append", f"{folder}/append", *paths)}
        print(json.dumps(result, indent=2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
