"""gpufl.numba with Debian's Numba and its simulator of CUDA; gpufl.jax, gpufl.cupy and gpufl.triton if their frameworks are
installed.
Their common parts, a callable in a scope and the calling line, are tested without the frameworks.
"""
import copy
import importlib
import importlib.util
import inspect
import sys
import threading

import pytest
from conftest import BEGIN, Log, tree

import gpufl
from gpufl._lines import Lines, beginning
from gpufl._scoped import Scoped, name_of


def here():
    return f"test_frameworks.py:{sys._getframe(1).f_lineno}"


# ---- the parts ----------------------------------------------------------------------------------


class Kernel:
    """A launchable object like those of frameworks: it is configured and called, and has attributes and methods of its
    own."""

    name = "square"

    def __init__(self, configuration=None):
        self.configuration = configuration

    def __getitem__(self, configuration):
        return Kernel(configuration)

    def __call__(self, x, fail=False):
        if fail:
            raise KeyError("the program's own")
        return self.configuration, x * x

    def forall(self, count):
        return Kernel(count)


def test_a_call_is_in_a_scope_of_the_kernel(begin, log):
    kernel = Scoped(Kernel(), name_of(Kernel()), Lines().caller, ("forall",))
    assert kernel(2) == (None, 4)  # without a session
    assert begin()
    lines = [here(), kernel[1, 32](3) and here(), kernel.forall(9)(4) and here()]
    assert kernel[7](5) == (7, 25) and kernel.configuration is None
    with pytest.raises(KeyError, match="the program's own"):
        kernel(1, fail=True)
    rows = log().scopes()
    assert [row["name"] for row in rows] == ["square"] * 4
    assert [row["tag"] for row in rows][:2] == lines[1:]


def test_all_else_is_the_callables_own():
    def double(x, times=2):
        """Doubles."""
        return times * x

    made = Scoped(double, name_of(double), Lines().caller)
    assert made.__name__ == "double" and made.__doc__ == "Doubles." and made.__wrapped__ is double
    assert inspect.signature(made) == inspect.signature(double)
    assert copy.copy(made)(4) == 8 and repr(made).startswith("gpufl.Scoped(<function")
    with pytest.raises(AttributeError, match="nothing"):
        made.nothing  # noqa: B018
    Owner = type("Owner", (), {"value": 3, "scaled": Scoped(lambda self, x: self.value * x, "scaled", str)})
    assert Owner().scaled(5) == 15 and isinstance(Owner.scaled, Scoped)


def test_lines():
    def outer(caller):
        return caller()

    lines = Lines()
    assert lines.caller() == here()
    assert outer(lines.caller) == f"test_frameworks.py:{outer.__code__.co_firstlineno + 1}"
    assert Lines(sys.modules[__name__]).caller().startswith("python.py:")  # the caller of this module is pytest
    assert beginning(outer) == f"test_frameworks.py:{outer.__code__.co_firstlineno}" and beginning(len) == ""
    for number in range(9000):  # ever more code does not take ever more memory
        space = {"caller": lines.caller}
        exec(compile("line = caller()", f"/generated/{number}.py", "exec"), space)
        assert space["line"] == f"{number}.py:1"
    assert len(lines._known) <= 4096 and len(lines._texts) <= 4096


def test_steps_of_any_loop(begin, log):
    assert begin()
    assert list(gpufl.steps([5, 6])) == [5, 6]
    assert tree(log()) == ["data", "train_step", "data", "train_step", "data"]


@pytest.mark.parametrize("name, framework, word", [
    ("jax", "jax", "JAX"), ("cupy", "cupy", "CuPy"), ("numba", "numba", "pip install numba-cuda"), ("triton", "triton", "Triton"),
    ("torch", "torch", "PyTorch"), ("transformers", "transformers", "pip install transformers")])
def test_without_the_framework(name, framework, word, run):
    run(f"""
        import sys
        sys.modules[{framework!r}] = None
        import gpufl
        try:
            gpufl.{name}
        except ImportError as error:
            assert {word!r} in str(error) and "gpufl.{name} needs" in str(error), error
        else:
            raise AssertionError
        """)


# ---- Numba --------------------------------------------------------------------------------------

NUMBA = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="no Numba (Debian: python3-numba)")


@NUMBA
def test_numba_kernels_in_the_simulator(run, tmp_path):
    done = run(BEGIN + """
import numpy, gpufl.numba
from numba import cuda

@gpufl.numba.scoped
@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[i]

a = numpy.zeros(40)
add[2, 32](a, numpy.ones(40))                   # no session yet
assert begin()
with gpufl.numba.instrument():
    add[2, 32](a, numpy.ones(40))
    add.forall(40)(a, numpy.ones(40))
assert (a == 3).all()
print(add.py_func.__code__.co_firstlineno)
gpufl.shutdown()
""", NUMBA_ENABLE_CUDASIM="1")
    rows = Log(tmp_path / "logs").scopes()
    assert [row["name"] for row in rows] == ["add", "add"]
    assert {row["tag"] for row in rows} == {f"<string>:{done.stdout.strip()}"}


@NUMBA
def test_numba_compiles_in_a_scope_on_every_thread(begin, log):
    import numba

    functions = [numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2), numba.njit(lambda x: x + 3)]
    assert begin()
    block = gpufl.numba.instrument()
    with block:
        first = functions[0](1) and here()
        functions[0](1)
        thread = threading.Thread(target=lambda: functions[1](1))
        thread.start()
        thread.join()
    block.remove()
    functions[2](1)
    rows = log().scopes()
    assert [row["name"] for row in rows] == ["numba_compile"] * 2
    assert rows[0]["tag"] == first and rows[0]["thread"] != rows[1]["thread"]


class Events:
    """A module of events like that of numba-cuda: of kinds with Numba's or its own prefix it accepts only the known ones."""

    __name__ = "numba.cuda.core.event"

    def __init__(self, known):
        import numba.core.event

        self.Listener, self.known, self.registered = numba.core.event.Listener, known, []

    def register(self, kind, listener):
        if kind.split(":")[0] in ("numba", "numba-cuda") and kind not in self.known:
            raise ValueError(kind)
        self.registered.append((kind, listener))

    def unregister(self, kind, listener):
        self.registered.remove((kind, listener))


@NUMBA
@pytest.mark.parametrize("known", ["numba:compiler_lock", "numba-cuda:compiler_lock"])
def test_numba_events_of_every_numba_cuda(monkeypatch, known):
    import gpufl.numba

    events = Events({known})
    monkeypatch.setitem(sys.modules, events.__name__, events)
    with gpufl.numba.instrument():
        assert [kind for kind, _ in events.registered] == [known]
    assert not events.registered


@NUMBA
def test_numba_cuda_without_the_event_warns(monkeypatch):
    import gpufl.numba

    events = Events(set())
    monkeypatch.setitem(sys.modules, events.__name__, events)
    with pytest.warns(UserWarning, match="numba.cuda.core.event has none of the events"):
        gpufl.numba.instrument().__enter__().remove()
    assert not events.registered


# ---- JAX, CuPy, Triton --------------------------------------------------------------------------


def test_jax_functions(begin, log):
    jax = pytest.importorskip("jax", reason="no JAX: tests/device/python.sh runs it on a GPU")

    @gpufl.jax.jit
    def double(x):
        return 2 * x

    @gpufl.jax.jit(static_argnames="times")
    def scale(x, times):
        return times * x

    double(jax.numpy.ones(3))
    assert begin()
    lines = [double(jax.numpy.ones(3)).sum() and here(), double(jax.numpy.ones(4)).sum() and here()]
    assert scale(jax.numpy.ones(2), times=3).sum() == 6
    assert jax.grad(lambda x: double(x).sum())(jax.numpy.ones(3)).sum() == 6
    assert "lower" in dir(double.__wrapped__) and double.lower(jax.numpy.ones(3)) is not None
    rows = log().scopes()
    calls = [row for row in rows if row["name"] == "double"]
    assert [row["tag"] for row in calls][:2] == lines
    traces = [row for row in rows if row["name"] == "trace double"]
    assert traces and traces[0]["tag"].startswith("test_frameworks.py:")
    assert [row["name"] for row in rows].count("trace scale") == 1


def test_cupy_kernels(begin, log):
    cupy = pytest.importorskip("cupy", reason="no CuPy: tests/device/python.sh runs it on a GPU")
    square = gpufl.cupy.scoped(cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square"))
    assert square.name == "square"
    try:
        x = cupy.arange(4, dtype=cupy.float32)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy has no GPU: {error}")
    assert begin()
    with gpufl.cupy.instrument():
        line = square(x).sum() and here()
        cupy.empty(64 << 20, dtype=cupy.int8)
    rows = log().scopes()
    assert [row["tag"] for row in rows if row["name"] == "square"] == [line]
    assert any(row["name"] == "cupy_alloc" for row in rows)


def test_triton_hooks_are_put_on_and_taken_off(begin, log):
    triton = pytest.importorskip("triton", reason="no Triton: tests/device/python.sh runs it on a GPU")
    from triton.compiler import LazyDict

    runtime = triton.knobs.runtime
    assert begin()
    block = gpufl.triton.instrument()
    with block:
        runtime.launch_enter_hook(LazyDict({"name": "add"}))
        runtime.launch_exit_hook(LazyDict({"name": "add"}))
    block.remove()
    assert runtime.jit_post_compile_hook is None
    assert [row["name"] for row in log().scopes()] == ["add"]


@pytest.fixture
def hooks(monkeypatch):
    """gpufl.triton with a replacement for Triton that has its hooks and launches nothing: (module, its knobs)."""
    import types

    knobs = types.SimpleNamespace(launch_enter_hook=None, launch_exit_hook=None, jit_post_compile_hook=None)
    triton = types.ModuleType("triton")
    triton.knobs = types.SimpleNamespace(runtime=knobs)
    triton.__version__ = "3.4.0"
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.delitem(sys.modules, "gpufl.triton", raising=False)
    monkeypatch.delattr(gpufl, "triton", raising=False)
    yield importlib.import_module("gpufl.triton"), knobs
    sys.modules.pop("gpufl.triton", None)
    gpufl.__dict__.pop("triton", None)


class Kernel_data:  # noqa: N801
    def __init__(self, name):
        self.data = {"name": name}


def test_a_triton_launch_that_raises_leaves_no_scope_open(begin, log, hooks):
    module, knobs = hooks
    assert begin()
    with module.instrument():
        knobs.launch_enter_hook(Kernel_data("raises"))
        with gpufl.Scope("after"):  # the launch raised, so there is no exit hook
            knobs.launch_enter_hook(Kernel_data("add"))
            knobs.launch_exit_hook(Kernel_data("add"))
        knobs.launch_enter_hook(Kernel_data("raises_last"))
    with gpufl.Scope("outside"):
        pass
    assert knobs.launch_enter_hook is None and knobs.launch_exit_hook is None
    rows = {row["name"]: row for row in log().scopes()}
    assert set(rows) == {"raises", "after", "add", "raises_last", "outside"}
    end = {name: row["start"] + row["duration"] for name, row in rows.items()}
    assert end["raises"] <= rows["add"]["start"] and end["raises_last"] <= rows["outside"]["start"]


@pytest.mark.parametrize("name", ["jax", "cupy", "numba"])
def test_wrong_calls(name):
    pytest.importorskip(name)
    with pytest.raises(TypeError, match=rf"gpufl\.{name}\.scoped\(\) takes a kernel or a function, not 5"):
        getattr(gpufl, name).scoped(5)
