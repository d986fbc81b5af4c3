#!/usr/bin/env python3
"""Measures what gpufl-monitor costs, over the fake management library: no GPU.

Usage: bench/monitor/run.py BUILD [--seconds 60] [--rounds 3] [--day ROUNDS]

There are 8 GPUs, 64 processes and a sample a second; every call of the library keeps a core busy for 20 us
(FAKE_NVML_US). The monitor and a bare loop that makes the same calls (bench_nvml_loop) run in turns, then the monitor
with /metrics scraped every 15 s, then the monitor while 64 processes announce their session and a new scope every 5 s.
CPU time is that of /proc/PID/task/*/schedstat; memory is read at the end. --day: the log of so many seconds, made with
a clock that jumps and values that move at random (FAKE_NVML_NOISE); 86400 takes some minutes.
"""
import argparse
import glob
import gzip
import itertools
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "e2e"))
from nvml_control import Control  # noqa: E402

GPUS, PROCESSES, US = 8, 64, 20
ANNOUNCED = "64 sessions"


def cpu_ns(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def memory(pid):
    """KiB: resident; anonymous; its proportional share (PSS); memory that no other process has."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        lines = dict(line.split(":", 1) for line in f if ":" in line)
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        parts = {line.split(":")[0]: int(line.split()[1]) for line in f if line.endswith("kB\n")}
    return (int(lines["VmRSS"].split()[0]), int(lines["RssAnon"].split()[0]), parts["Pss"],
            parts["Private_Clean"] + parts["Private_Dirty"])


def measure(command, control, seconds, environment, url=False):
    """CPU share in %, memory, calls a second, and how long /metrics took in ms of the process's own CPU time."""
    p = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    address = None
    if url:
        p.stdout.readline()
        address = p.stdout.readline().split()[-1]
    time.sleep(5)  # the first seconds have other work
    scrapes = []
    begun, cpu, calls = time.monotonic(), cpu_ns(p.pid), control.queries
    end = begun + seconds
    while time.monotonic() < end:
        time.sleep(min(15, max(0, end - time.monotonic())))
        if address:
            at, own = time.monotonic(), cpu_ns(p.pid)
            with urllib.request.urlopen(address + "/metrics") as r:
                size = len(r.read())
            scrapes.append(((time.monotonic() - at) * 1e3, (cpu_ns(p.pid) - own) / 1e6, size))
    took = time.monotonic() - begun
    out = {"cpu": (cpu_ns(p.pid) - cpu) / took / 1e7, "calls": (control.queries - calls) / took,
           "memory": memory(p.pid), "scrapes": scrapes}
    p.terminate()
    p.wait()
    p.stdout.close()
    return out


def announce(path):
    """Sends the monitor a datagram every 5 s, as a traced process does whose scope changes all the time."""
    out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for i in itertools.count():
        try:
            out.sendto(b"gpufl-session 1 01234567-89ab-cdef-0123-456789abcdef 10000000000 step %d" % i, path)
        except OSError:  # no monitor runs, or its socket is full
            pass
        time.sleep(5)


def announcers(path, n):
    """Starts n processes that announce a session until they are killed; returns their ids."""
    pids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            try:
                announce(path)
            finally:
                os._exit(1)
        pids.append(pid)
    return pids


def measure_announced(command, control, seconds, environment, path):
    pids = announcers(path, PROCESSES)
    try:
        return measure(command, control, seconds, environment)
    finally:
        for pid in pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def cost(build, seconds, rounds):
    sleepers = [subprocess.Popen(["sleep", "86400"]) for _ in range(PROCESSES)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            control = Control(os.path.join(folder, "control"))
            for k, s in enumerate(sleepers):
                control.pid(k, s.pid)
            environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/fake", FAKE_NVML_DEVICES=str(GPUS),
                               FAKE_NVML_US=str(US), FAKE_NVML_CONTROL=control.path)
            own = [f"{build}/bin/gpufl-monitor", "--log-path", f"{folder}/logs", "--run-dir", f"{folder}/run"]
            kinds = {"bare loop": [f"{build}/bin/bench_nvml_loop", "1000", "5000"], "monitor": own,
                     "monitor, --listen": own + ["--listen", "0"], ANNOUNCED: own}
            got = {k: [] for k in kinds}
            for _ in range(rounds):
                for k, command in kinds.items():
                    if k == ANNOUNCED:
                        got[k].append(measure_announced(command, control, seconds, environment, f"{folder}/run/sessions"))
                    else:
                        got[k].append(measure(command, control, seconds, environment, "--listen" in command))
    finally:
        for s in sleepers:
            s.kill()
            s.wait()
    bare = statistics.median(r["cpu"] for r in got["bare loop"])
    base = [statistics.median(r["memory"][i] for r in got["bare loop"]) for i in range(4)]
    print(f"{GPUS} GPUs, {PROCESSES} processes, every 1 s, a call takes {US} us; medians of {rounds} x {seconds:.0f} s")
    for k, runs in got.items():
        cpu = [r["cpu"] for r in runs]
        rss, own, pss, private = (statistics.median(r["memory"][i] for r in runs) for i in range(4))
        print(f"  {k:18} {statistics.median(cpu):.3f} % of a core [{min(cpu):.3f}, {max(cpu):.3f}], "
              f"above bare {statistics.median(cpu) - bare:+.3f}; RSS {rss:.0f} KiB ({rss - base[0]:+.0f}), not of files "
              f"{own:.0f} KiB ({own - base[1]:+.0f}), PSS {pss:.0f} KiB ({pss - base[2]:+.0f}), of that its own alone "
              f"{private:.0f} KiB ({private - base[3]:+.0f}); {statistics.median(r['calls'] for r in runs):.1f} calls/s")
    scrapes = [s for r in got["monitor, --listen"] for s in r["scrapes"]]
    print(f"  /metrics: {scrapes[0][2]} bytes, {statistics.median(s[0] for s in scrapes):.2f} ms by the clock, "
          f"{statistics.median(s[1] for s in scrapes):.2f} ms of CPU time (what else the process did among it), "
          f"median of {len(scrapes)}")


def day(build, rounds):
    sleepers = [subprocess.Popen(["sleep", "86400"]) for _ in range(PROCESSES)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            control = Control(os.path.join(folder, "control"))
            for k, s in enumerate(sleepers):
                control.pid(k, s.pid)
            environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/fake", FAKE_NVML_DEVICES=str(GPUS),
                               FAKE_NVML_CONTROL=control.path, FAKE_NVML_NOISE="1")
            out = subprocess.run([f"{build}/bin/bench_monitor_day", folder, str(rounds), "1000"], env=environment,
                                 capture_output=True, text=True, check=True)
            print("  " + out.stdout.strip())
            packed = tail = 0
            for path in glob.glob(f"{folder}/*-*/*.log*"):
                if path.endswith(".gz"):
                    packed += os.path.getsize(path)
                elif not path.endswith(".part"):
                    with open(path, "rb") as f:
                        text = f.read()
                    tail += len(text)
                    packed += len(gzip.compress(text, 6))
            print(f"  log of {rounds} s: {packed / 1e6:.2f} MB with gzip, of a day "
                  f"{packed / 1e6 * 86400 / rounds:.2f} MB ({tail / 1e6:.2f} MB of it are left plain at the end)")
    finally:
        for s in sleepers:
            s.kill()
            s.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--day", type=int, default=0)
    a = parser.parse_args()
    if a.rounds:
        cost(a.build, a.seconds, a.rounds)
    if a.day:
        day(a.build, a.day)
