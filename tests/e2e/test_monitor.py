"""gpufl-monitor over the fake management library: what it samples, what it survives, and who may use it.

Usage: test_monitor.py gpufl-monitor gpufl FAKES SOURCE_DIR"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import together
from monitored import Monitor, Session
from patience import PATIENCE, started, until
from programs import copied

PROGRAM, GPUFL, FAKES, SOURCE = sys.argv[1:5]
FINE, FAILED, USAGE, NO_DRIVER, BUSY = range(5)


def monitor(*options, **more):
    return Monitor(PROGRAM, FAKES, *options, **more)


def uuid(k):
    return f"GPU-00000000-0000-0000-0000-00000000000{k}"


class Samples(unittest.TestCase):
    def test_all_that_the_driver_reports(self):
        with monitor(devices=2) as m:
            m.control.pid(0, os.getpid())
            m.control.parts = 2
            m.wait_rows(1, "process_metric", device=1, pid=os.getpid())
            until(lambda: any(r.get("sm_active") is not None for r in m.rows("device_metric")), "no counters came")
            m.rounds(2)
            self.assertEqual(m.stop(), FINE)
            (s,) = m.sessions()
        self.assertTrue(s.ended)
        self.assertEqual(s.last("ledger")["final"], 1)
        self.assertEqual([d["uuid"] for d in s.of("device")][:2], [uuid(0), uuid(1)])
        row = [r for r in s.of("device_metric", device=1) if r.get("sm_active") is not None][-1]
        self.assertEqual((row["sm_active"], row["sm_occupancy"], row["tensor_active"]), (7130, 2350, 4180))
        self.assertIsNone(row.get("dram_active"), "the fake does not know it: unknown is not zero")
        self.assertGreater(row["nvlink_tx"], 0)
        self.assertEqual([r["pcie_replays"] for r in s.of("device_metric") if r.get("pcie_replays") is not None][0], 3)
        me = s.of("gpu_process", pid=os.getpid())[0]
        with open("/proc/self/comm", encoding="utf-8") as f:
            self.assertEqual(me["name"], f.read().strip())
        self.assertEqual((me["uid"], me["phase"]), (os.getuid(), 0))
        used = s.of("process_metric", pid=os.getpid())[-1]
        self.assertEqual(used["sm_util"], 10 + os.getpid() % 50)
        self.assertEqual(used["memory_used"], (512 + os.getpid() % 7) << 20)

    def test_many_processes_of_one_gpu(self):
        """The processes are more than the driver's list has room for at first: none is lost or counted for another GPU."""
        with monitor(devices=2) as m:
            m.control.pid(0, os.getpid())
            m.control.fresh = 700  # of each GPU, in each list
            until(lambda: m.metric("gpufl_monitor_processes_seen_total") >= 2802, "not all were listed")
            m.control.fresh = 0
            m.stop()
            (s,) = m.sessions()
        began = s.of("gpu_process", phase=0)
        of = {k: {r["pid"] for r in began if r["device"] == k} for k in (1, 2)}
        self.assertFalse(of[1] & of[2] or 0 in of[1] | of[2])
        self.assertGreaterEqual(min(len(x) for x in of.values()), 1400)
        last = s.last("monitor")
        self.assertEqual((last["processes_without_room"], last["processes_seen"]), (0, len(began)))

    def test_parts_of_a_gpu(self):
        control = {"parts": 2}
        m = monitor()
        for k, v in control.items():
            setattr(m.control, k, v)
        with m:
            rows = m.wait_rows(2, "instance_metric")
            self.assertEqual({r["gpu_instance"] for r in rows}, {7, 8})
            self.assertEqual(rows[0]["profile"], "Fake GPU MIG 1g.10gb")
            self.assertTrue(rows[0]["uuid"].startswith("MIG-"))
            self.assertEqual(m.metric("gpufl_instance_memory_used_bytes", gpu_instance="7"), 1 << 30)
            until(lambda: m.metric("gpufl_instance_sm_active_ratio", gpu_instance="8") == 0.7125, "no counters of the parts came")
            self.assertAlmostEqual(m.metric("gpufl_instance_graphics_active_ratio", gpu_instance="8"), 0.8825)
            self.assertEqual(m.metrics().get("gpufl_instance_dram_active_ratio"), None)
            free, size = (m.metric(f"gpufl_instance_memory_{x}_bytes", gpu_instance="7") for x in ("free", "size"))
            self.assertEqual(free, size - (1 << 30))
            row = m.wait_rows(4, "instance_metric")[-1]
            self.assertEqual((row["sm_active"], row["graphics_active"], row["memory_reserved"]), (7130, 8830, 0))
            documented(self, m.metrics())

    def test_a_job_is_named_by_its_environment(self):
        child = started(subprocess.Popen(["sleep", "600"], env={"SLURM_JOB_ID": "4711", "POD_NAME": "train-0",
                                                                "POD_NAMESPACE": "ml"}))
        with monitor() as m:
            m.control.pid(0, child.pid)
            rows = m.wait_rows(1, "gpu_process", pid=child.pid, phase=0)
            child.kill()
            child.wait()
            m.control.pid(0, 0)
            m.wait_rows(1, "gpu_process", pid=child.pid, phase=1)
        self.assertEqual((rows[0]["job"], rows[0]["pod_name"]), ("4711", "ml/train-0"))

    def test_sighup_begins_another_session(self):
        with monitor() as m:
            m.wait_rows(1, "device_metric")
            m.process.send_signal(signal.SIGHUP)
            until(lambda: len([s for s in m.sessions() if s.of("device_metric")]) == 2, "no second session")
            m.stop()
            first, second = m.sessions()
        self.assertEqual(first.of("end")[0]["reason"], "again")
        self.assertEqual(len(second.of("device")), 2, "the second session describes its GPUs itself")
        self.assertEqual(second.last("monitor")["rows_lost"], 0)


def documented(case, metrics):
    with open(os.path.join(SOURCE, "docs", "monitor.md"), encoding="utf-8") as f:
        doc = f.read()
    for name in metrics:
        case.assertIn(f"| `{name}` |", doc)


class Page(unittest.TestCase):
    def test_prometheus_has_nothing_to_say(self):
        promtool = shutil.which("promtool")
        with monitor(devices=8) as m:
            m.control.pid(0, os.getpid())
            m.control.xid, m.control.events = 79, 3
            until(lambda: m.metric("gpufl_gpu_xid_errors_total", xid="79") == 3, "the events never came")
            status, text = m.get("/metrics")
            self.assertEqual(status, 200)
            until(lambda: m.get("/healthz") == (200, "ok\n"), "not healthy after a round")
            self.assertEqual(m.get("/else")[0], 404)
            took = []
            for _ in range(20):
                begun = time.monotonic()
                m.get("/metrics")
                took.append(time.monotonic() - begun)
            print(f"\n/metrics: {len(text)} bytes, median {sorted(took)[10] * 1000:.2f} ms")
            self.assertEqual(len(m.metrics()["gpufl_gpu_power_watts"]), 8)
            until(lambda: m.metric("gpufl_gpu_sm_active_ratio", gpu="0") == 0.7125, "no counters came")
            self.assertEqual(m.metrics().get("gpufl_gpu_dram_active_ratio"), None)
            self.assertEqual(m.metric("gpufl_workload_processes", gpu="0"), 1)
        if not promtool:
            self.skipTest("promtool is not installed (Debian: prometheus)")
        lint = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((lint.returncode, lint.stdout + lint.stderr), (0, ""))

    def test_documented(self):
        with open(os.path.join(SOURCE, "docs", "monitor.md"), encoding="utf-8") as f:
            doc = f.read()
        with open(os.path.join(SOURCE, "src", "monitord", "metrics.def"), encoding="utf-8") as f:
            table = re.findall(r'^METRIC\(\w+, "(\w+)", \w+, [^,]+, "(\w*)"', f.read(), re.M)
        self.assertGreater(len(table), 20)
        for name, dcgm in table:
            self.assertIn(f"| `{name}` | {f'`{dcgm}`' if dcgm else ''} |", doc)
        with monitor() as m:
            m.rounds(1)
            documented(self, m.metrics())
            self.assertEqual(m.metric("gpufl_gpu_memory_free_bytes", gpu="0"), 149681078272)
            self.assertEqual((m.metric("gpufl_gpu_row_remap_pending", gpu="0"), m.metric("gpufl_gpu_row_remap_failed", gpu="0")), (0, 0))


class Faults(unittest.TestCase):
    def test_lost_and_back(self):
        with monitor(devices=2) as m:
            m.control.pid(0, os.getpid())
            m.control.pid(1, os.getpid())
            until(lambda: m.metric("gpufl_workload_processes", gpu="1"), "no process was listed")
            m.control.lost = 2
            m.wait_rows(1, "gpu_event", kind="lost", device=2)
            m.wait_rows(1, "gpu_process", phase=1, device=2, pid=os.getpid())
            self.assertEqual([k["uuid"] for k, _ in m.metrics()["gpufl_workload_processes"]], [uuid(0)])
            live = subprocess.run([GPUFL, "monitor", "--once", "--json"], env=m.environment, capture_output=True, text=True,
                                  timeout=PATIENCE, check=True)
            self.assertEqual([p["gpu"] for p in json.loads(live.stdout)["processes"]], [0])
            self.assertEqual(m.metric("gpufl_gpu_up", uuid=uuid(1)), 0)
            self.assertIsNone(m.metric("gpufl_gpu_memory_used_bytes", uuid=uuid(1)), "an old value looks like a new one")
            self.assertEqual(m.metric("gpufl_gpu_up", uuid=uuid(0)), 1)
            m.control.lost = 0
            m.wait_rows(1, "gpu_event", kind="back", device=2)
            until(lambda: m.metric("gpufl_gpu_up", uuid=uuid(1)) == 1, "not up again")
            m.wait_rows(2, "gpu_process", phase=0, device=2, pid=os.getpid())
            self.assertEqual(len(m.rows("gpu_event", kind="lost")), 1)

    def test_renumbered_gone_and_appeared(self):
        with monitor(devices=3, environment={"FAKE_NVML_DEVICES": "3"}) as m:
            m.wait_rows(1, "device_metric", device=3)
            m.control.turn = 1
            m.control.devices = 2
            # The number of GPUs differs: the driver is asked again, within ten seconds.
            m.wait_rows(1, "gpu_event", kind="gone")
            m.control.devices = 3
            m.wait_rows(1, "gpu_event", kind="appeared")
            m.stop()
            (s,) = m.sessions()
        self.assertTrue(s.of("gpu_event", kind="renumbered"))
        ids = {d["id"]: d["uuid"] for d in s.of("device")}
        self.assertEqual(len(ids), 3)
        self.assertEqual(len(set(ids.values())), 3, "an id is one GPU for the whole session")

    def test_driver_reloaded(self):
        with monitor(devices=2) as m:
            m.wait_rows(2, "device_metric")
            m.control.unloaded = 1
            m.wait_rows(2, "gpu_event", kind="lost")
            until(lambda: m.get("/healthz")[0] == 503, "healthy without a driver")
            self.assertIn("kernel driver is not loaded", m.get("/healthz")[1])
            m.control.unloaded = 0
            m.wait_rows(2, "gpu_event", kind="back")
            until(lambda: m.get("/healthz")[0] == 200, "not healthy again")
            self.assertGreater(m.control.inits, 1)

    def test_without_a_driver_at_first(self):
        m = monitor("--wait-for-driver")
        m.control.unloaded = 1
        with m:
            m.wait_rows(3, "host_metric")
            self.assertIn("samples the host alone for now", m.said())
            m.control.unloaded = 0
            m.wait_rows(1, "gpu_event", kind="appeared", device=1)
            m.wait_rows(1, "device_metric", device=1)

    def test_a_call_that_takes_long(self):
        with monitor() as m:
            m.rounds(2)
            m.control.slow_ms = 2000
            until(lambda: m.metric("gpufl_monitor_rounds_missed_total") >= 15, "rounds were not counted as missed")
            begun = time.monotonic()
            m.control.slow_ms = 8000
            until(lambda: m.control.slow_ms == 0, "nobody called")
            self.assertEqual(m.get("/metrics")[0], 200)
            self.assertLess(time.monotonic() - begun, 7, "the page waited for the driver")
            until(lambda: m.metric("gpufl_monitor_rounds_missed_total") >= 60, "the call did not end")
            m.stop()
            last = m.sessions()[-1].last("monitor")
        self.assertGreaterEqual(last["rounds_missed"], 15)

    def test_terminated_while_the_driver_hangs(self):
        with monitor() as m:
            m.wait_rows(3, "device_metric")
            m.control.slow_ms = 600000
            until(lambda: m.control.slow_ms == 0, "nobody called")
            self.assertEqual(m.stop(), FINE)
            self.assertIn("the driver did not answer", m.said())
            (s,) = m.sessions()
        self.assertTrue(s.ended)

    def test_every_call_fails_once(self):
        with monitor() as m:
            m.rounds(2)
            for n in range(1, 40):
                m.control.fail_at = n
                until(lambda: m.control.fail_at == 0, "nobody called")
            m.rounds(2)
            self.assertEqual(m.metric("gpufl_gpu_up", uuid=uuid(0)), 1)

    def test_a_storm_of_events(self):
        with monitor() as m:
            m.rounds(1)
            m.control.xid, m.control.events = 31, 100000
            until(lambda: m.control.events == 0, "not all were taken")
            until(lambda: m.metric("gpufl_gpu_xid_errors_total", xid="31") == 100000, "events are missing")
            m.stop()
            self.assertEqual(sum(r["count"] for r in m.rows("gpu_event", kind="xid", code=31)), 100000)
            self.assertEqual(m.sessions()[-1].last("monitor")["events_lost"], 0)

    def test_disk_full(self):
        """The disk has less than its reserve from the first row on: lost rows are counted, and everything else goes on."""
        with monitor("--min-free", "100T") as m:
            m.rounds(5)
            until(lambda: m.metric("gpufl_monitor_rows_lost_total") > 0, "nothing is counted as lost")
            self.assertGreater(m.metric("gpufl_gpu_power_watts", gpu="0"), 0)
            self.assertIn("not logged", m.said())
            self.assertEqual(m.stop(), FINE)

    def test_disk_full_and_free_again(self):
        """Another file fills a disk of eight MiB, and is removed."""
        with tempfile.TemporaryDirectory(prefix="gpufl-monitor-") as folder:
            os.mkdir(os.path.join(folder, "logs"))
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", os.path.join(folder, "logs")],
                                     capture_output=True, check=False).returncode == 0
            if not mounted:
                self.skipTest("no right to mount a file system")
            try:
                with monitor(folder=folder) as m:
                    m.wait_rows(1, "device_metric")
                    with open(os.path.join(m.logs, "ballast"), "wb", buffering=0) as f:
                        with self.assertRaises(OSError):
                            for _ in range(1 << 20):
                                f.write(b"x" * 4096)
                    m.control.fresh = 50  # enough rows to fill what the log has reserved
                    until(lambda: m.metric("gpufl_monitor_rows_lost_total") > 0, "nothing is counted as lost")
                    m.control.fresh = 0
                    os.unlink(os.path.join(m.logs, "ballast"))
                    until(lambda: len(m.sessions()) > 1 and m.sessions()[-1].of("device_metric"), "logs never again")
                    self.assertEqual(m.stop(), FINE)
                    first, last = m.sessions()[0], m.sessions()[-1]
                self.assertEqual(first.of("end")[0]["reason"], "disk", "the reserve keeps room to say why")
                self.assertGreater(last.last("monitor")["rows_lost"], 0)
            finally:
                subprocess.run(["umount", os.path.join(folder, "logs")], check=False)


class Events(unittest.TestCase):
    """Rounds are an hour apart: no round takes what comes between."""

    def monitor(self, **more):
        m = monitor("--interval", "1h", **more)
        m.start()
        self.addCleanup(m.close)
        until(lambda: m.metric("gpufl_monitor_rounds_total") == 1, "no first round")
        return m

    def test_shown_and_logged_when_they_come(self):
        m = self.monitor(devices=2)
        m.control.where, m.control.xid, m.control.events = 1, 79, 3
        until(lambda: m.metric("gpufl_gpu_xid_errors_total", xid="79", uuid=uuid(1)) == 3, "the page waits for the round")
        self.assertEqual(m.metric("gpufl_monitor_events_seen_total"), 3)
        live = subprocess.run([GPUFL, "monitor", "--once", "--json"], env=m.environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        self.assertEqual([x["xids"] for x in json.loads(live.stdout)["gpus"]], [[], [{"code": 79, "count": 3}]])
        m.wait_rows(1, "gpu_event", kind="xid", code=79, device=2)
        self.assertEqual(m.metric("gpufl_monitor_rounds_total"), 1)

    def test_the_last_are_logged(self):
        m = self.monitor()
        m.control.xid, m.control.events = 79, 3
        self.assertEqual(m.stop(), FINE)
        self.assertEqual(m.control.events, 0)
        (s,) = m.sessions()
        self.assertEqual(sum(r["count"] for r in s.of("gpu_event", kind="xid", code=79)), 3)
        self.assertEqual((s.last("monitor")["events_seen"], s.last("monitor")["events_lost"]), (3, 0))


class BadInput(unittest.TestCase):
    def refused(self, code, words, *options, environment=None, folder=None):
        m = monitor(*options, listen=False, environment=environment, folder=folder)
        got = subprocess.run(m.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, code, got)
        self.assertRegex(got.stderr, words)
        self.assertRegex(got.stderr.splitlines()[0], r"^gpufl-monitor: \S")
        self.assertLessEqual(len(got.stderr.splitlines()), 2, got.stderr)
        self.assertEqual(got.stdout, "")
        self.assertEqual(glob.glob(os.path.join(m.logs, "*-*")), [], "it has begun a session")

    def test_interval_out_of_range(self):
        self.refused(USAGE, "interval is out of range.*100ms to 1h", "--interval", "99ms")
        self.refused(USAGE, "interval is out of range", "--interval", "61m")
        self.refused(USAGE, "GPUFL_MONITOR_PROCESS_INTERVAL", environment={"GPUFL_MONITOR_PROCESS_INTERVAL": "soon"})
        self.refused(USAGE, "interval is out of range.*is ms", "--interval", "99")
        self.refused(USAGE, "takes options alone", "now")

    def test_options_of_the_public_client(self):
        """Each option works, or is refused with what to use here; an interval without a unit is in ms."""
        for option, instead in (("--upload", "gpufl-agent --source"), ("--backend-url=http://x", "--server"), ("--api-key=k", "--api-key-file"),
                                ("--api-version=v1", "--api-path"), ("--agent-jar=a.jar", "no Java"), ("--agent-cursor=c", "--state"),
                                ("--log-types=system", "every channel"), ("-v", "--listen")):
            self.refused(USAGE, f"there is no option '--[a-z-]+' here: .*{instead}", option)
        m = monitor("--check", "-n", "mine", "-q", listen=False)
        got = subprocess.run(m.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((got.returncode, got.stdout, got.stderr), (FINE, "", ""))
        with monitor("--interval", "150", "-n", "mine") as m:
            m.wait_rows(1, "device_metric")
            (s,) = m.sessions()
        values = {r["name"]: r["value"] for r in s.of("option")}
        self.assertEqual((values["interval"], values["name"]), ("150ms", "mine"))

    def test_no_driver(self):
        self.refused(NO_DRIVER, "driver is not loaded: load it", environment={"FAKE_NVML": "missing"})
        with tempfile.TemporaryDirectory() as empty:
            self.refused(NO_DRIVER, "libnvidia-ml.so.1 was not found: install", environment={"LD_LIBRARY_PATH": empty})
        self.refused(NO_DRIVER, "no permission to talk to NVIDIA's driver: the user needs", environment={"FAKE_NVML": "denied"})

    def test_port_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            taken = f"127.0.0.1:{s.getsockname()[1]}"
            self.refused(FAILED, "another program does; choose another port", "--listen", taken)
            self.refused(FAILED, "another program does; choose another port", "--check", "--listen", taken)
        self.refused(USAGE, "not ADDRESS:PORT", "--listen", "here")
        self.refused(USAGE, "not ADDRESS:PORT", "--check", "--listen", "here")

    def test_who_listens_needs_no_library(self):
        """/metrics comes from a copy of the program alone; no library of HTTP or TLS takes memory for it."""
        with tempfile.TemporaryDirectory() as alone, Monitor(copied(PROGRAM, alone), FAKES) as m:
            self.assertEqual(m.get("/metrics")[0], 200)
            with open(f"/proc/{m.process.pid}/maps", encoding="utf-8") as f:
                self.assertNotRegex(f.read(), "microhttpd|gnutls|libssl|libcrypto|libgpufl")

    def test_unwritable_folder(self):
        self.refused(FAILED, "/proc/nowhere", "--log-path", "/proc/nowhere")
        for where in ("/proc/nowhere", "/proc/self"):  # root may write there, by the rights of the folder
            for first in ((), ("--check",)):
                self.refused(FAILED, f"cannot .*{where}.*: name another folder with --log-path", *first, "--log-path", where)
            self.refused(FAILED, f"cannot .*{where}.*: name another folder with --run-dir", "--run-dir", f"{where}/x")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            self.refused(FAILED, "nobody else may write.*--run-dir", "--run-dir", folder)

    def test_two_on_one_host(self):
        with monitor() as m:
            other = monitor(folder=m.folder, listen=False)
            got = subprocess.run(other.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE,
                                 check=False)
            self.assertEqual(got.returncode, BUSY, got)
            self.assertRegex(got.stderr, "^gpufl-monitor: another gpufl-monitor runs on this host")
            self.assertEqual(len(got.stderr.splitlines()), 1)
            elsewhere = dict(m.environment, RUNTIME_DIRECTORY=os.path.join(m.folder, "service"))
            at = other.command.index("--run-dir")
            command = other.command[:at] + other.command[at + 2:]
            for first in ((), ("--check",)):  # in another folder, if nobody chose one
                got = subprocess.run([*command, *first], env=elsewhere, capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(got.returncode, BUSY, got)
                self.assertIn(os.path.join(m.folder, "run", "gpufl-monitor") + ")", got.stderr)
            if os.geteuid() == 0:  # the folder of a service that has a user of its own
                os.chown(os.path.join(m.folder, "run"), 61234, 61234)
                got = subprocess.run(other.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE,
                                     check=False)
                self.assertEqual(got.returncode, BUSY, got)
                os.chown(os.path.join(m.folder, "run"), 0, 0)

    def test_file_environment_and_flags(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "monitor.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write('{"interval": "300ms", "name": "by file", "no-activity": true, "rotate": 1048576}')
            m = monitor("--config", path, "--interval", "150ms", environment={"GPUFL_MONITOR_APP": "by environment"})
            with m:
                m.wait_rows(1, "device_metric")
                s = m.sessions()[0]
            values = {r["name"]: r["value"] for r in s.of("option")}
            self.assertEqual((values["interval"], values["name"], values["no-activity"], values["rotate"]),
                             ("150ms", "by environment", "true", "1048576"))
            self.assertFalse(any(r.get("sm_active") for r in s.of("device_metric")))
            with open(path, "w", encoding="utf-8") as f:
                f.write('{"intervall": "300ms"}')
            self.refused(USAGE, "intervall in .*no such option", "--config", path)
            with open(path, "w", encoding="utf-8") as f:
                f.write('["interval"]')
            self.refused(USAGE, "not a JSON object", "--config", path)
            self.refused(USAGE, "nowhere", "--config", "/nowhere")

    def test_check(self):
        m = monitor("--check", listen=False)
        got = subprocess.run(m.command, env=m.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((got.returncode, got.stderr), (FINE, ""))
        self.assertIn("would sample 2 GPUs", got.stdout)
        self.assertNotIn("answer at", got.stdout)
        got = subprocess.run([*m.command, "--listen", "0"], env=m.environment, capture_output=True, text=True, timeout=PATIENCE,
                             check=False)
        self.assertRegex(got.stdout, r"would sample 2 GPUs to .*, and answer at http://127.0.0.1:[1-9]\d*\n$")
        self.assertEqual(os.listdir(m.logs), [])
        self.refused(NO_DRIVER, "driver is not loaded", "--check", environment={"FAKE_NVML": "missing"})
        got = subprocess.run([*m.command, "--wait-for-driver"], env=dict(m.environment, FAKE_NVML="missing"), capture_output=True, text=True,
                             timeout=PATIENCE, check=False)
        self.assertEqual(got.returncode, FINE, got)
        self.assertRegex(got.stderr, r"^gpufl-monitor: would sample the host alone for now: .*driver is not loaded")
        self.assertIn("would sample 0 GPUs", got.stdout)


    def test_manual_has_every_option(self):
        text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(SOURCE, "docs", "man", "gpufl-monitor.1"), encoding="utf-8") as f:
            documented = set(re.findall(r"^\.It .*Fl -([a-z-]+)", f.read(), re.M))
        self.assertEqual(set(re.findall(r"--([a-z][a-z-]+)", text.split("Options")[1])) - {"interval"}, documented - {"interval"})
        self.assertIn("interval", documented)
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(version, r"^gpufl-monitor \d+\.\d+\.\d+\n$")


class Shared(unittest.TestCase):
    def trace(self, m, *options):
        """Runs a program under gpufl trace while the monitor runs: its report."""
        logs = os.path.join(m.folder, "traced")
        environment = dict(m.environment, LD_LIBRARY_PATH=FAKES)
        program = subprocess.run([GPUFL, "trace", "--engine", "Monitor", "-o", logs, "--no-report", *options, "--",
                                  "sleep", "2"], env=environment, capture_output=True, text=True, timeout=PATIENCE,
                                 check=False)
        self.assertEqual(program.returncode, 0, program)
        report = subprocess.run([GPUFL, "report", "--json", logs], env=environment, capture_output=True, text=True,
                                timeout=PATIENCE, check=False)
        self.assertEqual(report.returncode, 0, report.stderr)
        return json.loads(report.stdout), logs

    def test_a_traced_program_takes_the_monitors_samples(self):
        with monitor(devices=2) as m:
            m.wait_rows(5, "device_metric")
            report, logs = self.trace(m)
            m.stop()
            (own,) = m.sessions()
        sources = report["shared_samples"]
        self.assertEqual([s["session"] for s in sources], [own.header["session"]])
        self.assertGreater(sources[0]["samples"], 0)
        self.assertGreater(report["devices"][0]["metrics"]["samples"], 0)
        (traced,) = {os.path.dirname(f) for f in glob.glob(os.path.join(logs, "**", "system*.log*"), recursive=True)}
        s = Session(traced)
        self.assertEqual(s.of("device_metric"), [], "it took samples of its own")
        self.assertTrue(s.of("sampler"))

    def test_though_they_are_rarer(self):
        """A program without a session of its own, whose interval nobody chose, takes samples of any interval."""
        with monitor("--interval", "1s", devices=2) as m:
            m.wait_rows(2, "device_metric")
            report, logs = self.trace(m)
            (traced,) = {os.path.dirname(f) for f in glob.glob(os.path.join(logs, "**", "system*.log*"), recursive=True)}
            m.stop()
            (own,) = m.sessions()
        self.assertEqual([s["session"] for s in report["shared_samples"]], [own.header["session"]])
        self.assertGreater(report["devices"][0]["metrics"]["samples"], 0)
        s = Session(traced)
        self.assertEqual(s.of("device_metric"), [], "it took samples of its own")
        self.assertEqual([r["reason"] for r in s.of("end")], ["shutdown"])

    def test_an_interval_by_option_is_asked_for(self):
        with monitor("--interval", "500ms", devices=2) as m:
            m.wait_rows(2, "device_metric")
            report, _ = self.trace(m, "--option", "system_sample_rate_ms=20")
        self.assertFalse([s for s in report.get("shared_samples", []) if s.get("samples")])
        self.assertGreater(report["devices"][0]["metrics"]["samples"], 25)

    def test_processes_on_the_gpu_take_them(self):
        """Processes take the monitor's samples, which are rarer than their own would be, since nobody set an interval."""
        with monitor("--interval", "500ms", devices=2) as m:
            m.wait_rows(5, "device_metric")
            logs = os.path.join(m.folder, "ranks")
            environment = dict(m.environment, GPUFL_CUPTI_PATH=FAKES)
            program = subprocess.Popen([GPUFL, "trace", "-o", logs, "--no-report", "--", os.path.join(FAKES, "fake_ranks"),
                                        "2"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            program.stdout.readline()

            def sessions():
                folders = {os.path.dirname(f) for f in glob.glob(os.path.join(logs, "**", "system*.log*"), recursive=True)}
                return [Session(f) for f in folders]
            until(lambda: (lambda s: len(s) == 2 and all(len(x.of("sampler")) == 3 for x in s))(sessions()),
                  lambda: f"they take no samples of the monitor: {[s.rows for s in sessions()]}")
            m.rounds(5)
            _, err = program.communicate("end\n", PATIENCE)
            self.assertEqual(program.returncode, 0, err)
            traced = sessions()
            report = subprocess.run([GPUFL, "report", "--json", logs], env=environment, capture_output=True, text=True,
                                    timeout=PATIENCE, check=True)
            m.stop()
            (own,) = m.sessions()
        report = json.loads(report.stdout)
        self.assertEqual([s["session"] for s in report["shared_samples"]], [own.header["session"]])
        for device in report["devices"]:
            self.assertGreater(device["metrics"]["samples"], 0)
            self.assertGreater(device["metrics"]["gpu_util"]["mean"], 0)
        for s in traced:
            self.assertEqual(s.of("device_metric"), [])
            self.assertTrue(all(r.get("cpu") is None for r in s.of("host_metric")), "it sampled the host")

    def test_one_that_asks_for_more_samples_itself(self):
        with monitor("--interval", "500ms", devices=2) as m:
            m.wait_rows(2, "device_metric")
            report, _ = self.trace(m, "--system-interval", "50ms")
        self.assertFalse([s for s in report.get("shared_samples", []) if s.get("samples")])
        self.assertGreater(report["devices"][0]["metrics"]["samples"], 10)


if __name__ == "__main__":
    together.main(sys.argv[:1] + sys.argv[5:])
