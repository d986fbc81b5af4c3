"""The server's clock jumps, forward and back, while it works: no acknowledged data is lost, nobody is locked
out, and later data is loaded and summed up as before.

Usage: test_server_clock.py gpufl-server gpufl SOURCE_DIR CLOCK_SHIFT_LIBRARY"""
import contextlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from fleet_sender import Sender
from patience import PATIENCE, until
from served import Server

PROGRAM, GPUFL, SOURCE, LIBRARY = sys.argv[1:5]
DAY = 86400 * 10**9
JUMPS = (2 * DAY, -2 * DAY, 40 * DAY, 0, -400 * DAY, 0)  # against the real time, ns


class Clock(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gpufl-clock-")
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "shift")
        self.sent = {}  # kernels by session
        self.shift(0)
        self.server = Server(PROGRAM, "--workspace-quota", "sessions=100",
                             environment={"LD_PRELOAD": LIBRARY, "CLOCK_SHIFT": self.file})
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.key = self.server.make_key("ingest,read,admin")

    def shift(self, ns):
        with open(self.file, "r+b" if os.path.exists(self.file) else "wb") as file:
            file.write(struct.pack("=q", ns))

    def get(self, target):
        answer = self.server.ask("GET", "/api/v1/" + target, Authorization=self.key)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def load_one(self, kernels):
        where = os.path.join(self.folder.name, f"sim-{kernels}")
        subprocess.run([GPUFL, "sim", "-k", str(kernels), "-o", where], check=True, stdout=subprocess.DEVNULL)
        self.sent[self.server.load(self.key, os.path.join(where, os.listdir(where)[0]))] = kernels

    def samples(self):
        answer = self.server.ask("GET", "/api/v1/sessions/live/counts", Authorization=self.key)
        if answer.status == 404:  # nothing of it is loaded yet
            return 0
        self.assertEqual(answer.status, 200, answer)
        data = answer.json()["data"]
        return dict(zip(data["record"], data["rows"])).get("host_metric", 0)

    def all_there(self):
        rows = {row["id"]: row for row in self.get("sessions?limit=100")["rows"]}
        self.assertEqual({name: rows[name]["kernels"] for name in self.sent}, self.sent)
        self.assertEqual({rows[name]["state"] for name in self.sent}, {"ended"})

    def works(self, number, live):
        """Somebody who is logged in, somebody who logs in, a live session, a new one, the lists, a backup."""
        self.assertEqual(self.server.ask("GET", "/readyz").status, 200, self.server.ask("GET", "/readyz"))
        entry = self.server.ask("POST", "/api/v1/auth/login", {"email": "ada@example.org", "password": "correct horse battery"})
        self.assertEqual(entry.status, 200, entry)
        self.server.keep(entry)
        live.sample({"cpu": number}, {})
        until(lambda: self.samples() == number, lambda: f"{self.samples()} samples of the live session are loaded, not {number}")
        until(lambda: self.get("sessions/live")["state"] == "live", "what is sent to is not live")
        self.load_one(100 + number)
        self.all_there()
        made = self.server.as_user("POST", "/api/v1/backups")
        self.assertEqual(made.status, 200, made)
        lag = re.search(r"^gpufl_loader_lag_seconds (\S+)$", self.server.ask("GET", "/metrics").body.decode(), re.M)
        self.assertTrue(lag is None or 0 <= float(lag[1]) < PATIENCE, lag)

    def test_jumps(self):
        live = Sender(self.server, self.key, "live", "node-1", gpus=1)
        self.works(1, live)
        for number, jump in enumerate(JUMPS):
            with self.subTest(jump=jump / DAY):
                self.shift(jump)
                self.works(2 + number, live)
        self.server.complete(self.key, "live")
        until(lambda: self.get("sessions/live")["state"] == "ended", "the live session does not end")
        self.assertEqual(self.server.stop(), 0)
        checked = subprocess.run([PROGRAM, "check", "--data", self.server.data], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked)
        said = self.server.errors()
        self.assertNotIn("aside", said)
        self.assertNotIn('"level":"error"', said)

    def test_restart_before_it_was_stopped(self):
        """A server that starts with a clock far before its data has them all, and goes on."""
        self.load_one(50)
        self.server.process.kill()
        self.server.process.wait()
        self.shift(-400 * DAY)
        self.server.start()
        self.all_there()
        self.load_one(60)
        self.all_there()
        with contextlib.closing(self.server.connect()):
            self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
