#!/usr/bin/env python3
"""Many small sessions at once, on a machine that is busy with other work: the time until each is loaded.

--sessions sessions of one workspace are sent by --senders threads, in --over seconds or as fast as the server takes
them, their ends included, while --busy loops keep the processors busy. When the last of them is acknowledged, --others
sessions of another workspace follow, while most of the first ones wait to be loaded. After a 429 or 503 a sender waits as Retry-After says. Then the script watches the server until everything that it
acknowledged is loaded, or until --patience seconds are over. Several --server are measured in turn, so that two builds
can be compared. Prints JSON: waits of bodies, answers by status, seconds until the last session of each workspace was
loaded, how many never were, frames set aside, the slowest /healthz, descriptors, memory.

--live N keeps N sessions open meanwhile, without an end. --readers N people look at lists and sessions from the first
body on, and --read-for seconds longer than all is sent and loaded; their waits and answers are printed. With --check
the exit status is 1 if an acknowledged session is not loaded, is loaded with other rows than it has, or was set aside;
if not all of the first workspace is loaded --loaded-within seconds after sending began; if the other workspace is not
loaded --others-within seconds after its own sending began, or, without that option, if more than half of the
sessions of the first one that wait then are loaded before, as a server does that loads in the order of arrival (not with --backlog, with
which the other senders wait as well); if /healthz fails, or its P99 is above --healthz-within; if the
server had more memory than --memory-within; or if a reader got an answer that is not 200.

With --clickhouse the rows are in a clickhouse-server of the benchmark's own.

  bench/server/burst.py [--build DIR] [--server FILE ...] [--sessions N] [--others N] [--busy N] [--live N [--readers N]]
      [--clickhouse] [--loaded-within S] [--others-within S] [--check]
"""
import argparse
import atexit
import collections
import contextlib
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
sys.path.append(str(ROOT / "tests" / "e2e"))  # which has another module served
import clickhouse  # noqa: E402

LOOK_S = 0.25  # between two checks of what is loaded
HEALTHZ_S = 5  # longest wait for /healthz
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
    parser.add_argument("--over", type=float, default=0, metavar="S", help="spread the first workspace's sessions over so long")
    parser.add_argument("--clickhouse", action="store_true", help="rows in ClickHouse, not in files")
    parser.add_argument("--loaded-within", type=float, metavar="S", help="with --check: the first workspace, since sending began")
    parser.add_argument("--others-within", type=float, metavar="S", help="with --check: the other workspace, since its sending began")
    parser.add_argument("--healthz-within", type=float, metavar="S", help="with --check: P99 of /healthz")
    parser.add_argument("--memory-within", type=float, metavar="MIB", help="with --check: resident memory of the server, at most")
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="loops that keep processors busy")
    parser.add_argument("--patience", type=float, default=120, metavar="S", help="until all is loaded")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is wrong")
    return parser.parse_args()


# ---- what is sent --------------------------------------------------------------------------------


def record(build, folder, kernels):
    """Simulates a session; returns its id, and its text by channel."""
    printed = json.loads(subprocess.run([f"{build}/bin/gpufl", "sim", "--kernels", str(kernels), "--scopes", "--rate", "max",
                                         "--output", folder], capture_output=True, text=True, check=True).stdout)
    return printed["session"], {p.name.split(".")[0]: p.read_bytes() for p in pathlib.Path(printed["directory"]).glob("*.log")}


class Sender(threading.Thread):
    """Takes sessions from a queue, and sends them on one connection, each when it is due, with its end if it has one."""

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
                due, key, session, channels, ends = self.work.get_nowait()
            except queue.Empty:
                return
            time.sleep(max(0, due - time.monotonic()))
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
                self.server.ask("GET", "/healthz", timeout=HEALTHZ_S)
            except (OSError, RuntimeError, http.client.HTTPException):
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


def wait_for_all(server, sent, patience):
    """For each key {session: (seconds from the beginning of all until it was loaded, kernels)}; sessions that were never
    loaded are missing."""
    at = {key: {} for key in sent.wanted}
    while any(len(at[key]) < len(sent.wanted[key]) for key in at) and time.monotonic() - sent.began < patience:
        for key in at:
            for session, kernels in listed(server, key).items():
                if session not in sent.wanted[key]:
                    raise RuntimeError(f"session {session} is live, and the server says that it has ended")
                at[key].setdefault(session, (time.monotonic() - sent.began, kernels))
        time.sleep(LOOK_S)
    return at


class Sent(threading.Thread):
    """Sends all: first the sessions of one workspace, with those that stay open, then, when these are acknowledged, those
    of the other one."""

    def __init__(self, server, o, keys, recorded):
        super().__init__(daemon=True)
        self.server, self.o, self.counts = server, o, Counts()
        mine, other = keys
        going = recorded[0], without_end(recorded[1])
        made = [renamed(i + 1, *(going if i < o.live else recorded)) for i in range(o.live + o.sessions + o.others)]
        self.first = [(mine, *one, i >= o.live) for i, one in enumerate(made[:o.live + o.sessions])]
        self.then = [(other, *one, True) for one in made[o.live + o.sessions:]]
        self.wanted = {key: [one[1] for one in self.first + self.then if one[0] == key and one[3]] for key in keys}
        self.began, self.others_began = time.monotonic(), None
        self.start()

    def send(self, sessions, over=0):
        work, began = queue.Queue(), time.monotonic()
        for i, one in enumerate(sessions):
            work.put((began + over * i / len(sessions), *one))
        senders = [Sender(self.server, work, self.counts) for _ in range(self.o.senders)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()

    def run(self):
        self.send(self.first, self.o.over)
        self.others_began = time.monotonic()
        self.send(self.then)


def last(times):
    return round(max((t for t, _ in times.values()), default=0), 2)


def meanwhile(sent, at, mine, other):
    """Returns what became of the first workspace's sessions between the last answer to the other one and its last loaded session."""
    if other not in sent.counts.last:  # nothing was sent of it in time
        return {"others_began_s": None, "others_took_s": None, "waited": None, "loaded_before_others": None}
    begin, known = sent.others_began - sent.began, sent.counts.last[other] - sent.began
    end = max((t for t, _ in at[other].values()), default=known)
    return {"others_began_s": round(begin, 2), "others_took_s": round(end - begin, 2),
            "waited": len(sent.wanted[mine]) - sum(t <= known for t, _ in at[mine].values()),
            "loaded_before_others": sum(known < t < end for t, _ in at[mine].values())}


def measure(o, program, recorded, folder):
    given = {"--loaders": o.loaders, "--memory": o.memory, "--max-backlog": o.backlog}
    server = Server(o.build, folder, *[str(word) for pair in given.items() if pair[1] for word in pair], program=program,
                    files=o.files)
    other, looked = other_workspace(server), Healthz(server)
    loops, readers = busy(o.busy), Readers(server, o)
    sent = Sent(server, o, (server.key, other), recorded)
    at, counts = wait_for_all(server, sent, o.patience), sent.counts
    if o.readers:
        sent.join(o.patience)
        time.sleep(o.read_for)
    reads, read_answers = readers.end()
    looked.done.set()
    for loop in loops:
        loop.kill()
        loop.wait()
    whole = collections.Counter(kernels for times in at.values() for _, kernels in times.values())
    result = {
        "server": program, "sent": sum(len(w) for w in sent.wanted.values()), "bytes_each": sum(map(len, recorded[1].values())),
        "answers": dict(counts), "reasons": sorted({re.sub(r"\d+", "N", r) for r in counts.reasons}),
        "body": milliseconds(counts.waits),
        "loaded": len(at[server.key]), "loaded_s": last(at[server.key]),
        "acknowledged_s": round(counts.last.get(server.key, sent.began) - sent.began, 2),
        "others_loaded": len(at[other]), "others_loaded_s": last(at[other]),
        "others_acknowledged_s": round(counts.last.get(other, sent.began) - sent.began, 2),
        **meanwhile(sent, at, server.key, other),
        "missing": sum(len(sent.wanted[k]) - len(at[k]) for k in at), "kernels": dict(whole),
        "set_aside": server.metric("gpufl_loader_set_aside_total"),
        "cpu_s": round(server.cpu(), 2), "healthz": milliseconds(looked.waits), "healthz_failed": looked.failed,
        "reads": milliseconds(reads), "read_answers": read_answers, "descriptors": looked.descriptors,
        "peak_rss_mib": round(server.peak() / 2**20)}
    sent.join(o.patience)
    server.close()
    columns = sum(p.stat().st_size for p in pathlib.Path(folder, "columns").rglob("*") if p.is_file())
    result["columns_mib"] = round(columns / 2**20, 1)
    return result


def in_its_store(o, program, recorded, folder):
    """Measures a server; with --clickhouse together with a ClickHouse of its own."""
    with clickhouse.ClickHouse() if o.clickhouse else contextlib.nullcontext() as store:
        if store:
            os.environ["GPUFL_SERVER_COLUMNS"] = store.url
        return measure(o, program, recorded, folder)


def wrong_order(o, r):
    """Returns what is wrong with the other workspace's wait, or None."""
    if not (o.others and o.sessions) or r["missing"]:
        return None
    if o.others_within is not None:
        late = r["others_took_s"] > o.others_within
        return f"the other workspace was loaded after {r['others_took_s']} s, not {o.others_within}" if late else None
    if o.backlog:
        return None
    if r["waited"] < 4:
        return f"the order was not tested: only {r['waited']} sessions waited when the other workspace's were acknowledged"
    if r["loaded_before_others"] > r["waited"] / 2:
        return f"the other workspace waited for {r['loaded_before_others']} of {r['waited']} sessions of the first one"
    return None


def wrong(o, r):
    order = wrong_order(o, r)
    p99 = r["healthz"].get("p99_ms", 0) / 1000
    return [text for bad, text in (
        (r["missing"], f"{r['missing']} sessions were acknowledged and are not loaded"),
        (r["kernels"] != {o.kernels: r["sent"]}, f"sessions have {r['kernels']} kernels, not {o.kernels}"),
        (r["set_aside"], f"{r['set_aside']} frames were set aside"),
        (set(r["read_answers"]) - {"200"}, f"readers got {r['read_answers']}"),
        (r["healthz_failed"], f"/healthz failed {r['healthz_failed']} times"),
        (o.healthz_within is not None and p99 > o.healthz_within, f"the P99 of /healthz is {p99} s, not {o.healthz_within}"),
        (o.loaded_within is not None and r["loaded_s"] > o.loaded_within, f"all was loaded after {r['loaded_s']} s, not {o.loaded_within}"),
        (o.memory_within is not None and r["peak_rss_mib"] > o.memory_within,
         f"the server had {r['peak_rss_mib']} MiB of memory, not {o.memory_within}"),
        (order, order),
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
    sys.exit(each_server(options(), in_its_store, wrong))
