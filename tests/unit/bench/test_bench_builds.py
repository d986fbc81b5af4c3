#!/usr/bin/env python3
"""bench/builds.py: each benchmark runs and prints its figures, and the interval of a ratio is right.

    test_bench_builds.py BENCH BUILD
"""
import contextlib
import io
import math
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
bench, build = (pathlib.Path(word) for word in sys.argv[1:])
sys.path.insert(0, str(bench))
import builds  # noqa: E402


def check_ratio():
    assert builds.ratio([2, 2, 2], [3, 3, 3]) == (1.5, 1.5, 1.5)
    mean, low, high = builds.ratio([1, 1], [1, math.e])  # logs 0 and 1: 0.5 +- 12.71 / 2
    assert abs(math.log(mean) - 0.5) < 1e-9 and abs(math.log(high) - 6.855) < 1e-3 and abs(math.log(low) + 5.855) < 1e-3
    assert builds.ratio([4], [2]) == (0.5, 0.0, math.inf)


def check_failures():
    with tempfile.TemporaryDirectory() as folder:
        wrong = pathlib.Path(folder, "bin")
        wrong.mkdir()
        (wrong / "bench_wire").write_text("#!/bin/sh\necho no room >&2; exit 3\n")
        (wrong / "bench_wire").chmod(0o755)
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                builds.wire(builds.Runner(folder, pathlib.Path(folder, "work")), True)
            except SystemExit as end:
                assert "ended with 3: no room" in str(end.code), end.code
                return
    sys.exit("a benchmark that failed was taken")


def check_each():
    """All of them, once: a benchmark whose calls have changed ends with an error."""
    done = subprocess.run([sys.executable, str(bench / "builds.py"), str(build), str(build), "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.endswith("| = |")]
    assert len(rows) == 29, done.stdout
    print(f"{len(builds.BENCHMARKS)} benchmarks with {len(rows)} figures ran")


check_ratio()
check_failures()
check_each()
