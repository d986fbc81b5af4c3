"""The functions of the package, over the C functions of gpufl._capture.

A failure of the profiler must not end the program: a session that cannot begin, a window that does not open and an
upload that fails are results and warnings. Only mistakes in the call itself (a wrong type, an unknown keyword) raise.
"""
from __future__ import annotations

import os
import sys
import warnings
from enum import IntEnum

from gpufl import _capture
from gpufl._capture import Scope, active, session_dir, session_id, shutdown

TYPE_CHECKING = False  # typing takes several ms to import; type checkers know the name
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from gpufl._options import Options

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

__all__ = ["Scope", "active", "session_dir", "session_id", "shutdown"]


class BackendKind(IntEnum):
    """The vendor whose libraries are used. Sim is a simulated GPU: its sessions say so."""

    Auto = _capture.BACKEND_AUTO
    Nvidia = _capture.BACKEND_NVIDIA
    Amd = _capture.BACKEND_AMD
    None_ = _capture.BACKEND_NONE  # None is a keyword of Python
    Sim = _capture.BACKEND_SIM


class ProfilingEngine(IntEnum):
    """Says what a session records (docs/options.md)."""

    Monitor = _capture.ENGINE_Monitor
    Trace = _capture.ENGINE_Trace
    PcSampling = _capture.ENGINE_PcSampling
    SassMetrics = _capture.ENGINE_SassMetrics
    RangeProfiler = _capture.ENGINE_RangeProfiler
    Deep = _capture.ENGINE_Deep
    PmSampling = _capture.ENGINE_PmSampling
    Sync = _capture.ENGINE_Sync


# Keywords of the versions before 1.0, and their replacements.
REMOVED = {
    "enable_profiling": "profiling_engine=gpufl.ProfilingEngine.PcSampling (for False: "
    "profiling_engine=gpufl.ProfilingEngine.Monitor)",
    "enable_perf_scope": "profiling_engine=gpufl.ProfilingEngine.RangeProfiler",
    "remote_config": "backend_url",
}


def _did_you_mean(word: str, words: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, words, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _check_keywords(options: dict[str, Any]) -> None:
    names = {row[0] for row in _capture.options()}
    for key in options:
        if key in REMOVED:
            raise TypeError(f"init() got an unexpected keyword argument {key!r}: it was removed; use {REMOVED[key]}")
        if key not in names:
            raise TypeError(f"init() got an unexpected keyword argument {key!r}" + _did_you_mean(key, sorted(names)))


def _rename(options: dict[str, Any], stacklevel: int) -> None:
    """Accepts the old name of continuous_system_sampling."""
    if "sampling_auto_start" not in options:
        return
    if "continuous_system_sampling" in options:
        raise TypeError("init() got both continuous_system_sampling and its old name sampling_auto_start")
    warnings.warn("sampling_auto_start is now named continuous_system_sampling", DeprecationWarning, stacklevel)
    options["continuous_system_sampling"] = options.pop("sampling_auto_start")


def _truthy(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on")


NOT_UPLOADED = "the session was not uploaded"
_uploads_at_exit: list[int] = []  # the process that has the handler; empty: none


def _wants_upload(options: dict[str, Any]) -> bool:
    wanted = options.get("remote_upload")
    return _truthy(os.environ.get("GPUFL_REMOTE_UPLOAD", "")) if wanted is None else wanted is True


def _upload_at_exit(options: dict[str, Any], stacklevel: int, began: bool) -> None:
    """remote_upload: warns, and uploads when the interpreter ends."""
    try:
        warnings.warn(
            "remote_upload is deprecated: call gpufl.upload_logs() after gpufl.shutdown(), or use gpufl.session(...). "
            "The session is uploaded when the program ends",
            DeprecationWarning,
            stacklevel,
        )
    except DeprecationWarning:  # warnings are errors: init raises, and begins nothing
        if began:
            shutdown()
        raise
    if os.getpid() in _uploads_at_exit:
        return
    import atexit

    _uploads_at_exit[:] = [os.getpid()]
    target = {key: options[key] for key in ("backend_url", "api_key", "api_path") if options.get(key) is not None}
    atexit.register(_at_exit, os.getpid(), target)


def _at_exit(pid: int, target: dict[str, Any]) -> None:
    if os.getpid() != pid:  # a child of fork, whose parent uploads
        return
    shutdown()
    result = upload_logs(**target)
    if not result:
        print(f"gpufl: {NOT_UPLOADED}: {result.message}", file=sys.stderr)


def init(**options: Unpack[Options]) -> bool:
    """Starts the session of this process; True if capture runs.

    Every option of docs/options.md is a keyword. A keyword takes precedence over GPUFL_* of the environment and the config file,
    even with the default as its value; None counts as not given. False: capture is disabled (enabled=False, or GPUFL_DISABLED=1 in
    the environment, which takes precedence), or the session could not begin, which the library says on stderr; every later
    call does nothing then. While a session runs, init changes nothing and returns True.

    TypeError for an unknown keyword or a wrong type, ValueError for a number out of range.
    """
    return _init(dict(options), 4)


def _init(given: dict[str, Any], stacklevel: int) -> bool:
    _rename(given, stacklevel)
    _check_keywords(given)
    upload = _wants_upload(given)
    taken = {**given, "remote_upload": False} if upload else given  # the library would say that it has no effect
    began = not active()
    if not _capture.init(**taken):
        return False
    if upload:
        _upload_at_exit(given, stacklevel, began)
    return True


class UploadResult:
    """The result of upload_logs. It is true in a condition if the server has everything."""

    __slots__ = ("success", "events_uploaded", "message", "code")

    def __init__(self, code: int, events_uploaded: int, message: str) -> None:
        self.success = code == 0
        self.events_uploaded = events_uploaded  # lines that the server accepted in this call
        self.message = message  # why not all was sent; "" on success
        self.code = code  # an error code of gpufl.h; 0 on success

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        return f"UploadResult(success={self.success}, events_uploaded={self.events_uploaded}, message={self.message!r})"


def upload_logs(
    log_path: str | os.PathLike[str] | None = None,
    backend_url: str | None = None,
    api_key: str | None = None,
    api_path: str | None = None,
    *,
    timeout_ms: int = 0,
    unreachable_ms: int = 0,
) -> UploadResult:
    """Sends all sessions below log_path (None: the last session's) to a server, and waits without Python's lock.
    Defaults are those of gpufl.init. timeout_ms limits the whole call (0: 5 minutes), unreachable_ms the attempts to
    reach a server that never answers (0: 15 s). Call it after shutdown. Only wrong types raise; failures are in the
    result. If capture is disabled nothing is sent, and success is True.
    """
    return UploadResult(*_capture.upload_logs(log_path, backend_url, api_key, api_path, timeout_ms, unreachable_ms))


def generate_report(output_path: str | os.PathLike[str] = "") -> bool:
    """Writes the text report of the running or last session to a file; "": its first screen to stdout."""
    if not os.fspath(output_path):
        sys.stdout.flush()
    return _capture.generate_report(output_path) == 0


def _warn(what: str, code: int, stacklevel: int, reasons: dict[int, str] | None = None) -> None:
    """Warns why a call did nothing: with the meaning of the code for this call, else its meaning for all calls."""
    why = (reasons or {}).get(code) or _capture.error_text(code)
    warnings.warn(f"{what}: {why}", RuntimeWarning, stacklevel + 1)


def system_start(name: str = "system") -> bool:
    """Begins to sample devices and host, if they are not sampled all the time. False if no session runs."""
    code = _capture.system_start(name)
    if code and active():
        _warn(f"system_start({name!r})", code, 2)
    return code == 0


def system_stop(name: str = "system") -> bool:
    """Ends the sampling that the system_start of that name began. False if no session runs, or if there was no such system_start (a warning)."""
    code = _capture.system_stop(name)
    if code and active():
        _warn(f"system_stop({name!r})", code, 2, {_capture.E_INVAL: "there was no system_start() of that name"})
    return code == 0


class window:  # noqa: N801 - used as a function
    """A window of capture: `with gpufl.window("name"):`, in a session with windows=True. Enters with True if the window
    is open. Does nothing if no session runs; gives a RuntimeWarning if the engine does not start or the session has no
    windows.
    """

    def __init__(self, name: str = "window") -> None:
        if not isinstance(name, str):
            raise TypeError(f"window(): name must be a str, not {name!r}")
        self.name = name
        self._opened = 0

    def __enter__(self) -> bool:
        code = _capture.window_open(self.name)
        if code == 0:
            self._opened += 1
        elif active():
            _warn(f"window({self.name!r}) does not open", code, 2,
                  {_capture.E_STATE: "the session has no windows; init(windows=True) begins one that has"})
        return code == 0

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened:
            self._opened -= 1
            _capture.window_close(self.name)


class session:  # noqa: N801 - used as a function
    """A session as a block: `with gpufl.session(app_name="x", backend_url=…) as s:`.

    Takes the keywords of init. The session ends with the block, however the block is left. Then it is uploaded if a
    server is known (backend_url as a keyword, in GPUFL_BACKEND_URL or in the config file), unless upload=False.
    s.active, s.id and s.dir describe the session; s.upload is the UploadResult after the block, or None if nothing was
    sent. An upload that fails is a RuntimeWarning. If a session runs already (of init, of a block around this one, of
    `gpufl trace`), the block is part of it: that session continues afterwards and is not uploaded here, with a
    RuntimeWarning if an upload was wanted.
    """

    def __init__(self, *, upload: bool | None = None, **options: Unpack[Options]) -> None:
        self._options: dict[str, Any] = dict(options)
        self._wanted = upload
        self.active = self._began = False
        self.id = self.dir = ""
        self.upload: UploadResult | None = None

    def __enter__(self) -> session:
        self._began = not active()
        self.active = _init(dict(self._options), 4)
        if self.active:
            self.id, self.dir = session_id(), session_dir()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.active:
            return
        self.active = False
        if self._began:
            shutdown()
        known = self._options.get("backend_url") or _capture.backend_url()
        if not (known if self._wanted is None else self._wanted):
            return
        if not self._began:
            self._say(f"{NOT_UPLOADED}: it began before the block, and goes on", error)
            return
        self.upload = upload_logs()
        if not self.upload:
            self._say(f"{NOT_UPLOADED}: {self.upload.message}", error)

    @staticmethod
    def _say(text: str, error: BaseException | None) -> None:
        if error is None:
            warnings.warn(text, RuntimeWarning, 3)
        else:  # a warning may be turned into an exception, which must not hide the program's own
            print(f"gpufl: {text}", file=sys.stderr)
