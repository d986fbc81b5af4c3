#!/usr/bin/env python3
"""Every fault of docs/command-line.md gives the sentence and the exit code of that page.

    test_command_line.py BUILD SOURCE
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
PATIENCE = 120
FAKE = {"LD_LIBRARY_PATH": str(BUILD / "fake"), "GPUFL_CUPTI_PATH": str(BUILD / "fake")}

# The table says what a row needs in addition to its command, by its fault.
NEEDS = {
    "NVIDIA's driver does not answer": {**FAKE, "FAKE_NVML": "unknown"},
    "CUPTI, and no driver": {"GPUFL_CUPTI_PATH": str(BUILD / "fake")},
}


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def read_rows():
    """The table's rows: fault, command, what is said, exit code. A fault counts for the rows below it, too."""
    fault = ""
    for line in (SOURCE / "docs/command-line.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not cells[3].isdigit():
            continue
        fault = cells[0] or fault
        yield fault, cells[1].strip("`"), cells[2].strip("`"), int(cells[3])


def pattern_of(says):
    return re.compile(".*?".join(re.escape(" ".join(part.split())) for part in says.split("…")))


# A /dev that has a GPU's device node as well: an empty file, which nobody opens.
DEVICES = """
mount -t tmpfs none "$1" && touch "$1/nvidiactl" && mkdir "$1/shm" && mount --bind /dev/shm "$1/shm" && ln -s /proc/self/fd "$1/fd" &&
for name in full null random urandom zero; do touch "$1/$name" && mount --bind "/dev/$name" "$1/$name" || exit 77; done &&
mount --rbind "$1" /dev || exit 77
shift
exec "$@"
"""


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-line-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.env = {"PATH": f"{BUILD}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": str(self.dir),
                    "XDG_RUNTIME_DIR": str(self.dir), "GPUFL_LOG_MIN_FREE_BYTES": "0"}
        self.dir.chmod(0o700)

    def make_world(self):
        (self.dir / "file").touch()
        (self.dir / "program").symlink_to(BUILD / "bin/seed_001")
        (self.dir / "report_first").symlink_to(BUILD / "tests/report_first")
        self.run_it("gpufl sim --kernels 100 -o run1", 0)
        self.run_it(f"GPUFL_BACKEND=Sim gpufl trace -q -e Monitor -o monitor -- {BUILD}/tests/e2e-program exit 0", 0)

    def run_it(self, command, code, **env):
        done = subprocess.run(["bash", "-c", command], cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return " ".join((done.stdout + done.stderr).split())

    def test_every_row(self):
        self.make_world()
        rows = list(read_rows())
        self.assertGreater(len(rows), 40)
        self.assertEqual(set(NEEDS) - {row[0] for row in rows}, set())
        for fault, command, says, code in rows:
            if fault == "CUPTI, and no driver" and has_driver():
                continue
            with self.subTest(command):
                text = self.run_it(command, code, **NEEDS.get(fault, {}))
                self.assertRegex(text, pattern_of(says))
                if code in (2, 3):  # nothing was run
                    self.assertNotRegex(text, r"\bran$")
                    self.assertFalse((self.dir / "run2").exists())
                shutil.rmtree(self.dir / "run2", ignore_errors=True)
        left = {path.name for path in self.dir.iterdir()}
        self.assertEqual({name for name in left if name.startswith("gpufl-") and name != "gpufl-sim"}, set())

    def test_never_used_the_gpu_is_said_where_that_is_known(self):
        """No process opens the GPU's driver, or one only reads the driver's file."""
        (self.dir / "dev").mkdir()
        space = "--map-root-user --mount" if os.getuid() else "--mount"
        for program, code, says in (("sh -c 'exit 3'", 3, "the program never used the GPU: no process opened the CUDA driver "
                                     f"({BUILD}/fake/libcuda.so.1) before it ended with exit code 3"),
                                    (f"cat {BUILD}/fake/libcuda.so.1 >/dev/null", 0, "the CUDA driver was opened, by the program or by "
                                     "another one of this host, and the capture library was not")):
            command = f"unshare {space} sh -c '{DEVICES}' sh {self.dir}/dev gpufl trace -o never -- {program}"
            done = subprocess.run(["bash", "-c", command], cwd=self.dir, env={**self.env, **FAKE}, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            if done.returncode in (1, 77) and "gpufl" not in done.stderr:
                self.skipTest(f"no mount namespace here: {done.stderr}")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual("never used the GPU" in done.stderr, code == 3)
            self.assertFalse((self.dir / "never").exists())

    def test_a_socket_that_was_left_over(self):
        """The process whose id names the socket runs, but is another one: nobody listens."""
        folder = self.dir / "gpufl"
        folder.mkdir(0o700)
        stale = folder / f"{os.getpid()}.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(stale))
        text = self.run_it(f"gpufl ctl {os.getpid()} window status", 1)
        self.assertIn(f"the session of process {os.getpid()} has ended", text)
        self.assertFalse(stale.exists())

    def test_cuda_12_is_not_sold_as_measured(self):
        words = "CUDA 12: record layouts checked, not verified on a real driver"
        for major, warned in ((12, True), (13, False)):
            text = self.run_it("gpufl info", 0, **{**FAKE, "GPUFL_CUPTI_PATH": str(BUILD / f"fake/libcupti.so.{major}")})
            self.assertIn(f"libcupti.so.{major}", text)
            self.assertEqual(words in text, warned, text)

    def lines_of(self, *arguments, **env):
        done = subprocess.run(["gpufl", *arguments], cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        return done.stdout.splitlines()

    def test_info_answers_on_one_screen(self):
        """`gpufl info` says what works here, and what to do: with the fake GPUs, with an older CUPTI, without a GPU."""
        for env, verdict in ((FAKE, "can capture here (backend nvidia), with every engine."),
                             ({**FAKE, "GPUFL_CUPTI_PATH": str(BUILD / "fake/libcupti.so.12")}, "can capture here (backend nvidia), with every engine."),
                             ({**FAKE, "FAKE_NVML": "unknown"}, "finds no GPU that it can use here")):
            lines = self.lines_of("info", **env)
            self.assertIn(verdict, lines[0])
            self.assertLessEqual(len(lines), 20, lines)
        self.assertIn("to do", lines)
        everything = self.lines_of("info", "--engines", **FAKE)
        for part in ("nvidia: can be used", "what engines need, exclude and cost", "in windows of capture"):
            self.assertIn(part, everything)

    def metrics_of(self, **env):
        info = json.loads("".join(self.lines_of("info", "--metrics", "--json", **{**FAKE, **env})))
        self.assertLessEqual(len(info["chips"]), 1)  # both fake GPUs are of one chip
        return info["error"], {(m["set"], m["name"]): (m["passes"], m["sampled"]) for m in info["chips"][0]["metrics"]}

    def test_metrics_of_the_device(self):
        error, metrics = self.metrics_of()
        self.assertIsNone(error)
        self.assertEqual(metrics["memory", "lts__t_sector_hit_rate.pct"], (1, True))
        self.assertEqual(metrics[None, "dram__bytes_read.sum"], (1, True))
        self.assertEqual(metrics[None, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"], (1, True))
        self.assertEqual(metrics[None, "odd__unit.sum"], (0, False))  # the device has no such counter
        _, metrics = self.metrics_of(FAKE_CUPTI="pm-nolinks")
        self.assertEqual(metrics["overview", "pcie__read_bytes.sum.per_second"], (0, False))
        error, metrics = self.metrics_of(FAKE_CUPTI="pm-privileges")  # then it is not known whether it may be sampled
        self.assertEqual(metrics["overview", "pcie__read_bytes.sum.per_second"], (1, None))
        text = self.lines_of("info", "--metrics", **FAKE)
        self.assertIn("     1 yes      lts__t_sector_hit_rate.pct", text)
        self.assertIn("     - -        odd__unit.sum", text)

    def test_metrics_of_the_sets_are_known_without_a_device(self):
        for env in ({"GPUFL_CUPTI_PATH": str(BUILD / "fake/libcupti.so.12")}, {"FAKE_CUPTI": "fail=cuptiProfilerInitialize:1:15"}):
            error, metrics = self.metrics_of(**env)
            self.assertTrue(error)
            self.assertEqual(metrics["roofline", "dram__bytes_read.sum.per_second"], (None, None))
            self.assertNotIn(None, {key[0] for key in metrics})
        self.assertIn("no GPU could be asked, so passes are not known (?)", self.lines_of("info", "--metrics", **{**FAKE, "FAKE_CUPTI": "fail=cuptiProfilerInitialize:1:15"}))

    def test_the_same_by_the_librarys_names(self):
        """--app-name and the library's other names of options do what --name and the command's other names do."""
        self.run_it("gpufl sim --kernels 10 --app-name here --log-path run1 --profiling-engine Sync", 0)
        self.assertIn("program here,", self.run_it("gpufl report --full run1", 0))
        self.run_it(f"GPUFL_BACKEND=Sim gpufl trace -q --log-path run2 --app-name there --system-sample-rate-ms=77 "
                    f"--enable-memory-tracking --profiling-engine Trace -- {BUILD}/tests/e2e-program exit 0", 0)
        text = self.run_it("gpufl report --full run2", 0)
        for word in ("program there,", "system_sample_rate_ms=77 (trace)", "enable_memory_tracking=true (trace)", "engine Trace,"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
