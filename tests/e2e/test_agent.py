#!/usr/bin/env python3
"""`gpufl-agent`: what is written is on the server soon and once; what it does when something is wrong.

    test_agent.py GPUFL GPUFL_AGENT SOURCE
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import ingest_server
from agent_run import QUICK, Agent, Log, channels_of, letters, plain
from patience import PATIENCE, until

GPUFL, AGENT, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
PEER = SOURCE / "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def run(*args, env=None):
    return subprocess.run([AGENT, *args], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                          env={**ENV, **(env or {})}, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-agent-"))
        self.logs, self.state = self.dir / "logs", self.dir / "state"
        self.logs.mkdir()
        self.server = ingest_server.Server()

    def tearDown(self):
        self.server.close()
        shutil.rmtree(self.dir)

    def agent(self, *options, server=None, sources=None, **more):
        return Agent(AGENT, self.state, server or self.server.url, sources or [self.logs], *QUICK, *options, **more)

    def simulate(self, kernels=2000, rotate=1 << 16):
        before = set(self.logs.iterdir())
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-o", self.logs], check=True, stdout=subprocess.DEVNULL,
                       env={**ENV, "GPUFL_LOG_ROTATE_BYTES": str(rotate)})
        return next(d for d in self.logs.iterdir() if d not in before)

    def arrived(self, log, channel="device"):
        return bytes(self.server.channels.get((log.name, channel), b""))

    def until_arrived(self, log, agent=None):
        for channel in ("device", "system"):
            want = b"".join(line + b"\n" for line in log.lines[channel])
            until(lambda channel=channel, want=want: self.arrived(log, channel) == want,
                  lambda: agent.said()[-2000:] if agent else "it does not arrive")


class Reads(Case):
    def test_finished_sessions_arrive_and_nothing_again(self):
        folders = [self.simulate(), self.simulate(20000)]
        for path in folders[1].glob("*.*.log"):  # as the library does
            Log.pack(path)
        with self.agent() as agent:
            agent.until_done(2)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.assertEqual(sorted(self.server.complete), sorted(f.name for f in folders))
        for folder in folders:
            for channel, text in channels_of(folder).items():
                self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)
        received = self.server.received, len(self.server.requests)
        with self.agent() as agent:
            agent.until_done(2)
        self.assertEqual((self.server.received, len(self.server.requests)), received)

    def test_upload_and_agent_share_what_the_server_knows(self):
        one, two = self.simulate(), self.simulate()
        upload = [GPUFL, "upload", "--quiet", "--no-names", "--server", self.server.url]
        subprocess.run([*upload, one], env=ENV, check=True)
        received = self.server.received
        with self.agent("--no-names") as agent:
            agent.until_done(2)
            sent = {h["X-GpuFlight-Session-Id"] for m, p, h in self.server.requests[3:] if p.endswith("stream")}
        self.assertGreater(self.server.received, received)
        self.assertIn(two.name, sent)
        received = self.server.received
        subprocess.run([*upload, two], env=ENV, check=True)
        self.assertEqual(self.server.received, received)

    def test_a_line_is_there_within_two_seconds(self):
        log = Log(self.logs, "live")
        with self.agent() as agent:
            self.until_arrived(log, agent)
            late = []
            for n in range(10):
                log.kernel(n)
                at = time.monotonic()
                until(lambda: self.arrived(log).endswith(log.lines["device"][-1] + b"\n"), agent.said)
                late.append(time.monotonic() - at)
            self.assertLess(sorted(late)[5], 2, late)
            log.end()
            agent.until_done(1)
        self.assertEqual(self.server.complete, ["live"])

    def test_files_that_are_empty_when_they_are_seen(self):
        """Nobody can say then whose they are. The first bytes decide, and count from the first byte."""
        log = Log(self.logs, "empty", begin=False)
        half = Log(self.logs, "half", begin=False)
        with self.agent("--scan", "100ms") as agent:
            agent.ask("flush")
            (half.folder / "device.log").write_bytes(b'{"type":"head')
            agent.ask("flush")
            self.assertEqual(self.server.complete, [])  # they have hardly begun
            self.assertEqual(agent.status()["counts"]["completed"], 0)
            (half.folder / "device.log").write_bytes(b"")
            for one in (log, half):
                one.begin()
                one.kernel(1)
                self.until_arrived(one, agent)
                one.end()
            agent.until_done(2)
            for one in (log, half):
                self.until_arrived(one, agent)
            self.assertEqual(agent.status()["dead_letters"], 0)
        self.assertEqual(self.server.windows, {})

    def test_an_empty_file_says_nothing_of_its_session(self):
        """Beside a session that runs, so that the agent keeps what it thinks of both. `system` comes last, and is empty."""
        log = Log(self.logs, "runs")
        other = log.beside("begins")
        with self.agent("--scan", "100ms") as agent:
            self.until_arrived(log, agent)
            agent.ask("flush")
            other.part["device"], other.offset["device"], other.pid = 1, 0, os.getpid()
            text = other.header("device") + b"\n" + b'{"type":"kernel","rows":1,"start":[1],"duration":[5],"correlation":[7]}\n'
            (log.folder / "begins.device.log").write_bytes(text)
            until(lambda: self.arrived(other) == text, agent.said)
            offsets = [h["X-GpuFlight-Offset"] for _, path, h in self.server.requests
                       if path.endswith("/stream") and h["X-GpuFlight-Session-Id"] == "begins"]
            self.assertEqual(set(offsets), {"0"})  # also no 415 of zstd changes that
            log.end()
        self.assertEqual((self.server.windows, letters(self.state)), ({}, []))

    def test_many_sessions_stay_at_work_at_once(self):
        """One that is put away asks the server again and notes its mark again for each line."""
        logs = [Log(self.logs, f"many{n}") for n in range(300)]
        with self.agent() as agent:
            for log in logs:
                self.until_arrived(log, agent)
            agent.ask("flush")
            asked = len(self.server.requests)
            for n, log in enumerate(logs):
                log.kernel(n)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["open"], len(logs))
            self.assertEqual([path for method, path, _ in self.server.requests[asked:] if method == "GET"], [])
            for log in logs:
                log.end()

    def test_rotation_while_it_reads(self):
        log = Log(self.logs, "turns", rotate=900)
        with self.agent() as agent:
            for n in range(300):
                log.kernel(n)
                if n % 40 == 0:
                    log.turn("device", packed=n % 80 == 0)
            log.end()
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertNotIn("got shorter", agent.said())

    def test_without_inotify(self):
        log = Log(self.logs, "poll")
        with self.agent("--no-inotify") as agent:
            self.until_arrived(log, agent)
            log.kernel(1)
            log.turn("device")
            log.kernel(2)
            self.until_arrived(log, agent)
            later = Log(self.logs / "group" / "run", "later")
            self.until_arrived(later, agent)
            for one in (log, later):
                one.end()
            agent.until_done(2)

    def test_a_part_that_somebody_packed_with_zstd(self):
        log = Log(self.logs, "zst")
        log.kernel(1)
        log.turn("device")
        log.kernel(2)
        log.end()
        part = log.folder / "device.1.log"
        subprocess.run(["zstd", "-q", "--rm", part], check=True)
        with self.agent() as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)

    def test_windows_of_the_public_client(self):
        shutil.copytree(PEER, self.logs / PEER.name)
        there = {p.name.removesuffix(".gz"): plain(p) for p in PEER.glob("*.log*")}
        for _ in range(2):
            with self.agent() as agent:
                agent.until_done(1)
            sent = {f"{c}.{n}.log": text for (_, c, n), text in self.server.windows.items()}
            self.assertEqual(sent, there)
            self.assertEqual(self.server.complete, [PEER.name])

    def test_a_program_that_dies_has_its_session_completed(self):
        child = subprocess.Popen(["sleep", "1000"])
        log = Log(self.logs, "dies", pid=child.pid)
        with self.agent("--scan", "100ms") as agent:
            self.until_arrived(log, agent)
            self.assertEqual(self.server.complete, [])
            child.kill()
            child.wait()
            agent.until_done(1)
        self.assertEqual(self.server.complete, ["dies"])

    def test_a_server_that_lost_its_disk_gets_it_again(self):
        log = Log(self.logs, "lost")
        with self.agent() as agent:
            for n in range(50):
                log.kernel(n)
            self.until_arrived(log, agent)
            with self.server.lock:
                self.server.channels.clear()
            log.kernel(1000)
            until(lambda: self.arrived(log) == b"".join(x + b"\n" for x in log.lines["device"]), agent.said)

    def test_a_session_from_before_the_clock_was_set_back(self):
        log = Log(self.logs, "future")
        log.kernel(1)
        log.end()
        tomorrow = time.time() + 86400
        for path in (*log.folder.iterdir(), log.folder):
            os.utime(path, (tomorrow, tomorrow))
        with self.agent() as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertEqual(self.server.complete, ["future"])

    def lose(self, keep=()):
        """The server is as it was before all sessions but these."""
        with self.server.lock:
            self.server.channels = {k: v for k, v in self.server.channels.items() if k[0] in keep}
            self.server.complete = [name for name in self.server.complete if name in keep]

    def test_sessions_that_are_done_are_sent_again_where_the_server_lost_them(self):
        logs = [Log(self.logs, f"over{n}") for n in range(4)]
        for n, log in enumerate(logs):
            log.kernel(n)
            log.end()
            os.utime(log.folder, (n + 1, n + 1))  # over3 is the newest
        names = [log.name for log in logs]
        with self.agent("--scan", "100ms") as agent:
            agent.until_done(4)
            self.lose(keep=("over0", "over1"))  # as with a backup of then
            until(lambda: sorted(self.server.complete) == names, agent.said)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["counts"]["lost"], 2)
            agent.until_done(4)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.lose()
        with self.agent("--scan", "100ms") as agent:  # which knows by its cursor what was there
            until(lambda: sorted(self.server.complete) == names, agent.said)
            for log in logs:
                self.until_arrived(log, agent)
            self.assertEqual(agent.status()["counts"]["lost"], 4)
            asked = len(self.server.requests)
            until(lambda: len(self.server.requests) > asked + 3, agent.said)  # looks, and is content
            self.assertEqual(agent.status()["counts"]["lost"], 4)

    def test_a_quiet_channel_is_sent_again_where_the_server_lost_it(self):
        log = Log(self.logs, "quiet")
        log.kernel(1)
        with self.agent() as agent:
            self.until_arrived(log, agent)
            self.lose()
            log.put("system", b'{"type":"kernel","rows":1,"start":[1],"duration":[1]}')
            self.until_arrived(log, agent)  # of the channel device nothing was written
            self.lose()
            log.end()
            agent.until_done(1)
            self.until_arrived(log, agent)

    def test_names_of_stacks_are_looked_up_here(self):
        folder = self.simulate(100)
        with self.agent() as agent:
            agent.until_done(1)
        want = channels_of(folder)
        for channel, text in want.items():
            self.assertEqual(bytes(self.server.channels[folder.name, channel]), text, channel)


class Fails(Case):
    def test_statuses_that_wait(self):
        log = Log(self.logs, "waits")
        log.kernel(1)
        log.end()
        self.server.script = [{"status": s} for s in (500, 503, 429, 408, 425, 507, 502)]
        self.server.script[2]["headers"] = {"Retry-After": "1"}
        began = time.monotonic()
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreaterEqual(time.monotonic() - began, 1)  # as the server asked
        self.assertEqual((counts["answers_wait"], counts["dead_lines"]), (7, 0))

    def test_a_wrong_key_pauses_and_alarms(self):
        self.server.key = "right"
        secret = self.dir / "key"
        secret.write_text("wrong\n")
        secret.chmod(0o600)
        log = Log(self.logs, "key")
        with self.agent("--api-key-file", secret, "--listen", "127.0.0.1:0") as agent:
            port = int(re.search(r":(\d+)$", agent.process.stdout.readline().strip())[1])
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertIn("401", agent.status()["why"])
            self.assertEqual(get(port, "/healthz")[0], 503)
            self.assertIn("gpufl_agent_alarm 1\n", get(port, "/metrics")[1])
            self.assertNotIn("wrong", agent.said())
            secret.write_text("right\n")
            self.until_arrived(log, agent)
            until(lambda: get(port, "/healthz")[0] == 200, agent.said)

    def test_a_page_that_asks_for_a_login_acknowledges_nothing(self):
        log = Log(self.logs, "guest")
        log.kernel(1)
        log.end()
        shutil.copytree(PEER, self.logs / PEER.name)
        self.server.portal = True
        with self.agent() as agent:
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertRegex(agent.status()["why"], r"answers 200, but not with the words of a gpufl-server: .*a login\?$")
            asked = len(self.server.requests)
            until(lambda: len(self.server.requests) > asked + 10, agent.said)  # each session had its turn
            counts = agent.status()["counts"]
            self.assertEqual([counts[name] for name in ("bodies", "completed", "dead_lines")], [0, 0, 0])
            self.assertEqual(agent.status()["done"], 0)
            self.server.portal = False
            agent.until_done(2)
        self.until_arrived(log)
        there = {p.name.removesuffix(".gz"): plain(p) for p in PEER.glob("*.log*")}
        self.assertEqual({f"{c}.{n}.log": text for (_, c, n), text in self.server.windows.items()}, there)

    def test_whoever_refuses_everything_gets_no_dead_letters(self):
        """As a server does that is spoken to without TLS at its port for TLS: 400, whatever is asked."""
        log = Log(self.logs, "plain")
        log.kernel(1)
        log.end()
        shutil.copytree(PEER, self.logs / PEER.name)
        handler, allowed = self.server.RequestHandlerClass, self.server.RequestHandlerClass.allowed
        self.addCleanup(setattr, handler, "allowed", allowed)
        asked = []

        def refuse(step):
            step.rest()
            asked.append(step.path)
            step.problem(400, "The plain HTTP request was sent to HTTPS port")
            return False
        handler.allowed = refuse
        with self.agent() as agent:
            until(lambda: agent.status()["state"] == "alarm" and len(asked) > 10, agent.said)
            self.assertIn("plain HTTP request", agent.status()["why"])
            self.assertEqual([path for path in asked if not path.endswith("/positions")], [])
            self.assertEqual(agent.status()["dead_letters"], 0)
            handler.allowed = allowed
            agent.until_done(2)
        self.assertEqual(letters(self.state), [])
        self.until_arrived(log)

    def test_bodies_that_are_too_large_are_halved(self):
        log = Log(self.logs, "large")
        for n in range(2000):
            log.kernel(n)
        log.end()
        self.server.largest = 5000
        with self.agent() as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreater(counts["answers_large"], 3)
        self.assertEqual(counts["dead_lines"], 0)

    def test_bodies_that_are_cut_off_are_halved(self):
        """A 413 whose connection is reset at once is never read."""
        log = Log(self.logs, "cut")
        for n in range(8000):
            log.kernel(n, name="x" * 200)
        log.end()
        self.server.largest, self.server.abrupt = 500_000, True
        with self.agent() as agent:
            agent.until_done(1)
            counts = agent.status()["counts"]
        self.until_arrived(log)
        self.assertGreater(counts["unanswered"], 3)
        self.assertEqual(counts["dead_lines"], 0)

    def test_a_line_that_is_refused_alone_for_its_size(self):
        log = Log(self.logs, "one")
        log.kernel(1)
        log.kernel(2, name="x" * 9000)
        log.kernel(3)
        log.end()
        self.server.largest = 5000
        with self.agent() as agent:
            agent.until_done(1)
        dead = letters(self.state)
        self.assertEqual([(d[2]["status"], d[3]) for d in dead], [(413, log.lines["device"][2] + b"\n")])
        text = self.arrived(log)
        self.assertEqual([line for line in text.splitlines() if line.strip()],
                         [line for i, line in enumerate(log.lines["device"]) if i != 2])
        self.assertEqual(len(text), sum(len(line) + 1 for line in log.lines["device"]))  # each at its place

    def test_lines_that_the_answer_names(self):
        log = Log(self.logs, "named")
        for n in range(10):
            log.kernel(n)
        log.end()
        self.server.script = [{"status": 415}]  # of zstd, then the device channel
        channel = threading.Event()
        real = self.server.RequestHandlerClass.take_offset

        def take(handler, session, body, step):
            if handler.headers.get("X-GpuFlight-Channel") == "device" and not channel.is_set():
                channel.set()
                step = {"reject": [3, 5]}
            return real(handler, session, body, step)
        self.server.RequestHandlerClass.take_offset = take
        try:
            with self.agent() as agent:
                agent.until_done(1)
        finally:
            self.server.RequestHandlerClass.take_offset = real
        dead = letters(self.state)
        self.assertEqual([d[3] for d in dead], [log.lines["device"][i] + b"\n" for i in (2, 4)])
        self.assertEqual({d[2]["reason"] for d in dead}, {"as the script says"})

    def test_lines_that_a_409_names_are_good_elsewhere(self):
        log = Log(self.logs, "elsewhere")
        log.kernel(1)
        log.end()
        error = {"line": 1, "type": "header", "reason": "not a JSON object, or cut"}
        self.server.script = [{"status": 409, "json": {"expected_offset": 0, "errors": [error]}}] * 2
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
            self.until_arrived(log, agent)
        self.assertEqual(letters(self.state), [])

    def refuse_bad(self, lost=0):
        """The server leaves out lines with the word bad, also when they come again; the first answers are lost."""
        real, answers = self.server.RequestHandlerClass.take_offset, []

        def take(handler, session, body, step):
            bad = [n for n, line in enumerate(bytes(body).splitlines(), 1) if b"bad" in line]
            answer = real(handler, session, body, {"reject": bad})
            if handler.headers.get("X-GpuFlight-Channel") == "device":
                answers.append(answer)
                if len(answers) <= lost:
                    raise ingest_server.Cut
            return answer
        self.server.RequestHandlerClass.take_offset = take
        self.addCleanup(setattr, self.server.RequestHandlerClass, "take_offset", real)
        return answers

    def test_a_refused_line_whose_answer_was_lost_is_kept(self):
        log = Log(self.logs, "unheard")
        log.kernel(1)
        log.put("device", b'{"bad":1}')
        log.kernel(2)
        answers = self.refuse_bad(lost=1)
        with self.agent("--compression", "gzip", "--wait-least", "1h", "--wait-most", "1h") as agent:
            until(lambda: answers and agent.status()["state"] == "waiting", agent.said)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        self.assertEqual(letters(self.state), [])
        log.end()
        with self.agent("--compression", "gzip") as agent:
            agent.until_done(1)
        self.assertEqual([d[3] for d in letters(self.state)], [log.lines["device"][2] + b"\n"])

    def test_refused_lines_of_all_bodies_since_the_mark_are_kept(self):
        log = Log(self.logs, "since")
        for n in range(400):
            if n % 40 == 20:
                log.put("device", b'{"bad":%d}' % n)
            log.kernel(n)
        bad = [line + b"\n" for line in log.lines["device"] if b"bad" in line]
        self.refuse_bad()
        with self.agent("--compression", "gzip", "--batch", "4K") as agent:
            self.until_arrived(log, agent)
            until(lambda: agent.status()["dead_letters"] == len(bad), agent.said)
            agent.kill()
        shutil.rmtree(self.state / "dead")  # as if it had been killed between answers and disk
        log.end()
        with self.agent("--compression", "gzip", "--batch", "4K") as agent:
            agent.until_done(1)
        self.assertEqual([d[3] for d in letters(self.state)], bad)

    def test_bandwidth(self):
        log = Log(self.logs, "slow")
        for n in range(4000):
            log.kernel(n, name=os.urandom(40).hex())
        log.end()
        began = time.monotonic()
        with self.agent("--bandwidth", "100K") as agent:
            agent.until_done(1)
            took, sent = time.monotonic() - began, agent.status()["counts"]["sent_bytes"]
        self.until_arrived(log)
        self.assertGreater(sent, 200_000)
        self.assertLess(sent / took, 2.5 * 102_400)  # a body of two seconds may go ahead


def get(port, path):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    link.request("GET", path)
    answer = link.getresponse()
    body = answer.read().decode()
    link.close()
    return answer.status, body


class Controlled(Case):
    def test_pause_flush_resume_drain(self):
        log = Log(self.logs, "ctl")
        with self.agent("--delay", "1h", "--scan", "1h") as agent:  # no command waits for either
            self.assertEqual(json.loads(agent.ask("flush", "--json")[1]), {"sent": True})
            log.kernel(1)
            agent.ask("flush")
            self.until_arrived(log, agent)
            agent.ask("pause")
            log.kernel(2)
            self.assertEqual(agent.ask("flush", code=1)[2], "gpufl-agent: the agent is paused\n")
            self.assertEqual(agent.status()["state"], "paused")
            self.assertNotIn(log.lines["device"][-1], self.arrived(log))
            agent.ask("resume")
            log.end()
            agent.ask("drain")
            self.assertEqual(agent.wait(), 0, agent.said())
        self.until_arrived(log)
        self.assertEqual(self.server.complete, ["ctl"])
        code, _, said = agent.ask("status", code=None)
        self.assertEqual(code, 3)
        self.assertEqual(said.count("\n"), 1)

    def test_two_agents_on_one_cursor(self):
        with self.agent() as agent:
            other = run("--source", self.logs, "--server", self.server.url, "--state", self.state)
            self.assertEqual(other.returncode, 4)
            self.assertRegex(other.stderr, r"^gpufl-agent: another gpufl-agent works with [^\n]*\n$")
            self.assertEqual(agent.ask("status")[0], 0)
            self.assertEqual(sorted(json.loads(agent.ask("status", "--json")[1])), sorted(agent.status()))

    def test_metrics_pass_the_lint(self):
        log = Log(self.logs, "m")
        with self.agent("--listen", "127.0.0.1:0") as agent:
            port = int(re.search(r":(\d+)$", agent.process.stdout.readline().strip())[1])
            self.until_arrived(log, agent)
            status, text = get(port, "/metrics")
            self.assertEqual((status, get(port, "/other")[0]), (200, 404))
        types, helps = {}, set()
        for line in text.splitlines():
            words = line.split(" ", 3)
            if line.startswith("# HELP "):
                self.assertNotIn(words[2], helps, line)
                helps.add(words[2])
                self.assertRegex(words[3], r"^(?!(Of|Their|Its|It|Bytes of them)\b).*\.$", line)
            elif line.startswith("# TYPE "):
                self.assertNotIn(words[2], types, line)
                types[words[2]] = words[3]
            else:
                self.assertIn(re.match(r"[a-z_]+", line).group(), types, line)
        self.assertEqual(set(types), helps)
        for name, kind in types.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertNotRegex(name, "_(ns|us|ms|milliseconds|minutes|hours|kb|mb|mib|kib|gib|percent)(_|$)")
        if shutil.which("promtool"):
            lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual((lint.returncode, lint.stdout + lint.stderr), (0, ""))


class Configured(Case):
    def refused(self, text, *args, env=None, code=2):
        out = run(*args, env=env)
        self.assertEqual(out.returncode, code, out)
        self.assertIn(text, out.stderr)
        self.assertRegex(out.stderr, r"^gpufl-agent: [^\n]*\n(Try `gpufl-agent --help`\.\n)?$")

    def test_file_environment_and_flags(self):
        config = self.dir / "agent.json"
        config.write_text(json.dumps({"server": "http://127.0.0.1:1", "source": [str(self.logs)], "delay": "10ms",
                                      "state": str(self.state), "no-names": True, "batch": 8192}))
        out = run("--config", config, "--check")
        self.assertEqual(out.returncode, 5, out)  # nobody listens there
        self.assertIn("127.0.0.1:1", out.stderr)
        out = run("--check", env={"GPUFL_AGENT_CONFIG": str(config), "GPUFL_AGENT_SERVER": self.server.url})
        self.assertEqual(out.returncode, 0, out)
        self.assertIn(f"server {self.server.url}: answers", out.stdout)
        out = run("--check", "--server", self.server.url, env={
            "GPUFL_AGENT_CONFIG": str(config), "GPUFL_AGENT_SERVER": "http://127.0.0.1:1"})
        self.assertEqual(out.returncode, 0, out)
        out = run("--check", env={"GPUFL_BACKEND_URL": self.server.url, "GPUFL_AGENT_SOURCE": f"{self.logs}:{self.dir}",
                                  "GPUFL_AGENT_STATE": str(self.state)})
        self.assertEqual(out.stdout.count("can be read"), 2, out)
        self.assertFalse(self.state.exists())  # --check changes nothing

    def test_bad_configuration_is_one_sentence(self):
        config = self.dir / "agent.json"
        for text, said in (('{"sorce": ["x"]}', "there is no option 'sorce'; is it 'source'?"), ("[1]", "no JSON object"),
                           ('{"delay": "soon"}', "delay"), ('{"delay": {}}', "delay: a whole number, or a text with a unit, belongs there"),
                           ('{"delay": true}', "delay: a whole number"), ('{"source": 5}', "source: a text, or a list of texts, belongs there"),
                           ('{"source": ["a", 5]}', "source: a text, or a list"), ('{"server": true}', "server: a text belongs there"),
                           ('{"insecure": 1}', "insecure: true or false belongs there"), ('{"batch": 1e9}', "batch: a whole number"), ('{"batch": 1}', "4K"),
                           ('{"compression": "lzma"}', "compression"), ('{"server":', "no JSON object")):
            config.write_text(text)
            self.refused(said, "--config", config)
        self.refused("No such file", "--config", self.dir / "none", code=2)
        self.refused("which folders?", "--server", "x")
        self.refused("to which server?", "--source", self.logs)
        for everybody in ("0.0.0.0:0", "0:0", "0x0:0", "[::]:0", "[::0]:0", "[::ffff:0.0.0.0]:0"):
            self.refused("--listen " + everybody, "--source", self.logs, "--server", self.server.url, "--listen",
                         everybody, "--state", self.state)
        self.refused("is no folder", "--source", config, "--server", self.server.url, "--state", self.state)
        self.refused("belong together", "--client-cert", "x")
        self.refused("there is no command 'stats'", "stats")
        self.refused("neither true nor false", env={"GPUFL_AGENT_INSECURE": "maybe"})

    def test_check_names_a_wrong_key(self):
        self.server.key = "right"
        args = ("--check", "--source", self.logs, "--server", self.server.url, "--state", self.state)
        self.refused("401", *args, env={"GPUFL_API_KEY": "wrong"}, code=5)
        self.assertEqual(run(*args, env={"GPUFL_API_KEY": "right"}).returncode, 0)

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout, r"^gpufl-agent \d+\.\d+\.\d+\n$")
        page = (SOURCE / "docs/man/gpufl-agent.1").read_text()
        for option in re.findall(r"^ .*?--([a-z-]+)", run("--help").stdout, re.M):
            self.assertRegex(page, rf"Fl -{option}\b", option)

    def test_help_and_page_name_each_default(self):
        """As the table has them, in the words that the command line takes."""
        table = (SOURCE / "src/agent/options/options.def").read_text()
        told, page = run("--help").stdout, (SOURCE / "docs/man/gpufl-agent.1").read_text()
        units = {"DURATION": (("s", 10**9), ("ms", 10**6)), "SIZE": (("M", 1 << 20),)}
        rows = re.findall(r'^OPTION\((DURATION|SIZE), \w+, "([a-z-]+)", 0, ([^,]+),', table, re.M)
        self.assertEqual(len(rows), 9)
        for kind, name, value in rows:
            number = eval(value.replace("LL", ""), {})  # 4LL << 20
            unit, size = next(((u, s) for u, s in units[kind] if number and number % s == 0), ("", 1))
            text = f"{number // size}{unit}"
            about = re.search(rf"--{name} .*?(?=\n +--|\n  -)", told, re.S)[0]
            self.assertRegex(" ".join(about.split()), rf"\({text}\)\.$", name)
            entry = re.search(rf"^\.It Fl -{name} .*?(?=^\.It )", page, re.M | re.S)[0]
            self.assertIn(f"\nDefault: {text}.\n", entry, name)

    def certificate(self, name):
        """Files of a certificate of localhost and its key, signed by itself."""
        files = [self.dir / f"{name}-{part}.pem" for part in ("cert", "key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-out", files[0], "-keyout", files[1]], check=True,
                       capture_output=True)
        return files

    def speak_tls(self, clients=None):
        """The server speaks TLS from now on, with clients that have this certificate alone; its address and certificate."""
        cert, key = self.certificate("server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if clients:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        return f"https://localhost:{self.server.server_port}", cert

    def test_a_server_that_asks_for_a_certificate(self):
        cert, key = self.certificate("client")
        other = self.certificate("other")
        url, authority = self.speak_tls(cert)
        args = ("--check", "--source", self.logs, "--state", self.state, "--server", url, "--ca-file", authority)
        for more in ((), ("--client-cert", other[0], "--client-key", other[1])):
            out = run(*args, *more)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), out)
            self.assertRegex(out.stderr, rf"^gpufl-agent: {url}: .*certificate")
        for name, more in (("cert", (self.dir / "none.pem", key)), ("key", (cert, self.dir / "none.pem"))):
            out = run(*args, "--client-cert", more[0], "--client-key", more[1])
            self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), (name, out))
            self.assertIn("none.pem", out.stderr, name)
        self.assertEqual(run(*args, "--client-cert", cert, "--client-key", key).returncode, 0)
        log = Log(self.logs, "known")
        with self.agent("--ca-file", authority, "--client-cert", cert, "--client-key", key, server=url) as agent:
            self.until_arrived(log, agent)

    def test_a_certificate_that_nobody_signed(self):
        url, cert = self.speak_tls()
        args = ("--check", "--source", self.logs, "--state", self.state, "--server", url)
        out = run(*args)
        self.assertEqual((out.returncode, out.stderr.count("\n")), (5, 1), out)
        self.assertIn("certificate", out.stderr)
        self.assertEqual(run(*args, "--ca-file", cert).returncode, 0)
        log = Log(self.logs, "tls")
        with self.agent(server=url) as agent:
            until(lambda: agent.status()["state"] == "alarm", agent.said)
            self.assertIn("certificate", agent.status()["why"])
        self.assertEqual(self.arrived(log), b"")


class BadInput(Case):
    def test_what_is_no_log_is_left_alone_and_the_rest_goes_on(self):
        outside = self.dir / "outside"
        outside.mkdir()
        secret = Log(outside, "secret")
        secret.kernel(1)
        (self.logs / "link").symlink_to(secret.folder)
        odd = self.logs / "odd"
        odd.mkdir()
        (odd / "scope.log").symlink_to(secret.folder / "device.log")
        os.mkfifo(odd / "device.log")
        (odd / "system.log").write_bytes(b"\x00\x01 nothing of ours\n" * 10)
        (self.logs / "notes.txt").write_text("foreign")
        (self.logs / "app.log").write_text("a log of another program\n")
        (self.logs / "empty").mkdir()
        (self.logs / "damaged").mkdir()
        (self.logs / "damaged" / "device.1.log.gz").write_bytes(b"no gzip at all")
        piped = Log(self.logs, "piped")
        (piped.folder / "device.log").unlink()
        os.mkfifo(piped.folder / "device.log")
        led = Log(self.logs, "led")
        (led.folder / "device.log").unlink()
        (led.folder / "device.log").symlink_to(secret.folder / "device.log")
        log = Log(self.logs, "good")
        log.kernel(1)
        log.end()
        left_out = {"link": "a link, and links are not followed", "app.log": "no log of a session",
                    "odd/device.log": "a FIFO, a socket or a device", "odd/system.log": "no log of a session",
                    "piped/device.log": "a FIFO, a socket or a device", "led/device.log": "a link, or no file",
                    "a.sock": "a FIFO, a socket or a device"}
        with self.agent() as agent, socket.socket(socket.AF_UNIX) as s:
            s.bind(str(self.logs / "a.sock"))
            self.until_arrived(log, agent)
            until(lambda: "good" in self.server.complete, agent.said)
            for name, what in left_out.items():
                until(lambda said=f"{self.logs / name} is left out: it is {what}\n": said in agent.said(), agent.said)
            agent.until_said("damaged: it is no compressed file")
            agent.ask("flush", code=None)
        for name in left_out:
            self.assertEqual(agent.said().count(f"{self.logs / name} is left out"), 1)
        sent = b"".join(bytes(d) for (s, _), d in self.server.channels.items() if s != "good")
        sent += b"".join(self.server.windows.values())
        self.assertNotIn(b'"secret"', sent)
        self.assertNotIn(b"another program", sent)

    def test_half_a_line_waits_for_its_rest(self):
        log = Log(self.logs, "half")
        with self.agent() as agent:
            log.kernel(1)
            self.until_arrived(log, agent)
            log.files["device"].write(b'{"type":"kernel","rows":1,')
            agent.ask("flush")
            self.assertTrue(self.arrived(log).endswith(b"}\n"))
            rest = b'"start":[1],"duration":[1],"correlation":[2]}'
            log.files["device"].write(rest + b"\n")
            log.lines["device"].append(b'{"type":"kernel","rows":1,' + rest)
            self.until_arrived(log, agent)

    def test_a_log_that_is_cut_off(self):
        log, other = Log(self.logs, "cut"), Log(self.logs, "other")
        for n in range(20):
            log.kernel(n)
        with self.agent() as agent:
            self.until_arrived(log, agent)
            agent.ask("flush")  # it is at rest, and knows how long the log was
            os.truncate(log.folder / "device.log", 100)
            agent.until_said("got shorter")
            other.kernel(1)
            self.until_arrived(other, agent)
        self.assertEqual(self.arrived(log), b"".join(line + b"\n" for line in log.lines["device"]))

    def test_a_folder_that_goes(self):
        log, other = Log(self.logs, "goes"), Log(self.logs, "stays")
        with self.agent() as agent:
            self.until_arrived(log, agent)
            shutil.rmtree(log.folder)
            other.kernel(1)
            self.until_arrived(other, agent)
            until(lambda: agent.status()["sessions"] == 1, agent.said)

    def test_a_state_that_cannot_be_written(self):
        (self.dir / "file").write_text("")
        out = run("--source", self.logs, "--server", self.server.url, "--state", self.dir / "file" / "state")
        self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
        for state in (self.dir / "file" / "state", "/proc/nowhere/state"):  # the second: also for root
            out = run("--check", "--source", self.logs, "--server", self.server.url, "--state", state)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
            self.assertIn(f"cannot write the state {state}", out.stderr)
            self.assertNotIn("can be written", out.stdout)

    def test_a_source_that_is_not_there(self):
        args = ("--source", self.logs / "nowhere", "--server", self.server.url, "--state", self.state)
        for more in ((), ("--check",)):
            out = run(*args, *more)
            self.assertEqual((out.returncode, out.stderr.count("\n")), (1, 1), out)
            self.assertIn("nowhere cannot be read: No such file or directory", out.stderr)

    def test_bytes_that_are_no_utf8_arrive_as_they_are(self):
        log, other = Log(self.logs, "bytes"), Log(self.logs, "other")
        with self.agent() as agent:
            log.put("device", b'{"type":"names","rows":1,"id":[1],"text":["caf\xe9 \xff\xfe"]}')
            log.kernel(1)
            other.kernel(1)
            self.until_arrived(log, agent)
            self.until_arrived(other, agent)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
