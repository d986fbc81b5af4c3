#!/usr/bin/env python3
"""The archive loses nothing: the storage fails in every way, the agent is killed at random, the disk is full.

    test_archive_faults.py GPUFL_AGENT [SECONDS [SEED]]

Sessions of known content end one after the other; each is to be archived and removed. A proxy before the storage answers
500, 503, 403 and 429, hangs, cuts connections before and after the storage has the request, and breaks bodies off. The
agent is killed at random. At each moment a session is whole on the disk or whole in the archive, and at the end all of
them are restored, through the same faults, line for line. The report says how often each fault happened.
"""
import collections
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import ingest_server
import s3_run
from agent_run import Agent, Log, plain
from patience import PATIENCE, runs_for, until

AGENT = pathlib.Path(sys.argv[1]).absolute()
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
KILLS, SESSIONS, BATCH = 4, 12, 3
QUICK = ("--timeout", "1s", "--wait-least", "10ms", "--wait-most", "100ms", "--delay", "20ms", "--no-names")
PREFIX = "faults"


def lines_of(folder):
    """The lines of each channel, over its parts in their order."""
    def number(path):
        word = path.name.split(".")[1]
        return int(word) if word.isdigit() else 1 << 60
    found = collections.defaultdict(list)
    for path in sorted(folder.glob("*.log*"), key=number):
        found[path.name.split(".")[0]] += plain(path).splitlines()
    return dict(found)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-archive-faults-"))
        self.logs, self.state, self.into = self.dir / "logs", self.dir / "state", self.dir / "into"
        self.logs.mkdir()
        self.server = ingest_server.Server()
        self.store = s3_run.Store()
        self.proxy = s3_run.Proxy(self.store.port, SEED)

    def tearDown(self):
        self.proxy.close()
        self.store.close()
        self.server.close()
        shutil.rmtree(self.dir)

    def agent(self, *options):
        return Agent(AGENT, self.state, self.server.url, [self.logs], *QUICK, "--archive",
                     f"s3://{s3_run.BUCKET}/{PREFIX}", "--archive-endpoint", self.proxy.url, *options,
                     environment=s3_run.KEY)

    def session(self, name, dice=random.Random(1)):
        log = Log(self.logs, name, rotate=3000)
        for n in range(dice.randrange(1, 150)):
            log.kernel(n)
            if dice.random() < 0.03:
                log.turn("device", packed=dice.random() < 0.5)
        log.end()
        return log

    def restore(self, *args, code=0, **more):
        ran = subprocess.run([AGENT, "restore", "--archive", f"s3://{s3_run.BUCKET}/{PREFIX}", "--into", self.into,
                              "--timeout", "60s", *args], capture_output=True, text=True, timeout=4 * PATIENCE,
                             check=False, env=s3_run.environment(self.proxy.url), **more)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran


class Faults(Case):
    def check_now(self, logs):
        """Checks that each session is on the disk, or whole in the archive: manifests() compares the sums."""
        missing = [name for name in logs if not (self.logs / name).exists()
                   and not (self.logs / f".gpufl-removed.{name}").exists()]
        self.assertLessEqual(set(missing), set(self.store.manifests(PREFIX)))

    def test_everything_fails(self):
        dice, logs = random.Random(SEED), {}
        self.proxy.share, self.proxy.first = 0.2, self.proxy.dice.sample(s3_run.FAULTS, len(s3_run.FAULTS))
        agent = self.agent("--remove-after", "1ms")
        kills = 0
        for turn in range(KILLS + 1):
            agent.start().ready()
            end = time.monotonic() + SECONDS / (KILLS + 1)
            while time.monotonic() < end or len(logs) < SESSIONS * (turn + 1) // (KILLS + 1):
                self.assertFalse(self.proxy.broken)
                self.assertLess(time.monotonic(), end + PATIENCE, agent.said()[-2000:])
                name = f"s{len(logs):04}"
                if len(list(self.logs.iterdir())) < BATCH:
                    logs[name] = self.session(name, dice)
                time.sleep(dice.uniform(0, 0.02))
            if turn < KILLS:
                agent.kill()
                kills += 1
                self.check_now(logs)
        until(lambda: not list(self.logs.iterdir()), lambda: f"{agent.status()} {agent.said()[-2000:]}")
        counts = agent.status()["archive"]
        agent.kill()
        self.check_now(logs)
        self.assertEqual(set(self.store.manifests(PREFIX)), set(logs))
        patience = 4 * PATIENCE + 2 * len(logs)  # one request in a hundred hangs until its time is over
        for _ in range(20):  # what a fault left out, and nobody waits for, comes the next time
            ran = subprocess.run([AGENT, "restore", "--archive", f"s3://{s3_run.BUCKET}/{PREFIX}", "--into", self.into,
                                  "--timeout", "5s", "--since", "2020-01-01"], capture_output=True, text=True,
                                 timeout=patience, check=False, env=s3_run.environment(self.proxy.url))
            if ran.returncode == 0 or len(list(self.into.iterdir())) == len(logs):
                break
        self.assertEqual({p.name for p in self.into.iterdir()}, set(logs), ran.stderr)
        for name, log in logs.items():
            self.assertEqual(lines_of(self.into / name), log.lines)
        faults = dict(self.proxy.faults)
        print(f"seed {SEED}: {len(logs)} sessions, {len(self.proxy.seen)} requests, agent killed {kills} times, "
              f"faults {faults}, of the last agent {counts['archived']} archived, {counts['archive_failures']} failures")
        self.assertEqual(set(faults), set(s3_run.FAULTS))

    def test_killed_during_an_upload(self):
        log = self.session("killed", random.Random(3))
        parts = len(list(log.folder.glob("*.log*")))
        self.assertGreater(parts, 2)
        for at in (1, 2, parts, parts + 1):  # the request that hangs: one for a part, then the one for the manifest
            self.proxy.hanging.clear()
            self.proxy.script = [None] * at + ["hang"]
            # On a busy machine a request may take long. If the agent sent it again for that, it would be another
            # request in the script, and one after the hanging request would succeed.
            agent = self.agent("--remove-after", "1ms", "--timeout", "600s").start().ready()
            self.assertTrue(self.proxy.hanging.wait(PATIENCE), agent.said())
            agent.kill()
            self.assertEqual(self.proxy.seen[-1][0], "PUT")
            self.assertEqual(self.proxy.seen[-1][1].endswith("/manifest.json"), at == parts + 1)
            self.assertEqual(self.store.manifests(PREFIX), {})
            self.assertEqual(lines_of(log.folder), log.lines)
        self.proxy.script = []
        with self.agent("--remove-after", "1ms") as agent:
            until(lambda: not log.folder.exists(), agent.said)
        self.restore("killed")
        self.assertEqual(lines_of(self.into / "killed"), log.lines)


class FullDisk(Case):
    def test_of_the_state(self):
        log = self.session("full")
        self.proxy.always = "503"
        with self.agent("--remove-after", "1ms") as agent:
            until(lambda: agent.status()["archive"]["archive_failures"] > 0, agent.said)
            agent.until_done(1)
            resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            self.proxy.always = None
            agent.until_said("sessions are removed later")
            self.assertEqual(agent.status()["archive"]["archived"], 1)
            self.assertEqual(lines_of(log.folder), log.lines)
            resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            until(lambda: not log.folder.exists(), agent.said)
        self.restore("full")
        self.assertEqual(lines_of(self.into / "full"), log.lines)

    def test_of_what_is_restored(self):
        self.session("large")
        with self.agent() as agent:
            until(lambda: agent.status()["archive"]["archived"] == 1, agent.said)
        ran = self.restore("large", code=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertIn("cannot be written", ran.stderr)
        self.assertEqual(list(self.into.iterdir()), [])


if __name__ == "__main__":
    runs_for(SECONDS)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
