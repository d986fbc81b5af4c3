"""gpufl-monitor on a machine with GPUs of AMD's, alone and together with NVIDIA's, over the fake management libraries; and the GPUs of a trace.

Usage: test_monitor_amd.py gpufl-monitor gpufl FAKES"""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

import together
from monitored import Monitor
from nvml_control import Control
from patience import PATIENCE, until

PROGRAM, GPUFL, FAKES = sys.argv[1:4]
NO_DRIVER = 3
UNVERIFIED = "not verified on hardware"


class AmdMonitor(Monitor):
    """release: a folder of AMD's fakes; nvidia: those of NVIDIA are there, too."""

    def __init__(self, release="amd-7", nvidia=False, environment=None, listen=True):
        folder = tempfile.mkdtemp(prefix="gpufl-monitor-")
        self.amd = Control(os.path.join(folder, "amd"))
        settings = {"GPUFL_AMD_SMI_PATH": os.path.join(FAKES, release), "FAKE_AMD_CONTROL": self.amd.path}
        if not nvidia:
            settings["FAKE_NVML"] = "missing"
        super().__init__(PROGRAM, FAKES, folder=folder, environment=settings | (environment or {}), listen=listen)


class Alone(unittest.TestCase):
    def samples(self, release):
        with AmdMonitor(release) as m:
            row = until(lambda: [r for r in m.rows("device_metric", device=1) if r.get("energy")], "no energy came")[-1]
            self.assertEqual((row["gpu_util"], row["temperature"], row["temperature_junction"], row["voltage"]),
                             (73, 46, 58, 806))
            self.assertEqual((row["power"], row["energy"], row["fan"], row["clock_gfx"]), (217000, 61000000, 40, 1700))
            other = m.wait_rows(1, "device_metric", device=2)[-1]
            self.assertEqual(other["memory_used"], 12884901888)
            self.assertIsNone(other.get("gpu_util"), "the second device does not know it: unknown is not zero")
            self.assertEqual(m.metric("gpufl_gpu_junction_temperature_celsius", gpu="0"), 58)
            self.assertEqual(m.metric("gpufl_gpu_core_volts", gpu="0"), 0.806)
            self.assertEqual(m.metric("gpufl_gpu_fan_ratio", gpu="0"), 0.4)
            self.assertEqual(m.metric("gpufl_gpu_pcie_bytes_per_second", gpu="0"), 18 * 125000)
            self.assertIsNone(m.metric("gpufl_gpu_power_watts", gpu="1"))
            self.assertIn(UNVERIFIED, m.said())
            self.assertEqual(m.stop(), 0)
            (s,) = m.sessions()
        self.assertEqual(s.header["backend"], "amd")
        self.assertEqual([x["severity"] for x in s.of("message") if UNVERIFIED in s.names[x["text"]]], [1])
        self.assertEqual(len(s.of("device")), 2)
        return m

    def test_amd_smi(self):
        m = self.samples("amd-7")
        said = subprocess.run([GPUFL, "report", m.sessions()[0].folder, "--full"], capture_output=True, text=True,
                              timeout=PATIENCE, check=True).stdout
        self.assertIn(UNVERIFIED, " ".join(said.split()))
        self.assertIn("Fake Instinct 0", said)
        self.assertRegex(said, r"shader clock +1700 MHz")
        for other in ("graphics clock", "SM clock", "NVLink"):
            self.assertNotIn(other, said)

    def test_rocm_smi(self):
        self.samples("amd-6.3")

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "NVIDIA's error is reported on this machine")
    def test_nobody_is_here(self):
        m = AmdMonitor(environment={"FAKE_AMD": "denied"}, listen=False)
        got = subprocess.run(m.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, NO_DRIVER, got)
        self.assertRegex(got.stderr, "AMD SMI may not open the GPUs' devices .*groups render and video")

    def test_the_view(self):
        with AmdMonitor() as m:
            m.rounds(1)
            got = subprocess.run([GPUFL, "monitor", "--run-dir", m.run, "--json", "--once"], env=m.environment,
                                 capture_output=True, text=True, timeout=PATIENCE, check=True)
            text = subprocess.run([GPUFL, "monitor", "--run-dir", m.run, "--once"], env=m.environment, capture_output=True,
                                  text=True, timeout=PATIENCE, check=True).stdout
        gpus = json.loads(got.stdout)["gpus"]
        self.assertEqual({g["vendor"] for g in gpus}, {"amd"})
        self.assertIn("  shader 1700 MHz", text)
        self.assertNotIn("SM ", text)
        self.assertEqual([g["name"] for g in gpus], ["Fake Instinct 0", "Fake Instinct 1"])
        self.assertEqual(gpus[0]["metrics"]["temperature_junction"], 58)
        self.assertNotIn("power", gpus[1]["metrics"])


class Mixed(unittest.TestCase):
    """A machine with GPUs of both vendors: each is sampled, and each is lost alone."""

    def test_both_are_sampled(self):
        with AmdMonitor("amd-6.3", nvidia=True) as m:
            m.amd.pid(1, os.getpid())
            for device in 1, 2, 3, 4:
                m.wait_rows(1, "device_metric", device=device)
            m.wait_rows(1, "process_metric", device=4, pid=os.getpid())
            self.assertEqual(sorted(int(k["gpu"]) for k, _ in m.metrics()["gpufl_gpu_memory_size_bytes"]), [0, 1, 2, 3])
            self.assertEqual(m.metric("gpufl_gpu_junction_temperature_celsius", gpu="2"), 58)
            self.assertIsNone(m.metric("gpufl_gpu_junction_temperature_celsius", gpu="0"))
            self.assertEqual(m.stop(), 0)
            (s,) = m.sessions()
        self.assertEqual(s.header["backend"], "nvidia+amd")
        self.assertEqual([s.names[d["vendor"]] if isinstance(d["vendor"], int) else d["vendor"] for d in s.of("device")],
                         ["nvidia", "nvidia", "amd", "amd"])

    def test_one_vendor_s_gpu_is_lost_and_comes_back(self):
        with AmdMonitor(nvidia=True) as m:
            m.wait_rows(1, "device_metric", device=3)
            m.amd.lost = 1
            m.wait_rows(1, "gpu_event", kind="lost")
            before = len(m.rows("device_metric", device=1))
            m.wait_rows(before + 3, "device_metric", device=1)
            m.amd.lost = 0
            m.wait_rows(1, "gpu_event", kind="back")
        self.assertEqual({e["device"] for e in m.rows("gpu_event")}, {3})

    def test_one_vendor_s_driver_is_unloaded(self):
        with AmdMonitor(nvidia=True) as m:
            m.wait_rows(1, "device_metric", device=3)
            m.amd.unloaded = 1
            m.wait_rows(2, "gpu_event", kind="gone")
            before = len(m.rows("device_metric", device=1))
            m.wait_rows(before + 3, "device_metric", device=1)


@unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "this machine has NVIDIA's driver, which Auto takes")
class Info(unittest.TestCase):
    """gpufl info says what is here, which of two vendors a session takes, and what has not run on hardware."""

    def info(self, *options, nvidia=False, amd=True, folder=None):
        environment = {k: v for k, v in os.environ.items() if k not in ("GPUFL_AMD_SMI_PATH", "GPUFL_BACKEND")}
        with tempfile.TemporaryDirectory() as empty:
            environment["LD_LIBRARY_PATH"] = FAKES if nvidia else empty
            if amd:
                environment["GPUFL_AMD_SMI_PATH"] = folder or os.path.join(FAKES, "amd-7")
            got = subprocess.run([GPUFL, "info", *options], env=environment, capture_output=True, text=True,
                                 timeout=PATIENCE, check=True)
        return got.stdout

    def test_amd_alone(self):
        said = " ".join(self.info().split())
        self.assertIn("can capture here (backend amd)", said)
        self.assertIn(UNVERIFIED, said)
        self.assertNotIn("also here", said)
        backends = {b["name"]: b for b in json.loads(self.info("--json"))["backends"]}
        self.assertEqual([d["name"] for d in backends["amd"]["devices"]], ["Fake Instinct 0", "Fake Instinct 1"])
        self.assertEqual(backends["amd"]["devices"][0]["vendor"], "amd")
        self.assertFalse(backends["nvidia"]["usable"])

    def test_a_mixed_machine(self):
        said = " ".join(self.info(nvidia=True).split())
        self.assertIn("can capture here (backend nvidia)", said)
        self.assertIn("also here backend amd can be used, too; sessions take nvidia, which comes first", said)
        self.assertNotIn("also here", self.info(nvidia=True, amd=False))

    def test_a_folder_without_a_library(self):
        facts = {b["name"]: b for b in json.loads(self.info("--json", folder="/nowhere"))["backends"]}["amd"]["facts"]
        advice = " ".join(f["advice"] for f in facts)
        self.assertIn("GPUFL_AMD_SMI_PATH=/nowhere has neither AMD SMI", advice)


class Traced(unittest.TestCase):
    """The trace's library numbers the GPUs the other way round: the program uses the first of it, the second by address."""

    def streams(self, folder, *options):
        """(index of the GPU, number) of the streams that kernels and waits are in, each with what a session says of it."""
        fakes = os.path.join(FAKES, "rocm")
        environment = dict(os.environ, LD_LIBRARY_PATH=fakes, GPUFL_AMD_SMI_PATH=os.path.join(FAKES, "amd-7"), FAKE_NVML="missing",
                           GPUFL_ROCPROFILER_PATH=os.path.join(fakes, "7"), FAKE_ROCP="crossed")
        subprocess.run([GPUFL, "trace", "--no-report", "-o", folder, *options, "--", os.path.join(fakes, "fake_hip"), "200"],
                       env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
        index, streams, used = {}, {}, {"kernel": set(), "wait": set()}
        for path in glob.glob(os.path.join(folder, "*", "*.log*")):
            with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
                for line in map(json.loads, f):
                    def column(name, line=line):
                        value = line.get(name)  # a column that is missing is null
                        return value if isinstance(value, list) else [value] * line["rows"]
                    if line["type"] == "device":
                        index.update(zip(column("id"), column("index")))
                    elif line["type"] == "stream":
                        streams.update(zip(column("id"), zip(column("device"), column("context"), column("number"))))
                    elif line["type"] in used:
                        used[line["type"]].update(column("stream"))
        return {kind: {(index.get(streams[x][0]), streams[x][2]) for x in ids if x} for kind, ids in used.items()}

    def test_waits_are_of_the_gpu_of_their_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            used = self.streams(folder)
        self.assertEqual({gpu for gpu, _ in used["kernel"]}, {1})
        self.assertEqual({gpu for gpu, _ in used["wait"]}, {1})

    def test_a_gpu_that_was_chosen_before_the_window_is_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            used = self.streams(folder, "--after", "1ms")
        self.assertLessEqual({gpu for gpu, _ in used["wait"]}, {None})


if __name__ == "__main__":
    together.main(sys.argv[:1] + sys.argv[4:])
