#!/usr/bin/env python3
"""Instructions that the library runs at a launch, on the program's own thread: no GPU needed.

    bench/overhead/instructions.py [--build DIR] [--against DIR] [--json FILE]

The program's launches go through the fake driver and profiling library of tests/fake; valgrind's callgrind
counts what runs in the library's callback, in two runs of N and 2 N launches, whose difference is exact also on a busy
machine. A launch causes two callbacks. The work of the real CUPTI before and after is not included. --against: another
build of the library, counted with the programs of --build; a state whose option that build does not know has no number.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LAUNCHES = 4000
PATIENCE = 120  # seconds of a run

# For each state: the program, options of gpufl trace, whether stacks are captured at some launches. Under valgrind a
# launch takes so long that about 2 % of the launches are captured, far more than without it.
STATES = {
    "Trace": ("fake_program", [], False),
    "Trace, stacks at some": ("fake_program", [], True),
    "Trace, stacks at launches": ("fake_program", ["--stacks=launch"], False),
    "Sync": ("fake_program", ["-e", "Sync"], False),
    "Sync, to be woken": ("fake_program", ["-e", "Sync", "--option", "remote_control=true"], False),
    "PcSampling": ("fake_program", ["-e", "PcSampling"], False),
    "SassMetrics": ("fake_program", ["-e", "SassMetrics"], False),
    "in a scope, Trace": ("fake_linked", [], False),
}


def counted(build, programs, program, options, idle, launches):
    """The instructions in the callback of build's library, and the number of launches that the program reports; None if
    the build does not know one of the options."""
    fake = programs / "fake"
    with tempfile.TemporaryDirectory(prefix="gpufl-bench-") as work:
        counts = pathlib.Path(work) / "counts"
        command = [build / "bin/gpufl", "trace", "--no-report", "-o", work + "/log", *options, "--",
                   "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}",
                   fake / program, str(launches)]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, "LD_LIBRARY_PATH": f"{fake}:{build / 'lib'}", "GPUFL_CUPTI_PATH": str(fake),
                                   "GPUFL_IDLE_STACKS": "true" if idle else "false", "FAKE_DEVICE": f"{os.getpid():08x}", "GPUFL_BACKEND": "Auto", "FAKE_CUPTI": ""})
        if done.returncode == 2 and "there is no option" in done.stderr:
            return None
        if done.returncode:
            raise RuntimeError(f"{program}: exit {done.returncode}\n{done.stderr[-2000:]}")
        listed = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", counts], check=True,
                                capture_output=True, text=True, timeout=PATIENCE).stdout
    found = re.search(rf"^\s*([\d,]+) .*:on_callback \[{re.escape(str(build))}/lib/libgpufl", listed, re.MULTILINE)
    if not found:
        raise RuntimeError(f"{program} {' '.join(options)}: no callback was counted")
    return int(found[1].replace(",", "")), json.loads(done.stdout.splitlines()[-1])["launches"]


def per_launch(build, programs, program, options, idle):
    few, many = (counted(build, programs, program, options, idle, n) for n in (LAUNCHES, 2 * LAUNCHES))
    if few is None:
        return None
    return (many[0] - few[0]) / (many[1] - few[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--against")
    parser.add_argument("--json")
    args = parser.parse_args()
    builds = [pathlib.Path(b).resolve() for b in (args.build, args.against) if b]
    rows = {state: [per_launch(b, builds[0], *what) for b in builds] for state, what in STATES.items()}
    for state, values in rows.items():
        print(f"{state:28}" + "".join(f"{'-':>10}" if v is None else f"{v:10.1f}" for v in values), "instructions a launch")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
