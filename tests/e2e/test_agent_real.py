#!/usr/bin/env python3
"""`gpufl-agent` and `gpufl-server`: written lines are in the server's store, and pages get events.

    test_agent_real.py GPUFL_AGENT GPUFL_SERVER SOURCE
"""
import contextlib
import http.client
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

import live_server
from agent_run import QUICK, Agent, Log, letters, memory_of, plain, unzst
from faulty import Proxy
from patience import PATIENCE, until

AGENT, SERVER, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:4])
PEER = SOURCE / "tests/data/peer/5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34"


class Real(unittest.TestCase):
    """Tests with one real server for all, with sessions of different names."""

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-agent-real-"))
        cls.server = live_server.Server(SERVER, cls.top / "server")
        cls.owner = live_server.set_up(cls.server)
        cls.key = live_server.key(cls.server, cls.owner, "ingest")

    @classmethod
    def tearDownClass(cls):
        cls.server.end(cls.top)

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        self.logs, self.state = self.dir / "logs", self.dir / "state"

    def agent(self, *options, server=None):
        return Agent(AGENT, self.state, server or self.server.url, [self.logs], *QUICK, *options, key=self.key)

    def kernels(self, session):
        answer = self.server.ask("POST", "/api/v1/sql", {"sql": "SELECT correlation FROM kernels ORDER BY 1",
                                                         "sessions": session}, self.owner)
        return [int(r[0]) for r in answer.json()["rows"]] if answer.status == 200 else answer

    def events(self):
        """The server's events as pages get them: (name, data). Fails if none comes for PATIENCE."""
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        link.request("GET", "/api/v1/live", headers=self.owner)
        answer = link.getresponse()
        self.assertEqual(answer.status, 200)
        answer.readline()  # "retry": it listens
        end, name = time.monotonic() + PATIENCE, None
        with contextlib.closing(link), contextlib.closing(answer):
            for line in answer:
                self.assertLess(time.monotonic(), end, "no event says so")
                if line.startswith(b"event: "):
                    name = line[7:].decode().strip()
                elif line.startswith(b"data: ") and name:
                    yield name, json.loads(line[6:])

    def test_events_lead_pages_to_the_counts_of_a_running_session(self):
        """A page asks when an event comes. After the last one it has all that was written."""
        log = Log(self.logs, "followed")
        with self.agent():
            for written in (3, 5):  # the second time its counts have just been written
                with contextlib.closing(self.events()) as events:
                    for n in range(written):
                        log.kernel(100 * written + n)
                    seen = 0
                    while seen < (3 if written == 3 else 8):
                        name, data = next(events)
                        if name == "session" and data["session"] == "followed":
                            row = self.server.ask("GET", "/api/v1/sessions/followed", headers=self.owner).json()
                            self.assertEqual(row["state"], "live")
                            seen = row["kernels"] or 0
            log.end()

    def test_more_bad_lines_than_an_answer_names(self):
        log = Log(self.logs, "bad")
        for n in range(300):
            if n % 2:
                log.put("device", b"no JSON \xff%d" % n)
            else:
                log.kernel(n)
        log.put("device", b"{" + b"x" * (5 << 20))  # longer than any line
        log.put("device", b"only bad ones follow")
        log.put("device", b"another one")
        log.end()
        with self.agent() as agent:
            agent.until_done(1)
        dead = [d[3] for d in letters(self.state)]
        self.assertEqual(dead, [x + b"\n" for x in log.lines["device"][1:] if b'"correlation"' not in x])
        until(lambda: self.kernels("bad") == list(range(0, 300, 2)), lambda: self.kernels("bad"))

    def refused_lines_of_a_window(self, name, proxy):
        """Copies the public client's session with bad lines in a window, sends it, and says how many there are."""
        folder = self.logs / name
        folder.mkdir(parents=True)
        for path in PEER.glob("*.log*"):
            (folder / path.name.removesuffix(".gz")).write_bytes(plain(path).replace(PEER.name.encode(), name.encode()))
        part = folder / "device.1.log"
        good = plain(part).splitlines()
        bad = [b"no JSON %d" % n for n in range(70)] + [b'{"type":"kernel_event_batch","x":' + b"y" * 9000]
        lines = good[:1] + bad[:40] + good[1:] + bad[40:]
        part.write_bytes(b"".join(line + b"\n" for line in lines))
        with self.agent(server=proxy.url) as agent:
            agent.until_done(1)
            self.assertEqual(agent.status()["counts"]["unnamed_lines"], 0)
        dead = letters(self.state)
        self.assertEqual({(d[1], d[2]["window"], d[2]["offset"]) for d in dead}, {("device", True, 1)})
        at = [b"".join(line + b"\n" for line in lines[:i]) for i, line in enumerate(lines) if line in bad]
        self.assertEqual([(d[2]["from"], d[3]) for d in sorted(dead, key=lambda d: d[2]["from"])],
                         [(len(before), line + b"\n") for before, line in zip(at, bad)])
        return len(bad)

    def test_lines_that_a_window_is_taken_without(self):
        proxy = Proxy(self.server.port, 1, share=0, unzst=unzst)
        self.addCleanup(proxy.close)
        bad = self.refused_lines_of_a_window("windowed", proxy)
        with self.agent() as agent:
            self.assertIn(f"refused again: {bad}, kept: {bad}", agent.ask("retry", code=1)[1])

    def test_lines_of_a_window_whose_answers_were_lost(self):
        proxy = Proxy(self.server.port, 1, share=0, unzst=unzst)
        self.addCleanup(proxy.close)
        proxy.share, proxy.first = 0.5, ["cut_after"] * 6
        proxy.draw = lambda: (proxy.first.pop() if proxy.first and proxy.dice.random() < proxy.share else None)
        self.refused_lines_of_a_window("unanswered", proxy)
        self.assertEqual(proxy.first, [])

    def test_a_line_that_no_memory_should_hold(self):
        # The memory is checked only without a sanitizer; with one a byte takes ten times as long.
        size = 16_000_000 if os.environ.get("GPUFL_SANITIZE") else 100_000_000
        log = Log(self.logs, "huge")
        log.kernel(1)
        log.put("device", b'{"type":"kernel","x":"' + b"y" * size + b'"}')
        log.kernel(2)
        log.end()
        with self.agent("--timeout", "60s") as agent, memory_of(agent.process) as memory:
            agent.until_done(1)
            used = memory()
        self.assertEqual([len(d[3]) for d in letters(self.state)], [len(log.lines["device"][2]) + 1])
        until(lambda: self.kernels("huge") == [1, 2], lambda: self.kernels("huge"))
        if not os.environ.get("GPUFL_SANITIZE"):
            self.assertLess(used, 64 << 20)

    def test_a_refused_line_is_tried_again(self):
        log = Log(self.logs, "again")
        log.kernel(1)
        log.kernel(2, name="poison")
        log.kernel(3)
        log.end()
        proxy = Proxy(self.server.port, 1, share=0, unzst=unzst)
        try:
            with self.agent(server=proxy.url) as agent:
                agent.until_done(1)
                dead = letters(self.state)
                self.assertEqual([(d[2]["status"], d[2]["reason"], d[3]) for d in dead],
                                 [(400, "a line is poisoned", log.lines["device"][2] + b"\n")])
                self.assertIn("refused again: 1, kept: 1", agent.ask("retry", code=1)[1])
                proxy.poison = b"something else"
                self.assertIn("delivered: 1, refused again: 0, kept: 0", agent.ask("retry")[1])
                self.assertEqual(letters(self.state), [])
                agent.ask("retry")
        finally:
            proxy.close()
        until(lambda: self.kernels("again") == [1, 2, 3], lambda: self.kernels("again"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
