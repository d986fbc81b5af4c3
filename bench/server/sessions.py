#!/usr/bin/env python3
"""Measures tens of thousands of small sessions: sending, listing, searching, and a restart of the server.

--senders processes send --sessions sessions as fast as the server takes them, each with its end; after a 429 or 503 a
sender waits as Retry-After says. The sessions have --apps different names of programs. When all are loaded, the list, a
search, the kernels of a session, and the histories of a kernel (that all sessions have) and of a program are each
requested --asks times, then the server ends and is started again. Several --server are measured in turn, so that two builds can be compared. Prints JSON: sessions a second until the last answer,
until the last session was loaded and until the last was analysed; processor time of all that; bytes on the disk (columns,
small tables) and of the rows as they were sent; memory; response times; seconds from the restart until /readyz says that
the server is ready, and until the list is there.

With --clickhouse the rows are in a clickhouse-server of the benchmark's own. Its processor time, statements a session
(including the benchmark's), parts, files and bytes are printed as well, when merges and deletions are done, and again
with --delete after that many sessions were deleted.

With --check the exit status is 1 if a session that was acknowledged is missing, or has other rows than were sent.

  bench/server/sessions.py [--build DIR] [--server FILE ...] [--sessions N] [--kernels N] [--clickhouse [--delete N]] [--check]
"""
import argparse
import collections
import contextlib
import gzip
import http.client
import multiprocessing
import os
import pathlib
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "bench" / "server"))
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import clickhouse  # noqa: E402
from burst import each_server  # noqa: E402
from served import Server, milliseconds, processor_time  # noqa: E402

LOOK_S = 0.5  # between two checks of how many are loaded
REST_S = 45  # s without a change, after which ClickHouse has removed the files of replaced parts


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--server", action="append", default=[], metavar="FILE", help="gpufl-server; else that of the build")
    parser.add_argument("--sessions", type=int, default=10000)
    parser.add_argument("--kernels", type=int, default=2000, help="kernels of each session")
    parser.add_argument("--apps", type=int, default=100, help="names of programs")
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--asks", type=int, default=50, help="times that each question is asked")
    parser.add_argument("--patience", type=float, default=600, metavar="S", help="longest wait until all is loaded")
    parser.add_argument("--folder", help="folder for the data; else a temporary one")
    parser.add_argument("--clickhouse", action="store_true", help="rows in ClickHouse, not in files")
    parser.add_argument("--delete", type=int, default=0, help="with --clickhouse: sessions deleted at the end")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is wrong")
    return parser.parse_args()


def renamed(number, apps, session, channels):
    """The session with another id and another program, as bodies of requests."""
    other, app = f"{number:08x}" + session[8:], f"app-{number % apps:04d}"
    return other, {c: gzip.compress(t.replace(session.encode(), other.encode()).replace(b'"gpufl-sim"', f'"{app}"'.encode()), 1)
                   for c, t in channels.items()}


def send(port, key, numbers, apps, recorded, ready, results):
    """Sends a sender's sessions, which are made before all senders begin; puts response times and answers by status into results."""
    made = [renamed(number, apps, *recorded) for number in numbers]
    ready.wait()
    began = time.monotonic()
    connection, waits, answers = http.client.HTTPConnection("127.0.0.1", port, timeout=600), [], collections.Counter()

    def ask(path, session, body=b"", **more):
        while True:
            began = time.monotonic()
            connection.request("POST", path, body, {"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson",
                                                    "X-GpuFlight-Session-Id": session, **more})
            answer = connection.getresponse()
            text = answer.read()
            waits.append(time.monotonic() - began)
            answers[str(answer.status)] += 1
            if answer.status == 200:
                return
            if answer.status not in (429, 503):
                raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
            time.sleep(float(answer.headers["Retry-After"]))

    for session, channels in made:
        for channel, body in channels.items():
            ask("/api/v1/events/stream", session, body,
                **{"X-GpuFlight-Channel": channel, "X-GpuFlight-Offset": "0", "Content-Encoding": "gzip"})
        ask("/api/v1/events/session-complete", session)
    results.put((began, waits, answers))


def metrics(server):
    text, _ = server.ask("GET", "/metrics")
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line and line[0] != "#"}


def wait_for_all(server, o):
    """Returns the time at which all sessions were listed and had ended; None if that took too long."""
    end = time.monotonic() + o.patience
    while time.monotonic() < end:
        now = time.monotonic()
        if not server.get("/api/v1/sessions?limit=1&state=live")["rows"] and len(every_session(server)) == o.sessions:
            return now
        time.sleep(LOOK_S)
    return None


def wait_for_analyses(server, o):
    """Returns the time at which all sessions had their report; None if that took too long."""
    end = time.monotonic() + o.patience
    while time.monotonic() < end:
        now = time.monotonic()
        waiting = [session for session, busy in every_session(server, "busy").items() if busy is None]
        if not waiting:
            return now
        while server.get(f"/api/v1/sessions/{waiting[0]}")["busy"] is None and time.monotonic() < end:
            time.sleep(LOOK_S)
    return None


def every_session(server, field="kernels"):
    """A field of all sessions by id, read page by page."""
    found, path = {}, "/api/v1/sessions?limit=1000"
    while path:
        answer = server.get(path)
        found.update((row["id"], row[field]) for row in answer["rows"])
        path = answer.get("next") and f"/api/v1/sessions?limit=1000&after={answer['next']}"
    return found


def timed(server, path, count):
    waits = []
    for i in range(count):
        began = time.monotonic()
        server.get(path(i))
        waits.append(time.monotonic() - began)
    return milliseconds(waits)


def on_disk(folder, pattern):
    return sum(p.stat().st_blocks * 512 for p in pathlib.Path(folder).rglob(pattern) if p.is_file())


def sent_all(server, o, recorded):
    """Sends all sessions; returns (when it began, when the last answer came, response times, answers)."""
    results, ready, began = multiprocessing.Queue(), multiprocessing.Barrier(o.senders), []
    senders = [multiprocessing.Process(target=send, args=(server.port, server.key, range(1 + i, o.sessions + 1, o.senders), o.apps, recorded,
                                                        ready, results))
               for i in range(o.senders)]
    for sender in senders:
        sender.start()
    waits, answers = [], collections.Counter()
    for _ in senders:
        start, more, counted = results.get(timeout=3600)
        began.append(start)
        waits += more
        answers += counted
    for sender in senders:
        sender.join()
    return min(began), time.monotonic(), waits, answers


# ---- rows in ClickHouse --------------------------------------------------------------------------

OURS = "database LIKE 'e2e%' AND active"


def files_below(folder):
    """The number of files; some may be removed meanwhile."""
    return sum(len(files) for _, _, files in os.walk(folder))


def numbers(store, what):
    """Selects figures of the active parts of our tables."""
    return [int(cell) for cell in store.ask(f"SELECT {what} FROM system.parts WHERE {OURS}")[0]]


def in_clickhouse(store, o):
    """Returns what ClickHouse stores now, and what it has used."""
    parts, rows, size, partitions = numbers(store, "count(), sum(rows), sum(bytes_on_disk), uniqExact(database, table, partition)")
    events = {name: int(value) for name, value in store.ask("SELECT event, value FROM system.events")}
    statements = {name: round(events.get(event, 0) / o.sessions, 2)
                  for name, event in (("selects_each", "SelectQuery"), ("inserts_each", "InsertQuery"), ("merged_rows_each", "MergedRows"))}
    return {**statements, "parts": parts, "partitions": partitions,
            "files": files_below(os.path.join(store.folder, "data", "data")),
            "rows": rows, "kib_each": round(size / 1024 / o.sessions, 1), "cpu_s": round(processor_time(store.process.pid), 1)}


def rested(store, o):
    """Waits until the number of parts has not changed for some seconds and no deletion runs; returns in_clickhouse()."""
    end, seen, since = time.monotonic() + o.patience, None, time.monotonic()
    while time.monotonic() < end:
        now = numbers(store, "count(), sum(rows)"), store.ask("SELECT count() FROM system.mutations WHERE NOT is_done")
        if now != seen or now[1] != [["0"]]:
            seen, since = now, time.monotonic()
        if time.monotonic() - since > REST_S:
            break
        time.sleep(LOOK_S)
    return in_clickhouse(store, o)


def delete(server, store, o, ids):
    """Deletes sessions; returns the seconds until ClickHouse has none of their rows, and what it stores then."""
    began, rows = time.monotonic(), numbers(store, "sum(rows)")[0]
    for session in ids[:o.delete]:
        server.ask("DELETE", f"/api/v1/sessions/{session}", headers=server.owner)
    end, left = time.monotonic() + o.patience, rows
    most = rows * (1 - o.delete / o.sessions) + 50 * o.sessions  # the commits and the history of a deleted session stay
    while left > most and time.monotonic() < end:
        time.sleep(LOOK_S)
        left = numbers(store, "sum(rows)")[0]
    return {"sessions": o.delete, "s": round(time.monotonic() - began, 1) if left <= most else None, **rested(store, o)}


def restarted(o, program, folder, key, result):
    began = time.monotonic()
    server = Server(o.build, folder, program=program, key=key)
    server.until("/readyz", lambda answer: True)
    result["restart_ready_s"] = round(time.monotonic() - began, 2)
    server.get("/api/v1/sessions?limit=50")
    result["restart_listed_s"] = round(time.monotonic() - began, 2)
    result["restart_rss_mib"] = round(server.peak() / 2**20)
    found = every_session(server)
    server.close()
    return found


def measure(o, program, recorded, folder, store):
    server = Server(o.build, folder, program=program)
    began, answered, waits, answers = sent_all(server, o, recorded)
    done = wait_for_all(server, o)
    until_loaded = server.cpu()
    at_end = {**in_clickhouse(store, o), "server_cpu_s": round(server.cpu(), 2)} if store else None
    analysed = done and wait_for_analyses(server, o)
    ids = list(every_session(server).items())
    whole = collections.Counter(kernels for _, kernels in ids)
    body = sum(len(gzip.compress(text, 6)) for text in recorded[1].values())
    result = {"server": program, "sessions": o.sessions, "kernels_each": o.kernels, "sent_bytes_each": body,
              "answers": dict(answers), "bodies": milliseconds(waits),
              "acknowledged_a_s": round(o.sessions / (answered - began), 1),
              "loaded_a_s": round(o.sessions / (done - began), 1) if done else None,
              "analysed_a_s": round(o.sessions / (analysed - began), 1) if analysed else None,
              "found": len(ids), "kernels": dict(whole)}
    some = [ids[i * len(ids) // o.asks][0] for i in range(o.asks)]
    result["list"] = timed(server, lambda i: "/api/v1/sessions?limit=50", o.asks)
    result["search"] = timed(server, lambda i: f"/api/v1/sessions?limit=50&text=app-{i % o.apps:04d}", o.asks)
    result["kernels_of_one"] = timed(server, lambda i: f"/api/v1/sessions/{some[i]}/kernels", o.asks)
    kernel = urllib.parse.quote(server.get("/api/v1/kernels/history?limit=1")["mangled"][0])
    result["history_of_a_kernel"] = timed(server, lambda i: f"/api/v1/history?kind=kernel&name={kernel}", o.asks)
    result["history_of_an_app"] = timed(server, lambda i: f"/api/v1/history?kind=app&name=app-{i % o.apps:04d}", o.asks)
    result["cpu_s"] = round(server.cpu(), 1)
    result["cpu_ms_each_until_loaded"] = round(until_loaded / o.sessions * 1000, 2)
    result["cpu_ms_each"] = round(server.cpu() / o.sessions * 1000, 2)
    result["peak_rss_mib"] = round(server.peak() / 2**20)
    result["descriptors"] = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    counted = metrics(server)
    result["analyses"] = {name: counted.get(f"gpufl_analysis_{name}_total") for name in ("reports", "final", "cpu_seconds")}
    result["set_aside"] = counted.get("gpufl_loader_set_aside_total")
    if store:
        result["clickhouse"] = {"when_loaded": at_end, "at_rest": rested(store, o)}
    if o.delete:
        result["clickhouse"]["deleted"] = delete(server, store, o, [session for session, _ in reversed(ids)])
        ids = ids[:-o.delete]
    key = server.key
    server.close()
    result["columns_kib_each"] = round(on_disk(f"{folder}/columns", "*") / 1024 / o.sessions, 1)
    result["small_tables_kib_each"] = round(on_disk(folder, "meta.db*") / 1024 / o.sessions, 1)
    result["files"] = sum(1 for _ in pathlib.Path(f"{folder}/columns").rglob("*"))
    again = restarted(o, program, folder, key, result)
    result["missing_after_restart"] = len(set(dict(ids)) - set(again))
    return result


def wrong(o, r):
    return [text for bad, text in (
        (not r["loaded_a_s"], "not all sessions were loaded in time"),
        (not r["analysed_a_s"], "not all sessions were analysed in time"),
        (r["found"] != o.sessions, f"{r['found']} of {o.sessions} sessions are there"),
        (r["kernels"] != {o.kernels: o.sessions}, f"sessions have {r['kernels']} kernels, not {o.kernels}"),
        (r["set_aside"], f"{r['set_aside']} frames were set aside"),
        (r["missing_after_restart"], f"{r['missing_after_restart']} sessions were missing after the restart"),
    ) if bad]


def in_its_store(o, program, recorded, folder):
    """Measures a server; with --clickhouse together with a ClickHouse of its own."""
    with clickhouse.ClickHouse() if o.clickhouse else contextlib.nullcontext() as store:
        if store:
            os.environ["GPUFL_SERVER_COLUMNS"] = store.url
        return measure(o, program, recorded, folder, store)


if __name__ == "__main__":
    given = options()
    sys.exit(each_server(given, in_its_store, wrong, given.folder))
