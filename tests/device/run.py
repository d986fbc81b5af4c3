#!/usr/bin/env python3
"""Tests on a machine with a GPU: real programs under `gpufl trace`, with the session
compared with the program's own account.

    tests/device/run.py [--build DIR] [--only NAME,...] [--keep DIR]

Each case is a function; it returns nothing, raises Failed, or raises Skipped.
Closes with "N passed, N failed, N skipped". Exit 1 when one failed.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# Cases run in this order.
import cases_trace  # noqa: F401
import cases_context  # noqa: F401
import cases_frameworks  # noqa: F401
import cases_engines  # noqa: F401
import cases_counters  # noqa: F401
import cases_faults  # noqa: F401
import cases_passes  # noqa: F401
import cases_people  # noqa: F401
import cases_odd  # noqa: F401
import cases_situations  # noqa: F401
import cases_cupti  # noqa: F401
from lab import HERE, Lab, Skipped, cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the sessions of failed cases here")
    args = parser.parse_args()
    chosen = [c for c in cases if not args.only or c.__name__ in args.only.split(",")]
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode if shutil.which("nvidia-smi") else True:
        print(f"no NVIDIA GPU on this machine\n0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    passed = failed = skipped = 0
    for c in chosen:
        work = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-device-"))
        begin = time.monotonic()
        try:
            c(Lab(args.build.resolve(), work))
            passed += 1
            print(f"ok    {c.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as reason:
            skipped += 1
            print(f"skip  {c.__name__}: {reason}", flush=True)
        except Exception as error:  # an error in a case is a failed case
            failed += 1
            print(f"FAIL  {c.__name__}: {type(error).__name__}: {error}", flush=True)
            if args.keep:
                shutil.copytree(work, args.keep / c.__name__, dirs_exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
