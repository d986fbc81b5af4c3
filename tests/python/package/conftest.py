"""Code that the tests of the Python package share: sessions of the simulated GPU, and a reader of their logs. The
reader implements docs/format.md without code of the package, so that the two cannot have the same error. Code that
changes the process (forks, ends, disables) runs in an interpreter of its own.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import gpufl

PATIENCE = 60  # s, the longest wait for what takes moments
DELTAS = {"start", "time", "instance", "parent", "scope", "correlation", "stack", "graph_node", "external_id", "monotonic"}


class Log:
    """The rows of the sessions below a folder: log.rows("scope") is a list of dicts with names resolved."""

    def __init__(self, folder):
        self.lines = []
        for path in sorted(pathlib.Path(folder).rglob("*.log*")):
            opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
            with opened as file:
                self.lines += [json.loads(line) for line in file]
        self.names = {}
        for line in self.lines:
            if line["type"] == "names":
                self.names.update(zip(line["id"], line["text"]))

    def rows(self, kind):
        return [row for line in self.lines if line["type"] == kind for row in self._rows(line)]

    def _rows(self, line):
        count = line["rows"]
        columns = {name: value if isinstance(value, list) else [value] * count
                   for name, value in line.items() if name not in ("type", "rows")}
        for name in DELTAS & columns.keys():
            if isinstance(line[name], list):
                total = 0
                columns[name] = [total := total + delta for delta in columns[name]]
        for name in ("name", "tag", "value", "source", "text", "code", "reason") :
            if name in columns and line["type"] != "counter" and all(isinstance(cell, int) for cell in columns[name]):
                columns[name] = [self.names.get(cell, "") for cell in columns[name]]
        return [dict(zip(columns, cells)) for cells in zip(*columns.values())]

    def scopes(self, name=None):
        return [row for row in self.rows("scope") if name in (None, row["name"])]


def tree(log):
    """Names of the scopes with those of their parents, outermost first."""
    rows = log.rows("scope")
    known = {row["instance"]: row for row in rows}

    def path(row):
        above = known.get(row["parent"])
        return (path(above) + "/" if above else "") + row["name"]

    return [path(row) for row in sorted(rows, key=lambda row: row["instance"])]


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """Removes all GPUFL_* variables before a test, and ends the session after it."""
    for name in [name for name in os.environ if name.startswith("GPUFL_")]:
        monkeypatch.delenv(name)
    yield
    gpufl.shutdown()


@pytest.fixture
def begin(tmp_path):
    """Starts a session of the simulated GPU: begin(option=…)."""

    def start(**options):
        options.setdefault("log_path", tmp_path / "logs")
        options.setdefault("backend", gpufl.BackendKind.Sim)
        options.setdefault("profiling_engine", gpufl.ProfilingEngine.Trace)
        return gpufl.init(**options)

    return start


@pytest.fixture
def log(tmp_path):
    """Ends the session and reads it: log()."""

    def read():
        gpufl.shutdown()
        return Log(tmp_path / "logs")

    return read


@pytest.fixture
def run(tmp_path):
    """Runs code in an interpreter of its own: run("…").stdout. LOGS in its environment is the folder for logs. The exit
    status must be `expect`."""

    def start(code, expect=0, options=(), **environment):
        env = dict(os.environ, LOGS=str(tmp_path / "logs"), **environment)
        done = subprocess.run([sys.executable, *options, "-c", textwrap.dedent(code)], env=env, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        assert done.returncode == expect, done.stderr
        return done

    return start


BEGIN = """
import os, gpufl
def begin(**options):
    return gpufl.init(log_path=os.environ["LOGS"], backend=gpufl.BackendKind.Sim,
                      profiling_engine=gpufl.ProfilingEngine.Trace, **options)
"""
