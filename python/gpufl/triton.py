"""Scopes for Triton: each launch of a kernel, with the file and line of its @triton.jit function.

    import gpufl, gpufl.triton

    gpufl.init(app_name="kernels", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.triton.instrument():
        add[(blocks,)](x, y, out, n, BLOCK=1024)
    gpufl.shutdown()

Needs Triton 3.4 or later, whose knobs have the hooks. Kernels that torch.compile makes are Triton kernels, too; those that
torch.compile launches itself call no hook.
"""
from __future__ import annotations

import threading
from typing import Any

try:
    import triton
except ImportError as error:
    raise ImportError("gpufl.triton needs Triton: pip install triton (PyTorch for CUDA brings it)") from error

from gpufl._capture import Scope
from gpufl._lines import beginning
from gpufl._phases import steps

__all__ = ["instrument", "steps"]


class instrument:  # noqa: N801 - used as a function
    """A block in which a launch of a Triton kernel is a scope of the kernel's name.

    The tag is the line on which the kernel's function begins. Triton reports the function when it prepares a kernel for a
    kind of arguments for the first time: kernels that were launched before the block have no tag, nor have two functions
    that share a name. Triton does not report a launch that raises as over: its scope ends where this thread launches the
    next kernel, or with the block, if the block ends on this thread.
    """

    def __init__(self) -> None:
        self._runtime = getattr(getattr(triton, "knobs", None), "runtime", None)
        if self._runtime is None or not hasattr(self._runtime, "jit_post_compile_hook"):
            raise ImportError(f"gpufl.triton needs Triton 3.4 or later, not {triton.__version__}")
        self._lines: dict[str, str | None] = {}
        self._open = threading.local()
        self._before: dict[str, Any] = {}

    def _compiled(self, *arguments: Any, **of: Any) -> Any:
        function = getattr(getattr(of.get("fn"), "jit_function", None), "fn", None)
        if function is not None:
            line = beginning(function) or None
            name = function.__name__
            self._lines[name] = line if self._lines.get(name, line) == line else None
        earlier = self._before["jit_post_compile_hook"]
        return earlier(*arguments, **of) if earlier is not None else None

    def _leave(self) -> None:
        """Ends the scope of this thread's last launch, if that has not ended."""
        scope = self._open.__dict__.pop("scope", None)
        if scope is not None:
            scope.__exit__(None, None, None)

    def _enter(self, metadata: Any) -> None:
        self._leave()  # a launch that raised: launches of one thread do not nest
        known = getattr(metadata, "data", None)  # get() computes what the kernel's author added
        name = (known if isinstance(known, dict) and "name" in known else metadata.get())["name"]
        scope = Scope(name, self._lines.get(name))
        scope.__enter__()
        self._open.scope = scope

    def _exit(self, metadata: Any) -> None:
        self._leave()

    def _put(self, name: str, hook: Any) -> None:
        chain = getattr(self._runtime, name)
        if hasattr(chain, "add"):  # Triton 3.5 and later
            chain.add(hook)
            return
        self._before[name] = chain
        setattr(self._runtime, name, hook)

    def _take(self, name: str, hook: Any) -> None:
        chain = getattr(self._runtime, name)
        if hasattr(chain, "remove"):
            chain.remove(hook)
        elif chain == hook:  # another profiler may have set its own hooks since
            setattr(self._runtime, name, self._before.pop(name))

    def __enter__(self) -> instrument:
        self._before["jit_post_compile_hook"] = self._runtime.jit_post_compile_hook
        self._runtime.jit_post_compile_hook = self._compiled
        self._put("launch_enter_hook", self._enter)
        self._put("launch_exit_hook", self._exit)
        return self

    def remove(self) -> None:
        """Removes the hooks. A second call does nothing."""
        if "jit_post_compile_hook" not in self._before:
            return
        if self._runtime.jit_post_compile_hook == self._compiled:
            self._runtime.jit_post_compile_hook = self._before["jit_post_compile_hook"]
        self._take("launch_enter_hook", self._enter)
        self._take("launch_exit_hook", self._exit)
        self._leave()
        self._before.clear()

    def __exit__(self, *error: object) -> None:
        self.remove()
