"""GPUFlight for Python: marks what the program does, and reads what the GPU did.

    import gpufl

    gpufl.init(app_name="training", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.Scope("forward"):
        ...
    gpufl.shutdown()

Sessions are read by gpufl.analyzer and gpufl.report and drawn by gpufl.viz; gpufl.torch, gpufl.lightning,
gpufl.transformers, gpufl.jax, gpufl.cupy, gpufl.numba and gpufl.triton mark what those frameworks do. Each module is
imported when it is first used: this module imports only what is part of Python. docs/python.md describes the package.
"""
from gpufl._api import (
    BackendKind,
    ProfilingEngine,
    Scope,
    UploadResult,
    active,
    generate_report,
    init,
    session,
    session_dir,
    session_id,
    shutdown,
    system_start,
    system_stop,
    upload_logs,
    window,
)
from gpufl._capture import version as __version__
from gpufl._phases import steps

_MODULES = ("analyzer", "cupy", "jax", "lightning", "numba", "report", "torch", "transformers", "triton", "viz")


def __getattr__(name: str) -> object:
    if name == "load_ipython_extension":
        from gpufl._notebook import load_ipython_extension

        return load_ipython_extension
    if name not in _MODULES:
        raise AttributeError(f"module 'gpufl' has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"gpufl.{name}")


__all__ = [
    "BackendKind",
    "ProfilingEngine",
    "Scope",
    "UploadResult",
    "active",
    "generate_report",
    "init",
    "session",
    "session_dir",
    "session_id",
    "shutdown",
    "steps",
    "system_start",
    "system_stop",
    "upload_logs",
    "window",
]
