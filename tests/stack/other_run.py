"""Runs the programs other_*.py with every interpreter that is found and whose other threads can be read.

Usage: other_run.py edges|hostile|refused|collect library.so SAMPLES (collect: seconds)"""
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
sys.dont_write_bytecode = True
import run  # noqa: E402

NEWEST = 14  # the last version whose other threads are read
RESULTS = ["whole", "no_innermost", "outer", "torn", "gone", "no_memory"]
# System calls that are refused, and the way of copying at the end.
REFUSED = [("", "memfd"), ("m", "pipe"), ("w", "pipe"), ("f", "pipe"), ("mp", "process_vm_readv"), ("mpr", "refused"),
           ("+w", "pipe"), ("+f", "pipe"), ("+wp", "process_vm_readv")]
# The share of samples with a stack; while greenlets are exchanged there is no frame for a moment.
CHECKED_LEAST = {"real": 0.9, "flutter": 0.9, "switches": 0.25}
# The share of stacks with impossible edges: measured are 0 of 500 000 for a real program, and at most 0.06 % for
# flutter, whose two leaves alternate as fast as they can (bench/results/2026-11-29-torn-stacks.md). Before 3.11 the
# target is 0.3 %.
IMPOSSIBLE_MOST = {"real": 0.00003, "flutter": 0.001, "switches": 0.001}
HEADLESS_MOST = 0.00003
# 3.9 allocates frames one by one. In about one run of five the deep ones of this program get other addresses each time,
# and a sample then takes a system call a frame, 1.2 ms instead of 0.02: so the time is bounded as well.
HOSTILE_SECONDS, HOSTILE_LEAST = 300, 10000
PATIENCE, PATIENCE_EACH = 900, 0.001  # s, and for each sample: a busy machine takes about 0.1 ms for one
OFF_MOST = 0.05       # by how much the samples' share in the collector may differ from the interpreter's
STRAY_MOST = 0.002    # share of marked samples of threads that do not collect; a first sample can be one
# The share of stacks that are whole, or lack only the innermost frame; a quiet machine has 0.998 and more (ADR 28). A
# thread that switches greenlets about once a microsecond has another stack in the next copy: measured are 0.94 to 0.96.
KEPT_LEAST = {"real": 0.95, "flutter": 0.95, "switches": 0.88}
TORN_MOST = {"real": 0.01, "flutter": 0.01, "switches": 0.12}


def program(path, name, *arguments):
    env = dict(os.environ, PYTHONWARNINGS="ignore", PYTHONDONTWRITEBYTECODE="1")
    if os.environ.get("GPUFL_PRELOAD"):  # a sanitizer's library must come first in a foreign program
        env["LD_PRELOAD"] = os.environ["GPUFL_PRELOAD"]
    patience = PATIENCE + PATIENCE_EACH * max(a for a in arguments if not isinstance(a, str))
    done = subprocess.run([path, os.path.join(HERE, name), sys.argv[2]] + [str(a) for a in arguments], env=env,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience)
    try:
        return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else "status %d\n%s" % (
            done.returncode, (done.stdout + done.stderr)[-4000:])
    except (ValueError, IndexError):
        return done.stdout[-2000:] + done.stderr[-2000:]


def few(count, got, most):
    expected = most * got["checked"]  # a small number may be larger by chance: four standard deviations
    return count <= expected + 4 * math.sqrt(expected)


def few_impossible(got, most):
    """Checks both shares. The outermost frame never changes: it is missing only if a chain was followed wrongly."""
    return few(got["impossible"], got, most) and few(got["headless"], got, HEADLESS_MOST)


def judge_edges(minor, work, got, samples):
    if work == "switches" and "checked" not in got:
        print("  switches: this interpreter has no greenlet")
        return None
    if isinstance(got, str) or got["checked"] < samples * CHECKED_LEAST[work]:
        return got
    most = max(IMPOSSIBLE_MOST[work], 0.003 if minor < 11 else 0)
    kept = (got["results"]["whole"] + got["results"]["no_innermost"]) / sum(got["results"].values())
    print("  %s: %d stacks, %d impossible, %s" % (work, got["checked"], got["impossible"], got["results"]))
    good = few_impossible(got, most) and kept >= KEPT_LEAST[work]
    return None if good and got["results"]["torn"] <= TORN_MOST[work] * samples else got


def edges(path, minor, samples):
    return [judge_edges(minor, w, program(path, "other_edges.py", w, samples), samples)
            for w in ("real", "flutter", "switches")]


def hostile(path, minor, samples):
    got = program(path, "other_hostile.py", samples, HOSTILE_SECONDS)
    if isinstance(got, str):
        return [got]
    print("  %d samples in %s s: %s" % (got["samples"], got["seconds"], got["results"]))
    good = got["main"] == 1 and got["slot"] >= 0 and got["how"] == ["memfd"] * 2 and not got["wrong"]
    return [None if good and got["results"]["whole"] and got["samples"] >= HOSTILE_LEAST else got]


def refused(path, minor, samples):
    bad = []
    for what, how in REFUSED:
        got = program(path, "other_edges.py", "real", samples, what)
        good = not isinstance(got, str) and got["how"] == how and few_impossible(got, IMPOSSIBLE_MOST["real"])
        if good and how != "refused":
            good = got["checked"] > samples * 0.9
        bad.append(None if good else (what, got))
    print("  %d ways of refusing" % len(REFUSED))
    return bad


def share(got, function):
    all_samples, marked = got["functions"].get(function, [0, 0])
    print("  %s: %d samples, %d in the collector" % (function, all_samples, marked))
    return all_samples, marked


def collect(path, minor, seconds):
    """Checks that the thread that collects has the mark while it does, and no other thread."""
    got = program(path, "other_collect.py", seconds)
    if isinstance(got, str):
        return [got]
    bad = got["astray"]
    for function, inside in ("collects", got["inside"]), ("finalizes", 1):
        samples, marked = share(got, function)
        bad += samples < 20 or abs(marked - inside * samples) > OFF_MOST * samples
    samples, marked = share(got, "allocates")
    bad += samples < 20 or not 0 < marked < samples  # it collects from time to time
    for function in ("computes", "hashes", "competes"):
        samples, marked = share(got, function)
        bad += samples < 20 or marked > STRAY_MOST * samples
    return [got if bad else None]


def main():
    kind, samples = sys.argv[1], float(sys.argv[3]) if sys.argv[1] == "collect" else int(sys.argv[3])
    failed, tested = 0, []
    for path, about in run.interpreters():
        minor = about[0][1]
        if run.expected_off(about) or minor > NEWEST:
            continue
        print(about[1])
        for wrong in {"edges": edges, "hostile": hostile, "refused": refused, "collect": collect}[kind](path, minor, samples):
            if wrong is not None:
                failed += 1
                print("FAILED %s\n%s" % (path, wrong))
        tested.append(about[1])
        sys.stdout.flush()
    print("tested: %s" % ", ".join(tested))
    return 0 if tested and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
