"""Code that the cases of run.py share: tracing a program, and checks of its report."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess


HERE = pathlib.Path(__file__).resolve().parent


cases = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(function):
    cases.append(function)
    return function


def expect(condition, text):
    if not condition:
        raise Failed(text)


NO_NVDISASM = {"GPUFL_NVDISASM": "/nowhere/nvdisasm"}


@contextlib.contextmanager
def nobody_takes_code_apart():
    """No code is disassembled inside, not even by a report on the session."""
    os.environ.update(NO_NVDISASM)
    try:
        yield
    finally:
        os.environ.pop("GPUFL_NVDISASM")


class Lab:
    """Holds the folder of the binaries, and a temporary directory for each case."""

    def __init__(self, build, work):
        self.bin = build / "bin"
        self.gpufl = self.bin / "gpufl"
        self.programs = self.bin / "device_programs"
        self.context = self.bin / "device_context"
        self.work = work

    def trace(self, *command, options=(), code=0, env=None, prefix=(), timeout=300):
        """Runs a command traced; returns (stdout, stderr, report or None)."""
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([*map(str, prefix), str(self.gpufl), "trace", "-o", str(out), *map(str, options), "--",
                               *map(str, command)], capture_output=True, text=True, cwd=self.work,
                              env={**os.environ, **(env or {})}, timeout=timeout)
        expect(done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr[-1500:]}")
        return done.stdout, done.stderr, self.report(out)

    def report(self, path):
        done = subprocess.run([str(self.gpufl), "report", "--json", str(path)], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None


def ledger_closes(report, kernels=None):
    l = report["ledger"]
    launched = l["launches"] + l["graph_kernels"]
    expect(l["graph_unknown"] == 0, f"graph launches of unknown size: {l['graph_unknown']}")
    expect(launched == l["kernels_recorded"] == l["kernels_written"],
           f"launched {launched}, recorded {l['kernels_recorded']}, written {l['kernels_written']}: {l}")
    if kernels is not None:
        expect(l["kernels_written"] == kernels, f"{l['kernels_written']} kernels written, the program ran {kernels}")
    for loss in ("lost_driver", "lost_pool", "lost_time", "lost_spool", "lost_memory", "joins_lost", "scopes_lost"):
        expect(l[loss] == 0, f"{loss} = {l[loss]}")
