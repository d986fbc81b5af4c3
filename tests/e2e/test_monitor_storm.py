"""gpufl-monitor while all kinds of failures occur in turns; nothing may be lost without being counted.

Usage: test_monitor_storm.py gpufl-monitor FAKES [CLOCK_SHIFT]
GPUFL_MONITOR_LONG=seconds makes the test that long, and also fills the disk if this user may mount one.

GPUs that are lost, back and renumbered, a driver that is unloaded and loaded, calls that take 2 s or fail at the n-th, XID
events, hundreds of new processes a second, a clock that is set and a machine that sleeps (CLOCK_SHIFT, none under a
sanitizer). At the end every process, event and sample is in the logs or counted as lost, and memory and descriptors are as
before."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from monitored import Monitor, Session, lines
from patience import runs_for, SLOW, until

PROGRAM, FAKES = sys.argv[1:3]
SHIFT = sys.argv[3] if len(sys.argv) > 3 else None
LONG = float(os.environ.pop("GPUFL_MONITOR_LONG", "0"))
MINUTE = 60 * 10**9
DISK = "64m"  # room for some minutes of logs; the test removes ended sessions


class Clock:
    """Sets what the monitor's clocks say: moved by tests/e2e/clock_shift.c."""

    def __init__(self, m):
        self.steps = self.sleeps = self.set = self.slept = 0
        self.m, self.path = m, os.path.join(m.folder, "shift")
        with open(self.path, "wb") as f:
            f.write(bytes(16))
        m.environment.update(LD_PRELOAD=SHIFT, CLOCK_SHIFT=self.path)

    def write(self):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=qq", self.set, self.slept))

    def back(self):
        self.set -= MINUTE
        self.steps += 1
        self.write()
        until(lambda: self.m.metric("gpufl_monitor_clock_steps_total") == self.steps, "the step is not counted")

    def sleep(self):
        self.slept += MINUTE
        self.sleeps += 1
        self.write()
        until(lambda: self.m.metric("gpufl_monitor_suspended_seconds_total") > self.sleeps * 60 - 2, "the sleep is not counted")


class Logs:
    """Counts the rows of sessions, and removes those that have ended, as an operator would."""

    def __init__(self, folder):
        self.folder, self.rows, self.begun, self.xids, self.sessions = folder, {}, 0, 0, 0

    def take(self, path):
        names = {}
        for line in lines(path):
            n = line.get("rows", 0)
            self.rows[line["type"]] = self.rows.get(line["type"], 0) + n
            if line["type"] == "names":
                names.update(zip(Session.column(line, "id", n), Session.column(line, "text", n)))
            elif line["type"] == "gpu_process":
                self.begun += Session.column(line, "phase", n).count(0)
            elif line["type"] == "gpu_event":
                kinds = (names[i] for i in Session.column(line, "kind", n))
                self.xids += sum(c for kind, c in zip(kinds, Session.column(line, "count", n)) if kind == "xid")
        self.sessions += 1
        shutil.rmtree(path)

    def paths(self):
        return [os.path.join(self.folder, d) for d in os.listdir(self.folder) if d.count("-") == 4]

    def take_ended(self):
        for path in self.paths():
            if any(line["type"] == "end" for line in lines(path)):
                self.take(path)


class Storm(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpufl-monitor-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.disk = bool(LONG) and self.mount(os.path.join(self.folder, "logs"))

    def mount(self, path):
        os.mkdir(path)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", path], check=False).returncode == 0
        if done:
            self.addCleanup(subprocess.run, ["umount", path], check=False)
        return done

    def fill_disk(self, m, logs):
        """Fills the disk until rows are lost; then there is room again, and a session in which rows arrive."""
        lost, ballast = m.metric("gpufl_monitor_rows_lost_total"), os.path.join(m.logs, "ballast")
        with open(ballast, "wb", buffering=0) as f:
            def fill():
                try:
                    for _ in range(1 << 14):
                        f.write(b"x" * 4096)
                except OSError:
                    pass
                return m.metric("gpufl_monitor_rows_lost_total") > lost
            until(fill, "nothing is counted as lost")
        os.unlink(ballast)
        logs.take_ended()
        until(lambda: any(Session(p).of("host_metric") for p in logs.paths()), lambda: f"logs never again: {m.said()}")

    def one_round(self, m, k, clock, logs):
        c = m.control
        c.lost = k % 3 & 1
        c.turn = k % 4
        c.fail_at = 1 + k % 17
        c.unloaded = int(k % 7 == 0)
        c.slow_ms = 2000 if k % 20 == 19 else 0
        if c.events == 0:
            c.xid, c.events = k % 50, 20
            self.events += 20
        if clock and k % 30 == 15:
            clock.back()
        if clock and k % 30 == 25:
            clock.sleep()
        if self.disk and k % 400 == 200:
            self.fill_disk(m, logs)
            self.fills += 1
        if LONG and k % 20 == 0:
            logs.take_ended()
        if LONG and k % 40 == 0:  # so that the pauses before the driver is asked again, which double, begin with 1 s again
            self.all_back(m)
        m.rounds(1)

    @staticmethod
    def all_back(m):
        c = m.control
        c.lost = c.unloaded = c.turn = c.fail_at = c.slow_ms = 0
        until(lambda: all(v == 1 for _, v in m.metrics()["gpufl_gpu_up"]), "not all GPUs came back", 400)

    def calm(self, m):
        self.all_back(m)
        until(lambda: m.control.events == 0, "events are left")
        m.control.fresh = 0
        m.rounds(10)

    @staticmethod
    def size(m):
        with open(f"/proc/{m.process.pid}/statm", encoding="utf-8") as f:
            rss = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        return rss >> 10, len(os.listdir(f"/proc/{m.process.pid}/fd"))

    def test_storm(self):
        runs_for(LONG)
        self.events = self.fills = 0
        m = Monitor(PROGRAM, FAKES, devices=4, folder=self.folder)
        clock, logs = Clock(m) if SHIFT else None, Logs(m.logs)
        m.start()
        self.addCleanup(m.close)
        m.control.fresh = 20  # of each of 4 GPUs, in each list: 400 a second if no call is slow
        m.rounds(10)
        before, sizes, k, begun = self.size(m), [], 0, time.monotonic()
        while time.monotonic() < begun + (LONG or 8):
            k += 1
            self.one_round(m, k, clock, logs)
            sizes.append(self.size(m))
        self.calm(m)
        after, took, got = self.size(m), time.monotonic() - begun, m.metrics()
        listed = m.control.listed
        self.assertEqual(m.stop(), 0, m.said())
        for path in logs.paths():
            logs.take(path)
        c = {name: got[f"gpufl_monitor_{name}_total"][0][1] for name in
             ("processes_seen", "processes_without_room", "events_seen", "events_lost", "rows_lost", "device_samples", "rounds",
              "rounds_missed", "driver_opens", "clock_steps", "suspended_seconds", "sessions_lost")}
        print("\nstorm:", json.dumps({"seconds": round(took), **c, "listed": listed, "sessions": logs.sessions,
                                      "disk_full": self.fills, "xids": [self.events, logs.xids], "rows": logs.rows, "kib_files_before": before,
                                      "kib_files_after": after, "kib_most": max(s[0] for s in sizes)}))
        # Each kind of row: what was made is there, or is counted as lost. The last rounds come after the page.
        self.assertLessEqual(c["processes_seen"], listed)
        self.assertLessEqual(logs.xids + c["events_lost"], self.events)
        missing = {"process": c["processes_seen"] - c["processes_without_room"] - logs.begun,
                   "device_metric": c["device_samples"] - logs.rows["device_metric"],
                   "host_metric": c["rounds"] - logs.rows["host_metric"]}
        self.assertLessEqual(sum(max(0, v) for v in missing.values()), c["rows_lost"], missing)
        if not self.fills:
            self.assertEqual(c["rows_lost"], 0)
            self.assertEqual(logs.xids + c["events_lost"], self.events, "events were lost uncounted")
        if clock:
            self.assertEqual(c["clock_steps"], clock.steps)
        self.assertLessEqual(after[1], before[1] + 1)
        if SLOW == 1:
            self.assertLess(after[0], before[0] + (2 << 10))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
