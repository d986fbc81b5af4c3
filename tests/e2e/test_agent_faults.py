#!/usr/bin/env python3
"""`gpufl-agent` loses no line, and none is stored twice, while everything fails and the agent is killed at random.

    test_agent_faults.py GPUFL_AGENT GPUFL_SERVER SOURCE [SECONDS [SEED]]

Sessions are written with rotation while a proxy between agent and server answers 500, 503, 429, 425, 408, 413, 401,
403 and 400 for one line, hangs, and cuts connections; the server is restarted and killed, the agent killed; the network
of a namespace goes down and comes back, the agent's clock jumps, the disk of its state is full, and the server loses
everything and is as on its first day. At the end the lines in the server's store and the dead letters together are the
lines of the logs, each once. The report says how often each fault happened. In a run of more than a minute the writers
are slower, because what is left to send at its end has to be sent, too.
"""
import collections
import json
import mmap
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

import live_server
from agent_run import Agent, Log, letters, unzst
from faulty import FAULTS, Proxy
from namespace import Loopback
from patience import PATIENCE, runs_for, until

AGENT, SERVER, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 8
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 32)
SESSIONS, ROTATE, KILLS = 20, 6000, 4
SESSIONS_ASKED = 32  # by one statement, at most
NETWORK = Loopback()  # made before there are threads
PACE = max(1, SECONDS / 60)  # how much slower the writers of a long run are: it has the lines of a minute
MOST = 120 * SECONDS / PACE  # lines of a session
CLOCK = AGENT.parent.parent / "tests/libclock_shift.so"  # not built if a sanitizer has to be loaded first
DAY = 86_400_000_000_000  # ns
QUICK = ("--timeout", "1s", "--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms", "--batch", "8K",
         "--scan", "2s")


class Writer(threading.Thread):
    """Writes one session until it is stopped. Some lines no server accepts, some only this proxy refuses."""

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
            self.over.wait(self.dice.uniform(0.02, 0.15) * PACE)
        self.log.end()


class Clock:
    """The agent's real-time clock, which jumps."""

    def __init__(self, path):
        path.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(CLOCK), "CLOCK_SHIFT": str(path)} if CLOCK.exists() else {}
        with open(path, "r+b") as file:
            self.shift = mmap.mmap(file.fileno(), 8)

    def jump(self, ns):
        self.shift[:8] = ns.to_bytes(8, sys.byteorder, signed=True)


def correlations(server, headers, sessions):
    """Returns what the store has of each session: one number a line. A statement is a process of the server's, and asks about
    as many sessions as the rows of an answer have room for."""
    found, most = {session: [] for session in sessions}, 100_000
    at_once = min(SESSIONS_ASKED, int(most // (MOST + 12)))  # a session ends up to 12 lines later
    for first in range(0, len(sessions), at_once):
        question = {"sql": "SELECT session, correlation FROM kernels", "rows": most,
                    "sessions": ",".join(sessions[first:first + at_once]), "milliseconds": 30_000}
        answer = server.ask("POST", "/api/v1/sql", question, headers)
        assert answer.status == 200, answer
        said = answer.json()
        assert not said["truncated"]
        for session, correlation in said["rows"]:
            found[session].append(int(correlation))
    return found


class Faults(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-agent-faults-"))
        self.server = live_server.Server(SERVER, self.dir / "server")
        self.owner = live_server.set_up(self.server)
        self.key = live_server.key(self.server, self.owner, "ingest")
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(PATIENCE)
        self.server.process.stdout.close()
        shutil.copytree(self.server.folder / "data", self.dir / "backup")
        self.server.start()
        self.proxy = Proxy(self.server.port, SEED, unzst=unzst)
        self.clock = Clock(self.dir / "clock")

    def tearDown(self):
        self.proxy.close()
        self.server.kill()
        shutil.rmtree(self.dir)

    def agent_killed(self, _):
        self.agent.kill()
        self.agent.start()

    def server_killed(self, _):
        self.server.kill()
        self.server.start()

    def server_restarted(self, _):
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(PATIENCE)
        self.server.process.stdout.close()
        self.server.start()

    def server_loses_its_disk(self, _):
        """All sessions are gone; only the backup of the first day is left, with users and keys. In a long run this is
        rare, since everything is sent again each time."""
        self.server.kill()
        shutil.rmtree(self.server.folder / "data")
        shutil.copytree(self.dir / "backup", self.server.folder / "data")
        self.server.start()

    def network_down(self, dice):
        with NETWORK.down():
            time.sleep(dice.uniform(0.1, 1.5))  # the test is about such times

    def clock_jumps(self, dice):
        self.clock.jump(dice.randrange(-DAY, DAY))

    def disk_full(self, dice):
        """No file of the agent's can grow for a while, as on a disk without room."""
        limits = (1, resource.RLIM_INFINITY), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(self.agent.process.pid, resource.RLIMIT_FSIZE, limits[0])
        time.sleep(dice.uniform(0.1, 1.0))  # as above
        resource.prlimit(self.agent.process.pid, resource.RLIMIT_FSIZE, limits[1])

    def torment(self):
        """Makes things fail at random moments while the writers write: each of them at least once."""
        dice, end, counts = random.Random(SEED + 1), time.monotonic() + SECONDS, collections.Counter()
        weights = {"agent_killed": 14, "server_killed": 3, "server_restarted": 3, "disk_full": 2,
                   **({} if "--meta" in self.server.options else {"server_loses_its_disk": 1 / PACE}),
                   **({"network_down": 2} if NETWORK.there else {}), **({"clock_jumps": 3} if CLOCK.exists() else {})}
        first = dice.sample([*weights, *["agent_killed"] * (KILLS - 1)], len(weights) + KILLS - 1)
        while time.monotonic() < end or first:
            time.sleep(dice.uniform(0.2, 1.2))  # the test is about random moments
            fault = first.pop() if first else dice.choices(list(weights), list(weights.values()))[0]
            getattr(self, fault)(dice)
            counts[fault.replace("_", " ")] += 1
        return counts

    def test_every_line_is_there_once(self):
        over = threading.Event()
        logs = self.dir / "logs"
        writers = [Writer(logs, i, SEED + 10 + i, over) for i in range(SESSIONS)]
        agent = self.agent = Agent(AGENT, self.dir / "state", self.proxy.url, [logs], *QUICK, key=self.key,
                                   environment=self.clock.environment)
        self.addCleanup(lambda: agent.process and agent.kill())
        agent.start()
        for writer in writers:
            writer.start()
        kills = self.torment()
        self.proxy.share = 0.05
        over.set()
        for writer in writers:
            writer.join(PATIENCE)
        agent.ready()
        agent.until_done(SESSIONS, max(2 * PATIENCE, SECONDS))
        if len(sys.argv) > 6:
            print(agent.said())
        dead = letters(self.dir / "state")
        self.compare(writers, dead)  # while the agent runs: what the server lost last may still be on its way
        self.assertEqual(letters(self.dir / "state"), dead)
        self.assertEqual(agent.kill(signal.SIGTERM), 0, agent.said()[-2000:])
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
        names = [writer.log.name for writer in writers]
        sent = {writer.log.name: sum(b'"correlation"' in line and b"poison" not in line for line in writer.log.lines["device"])
                for writer in writers}

        def all_there():
            found = correlations(self.server, headers, names)
            return all(len(found[name]) >= sent[name] for name in names) and found

        def missing():
            found = correlations(self.server, headers, names)
            return {name: (len(found[name]), sent[name]) for name in names if len(found[name]) < sent[name]}

        stored = until(all_there, missing)
        for writer in writers:
            log, name = writer.log, writer.log.name
            there = collections.Counter(stored[name])
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
    runs_for(SECONDS)
    unittest.main(argv=sys.argv[:1])
