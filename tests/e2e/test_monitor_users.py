"""gpufl-monitor as a user of its own, as its service runs it: sessions and scopes of other users' processes.

Usage: test_monitor_users.py gpufl-monitor gpufl FAKES IN_SCOPE

Runs as root in a mount namespace of its own, where /run is empty; skipped if that is not allowed."""
import json
import os
import subprocess
import sys
import unittest

from monitored import Monitor
from patience import PATIENCE, until

PROGRAM, GPUFL, FAKES, IN_SCOPE = sys.argv[1:5]
FOLDER = "/run/gpufl-monitor"
OWN, OTHER = 61234, 61235  # users that have nothing here


def become(uid):
    def change():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    return change


class Traced:
    """A process of a user that has a session."""

    def __init__(self, folder, environment, uid, **more):
        os.makedirs(folder)
        os.chown(folder, uid, uid)
        environment = dict(environment, GPUFL_BACKEND="None", GPUFL_LOG_PATH=folder, GPUFL_FLUSH_INTERVAL_MS="100", **more)
        self.folder = folder
        self.process = subprocess.Popen([IN_SCOPE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=become(uid))
        assert self.process.stdout.readline() == "ready\n"
        (self.session,) = [d for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d))]

    @property
    def pid(self):
        return self.process.pid

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.end()

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(PATIENCE)


class OfOtherUsers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        m = cls.m = Monitor(PROGRAM, FAKES)
        m.command[m.command.index("--run-dir") + 1] = FOLDER
        os.makedirs(FOLDER)
        os.makedirs(m.logs)
        for path in (FOLDER, m.logs, m.control.path):
            os.chown(path, OWN, OWN)
        os.chmod(m.folder, 0o755)
        m.start(become(OWN))
        cls.addClassCleanup(m.close)

    def traced(self, uid, k, **more):
        t = Traced(os.path.join(self.m.folder, f"traced-{k}"), self.m.environment, uid, **more)
        self.m.control.pid(k, t.pid)
        self.addCleanup(t.kill)
        return t

    def seen(self, pid, uid=0):
        """Returns what a reader of that user sees of the process."""
        got = subprocess.run([GPUFL, "monitor", "--json", "--once"], env=dict(self.m.environment), capture_output=True,
                             text=True, timeout=PATIENCE, check=True, preexec_fn=become(uid))
        return next((p for p in json.loads(got.stdout)["processes"] if p["pid"] == pid), {})

    def wait_seen(self, pid, uid=0, **what):
        return until(lambda: (lambda p: p if all(p.get(k) == v for k, v in what.items()) else None)(self.seen(pid, uid)),
                     lambda: f"never {what}: {self.seen(pid, uid)}; {self.m.said()}")

    def test_session_and_scope(self):
        t = self.traced(OTHER, 0)
        look = subprocess.run(["ls", f"/proc/{t.pid}/fd"], preexec_fn=become(OWN), capture_output=True, text=True, check=False)
        self.assertIn("Permission denied", look.stderr)  # the monitor's user has no right over the process
        self.wait_seen(t.pid, session=t.session, scope=None)
        until(lambda: self.m.metric("gpufl_workload_processes", session=t.session) == 1, "no label with the session")
        t.say("begin epoch")
        t.say("begin train step")
        self.wait_seen(t.pid, uid=OTHER, scope="train step")
        self.wait_seen(t.pid, uid=0, scope="train step")
        for stranger in (OWN, OTHER + 1):  # they see the session, and no more
            x = self.seen(t.pid, stranger)
            self.assertEqual((x["session"], x.get("scope")), (t.session, None))
        t.say("end")
        self.wait_seen(t.pid, uid=OTHER, scope="epoch")
        t.say("end")
        self.wait_seen(t.pid, uid=OTHER, scope=None)
        self.assertEqual(t.end(), 0)
        until(lambda: self.m.metric("gpufl_workload_processes", session=t.session) is None, "the label stays")

    def test_a_session_that_says_nothing(self):
        t, known = self.traced(OTHER, 2, GPUFL_SHARE_SYSTEM_SAMPLES="none"), self.traced(OTHER, 4)
        self.wait_seen(known.pid, session=known.session)
        self.assertEqual(self.seen(t.pid)["session"], "")
        t.end()
        known.end()

    def test_a_monitor_that_comes_later(self):
        t = self.traced(OTHER, 6)
        self.m.stop()
        self.m.err.close()
        self.m.start(become(OWN))
        self.wait_seen(t.pid, session=t.session)
        t.end()


def enter():
    """Runs this test again where /run is empty; returns if that is not allowed."""
    if os.environ.get("GPUFL_OWN_RUN") or os.geteuid() != 0:
        return
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode == 0:
        os.execvpe(inside[0], [*inside, sys.executable, *sys.argv], dict(os.environ, GPUFL_OWN_RUN="1"))


if __name__ == "__main__":
    enter()
    if not os.environ.get("GPUFL_OWN_RUN"):
        OfOtherUsers = unittest.skip("needs root, and mount namespaces")(OfOtherUsers)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
