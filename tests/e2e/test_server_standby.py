"""gpufl-server whose small tables are in PostgreSQL with a standby: either of the two is lost, and the server goes on.
Skipped, with a message, if PostgreSQL is not installed.

Usage: test_server_standby.py gpufl-server gpufl SOURCE_DIR"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import postgres
from patience import until
from served import Server

PROGRAM, GPUFL, SOURCE = sys.argv[1:4]
RUN = os.path.join(SOURCE, "examples", "data", "train_loop")
FOLDER = os.path.join(RUN, sorted(os.listdir(RUN))[0])
SESSION = os.path.basename(FOLDER)


class Place:
    """One PostgreSQL: its folder, its process."""

    def __init__(self, password=None, of=None):
        """A server of its own, or a standby of another one."""
        self.folder = tempfile.mkdtemp(prefix="gpufl-pg-")
        self.password = password or postgres.make(self.folder)
        if of:
            run_as = postgres.user()
            if run_as:
                os.chown(self.folder, run_as["user"], run_as["group"])
            subprocess.run([os.path.join(postgres.bin_folder(), "pg_basebackup"), "-h", of.folder, "-U", "gpufl", "-D",
                            os.path.join(self.folder, "data"), "-R", "-X", "stream", "--no-sync", "-c", "fast"],
                           check=True, cwd="/", env={**os.environ, "PGPASSWORD": self.password}, **run_as)
        self.process = postgres.start(self.folder)

    def ask(self, text, database="postgres"):
        out = subprocess.run([os.path.join(postgres.bin_folder(), "psql"), "-qXtAc", text, "-h", self.folder, "-U", "gpufl", database],
                             capture_output=True, text=True, env={**os.environ, "PGPASSWORD": self.password}, check=True)
        return out.stdout.strip()

    def kill(self):
        postgres.end_of(self.process, signal.SIGKILL)

    def close(self):
        postgres.end_of(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


class Standby(unittest.TestCase):
    def setUp(self):
        self.first = Place()
        self.addCleanup(self.first.close)
        self.first.ask("CREATE DATABASE gpufl")
        self.second = Place(self.first.password, self.first)
        self.addCleanup(self.second.close)
        self.server = Server(PROGRAM, "--meta", f"postgres://gpufl:{self.first.password}@/gpufl?host={self.first.folder},"
                             f"{self.second.folder}&target_session_attrs=read-write")
        self.addCleanup(self.server.__exit__)
        self.server.set_up()
        self.key = self.server.make_key("ingest,read,admin")
        self.server.load(self.key, FOLDER)

    def get(self, part):
        return self.server.ask("GET", f"/api/v1/sessions/{SESSION}{part}", Authorization=self.key)

    def simulate(self, seed):
        where = os.path.join(self.first.folder, f"sim-{seed}")
        subprocess.run([GPUFL, "sim", "--kernels", "500", "--seed", str(seed), "-o", where], check=True, stdout=subprocess.DEVNULL)
        return os.path.join(where, os.listdir(where)[0])

    def caught_up(self):
        """The standby has all that was committed so far."""
        at = self.first.ask("SELECT pg_current_wal_lsn()")
        until(lambda: self.second.ask(f"SELECT pg_last_wal_replay_lsn() >= '{at}'::pg_lsn") == "t", "the standby is behind")

    def test_the_standby_is_lost(self):
        """Nobody asks the standby, so nothing waits for it; when it is back, it gets what it missed."""
        self.second.kill()
        session = self.server.load(self.key, self.simulate(1))
        self.assertEqual(self.server.ask("GET", "/readyz").status, 200)
        self.second.process = postgres.start(self.second.folder)
        self.caught_up()
        self.assertEqual(self.second.ask("SELECT count(*) FROM sessions WHERE analyzed = 1", "gpufl"), "2")
        self.assertEqual(self.second.ask(f"SELECT kernels FROM sessions WHERE id = '{session}'", "gpufl"), "500")

    def test_the_primary_is_lost(self):
        """The server says that it waits, and goes on with the standby when that is made the primary, without a restart."""
        before = [self.get(part).body for part in ("", "/report", "/findings")]
        self.caught_up()
        self.first.kill()
        until(lambda: self.get("").status == 503, lambda: f"without any tables it says {self.get('')}")
        self.assertEqual(self.second.ask("SELECT pg_promote(true, 60)"), "t")
        until(lambda: self.get("").status == 200, lambda: f"it does not find the new primary: {self.get('')}")
        self.assertEqual([self.get(part).body for part in ("", "/report", "/findings")], before)
        self.assertEqual(self.server.as_user("GET", "/api/v1/auth/me").json()["name"], "ada@example.org")
        session = self.server.load(self.key, self.simulate(2))
        self.assertEqual(self.second.ask(f"SELECT kernels FROM sessions WHERE id = '{session}'", "gpufl"), "500")
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    if not postgres.bin_folder():
        print("PostgreSQL is not installed (package postgresql): the loss of a standby is not tested")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
