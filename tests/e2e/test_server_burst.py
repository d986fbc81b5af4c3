"""gpufl-server when it receives more than it can load at once: everything is loaded, in turns, or refused in time.

Usage: test_server_burst.py gpufl-server gpufl SOURCE_DIR"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
BUILD = os.path.dirname(os.path.dirname(PROGRAM))
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)
LONG = "Burst.test_with_busy_loops" in sys.argv
KERNELS = "300"  # a session of them has 24 KB


def metric(server, name):
    return float(re.search(rf"^{name} (\S+)$", server.ask("GET", "/metrics").body.decode(), re.M).group(1))


class Burst(unittest.TestCase):
    def burst(self, *options, program="burst.py"):
        """The program that measures the burst, and checks it: all is loaded, nothing is set aside."""
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "server", program), "--build", BUILD, "--check",
                               "--patience", "600", *options],
                              capture_output=True, text=True, timeout=700, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_more_sessions_than_memory(self):
        """With 96 MiB five sessions can be open at the same time."""
        self.burst("--sessions", "20", "--others", "3", "--busy", "0", "--memory", "96M", "--others-within", "10")

    def test_workspaces_in_turns(self):
        """Three sessions of another workspace are loaded before half of the 25 that wait; in the order of arrival they would be last.
        Smaller sessions are stored several at a time, so that the others' turn comes later."""
        result = json.loads(self.burst("--sessions", "25", "--others", "3", "--kernels", "20000", "--loaders", "1", "--busy", "0"))
        self.assertGreaterEqual(result["waited"], 4)

    @unittest.skipUnless(LONG, "e2e.server_burst_busy runs it, alone")
    def test_with_busy_loops(self):
        """150 sessions of 24 KB in 4 s are, while two busy loops run, loaded within 30 s, and 20 of another workspace within 5 s."""
        result = json.loads(self.burst("--sessions", "150", "--others", "20", "--over", "4", "--busy", "2", "--kernels", KERNELS,
                                       "--loaded-within", "30", "--others-within", "5"))
        self.assertTrue(22000 < result["bytes_each"] < 26000, result["bytes_each"])

    @unittest.skipUnless(LONG, "e2e.server_burst_busy runs it, alone")
    def test_a_thousand_live(self):
        """A thousand live sessions and 20 readers: every answer is 200, with fewer than 500 descriptors and 600 MiB."""
        result = json.loads(self.burst("--sessions", "0", "--others", "4", "--live", "1000", "--busy", "0", "--senders", "8",
                                       "--readers", "20", "--read-for", "5", "--memory-within", "600"))
        self.assertEqual(set(result["answers"]), {"200"})
        self.assertLess(result["descriptors"], 500)

    def test_small_sessions(self):
        """Sixty sessions have their rows, and have them after a restart."""
        result = json.loads(self.burst("--sessions", "60", "--senders", "2", "--asks", "2", "--kernels", "500", program="sessions.py"))
        self.assertLess(result["columns_kib_each"], 64)

    def test_refused_in_time(self):
        """Sessions beyond those that may wait get 429, with a reason and when to try again, and are loaded in the end."""
        self.assertIn('"429"', self.burst("--sessions", "30", "--others", "4", "--busy", "0", "--backlog", "4"))

    def test_more_sessions_than_descriptors(self):
        """Health checks and three readers are answered while 40 live sessions share 192 descriptors."""
        self.burst("--sessions", "0", "--others", "2", "--live", "40", "--busy", "0", "--files", "192", "--senders", "4", "--readers", "3", "--read-for", "3")

    def test_three_hundred_of_both(self):
        """With 300 live sessions and 300 descriptors, health checks are answered and nothing is lost."""
        self.burst("--sessions", "0", "--others", "4", "--live", "300", "--busy", "0", "--kernels", "50", "--files", "300", "--senders", "8",
                   "--healthz-within", "2")

    def test_soak(self):
        """Short sessions are sent while retention runs, and all of them are left."""
        printed = self.burst("--sessions", "60", "--minutes", "0.2", "--senders", "2", "--kernels", "50", "--look", "2", program="soak.py")
        self.assertIn('"left": 60', printed)


class Aside(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpufl-aside-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = os.path.join(self.folder, "data")

    def command(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=4 * PATIENCE, check=False)

    def test_commands(self):
        """If nothing is set aside, both commands say so; other words are refused."""
        with Server(PROGRAM, data=self.data) as server:
            server.set_up()
            key = server.make_key()
            server.send(key, FOLDER)
            server.complete(key, SESSION)
            until(lambda: metric(server, "gpufl_backlog_sessions") == 0, "it is not loaded")
            workspace = server.as_user("GET", "/api/v1/auth/me").json()["workspace"]
            self.assertEqual(server.stop(), 0)
            columns = os.path.join(self.data, "columns", workspace, SESSION + ".duckdb")
            self.assertTrue(os.path.exists(columns))
            listed = self.command("aside", "list", "--data", self.data)
            self.assertEqual((listed.returncode, listed.stdout), (0, "0 sessions are set aside\n"))
        for words in (["aside"], ["aside", "drop"], ["aside", "load", "more"]):
            self.assertEqual(self.command(*words, "--data", self.data).returncode, 2, words)
        self.assertEqual(self.command("aside", "list", "--data", self.data + "-none").returncode, 1)
        loaded = self.command("aside", "load", "--data", self.data)
        self.assertEqual((loaded.returncode, loaded.stdout), (0, "0 sessions that were set aside are loaded\n"))

    def test_what_waits_is_reported(self):
        """/metrics has what waits and what is free; /readyz is 200 while nothing is wrong."""
        with Server(PROGRAM, data=self.data) as server:
            text = server.ask("GET", "/metrics").body.decode()
            for name in ("backlog_sessions", "backlog_bytes", "backlog_age_seconds", "backlog_failing_sessions", "aside_sessions",
                         "loader_open_sessions", "loader_retries_total"):
                self.assertRegex(text, rf"(?m)^gpufl_{name} 0$")
            free = metric(server, "gpufl_disk_free_bytes")
            disk = os.statvfs(self.data)
            self.assertLess(abs(free - disk.f_bavail * disk.f_frsize), 1 << 30)
            ready = server.ask("GET", "/readyz")
            self.assertEqual(ready.status, 200)
            members = {name: ready.json()[name] for name in ("waiting_frames", "backlog_sessions", "backlog_bytes", "backlog_age_seconds", "aside_sessions")}
            self.assertEqual(members, dict.fromkeys(members, 0))
            self.assertLess(abs(ready.json()["disk_free_bytes"] - free), 1 << 30)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
