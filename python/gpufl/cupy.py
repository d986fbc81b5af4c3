"""Scopes for CuPy: calls of its kernels, and allocations of its pool from the driver.

    import cupy, gpufl, gpufl.cupy

    square = gpufl.cupy.scoped(cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square"))

    gpufl.init(app_name="arrays", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.cupy.instrument():
        square(cupy.arange(10, dtype=cupy.float32))
    gpufl.shutdown()

Ranges of cupyx.profiler.time_range are scopes too: they are NVTX ranges, which a session records (nvtx_ranges).
"""
from __future__ import annotations

from typing import Any, TypeVar

try:
    import cupy
except ImportError as error:
    raise ImportError("gpufl.cupy needs CuPy: https://docs.cupy.dev/en/stable/install.html says how to install it") from error

from gpufl._capture import Scope, active
from gpufl._lines import Lines
from gpufl._phases import steps
from gpufl._scoped import Scoped, check, name_of

__all__ = ["instrument", "scoped", "steps"]

_K = TypeVar("_K")
_lines = Lines(cupy)


def scoped(kernel: _K) -> _K:
    """The kernel with each call in a scope of its name, tagged with the line that called.

    kernel is a RawKernel, ElementwiseKernel, ReductionKernel, universal function, a result of cupy.fuse, or any
    function that uses CuPy. The result has all its attributes.
    """
    check("gpufl.cupy.scoped()", kernel)
    made: Any = Scoped(kernel, name_of(kernel), _lines.caller)
    return made


class instrument(cupy.cuda.MemoryHook):  # type: ignore[misc] # noqa: N801 - used as a function
    """A block in which `cupy_alloc` is a scope: the pool has no free block and asks the driver for one, which is slow.

    The tag is the line that needed the memory. The block uses a hook of CuPy's memory, which works for the thread that entered it.
    """

    name = "gpufl"

    def __init__(self) -> None:
        self._open: list[Scope] = []

    def alloc_preprocess(self, **of: Any) -> None:
        if active():
            scope = Scope("cupy_alloc", _lines.caller() or None)
            scope.__enter__()
            self._open.append(scope)

    def alloc_postprocess(self, **of: Any) -> None:
        if self._open:
            self._open.pop().__exit__(None, None, None)
