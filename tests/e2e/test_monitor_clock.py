"""gpufl-monitor on a machine that sleeps, and whose clock is set.

Usage: test_monitor_clock.py gpufl-monitor gpufl FAKES CLOCK_SHIFT"""
import os
import struct
import subprocess
import sys
import unittest

from monitored import Monitor
from patience import PATIENCE, until

PROGRAM, GPUFL, FAKES, LIBRARY = sys.argv[1:5]
HOUR = 3600 * 10**9


class Clock(unittest.TestCase):
    def setUp(self):
        self.m = Monitor(PROGRAM, FAKES)
        self.file = os.path.join(self.m.folder, "shift")
        with open(self.file, "wb") as f:
            f.write(bytes(16))
        self.m.environment.update(LD_PRELOAD=LIBRARY, CLOCK_SHIFT=self.file)
        self.m.start()
        self.addCleanup(self.m.close)
        self.m.wait_rows(3, "host_metric")

    def write(self, place, ns):
        with open(self.file, "r+b") as f:
            f.seek(8 * place)
            f.write(struct.pack("=q", ns))

    def counts(self):
        names = ("suspended_seconds", "clock_steps", "rounds_missed", "rows_lost")
        got = self.m.metrics()
        return {n: got[f"gpufl_monitor_{n}_total"][0][1] for n in names}

    def two_sessions(self):
        return until(lambda: (lambda s: s if len(s) == 2 and s[1].of("host_metric") and s[0].ended else None)(self.m.sessions()),
                     lambda: f"no second session: {self.m.said()}")

    def epoch(self, session, row):
        """A row's time since the Unix epoch, by the clock row of its session."""
        clock = session.rows["clock"][0]
        return row["time"] - clock["monotonic"] + clock["real"]

    def test_a_machine_that_sleeps(self):
        before = self.counts()
        self.write(1, HOUR)
        first, second = self.two_sessions()
        self.assertEqual(first.last("end")["reason"], "suspended")
        until(lambda: self.counts()["suspended_seconds"] > 0, "the sleep is not counted")
        after = self.counts()
        self.assertAlmostEqual(after["suspended_seconds"], 3600, delta=1)
        self.assertEqual(after["clock_steps"], before["clock_steps"])
        missed = until(lambda: self.counts()["rounds_missed"] or None, "no missed rounds")
        self.assertGreaterEqual(missed, 36000 - 1)  # an hour of rounds of 100 ms; the sleep began within one
        self.assertEqual(after["rows_lost"], 0)
        # The hour is a gap between the sessions: no row lies in it, and the first session does not last longer by it.
        end, begin = (self.epoch(s, s.of("host_metric")[i]) for s, i in ((first, -1), (second, 0)))
        self.assertGreater(begin - end, HOUR * 99 // 100)
        times = [r["time"] for r in first.of("host_metric")]
        self.assertLess(times[-1] - times[0], HOUR // 2)
        self.m.stop()
        text = subprocess.run([GPUFL, "report", self.m.logs], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        self.assertIn("machine slept", text)

    def test_a_clock_that_is_set(self):
        self.write(0, -HOUR)
        first, _ = self.two_sessions()
        self.assertEqual(first.last("end")["reason"], "clock")
        until(lambda: self.counts()["clock_steps"] == 1, "the step is not counted")
        self.assertEqual(self.counts()["suspended_seconds"], 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
