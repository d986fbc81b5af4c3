"""Programs of others that use CUPTI themselves, or need most of it: CUPTI's own samples and
numba's suite give the same results traced as alone."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lab import Skipped, case, expect
from output import differences, printed_by, unlike


ENGINES = ["Monitor", "Sync", "Trace", "PcSampling", "PmSampling", "RangeProfiler", "SassMetrics", "Deep"]
WAYS = [["--engine", engine] for engine in ENGINES] + [["--yield-cupti"], ["--engine", "Monitor", "-s", "1ms"]]
TIMEOUT = 60  # seconds; the longest sample takes 7 alone
SLOW = 240    # under SassMetrics, with which kernels take many times as long: complex_target takes 90 on an H100


def samples_built(work):
    """Builds CUPTI's samples in a copy: the programs among them."""
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


def run(command, cwd, env, timeout=TIMEOUT, stderr=subprocess.DEVNULL):
    """The exit code and lines of a program; the code is 'hangs' if the program does not end in time. stderr: where it
    goes."""
    process = subprocess.Popen(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=stderr, text=True, errors="replace", start_new_session=True,
                               env={**os.environ, **env})
    try:
        out = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "hangs", []
    return process.returncode, out.splitlines()


@case
def samples_of_cupti(lab):
    """Exit code and output are the same, except for times and addresses, under every engine and with --yield-cupti."""
    wrong = []
    # Samples that take the longest come last.
    for sample in sorted(samples_built(lab.work), key=lambda f: f.name == "complex_target"):
        # This sample ends with an error if nobody injects CUPTI into NVTX; cupti_nvtx does not ask for that.
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
                              sample.parent, env, SLOW if "SassMetrics" in way else TIMEOUT)
            problem = f"exit {code}, alone {bare[0][0]}, after: {' | '.join(lines[-4:])}" if code != bare[0][0] else \
                differences([lines for _, lines in bare], lines)
            if problem:
                wrong.append(f"{sample.name} {' '.join(way)}: {problem}")
                print(f"      {wrong[-1]}", flush=True)
            row.append("differs" if problem else "same")
        print(f"      {sample.name}: alone {bare[0][0]}; {', '.join(row)}", flush=True)
    expect(not wrong, f"{len(wrong)} differ: " + " | ".join(wrong)[:3000])


# ---- numba's own suite ----

# For each Python of the suite: numpy's old name, which this numba asks for, and a stand-in for the module filecheck,
# which some of its tests import and this machine lacks.
SITE = """
import importlib.abc, importlib.machinery, sys, types, unittest.mock
class Stand_in(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "filecheck":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return types.ModuleType(spec.name)
    def exec_module(self, module):
        def attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return unittest.mock.MagicMock
        module.__getattr__ = attribute
sys.meta_path.append(Stand_in())
try:
    import numpy
    numpy.row_stack = numpy.vstack
except ImportError:
    pass
"""
RESULT = re.compile(r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b")
TEST = re.compile(r"^(test\w* \([\w.]+\))")


def results_of(text):
    """The result of each test by its name, as unittest prints it: on the test's line or on a later one."""
    found, test = {}, None
    for line in text.splitlines():
        named = TEST.match(line)
        test = named[1] if named else test
        said = RESULT.search(line)
        if test and said and test not in found:
            found[test] = said[1]
    return found


SHARDS = 12   # of the suite, each in a process of its own, since compiling takes most of the time
AT_ONCE = 12  # processes that share the GPU
YIELDING = "yield_cupti"


class Run:
    """A run of the suite, alone or under an engine: exit codes of its shards, the result of each test, and what it
    printed."""

    def __init__(self, shards, traced):
        self.codes = [done.returncode for done in shards]
        self.results = {test: said for done in shards for test, said in results_of(done.stderr).items()}
        self.said = "\n".join(done.stderr for done in shards)
        # By shard and by stream: a line that went from one to another is a difference, too.
        self.printed = {(number, stream): printed_by(getattr(done, stream), traced)
                        for number, done in enumerate(shards) for stream in ("stdout", "stderr")}

    def ok(self):
        return sum(said == "ok" for said in self.results.values())


def shard(lab, engine, number):
    """One shard of the suite, alone or under an engine (or YIELDING)."""
    return runtests(lab, engine, f"{engine}-{number}", "-j", f"{number}:{SHARDS}", "numba.cuda.tests.cudapy")


def runtests(lab, engine, name, *what):
    """numba's runner, alone or under an engine, whose sessions go to the folder `name`."""
    out = lab.work / name
    way = ["--yield-cupti"] if engine == YIELDING else ["-e", engine]
    prefix = [lab.gpufl, "trace", "-q", "--no-report", *way, "-o", out, "--"] if engine else []
    return subprocess.run([*map(str, prefix), sys.executable, "-m", "numba.runtests", "-v", *what],
                          cwd=lab.work, capture_output=True, text=True, timeout=1200, errors="replace", check=False,
                          env={**os.environ, "PYTHONPATH": f"{lab.work / 'site'}:{os.environ.get('PYTHONPATH', '')}"})


def suite(lab, engine):
    """A run of all shards."""
    (lab.work / "site").mkdir(exist_ok=True)
    (lab.work / "site" / "sitecustomize.py").write_text(SITE)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:  # concurrently: results are compared, not times
        return Run(list(pool.map(lambda number: shard(lab, engine, number), range(SHARDS))), bool(engine))


def why_of(test, text):
    """The end of what unittest prints about a test that failed; "": nothing."""
    found = re.search(rf"^(?:ERROR|FAIL): {re.escape(test)}.*?\n-+\n(.*?)\n\n(?:=+|-+)$", text, re.S | re.M)
    return " | ".join(line.strip() for line in found[1].splitlines()[-8:]) if found else ""


suite_alone = []  # runs without gpufl, which the cases of one call share: the first one is compared


def ran_as(lab, engine):
    """Returns how the sessions of a suite recorded: {engine: sessions that used the GPU}."""
    counted = {}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        reports = list(pool.map(lambda number: lab.report(lab.work / f"{engine}-{number}"), range(SHARDS)))
    for report in reports:
        for session in report["sessions"] if report else []:
            if session["gpu_work"]:
                ran = session["ran_as"] or session["engine"]
                counted[ran] = counted.get(ran, 0) + 1
    return counted


def same_results(lab, engine):
    """Fails if a test of numba's suite has another result under the engine than alone, or if a shard prints something
    else. If a result differs, the suite runs alone once more: some results depend on what else uses the GPU, and such a
    test is not compared, nor is the output, which has its traceback. If only the output differs, a second run alone is
    enough for all cases of one call. Tests that gave up waiting (TestIpc gives a process that it starts 4 s until it has
    copied from the GPU) run once more under the engine while nothing else runs, and that result counts."""
    if not suite_alone:
        suite_alone.append(suite(lab, None))
    alone = suite_alone[0]
    if len(alone.results) < 500:
        suite_alone.clear()
        raise Skipped(f"the suite does not run here: {len(alone.results)} results, {alone.said[-300:]}")
    traced = suite(lab, engine)
    print(f"      {len(alone.results)} tests alone ({alone.ok()} ok), {len(traced.results)} under {engine} "
          f"({traced.ok()} ok), recorded as {ran_as(lab, engine)}", flush=True)
    differ = sorted(t for t in {*alone.results, *traced.results} if alone.results.get(t) != traced.results.get(t))
    if differ or (other_output(traced) and len(suite_alone) == 1):
        suite_alone.append(suite(lab, None))
    once_more = suite_alone[-1].results
    for t in differ:
        print(f"      {t}: {alone.results.get(t)} alone, {once_more.get(t)} once more, {traced.results.get(t)} traced: "
              f"{why_of(t, traced.said)[:1200]}", flush=True)
    wrong = [t for t in differ if alone.results.get(t) == once_more.get(t)]
    late = [t for t in wrong if "TimeoutError" in why_of(t, traced.said)]
    by_itself = runs_alone(lab, engine, late)
    for t in late:
        print(f"      {t}: {by_itself.get(t)} traced alone", flush=True)
    wrong = [t for t in wrong if by_itself.get(t) != alone.results.get(t)]
    expect(not wrong, f"{engine}: {len(wrong)} tests: {wrong[:10]}")
    expect(alone.codes == traced.codes or differ, f"exit codes {alone.codes} alone, {traced.codes} traced")
    lines = other_output(traced)
    for where, line in lines[:20]:
        print(f"      {where}: {line[:300]}", flush=True)
    expect(not lines or differ, f"{engine}: {len(lines)} lines are printed more or less often than alone: {lines[:3]}")


def runs_alone(lab, engine, tests):
    """The results of the modules of these tests under the engine, one after the other."""
    found = {}
    for module in sorted({t.split("(")[1].rsplit(".", 2)[0] for t in tests}):
        found.update(Run([runtests(lab, engine, f"{engine}-{module}", module)], True).results)
    return found


def other_output(traced):
    """(shard and stream, line) of what a traced run printed otherwise than the runs alone."""
    return [(f"shard {where[0]}, {where[1]}", line) for where, printed in traced.printed.items()
            for line in unlike([run.printed[where] for run in suite_alone], printed)]


def numba_suite_under(engine):
    def numba_suite(lab):
        same_results(lab, engine)
    numba_suite.__name__ = f"numba_suite_under_{engine}"
    numba_suite.__doc__ = f"The same result for each test of numba's suite, alone and under {engine}."
    return case(numba_suite)


for one in (*ENGINES, YIELDING):
    numba_suite_under(one)
