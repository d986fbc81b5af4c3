#!/usr/bin/env python3
"""Measures what the live view of gpufl monitor costs, over the fake management library and in tmux: no GPU.

Usage: bench/monitor/view.py BUILD [--seconds 30]

8 GPUs, 64 processes, a terminal of 200 x 50, a look a second at values that move at random. CPU time is that of
/proc/PID/schedstat of the view alone, without the monitor that it starts. The writes are counted by strace in another run.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "e2e"))
from nvml_control import Control  # noqa: E402


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=30)
    a = parser.parse_args()
    build = os.path.abspath(a.build)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "run"))
        control = Control(os.path.join(folder, "control"))
        sleepers = [subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) for _ in range(64)]
        for k, p in enumerate(sleepers):
            control.pid(k, p.pid)
        environment = dict(os.environ, LC_ALL="C.UTF-8", LD_LIBRARY_PATH=os.path.join(build, "fake"), FAKE_NVML_DEVICES="8",
                           FAKE_NVML_NOISE="1", FAKE_NVML_CONTROL=control.path, XDG_RUNTIME_DIR=os.path.join(folder, "run"))
        view = f"{build}/bin/gpufl monitor -i 1s"

        def run(command, what):
            tmux = ["tmux", "-S", os.path.join(folder, "tmux"), "-f", "/dev/null"]
            subprocess.run([*tmux, "-u", "new-session", "-d", "-x", "200", "-y", "50", "exec " + command], env=environment,
                           check=True)
            time.sleep(5)  # the first frames cost more
            pid = subprocess.run([*tmux, "display-message", "-p", "#{pane_pid}"], capture_output=True, text=True, check=True)
            got = what(pid.stdout.strip())
            subprocess.run([*tmux, "kill-server"], check=True)
            return got

        def cpu(pid):
            def now():
                with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
                    return int(f.read().split()[0])
            begun = now()
            time.sleep(a.seconds)
            took = now() - begun
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                return took, re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)

        ns, kib = run(view, cpu)
        print(f"view: {ns / a.seconds / 1e6:.2f} ms of CPU time a second, RSS {kib} KiB")
        if shutil.which("strace"):
            trace = os.path.join(folder, "trace")
            run(f"strace -o {trace} -e trace=write,connect {view}", lambda _: time.sleep(10))
            with open(trace, encoding="utf-8", errors="replace") as f:
                lines = [x for x in f if x.startswith("write(1,") or "live" in x]
            looks = [i for i, x in enumerate(lines) if "live" in x][4:]
            writes = [int(x.rsplit("= ", 1)[1]) for x in lines[looks[0]:looks[-1]] if x.startswith("write")]
            print(f"a frame: {len(writes) / (len(looks) - 1):.2f} writes, {sum(writes) / len(writes):.0f} bytes")
        for p in sleepers:
            p.kill()
            p.wait()


main()
