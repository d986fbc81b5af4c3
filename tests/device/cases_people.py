"""Planted faults are found; unprivileged users; programs that Monitor must not change."""
import json
import os
import shutil
import subprocess
import sys
import time

from cases_frameworks import TORCH
from lab import HERE, Skipped, case, expect, ledger_closes


@case
def planted_faults_are_found_and_nothing_else(lab):
    """Runs tests/planted: programs x rules, every finding at its line."""
    done = subprocess.run([sys.executable, HERE.parent / "planted/run.py", "--build", lab.bin.parent],
                          capture_output=True, text=True)
    print(done.stdout, end="", flush=True)
    expect(done.returncode == 0, done.stderr[-1500:] or "see above")


@case
def an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    out, _, report = lab.trace(lab.programs, "threads", 2, 1000,
                               prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    ledger_closes(report, json.loads(out)["kernels"])


@case
def lines_of_a_blocked_c_program(lab):
    """Without Python, the lines of idle time are those in which the thread was blocked, and else the launch's."""
    out, _, report = lab.trace(lab.programs, "blocked", 400, options=("--option", "host_samples_hz=200"))
    said, idle = json.loads(out), report["idle"]
    ledger_closes(report, said.pop("kernels"))
    lines, total = idle["lines"], sum(said.values())
    for function, truth in said.items():
        rows = [r for r in lines if (r["ended_by"] and "step" in r["function"] if function == "compute" else
                                     function in (r["function"] or ""))]
        found = sum(r["idle_ns"] for r in rows) / 1e9 / total
        print(f"      {function}: {found:.3f} of the loop, by the program's clock {truth / total:.3f}", flush=True)
        expect(abs(found - truth / total) < 0.06, f"{function}: {found:.3f}, {truth / total:.3f}: {lines}")
    expect("load_batch" in report["answer"]["statement"], report["answer"]["statement"])
    ledger, duration = report["ledger"], report["session"]["duration_ns"]
    print(f"      sampler: {100 * ledger['cost_host_samples'] / duration:.2f} % of a core, {ledger['host_samples']} samples")


@case
def monitor_never_loads_cupti(lab):
    program = """
import torch, time
x = torch.randn(2048, 2048, device="cuda")
end = time.time() + 1.5
while time.time() < end:
    x = torch.relu(x @ x) * 1e-3
    torch.cuda.synchronize()
maps = open("/proc/self/maps").read()
print("libnvidia-ml" in maps)
"""
    out, _, report = lab.trace("python3", "-c", program, options=("--engine", "Monitor"))
    bare = subprocess.run([lab.gpufl, "trace", "--engine", "Monitor", "-o", lab.work / "m", "--no-report", "--",
                           lab.bin / "train_loop", "--steps", "1"], capture_output=True)
    expect(bare.returncode == 0, "train_loop failed under Monitor")
    expect("True" in out, "NVML is not loaded")
    busiest = max(d["metrics"]["gpu_util"]["max"] for d in report["devices"])  # all GPUs of the machine are watched
    expect(busiest > 0, f"no utilisation: {report['devices']}")
    expect(report["ledger"]["kernels_written"] is None, "kernels under Monitor")


@case
def duration_ends_the_capture_not_the_program(lab):
    begin = time.monotonic()
    program = TORCH + "import time\ntime.sleep(4)\nprint('done')"
    out, err, report = lab.trace("python3", "-c", program, options=("--duration", "3s"))
    expect("done" in out, "the program did not run to its end")
    expect(report is not None, f"no report: {err}")
