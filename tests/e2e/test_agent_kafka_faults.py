#!/usr/bin/env python3
"""Through Kafka no line is lost or stored twice while everything fails and both ends are killed at random.

    test_agent_kafka_faults.py GPUFL_AGENT GPUFL_SERVER KAFKA_MOCK [SECONDS [SEED]]

Sessions are written with rotation while brokers answer with errors and go down and the agent and the server are killed
at random. At the end the lines in the server's store, those that the server set aside and the agent's dead letters
together are the lines of the logs, each once. The report says how often each fault happened.
"""
import collections
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

import live_server
from agent_run import Log, letters
from kafka_run import Brokers, KafkaAgent, aside, metrics, positions, quick_group, until_stored
from patience import PATIENCE, runs_for, until

AGENT, SERVER, MOCK = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 10
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 32)
SESSIONS, ROTATE = 8, 6000
PACE = max(1, SECONDS / 60)  # how much slower the writers of a long run are, as in test_agent_faults.py
MOST = 40 * SECONDS / PACE  # lines of a session
QUICK = ("--timeout", "1s", "--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms", "--batch", "8K")
# The mock cluster keeps 5 MB of a partition. A server that is killed every few seconds reads next to nothing, and what the
# cluster then removes is lost, as with any retention that is too short: in a long run servers get time to read.
CALM = 30  # s
PRODUCE, FETCH, COMMIT, HEARTBEAT = 0, 1, 8, 12
# Requests and the errors that answer them: errors that pass, and for Produce two that are final.
ERRORS = ((PRODUCE, 6), (PRODUCE, 7), (PRODUCE, 19), (PRODUCE, 10), (PRODUCE, 87), (PRODUCE, 29), (FETCH, 6),
          (COMMIT, 14), (HEARTBEAT, 27))
FAULTS = ("agent killed", "server killed", "server restarted", "brokers down")


class Writer(threading.Thread):
    """Writes one session until it is stopped. Some lines no server accepts."""

    def __init__(self, folder, number, seed, over):
        super().__init__(daemon=True)
        self.log, self.number = Log(folder, f"f{number:02}", ROTATE), number
        self.dice, self.over, self.last = random.Random(seed), over, 0

    def run(self):
        n = 0
        while not self.over.is_set() and n < MOST:
            for _ in range(self.dice.randrange(1, 12)):
                n += 1
                correlation = self.number * 1_000_000 + n
                chance = self.dice.random()
                if chance < 0.006:
                    self.log.put("device", b'{"type":"kernel","rows":2,"start":[1],"no":%d}' % correlation)
                elif chance < 0.01:
                    self.log.put("device", b"\xff\xfe no JSON %d" % correlation)
                else:
                    self.log.kernel(correlation)
            if self.dice.random() < 0.05:
                self.log.turn("device", packed=self.dice.random() < 0.5)
            self.over.wait(self.dice.uniform(0.02, 0.15) * PACE)
        self.log.end()


class Faults(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-kafka-faults-"))
        self.brokers = Brokers(MOCK)
        self.server = live_server.Server(SERVER, self.dir / "server", "--kafka", self.brokers.hosts, "--kafka-config",
                                         quick_group(self.dir), "--kafka-workspace", "first", "--drain", "2s")
        self.owner = live_server.set_up(self.server)

    def tearDown(self):
        self.server.kill()
        self.brokers.close()
        shutil.rmtree(self.dir)

    def one_fault(self, dice, agent, fault):
        if fault == "agent killed":
            agent.kill()
            agent.start()
        elif fault == "server killed":
            self.server.kill()
            self.server.start()
        elif fault == "server restarted":
            self.server.process.send_signal(signal.SIGTERM)
            self.server.process.wait(PATIENCE)
            self.server.process.stdout.close()
            self.server.start()
        elif fault == "brokers down":
            self.brokers.down()
            time.sleep(dice.uniform(0.1, 1.5))  # the test is about such times
            self.brokers.up()
        else:
            self.brokers.ask("errors {} {} {}".format(*fault, dice.randrange(1, 4)))

    def torment(self, agent):
        """Makes things fail at random moments while the writers write: each of them at least once."""
        dice, end, counts = random.Random(SEED + 1), time.monotonic() + SECONDS, collections.Counter()
        first, calm = dice.sample([*FAULTS, *ERRORS], len(FAULTS) + len(ERRORS)), time.monotonic() + CALM
        while time.monotonic() < end or first:
            if time.monotonic() > calm:
                until(lambda: 0 <= metrics(self.server)["gpufl_kafka_lag_messages"] < 500, lambda: self.server.said()[-3000:])
                calm = time.monotonic() + CALM
            time.sleep(dice.uniform(0.1, 0.8))  # the test is about random moments
            fault = first.pop() if first else dice.choice(ERRORS) if dice.random() < 0.6 else dice.choices(
                FAULTS, (4, 2, 1, 2))[0]
            self.one_fault(dice, agent, fault)
            counts[fault if isinstance(fault, str) else "API %d error %d" % fault] += 1
        return counts

    def test_every_line_is_there_once(self):
        over = threading.Event()
        logs = self.dir / "logs"
        writers = [Writer(logs, i, SEED + 10 + i, over) for i in range(SESSIONS)]
        agent = KafkaAgent(AGENT, self.dir / "state", self.brokers.hosts, [logs], *QUICK)
        self.addCleanup(lambda: agent.process and agent.kill())
        agent.start()
        for writer in writers:
            writer.start()
        counts = self.torment(agent)
        over.set()
        for writer in writers:
            writer.join(PATIENCE)
        agent.ready()
        agent.until_done(SESSIONS)
        self.assertEqual(agent.kill(signal.SIGTERM), 0, agent.said()[-2000:])
        until(lambda: metrics(self.server)["gpufl_kafka_lag_messages"] == 0, lambda: self.server.said()[-3000:])
        until(lambda: not metrics(self.server)["gpufl_kafka_waiting_files"], lambda: str(aside(self.server.folder / "data")))
        dead, refused = letters(self.dir / "state"), aside(self.server.folder / "data")
        self.compare(writers, dead, refused)
        print("seed", SEED, "lines", sum(len(w.log.lines["device"]) for w in writers), "dead letters", len(dead),
              "set aside by the server", len(refused), json.dumps(counts))

    def compare(self, writers, dead, refused):
        self.maxDiff = None
        self.assertEqual([n for n in refused if not n.endswith(".line")], [])
        for writer in writers:
            log, name = writer.log, writer.log.name
            letters_here = [text for s, c, _, text in dead if (s, c) == (name, "device")]
            kept = collections.Counter(letters_here)
            kept.update(text for n, (_, text) in refused.items() if n.startswith(name + ".device."))
            want, bad = collections.Counter(), collections.Counter()
            for line in log.lines["device"]:
                if b'"no"' in line or b"no JSON" in line or line + b"\n" in letters_here:
                    bad[line + b"\n"] += 1
                elif b'"correlation"' in line:
                    want[json.loads(line)["correlation"][0]] += 1
            self.assertEqual(kept, bad, name)
            there = until_stored(self.server, self.owner, name, sum(want.values()))
            self.assertEqual(collections.Counter(there), want, name)


class Group(unittest.TestCase):
    """Servers of one group, with stores of their own, so that it can be seen who got what."""

    def test_a_session_goes_to_one_server_with_all_its_channels(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-kafka-group-"))
        self.addCleanup(shutil.rmtree, folder)
        brokers = Brokers(MOCK)
        self.addCleanup(brokers.close)
        for channel in ("device", "system"):
            brokers.ask(f"topic gpufl.{channel} 4")
        properties, servers = quick_group(folder), []
        for name in ("one", "two"):
            server = live_server.Server(SERVER, folder / name, "--kafka", brokers.hosts, "--kafka-config", properties,
                                        "--kafka-workspace", "first", "--drain", "2s")
            self.addCleanup(server.kill)
            servers.append((server, live_server.set_up(server)))
        until(lambda: [metrics(s)["gpufl_kafka_partitions"] for s, _ in servers] == [4, 4],
              lambda: str([metrics(s)["gpufl_kafka_partitions"] for s, _ in servers]))
        logs = [Log(folder / "logs", f"g{i:02}") for i in range(12)]
        for log in logs:
            for n in range(20):
                log.kernel(n)
            log.end()
        with KafkaAgent(AGENT, folder / "state", brokers.hosts, [folder / "logs"], *QUICK) as agent:
            agent.until_done(len(logs))
        want = {channel: {log.name: sum(len(line) + 1 for line in log.lines[channel]) for log in logs}
                for channel in ("device", "system")}

        def there():
            return [{log.name: found for log in logs if (found := positions(server, owner, log.name))}
                    for server, owner in servers]
        until(lambda: sum(len(found) for found in there()) == len(logs) and all(
            found == {"device": want["device"][name], "system": want["system"][name]}
            for one in there() for name, found in one.items()), lambda: str(there()))
        self.assertTrue(all(there()), "one server got all")
        self.assertEqual([aside(server.folder / "data") for server, _ in servers], [{}, {}])


if __name__ == "__main__":
    runs_for(SECONDS)
    unittest.main(argv=sys.argv[:1])
