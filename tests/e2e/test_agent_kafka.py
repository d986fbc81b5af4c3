#!/usr/bin/env python3
"""Kafka between agent and server: written lines are on the server once; the behaviour of both when something is wrong.

    test_agent_kafka.py GPUFL_AGENT GPUFL_SERVER KAFKA_MOCK SOURCE
"""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import live_server
from agent_run import Log, letters
from kafka_run import Brokers, KafkaAgent, aside, metrics, positions, quick_group, until_stored
from patience import PATIENCE, until

AGENT, SERVER, MOCK, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:5])
PEER = SOURCE / "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"
ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
QUICK = ("--wait-least", "10ms", "--wait-most", "50ms", "--delay", "20ms", "--timeout", "2s")
PRODUCE, NOT_LEADER, REFUSED, FORBIDDEN = 0, 6, 87, 29


def size(log, channel):
    return sum(len(line) + 1 for line in log.lines[channel])


class Kafka(unittest.TestCase):
    """One server and one cluster for all cases: each has sessions of its own."""

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-kafka-"))
        cls.brokers = Brokers(MOCK)
        for channel in ("device", "system", "code", "scope", "sass"):  # so that the group forms once
            cls.brokers.ask(f"topic gpufl.{channel} 4")
        cls.server = live_server.Server(SERVER, cls.root / "server", "--kafka", cls.brokers.hosts,
                                        "--kafka-config", quick_group(cls.root),
                                        "--kafka-workspace", "first", "--drain", "2s")
        cls.owner = live_server.set_up(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.end(cls.root)
        cls.brokers.close()

    def setUp(self):
        self.dir = self.root / self.id().rsplit(".", 1)[1]
        self.logs, self.state = self.dir / "logs", self.dir / "state"
        self.logs.mkdir(parents=True)

    def agent(self, *options, **more):
        return KafkaAgent(AGENT, self.state, self.brokers.hosts, [self.logs], *QUICK, *options, **more)

    def whole(self, log, count):
        """Waits until the server has all of the log: each kernel once, each channel to its end."""
        there = until_stored(self.server, self.owner, log.name, count)
        self.assertEqual(collections.Counter(there), collections.Counter(range(count)), log.name)
        want = {channel: size(log, channel) for channel in log.lines}
        until(lambda: positions(self.server, self.owner, log.name) == want,
              lambda: f"{positions(self.server, self.owner, log.name)} {want}")

    def state_of(self, session):
        answer = self.server.ask("GET", f"/api/v1/sessions/{session}", headers=self.owner)
        return answer.json().get("state") if answer.status == 200 else None


    # ---- what arrives --------------------------------------------------------------------------

    def test_lines_names_and_the_end_arrive(self):
        log = Log(self.logs, "k-all", rotate=4000)
        with self.agent("--listen", "127.0.0.1:0") as agent:
            for n in range(50):
                log.kernel(n)
            self.whole(log, 50)
            log.turn("device", packed=True)
            for n in range(50, 120):
                log.kernel(n)
            log.end()
            agent.until_done(1)
            self.whole(log, 120)
            counts = agent.status()["counts"]
            self.assertGreater(counts["bodies"], 2)
            self.assertEqual(counts["completed"], 1)
        until(lambda: self.state_of("k-all") in ("ended", "complete", "finished"), lambda: self.state_of("k-all"))
        ready = self.server.ask("GET", "/readyz").json()
        self.assertEqual(ready["status"], "ready")
        until(lambda: metrics(self.server)["gpufl_kafka_lag_messages"] == 0, lambda: metrics(self.server))
        self.assertGreater(metrics(self.server)["gpufl_kafka_messages_total"], 2)
        until(lambda: metrics(self.server)["gpufl_kafka_received_bytes_total"] > 0, "no report of the client")

    def test_windows_of_the_public_client(self):
        shutil.copytree(PEER, self.logs / PEER.name)
        with self.agent() as agent:
            agent.until_done(1)
            until(lambda: self.state_of(PEER.name), "the session does not arrive")
        self.assertEqual(letters(self.state), [])

    def test_files_that_are_empty_when_they_are_seen(self):
        """An empty file could be a window of the public client, whose places are numbers. Its first bytes say what it is."""
        log = Log(self.logs, "k-runs")
        other = log.sibling("k-begins")
        with self.agent("--scan", "100ms") as agent:
            self.whole(log, 0)
            agent.ask("flush")
            other.part["device"], other.offset["device"] = 1, 0
            text = other.header("device") + b"\n" + b'{"type":"kernel","rows":1,"start":[1],"duration":[5],"correlation":[7]}\n'
            (log.folder / "k-begins.device.log").write_bytes(text)
            self.assertEqual(until_stored(self.server, self.owner, "k-begins", 1), [7])
            self.assertEqual(positions(self.server, self.owner, "k-begins"), {"device": len(text)})
            log.end()

    def test_an_agent_that_was_killed_sends_from_its_mark(self):
        log = Log(self.logs, "k-killed")
        agent = self.agent("--batch", "4K").start()
        self.addCleanup(agent.kill)
        for n in range(200):
            log.kernel(n)
            if n % 40 == 20:
                agent.ready()
                agent.kill()
                agent.start()
        log.end()
        agent.ready()
        agent.until_done(1)
        self.whole(log, 200)
        self.assertEqual(agent.kill(signal.SIGTERM), 0)

    def test_a_mark_stays_when_the_agent_ends(self):
        log = Log(self.logs, "k-mark")
        for n in range(100):
            log.kernel(n)
        with self.agent() as agent:
            self.whole(log, 100)
            agent.ask("flush")
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        log.kernel(100)
        with self.agent() as agent:
            self.whole(log, 101)
            self.assertLess(agent.status()["counts"]["plain_bytes"], 1000, "it began again")
            log.end()
            agent.until_done(1)


    # ---- faults ---------------------------------------------------------------------------------

    def test_brokers_that_are_away(self):
        log = Log(self.logs, "k-away")
        with self.agent() as agent:
            log.kernel(0)
            self.whole(log, 1)
            self.brokers.down()
            for n in range(1, 60):
                log.kernel(n)
            until(lambda: agent.status()["state"] == "waiting", lambda: str(agent.status()))
            self.brokers.up()
            self.whole(log, 60)
            log.end()
            agent.until_done(1)
        self.assertEqual(letters(self.state), [])

    def test_what_passes_is_sent_again(self):
        log = Log(self.logs, "k-errors")
        self.brokers.ask(f"errors {PRODUCE} {NOT_LEADER} 5")
        with self.agent() as agent:
            for n in range(30):
                log.kernel(n)
            log.end()
            agent.until_done(1)
        self.whole(log, 30)

    def test_a_body_that_is_too_large_is_halved_and_a_line_set_aside(self):
        properties = self.dir / "properties"
        properties.write_text("message.max.bytes=3000\n# a comment\n")
        properties.chmod(0o600)
        log = Log(self.logs, "k-large")
        for n in range(100):
            log.kernel(n)
        noise = os.urandom(9000).hex()
        log.kernel(1000, name=noise)
        for n in range(100, 200):
            log.kernel(n)
        log.end()
        with self.agent("--kafka-config", str(properties)) as agent:
            agent.until_done(1)
            self.whole(log, 200)
            self.assertGreater(agent.status()["counts"]["answers_large"], 1)
            dead = letters(self.state)
            self.assertEqual([text for _, _, _, text in dead], [line + b"\n" for line in log.lines["device"]
                                                                if noise.encode() in line])
            self.assertEqual(dead[0][2]["status"], 413)

    def test_what_the_brokers_never_take_is_set_aside(self):
        log = Log(self.logs, "k-refused")
        with self.agent() as agent:
            log.kernel(0)
            self.whole(log, 1)
            # The body of one line is halved until it is refused as the smallest piece.
            length = len(log.lines["device"][-1]) + 2
            self.brokers.ask(f"errors {PRODUCE} {REFUSED} {length.bit_length()}")
            log.kernel(77)
            until(lambda: len(letters(self.state)) == 1, lambda: agent.said()[-2000:])
            log.kernel(1)
            log.end()
            agent.until_done(1)
            self.whole(log, 2)
            self.assertIn(b'"correlation": [77]', letters(self.state)[0][3])
            agent.ask("retry")
            self.assertEqual(letters(self.state), [])
            self.assertIn(77, until_stored(self.server, self.owner, "k-refused", 3))

    def test_a_client_that_may_not_write_raises_an_alarm(self):
        log = Log(self.logs, "k-forbidden")
        with self.agent("--wait-most", "300ms") as agent:
            log.kernel(0)
            self.whole(log, 1)
            self.brokers.ask(f"errors {PRODUCE} {FORBIDDEN} 3")
            log.kernel(1)
            until(lambda: agent.status()["counts"]["answers_key"], lambda: str(agent.status()))
            self.whole(log, 2)
            log.end()
            agent.until_done(1)

    def test_lines_that_the_server_refuses_are_kept_there_once(self):
        log = Log(self.logs, "k-bad")
        bad = [b'{"type":"kernel","rows":2,"start":[1],"no":%d}' % n for n in range(90)] + [b"\xff no JSON"]
        for n, line in enumerate(bad):
            log.kernel(n)
            log.put("device", line)
        log.end()
        with self.agent() as agent:
            agent.until_done(1)
        self.whole(log, len(bad))
        kept = [text for name, (_, text) in aside(self.server.folder / "data").items() if name.startswith("k-bad.")]
        self.assertEqual(collections.Counter(kept), collections.Counter(line + b"\n" for line in bad))

    def test_a_gap_waits_for_what_is_missing(self):
        log = Log(self.logs, "k-gap")
        for n in range(40):
            log.kernel(n)
        with self.agent() as agent:
            self.whole(log, 40)
            self.assertEqual(agent.kill(signal.SIGTERM), 0)
        mark = size(log, "device")
        for n in range(40, 60):
            log.kernel(n)
        # A cursor that says more than the server has: as if the first of these messages had been lost.
        lost = sum(len(line) + 1 for line in log.lines["device"][41:51])
        cursor = self.state / "cursor"
        text = cursor.read_text()
        self.assertIn(f"m k-gap device {mark}\n", text)
        cursor.write_text(text.replace(f"m k-gap device {mark}\n", f"m k-gap device {mark + lost}\n"))
        log.end()
        with self.agent() as agent:
            agent.until_done(1)
            until(lambda: any(n.startswith("k-gap.device") and n.endswith(".waits")
                              for n in aside(self.server.folder / "data")), lambda: self.server.said()[-2000:])
            until(lambda: "k-gap.complete.waits" in aside(self.server.folder / "data"),
                  lambda: aside(self.server.folder / "data"))
        shutil.rmtree(self.state)  # it sends from the start
        with self.agent() as agent:
            agent.until_done(1)
            self.whole(log, 60)
        until(lambda: not any(n.endswith(".waits") for n in aside(self.server.folder / "data")),
              lambda: aside(self.server.folder / "data"))

    def test_the_server_is_killed_and_nothing_is_lost_or_doubled(self):
        log = Log(self.logs, "k-server")
        with self.agent("--batch", "4K") as agent:
            for n in range(300):
                log.kernel(n)
                if n == 150:
                    self.server.kill()
                    self.server.start()
            log.end()
            agent.until_done(1)
            self.whole(log, 300)


class Usage(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-kafka-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def run_it(self, program, *options):
        return subprocess.run([program, *options], capture_output=True, text=True, timeout=PATIENCE, env=ENV, check=False,
                              cwd=self.dir)

    def agent(self, *options):
        return self.run_it(AGENT, "--source", str(self.dir), "--state", str(self.dir / "state"), *options)

    def test_check_asks_the_brokers(self):
        with Brokers(MOCK, 2) as brokers:
            brokers.ask("topic gpufl.device 2")
            done = self.agent("--kafka", brokers.hosts, "--check", "--timeout", "10s")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"Kafka {brokers.hosts}: 2 brokers; 1 topics begin with gpufl.", done.stdout)
        for brokers in ("127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "nowhere.invalid"):
            done = self.agent("--kafka", brokers, "--check", "--timeout", "600s")  # much longer than the test waits
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertRegex(done.stderr, rf"\Agpufl-agent: Kafka at {re.escape(brokers)}: no broker answers: .+\n\Z")
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_no_sentence_has_a_secret(self):
        rows = (("sasl.password=hunter2\nno.such=hunter2\n", "line 2: librdkafka knows no property 'no.such'"),
                ("sasl.password=hunter2\nsecurity.protocol=hunter2\n", "line 2: librdkafka does not take that value"),
                ("hunter2\n", "line 1 is not NAME=VALUE"), ("acks=1\n", "line 1: acks cannot be set here"),
                ("plugin.library.paths=x.so\n", "plugin.library.paths cannot be set here"))
        for text, sentence in rows:
            path = self.dir / "properties"
            path.write_text(text)
            path.chmod(0o600)
            for done in (self.agent("--kafka", "127.0.0.1:1", "--kafka-config", str(path)),
                         self.run_it(SERVER, "--data", str(self.dir / "data"), "--listen", "127.0.0.1:0", "--local",
                                     "--kafka", "127.0.0.1:1", "--kafka-workspace", "local", "--kafka-config",
                                     str(path))):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertNotIn("hunter2", done.stderr + done.stdout)

    def test_options_that_do_not_fit(self):
        for options, sentence in ((("--kafka", "h", "--server", "http://h"), "--kafka and --server exclude each other"),
                                  (("--kafka-config", "f", "--server", "http://h"), "--kafka-config needs --kafka"),
                                  (("--kafka", "h", "--config-cache", "d"), "--config-cache and --allow-remote-control"),
                                  (("--kafka", "h", "--kafka-prefix", "a b"), "--kafka-prefix")):
            done = self.agent(*options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)
        done = self.run_it(SERVER, "--data", str(self.dir / "d"), "--listen", "127.0.0.1:0", "--kafka", "127.0.0.1:1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kafka-workspace", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
