"""Processes and interpreters: fork, spawn, subinterpreters, ends in the middle; windows and sessions as blocks."""
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import BEGIN, PATIENCE, Log

import gpufl


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="a fork inherits the locks of ASan's allocator (GCC 12), "
                    "and the child waits for one that a thread of its parent held")
def test_a_child_of_fork_has_no_session_until_it_starts_one(run, tmp_path):
    out = run(BEGIN + """
import sys
assert begin(app_name="parent")
scope = gpufl.Scope("open at the fork")
scope.__enter__()
loop = iter(gpufl.Scope("loop", repeat=3))
next(loop)
child = os.fork()
if child == 0:
    ok = not gpufl.active()
    with gpufl.Scope("silent"):
        pass
    ok = ok and begin(app_name="child")
    with gpufl.Scope("of the child"):
        pass
    scope.__exit__(None, None, None)  # the parent's: nothing happens
    del loop
    gpufl.shutdown()
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
assert gpufl.active()
scope.__exit__(None, None, None)
list(loop)
print(gpufl.session_dir())
""")
    parent = pathlib.Path(out.stdout.strip())
    (child,) = [folder for folder in (tmp_path / "logs").iterdir() if folder != parent]
    assert {row["name"] for row in Log(parent).scopes()} == {"open at the fork", "loop"}
    assert {row["name"] for row in Log(child).scopes()} == {"of the child"}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    (tmp_path / "program.py").write_text(BEGIN + f"""
import multiprocessing
def work(number):
    assert begin(app_name=f"worker {{number}}")
    with gpufl.Scope("work", str(number)):
        pass
    gpufl.shutdown()
    return number
if __name__ == "__main__":
    assert begin(app_name="main")
    with multiprocessing.get_context("{method}").Pool(2, maxtasksperchild=1) as pool:
        assert pool.map(work, range(4), 1) == [0, 1, 2, 3]
    assert gpufl.active()
""")
    env = dict(os.environ, LOGS=str(tmp_path / "logs"))
    subprocess.run([sys.executable, tmp_path / "program.py"], env=env, check=True, timeout=PATIENCE)
    log = Log(tmp_path / "logs")
    assert len({line["session"] for line in log.lines if line["type"] == "header"}) == 5
    # Names are ids that differ between sessions: count rows.
    assert sum(line["rows"] for line in log.lines if line["type"] == "scope") == 4


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "os._exit(0)", "raise SystemExit"])
def test_the_end_of_the_program_ends_the_session(run, tmp_path, end):
    run(BEGIN + f"""
import sys
assert begin()
with gpufl.Scope("done"):
    pass
{end}
""")
    log = Log(tmp_path / "logs")
    assert len(log.scopes("done")) == 1 or end == "os._exit(0)"
    assert log.rows("end") or end == "os._exit(0)"


def test_objects_that_die_with_the_interpreter(run):
    done = run(BEGIN + """
import threading
assert begin()
kept = gpufl.Scope("kept")
kept.__enter__()
loop = iter(gpufl.Scope("loop", repeat=5))
next(loop)
class Late:
    def __del__(self):
        with gpufl.Scope("late"):
            pass
        gpufl.shutdown()
late = Late()
stop = threading.Event()
def work():
    while not stop.is_set():
        with gpufl.Scope("thread"):
            pass
threading.Thread(target=work, daemon=True).start()
""", options=("-X", "faulthandler"))
    assert "Traceback" not in done.stderr and "Fatal" not in done.stderr


def test_subinterpreters(run, tmp_path):
    run(BEGIN + """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
assert begin()
def create():
    try:
        return interpreters.create(isolated=False)
    except TypeError:
        return interpreters.create("legacy")
for number in range(3):
    inner = create()
    failed = interpreters.run_string(inner, '''
import gpufl
assert gpufl.active()
with gpufl.Scope("inner"):
    pass
assert list(gpufl.Scope("loop", repeat=2)) == [0, 1]
@gpufl.Scope("decorated")
def f():
    return 5
assert f() == 5
''')
    assert failed is None, failed
    interpreters.destroy(inner)
with gpufl.Scope("outer"):
    pass
""")
    names = [row["name"] for row in Log(tmp_path / "logs").scopes()]
    assert sorted(names) == ["decorated"] * 3 + ["inner"] * 3 + ["loop"] * 3 + ["outer"]


def test_threads_that_begin_and_end_sessions_at_once(run):
    run(BEGIN + """
import threading
def work():
    for _ in range(5):
        begin()
        with gpufl.Scope("a"):
            pass
        gpufl.shutdown()
threads = [threading.Thread(target=work) for _ in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not gpufl.active()
""")


# ---- blocks -------------------------------------------------------------------------------------


def test_windows(run, tmp_path):
    """With the fake driver and CUPTI of tests/fake: two of four launches are in the window."""
    fake = pathlib.Path(gpufl.__file__).parents[2] / "fake"
    out = run("""
import ctypes, os, gpufl
assert gpufl.init(log_path=os.environ["LOGS"], backend=gpufl.BackendKind.Nvidia, windows=True,
                  profiling_engine=gpufl.ProfilingEngine.Trace)
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
def launch():
    assert cuda.cuLaunchKernel(ctypes.c_char_p(b"work"), 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
launch()
window = gpufl.window("step 5")
with window as first, window as second:
    assert first is True and second is True
    launch()
    launch()
launch()
cuda.cuCtxSynchronize()
""", LD_LIBRARY_PATH=str(fake), GPUFL_CUPTI_PATH=str(fake))
    log = Log(tmp_path / "logs")
    assert len(log.rows("kernel")) == 2, out.stderr
    assert "step 5" in {row["name"] for row in log.rows("window")}


def test_a_window_without_windows_warns_and_the_block_runs(begin):
    assert begin()
    with pytest.warns(RuntimeWarning, match="the session has no windows; init\\(windows=True\\)"):
        with gpufl.window() as opened:
            assert opened is False
    gpufl.shutdown()
    with pytest.raises(KeyError, match="mine"), gpufl.window("no session"):
        raise KeyError("mine")


def test_system_windows(begin):
    assert begin(system_sample_rate_ms=20)
    assert gpufl.system_start("phase") and gpufl.system_stop("phase")
    with pytest.warns(RuntimeWarning, match="'never begun'.*: there was no system_start"):
        assert gpufl.system_stop("never begun") is False
    for wrong in (None, 5, "a\0"):
        with pytest.raises((TypeError, ValueError)):
            gpufl.system_start(wrong)


def test_session_block(tmp_path):
    with gpufl.session(log_path=tmp_path, backend=gpufl.BackendKind.Sim, app_name="block") as session:
        assert session.active and gpufl.active() and session.id == gpufl.session_id()
    assert not gpufl.active() and session.upload is None
    assert pathlib.Path(session.dir).parent == tmp_path and Log(tmp_path).rows("end")


def test_a_session_block_in_a_session_is_part_of_it(begin, log, failing, monkeypatch):
    monkeypatch.setenv("GPUFL_CLI", failing)
    assert begin(app_name="outer")
    with gpufl.session(app_name="inner") as session, gpufl.Scope("inside"):
        assert session.active and session.id == gpufl.session_id()
    assert gpufl.active() and session.upload is None
    with pytest.warns(RuntimeWarning, match="not uploaded: it began before the block, and goes on"):
        with gpufl.session(backend_url="http://127.0.0.1:1") as session:
            pass
    assert gpufl.active() and session.upload is None
    with gpufl.Scope("after"):
        pass
    assert {row["name"] for row in log().scopes()} == {"inside", "after"}


def test_session_block_that_is_off(tmp_path):
    with gpufl.session(log_path=tmp_path, enabled=False, backend_url="http://127.0.0.1:1") as session:
        assert not session.active
    assert session.upload is None and not list(tmp_path.iterdir())


@pytest.fixture
def failing(tmp_path):
    """A native gpufl that fails at once, since trying to reach a server that does not answer takes 15 s."""
    path = tmp_path / "failing"
    path.write_text("#!/bin/sh\necho 'no server' >&2\nexit 1\n")
    path.chmod(0o755)
    return str(path)


def test_an_upload_that_fails_warns(tmp_path, failing, monkeypatch):
    monkeypatch.setenv("GPUFL_CLI", failing)
    options = {"log_path": tmp_path, "backend": gpufl.BackendKind.Sim, "backend_url": "http://127.0.0.1:1"}
    with pytest.warns(RuntimeWarning, match="not uploaded"):
        with gpufl.session(**options) as session:
            pass
    assert session.upload is not None and not session.upload and session.upload.code < 0 and session.upload.message


def test_the_config_files_server_takes_the_session(tmp_path, monkeypatch):
    """The session is sent with the file's key, and so it is by upload_logs after shutdown."""
    asked, cli, config = tmp_path / "asked", tmp_path / "cli", tmp_path / "config.json"
    cli.write_text(f"#!/bin/sh\necho $GPUFL_BACKEND_URL $GPUFL_API_KEY >> {asked}\necho '{{\"result\": \"all\"}}'\n")
    cli.chmod(0o755)
    config.write_text('{"backend_url": "https://named.test", "api_key": "gpfl_named"}')
    monkeypatch.setenv("GPUFL_CLI", str(cli))
    options = {"log_path": tmp_path / "logs", "backend": gpufl.BackendKind.Sim, "config_file": config}
    with gpufl.session(upload=False, **options) as session:
        pass
    assert session.upload is None and not asked.exists()
    with gpufl.session(**options) as session:
        pass
    assert session.upload and asked.read_text() == "https://named.test gpfl_named\n"
    assert gpufl.upload_logs() and asked.read_text() == "https://named.test gpfl_named\n" * 2
    assert gpufl.upload_logs(backend_url="https://other.test")
    assert asked.read_text().endswith("\nhttps://other.test\n")
    with gpufl.session(log_path=tmp_path / "logs", backend=gpufl.BackendKind.Sim) as session:
        pass
    assert session.upload is None


def test_a_server_that_is_not_there(begin, tmp_path):
    assert begin()
    gpufl.shutdown()
    result = gpufl.upload_logs(tmp_path / "logs", "http://127.0.0.1:1", "key", unreachable_ms=1)
    assert not result and result.code < 0 and "127.0.0.1" in result.message


def test_the_programs_exception_comes_before_a_failed_upload(run, failing):
    done = run(BEGIN + """
with gpufl.session(log_path=os.environ["LOGS"], backend=gpufl.BackendKind.Sim, backend_url="http://127.0.0.1:1"):
    raise KeyError("mine")
""", expect=1, options=("-W", "error"), GPUFL_CLI=failing)
    assert done.stderr.rstrip().endswith("KeyError: 'mine'")
    assert "not uploaded" in done.stderr and "During handling" not in done.stderr


def test_upload_arguments():
    for wrong in ({"timeout_ms": "x"}, {"backend_url": 5}, {"nope": 1}):
        with pytest.raises(TypeError):
            gpufl.upload_logs(**wrong)
    for name in ("timeout_ms", "unreachable_ms"):
        with pytest.raises(TypeError, match=f"{name} must be an int, not True"):
            gpufl.upload_logs(**{name: True})
        for wrong in (-1, 1 << 40):
            with pytest.raises(ValueError, match=f"{name} must be from 0 to"):
                gpufl.upload_logs(**{name: wrong})


def test_upload_without_a_session(run):
    run("""
import gpufl
result = gpufl.upload_logs(backend_url="http://127.0.0.1:1")
assert not result and result.code < 0 and result.message and result.events_uploaded == 0
""")


@pytest.mark.parametrize("how", ["keyword", "environment"])
def test_remote_upload_warns_and_uploads_at_exit(run, tmp_path, how):
    """The test's own gpufl records that it ran after the session had ended."""
    recorded = tmp_path / "recorded"
    command = tmp_path / "gpufl"
    command.write_text(f'#!/bin/sh\ncat "$LOGS"/*/system*.log >"{recorded}" 2>/dev/null\necho "$@" >>"{recorded}"\n')
    command.chmod(0o755)
    environment = {"GPUFL_CLI": str(command)} | ({"GPUFL_REMOTE_UPLOAD": "1"} if how == "environment" else {})
    keyword = "remote_upload=True, " if how == "keyword" else ""
    done = run(BEGIN + f"""
assert begin({keyword}backend_url="http://127.0.0.1:9")
begin({keyword}backend_url="http://127.0.0.1:9")
if os.fork() == 0:
    raise SystemExit(0)  # a child's end uploads nothing
os.wait()
assert not os.path.exists({str(recorded)!r})
""", options=("-W", "always"), **environment)
    assert "DeprecationWarning: remote_upload" in done.stderr and "has no effect" not in done.stderr
    text = recorded.read_text()
    assert "upload" in text and '"type":"end"' in text


def test_a_failed_upload_at_exit_is_said(run, failing):
    done = run(BEGIN + """
assert begin(remote_upload=True, backend_url="http://127.0.0.1:9")
""", GPUFL_CLI=failing)
    assert "gpufl: the session was not uploaded: " in done.stderr


def test_remote_upload_where_warnings_are_errors(run):
    run(BEGIN + """
try:
    begin(remote_upload=True)
except DeprecationWarning:
    assert not gpufl.active()
else:
    raise SystemExit("no error")
assert begin()
try:
    begin(remote_upload=True)
except DeprecationWarning:
    assert gpufl.active()  # what runs goes on
""", options=("-W", "error::DeprecationWarning"))


# ---- the command --------------------------------------------------------------------------------


def test_python_m_gpufl_is_the_native_command(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gpufl", "--version"], capture_output=True, text=True, check=True)
    assert gpufl.__version__ in done.stdout
    env = dict(os.environ, GPUFL_CLI=str(tmp_path / "none"))
    done = subprocess.run([sys.executable, "-m", "gpufl", "info"], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 1 and "none" in done.stderr and "Traceback" not in done.stderr
