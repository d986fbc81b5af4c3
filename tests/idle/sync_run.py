"""Traces a Python program under engine Sync over the fake libraries with this interpreter, and compares the host's time
by line with the program's own clocks. The report says where the host was, and that the GPU's idle time is not known.

Usage: sync_run.py BUILD"""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import ctypes, json, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
stream = ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
spent = {}

def parse(until):
    while time.perf_counter() < until: pass

def load():
    time.sleep(0.02)

def step():
    assert cuda.cuLaunchKernel(b"_Z4idlePf", 1, 1, 1, 64, 1, 1, 0, stream, None, None) == 0
    assert cuda.cuStreamSynchronize(stream) == 0

def timed(f, *args):
    begin = time.perf_counter()
    f(*args)
    spent[f.__name__] = spent.get(f.__name__, 0) + time.perf_counter() - begin

for _ in range(60):
    timed(parse, time.perf_counter() + 0.03)
    timed(load)
    timed(step)
print(json.dumps(spent))
"""
POINTS = 0.12  # a share of about 300 samples is within 0.06 at 95 %; a busy host adds late samples


def main(build):
    fake, gpufl = os.path.join(build, "fake"), os.path.join(build, "bin", "gpufl")
    env = dict(os.environ, LD_LIBRARY_PATH=fake, GPUFL_CUPTI_PATH=fake, GPUFL_BACKEND="Auto", PYTHONDONTWRITEBYTECODE="1")
    if not 9 <= sys.version_info.minor <= 13:
        print("frames of this Python are not read from another thread")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpufl-sync-") as work:
        program, logs = os.path.join(work, "train.py"), os.path.join(work, "logs")
        with open(program, "w") as file:
            file.write(PROGRAM)
        said = subprocess.run([gpufl, "trace", "-q", "--no-report", "-e", "Sync", "-o", logs, "--", sys.executable, program],
                              env=env, check=True, text=True, stdout=subprocess.PIPE, timeout=200).stdout
        spent = json.loads(said.splitlines()[0])
        report = json.loads(subprocess.run([gpufl, "report", "--json", logs], check=True, text=True, stdout=subprocess.PIPE).stdout)
        text = subprocess.run([gpufl, "report", logs], check=True, text=True, stdout=subprocess.PIPE).stdout
    host = report["host_time"]
    lines, wrong = host["lines"], []
    if host["threads"] != 1 or sum(r["time_ns"] for r in lines) != host["time_ns"]:
        wrong.append(f"{host['threads']} threads, rows of {sum(r['time_ns'] for r in lines)} ns of {host['time_ns']}")
    for function in ("parse", "load"):
        found = sum(r["time_ns"] for r in lines if r["function"] == function) / host["time_ns"]
        share = spent[function] * 1e9 / host["time_ns"]
        print(f"{function}: {found:.3f} by samples, {share:.3f} by the program's clock")
        if abs(found - share) > POINTS:
            wrong.append(f"{function}: {found:.3f}, by the program's clock {share:.3f}")
    states = {r["function"]: r["state"] for r in sorted(lines, key=lambda r: r["estimated_ns"])}
    asleep = [r["syscall"] for r in lines if r["function"] == "load" and r["state"] == "blocked"]
    if states.get("load") != "blocked" or asleep != ["sleep"]:
        wrong.append(f"load: {states.get('load')}, {asleep}")
    waits = [r for r in lines if r["state"] == "gpu_wait"]
    if [r["function"] for r in waits] != ["step"] or not 0 < waits[0]["exact_ns"] <= spent["step"] * 1e9:
        wrong.append(f"waits: {waits}")
    top = max(("parse", "load"), key=spent.get)
    if report["idle"]["idle_ns"] is not None or report["answer"]["cause"] != "unknown":
        wrong.append(f"idle {report['idle']['idle_ns']}, cause {report['answer']['cause']}")
    if f"in {top}()" not in report["answer"]["statement"]:
        wrong.append(report["answer"]["statement"])
    if not re.search(r"^Where the host's time went$", text, re.M) or "--section host_time" not in text:
        wrong.append(text)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
