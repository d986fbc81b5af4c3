#!/usr/bin/env python3
"""A server that is killed again and again: it has everything that it acknowledged, once.

    crash.py GPUFL GPUFL_SERVER CRASH_AT_LIBRARY SOURCE [ROUNDS [SEED [FIRST]]]

A round is a data folder of its own. Its server is killed while it makes its tables, while `gpufl upload`
sends sessions and a sender of single bodies does, while they are loaded, summed up and checkpointed, and
while it ends: at a chosen one of the calls that change files, before it, after it or half way through
(crash_at.c), or by SIGKILL at whatever moment the sending is over. In the end the sessions must be what a
server that nobody killed makes of them.
"""
import http.client
import json
import math
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import live_server
from live_server import bearer, simulate

GPUFL, SERVER, LIBRARY, SOURCE = (pathlib.Path(p).absolute() for p in sys.argv[1:5])
ROUNDS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
SEED = int(sys.argv[6]) if len(sys.argv) > 6 else random.SystemRandom().randrange(1 << 32)
FIRST = int(sys.argv[7]) if len(sys.argv) > 7 else 0
KILLS = 4  # at most, of one round's sending
HOW = ("before", "after", "torn")
PARTS = ("", "/report", "/counts", "/positions", "/kernels?limit=1000", "/insights", "/scopes")
SETTLES = ("bytes", "busy", "received", "created", "ended", "made")  # they depend on when data came, and on the disk


def some(dice, most):
    """A number of a call: small ones as likely as large ones, since few processes live to make many."""
    return round(math.exp(dice.uniform(0, math.log(most))))


def differences(is_, want, path=""):
    """The differences of two documents, in words."""
    if type(is_) is not type(want) or not isinstance(want, (dict, list)):
        return [] if is_ == want else [f"{path}: {str(is_)[:200]}, not {str(want)[:200]}"]
    if isinstance(want, list):
        if len(is_) != len(want):
            return [f"{path}: {len(is_)} members, not {len(want)}"]
        is_, want = dict(enumerate(is_)), dict(enumerate(want))
    return [line for k in sorted(set(is_) | set(want), key=str)
            for line in differences(is_.get(k), want.get(k), f"{path}/{k}")]


class Crashing(live_server.Server):
    """A server that is killed at a call that changes files, or from outside."""
    at_calls = 0

    def begin(self, at, how):
        """Starts it; False: it was killed on the way."""
        self.environment = {"LD_PRELOAD": str(LIBRARY), "CRASH_AT": str(at), "CRASH_HOW": how} if at else {}
        try:
            self.start()
        except AssertionError:
            if self.process.returncode != -signal.SIGKILL:
                raise
            return False
        return True

    def kill(self):
        if self.process.poll() is not None:  # by its own call
            Crashing.at_calls += 1
        super().kill()

    def over(self):
        """True if it was killed; it must not have ended in another way."""
        status = self.process.poll()
        assert status in (None, -signal.SIGKILL), (status, self.said()[-3000:])
        return status is not None


class Bodies(threading.Thread):
    """Sends small bodies by offset as long as they are taken, and knows how far it was acknowledged."""
    ID, ROWS = "bodies", 50

    def __init__(self, port, secret, acknowledged, count):
        super().__init__()
        self.port, self.secret, self.acknowledged, self.count, self.stopping = port, secret, acknowledged, count, False
        self.refused = None

    @classmethod
    def body(cls, i):
        """The channel's i-th piece."""
        if i == 0:
            return json.dumps({"type": "header", "format": 1, "session": cls.ID, "channel": "device", "part": 1,
                               "offset": 0, "app": "bodies", "pid": 5, "host": "h", "start": 1000,
                               "clock_monotonic": 1000, "clock_real": 1735689600000000000}).encode() + b"\n"
        return json.dumps({"type": "kernel", "rows": cls.ROWS, "start": [1000 * i] + [10] * (cls.ROWS - 1),
                           "duration": [5] * cls.ROWS, "correlation": [i * cls.ROWS] + [1] * (cls.ROWS - 1),
                           }).encode() + b"\n"

    def finished(self):
        return self.acknowledged == sum(len(self.body(i)) for i in range(self.count))

    def run(self):
        offsets, at = {0: 0}, 0
        for i in range(self.count):
            at += len(self.body(i))
            offsets[at] = i + 1
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=live_server.DEADLINE_S)
        try:
            while offsets[self.acknowledged] < self.count and not self.stopping:
                i = offsets[self.acknowledged]
                link.request("POST", "/api/v1/events/stream", self.body(i), {
                    **bearer(self.secret), "X-GpuFlight-Session-Id": self.ID, "X-GpuFlight-Channel": "device",
                    "X-GpuFlight-Offset": str(self.acknowledged)})
                answer = link.getresponse()
                said = json.loads(answer.read())
                if answer.status == 429:
                    continue
                if answer.status != 200:
                    self.refused = (answer.status, said)
                    return
                self.acknowledged = said["offset"]
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass  # killed
        finally:
            link.close()


class Crash(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-crash-"))
        logs = cls.dir / "logs"
        cls.sessions = [simulate(GPUFL, logs, 30000, "plain"), simulate(GPUFL, logs, 3000, "deep", "-e", "Deep")]
        for more in (SOURCE / "tests/data/peer", SOURCE / "tests/data/sessions"):
            for folder in more.iterdir():
                if folder.is_dir():
                    shutil.copytree(folder, logs / folder.name)
                    cls.sessions.append(logs / folder.name)
        cls.logs, cls.bodies = logs, 400
        cls.want, cls.calls = cls.undisturbed()

    @classmethod
    def tearDownClass(cls):
        if any(cls.dir.glob("round*")):
            print(f"what failed is left in {cls.dir}", flush=True)
        else:
            shutil.rmtree(cls.dir)

    @classmethod
    def undisturbed(cls):
        """Returns what a server that nobody kills makes of the sessions; the number of calls of that, and of a start alone."""
        server, count = Crashing(SERVER, cls.dir / "reference"), cls.dir / "count"
        owner = live_server.set_up(server)
        reader = live_server.key(server, owner, "ingest,read")
        server.stop()
        server.log = open(server.folder / "log", "ab", buffering=0)
        server.environment = {"LD_PRELOAD": str(LIBRARY), "CRASH_COUNT": str(count)}
        server.start()
        sender = Bodies(server.port, reader, 0, cls.bodies)
        sender.start()
        sent = cls.upload(server, reader).wait(live_server.DEADLINE_S)
        sender.join()
        assert sent == 0 and sender.refused is None, (sent, sender.refused)
        assert cls.complete(server, reader)
        names = sorted(json.loads(x)["id"] for x in cls.listed(server, reader))
        cls.names = names
        facts = server.until(lambda: cls.still(server, reader), "two looks that are the same")
        assert server.stop() == 0, server.said()[-3000:]
        return facts, int(count.read_text())

    @classmethod
    def listed(cls, server, reader):
        """Sessions of the list, once all are there."""
        def there():
            rows = server.ask("GET", "/api/v1/sessions", None, bearer(reader)).json()["rows"]
            return [json.dumps(r) for r in rows] if len(rows) == len(cls.sessions) + 1 else None
        return server.until(there, "all sessions in the list")

    @classmethod
    def still(cls, server, reader):
        """The facts, if nothing is to come any more: all sent sessions have ended and are summed up for good."""
        facts = cls.facts(server, reader)
        insights = PARTS.index("/insights")
        done = all(facts[n] and facts[n][0]["state"] == "ended" and facts[n][insights]["final"] for n in cls.names)
        return facts if done and facts == cls.facts(server, reader) else None

    @classmethod
    def facts(cls, server, reader):
        facts = {}
        for name in cls.names:
            answers = [server.ask("GET", f"/api/v1/sessions/{name}{part}", None, bearer(reader)) for part in PARTS]
            if any(a.status != 200 for a in answers):
                facts[name] = None
                continue
            facts[name] = [a.json() for a in answers]
            facts[name][PARTS.index("/positions")]["channels"].sort(key=lambda c: c["channel"])  # in the order they came
            for one in facts[name]:
                for settles in SETTLES:
                    one.pop(settles, None)
        return facts

    @classmethod
    def complete(cls, server, secret):
        """Says that the session of single bodies is complete; False: it was killed."""
        try:
            answer = server.ask("POST", "/api/v1/events/session-complete", None, {
                **bearer(secret), "X-GpuFlight-Session-Id": Bodies.ID})
        except (OSError, http.client.HTTPException):
            return False
        return answer.status == 200

    @classmethod
    def upload(cls, server, secret):
        return subprocess.Popen([GPUFL, "upload", "--quiet", "--server", server.url, cls.logs], env={
            **live_server.ENV, "GPUFL_API_KEY": secret}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # ---- one round -------------------------------------------------------------------------------

    def begun(self, folder, dice):
        """A server with an account whose first start was killed while it made its tables."""
        server = Crashing.__new__(Crashing)
        server.binary, server.folder, server.options, server.port = str(SERVER), folder, (), 0
        folder.mkdir()
        server.log = open(folder / "log", "ab", buffering=0)
        for _ in range(3):
            if server.begin(some(dice, 200), dice.choice(HOW)):
                server.kill()
        self.assertTrue(server.begin(0, ""))
        owner = live_server.set_up(server)
        return server, live_server.key(server, owner, "ingest,read")

    def send_all(self, server, reader, dice):
        """Sends until everything is acknowledged, however often the server is killed meanwhile."""
        acknowledged, kills, sent, complete = 0, 0, None, False
        while sent != 0 or not complete:
            server.kill()
            kills += 1
            at = some(dice, self.calls) if kills <= KILLS else 0
            if not server.begin(at, dice.choice(HOW)):
                continue
            sender = Bodies(server.port, reader, acknowledged, self.bodies)
            sender.start()
            upload = self.upload(server, reader)
            while upload.poll() is None and not server.over():
                try:
                    upload.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            if server.over():
                upload.kill()
            sent = upload.wait()
            sender.join()
            self.assertIsNone(sender.refused)
            acknowledged = sender.acknowledged
            self.check(server, reader, acknowledged)
            complete = sender.finished() and self.complete(server, reader)
        return acknowledged

    def check(self, server, reader, acknowledged):
        """Checks that the channel's position is what was acknowledged, or further."""
        try:
            answer = server.ask("GET", f"/api/v1/sessions/{Bodies.ID}/positions", None, bearer(reader))
        except (OSError, http.client.HTTPException):
            return  # killed
        self.assertEqual(answer.status, 200, answer)
        self.assertGreaterEqual(sum(c["offset"] for c in answer.json()["channels"]), acknowledged)

    def round(self, number):
        dice = random.Random(f"{SEED} {number}")
        folder = self.dir / f"round{number}"
        server, reader = self.begun(folder, dice)
        self.addCleanup(lambda: server.process.kill())  # ends the last one
        acknowledged = self.send_all(server, reader, dice)
        for _ in range(dice.randrange(3)):  # while it is loaded, summed up and checkpointed
            server.kill()
            if server.begin(some(dice, self.calls), dice.choice(HOW)) and dice.random() < 0.5:
                server.process.send_signal(signal.SIGTERM)  # and while it ends
                server.process.wait(live_server.DEADLINE_S)
        server.kill()
        self.assertTrue(server.begin(0, ""))
        self.check(server, reader, acknowledged)
        try:
            server.until(lambda: self.facts(server, reader) == self.want, "everything once")
        except AssertionError:
            text = "\n".join(differences(self.facts(server, reader), self.want)[:20])
            print(f"round {number}: {text}", flush=True)
            self.fail(text)
        self.assertEqual(server.stop(), 0, server.said()[-3000:])
        said = server.said()
        self.assertNotIn("damaged", said.replace("damaged=0", ""))
        self.assertNotIn("aside", said)
        shutil.rmtree(folder)

    def test_rounds(self):
        for number in range(FIRST, FIRST + ROUNDS):
            with self.subTest(seed=SEED, round=number):
                began = time.monotonic()
                self.round(number)
                print(f"round {number}: {time.monotonic() - began:.1f} s", flush=True)
        print(f"{Crashing.at_calls} times killed at one of {self.calls} calls that change files", flush=True)
        self.assertGreater(Crashing.at_calls, 2 * ROUNDS)


if __name__ == "__main__":
    print(f"{ROUNDS} rounds with seed {SEED}", flush=True)
    unittest.main(argv=sys.argv[:1])
