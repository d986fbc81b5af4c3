#!/usr/bin/env python3
"""Nothing is lost and nothing doubled: sessions of known content, everything fails, the agent is killed at random.

    test_agent_faults.py GPUFL_AGENT GPUFL_SERVER SOURCE [SECONDS [SEED]]

Sessions are written with rotation while a proxy between agent and server answers 500, 503, 429, 408, 413, 401, 403
and 400 for one line, hangs, and cuts connections; the server is restarted and killed, the agent killed. At the end the
lines in the server's store and the dead letters together are the lines of the logs, each once. The report says how
often each fault happened.
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
from agent_run import PATIENCE, Agent, Log, letters, unzst, until
from faulty import FAULTS, Proxy
from live_server import bearer

AGENT, SERVER, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 8
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 32)
SESSIONS, ROTATE, KILLS = 20, 6000, 4
MOST = 60 * SECONDS  # lines of a session
QUICK = ("--timeout", "1s", "--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms", "--batch", "8K")


class Writer(threading.Thread):
    """Writes one session until it is told to end. Some lines no server takes, some only this proxy refuses."""

    def __init__(self, folder, number, seed, over):
        super().__init__(daemon=True)
        self.log, self.number, self.dice, self.over = Log(folder, f"s{number:02}", ROTATE), number, random.Random(seed), over
        self.known, self.bad, self.poison = [], 0, 0

    def run(self):
        n = 0
        while not self.over.is_set() and n < MOST:
            for _ in range(self.dice.randrange(1, 12)):
                n += 1
                chance = self.dice.random()
                correlation = self.number * 1_000_000 + n
                if chance < 0.004:
                    self.log.put("device", b'{"type":"kernel","rows":2,"start":[1],"no":%d}' % correlation)
                    self.bad += 1
                elif chance < 0.006:
                    self.log.put("device", b"\xff\xfe no JSON %d" % correlation)
                    self.bad += 1
                elif chance < 0.0075:
                    self.log.kernel(correlation, name="poison")
                    self.poison += 1
                else:
                    self.log.kernel(correlation)
            if self.dice.random() < 0.05:
                self.log.turn("device", packed=self.dice.random() < 0.5)
            self.over.wait(self.dice.uniform(0.02, 0.15))
        self.log.end()


def correlations(server, headers, session):
    """What the store has of a session, one number a line."""
    question = {"sql": "SELECT correlation FROM kernels", "rows": 100_000, "sessions": session, "milliseconds": 30_000}
    answer = server.ask("POST", "/api/v1/sql", question, headers)
    assert answer.status == 200, answer
    said = answer.json()
    assert not said["truncated"]
    return [int(row[0]) for row in said["rows"]]


class Faults(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-agent-faults-"))
        self.server = live_server.Server(SERVER, self.dir / "server")
        self.owner = live_server.set_up(self.server)
        self.key = live_server.key(self.server, self.owner, "ingest")
        self.proxy = Proxy(self.server.port, SEED, unzst=unzst)

    def tearDown(self):
        self.proxy.close()
        self.server.kill()
        shutil.rmtree(self.dir)

    def torment(self, agent, writers):
        """Kills agent and server at random moments while the writers write."""
        dice, end, kills = random.Random(SEED + 1), time.monotonic() + SECONDS, collections.Counter()
        while time.monotonic() < end or kills["agent killed"] < KILLS or not kills["server killed"]:
            time.sleep(dice.uniform(0.2, 1.2))  # a random moment is what this is about
            if dice.random() < 0.7:
                agent.kill()
                kills["agent killed"] += 1
                agent.start()
            elif dice.random() < 0.5:
                self.server.kill()
                kills["server killed"] += 1
                self.server.start()
            else:
                self.server.process.send_signal(signal.SIGTERM)
                self.server.process.wait(PATIENCE)
                self.server.process.stdout.close()
                kills["server restarted"] += 1
                self.server.start()
        return kills

    def test_every_line_is_there_once(self):
        over = threading.Event()
        logs = self.dir / "logs"
        writers = [Writer(logs, i, SEED + 10 + i, over) for i in range(SESSIONS)]
        agent = Agent(AGENT, self.dir / "state", self.proxy.url, [logs], *QUICK, key=self.key)
        self.addCleanup(lambda: agent.process and agent.kill())
        agent.start()
        for writer in writers:
            writer.start()
        kills = self.torment(agent, writers)
        self.proxy.share = 0.05
        over.set()
        for writer in writers:
            writer.join(PATIENCE)
        agent.ready()
        agent.until_done(SESSIONS)
        if len(sys.argv) > 6:
            print(agent.said())
        self.assertEqual(agent.kill(signal.SIGTERM), 0, agent.said()[-2000:])
        dead = letters(self.dir / "state")
        self.compare(writers, dead)
        faults = {**self.proxy.faults, **kills}
        print("seed", SEED, "lines", sum(len(w.log.lines["device"]) for w in writers), "dead letters", len(dead),
              json.dumps(faults))
        for fault in (*FAULTS, "400"):
            self.assertGreater(faults.get(fault, 0), 0, f"{fault} never happened: more time is needed")

    def compare(self, writers, dead):
        headers = self.owner
        refused = collections.Counter((s, c, text) for s, c, _, text in dead)
        self.maxDiff = None
        self.assertEqual(max(refused.values(), default=1), 1, "a dead letter stands twice")
        for writer in writers:
            log, name = writer.log, writer.log.name
            until(lambda log=log, name=name: len(correlations(self.server, headers, name)) >= sum(
                1 for line in log.lines["device"] if b'"correlation"' in line and b"poison" not in line),
                lambda name=name: f"{name}: {len(correlations(self.server, headers, name))}")
            there = collections.Counter(correlations(self.server, headers, name))
            aside = [text for s, c, text in refused if (s, c) == (name, "device")]
            want, kept = collections.Counter(), collections.Counter()
            for line in log.lines["device"]:
                if b"poison" in line or b'"no"' in line or b"no JSON" in line:
                    kept[line + b"\n"] += 1
                elif b'"correlation"' in line:
                    want[json.loads(line)["correlation"][0]] += 1
            self.assertEqual(there, want, name)
            self.assertEqual(collections.Counter(aside), kept, name)
            self.assertEqual([c for s, c, _ in refused if s == name and c != "device"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
