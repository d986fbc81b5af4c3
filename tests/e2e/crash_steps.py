#!/usr/bin/env python3
"""A server that is killed in one step that changes many files: a session that grows out of the shared file into one of
its own, the choice between both at the start after that, and a backup. The data from before the step exists after it, once.
A restore that is killed at each of its calls leaves no folder that `check` takes for whole.

    crash_steps.py GPUFL GPUFL_SERVER CRASH_AT_LIBRARY SOURCE [POINTS [SEED [TEST]]]

Each step is done once without a kill, which counts the calls that change files (crash_at.c), then POINTS times with a
kill at one of these calls: before it, after it, half way through.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TESTS = [f"Steps.{name}" for name in sys.argv[7:]]
del sys.argv[7:]  # crash.py has another meaning of it

import clickhouse  # noqa: E402
import crash  # noqa: E402
import live_server  # noqa: E402
from crash import HOW, LIBRARY, SERVER, Crashing  # noqa: E402
from live_server import bearer  # noqa: E402

POINTS = int(sys.argv[5]) if len(sys.argv) > 5 else 6
SEED = int(sys.argv[6]) if len(sys.argv) > 6 else random.SystemRandom().randrange(1 << 32)
ID, ROWS, FIRST, LINES = "steps", 50, 2, 1200  # of a kernel's line; lines at first, lines in all


def text(first, last):
    """The channel's lines from first to last."""
    return b"".join(crash.Bodies.body(i).replace(b'"bodies"', b'"steps"') for i in range(first, last))


def command(*words, **environment):
    return subprocess.run([SERVER, *words], capture_output=True, text=True, timeout=live_server.DEADLINE_S, check=False,
                          env={**os.environ, **environment})


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-steps-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        server = cls.server_on(cls.dir / "small")
        server.begin(0, "")
        cls.owner = live_server.set_up(server)
        cls.key = live_server.key(server, cls.owner, "ingest,read")
        assert cls.send(server, 0, FIRST).status == 200
        server.until(lambda: cls.kernels(server) == (FIRST - 1) * ROWS, "the first lines")
        assert server.stop() == 0, server.said()[-3000:]

    @staticmethod
    def server_on(folder):
        """A server on that folder, not started yet."""
        server = Crashing.__new__(Crashing)
        folder.mkdir(exist_ok=True)
        server.binary, server.folder, server.options, server.port, server.environment = str(SERVER), folder, (), 0, {}
        server.log = open(folder / "log", "ab", buffering=0)
        return server

    @classmethod
    def copy_of(cls, name, to):
        shutil.copytree(cls.dir / name, cls.dir / to)
        return cls.server_on(cls.dir / to)

    @classmethod
    def send(cls, server, first, last):
        return server.ask("POST", "/api/v1/events/stream", text(first, last), {
            **bearer(cls.key), "X-GpuFlight-Session-Id": ID, "X-GpuFlight-Channel": "device",
            "X-GpuFlight-Offset": str(len(text(0, first)))})

    @classmethod
    def kernels(cls, server):
        """The number of kernels in the columns; None: the server does not answer now."""
        answer = server.ask("GET", f"/api/v1/sessions/{ID}/counts", None, bearer(cls.key))
        if answer.status != 200:
            return None
        data = answer.json()["data"]
        return dict(zip(data["record"], data["rows"])).get("kernel", 0)

    @classmethod
    def counted(cls, server, step):
        """The number of calls of the step, and of the server's end after it."""
        begun, count = server.folder / "begun", server.folder / "count"
        server.environment = {"LD_PRELOAD": str(LIBRARY), "CRASH_COUNT": str(count), "CRASH_FROM": str(begun)}
        server.start()
        begun.touch()
        step(server)
        assert server.stop() == 0, server.said()[-3000:]
        server.log = open(server.folder / "log", "ab", buffering=0)
        begun.unlink()
        return int(count.read_text())

    def points(self, most):
        """Calls of the step, spread over it; not the last ones, which are not made each time."""
        dice = random.Random(SEED)
        for i in range(POINTS):
            low, high = (most * 3 // 5 * n // POINTS for n in (i, i + 1))
            yield dice.randrange(low, max(high, low + 1)) + 1, HOW[i % len(HOW)], dice

    def killed_in(self, server, at, how, step):
        """Starts the server, and has it killed at a call of the step: (whether it was, what the step returned)."""
        begun, done = server.folder / "begun", None
        server.environment = {"LD_PRELOAD": str(LIBRARY), "CRASH_AT": str(at), "CRASH_HOW": how, "CRASH_FROM": str(begun)}
        server.start()
        begun.touch()
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError, json.JSONDecodeError):
            done = step(server)
        if done is None:  # a killed process closes its connections before it is gone
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(live_server.DEADLINE_S)
        was = server.over()
        server.kill()
        begun.unlink()
        return was, done

    def clean(self, server, want):
        """Checks that the server starts, has the kernels and ends well, and that `check` finds nothing."""
        self.assertTrue(server.begin(0, ""))
        server.until(lambda: self.kernels(server) == want, lambda: f"{self.kernels(server)} kernels, not {want}")
        self.assertEqual(server.stop(), 0, server.said()[-3000:])
        checked = command("check", "--data", server.folder / "data")
        self.assertEqual(checked.returncode, 0, checked)

    # ---- growth ------------------------------------------------------------------------------------

    @classmethod
    def grow(cls, server):
        answer = cls.send(server, FIRST, LINES)
        assert answer.status == 200, answer
        server.until(lambda: cls.kernels(server) == (LINES - 1) * ROWS, "the rest")
        return answer

    def own_file(self, server):
        return list((server.folder / "data" / "columns").rglob(f"{ID}*.duckdb"))

    def test_growth(self):
        """A session grows into a file of its own; the next start chooses between both files."""
        server = self.copy_of("small", "grown")
        self.assertEqual(self.own_file(server), [])
        most = self.counted(server, self.grow)
        self.assertEqual(len(self.own_file(server)), 1, "it does not grow into a file of its own")
        killed = 0
        for at, how, dice in self.points(most):
            with self.subTest(seed=SEED, at=at, how=how):
                shutil.rmtree(self.dir / "round", ignore_errors=True)
                server = self.copy_of("small", "round")
                was, sent = self.killed_in(server, at, how, self.grow)
                killed += was
                if not server.begin(crash.some(dice, 40), dice.choice(HOW)):  # also while it chooses
                    killed += 1
                server.kill()
                self.assertTrue(server.begin(0, ""))
                before, after = ((n - 1) * ROWS for n in (FIRST, LINES))
                if sent is None:
                    now = server.until(lambda: self.kernels(server), "an answer")
                    self.assertIn(now, (before, after))
                    self.assertEqual(self.send(server, FIRST, LINES).status, 200)
                server.until(lambda: self.kernels(server) == after, lambda: f"{self.kernels(server)} kernels, not {after}")
                server.kill()
                self.clean(server, after)
        print(f"growth: killed {killed} times, at one of {most} calls", flush=True)
        self.assertGreaterEqual(killed, POINTS // 3)

    # ---- a backup ----------------------------------------------------------------------------------

    @classmethod
    def back_up(cls, server):
        answer = server.ask("POST", "/api/v1/backups", None, cls.owner)
        assert answer.status == 200, answer
        return answer

    def restored(self, backup, want):
        """Checks that the backup is whole: a server on the restored data has the kernels."""
        to = self.dir / "restored"
        shutil.rmtree(to, ignore_errors=True)
        server = self.server_on(to)
        out = command("restore", backup, "--data", to / "data")
        self.assertEqual(out.returncode, 0, out)
        self.clean(server, want)

    def test_backup(self):
        """After a kill in a backup the data are as before, half a backup is removed, and a whole one can be restored."""
        server, want = self.copy_of("small", "backed"), (FIRST - 1) * ROWS
        most = self.counted(server, self.back_up)
        shutil.rmtree(self.dir / "backed" / "data" / "backups")
        killed = 0
        for at, how, _ in self.points(most):
            with self.subTest(seed=SEED, at=at, how=how):
                shutil.rmtree(self.dir / "round", ignore_errors=True)
                server = self.copy_of("backed", "round")
                killed += self.killed_in(server, at, how, self.back_up)[0]
                self.clean(server, want)
                backups = server.folder / "data" / "backups"
                left = list(backups.iterdir()) if backups.is_dir() else []
                self.assertEqual([p.name for p in left if p.name.endswith(".part")], [])
                for backup in left:
                    self.restored(backup, want)
                server.log = open(server.folder / "log", "ab", buffering=0)
                self.assertTrue(server.begin(0, ""))
                self.back_up(server)
                server.kill()
                new = set(backups.iterdir()) - set(left)
                self.assertEqual(len(new), 1, new)
                self.restored(new.pop(), want)
        print(f"backup: killed {killed} times, at one of {most} calls", flush=True)
        self.assertGreaterEqual(killed, POINTS // 3)

    # ---- a restore ---------------------------------------------------------------------------------

    def whole_backup(self, name):
        """A backup of a session with a file of its own and one in a shared file, in a folder of that name."""
        server = self.copy_of("small", name)
        self.assertTrue(server.begin(0, ""))
        self.grow(server)
        other = text(0, FIRST).replace(f'"{ID}"'.encode(), b'"other"')
        self.assertEqual(server.ask("POST", "/api/v1/events/stream", other, {
            **bearer(self.key), "X-GpuFlight-Session-Id": "other", "X-GpuFlight-Channel": "device", "X-GpuFlight-Offset": "0"}).status, 200)
        server.until(lambda: server.ask("GET", "/api/v1/sessions/other/counts", None, bearer(self.key)).status == 200, "the other session")
        made = self.back_up(server).json()["name"]
        self.assertEqual(server.stop(), 0, server.said()[-3000:])
        return server.folder / "data" / "backups" / made

    def check_interrupted(self, restore, check, whole):
        """Checks what a killed restore left: a folder that is refused, until the restore is repeated, or one that is whole
        (True)."""
        checked = check()
        if checked.returncode == 0:
            self.assertEqual(checked.stdout, whole.stdout)
            return True
        self.assertRegex(checked.stderr, "a restore was interrupted|is no server's data folder")
        again = restore()
        self.assertEqual(again.returncode, 0, again)
        self.assertEqual(check().stdout, whole.stdout)
        return False

    def whole_restore(self, restore, check):
        """Restores without a kill: what `check` says, and the number of calls."""
        count = self.dir / "count"
        done = restore(LD_PRELOAD=str(LIBRARY), CRASH_COUNT=str(count))
        self.assertEqual(done.returncode, 0, done)
        whole, calls = check(), int(count.read_text())
        self.assertRegex(whole.stdout, r"^2 sessions, [1-9]\d* rows, 0 damaged\n$")
        self.assertEqual(whole.returncode, 0, whole)
        self.assertGreater(calls, 10)
        return whole, calls

    def test_restore(self):
        """A restore that is killed at any of its calls leaves a folder that is refused, or one that is whole; and can be repeated."""
        backup, target = self.whole_backup("files"), self.dir / "files" / "target"

        def restore(**environment):
            return command("restore", backup, "--data", target, **environment)

        def check():
            return command("check", "--data", target)

        (whole, calls), complete = self.whole_restore(restore, check), 0
        for i in range(calls * (len(HOW) if POINTS >= 30 else 1)):
            at, how = i % calls + 1, HOW[(i + i // calls) % len(HOW)]
            with self.subTest(at=at, how=how):
                shutil.rmtree(target)
                killed = restore(LD_PRELOAD=str(LIBRARY), CRASH_AT=str(at), CRASH_HOW=how)
                self.assertEqual(killed.returncode, -signal.SIGKILL, killed)
                complete += self.check_interrupted(restore, check, whole)
        print(f"restore: killed at each of {calls} calls, whole afterwards {complete} times", flush=True)
        self.assertLess(complete, calls / 3)

    def test_restore_to_clickhouse(self):
        """The same with rows that go to a ClickHouse: also killed at what is sent there, before, after and half way."""
        if not clickhouse.PROGRAM:
            self.skipTest("no clickhouse-server")
        backup, dice, killed, complete = self.whole_backup("rows"), random.Random(SEED), 0, 0
        with clickhouse.ClickHouse() as store:
            def restore(**environment):
                return command("restore", backup, "--data", target, GPUFL_SERVER_COLUMNS=url, CRASH_SENDS="1", **environment)

            def check():
                return command("check", "--data", target, GPUFL_SERVER_COLUMNS=url)

            url, target = f"{store.url}_whole", self.dir / "rows" / "whole"
            whole, calls = self.whole_restore(restore, check)
            all_points = range(1, calls + 1)
            points = all_points if POINTS >= 30 else sorted(dice.sample(all_points, 3 * POINTS))
            for i, at in enumerate(points):
                how = HOW[i % len(HOW)]
                with self.subTest(seed=SEED, at=at, how=how):
                    url, target = f"{store.url}_{at}", self.dir / "rows" / f"target-{at}"
                    done = restore(LD_PRELOAD=str(LIBRARY), CRASH_AT=str(at), CRASH_HOW=how)
                    self.assertIn(done.returncode, (-signal.SIGKILL, 0), done)  # 0: it made fewer calls this time
                    killed += done.returncode != 0
                    complete += self.check_interrupted(restore, check, whole) and done.returncode != 0
        print(f"restore to ClickHouse: killed at {killed} of {calls} calls, whole afterwards {complete} times", flush=True)
        self.assertGreaterEqual(killed, len(points) * 2 // 3)
        self.assertLess(complete, killed / 2)


if __name__ == "__main__":
    print(f"{POINTS} points with seed {SEED}", flush=True)
    unittest.main(argv=sys.argv[:1] + TESTS)
