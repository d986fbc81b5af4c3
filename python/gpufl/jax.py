"""Scopes for JAX: calls of compiled functions, and traces of functions.

    import gpufl, gpufl.jax

    @gpufl.jax.jit
    def update(state, batch): ...

    gpufl.init(app_name="training", profiling_engine=gpufl.ProfilingEngine.Trace)
    for batch in gpufl.jax.steps(batches):
        state = update(state, batch)
    gpufl.shutdown()

JAX launches work on the GPU and returns: a scope is the time in which Python made the call, and the kernels that it launched are
counted in the scope. Waiting, for example with block_until_ready(), is outside, unless a scope of the program is around both.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

try:
    import jax
except ImportError as error:
    raise ImportError("gpufl.jax needs JAX: https://docs.jax.dev/en/latest/installation.html says how to install it") from error

from gpufl._capture import Scope
from gpufl._lines import Lines, beginning
from gpufl._phases import steps
from gpufl._scoped import Scoped, check, name_of

__all__ = ["jit", "scoped", "steps"]

_F = TypeVar("_F", bound=Callable[..., Any])
_lines = Lines(jax)


def scoped(function: _F) -> _F:
    """The function with each call in a scope of its name, tagged with the line that called.

    function is a result of jax.jit, jax.pmap or .compile(), or any function that uses JAX. The result has all
    its attributes (lower, trace, clear_cache).
    """
    check("gpufl.jax.scoped()", function)
    made: Any = Scoped(function, name_of(function), _lines.caller)
    return made


def jit(function: Any = None, **options: Any) -> Any:
    """jax.jit with its options and with scopes: a scope for each call, like scoped(), and in it `trace NAME`.

    JAX runs the function's own Python code only when it traces the function, for arguments of a new shape or type; this is the
    scope `trace NAME`, tagged with the line on which the function begins. Many such scopes mean that the function is compiled
    again and again.
    """
    if function is None:
        return lambda function: jit(function, **options)
    check("gpufl.jax.jit()", function)
    tracing = Scope(f"trace {name_of(function)}", beginning(function) or None)

    @functools.wraps(function)
    def traced(*arguments: Any, **keywords: Any) -> Any:
        with tracing:
            return function(*arguments, **keywords)

    return scoped(jax.jit(traced, **options))
