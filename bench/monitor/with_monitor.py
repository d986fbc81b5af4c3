#!/usr/bin/env python3
"""Measures whether a program on the GPU becomes slower while gpufl-monitor samples the machine: a PyTorch step and
empty launches.

    bench/monitor/with_monitor.py BUILD [--seconds N] [--interval MS] [--json FILE]

BUILD has bin/gpufl-monitor. The program runs without any capture, in one process; the monitor is stopped (SIGSTOP) and
continued (SIGCONT) in blocks of on off off on, each part 2.2 intervals long, so that it has two or three rounds of
samples. The script prints the ratios of wall-clock time and of processor time of the launching thread, each with half
the 95 % interval of the mean. Needs a GPU and torch.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "overhead"))
PART = 2.2  # intervals of the monitor


class Monitor:
    """gpufl-monitor, with its processor time in s."""

    def __init__(self, build, interval):
        self.folder = tempfile.TemporaryDirectory(prefix="with_monitor")
        for name in ("logs", "run"):
            os.mkdir(f"{self.folder.name}/{name}", 0o700)
        self.process = subprocess.Popen(
            [build / "bin/gpufl-monitor", "--log-path", f"{self.folder.name}/logs", "--run-dir", f"{self.folder.name}/run",
             "--interval", f"{interval}ms", "--listen", "0"], stdout=subprocess.PIPE, text=True)
        if not any("listening" in line for line in iter(self.process.stdout.readline, "")):
            raise SystemExit("gpufl-monitor did not begin")

    def switch(self, on):
        self.process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.switch(True)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.folder.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=300, help="for each of the two programs, at most")
    parser.add_argument("--interval", type=int, default=1000, help="of the monitor, ms")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    import torch
    from pytorch_step import in_blocks, make_step, timed
    step = make_step()

    def launches():
        for _ in range(1000):
            torch.cuda._sleep(0)  # a kernel that ends at once

    monitor, rows = Monitor(args.build, args.interval), {}
    try:
        for name, work in (("PyTorch step", step), ("1000 empty launches", launches)):
            timed(work, 30)
            begin = time.perf_counter()
            timed(work, 20)
            each = (time.perf_counter() - begin) / 20
            spent, began = monitor.cpu_s(), time.perf_counter()
            result = in_blocks(work, monitor.switch, max(1, round(PART * args.interval / 1e3 / each)), args.seconds, 0.3, least=12)
            rows[name] = {"ms": each * 1e3, "ratio_wall": result["ratio_wall"], "ratio_thread": result["ratio_thread"],
                          "monitor_cpu_percent": 100 * (monitor.cpu_s() - spent) / result["on_s"], "took_s": time.perf_counter() - began}
            for clock in ("wall", "thread"):
                median, mean, half, blocks = result[f"ratio_{clock}"]
                print(f"{name}, {clock}: median ratio {median:.4f}, mean without the outer tenths {mean:.4f} +- {half:.4f} (95 %), {blocks} blocks", flush=True)
            print(f"  the monitor took {rows[name]['monitor_cpu_percent']:.2f} % of a core while it went on")
    finally:
        monitor.end()
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
