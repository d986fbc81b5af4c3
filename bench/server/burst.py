#!/usr/bin/env python3
"""Many small sessions at once, on a machine that is busy with other work: the time until each is loaded.

--sessions sessions of one workspace are sent by --senders threads as fast as the server takes them, their ends
included, while --busy loops keep the processors busy; --others sessions of another workspace follow at once.
After a 429 or 503 a sender waits as Retry-After says. Then the script watches the server until everything that it
acknowledged is loaded, or until --patience seconds are over. Several --server are measured in turn, so that two builds
can be compared. Prints JSON: waits of bodies, answers by status, seconds until the last session of each workspace was
loaded, how many never were, frames set aside, the slowest /healthz, descriptors, memory.

--live N keeps N sessions open meanwhile, without an end. --readers N people look at lists and sessions from the first
body on, and --read-for seconds longer than all is sent and loaded; their waits and answers are printed. With --check
the exit status is 1 if an acknowledged session is not loaded, is loaded with other rows than it has, or was set aside;
if the other workspace had to wait for all sessions of the first one (not with --backlog, with which its senders wait as
well); or if a reader got an answer that is not 200.

  bench/server/burst.py [--build DIR] [--server FILE ...] [--sessions N] [--others N] [--busy N] [--live N [--readers N]] [--check]
"""
import argparse
import atexit
import collections
import http.client
import json
import multiprocessing
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from served import Server, milliseconds  # noqa: E402

LOOK_S = 0.25  # between two checks of what is loaded
PAGE_S = 2  # between two pages of a reader, whose questions follow each other at once


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--server", action="append", default=[], metavar="FILE", help="gpufl-server; else that of the build")
    parser.add_argument("--sessions", type=int, default=150)
    parser.add_argument("--others", type=int, default=20, help="of the other workspace")
    parser.add_argument("--live", type=int, default=0, help="sessions that stay open meanwhile")
    parser.add_argument("--readers", type=int, default=0, help="people who look at lists and sessions")
    parser.add_argument("--read-for", type=float, default=10, metavar="S", help="so much longer than all is sent and loaded")
    parser.add_argument("--kernels", type=int, default=350, help="of each session")
    parser.add_argument("--memory", help="of the server's column store; else its default")
    parser.add_argument("--backlog", type=int, default=0, help="sessions that may wait; 0: the server's default")
    parser.add_argument("--files", type=int, default=0, help="descriptors of the server; 0: as many as there may be")
    parser.add_argument("--loaders", type=int, default=0, help="threads of the server that load; 0: its default")
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="loops that keep processors busy")
    parser.add_argument("--patience", type=float, default=120, metavar="S", help="until all is loaded")
    parser.add_argument("--check", action="store_true", help="end with 1 where something is wrong")
    return parser.parse_args()


# ---- what is sent --------------------------------------------------------------------------------


def record(build, folder, kernels):
    """Simulates a session; returns its id, and its text by channel."""
    printed = json.loads(subprocess.run([f"{build}/bin/gpufl", "sim", "--kernels", str(kernels), "--scopes", "--rate", "max",
                                         "--output", folder], capture_output=True, text=True, check=True).stdout)
    return printed["session"], {p.name.split(".")[0]: p.read_bytes() for p in pathlib.Path(printed["directory"]).glob("*.log")}


class Sender(threading.Thread):
    """Takes sessions from a queue, and sends them on one connection, each with its end if it has one."""

    def __init__(self, server, work, counts):
        super().__init__(daemon=True)
        self.server, self.work, self.counts = server, work, counts
        self.connection = None

    def ask(self, path, key, session, body=b"", **more):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson",
                   "X-GpuFlight-Session-Id": session, **more}
        while True:
            began = time.monotonic()
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600)
            self.connection.request("POST", path, body, headers)
            answer = self.connection.getresponse()
            text = answer.read()
            self.counts[f"{answer.status}"] += 1
            self.counts.waits.append(time.monotonic() - began)
            if answer.status == 200:
                self.counts.last[key] = time.monotonic()
                return
            self.connection.close()
            self.connection = None
            if answer.status not in (429, 503):
                raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
            self.counts.reasons.add(json.loads(text)["detail"])
            time.sleep(float(answer.headers["Retry-After"]))

    def run(self):
        while True:
            try:
                key, session, channels, ends = self.work.get_nowait()
            except queue.Empty:
                return
            for channel, text in channels.items():
                self.ask("/api/v1/events/stream", key, session, text,
                         **{"X-GpuFlight-Channel": channel, "X-GpuFlight-Offset": "0"})
            if ends:
                self.ask("/api/v1/events/session-complete", key, session)


class Counts(collections.Counter):
    def __init__(self):
        super().__init__()
        self.waits, self.reasons = [], set()
        self.last = {}  # time of the last answer 200, by key


def without_end(channels):
    """The channels without the line `end`: the server ends a session whose log has it after a while."""
    return {c: b"".join(line for line in text.splitlines(True) if b'"type":"end"' not in line) for c, text in channels.items()}


def renamed(number, session, channels):
    other = f"{number:08x}" + session[8:]
    return other, {c: text.replace(session.encode(), other.encode()) for c, text in channels.items()}


# ---- what is checked -----------------------------------------------------------------------------


def listed(server, key):
    """The number of kernels, by id, of the sessions of a workspace that are loaded to their end."""
    answer, _ = server.ask("GET", "/api/v1/sessions?limit=1000", headers={"Authorization": f"Bearer {key}"})
    return {row["id"]: row["kernels"] for row in answer["rows"] if row["state"] == "ended"}


class Healthz(threading.Thread):
    """Asks for /healthz again and again, each time on a new connection, as a load balancer does; counts the server's
    descriptors."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.waits, self.failed, self.done, self.descriptors = server, [], 0, threading.Event(), 0
        self.start()

    def run(self):
        while not self.done.wait(LOOK_S):
            self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{self.server.process.pid}/fd")))
            began = time.monotonic()
            try:
                self.server.ask("GET", "/healthz")
            except (OSError, RuntimeError):
                self.failed += 1
            self.waits.append(time.monotonic() - began)


def read_pages(port, key, done, waits, answers):
    """A reader: the list, a search, and two questions about a session that the list shows."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def ask(path):
        began = time.monotonic()
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        text = answer.read()
        waits.append(time.monotonic() - began)
        answers[str(answer.status)] += 1
        return json.loads(text) if answer.status == 200 else {}

    while not done.wait(PAGE_S):
        rows = ask("/api/v1/sessions?limit=50").get("rows", [])
        ask("/api/v1/sessions?limit=50&text=sim")
        for row in rows[len(waits) % 50:][:1]:
            ask(f"/api/v1/sessions/{row['id']}/kernels")
            ask(f"/api/v1/sessions/{row['id']}/lanes")


def read_all(port, key, readers, done, results):
    """Runs the readers in a process of their own, so that the work of senders does not count as a wait."""
    waits, answers = [], collections.Counter()
    people = [threading.Thread(target=read_pages, args=(port, key, done, waits, answers)) for _ in range(readers)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    results.put((waits, dict(answers)))


class Readers:
    def __init__(self, server, o):
        self.count, self.done, self.results = o.readers, multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=read_all, args=(server.port, server.key, o.readers, self.done, self.results), daemon=True)
        if o.readers:
            self.process.start()

    def end(self):
        """Stops the readers; returns their waits and answers."""
        self.done.set()
        return self.results.get(timeout=600) if self.count else ([], {})


def busy(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    for loop in loops:
        atexit.register(loop.kill)
    return loops


def other_workspace(server):
    made, _ = server.ask("POST", "/api/v1/workspaces", {"name": "other"}, server.owner)
    key, _ = server.ask("POST", f"/api/v1/keys?workspace={made['id']}", {"name": "bench", "scopes": "ingest,read"}, server.owner)
    return key["key"]


def wait_for_all(server, wanted, began, patience):
    """For each key (seconds until it was loaded, kernels) by session; sessions that were never loaded are missing."""
    at = {key: {} for key in wanted}
    while any(len(at[key]) < len(wanted[key]) for key in wanted) and time.monotonic() - began < patience:
        for key in wanted:
            for session, kernels in listed(server, key).items():
                if session not in wanted[key]:
                    raise RuntimeError(f"session {session} is live, and the server says that it has ended")
                at[key].setdefault(session, (time.monotonic() - began, kernels))
        time.sleep(LOOK_S)
    return at


def send_all(server, o, mine, other, recorded):
    """Starts the senders; returns (sessions of each key, counts, when sending began, senders)."""
    work, counts, wanted = queue.Queue(), Counts(), {mine: [], other: []}
    going = recorded[0], without_end(recorded[1])
    for i in range(o.live + o.sessions + o.others):
        key = other if i >= o.live + o.sessions else mine
        session, channels = renamed(i + 1, *(going if i < o.live else recorded))
        work.put((key, session, channels, i >= o.live))
        if i >= o.live:
            wanted[key].append(session)
    began = time.monotonic()
    senders = [Sender(server, work, counts) for _ in range(o.senders)]
    for sender in senders:
        sender.start()
    return wanted, counts, began, senders


def last(times):
    return round(max((t for t, _ in times.values()), default=0), 2)


def measure(o, program, recorded, folder):
    given = {"--loaders": o.loaders, "--memory": o.memory, "--max-backlog": o.backlog}
    server = Server(o.build, folder, *[str(word) for pair in given.items() if pair[1] for word in pair], program=program,
                    files=o.files)
    other, looked = other_workspace(server), Healthz(server)
    loops, readers = busy(o.busy), Readers(server, o)
    wanted, counts, began, senders = send_all(server, o, server.key, other, recorded)
    at = wait_for_all(server, wanted, began, o.patience)
    if o.readers:
        for sender in senders:
            sender.join(o.patience)
        time.sleep(o.read_for)
    reads, read_answers = readers.end()
    looked.done.set()
    for loop in loops:
        loop.kill()
        loop.wait()
    whole = collections.Counter(kernels for times in at.values() for _, kernels in times.values())
    result = {
        "server": program, "sent": sum(len(w) for w in wanted.values()),
        "answers": dict(counts), "reasons": sorted({re.sub(r"\d+", "N", r) for r in counts.reasons}),
        "body": milliseconds(counts.waits),
        "loaded": len(at[server.key]), "loaded_s": last(at[server.key]),
        "acknowledged_s": round(counts.last[server.key] - began, 2),
        "others_loaded": len(at[other]), "others_loaded_s": last(at[other]),
        "others_acknowledged_s": round(counts.last.get(other, began) - began, 2),
        "missing": sum(len(wanted[k]) - len(at[k]) for k in wanted), "kernels": dict(whole),
        "set_aside": server.metric("gpufl_loader_set_aside_total"),
        "cpu_s": round(server.cpu(), 2), "healthz": milliseconds(looked.waits), "healthz_failed": looked.failed,
        "reads": milliseconds(reads), "read_answers": read_answers, "descriptors": looked.descriptors,
        "peak_rss_mib": round(server.peak() / 2**20)}
    for sender in senders:
        sender.join(o.patience)
    server.close()
    columns = sum(p.stat().st_size for p in pathlib.Path(folder, "columns").rglob("*") if p.is_file())
    result["columns_mib"] = round(columns / 2**20, 1)
    return result


def wrong(o, r):
    return [text for bad, text in (
        (r["missing"], f"{r['missing']} sessions were acknowledged and are not loaded"),
        (r["kernels"] != {o.kernels: r["sent"]}, f"sessions have {r['kernels']} kernels, not {o.kernels}"),
        (r["set_aside"], f"{r['set_aside']} frames were set aside"),
        (set(r["read_answers"]) - {"200"}, f"readers got {r['read_answers']}"),
        (r["healthz_failed"], f"/healthz failed {r['healthz_failed']} times"),
        (o.others and o.sessions and not o.backlog and r["others_loaded_s"] > r["loaded_s"] + 2 * LOOK_S, "the other workspace waited for all of the first"),
    ) if bad]


def each_server(o, measure, wrong, within=None):
    """Measures each --server in a folder of its own, all with the same recorded session; the exit status."""
    folder, failed = tempfile.mkdtemp(prefix="gpufl-bench-", dir=within), []
    try:
        recorded = record(o.build, f"{folder}/sim", o.kernels)
        for i, program in enumerate(o.server or [f"{o.build}/bin/gpufl-server"]):
            result = measure(o, program, recorded, f"{folder}/data-{i}")
            print(json.dumps(result, indent=2), flush=True)
            failed += wrong(o, result) if o.check else []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for text in failed:
        print(f"wrong: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(each_server(options(), measure, wrong))
