"""Programs that nobody of us wrote and that use CUPTI themselves, or use it the most: CUPTI's own samples and
numba's suite give the same results traced as alone."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lab import Failed, Skipped, case, expect


ENGINES = ["Monitor", "Sync", "Trace", "PcSampling", "PmSampling", "RangeProfiler", "SassMetrics", "Deep"]
WAYS = [["--engine", engine] for engine in ENGINES] + [["--yield-cupti"], ["--engine", "Monitor", "-s", "1ms"]]
TIMEOUT = 60  # seconds; the longest sample takes 7


def samples_built(work):
    """CUPTI's samples, built in a copy; the programs among them."""
    toolkits = sorted(pathlib.Path("/usr/local").glob("cuda*/extras/CUPTI/samples"))
    if not toolkits or not shutil.which("make"):
        raise Skipped("the CUDA toolkit's CUPTI samples are not here")
    home = toolkits[-1].parents[2]
    top = work / "samples"
    shutil.copytree(toolkits[-1], top)
    make = ["make", f"CUDA_INSTALL_PATH={home}"]
    for folder in ("extensions/src/profilerhost_util", "extensions/src/pc_sampling_util"):
        if (top / folder).is_dir():
            subprocess.run(make, cwd=top / folder, capture_output=True)
    builds = [subprocess.Popen(make, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for folder in sorted(top.iterdir()) if folder.is_dir() and folder.name not in ("extensions", "common")]
    for build in builds:
        build.wait()
    os.environ["LD_LIBRARY_PATH"] = f"{home}/lib64:{home}/extras/CUPTI/lib64:" + os.environ.get("LD_LIBRARY_PATH", "")
    found = [f for f in sorted(top.glob("*/*")) if f.is_file() and os.access(f, os.X_OK) and ".so" not in f.name
             and f.open("rb").read(4) == b"\x7fELF"]
    expect(len(found) >= 10, f"only {len(found)} samples were built")
    return found


def run(command, cwd, env):
    """Exit code and lines of a program; a program that stands still is code 'hangs'."""
    process = subprocess.Popen(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
                               env={**os.environ, **env})
    try:
        out = process.communicate(timeout=TIMEOUT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "hangs", []
    return process.returncode, out.splitlines()


TIME = re.compile(r"\d+(\.\d+)? ?(ns|us|ms|s|sec|seconds)\b")
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(\.\d+)?")


def forms_of(lines):
    """The lines in any order, '#' for each number."""
    return sorted(NUMBER.sub("#", line) for line in lines)


def differences(bare, lines):
    """What a run has that the runs alone have not, but for times; "": nothing. A program whose runs alone have
    other lines each time (one that samples) is compared by its exit code only."""
    bare, lines = [[TIME.sub("#", l) for l in run] for run in bare], [TIME.sub("#", l) for l in lines]
    form = forms_of(bare[0])
    if any(forms_of(run) != form for run in bare):
        return ""
    got = forms_of(lines)
    if got != form:
        missing, more = [l for l in form if l not in got][:3], [l for l in got if l not in form][:3]
        return f"other lines: without {missing}, with {more}"
    lost = sorted(set.intersection(*map(set, bare)) - set(lines))
    return f"values that were the same in each run alone are not: {lost[:4]}" if lost else ""


@case
def samples_of_cupti(lab):
    """Same exit code, same output but for times and addresses, under every engine and yielding."""
    wrong, table = [], []
    for sample in samples_built(lab.work):
        # It ends with an error where nobody injects CUPTI into NVTX; cupti_nvtx does not ask.
        env = {"NVTX_INJECTION64_PATH": "libcupti.so.13"} if sample.name == "cupti_nvtx_ext_payload" else {}
        bare = [run([f"./{sample.name}"], sample.parent, env) for _ in range(3)]
        codes = {code for code, _ in bare}
        if len(codes) > 1:
            print(f"      {sample.name}: alone it ends with {sorted(map(str, codes))}: not compared", flush=True)
            continue
        row = []
        for way in WAYS:
            out = lab.work / "out"
            shutil.rmtree(out, ignore_errors=True)
            code, lines = run([lab.gpufl, "trace", "-q", "--no-report", "-o", out, *way, "--", f"./{sample.name}"],
                              sample.parent, env)
            problem = f"exit {code}, alone {bare[0][0]}" if code != bare[0][0] else \
                differences([lines for _, lines in bare], lines)
            if problem:
                wrong.append(f"{sample.name} {' '.join(way)}: {problem}")
            row.append("differs" if problem else "same")
        table.append((sample.name, bare[0][0], row))
    for name, code, row in table:
        print(f"      {name}: alone {code}; {', '.join(row)}", flush=True)
    expect(not wrong, f"{len(wrong)} differ: " + " | ".join(wrong)[:3000])


# ---- numba's own suite ----

NUMBA = """
import numpy, sys
numpy.row_stack = numpy.vstack  # numpy 2.5 has given the name up, and this numba asks for it
from numba.testing._runtests import _main
sys.exit(_main(['numba.runtests', '-v', 'numba.cuda.tests.cudapy']))
"""


def suite(lab, prefix, env):
    done = subprocess.run([*map(str, prefix), sys.executable, "-c", NUMBA], cwd=lab.work, capture_output=True, text=True,
                          env={**os.environ, **env}, timeout=1200, errors="replace")
    results = dict(re.findall(r"^(test_\S+ \(\S+\)).* \.\.\. (ok|FAIL|ERROR|skipped|expected failure)", done.stderr,
                              re.M))
    return done.returncode, results, done.stderr


@case
def numba_suite(lab):
    """The same result for each of its tests, alone and traced."""
    (lab.work / "filecheck").mkdir()
    (lab.work / "filecheck" / "__init__.py").write_text("")  # a module that the suite imports and this machine lacks
    for name in ("matcher", "options", "parser", "finput"):
        (lab.work / "filecheck" / f"{name}.py").write_text(
            "class Matcher:\n    pass\nclass Options:\n    pass\nclass Parser:\n    pass\nclass FInput:\n    pass\n")
    env = {"PYTHONPATH": f"{lab.work}:{os.environ.get('PYTHONPATH', '')}"}
    code, alone, text = suite(lab, [], env)
    if len(alone) < 500:
        raise Skipped(f"the suite does not run here: {len(alone)} results, {text[-300:]}")
    out = lab.work / "out"
    again, traced, text = suite(lab, [lab.gpufl, "trace", "-q", "--no-report", "-o", out, "--"], env)
    print(f"      {len(alone)} tests alone (exit {code}), {len(traced)} traced (exit {again})", flush=True)
    differ = [f"{t}: {alone.get(t)} alone, {traced.get(t)} traced" for t in sorted({*alone, *traced})
              if alone.get(t) != traced.get(t)]
    expect(code == again and not differ, f"{len(differ)} tests: {differ[:10]}")
