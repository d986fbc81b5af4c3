#!/usr/bin/env python3
"""Measures what may be called while cuInit runs, and from which thread: the driver alone, without gpufl's library.

    bench/overhead/cuinit/run.py [--runs N] [--jobs J] [--program FILE] [CASE...]      24 runs of each case, one at a time

The driver loads inject.c inside cuInit and calls its InitializeInjection. program.c needs libcupti, as a program does
that is built with it; --program takes another one, which ends by itself (CUPTI's sample callback_profiling). A run that has not ended after 15 s counts as stuck. Prints a line for each case: how many runs
ended, were stuck or failed, and the time of cuInit. docs/robustness.md has the conclusions. Needs a GPU, cc and CUDA's toolkit.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 15  # seconds
CASES = {
    "nothing": "InitializeInjection does nothing",
    "refused": "InitializeInjection returns 0",
    "nvml-here": "first nvmlInit on the thread inside cuInit",
    "nvml-thread": "first nvmlInit on another thread",
    "driver-thread": "calls of the driver on another thread",
    "fork-thread": "fork on another thread",
}


def build(work):
    found = sorted(pathlib.Path("/usr/local").glob("cuda*/targets/*/lib/libcupti.so")) + \
        sorted(pathlib.Path("/usr/local").glob("cuda*/extras/CUPTI/lib64/libcupti.so"))
    if not found:
        sys.exit("no libcupti below /usr/local: install the CUDA toolkit")
    cupti = found[-1].parent
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", HERE / "inject.c", "-o", work / "inject.so", "-ldl", "-lpthread"], check=True)
    subprocess.run(["cc", "-O1", HERE / "program.c", "-o", work / "program", f"-L{cupti}",
                    "-Wl,--no-as-needed", "-lcupti", "-l:libcuda.so.1", f"-Wl,-rpath,{cupti}"], check=True)


def once(program, work, case):
    """Returns how a run ended, the time of cuInit in ms or None, and its other lines."""
    env = {**os.environ, "CUDA_INJECTION64_PATH": str(work / "inject.so"), "CUINIT_CASE": case}
    process = subprocess.Popen([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        out = process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return "stands still", None, process.communicate()[0]
    took = re.search(r"^cuInit (\d+) ([\d.]+)$", out, re.MULTILINE)
    if process.returncode:
        return f"exit {process.returncode}", None, out
    return "ended", float(took[2]) if took else None, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; cuInit then takes longer")
    parser.add_argument("--program", help="what runs instead of program.c")
    parser.add_argument("case", nargs="*", metavar="CASE", help=", ".join(CASES))
    args = parser.parse_args()
    unknown = [case for case in args.case if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}: there are {', '.join(CASES)}")
    with tempfile.TemporaryDirectory(prefix="gpufl-bench-") as folder:
        work = pathlib.Path(folder)
        build(work)
        for case in args.case or CASES:
            ends, times, said = collections.Counter(), [], collections.Counter()
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                results = list(pool.map(lambda _: once(args.program or work / "program", work, case), range(args.runs)))
            for end, ms, out in results:
                ends[end] += 1
                times += [ms] if ms is not None else []
                said.update(line for line in out.splitlines() if line.startswith(("nvmlInit", "cuD", "cuC")))
            time = f"cuInit {statistics.median(times):.1f} ms" if times else "no time of cuInit"
            print(f"{CASES[case]}: {dict(ends)}; {time}; {dict(said)}", flush=True)


if __name__ == "__main__":
    main()
