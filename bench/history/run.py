#!/usr/bin/env python3
"""Measures the pages that show a year: Trends, Sums over days, the fleet and a host, over HTTP.

A server makes a data folder, `bench_year_fill` fills it with a year of --sessions finished sessions of --apps applications
on --hosts hosts, and each --server is started on a copy of it. All servers run at the same time, and each question is asked of
one after the other, --asks times, so that builds are compared under the same load. Prints a line for each question and
server: median and greatest wait, the server's processor time for one answer, bytes of the answer; and says whether the answers of
all servers are the same (fractions may differ by --nearly of their value). With --json the figures
go to a file. With --check the exit status is 1 if a median is above --within ms, or answers differ.

  bench/history/run.py [--build DIR] [--server FILE ...] [--sessions N] [--apps N] [--hosts N] [--asks N] [--keep FOLDER | --clickhouse] [--check]

With --keep the filled folder is kept there, and used again. With --clickhouse the history is in a clickhouse-server of the
benchmark's own, which all servers ask; its processor time for one answer is printed too.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "e2e")]
import clickhouse  # noqa: E402
from served import Server, percentile, processor_time  # noqa: E402

FIRST, DAYS = 20001, 365  # as bench/meta/year.h
DAY_NS = 86400 * 10**9
COMMON, ONE = "_Z0application0_name0PfS_S_", "_Z3application7_name3PfS_S_"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--server", action="append", default=[], metavar="FILE", help="gpufl-server; else that of the build")
    parser.add_argument("--sessions", type=int, default=100000)
    parser.add_argument("--apps", type=int, default=50)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--asks", type=int, default=20, help="times that each question is asked")
    parser.add_argument("--only", default="", metavar="TEXT", help="only questions whose address contains this")
    parser.add_argument("--keep", metavar="FOLDER", help="where the filled data folder is kept, and used again")
    parser.add_argument("--clickhouse", action="store_true", help="the history is in ClickHouse, not in files")
    parser.add_argument("--nearly", type=float, default=1e-9, metavar="PART", help="numbers that differ by less are the same")
    parser.add_argument("--within", type=float, default=100, metavar="MS", help="with --check: the greatest median")
    parser.add_argument("--json", metavar="FILE", help="where the figures go")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is wrong")
    return parser.parse_args()


def questions():
    """Returns what the pages ask about a year, as (page, address)."""
    year = {"from": FIRST, "to": FIRST + DAYS}
    ns = {"from": FIRST * DAY_NS, "to": (FIRST + DAYS) * DAY_NS}

    def of(page, path, **values):
        return page, f"/api/v1{path}?{urllib.parse.urlencode(values)}"

    yield of("trends", "/history", kind="kernel", name=COMMON)
    yield of("trends", "/history", kind="kernel", name=COMMON, shape="4096x1x1/256x1x1")
    yield of("trends", "/history", kind="kernel", name=COMMON, host="node-007")
    yield of("trends", "/history", kind="kernel", name=COMMON, app="train-7.py")
    yield of("trends", "/history", kind="kernel", name=ONE, **ns)
    yield of("trends", "/history", kind="scope", name="epoch|step|part 1")
    yield of("trends", "/history", kind="app", name="train-7.py")
    for kind in ("kernel", "scope", "app"):
        yield of("trends", "/kernels/history", kind=kind, limit=20000)
    yield of("trends", "/kernels/history", kind="kernel", limit=20000, pattern="name3")
    for kind in ("kernel", "scope", "app"):
        yield of("trends", "/history/names", kind=kind, limit=1000)
    yield of("trends", "/history/names", kind="kernel", limit=1000, pattern="name3")
    yield of("trends", "/session-names", by="app", limit=200)
    yield of("trends", "/session-names", by="host", limit=200)
    for kind in ("kernel", "scope", "line"):
        yield of("sums", "/rollups", kind=kind, limit=100, **year)
        yield of("sums", "/rollups", kind=kind, limit=100, app="train-7.py", **year)
        yield of("sums", "/rollups", kind=kind, limit=100, host="node-007", **year)
        yield of("sums", "/rollups", kind=kind, limit=100, app="train-7.py", host="node-007", **year)
    for by in ("day", "app", "host"):
        yield of("sums", "/rollups/days", kind="kernel", name=ONE, by=by, limit=1000, **year)
        yield of("sums", "/rollups/days", kind="kernel", name=ONE, by=by, limit=1000, host="node-007", **year)
        yield of("sums", "/rollups/days", kind="kernel", name="", by=by, limit=1000, **year)
    for by in ("host", "app", "gpu"):
        yield of("fleet", "/fleet", by=by, limit=200, **year)
        yield of("fleet", "/usage", by=by, limit=1000, **year)
    yield of("fleet", "/usage", by="day", limit=1000, **year)
    for path in ("/hosts", "/gpus", "/running", "/session-count"):
        yield of("fleet", path)
    yield of("host", "/usage", by="host", name="node-007", limit=1000, **year)
    yield of("host", "/usage", by="gpu", host="node-007", limit=1000, **year)
    yield of("host", "/usage", by="gpu", app="train-7.py", limit=1000, **year)
    yield of("host", "/sessions", host="node-007", limit=20, **ns)
    yield of("host", "/findings", host="node-007", limit=1000, **ns)


def filled(o, folder):
    """Makes a data folder with a year in it, unless it is there. Returns the key to ask with."""
    key = pathlib.Path(folder) / "key"
    if not key.exists():
        server = Server(o.build, str(folder / "data"), program=o.server[0])
        workspace = server.ask("GET", "/api/v1/workspaces", headers=server.owner)[0]["rows"][0]["id"]
        server.close()
        began = time.monotonic()
        subprocess.run([f"{o.build}/bin/bench_year_fill", str(folder / "data"), workspace, str(o.sessions), str(o.apps), str(o.hosts)], check=True)
        print(f"filled in {time.monotonic() - began:.0f} s", file=sys.stderr)
        key.write_text(server.key)
    return key.read_text()


def bring_up(program, data):
    """Brings the history into the form of a server's build, as the next session would; an older build refuses."""
    fill, workspaces = pathlib.Path(program).parent / "bench_year_fill", list((data / "columns").iterdir())
    if fill.exists():
        subprocess.run([fill, data, workspaces[0].name, "0"], check=False, stderr=subprocess.DEVNULL)


def same(a, b, nearly):
    """Returns True if two answers are the same, except for the last digits of fractions."""
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= nearly * max(abs(a), abs(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], nearly) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, nearly) for x, y in zip(a, b))
    return a == b


def ask(server, address):
    """Asks once; returns the seconds until the answer's last byte, and its bytes; None: an older build has no such address."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    began = time.monotonic()
    connection.request("GET", address, headers={"Authorization": f"Bearer {server.key}"})
    response = connection.getresponse()
    text = response.read()
    took = time.monotonic() - began
    connection.close()
    if response.status == 404:
        return took, None
    if response.status != 200:
        raise RuntimeError(f"{address}: {response.status} {text[:300]!r}")
    return took, text


def measure(o, servers, store, page, address):
    """Asks all servers in turn; returns their figures."""
    texts = [ask(server, address)[1] for server in servers]  # the first answers also warm caches
    waits, used = [[] for _ in servers], [0.0 for _ in servers]
    before = processor_time(store.process.pid) if store else 0
    for _ in range(o.asks):
        for i, server in enumerate(servers):
            cpu = server.cpu()
            waits[i].append(ask(server, address)[0])
            used[i] += server.cpu() - cpu
    store_ms = round((processor_time(store.process.pid) - before) * 1e3 / o.asks / len(servers), 1) if store else None
    answers = [json.loads(text) for text in texts if text is not None]
    result = {"page": page, "address": urllib.parse.unquote(address), "same": all(same(answers[0], a, o.nearly) for a in answers),
              "store_cpu_ms": store_ms, "servers": []}
    for text, took, cpu in zip(texts, waits, used):
        result["servers"].append(text and {"p50_ms": round(percentile(took, 50) * 1e3, 1), "most_ms": round(max(took) * 1e3, 1),
                                           "cpu_ms": round(cpu * 1e3 / o.asks, 1), "bytes": len(text)})
    return result


def show(result):
    parts = [f"p50 {s['p50_ms']:7.1f}  most {s['most_ms']:7.1f}  cpu {s['cpu_ms']:6.1f}  {s['bytes']:8}" if s else f"{'no such address':>50}"
             for s in result["servers"]]
    if result["store_cpu_ms"] is not None:
        parts.append(f"store's cpu {result['store_cpu_ms']:6.1f}")
    print(f"{result['page']:6} {result['address'][7:]:100.100} {'  |  '.join(parts)}{'' if result['same'] else '   DIFFERENT'}", flush=True)
    return result


def main(o):
    o.server = o.server or [f"{o.build}/bin/gpufl-server"]
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(clickhouse.ClickHouse()) if o.clickhouse else None
        if store:
            os.environ["GPUFL_SERVER_COLUMNS"] = store.url
        made = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpufl-year-")))
        source = pathlib.Path(o.keep) if o.keep else made / "year"
        source.mkdir(exist_ok=True)
        key, servers = filled(o, source), []
        for i, program in enumerate(o.server):
            shutil.copytree(source / "data", made / f"data-{i}")
            if not store:
                bring_up(program, made / f"data-{i}")
            server = Server(o.build, str(made / f"data-{i}"), program=program, key=key)
            stack.callback(server.close)
            server.until("/readyz", lambda answer: True)
            servers.append(server)
        print(f"{o.sessions} sessions, load average {os.getloadavg()[0]:.1f}, servers: {' '.join(o.server)}")
        results = [show(measure(o, servers, store, page, address)) for page, address in questions() if o.only in address]
        print(f"memory, MiB: {' '.join(str(round(server.peak() / 2**20)) for server in servers)}; load average {os.getloadavg()[0]:.1f}")
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(results, indent=2))
    wrong = [r["address"] for r in results if not r["same"] or not r["servers"][-1] or r["servers"][-1]["p50_ms"] > o.within]
    for address in wrong if o.check else []:
        print(f"wrong: {address}", file=sys.stderr)
    return 1 if o.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main(options()))
