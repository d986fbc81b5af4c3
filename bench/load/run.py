#!/usr/bin/env python3
"""Measures the server under load for --seconds: --hosts hosts send their metrics each second, --live sessions send
their kernels each second, and --readers people use the dashboard.

The sessions are those of `gpufl sim` with other ids and host names, cut into pieces of a second. A reader opens a page
each --pause seconds: it sends the page's requests one after the other on one connection. Senders, readers and server
share the machine. Prints JSON: response times of reads by request and of sends, answers by status, the server's
processor time and memory, and how long rows took from sending until they could be requested, by a probe of the server's
own.

With --soak S it runs for S seconds: sessions of --seconds follow each other, and end; retention keeps --keep MiB of
them. Memory, descriptors, threads, journal and disk are measured every five seconds and must not grow: the maximum of
the last third of the time is compared with that of the second third. The exit status is 1 if one of them grows or if a
read or a send is answered with 5xx; "wrong" says which.

  bench/load/run.py [--build DIR] [--hosts N] [--live N] [--rate N] [--readers N] [--pause S] [--seconds S]
                    [--soak S [--keep MIB]]
"""
import argparse
import asyncio
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from served import Server, milliseconds  # noqa: E402

DAY = 86_400
PAGES = {  # what a reader asks about the workspace, and about a session
    "fleet": ["/api/v1/hosts?limit=1000", "/api/v1/gpus?limit=1000", "/api/v1/running"],
    "sessions": ["/api/v1/sessions?limit=100", "/api/v1/session-count"],
    "session": ["{s}/summary", "{s}/insights", "{s}/kernels?limit=100", "{s}/lanes", "{s}/sync"],
    "timeline": ["{s}/tiles?level=2&lanes={lanes}&from=0&to=60000000000", "{s}/spans?level=2&lanes={lanes}&from=0&to=60000000000"],
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--live", type=int, default=20, help="sessions that send kernels")
    parser.add_argument("--rate", type=int, default=2000, help="kernels a second of each")
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--pause", type=float, default=2.0, help="s between a reader's pages")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--soak", type=int, default=0, metavar="S", help="go on for so long, and look at what grows")
    parser.add_argument("--keep", type=int, default=200, metavar="MIB", help="of sessions, with --soak")
    return parser.parse_args()


# ---- what is sent --------------------------------------------------------------------------------


def record(build, folder, kernels):
    """Simulates a session; returns its lines by channel, and its id."""
    printed = json.loads(subprocess.run([f"{build}/bin/gpufl", "sim", "--kernels", str(kernels), "--scopes", "--rate", "max",
                                         "--output", folder], capture_output=True, text=True, check=True).stdout)
    paths = sorted(pathlib.Path(printed["directory"]).glob("*.log"), key=lambda p: [len(p.name), p.name])
    channels = {}
    for path in paths:
        lines = path.read_bytes().splitlines(keepends=True)
        old = channels.setdefault(path.name.split(".")[0], [])
        old += lines if not old else lines[1:]  # the header of a later part says nothing new
    return printed["session"], channels


def pieces(lines, count):
    """Splits lines into this number of pieces of about equal length."""
    return [b"".join(lines[len(lines) * i // count:len(lines) * (i + 1) // count]) for i in range(count)]


def metric_pieces(lines, seconds):
    """The pieces of the system channel: its first lines, then a row of metrics for each second."""
    head = [line for line in lines if not re.match(rb'\{"type":"(device_metric|host_metric|ledger|end)"', line)]
    metric = json.loads(next(line for line in lines if line.startswith(b'{"type":"device_metric"')))
    row = {name: value[0] if isinstance(value, list) else value for name, value in metric.items()} | {"rows": 1}
    tick = [json.dumps(row | {"time": row["time"] + i * 1_000_000_000}, separators=(",", ":")).encode() + b"\n"
            for i in range(seconds)]
    return [b"".join(head)] + tick


class Sender:
    """A session's channels, a piece each second."""

    def __init__(self, number, host, session, channels):
        self.session = f"{number:08x}" + session[8:]
        self.name, self.offset = host, dict.fromkeys(channels, 0)
        self.pieces = {channel: [self.renamed(piece, session) for piece in cut] for channel, cut in channels.items()}

    def renamed(self, piece, session):
        host = b'"host":"%s"' % self.name.encode()
        return re.sub(rb'"host":"[^"]*"', host, piece.replace(session.encode(), self.session.encode()), count=1)


# ---- a connection --------------------------------------------------------------------------------


class Connection:
    """An HTTP/1.1 connection for one request after the other. It is made again after a pause in which the server may
    have closed it."""

    PAUSE_S = 30

    def __init__(self, server):
        self.server, self.reader, self.used = server, None, 0

    async def ask(self, method, path, body=b"", headers=()):
        if self.reader and time.monotonic() - self.used > self.PAUSE_S:
            self.writer.close()
            self.reader = None
        self.used = time.monotonic()
        if not self.reader:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 24)
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:%d" % self.server.port,
                f"Authorization: Bearer {self.server.key}", f"Content-Length: {len(body)}", *headers]
        began = time.monotonic()
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, length = int(answer[9:12]), re.search(r"(?i)content-length: (\d+)", answer)
        text = b""
        if length:
            text = await self.reader.readexactly(int(length.group(1)))
        elif re.search(r"(?i)transfer-encoding: chunked", answer):
            while size := int(await self.reader.readline(), 16):
                text += await self.reader.readexactly(size)
                await self.reader.readline()
            await self.reader.readline()
        return status, text, time.monotonic() - began


class Counts:
    def __init__(self):
        self.waits, self.statuses = {}, {}

    def add(self, what, status, seconds):
        self.waits.setdefault(what, []).append(seconds)
        key = f"{what} {status}"
        self.statuses[key] = self.statuses.get(key, 0) + 1


# ---- who does what -------------------------------------------------------------------------------


async def send(sender, server, counts, until, kind):
    connection = Connection(server)
    await asyncio.sleep(random.random())
    at = time.monotonic()
    for step in range(max(len(cut) for cut in sender.pieces.values())):
        for channel, cut in sender.pieces.items():
            if step >= len(cut) or not cut[step]:
                continue
            headers = ["Content-Type: application/x-ndjson", f"X-GpuFlight-Session-Id: {sender.session}",
                       f"X-GpuFlight-Channel: {channel}", f"X-GpuFlight-Offset: {sender.offset[channel]}"]
            while True:
                status, _, seconds = await connection.ask("POST", "/api/v1/events/stream", cut[step], headers)
                counts.add(kind, status, seconds)
                if status != 429:
                    break
                await asyncio.sleep(1)
            sender.offset[channel] += len(cut[step])
        at += 1
        if at > until:
            return
        await asyncio.sleep(max(0, at - time.monotonic()))


async def read(server, counts, sessions, lanes, pause, until):
    connection, chance = Connection(server), random.Random()
    await asyncio.sleep(pause * chance.random())
    while time.monotonic() < until:
        session = chance.choice(sessions)
        for question in PAGES[chance.choice(list(PAGES))]:
            path = question.format(s=f"/api/v1/sessions/{session}", lanes=lanes)
            status, _, seconds = await connection.ask("GET", path)
            counts.add("read " + question.split("?")[0].replace("/api/v1", "").replace("{s}", "session"), status, seconds)
        await asyncio.sleep(pause)


async def work(o, server, senders, metrics, lanes):
    counts, until = Counts(), time.monotonic() + o.seconds
    sessions = [s.session for s in senders]
    everybody = [send(s, server, counts, until, "send kernels") for s in senders]
    everybody += [send(s, server, counts, until, "send metrics") for s in metrics]
    await asyncio.gather(*everybody, later(5, lambda: [read(server, counts, sessions, lanes, o.pause, until)
                                                       for _ in range(o.readers)]))
    return counts


# ---- for long -----------------------------------------------------------------------------------

LOOK_S = 5
# The greatest value of the last third of a run is at most that of the second third times the first number plus the second.
ALLOWED = {
    "rss_mib": (1.15, 16), "fds": (1.0, 24), "threads": (1.0, 4), "journal_mib": (1.5, 64), "disk_mib": (1.3, 64)}


def folder_mib(path):
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_blocks * 512
        except OSError:  # the file was removed meanwhile
            pass
    return total / 2**20


def look_at(server, data):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return {"rss_mib": int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024,
            "threads": int(re.search(r"Threads:\s+(\d+)", status).group(1)),
            "fds": len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir())),
            "journal_mib": folder_mib(data / "journal"), "disk_mib": folder_mib(data)}


async def watch(server, data, looks, until):
    while time.monotonic() < until:
        looks.append(await asyncio.to_thread(look_at, server, data))
        await asyncio.sleep(LOOK_S)


async def again_and_again(make, server, counts, until, kind, current):
    """Sends sessions one after the other: each ends before the next one begins."""
    connection, number = Connection(server), 0
    while time.monotonic() < until:
        sender = make(number)
        current[kind, sender.name] = sender.session
        await send(sender, server, counts, until, kind)
        status, _, seconds = await connection.ask("POST", "/api/v1/events/session-complete",
                                                  headers=[f"X-GpuFlight-Session-Id: {sender.session}"])
        counts.add("complete", status, seconds)
        number += 1


async def read_on(server, counts, current, lanes, o, until):
    while time.monotonic() < until:
        live = [session for (kind, _), session in current.items() if kind == "send kernels"]
        if live:
            await read(server, counts, live, lanes, o.pause, min(until, time.monotonic() + o.seconds))
        await asyncio.sleep(1)


async def soak(o, server, make_live, make_metrics, lanes, data):
    counts, until, looks, current = Counts(), time.monotonic() + o.soak, [], {}
    everybody = [again_and_again(lambda n, i=i: make_live(i, n), server, counts, until, "send kernels", current) for i in range(o.live)]
    everybody += [again_and_again(lambda n, i=i: make_metrics(i, n), server, counts, until, "send metrics", current)
                  for i in range(o.hosts)]
    everybody += [read_on(server, counts, current, lanes, o, until) for _ in range(o.readers)]
    await asyncio.gather(watch(server, data, looks, until), *everybody)
    return counts, looks


def grown(looks, counts):
    """A sentence for each fault that was found."""
    said, third = [], len(looks) // 3
    for name, (factor, more) in ALLOWED.items():
        before = max(look[name] for look in looks[third:2 * third])
        after = max(look[name] for look in looks[2 * third:])
        if after > before * factor + more:
            said.append(f"{name} grew from {before:.0f} to {after:.0f}")
    said += [f"{n} answers: {what}" for what, n in counts.statuses.items() if what.rsplit(" ", 1)[1][0] == "5"]
    return said


async def later(seconds, make):
    await asyncio.sleep(seconds)
    await asyncio.gather(*make())


def main():
    o = options()
    folder = tempfile.mkdtemp(prefix="gpufl-bench-")
    try:
        session, lines = record(o.build, f"{folder}/sim", o.rate * o.seconds)
        cut = {channel: pieces(lines[channel], o.seconds) for channel in ("system", "scope", "device")}
        live_cut, cut = cut, {"system": metric_pieces(lines["system"], o.seconds)}
        server = Server(o.build, f"{folder}/data")
        lanes = ",".join(str((1 << 56) + i) for i in range(1, 5))
        cpu, began, looks = server.cpu(), time.monotonic(), []
        if o.soak:
            server.keep(o.keep << 20)
            counts, looks = asyncio.run(soak(
                o, server, lambda i, n: Sender(n << 20 | i, f"live-{i:03}", session, live_cut),
                lambda i, n: Sender(n << 20 | 0x10000 + i, f"host-{i:03}", session, cut), lanes, pathlib.Path(folder) / "data"))
        else:
            live = [Sender(i, f"live-{i:03}", session, live_cut) for i in range(o.live)]
            metrics = [Sender(0x10000 + i, f"host-{i:03}", session, cut) for i in range(o.hosts)]
            counts = asyncio.run(work(o, server, live, metrics, lanes))
        seconds = time.monotonic() - began
        reads = [w for what, waits in counts.waits.items() if what.startswith("read") for w in waits]
        result = {"hosts": o.hosts, "live": o.live, "kernels_per_s": o.rate * o.live, "readers": o.readers,
                  "seconds": round(seconds, 1), "reads": milliseconds(reads),
                  "by_question": {what: milliseconds(waits) for what, waits in sorted(counts.waits.items())},
                  "statuses": dict(sorted(counts.statuses.items())),
                  "server_cpu_cores": round((server.cpu() - cpu) / seconds, 2),
                  "lag_s": server.metric("gpufl_loader_lag_seconds"), "peak_rss_mib": round(server.peak() / 2**20)}
        wrong = grown(looks, counts) if o.soak else []
        if o.soak:
            result["looks"] = {name: [round(look[name]) for look in looks] for name in ALLOWED}
            result["wrong"] = wrong
        server.close()
        print(json.dumps(result, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
