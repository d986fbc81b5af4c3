"""The findings of `gpufl report` about a day of a monitor over faulty GPUs: the faults are planted in the fake management library.

Usage: test_monitor_findings.py bench_monitor_day gpufl FAKES

The monitor's own rounds run with a clock that jumps (bench/monitor/bench_monitor_day.c), so that hours take seconds."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from nvml_control import Control
from patience import started

DAY, GPUFL, FAKES = sys.argv[1:4]
ROUNDS = 5400  # an hour and a half
PATIENCE = 300


def of(rule, found):
    """The findings of a rule, by GPU."""
    return sorted((i for i in found if i["id"] == rule), key=lambda i: i["device"])


class Planted(unittest.TestCase):
    def report(self, plant):
        """The findings of a session in which plant(control, pid) has set what is wrong."""
        folder = tempfile.mkdtemp(prefix="findings-")
        self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=True)
        control = Control(os.path.join(folder, "control"))
        holder = started(subprocess.Popen(["sleep", "600"], env={"SLURM_JOB_ID": "4001"}))
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        environment = dict(os.environ, LD_LIBRARY_PATH=FAKES, FAKE_NVML_DEVICES="2", FAKE_NVML_CONTROL=control.path)
        plant(control, holder.pid)
        logs = os.path.join(folder, "logs")
        os.makedirs(logs)
        subprocess.run([DAY, logs, str(ROUNDS), "1000"], env=environment, check=True, timeout=PATIENCE, capture_output=True)
        got = subprocess.run([GPUFL, "report", "--json", logs], capture_output=True, text=True, check=True, timeout=PATIENCE)
        self.folder = folder
        self.text = subprocess.run([GPUFL, "report", logs], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        self.pid = holder.pid
        return json.loads(got.stdout)["insights"]

    def test_held_and_idle(self):
        def plant(control, pid):
            control.idle = 1
            control.pid(0, pid)
        (x,) = of("gpu_held_idle", self.report(plant))
        self.assertEqual((x["device"], x["severity"], x["evidence"]["process"]), (0, "HIGH", self.pid))
        self.assertAlmostEqual(x["evidence"]["held_idle_ns"] / 1e9, ROUNDS, delta=60)
        self.assertIn(f"sleep (process {self.pid}, user {os.getuid()}, job 4001)", x["text"])
        self.assertRegex(x["text"], r"1\.[45]\d GPU hours")
        self.assertIn("Held by a process, and idle", self.text)

    def test_held_and_busy(self):
        found = self.report(lambda control, pid: control.pid(0, pid))
        self.assertEqual([i["text"] for i in found if i["id"].startswith("gpu_")], [])

    def test_idle_and_free(self):
        def plant(control, _):
            control.idle = 3
        self.assertEqual(of("gpu_held_idle", self.report(plant)), [])

    def test_hot(self):
        def plant(control, pid):
            control.throttle = 64
            control.pid(1, pid)
        hot = of("gpu_throttled", self.report(plant))
        self.assertEqual([x["device"] for x in hot], [0, 1])
        for x in hot:
            self.assertAlmostEqual(x["evidence"]["heat_ns"] / 1e9, ROUNDS, delta=60)
            self.assertEqual(x["severity"], "HIGH")
            self.assertRegex(x["text"], r"watched: heat 1 h 2\d min")
            self.assertNotIn("hardware or", x["text"])
        self.assertNotIn("sleep", hot[0]["text"])
        self.assertIn(f"sleep (process {self.pid}", hot[1]["text"])

    def test_errors_of_a_program(self):
        def plant(control, _):
            control.xid, control.events = 31, 2
        (x,) = of("gpu_failing", self.report(plant))
        self.assertEqual((x["severity"], x["evidence"]["xids"]), ("MEDIUM", 2))
        self.assertIn("XID 31 (page fault of a program) x 2", x["text"])

    def test_broken(self):
        def plant(control, _):
            control.xid, control.events, control.lost = 79, 1, 2
        found = of("gpu_failing", self.report(plant))
        self.assertEqual({x["severity"] for x in found}, {"HIGH"})
        text = " ".join(x["text"] for x in found)
        self.assertRegex(text, r"XID 79 \(fallen off the bus\)[;.]")
        self.assertRegex(text, r"GPU 1 .*it did not answer once, for 1 h 2\d min, 1\.\d\d GPU hours")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
