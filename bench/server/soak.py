#!/usr/bin/env python3
"""Sends short sessions for a long time, with retention, and measures whether anything grows that should not.

--sessions sessions of --kernels kernels are sent, each with its end, evenly over --minutes, or as fast as the server
takes them if that is slower. Retention keeps the newest --keep bytes of them. Every --look seconds the benchmark
requests the list and measures the server from outside. Prints one JSON line for each measurement, then a summary: memory,
descriptors and bytes on the disk in the first and in the last third of the measurements, the slowest list, frames set
aside, sessions left.

With --check the exit status is 1 if a session that is left has other rows than were sent, if `gpufl-server check` reports
a session as damaged or lost, if something was set aside, or if memory or descriptors of the last third exceed those of
the first by half (with 24 measurements or more).

  bench/server/soak.py [--build DIR] [--sessions N] [--minutes M] [--keep BYTES] [--check]
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "bench" / "server"))
from burst import Counts, Sender, record, renamed  # noqa: E402
from served import Server  # noqa: E402
from sessions import every_session, metrics, on_disk  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kernels", type=int, default=350, help="kernels of each session")
    parser.add_argument("--keep", type=int, default=8 << 20, metavar="BYTES", help="bytes of sessions to keep; the oldest are deleted first")
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--look", type=float, default=10, metavar="S")
    parser.add_argument("--patience", type=float, default=300, metavar="S", help="longest wait until all is loaded at the end")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is wrong")
    return parser.parse_args()


class Paced:
    """A queue for senders that gives session number i out when its time has come."""

    def __init__(self, o, server, recorded):
        self.o, self.server, self.recorded = o, server, recorded
        self.began, self.lock, self.next = time.monotonic(), threading.Lock(), 0

    def get_nowait(self):
        with self.lock:
            number, self.next = self.next, self.next + 1
        if number >= self.o.sessions:
            raise queue.Empty
        due = self.began + number * self.o.minutes * 60 / self.o.sessions
        session, channels = renamed(number + 1, *self.recorded)
        return due, self.server.key, session, channels, True


def look(server, folder, began):
    asked = time.monotonic()
    server.get("/api/v1/sessions?limit=50")
    listed = time.monotonic() - asked
    process = pathlib.Path(f"/proc/{server.process.pid}")
    resident = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"at_s": round(asked - began, 1), "list_ms": round(listed * 1000, 1), "rss_mib": round(resident / 2**20, 1),
            "descriptors": len(os.listdir(process / "fd")), "columns_mib": round(on_disk(f"{folder}/columns", "*") / 2**20, 1),
            "tables_mib": round(on_disk(folder, "meta.db*") / 2**20, 1), "journal_mib": round(on_disk(f"{folder}/journal", "*") / 2**20, 1)}


def thirds(looks, field):
    values = [x[field] for x in looks]
    n = max(1, len(values) // 3)
    return {"first": statistics.median(values[:n]), "last": statistics.median(values[-n:]), "most": max(values)}


def settle(server, o):
    """Waits until all sessions are loaded."""
    end = time.monotonic() + o.patience
    while time.monotonic() < end:
        if not metrics(server)["gpufl_backlog_sessions"] and not server.get("/api/v1/sessions?limit=1&state=live")["rows"]:
            return True
        time.sleep(0.5)
    return False


def measure(o, folder):
    recorded = record(o.build, f"{folder}/sim", o.kernels)
    server = Server(o.build, f"{folder}/data")
    server.keep(o.keep)
    counts, work = Counts(), Paced(o, server, recorded)
    senders = [Sender(server, work, counts) for _ in range(o.senders)]
    looks = []
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        looks.append(look(server, f"{folder}/data", work.began))
        print(json.dumps(looks[-1]), flush=True)
        until = time.monotonic() + o.look
        for sender in senders:
            sender.join(max(0, until - time.monotonic()))
    sent_s = time.monotonic() - work.began
    loaded = settle(server, o)
    left, counted = every_session(server), metrics(server)
    result = {"sessions": o.sessions, "looks": len(looks), "sent_s": round(sent_s, 1), "loaded": loaded, "answers": dict(counts), "left": len(left),
              "kernels": dict(collections.Counter(left.values())), "set_aside": counted["gpufl_loader_set_aside_total"],
              "cpu_ms_each": round(server.cpu() / o.sessions * 1000, 2), "sent_bytes_each": sum(len(gzip.compress(t, 6)) for t in recorded[1].values())}
    for field in ("rss_mib", "descriptors", "columns_mib", "tables_mib", "journal_mib", "list_ms"):
        result[field] = thirds(looks, field)
    server.close()
    checked = subprocess.run([f"{o.build}/bin/gpufl-server", "check", "--data", f"{folder}/data"], capture_output=True, text=True, check=False)
    result["check"] = {"status": checked.returncode, "says": (checked.stdout + checked.stderr).strip().splitlines()[-3:]}
    return result


def wrong(o, r):
    long = r["looks"] >= 24  # in a shorter run the first third is the start
    return [text for bad, text in (
        (not r["loaded"], "not all sessions were loaded in time"),
        (set(r["kernels"]) - {o.kernels}, f"sessions have {r['kernels']} kernels, not {o.kernels}"),
        (r["set_aside"], f"{r['set_aside']} frames were set aside"),
        (r["check"]["status"], f"check: {r['check']['says']}"),
        (not r["left"], "retention left nothing"),
        (long and r["rss_mib"]["last"] > 1.5 * r["rss_mib"]["first"], f"memory grew: {r['rss_mib']} MiB"),
        (long and r["descriptors"]["last"] > 1.5 * r["descriptors"]["first"], f"descriptors grew: {r['descriptors']}"),
    ) if bad]


def main():
    o = options()
    folder = tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        result = measure(o, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result, indent=2), flush=True)
    failed = wrong(o, result) if o.check else []
    for text in failed:
        print(f"soak: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
