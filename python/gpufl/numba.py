"""Scopes for Numba: launches of CUDA kernels, and compiling.

    import gpufl, gpufl.numba
    from numba import cuda

    @gpufl.numba.scoped
    @cuda.jit
    def add(a, b): ...

    gpufl.init(app_name="arrays", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.numba.instrument():
        add[blocks, threads](a, b)
    gpufl.shutdown()
"""
from __future__ import annotations

import importlib
import threading
import warnings
from typing import Any, TypeVar

try:
    import numba
    from numba import cuda
except ImportError as error:
    raise ImportError("gpufl.numba needs Numba: pip install numba-cuda, or apt install python3-numba") from error

from gpufl._capture import Scope
from gpufl._lines import Lines, beginning
from gpufl._phases import steps
from gpufl._scoped import Scoped, check, name_of

__all__ = ["instrument", "scoped", "steps"]

_K = TypeVar("_K")
_lines = Lines(numba, cuda)  # the package numba-cuda has a folder of its own
_EVENTS = ("numba.core.event", "numba.cuda.core.event")  # of Numba, and of numba-cuda, which has a compiler of its own
# Kinds of the event; newer releases of numba-cuda use the second one. A package refuses an unknown kind with its own
# prefix, and accepts any other as a custom kind, which never occurs. So the first kind that is not refused is the right
# one.
_KINDS = ("numba:compiler_lock", "numba-cuda:compiler_lock")


def scoped(kernel: _K) -> _K:
    """The kernel of cuda.jit with each launch in a scope of its name, tagged with the line on which the function begins.

    If a launch has to compile, it does so in the scope. kernel[blocks, threads], kernel.forall(count) and all
    other attributes are those of the kernel. Functions of numba.jit and others can be passed, too.
    """
    check("gpufl.numba.scoped()", kernel)
    function = getattr(kernel, "py_func", kernel)
    line = beginning(function)
    made: Any = Scoped(kernel, name_of(function), (lambda: line) if line else _lines.caller, ("forall", "configure"))
    return made


class instrument:  # noqa: N801 - used as a function
    """A block in which compiling is a scope, `numba_compile`, tagged with the line that needed the code.

    It listens to Numba's own events (numba.core.event) on every thread.
    """

    def __init__(self) -> None:
        scope, depth = Scope, threading.local()

        def make(event: Any) -> Any:
            class Listener(event.Listener):  # type: ignore[misc]
                def on_start(self, event: Any) -> None:
                    depth.now = getattr(depth, "now", 0) + 1
                    if depth.now == 1:
                        depth.scope = scope("numba_compile", _lines.caller() or None)
                        depth.scope.__enter__()

                def on_end(self, event: Any) -> None:
                    depth.now = getattr(depth, "now", 0) - 1
                    if depth.now == 0:
                        depth.scope.__exit__(None, None, None)
                    depth.now = max(depth.now, 0)  # compiling that had begun before the block

            return Listener()

        self._listeners: list[tuple[Any, Any]] = []
        self._registered: list[tuple[Any, str, Any]] = []
        for name in _EVENTS:
            try:
                event = importlib.import_module(name)
            except ImportError:
                continue
            self._listeners.append((event, make(event)))

    def __enter__(self) -> instrument:
        for event, listener in self._listeners:
            for kind in _KINDS:
                try:
                    event.register(kind, listener)
                except ValueError:
                    continue
                self._registered.append((event, kind, listener))
                break
            else:
                warnings.warn(f"gpufl.numba.instrument(): {event.__name__} has none of the events {', '.join(_KINDS)}; its compiling has no scope", stacklevel=2)
        return self

    def remove(self) -> None:
        """Stops listening. A second call does nothing."""
        while self._registered:
            event, kind, listener = self._registered.pop()
            event.unregister(kind, listener)

    def __exit__(self, *error: object) -> None:
        self.remove()
