"""GPUFlight for Python: say what the program does, and read what the GPU did.

    import gpufl

    gpufl.init(app_name="training", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.Scope("forward"):
        ...
    gpufl.shutdown()

Sessions are read by gpufl.analyzer and gpufl.report. This module imports neither them nor anything
that is not part of Python. docs/python.md describes the package.
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
    "system_start",
    "system_stop",
    "upload_logs",
    "window",
]
