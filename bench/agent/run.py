#!/usr/bin/env python3
"""Measures what gpufl-agent costs: `run.py [throughput] [idle] [latency] [live] [fleet] [wire] [archive] [--build DIR] [--megabytes N] …`.

throughput  Plain NDJSON read, packed and sent by the agent, compared with `zstd -1` (and `gzip -1`) alone over the same bytes,
            interleaved: processor time (user and system) of each, median of the rounds. The server answers at once.
idle        10 000 finished folders that the cursor knows: processor time over a minute, resident bytes.
latency     Time from writing to arrival of single lines, one a second in each of 8 sessions.
live        Time from writing to a real server's counts of the session, as a page asks for them that follows events.
fleet       Time from writing to a real server's newest samples on the fleet page: by events, and by the answers alone.
wire        Bytes on the wire for a kernel, of recorded sessions of PyTorch programs in tests/data/answers: of the whole
            session, of each channel, and of its records of kernels alone, sent together and as a program writes them.
archive     The most memory of the agent, and of `restore`, for a session of 8 MB and one of --megabytes MB.
"""
import argparse
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import agent_run  # pylint: disable=wrong-import-position
import ingest_server  # pylint: disable=wrong-import-position
import live_server  # pylint: disable=wrong-import-position

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


class Sink(http.server.BaseHTTPRequestHandler):
    """Accepts everything, and answers at once."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    received = 0
    by_channel = {}
    positions = None  # the server's answer about what each session has; None: the address does not exist

    def log_message(self, *_):
        pass

    def say(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.say(200 if Sink.positions else 404, Sink.positions or b"{}")

    def do_POST(self):
        before = Sink.received
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline() or b"0", 16):
                Sink.received += len(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            Sink.received += len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        channel = self.headers.get("X-GpuFlight-Channel")
        if channel:
            Sink.by_channel[channel] = Sink.by_channel.get(channel, 0) + Sink.received - before
        self.say(200, b'{"accepted":0,"rejected":0}')


def sink():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


@contextlib.contextmanager
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-bench-agent-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def cpu_of_children(call):
    """Processor time (user and system, s) of the processes that call starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drain(agent, state, logs, url, *options):
    """Runs the agent until it has sent all logs."""
    with agent_run.Agent(agent, state, url, [logs], "--no-names", *options) as a:
        a.ask("drain")
        a.wait()


def throughput(args):
    agent, gpufl = args.build / "bin/gpufl-agent", args.build / "bin/gpufl"
    server, url = sink()
    with folder() as place:
        logs = place / "logs"
        subprocess.run([gpufl, "sim", "-k", str(args.megabytes * 25000), "-o", logs],
                       env={**ENV, "GPUFL_LOG_ROTATE_BYTES": str(1 << 40)}, check=True, stdout=subprocess.DEVNULL)
        text = [str(p) for p in sorted(logs.glob("*/*.log"))]
        size = sum(os.path.getsize(p) for p in text)
        for name, alone in (("zstd", ["zstd", "-1", "-q", "-c", "--single-thread"]), ("gzip", ["gzip", "-1", "-c"])):
            pack, ours, sent = [], [], 0
            for n in range(args.rounds):
                pack.append(cpu_of_children(lambda alone=alone: subprocess.run([*alone, *text], check=True,
                                                                               stdout=subprocess.DEVNULL)))
                Sink.received = 0
                ours.append(cpu_of_children(lambda n=n, name=name: drain(agent, place / f"state-{name}-{n}", logs, url,
                                                                         "--compression", name)))
                sent = Sink.received
            a, b = statistics.median(pack), statistics.median(ours)
            print(f"throughput {name}: {size / 1e6:.1f} MB plain, {sent / 1e6:.2f} MB sent; `{' '.join(alone)}` "
                  f"{size / a / 1e6:.0f} MB/s, agent {size / b / 1e6:.0f} MB/s of processor time: {100 * a / b:.0f} % "
                  f"(rounds: {', '.join(f'{x:.2f}/{y:.2f}' for x, y in zip(pack, ours))} s)")
    server.shutdown()


def finished_folders(logs, state):
    """Writes 10 000 session folders, and a cursor that says that they are sent."""
    notes = ["gpufl-agent-cursor 1\n"]
    for n in range(10_000):
        log = agent_run.Log(logs, f"{n:08x}-0000-4000-8000-000000000000")
        log.end()
        notes.append(f"d {log.name} {os.stat(log.folder).st_mtime_ns} 1\n")
    (state / "cursor").write_text("".join(notes))


def idle_share(pid, seconds):
    """The share of a core that a process takes over the given seconds, which begin two seconds after the call."""
    time.sleep(2)
    began, at = cpu_of(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_of(pid) - began) / (time.monotonic() - at)


def idle(args):
    server, url = sink()
    Sink.positions = b'{"channels":[{"channel":"device","offset":1}]}'  # answers the agent, which asks whether all is there
    with folder() as place:
        logs, state = place / "logs", place / "state"
        state.mkdir()
        finished_folders(logs, state)
        with agent_run.Agent(args.build / "bin/gpufl-agent", state, url, [logs], "--no-names") as a:
            a.until_done(10_000)
            share = idle_share(a.process.pid, args.seconds)
            with agent_run.memory_of(a.process) as memory:
                print(f"idle: 10000 finished folders: {100 * share:.3f} % of a core over {args.seconds} s, "
                      f"{memory() / (1 << 20):.1f} MiB resident, {len(os.listdir(f'/proc/{a.process.pid}/fd'))} descriptors")
    Sink.positions = None
    server.shutdown()


def latency(args):
    server, late, written = ingest_server.Server(), [], {}
    take = server.RequestHandlerClass.take_offset

    def timed(handler, session, body, step):
        answer = take(handler, session, body, step)
        now = time.monotonic()
        for line in bytes(body).splitlines():
            if line in written:
                late.append(now - written.pop(line))
        return answer
    server.RequestHandlerClass.take_offset = timed
    with folder() as place:
        logs = [agent_run.Log(place / "logs", f"live{n}") for n in range(args.sessions)]
        with agent_run.Agent(args.build / "bin/gpufl-agent", place / "state", server.url, [place / "logs"]) as a:
            a.ask("flush")
            began, lines = time.monotonic(), 0
            for second in range(args.seconds):
                for n, log in enumerate(logs):
                    before = time.monotonic()
                    log.kernel(1000 * n + second)
                    written[log.lines["device"][-1]] = before
                    lines += 1
                    time.sleep(max(0, began + lines / len(logs) - time.monotonic()))
            a.ask("flush")
        late.sort()
        print(f"latency: {len(late)} lines of {lines}, one a second in each of {args.sessions} sessions: median "
              f"{1000 * late[len(late) // 2]:.0f} ms, P99 {1000 * late[len(late) * 99 // 100]:.0f} ms, "
              f"most {1000 * late[-1]:.0f} ms")
    server.close()


def event_data(server, owner):
    """Yields the data of the server's events as they come."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=live_server.DEADLINE_S)
    link.request("GET", "/api/v1/live", headers=owner)
    with contextlib.closing(link):
        for line in link.getresponse():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def events(server, owner):
    """Yields the session that each event of the server names; None for an event that names none."""
    return (data.get("session") for data in event_data(server, owner))


def live(args):
    """A page asks when an event of its session comes, at most once a second. Measures how long after its writing a line
    is in an answer."""
    with folder() as place:
        server = live_server.Server(args.build / "bin/gpufl-server", place / "server")
        owner = live_server.set_up(server)
        secret = live_server.key(server, owner, "ingest")
        logs = [agent_run.Log(place / "logs", f"live{n}") for n in range(8)]
        late, written, over = [], {log.name: [] for log in logs}, threading.Event()

        def page(log):
            seen, asked = 0, 0.0
            for name in events(server, owner):
                if over.is_set():
                    return
                if name != log.name:
                    continue
                time.sleep(max(0, asked + 1 - time.monotonic()))  # as web/src/api/use.ts waits
                asked = time.monotonic()
                row = server.ask("GET", f"/api/v1/sessions/{log.name}", headers=owner).json()
                now, count = time.monotonic(), row["kernels"] or 0
                late.extend(now - at for at in written[log.name][seen:count])
                seen = max(seen, count)
        pages = [threading.Thread(target=page, args=(log,), daemon=True) for log in logs]
        with agent_run.Agent(args.build / "bin/gpufl-agent", place / "state", server.url, [place / "logs"], key=secret) as a:
            for one in pages:
                one.start()
            for second in range(args.seconds):
                for n, log in enumerate(logs):
                    log.kernel(1000 * n + second)
                    written[log.name].append(time.monotonic())
                    time.sleep(1 / len(logs))
            a.ask("flush")
            end = time.monotonic() + live_server.DEADLINE_S
            while len(late) < args.seconds * len(logs) and time.monotonic() < end:
                time.sleep(0.1)
        over.set()
        late.sort()
        print(f"live: {len(late)} lines of {8 * args.seconds}, one a second in each of 8 sessions, until a page that follows has "
              f"them: median {1000 * late[len(late) // 2]:.0f} ms, P95 {1000 * late[len(late) * 95 // 100]:.0f} ms, "
              f"P99 {1000 * late[len(late) * 99 // 100]:.0f} ms, most {1000 * late[-1]:.0f} ms")
        server.end(place / "server")


def gpu_log(place, number):
    """A session of a host with one GPU."""
    log = agent_run.Log(place, f"fleet{number}", host=f"host{number}")
    names = ["H200", "nvidia", "570.1", f"GPU-{number}"]
    log.put("system", json.dumps({"type": "names", "rows": 4, "id": [1, 2, 3, 4], "text": names}).encode())
    log.put("system", json.dumps({"type": "device", "rows": 1, "id": 1, "index": 0, "name": 1, "vendor": 2, "driver": 3,
                                  "uuid": 4, "memory_total": 1000}).encode())
    return log


class Cards:
    """The cards of the fleet page: how late each sample is shown, and how late it would be by the answers alone."""

    def __init__(self, count):
        self.lock, self.news, self.over = threading.Lock(), threading.Event(), threading.Event()
        self.waiting = [{f"GPU-{n}": {} for n in range(count)} for _ in range(2)]  # written when, by power: all; answers alone
        self.undrawn, self.late, self.by_events = [], ([], []), 0

    def write(self, number, power):
        with self.lock:
            for waiting in self.waiting:
                waiting[f"GPU-{number}"][power] = time.monotonic()

    def show(self, rows, answered):
        """Counts the samples of these rows as shown now."""
        now = time.monotonic()
        with self.lock:
            before = len(self.late[0])
            for waiting, late in list(zip(self.waiting, self.late))[:1 + answered]:
                for row in rows:
                    mine = waiting[row["uuid"]]
                    late.extend(now - mine.pop(p) for p in list(mine) if p <= (row["state"].get("power") or 0))
            self.by_events += 0 if answered else len(self.late[0]) - before

    def draw(self):
        """Shows the rows of events, at most every half second, as web/src/pages/fleet/fresh.ts does."""
        last = 0.0
        while not self.over.is_set():
            if not self.news.wait(1):
                continue
            time.sleep(max(0, last + 0.5 - time.monotonic()))
            last = time.monotonic()
            self.news.clear()
            with self.lock:
                rows, self.undrawn = self.undrawn, []
            self.show(rows, False)

    def follow(self, server, owner):
        """Asks when an event comes, at most once a second, as web/src/api/use.ts does."""
        asks = threading.Event()

        def ask():
            asked = 0.0
            while not self.over.is_set():
                if asks.wait(1):
                    time.sleep(max(0, asked + 1 - time.monotonic()))
                    asked = time.monotonic()
                    asks.clear()
                    self.show(server.ask("GET", "/api/v1/gpus", headers=owner).json()["rows"], True)
        for one in (ask, self.draw):
            threading.Thread(target=one, daemon=True).start()
        for data in event_data(server, owner):
            if self.over.is_set():
                return
            asks.set()
            if data.get("gpus"):
                with self.lock:
                    self.undrawn += data["gpus"]
                self.news.set()


def spread(late):
    late = sorted(1000 * x for x in late)
    return f"median {late[len(late) // 2]:.0f} ms, P95 {late[len(late) * 95 // 100]:.0f} ms, P99 {late[len(late) * 99 // 100]:.0f} ms, most {late[-1]:.0f} ms"


def fleet(args):
    """Measures how long after its writing a sample is on its card: the fleet page has 8 GPUs, each sampled once a
    second."""
    with folder() as place:
        server = live_server.Server(args.build / "bin/gpufl-server", place / "server")
        owner = live_server.set_up(server)
        secret = live_server.key(server, owner, "ingest")
        logs = [gpu_log(place / "logs", n) for n in range(8)]
        cards = Cards(len(logs))
        with agent_run.Agent(args.build / "bin/gpufl-agent", place / "state", server.url, [place / "logs"], key=secret):
            threading.Thread(target=cards.follow, args=(server, owner), daemon=True).start()
            for second in range(args.seconds):
                for n, log in enumerate(logs):
                    cards.write(n, 1000 + second)
                    log.put("system", json.dumps({"type": "device_metric", "rows": 1, "time": time.monotonic_ns(), "device": 1,
                                                  "power": 1000 + second}).encode())
                    time.sleep(1 / len(logs))
            end = time.monotonic() + live_server.DEADLINE_S
            while min(map(len, cards.late)) < args.seconds * len(logs) and time.monotonic() < end:
                time.sleep(0.1)
        cards.over.set()
        shown, answered = cards.late
        print(f"fleet: {len(shown)} samples of {8 * args.seconds}, one a second of each of 8 GPUs, until the fleet page has them "
              f"({cards.by_events} by events): {spread(shown)}; by answers alone: {spread(answered)}")
        server.end(place / "server")


class Bucket(http.server.BaseHTTPRequestHandler):
    """The part of S3 that an archive uses; objects are files."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    place = None

    def log_message(self, *_):
        pass

    def say(self, status, data=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def file(self):
        return self.place / self.path.strip("/").replace("/", "_")

    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        with open(self.file(), "wb") as out:
            while left:
                left -= out.write(self.rfile.read(min(left, 1 << 16)))
        self.say(200)

    def do_GET(self):
        if not self.file().exists():
            self.say(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(self.file().stat().st_size))
        self.end_headers()
        with open(self.file(), "rb") as data:
            shutil.copyfileobj(data, self.wfile, 1 << 16)


def peak(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def archive(args):
    server, url = sink()
    with folder() as place:
        Bucket.place = place / "bucket"
        Bucket.place.mkdir()
        bucket = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
        bucket.daemon_threads = True
        threading.Thread(target=bucket.serve_forever, daemon=True).start()
        where = ("--archive", "s3://b/p", "--archive-endpoint", f"http://127.0.0.1:{bucket.server_port}")
        key = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
        for megabytes in (8, args.megabytes):
            log = agent_run.Log(place / f"logs-{megabytes}", f"s{megabytes}")
            for _ in range(megabytes):
                log.files["device"].write(b"".join(os.urandom(256).hex().encode() + b"\n" for _ in range(2000)))
            log.end()
            size = (log.folder / "device.log").stat().st_size
            with agent_run.Agent(args.build / "bin/gpufl-agent", place / f"state-{megabytes}", url, [log.folder.parent],
                                 "--no-names", *where, environment=key) as a:
                agent_run.until(lambda a=a: a.status()["archive"]["archived"] == 1, a.said, 600)
                most = peak(a.process.pid)
            back = subprocess.Popen([args.build / "bin/gpufl-agent", "restore", *where, "--into", place / "into", log.name],
                                    env={**ENV, **key}, stdout=subprocess.DEVNULL)
            used = 0
            while back.poll() is None:  # ru_maxrss would include this program's own memory from before exec
                with contextlib.suppress(IndexError, FileNotFoundError):  # the process has ended
                    used = max(used, peak(back.pid))
                time.sleep(0.002)
            assert back.returncode == 0 and (place / "into" / log.name / "device.log").stat().st_size == size
            print(f"archive: a session of {size / 1e6:.0f} MB: most memory of the agent, which sent and archived it, "
                  f"{most:.1f} MiB; of restore {used:.1f} MiB")
        bucket.shutdown()
    server.shutdown()


def kernel_lines(session):
    """The lines of a recorded session that have kernels, and the number of kernels."""
    lines = [line for line in agent_run.channels_of(session)["device"].splitlines() if line.startswith(b'{"type":"kernel"')]
    return lines, sum(json.loads(line)["rows"] for line in lines)


def alone(args, url, session, place):
    """Bytes of the session's kernel records alone: in one body, as a finished session is sent, and in a body for each
    write of a program."""
    lines, kernels = kernel_lines(session)
    sent = []
    for live in (False, True):
        log = agent_run.Log(place / f"logs-{live}", "alone")
        for line in () if live else lines:
            log.put("device", line)
        Sink.received, Sink.by_channel = 0, {}
        with agent_run.Agent(args.build / "bin/gpufl-agent", place / f"state-{live}", url, [log.folder.parent], "--no-names") as a:
            for line in lines if live else ():
                log.put("device", line)
                a.ask("flush")
            log.end()
            a.ask("drain")
            a.wait()
        sent.append(Sink.by_channel["device"] / kernels)
    print(f"wire {session.parent.name}: its records of kernels alone: finished {sent[0]:.1f} bytes a kernel, as they are written "
          f"{sent[1]:.1f} ({len(lines)} bodies)")


def wire(args):
    server, url = sink()
    for name in ("hf_generate", "hf_train", "timm_small_batches", "clean_resnet", "torch_one_worker", "torch_gc"):
        session = next((ROOT / "tests/data/answers" / name).rglob("device*.log*")).parent
        with folder() as place:
            logs = place / "logs" / session.name
            logs.mkdir(parents=True)
            for channel, text in agent_run.channels_of(session).items():
                (logs / f"{channel}.log").write_bytes(text)
            kernels = kernel_lines(session)[1]
            Sink.received, Sink.by_channel = 0, {}
            drain(args.build / "bin/gpufl-agent", place / "state", place / "logs", url)
            channels = ", ".join(f"{c} {n / kernels:.1f}" for c, n in sorted(Sink.by_channel.items()))
            print(f"wire {name}: {Sink.received} bytes for {kernels} kernels: {Sink.received / kernels:.1f} a kernel ({channels})")
            alone(args, url, session, place)
    server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"throughput": throughput, "idle": idle, "latency": latency, "live": live, "fleet": fleet, "wire": wire,
             "archive": archive}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=8, help="of latency: how many are written at once")
    args = parser.parse_args()
    for name in args.parts or parts:
        parts[name](args)


if __name__ == "__main__":
    main()
