"""The stubs against the modules, and the keywords of init against the option table.

GPUFL_WRITE_DOCS=1 writes python/gpufl/_options.py again.
"""
import ast
import inspect
import keyword
import os
import pathlib

import pytest

import gpufl
from gpufl import _capture

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python" / "gpufl"
WRITE = "GPUFL_WRITE_DOCS" in os.environ  # read before the fixtures clear it


def options_text():
    types = {"str": "str", "bool": "bool", "int": "int", "BackendKind": "BackendKind",
             "ProfilingEngine": "ProfilingEngine"}
    paths = {"log_path", "config_file"}
    lines = ['"""The keywords of gpufl.init, for type checkers. Generated from schema/options.def by test_stubs.py with',
             'GPUFL_WRITE_DOCS=1; the same test fails where this file differs."""',
             "from __future__ import annotations", "", "from os import PathLike",
             "from typing import TYPE_CHECKING, TypedDict", "",
             "if TYPE_CHECKING:", "    from gpufl._api import BackendKind, ProfilingEngine", "", "",
             "class Options(TypedDict, total=False):"]
    for name, kind, *_ in _capture.options():
        if keyword.iskeyword(name):
            lines.append(f"    # {name} is a keyword of Python: write **{{\"{name}\": ...}}")
            continue
        lines.append(f"    {name}: {types[kind]}{' | PathLike[str]' if name in paths else ''} | None")
    lines += ["    sampling_auto_start: bool | None  # old name of continuous_system_sampling", ""]
    return "\n".join(lines)


def test_options():
    path = PACKAGE / "_options.py"
    if WRITE:
        path.write_text(options_text())
    assert path.read_text() == options_text()


def test_every_file_is_python():
    """Files that only type checkers read are tested, too, since pip compiles all of them."""
    for path in sorted(PACKAGE.rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))


def stub_of(name):
    return ast.parse((PACKAGE / f"{name}.pyi").read_text())


def members(body):
    """Public names of a stub's module or class."""
    for node in body:
        if isinstance(node, ast.AnnAssign):
            yield node.target.id, node
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node


OWN = {"__new__", "__enter__", "__exit__", "__iter__", "__call__", "__next__", "__len__", "__arrow_c_stream__",
       "__array_interface__"}


@pytest.mark.parametrize("name", sorted(path.stem for path in PACKAGE.glob("*.pyi")))
def test_stub(name):
    module = __import__(f"gpufl.{name}", fromlist=["x"])
    stub = {key: node for key, node in members(stub_of(name).body) if key != "_F"}
    assert set(stub) == {key for key in vars(module) if not key.startswith("_")}
    for key, node in stub.items():
        value = getattr(module, key)
        if isinstance(node, ast.ClassDef):
            have = {k for k in vars(value) if not k.startswith("_") or k in OWN}
            assert {k for k, _ in members(node.body)} == have, key
        elif isinstance(node, ast.AnnAssign):
            assert type(value).__name__ == node.annotation.id, key
        else:
            assert callable(value), key


def test_everything_public_is_there_and_typed():
    assert set(gpufl.__all__) == {name for name in vars(gpufl) if not name.startswith("_")} - {
        name for name in vars(gpufl) if inspect.ismodule(getattr(gpufl, name))}
    assert (PACKAGE / "py.typed").exists()
    for name in gpufl.__all__:
        value = getattr(gpufl, name)
        assert value.__doc__, name
        if inspect.isfunction(value):
            assert "return" in value.__annotations__, name
