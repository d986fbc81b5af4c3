"""Acknowledged data that cannot be loaded, since the session's file is damaged, is set aside after a minute, and loaded by the
command when the file is restored.

Usage: test_server_aside.py gpufl-server gpufl SOURCE_DIR"""
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
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)


def metric(server, name):
    return float(re.search(rf"^{name} (\S+)$", server.ask("GET", "/metrics").body.decode(), re.M).group(1))


class Aside(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpufl-aside-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = os.path.join(self.folder, "data")

    def command(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=4 * PATIENCE, check=False)

    def rows(self, server, key):
        """The rows of the hosts' samples."""
        answer = server.ask("GET", f"/api/v1/sessions/{SESSION}/counts", Authorization=key)
        self.assertEqual(answer.status, 200, answer)
        counts = answer.json()["data"]
        return dict(zip(counts["record"], counts["rows"])).get("host_metric", 0)

    def test_what_is_set_aside_comes_back(self):
        """What was acknowledged for a session whose file is then damaged is set aside, listed, and loaded by the command
        once the file is back: each row once."""
        more = 40
        with Server(PROGRAM, data=self.data) as server:
            server.set_up()
            key = server.make_key()
            server.send(key, FOLDER, end=False)
            until(lambda: metric(server, "gpufl_backlog_sessions") == 0, "it is not loaded")
            before = self.rows(server, key)
            workspace = server.as_user("GET", "/api/v1/auth/me").json()["workspace"]
            self.assertEqual(server.stop(), 0)
            columns = os.path.join(self.data, "columns", workspace, SESSION + ".duckdb")
            server.start()
            channels = server.ask("GET", f"/api/v1/sessions/{SESSION}/positions", Authorization=key).json()["channels"]
            at = {c["channel"]: c["offset"] for c in channels}["system"]
            for number in range(more):
                line = json.dumps({"type": "host_metric", "rows": 1, "time": 10**12 + number, "cpu": 1}).encode() + b"\n"
                answer = server.ask("POST", "/api/v1/events/stream", line, Authorization=key, X_GpuFlight_Session_Id=SESSION,
                                    X_GpuFlight_Channel="system", X_GpuFlight_Offset=str(at))
                self.assertEqual(answer.status, 200, answer)
                at += len(line)
            server.process.kill()  # only the journal has the newest lines
            server.wait()
            for end in ("", ".wal"):
                if os.path.exists(columns + end):
                    os.replace(columns + end, self.data + ".newest" + end)
            with open(columns, "wb") as file:
                file.write(b"this is no database")
            server.start()
            until(lambda: metric(server, "gpufl_aside_sessions") == 1, "it is not set aside", 240 + 2 * PATIENCE)
            until(lambda: metric(server, "gpufl_backlog_sessions") == 0, "some of it still waits")
            self.assertEqual(server.ask("GET", "/readyz").json()["aside_sessions"], 1)
            self.assertEqual(server.stop(), 0)
            self.assertIn("1 sessions are set aside\n", self.command("aside", "list", "--data", self.data).stdout)
            for end in ("", ".wal"):  # with the rows that were committed before the kill
                if os.path.exists(self.data + ".newest" + end):
                    os.replace(self.data + ".newest" + end, columns + end)
            loaded = self.command("aside", "load", "--data", self.data)
            self.assertEqual((loaded.returncode, loaded.stdout), (0, "1 sessions that were set aside are loaded\n"), loaded)
            server.start()
            self.assertEqual(self.rows(server, key), before + more)
            self.assertEqual(metric(server, "gpufl_aside_sessions"), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
