#!/usr/bin/env python3
"""bench/overhead/run.py without a GPU: its parts on engines, over programs that print what the real ones print.

    test_bench_overhead.py FOLDER_OF_RUN.PY
"""
import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import run  # noqa: E402

SAMPLING = """#!/usr/bin/env python3
import json, os, sys
asked = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rounds, ns = int(asked["--rounds"]), {"bare": 4000, "none": 4200, "trace": 5000, "all": 5400, "counters": 4060,
                                      "between:PcSampling": 4020, "windows": 4704}
assert float(asked["--seconds"]) > 0 and asked["--log"]
assert "windows" not in asked["--states"] or os.environ["GPUFL_PC_WINDOW_EVERY_MS"] == "1500"
print(json.dumps({"launches": 20000, **{state: {
    "rounds": rounds, "ns": [ns[state] + d for d in (-10, 0, 10)] * rounds, "start_ms": [70] * rounds,
    "init_ms": [90] * rounds, "shutdown_ms": [1] * rounds,
    "rss_kib": [1024 * (300 if state == "none" else 100)] * rounds} for state in asked["--states"].split(",")}}))
"""

COUNTING = """#!/usr/bin/env python3
import json, sys
ms = {"bare": 0.04, "cupti": 8, "gpufl": 9.2}[sys.argv[1]]
assert float(dict(zip(sys.argv[2::2], sys.argv[3::2]))["--ms"]) >= 1500
print(json.dumps({"side": sys.argv[1], "launches": 10, "begin_ms": 100, "first_ms": 2 * ms, "end_ms": 1, "counted": 1,
                  "ms": [99 * ms] * 5 + [ms] * 10}))  # the first half second is far off
"""

STEP = """
import json, os, sys
assert sys.argv[1:3] == ["blocks", "--apart"] and sys.argv[4].endswith("libgpufl.so"), sys.argv
rounds, seconds = (int(sys.argv[sys.argv.index(name) + 1]) for name in ("--rounds", "--seconds"))
states = sys.argv[sys.argv.index("--states") + 1].split(",")


def block(state):
    # Rounds of 5 steps of 20 ms, a tenth longer sampled; with windows that come again longer at a window alone.
    if "GPUFL_WINDOW_EVERY_MS" not in os.environ:
        return [20 * (1.1 if state != "bare" else 1)] * 3
    assert seconds * 1000 == int(os.environ["GPUFL_WINDOW_EVERY_MS"])
    before = 10 * (seconds - int(sys.argv[sys.argv.index("--settle") + 1]))
    return [20] * before + [40 if state != "bare" else 20] * 5 + [20] * (10 * seconds - before - 5)
print(json.dumps({"mode": "blocks", "steps": 5, **{state: {
    "ms": [block(state)] * rounds, "rss_mib": [900.0] * rounds,
    "context_ms": [1] * rounds, "first_ms": [1] * rounds} for state in states},
    "over": {f"{states[1]} over {states[0]}": {"begin_ms": [283, 201, 317], "ratio_of_means": [1, 1, 1]}}}))
"""


def prepare(folder):
    (folder / "bin").mkdir()
    for name, text in (("bench_sampling", SAMPLING), ("bench_counting", COUNTING)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "pytorch_step.py").write_text(STEP)
    run.HERE = folder


def measure(folder, *options):
    """The results of the engines' parts, and what was printed."""
    sys.argv[1:] = ["--build", str(folder), "--json", str(folder / "out.json"), "--only",
                    "sampling,pytorch_sampling,pytorch_again,counters,counting,between,windows", *options]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert not run.main(), "a part failed"
    parts = json.loads((folder / "out.json").read_text())
    return {row: value for part in parts if part != "machine" for row, value in parts[part].items()}, shown.getvalue()


def check(rows, shown):
    def near(row, of, figure, met):
        value = rows[row][of][0] if isinstance(rows[row][of], list) else rows[row][of]
        assert abs(value - figure) < 1e-6 * abs(figure), (row, rows[row])
        assert rows[row].get("target", {}).get("met") == met, (row, rows[row])
    near("none over bare, means, ns", "difference", 200, True)
    near("none over bare, medians, ns", "ratio", 1.05, True)
    near("none, start-up in a new process, ms", "ours", 160, True)
    near("none over bare, MiB resident", "ours", 200, True)
    near("all over trace, medians, ns", "ratio", 1.08, True)
    near("counters over bare, means, ns", "ratio", 1.015, False)
    near("between:PcSampling over bare, means, ns", "ratio", 1.005, True)
    near("windows every 1.5 s over none, means, ns", "ratio", 1.12, None)
    near("the same every 30 s, %", "ours", 0.638, True)
    near("PcSampling:none over bare, means, ms a step", "ratio", 1.1, False)
    near("PcSampling:none, context and first step over bare, ms", "ours", 283, True)
    # Five rounds of a block, 10 of them a second, take twice as long.
    every, seconds, lasts = next((f"PcSampling:none, {lasts} s every {seconds} s over bare", seconds, lasts) for seconds, lasts
                                 in ((12, 0.5), (5, 0.3)) if f"PcSampling:none, a window of {lasts} s takes, s" in rows)
    near(f"{every}, means, ms a step", "ratio", 1 + 5 / (10 * seconds), seconds == 12)
    near(f"{every}, medians, ms a step", "ratio", 1, True)
    near(f"PcSampling:none, a window of {lasts} s takes, s", "ours", 0.5, None)
    near("SassMetrics over the API alone, means, ms", "ratio", 1.15, False)
    near("first launch, SassMetrics over the API alone, ms", "difference", 2.4, None)
    near("SassMetrics over bare, medians, ms", "ratio", 230, None)
    low, high = rows["none over bare, means, ns"]["difference"][1:]
    assert low <= 200 <= high and low < high, "no interval"
    for text in ("target <= +300: met", "target <= x1.01: missed", "upper end <= x1.08: missed", "target <= 400: met"):
        assert text in shown, (text, shown)


def check_table(folder):
    """Check the tables of docs/benchmarks.md from the JSON: rows have verdicts, rounds are left out, failures are named."""
    results = json.loads((folder / "out.json").read_text())
    results["machine"] = {"gpu": "NVIDIA H100 80GB HBM3, 580.1", "date": "2026-11-26"}
    results["graph"] = {"graph replay": {"kernels": 7, "ledger": {"kernels_written": 6, "verdict": "incomplete"}}}
    results["scope"] = {"scope on, ns": run.aimed({"ours": 59.04}, "ours", 100), "rounds": [1, 2]}
    results["memory"] = {"error": "exit 1\nmore"}
    (folder / "table.json").write_text(json.dumps(results))
    sys.argv[1:] = ["--table", str(folder / "table.json")]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert not run.main()
    text = shown.getvalue()
    for row in ("| a scope, on | | 59 ns | | ≤ 100 | met | H100 80GB HBM3, 2026-11-26 |",
                "| graph replay at 0.9 million kernels/s | 7 launched | 6 written | | nothing lost | missed: the ledger is incomplete | H100",
                "| memory | | | | | failed: exit 1 | H100", "| ≤ +300 | met |", "| upper end ≤ x1.08 | missed |",
                "| PcSampling without kernel records, empty launch over bare, means | 4000 ns | 4200 ns | +200 [", "## Engines beyond Trace"):
        assert row in text, (row, text)
    made = set(results).union(*(part for part in results.values() if isinstance(part, dict)))
    engines = [name for name in run.table.NAMES if name.startswith(("none", "all", "counters", "between", "PcSampling", "SassM"))]
    assert len(engines) > 10 and not set(engines) - made, f"rows that run.py does not make: {set(engines) - made}"
    widths = {one.count("|") for one in text.splitlines() if one.startswith("|")}
    assert widths == {8}, f"rows of {widths} bars: a table of Markdown is broken"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        for options in ((), ("--quick",)):
            check(*measure(folder, *options))
        check_table(folder)
        (folder / "bin" / "bench_sampling").write_text("#!/bin/sh\necho '{}'\n")  # other output is reported, not skipped
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                measure(folder)
            except AssertionError:
                return
        sys.exit("an output without the states was taken")


main()
