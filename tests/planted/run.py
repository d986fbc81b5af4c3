#!/usr/bin/env python3
"""Traces every program of table.py and compares the findings of its report with the table.

    tests/planted/run.py --build DIR [--fake DIR | --rocm DIR] [--only NAME,...] [--no-python] [--results FILE]
                         [--keep DIR]

--fake: the folder of the fake vendor libraries; without it the machine's own driver is used, and a case
with a missing requirement is skipped. --rocm: the folder of the fake ROCm, for the programs that are also built for HIP.
Closes with
"N programs x N rules: N right, N false positives, N misses, N skipped". Exit 1 if one is wrong.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from group import Group, can_limit
from paging import can_page
from table import CASES, ELSEWHERE, HERE, HIP, RULES, Kernel, Says, markers

PLACES = markers()
LIMIT_US = 20_000  # us of each 100 ms for which a case with a CPU limit may run
CROWDED = 0.02  # share of a run in which a task of the machine waited for a processor
ATTEMPTS = 5
PYTHON = ("python", "samples", "pages", "torch")
SAMPLED = range(9, 14)  # CPython 3: versions whose other threads are read


class Lab:
    """The folders of a run, and how a program is traced with them."""

    def __init__(self, build, fake=None, rocm=None):
        self.build, self.fake, self.rocm = build.resolve(), fake and fake.resolve(), rocm and rocm.resolve()
        self.gpufl = self.build / "bin/gpufl"

    def command(self, case):
        if case.needs in PYTHON:
            command = [sys.executable, HERE / "python" / case.program]
        else:
            command = [self.build / "planted" / ("hip" if self.rocm else "") / case.program]
        command.append(case.mode if case.mode == "fault" else "clean")
        if case.program == "torch_scopes.py":
            command.append(self.build / "lib/libgpufl.so")
        return [str(word) for word in command]

    def environment(self, case):
        env = dict(os.environ)
        if self.fake:
            env.update(LD_LIBRARY_PATH=str(self.fake), GPUFL_CUPTI_PATH=str(self.fake), GPUFL_BACKEND="Auto",
                       FAKE_NVML="calm")
        env.update(case.env)
        if self.rocm:
            env.update(LD_LIBRARY_PATH=str(self.rocm), GPUFL_ROCPROFILER_PATH=str(self.rocm / "7"), GPUFL_BACKEND="Amd", FAKE_ROCP="")
        return env

    def session(self, case, work):
        """The command that makes a session in that folder."""
        if case.needs == "nothing":
            plant = () if case.mode == "clean" else ("--plant", case.mode)
            return [self.gpufl, "sim", "-o", work, "--kernels", "100000", "--seed", "1", *case.options, *plant]
        return [self.gpufl, "trace", "--no-report", "-o", work, *case.options, "--", *self.command(case)]

    def report(self, case):
        """Traces one run; returns its report as `gpufl report --json` prints it."""
        work = tempfile.mkdtemp(prefix="gpufl-planted-")
        group = Group(LIMIT_US if case.mode == "fault" else None) if case.needs == "limit" else None
        try:
            done = subprocess.run(self.session(case, work), capture_output=True, text=True, timeout=300,
                                  env=self.environment(case), preexec_fn=group and group.enter)
            if done.returncode:
                raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-1000:]}")
            done = subprocess.run([self.gpufl, "report", "--json", work], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"report: exit code {done.returncode}: {done.stderr[-1000:]}")
            return json.loads(done.stdout)
        finally:
            if group:
                group.close()
            shutil.rmtree(work, ignore_errors=True)

    def missing(self, case):
        """Returns why a case cannot run here; "": it can."""
        if case.needs == "fake" and not self.fake:
            return "needs the fake libraries"
        if case.needs == "limit" and not can_limit():
            return "needs a control group with a CPU limit"
        if case.needs == "pages" and not can_page():
            return "pages cannot be taken away here, or come back without a disk"
        if case.needs in ("samples", "pages") and sys.version_info[1] not in SAMPLED:
            return "other threads of this Python are not read"
        if case.needs == "torch":
            if self.fake:
                return "needs a GPU"
            if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                              capture_output=True).returncode:
                return "no PyTorch with CUDA"
        return ""


# -- one case ------------------------------------------------------------------------------


def place_of(finding):
    """(file, line, function) of a finding; None if it has no place."""
    return (finding["file"], finding["line"], finding["function"]) if finding["file"] else None


def names(finding, at):
    """Returns True if the finding names that line and function, or that kernel, or has those words."""
    if isinstance(at, Says):
        path, line = PLACES[at.marker] if at.marker else (None, None)
        return at.words in finding["text"] and (not path or f"{path.name}:{line} " in finding["text"])
    if isinstance(at, Kernel):
        return re.search(rf"(^|::|\s){re.escape(at.name)}($|[<(])", finding["kernel"] or "") is not None
    place = place_of(finding)
    path, line = PLACES[at.marker]
    if not place or pathlib.Path(place[0]).name != path.name or place[1] != line:
        return False
    return at.function in (place[2] or "")


def where(at):
    if at is None:
        return "anywhere"
    if isinstance(at, Says):
        return f"that says '{at.words}'"
    if isinstance(at, Kernel):
        return f"of {at.name}"
    path, line = PLACES[at.marker]
    return f"at {path.name}:{line} in {at.function}"


def say(finding):
    place = place_of(finding)
    at = f" at {pathlib.Path(place[0]).name}:{place[1]} in {place[2]}" if place else ""
    return f"{finding['id']} ({finding['severity']}){at}: {finding['title']}"


def kernels_of(report, scope):
    """The number of kernels directly in scopes of that name; for "" of kernels in no scope."""
    if not scope:
        return report["outside_scopes"]["kernels"]
    return sum(row["self_kernels"] for row in report["scopes"] if row["name"] == scope)


def blocked_at(report, path, line):
    """The share of the run in which a thread was blocked at that line."""
    return sum(row["blocked_ns"] for row in report["synchronization_lines"]["lines"]
               if (row["file"] or "").endswith("/" + path.name) and row["line"] == line) / report["session"]["duration_ns"]


def judge(case, report, severe, was_crowded):
    """(misses, false positives, rules that fired); misses and false positives are sentences. severe: severities and
    gains count."""
    noise = (*case.noise, *(case.crowded if was_crowded else ()))
    misses, wrong = [], []
    findings = report["insights"]
    fired = {finding["id"] for finding in findings}
    for rule, places in case.must.items():
        of_rule = [f for f in findings if f["id"] == rule]
        said = "; ".join(say(f) for f in of_rule) or "nothing"
        for at in places:
            there = [f for f in of_rule if at is None or names(f, at)]
            if not there:
                misses.append(f"{rule} {where(at)}: {said}")
            elif at and at.severities and severe and not {f["severity"] for f in there} & set(at.severities):
                misses.append(f"{rule} {where(at)}: not {' or '.join(at.severities)}: {said}")
            elif at and at.gives and severe:
                share = max(f["gives_back_share"] for f in there)
                if share < at.gives[0] or share > at.gives[1] and not was_crowded:
                    misses.append(f"{rule} {where(at)}: gives back {share:.1%}, not {at.gives[0]:.0%} to {at.gives[1]:.0%}")
    if report["insights_left_out"]:
        misses.append(f"{report['insights_left_out']} findings left out")
    for finding in findings:
        rule = finding["id"]
        if case.never and case.never in finding["text"]:
            wrong.append(f"says '{case.never}': {say(finding)}")
        if rule not in case.must:
            if rule not in noise:
                wrong.append(say(finding))
            continue
        right = [*case.must[rule], *(case.also if rule == "sync_line" else ())]
        if rule not in noise and not any(at is None or names(finding, at) for at in right):
            wrong.append(f"another place: {say(finding)}")
    for marker, least in case.blocked.items():
        share = blocked_at(report, *PLACES[marker])
        if share < least:
            misses.append(f"{marker}: a thread was blocked for {share:.0%} of the run, not {least:.0%}")
    for scope, kernels in case.scopes.items():
        got = kernels_of(report, scope)
        if got != kernels if kernels is not None else not got:
            misses.append(f"{scope or 'outside scopes'}: {got} kernels, not {'some' if kernels is None else kernels}")
    return misses, wrong, fired


# -- results ---------------------------------------------------------------------------------


class Result:
    """The result of a case's last run: misses, false positives, rules that fired, and whether other processes took the
    processors."""

    def __init__(self, case, misses, wrong, fired, disturbed):
        self.case, self.misses, self.wrong, self.fired, self.disturbed = case, misses, wrong, fired, disturbed


def cell(result, rule):
    """A rule's cell in the table. `noise` is a finding that is true of the program, `busy` one that is true of the
    machine."""
    case = result.case
    if rule in case.must:
        missed = rule not in result.fired or any(text.startswith(f"{rule} ") for text in result.misses)
        return "**missed**" if missed else "found"
    if rule not in result.fired:
        return ""
    return "noise" if rule in case.noise else "busy" if rule in case.crowded and result.disturbed else "**false**"


def write_results(path, results):
    """Writes a table of programs x rules in Markdown; below it, the rules that no program expects and that never fired."""
    shown = [r for r in RULES if any(r in result.case.must or r in result.fired for result in results)]
    rows = ["| program | " + " | ".join(f"`{r}`" for r in shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for result in results:
        rows.append(f"| {result.case.name} | " + " | ".join(cell(result, r) for r in shown) + " |")
    silent = [r for r in RULES if r not in shown]
    if silent:
        rows.append("\nSilent in all of them: " + ", ".join(f"`{r}`" for r in silent) + ".")
    path.write_text("\n".join(rows) + "\n")


def crowded():
    """Returns a function that says later whether other processes wanted the processors meanwhile: a program that loses
    its processor for milliseconds launches late and waits long, and the report is right to say so."""
    pressure = pathlib.Path("/proc/pressure/cpu")

    def waited():
        return int(re.search(r"some .*total=(\d+)", pressure.read_text())[1])
    try:
        before, began = waited(), time.monotonic()
        return lambda: waited() - before > CROWDED * 1e6 * (time.monotonic() - began)
    except OSError:  # a kernel without this file
        return lambda: os.getloadavg()[0] > os.cpu_count()


def run_case(lab, case, keep):
    """Runs a case; returns its Result. A run with a miss or a false positive is repeated only if other processes
    disturbed it."""
    for attempt in range(1, ATTEMPTS + 1):
        was_crowded = crowded()
        try:
            report = lab.report(case)
        except Exception as error:  # a program that fails has no findings
            return Result(case, [f"{type(error).__name__}: {error}"], [], set(), False)
        disturbed = was_crowded()
        misses, wrong, fired = judge(case, report, bool(lab.fake or lab.rocm), disturbed)
        if keep and (misses or wrong):
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{case.name.replace(' ', '_')}.json").write_text(json.dumps(report, indent=1))
        if not (misses or wrong) or attempt == ATTEMPTS or not disturbed:
            return Result(case, misses, wrong, fired, disturbed)
        print(f"again {case.name}: the machine was busy: {'; '.join(misses + wrong)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--fake", type=pathlib.Path)
    parser.add_argument("--rocm", type=pathlib.Path)
    parser.add_argument("--only", help="programs, or 'program mode'")
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, help="write the table of what was found here, in Markdown")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the reports in which something is wrong here, as JSON")
    args = parser.parse_args()
    lab = Lab(args.build, args.fake, args.rocm)
    chosen = [c for c in CASES if not args.only or {c.name, c.program} & set(args.only.split(","))]
    if args.rocm:
        chosen = [c for c in chosen if c.program in HIP and c.needs == "driver"]
    missed = false = skipped = 0
    results = []
    for case in chosen:
        why = "no Python" if args.no_python and case.needs in PYTHON else lab.missing(case)
        if why:
            skipped += 1
            print(f"skip  {case.name}: {why}", flush=True)
            continue
        result = run_case(lab, case, args.keep)
        misses, wrong, fired = result.misses, result.wrong, result.fired
        missed, false = missed + len(misses), false + len(wrong)
        results.append(result)
        print(f"{'FAIL' if misses or wrong else 'ok  '}  {case.name}: {', '.join(sorted(fired)) or 'nothing'}")
        print("".join(f"      missed: {text}\n" for text in misses) +
              "".join(f"      false: {text}\n" for text in wrong), end="", flush=True)
    for rule in RULES if not (args.only or args.rocm) else ():
        if rule not in ELSEWHERE and not any(rule in case.must for case in CASES):
            missed += 1
            print(f"FAIL  no program plants {rule}")
    if args.results:
        write_results(args.results, results)
    checks = len(results) * len(RULES)
    print(f"{len(results)} programs x {len(RULES)} rules: {checks - missed - false} right, {false} false positives, "
          f"{missed} misses, {skipped} skipped")
    return bool(missed or false or not results)


if __name__ == "__main__":
    sys.exit(main())
