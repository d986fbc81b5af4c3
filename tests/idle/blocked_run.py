"""Traces a C program over the fake libraries, and compares the GPU's idle time by line with the program's own clocks.
While a thread without Python is blocked, its native frames are read; while it computes, only the launch that ended the
idle time is known.

Usage: blocked_run.py BUILD"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BLOCKED = {"load_batch": "sleep", "wait_for_input": "read"}
POINTS = 0.08  # of the idle time; a share of 600 samples is within 0.04 at 95 %, and a busy host adds late samples
STEPS = 200
# Without randomized addresses, the first thread's stack ends at the highest address of a process.
WAYS = {"usual addresses": [], "fixed addresses": ["setarch", "-R"]}


def works(prefix):
    return not prefix or shutil.which(prefix[0]) is not None and subprocess.run([*prefix, "true"], check=False).returncode == 0


def main(build):
    return any([judge(build, name, prefix) for name, prefix in WAYS.items() if works(prefix)])


def judge(build, name, prefix):
    fake, gpufl = os.path.join(build, "fake"), os.path.join(build, "bin", "gpufl")
    env = dict(os.environ, LD_LIBRARY_PATH=fake, GPUFL_CUPTI_PATH=fake, GPUFL_BACKEND="Auto", GPUFL_HOST_SAMPLES_HZ="200")
    with tempfile.TemporaryDirectory(prefix="gpufl-blocked-") as logs:
        said = subprocess.run([*prefix, gpufl, "trace", "-q", "--no-report", "-o", logs, "--", os.path.join(fake, "idle_blocked"), str(STEPS)],
                              env=env, check=True, text=True, stdout=subprocess.PIPE, timeout=200).stdout
        spent = json.loads(said.splitlines()[0])
        report = json.loads(subprocess.run([gpufl, "report", "--json", logs], check=True, text=True, stdout=subprocess.PIPE).stdout)
        text = subprocess.run([gpufl, "report", logs], check=True, text=True, stdout=subprocess.PIPE).stdout
    idle, wrong = report["idle"], []
    print(f"{name}:")
    lines, total = idle["lines"], sum(spent.values())
    for function, call in BLOCKED.items():
        rows = [r for r in lines if r["function"] == function]
        found, share = sum(r["idle_ns"] for r in rows) / idle["idle_ns"], spent[function] / total
        print(f"{function}: {found:.3f} by samples, {share:.3f} by the program's clock")
        if abs(found - share) > POINTS:
            wrong.append(f"{function}: {found:.3f}, by the program's clock {share:.3f}")
        if not rows or rows[0]["state"] != "blocked" or rows[0]["syscall"] != call or rows[0]["ended_by"]:
            wrong.append(f"{function}: {rows}")
    rest = sum(r["idle_ns"] for r in lines if r["function"] == "step" and r["ended_by"]) / idle["idle_ns"]
    print(f"the launch that ended the time: {rest:.3f}, compute: {spent['compute'] / total:.3f}")
    if abs(rest - spent["compute"] / total) > POINTS:
        wrong.append(f"ended by step: {rest:.3f}")
    if "load_batch()" not in report["answer"]["statement"]:
        wrong.append(report["answer"]["statement"])
    if wrong:
        print("\n".join(map(str, wrong)), text, json.dumps(lines, indent=1), sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
