"""gpufl.init: every option is a keyword; mistakes are reported; with capture disabled nothing happens."""
import pathlib
import re
import warnings

import pytest
from conftest import Log

import gpufl
from gpufl import _capture

SOURCE = pathlib.Path(__file__).resolve().parents[3]


def options_of_table():
    text = (SOURCE / "schema/options.def").read_text()
    return re.findall(r"(?m)^OPTION\((\w+), (\w+),", text)


def options_of_log(log):
    return {row["name"]: (row["value"], row["source"]) for row in log.rows("option")}


def test_every_option_of_the_table_is_a_keyword():
    kinds = {"STR": "str", "BOOL": "bool", "INT": "int", "BACKEND": "BackendKind", "ENGINE": "ProfilingEngine"}
    assert [(kinds[kind], name) for kind, name in options_of_table()] == [(row[1], row[0]) for row in _capture.options()]


def test_what_is_given_is_what_the_session_has(begin, log):
    assert begin(app_name="näme", flush_interval_ms=50, windows=False, log_rotate_bytes=1 << 20, run_id="r-1",
                 enable_memory_tracking=True, system_sample_rate_ms=20, flush_logs_always=None) is True
    options = options_of_log(log())
    assert options["app_name"] == ("näme", "code")
    assert options["flush_interval_ms"] == ("50", "code")
    assert options["log_rotate_bytes"] == (str(1 << 20), "code")
    assert options["windows"] == ("false", "code")  # set in code, though with the default value
    assert options["run_id"] == ("r-1", "code")
    assert options["enable_memory_tracking"] == ("true", "code")
    assert options["backend"] == ("Sim", "code")
    assert options["profiling_engine"] == ("Trace", "code")
    assert options["flush_logs_always"] == ("false", "default")  # None counts as not given


def test_code_beats_the_environment(begin, log, monkeypatch):
    monkeypatch.setenv("GPUFL_FLUSH_INTERVAL_MS", "77")
    monkeypatch.setenv("GPUFL_LAUNCH_STACKS", "true")
    assert begin(flush_interval_ms=200)
    options = options_of_log(log())
    assert options["flush_interval_ms"] == ("200", "code")
    assert options["launch_stacks"] == ("true", "environment")


@pytest.mark.parametrize("keyword, says", [
    ("enable_profiling", "profiling_engine=gpufl.ProfilingEngine.PcSampling"),
    ("enable_perf_scope", "profiling_engine=gpufl.ProfilingEngine.RangeProfiler"),
    ("remote_config", "backend_url"),
])
def test_removed_keywords_name_the_new_one(keyword, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        gpufl.init(**{keyword: True})
    assert not gpufl.active()


def test_unknown_keywords():
    with pytest.raises(TypeError, match="unexpected keyword argument 'system_sample_rate'; did you mean 'system_sample_rate_ms'"):
        gpufl.init(system_sample_rate=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'zzz'$"):
        gpufl.init(zzz=1)
    with pytest.raises(TypeError):
        gpufl.init("app")


@pytest.mark.parametrize("options, error, says", [
    ({"app_name": 3}, TypeError, "app_name must be a str"),
    ({"app_name": "a\0b"}, ValueError, "null character"),
    ({"log_path": ["x"]}, TypeError, "log_path must be a str"),
    ({"enabled": 1}, TypeError, "enabled must be True or False"),
    ({"windows": "yes"}, TypeError, "windows must be True or False"),
    ({"system_sample_rate_ms": "5"}, TypeError, "system_sample_rate_ms must be an int"),
    ({"system_sample_rate_ms": True}, TypeError, "must be an int"),
    ({"system_sample_rate_ms": -1}, ValueError, "from 0 to"),
    ({"system_sample_rate_ms": 1 << 80}, ValueError, "from 0 to"),
    ({"pm_sampling_interval_us": 1}, ValueError, "from 10 to 1000000"),
    ({"flush_interval_ms": 2.5}, TypeError, "must be an int"),
    ({"profiling_engine": "Trace"}, TypeError, "a gpufl.ProfilingEngine"),
    ({"backend": None, "profiling_engine": 1 << 40}, ValueError, "there is no value"),
    ({"profiling_engine": 1 << 80}, ValueError, "there is no value"),
    ({"profiling_engine": max(gpufl.ProfilingEngine) + 1}, ValueError, "there is no value"),
    ({"backend": -1}, ValueError, "there is no value -1"),
])
def test_wrong_values(options, error, says):
    with pytest.raises(error, match=re.escape(says)):
        gpufl.init(**options)
    assert not gpufl.active()


def test_the_old_name_of_an_option(begin, log):
    with pytest.warns(DeprecationWarning, match="continuous_system_sampling") as caught:
        assert begin(sampling_auto_start=True)
    assert len(caught) == 1
    assert options_of_log(log())["continuous_system_sampling"] == ("true", "code")
    with pytest.raises(TypeError, match="both"):
        gpufl.init(sampling_auto_start=True, continuous_system_sampling=True)


def test_the_warning_names_the_callers_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gpufl.init(enabled=False, sampling_auto_start=True)
    assert caught[0].filename == __file__


def test_none_backend(begin, log):
    assert gpufl.BackendKind.None_ == 3
    assert begin(backend=gpufl.BackendKind.None_)
    assert options_of_log(log())["backend"] == ("None", "code")


def test_engines_are_the_librarys():
    text = (SOURCE / "schema/engines.def").read_text()
    assert [engine.name for engine in gpufl.ProfilingEngine] == re.findall(r'(?m)^ENGINE\(\w+, "(\w+)"', text)
    assert [int(engine) for engine in gpufl.ProfilingEngine] == list(range(len(gpufl.ProfilingEngine)))


@pytest.mark.parametrize("text", ["1", "true", "YES", "on"])
def test_disabled_by_the_environment(begin, tmp_path, monkeypatch, text):
    monkeypatch.setenv("GPUFL_DISABLED", text)
    assert begin(enabled=True) is False
    nothing_happens(tmp_path)


def test_disabled_by_the_keyword(begin, tmp_path):
    assert begin(enabled=False) is False
    nothing_happens(tmp_path)


def nothing_happens(tmp_path):
    assert not gpufl.active()
    with gpufl.Scope("a", "b") as scope:
        assert scope.name == "a"
    assert list(gpufl.Scope("loop", repeat=2, warmup=1)) == [-1, 0, 1]
    assert gpufl.system_start() is False and gpufl.system_stop() is False
    with gpufl.window("w") as opened:
        assert opened is False
    result = gpufl.upload_logs(tmp_path, "http://127.0.0.1:1")  # no server listens on this port
    assert result.success and result.events_uploaded == 0 and bool(result)
    gpufl.shutdown()
    assert not (tmp_path / "logs").exists()


def test_init_twice_and_shutdown_twice(begin, log):
    assert begin(app_name="first")
    first = gpufl.session_id()
    assert begin(app_name="second")
    assert gpufl.session_id() == first
    gpufl.shutdown()
    gpufl.shutdown()
    assert not gpufl.active()
    assert len({line["session"] for line in log().lines if line["type"] == "header"}) == 1


def test_a_folder_that_cannot_be_written_is_no_exception(capfd, tmp_path):
    (tmp_path / "file").write_text("")
    assert gpufl.init(log_path=tmp_path / "file" / "logs", backend=gpufl.BackendKind.Sim) is False
    assert "file" in capfd.readouterr().err


def test_a_path_that_is_no_utf8(begin, tmp_path):
    folder = tmp_path / "l\udcff"
    assert begin(log_path=folder)
    gpufl.shutdown()
    assert Log(folder).rows("option")
