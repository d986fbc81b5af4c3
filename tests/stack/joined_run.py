"""Runs joined.py with every interpreter that is found and can be read.

Usage: joined_run.py library.so"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
sys.dont_write_bytecode = True
import run  # noqa: E402


def main():
    env = dict(os.environ)
    if os.environ.get("GPUFL_PRELOAD"):  # a sanitizer's library must come first in a foreign program
        env["LD_PRELOAD"] = os.environ["GPUFL_PRELOAD"]
    good = bad = 0
    for path, about in run.interpreters():
        if run.expected_off(about):
            continue
        done = subprocess.run([path, os.path.join(HERE, "joined.py"), sys.argv[1]], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        ok = done.returncode == 0 and "joined CPython" in done.stdout
        good, bad = good + ok, bad + (not ok)
        print("%s: %s" % (about[1], done.stdout.splitlines()[-1]) if ok else
              "FAILED %s (%d)\n%s" % (path, done.returncode, done.stdout[-4000:]))
    print("%d interpreters, %d failed" % (good + bad, bad))
    return 0 if good and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
