"""gpufl.analyzer and gpufl.report: recorded sessions, sessions of the tests' own, and bad ones."""
import gc
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import time
import warnings

import numpy
import pandas
import pytest
from conftest import PATIENCE, Log

import gpufl
from gpufl import _native
from gpufl.analyzer import GpuFlightSession
from gpufl.report import TextReport, generate_report

SOURCE = pathlib.Path(__file__).resolve().parents[3]
TRAIN = SOURCE / "examples/data/train_loop"
SYNC = SOURCE / "tests/data/sessions/sync"
PEER = SOURCE / "tests/data/peer"


def test_a_recorded_session_against_its_log():
    session, log = GpuFlightSession(TRAIN), Log(TRAIN)
    kernels, rows = session.kernels, log.rows("kernel")
    assert len(kernels) == len(rows) == 10000
    assert kernels.duration_ns.dtype == kernels.start_ns.dtype == numpy.int64
    assert kernels.duration_ns.sum() == sum(row["duration"] for row in rows)
    assert kernels.device_id.dtype == kernels.num_regs.dtype == numpy.int32 and kernels.occupancy.dtype == numpy.float32
    assert (kernels.end_ns - kernels.start_ns == kernels.duration_ns).all()
    assert numpy.diff(kernels.start_ns[:100]).tolist() == numpy.diff([row["start"] for row in rows[:100]]).tolist()
    configs = {row["id"]: row for row in log.rows("config")}
    first = configs[rows[0]["config"]]
    assert kernels.num_regs[0] == first["registers"]
    assert kernels.grid[0] == f"({first['grid_x']},{first['grid_y']},{first['grid_z']})"
    assert kernels.occupancy[0] == first["occ_warps"] / first["occ_max_warps"]
    names = {row["instance"]: row["name"] for row in log.scopes()}
    assert kernels.user_scope.fillna("").tolist() == [names.get(row["scope"], "") for row in rows]
    assert len(session.memcpy) == len(log.rows("memcpy")) and len(session.syncs) == len(log.rows("sync"))
    assert len(session.device_metrics) == len(log.rows("device_metric"))
    assert session.app_name == "train_loop" and session.session_start_ns < kernels.start_ns[0] < session.session_end_ns


def test_unknown_is_not_zero():
    metrics, rows = GpuFlightSession(TRAIN).device_metrics, Log(TRAIN).rows("device_metric")
    unknown = [row.get("energy") is None for row in rows]
    assert any(unknown) and metrics.energy_mj.isna().tolist() == unknown
    assert str(metrics.energy_mj.dtype) == "Int64"


def test_scope_events_have_repeat_and_the_mean_of_an_iteration(begin, tmp_path):
    assert begin()
    for _ in gpufl.Scope("loop", repeat=4, warmup=1):
        pass
    gpufl.shutdown()
    events = GpuFlightSession(tmp_path / "logs").scope_events
    (row,) = events[events.name == "loop"].itertuples()
    assert (row.repeat, row.warmup) == (4, 1) and row.mean_ns == row.duration_ns / 4


def test_scopes_of_two_engines_in_one_session(tmp_path):
    subprocess.run([_native.command(), "sim", "-k", "300", "-e", "Deep", "-o", tmp_path], capture_output=True, check=True)
    session = GpuFlightSession(tmp_path)
    samples, counts, scopes = session.frame("pc_samples"), session.frame("sass_metrics"), session.scopes
    assert len(samples) and len(counts) and scopes.sample_kind.tolist() == ["pc_sampling"] * len(samples) + ["sass_metric"] * len(counts)
    for part, other, own in ((scopes[:len(samples)], samples, "metric_value"), (scopes[len(samples):], counts, "sample_count")):
        assert part[own].isna().all() and str(scopes[own].dtype) == "Int64"
        for column in other:
            assert part[column].isna().tolist() == other[column].isna().tolist(), column
            assert part[column].dropna().tolist() == other[column].dropna().tolist(), column
            assert (str(other[column].dtype) == "category") == (str(scopes[column].dtype) == "category"), column


def test_types_of_frames_do_not_depend_on_their_rows(begin, tmp_path):
    assert begin(backend=gpufl.BackendKind.None_)  # a simulated GPU would run kernels by itself
    gpufl.shutdown()
    empty, full = GpuFlightSession(tmp_path / "logs"), GpuFlightSession(TRAIN)
    for name in ("scopes", "idle", "insights"):
        kinds = [{column: str(kind).lower() for column, kind in getattr(session, name).dtypes.items()} for session in (empty, full)]
        assert kinds[0] == kinds[1], name
    assert not len(empty.insights) and empty.insights.in_library.dtype == bool and empty.insights.gives_back_share.dtype == float


def test_profile_samples_and_counters():
    engines = SOURCE / "examples/data/train_loop_engines"
    samples = GpuFlightSession(engines / "2-PcSampling").scopes
    rows = Log(engines / "2-PcSampling").rows("pc_sample")
    assert samples.sample_count.sum() == sum(row["samples"] for row in rows) > 0
    assert set(samples.sample_kind) == {"pc_sampling"} and samples.function_name.notna().all()
    assert set(GpuFlightSession(engines / "3-SassMetrics").scopes.sample_kind) == {"sass_metric"}
    assert (GpuFlightSession(engines / "4-RangeProfiler").perf.value.dropna() >= 0).any()
    counted = GpuFlightSession(SOURCE / "examples/data/train_loop_kernels")
    assert set(counted.perf.kernel.dropna()) <= set(counted.kernels.name)  # both frames have equal names


def test_marks_have_their_domain_scope_and_payload(tmp_path):
    assert len(GpuFlightSession(TRAIN).marks) == 0  # this log is older than marks
    shutil.copytree(TRAIN, tmp_path / "logs")
    part = next((tmp_path / "logs").rglob("scope.*"))
    scope = Log(TRAIN).scopes()[0]
    lines = [{"type": "names", "rows": 3, "id": [90001, 90002, 90003], "text": ["epoch 1 begins", "<b>loss", "nvtx"]},
             {"type": "mark", "rows": 3, "start": [scope["start"], 1000, 2000], "name": [90001, 90002, 90001], "tag": [90003, 90003, 0], "thread": 7,
              "scope": [0, scope["instance"], -scope["instance"]], "value": [None, 625, -3], "exponent": [None, -4, 0]}]
    part.write_bytes(gzip.compress(gzip.decompress(part.read_bytes()) + "".join(json.dumps(line) + "\n" for line in lines).encode()))
    session = GpuFlightSession(tmp_path / "logs")
    marks = session.marks
    assert marks.name.tolist() == ["epoch 1 begins", "<b>loss", "epoch 1 begins"]
    assert marks.tag.astype(object).fillna("").tolist() == ["nvtx", "nvtx", ""] and marks.thread_id.tolist() == [7, 7, 7]
    assert marks.user_scope.astype(object).fillna("").tolist() == ["", scope["name"], ""] and marks.scope_id[1] == scope["instance"]
    assert numpy.isnan(marks.value[0]) and marks.value[1:].tolist() == [0.0625, -3]
    assert (marks.ts_ns - marks.ts_ns[0]).tolist() == [0, 1000, 3000]
    events = session.scope_events
    assert marks.ts_ns[0] == events[events.scope_instance_id == scope["instance"]].start_ns.iloc[0]
    assert "marks" in session.tables() and session.answer["marks"]["count"] == 3


def test_the_public_clients_session():
    session = GpuFlightSession(PEER)
    events = session.scope_events
    assert events.mean_ns.dtype == numpy.float64 and (events.mean_ns.isna() == events.repeat.isna()).all()
    assert len(session.kernels) > 0 and session.kernels.name.notna().all() and len(session.scope_events) > 0


def test_the_public_analyzers_columns():
    """The frames have the names and units of the public analyzer's; a value that the log does not have is unknown."""
    session = GpuFlightSession(TRAIN)
    kernels = {"session_id", "start_ns", "end_ns", "duration_ns", "name", "stream_id", "corr_id", "dyn_shared_bytes", "num_regs",
               "grid", "block", "static_shared_bytes", "occupancy", "reg_occupancy", "smem_occupancy", "warp_occupancy",
               "block_occupancy", "limiting_resource", "local_mem_total_bytes", "local_mem_per_thread_bytes", "user_scope",
               "duration_ms"}
    assert kernels <= set(session.kernels) and set(session.kernels.session_id) == {session.session_id}
    assert {"session_id", "start_ns", "end_ns", "duration_ns", "stream_id", "bytes", "copy_kind", "corr_id", "throughput_gbps",
            "duration_ms"} <= set(session.memcpy)
    device, row = session.device_metrics, Log(TRAIN).rows("device_metric")[0]
    assert {"session_id", "ts_ns", "device_id", "gpu_util", "mem_util", "temp_c", "power_mw", "clock_sm"} <= set(device)
    assert device.used_mib[0] == row["memory_used"] / 2**20
    host, row = session.host_metrics, Log(TRAIN).rows("host_metric")[0]
    assert (host.ram_used_mib[0], host.ram_total_mib[0]) == (row["memory_used"] / 2**20, row["memory_total"] / 2**20)
    cpu = [row["cpu"] for row in Log(TRAIN).rows("host_metric")]
    known = [number for number, cell in enumerate(cpu) if cell is not None]
    assert known and host.cpu_pct[known[0]] == cpu[known[0]] / 100
    assert host.cpu_pct.isna().tolist() == [cell is None for cell in cpu]


def test_what_limits_occupancy():
    session, configs = GpuFlightSession(TRAIN), Log(TRAIN).rows("config")
    config = {row["id"]: row for row in configs}[Log(TRAIN).rows("kernel")[0]["config"]]
    warps = config["occ_warps"] / config["occ_blocks"]
    first = session.kernels.iloc[0]
    for column, limit in (("reg_occupancy", "regs"), ("smem_occupancy", "shared"), ("block_occupancy", "blocks"),
                          ("warp_occupancy", "warps")):
        assert first[column] == min(1, config[f"occ_limit_{limit}"] * warps / config["occ_max_warps"]), column
    shares = session.kernels[["reg_occupancy", "smem_occupancy", "warp_occupancy", "block_occupancy"]].min(axis=1)
    assert numpy.allclose(shares, session.kernels.occupancy)


def test_idle_is_the_reports():
    session = GpuFlightSession(TRAIN)
    lines = json.loads(native("report", "--json", "--top", 0, TRAIN))["idle"]["lines"]
    assert session.idle.idle_ns.sum() == sum(line["idle_ns"] for line in lines) > 0
    assert session.idle.idle_ns.is_monotonic_decreasing and set(lines[0]) <= set(session.idle)
    assert session.idle.place.dropna().tolist() == [line["place"] for line in sorted(lines, key=lambda line: -line["idle_ns"])
                                                    if line["place"]]
    assert str(session.idle.line.dtype) == "Int64"


def test_host_time_is_the_reports():
    session = GpuFlightSession(SYNC)
    known = json.loads(native("report", "--json", "--top", 0, SYNC))["host_time"]
    frame = session.host_time
    assert frame.time_ns.sum() == known["time_ns"] > 0 and frame.time_ns.is_monotonic_decreasing
    assert (frame.exact_ns + frame.estimated_ns).tolist() == frame.time_ns.tolist()
    assert set(known["lines"][0]) <= set(frame)
    for function, state, syscall, call in (("parse", "running", None, None), ("load", "blocked", "sleep", None),
                                           ("step", "gpu_wait", None, "stream")):
        row = frame[(frame.function == function) & (frame.state == state)].iloc[0]
        assert (row.syscall, row.call) == (syscall, call), function
    assert frame.function.tolist()[:2] == ["parse", "load"] and str(frame.line.dtype) == "Int64"
    empty = GpuFlightSession(TRAIN).host_time
    assert empty.empty and list(empty) == list(frame)


def test_the_summary_is_the_first_screen_of_the_report(capsys):
    GpuFlightSession(TRAIN).print_summary()
    screen, _, following = native("report", TRAIN).partition("\nNext: ")  # the command names the command that follows
    assert following and capsys.readouterr().out == screen != ""


def test_inspections_are_sections_of_the_report(capsys):
    session = GpuFlightSession(TRAIN)
    for call, section in ((session.inspect_scopes, "scopes"), (session.inspect_hotspots, "kernels"), (session.inspect_idle, "idle")):
        call(3)
        assert capsys.readouterr().out == native("report", "--section", section, "--top", 3, TRAIN) != ""
    GpuFlightSession(SYNC).inspect_host_time(3)
    assert capsys.readouterr().out == native("report", "--section", "host_time", "--top", 3, SYNC) != ""
    session.inspect_host_time()
    assert "No host time by line: kernels were recorded" in capsys.readouterr().out
    for call in (session.inspect_stalls, session.inspect_profile_samples, session.inspect_perf_metrics, session.inspect_pm_sampling):
        call()
        assert "has none of this; its engine was" in capsys.readouterr().out
    for folder, call, has in (("2-PcSampling", "inspect_stalls", "matmul"), ("3-SassMetrics", "inspect_profile_samples", "momentum"),
                              ("4-RangeProfiler", "inspect_perf_metrics", "sm__cycles_active")):
        getattr(GpuFlightSession(SOURCE / "examples/data/train_loop_engines" / folder), call)(0)
        assert has in capsys.readouterr().out, folder
    with pytest.raises(ValueError, match="top_n"):
        session.inspect_scopes(-1)
    with pytest.raises(TypeError, match="top_n"):
        session.inspect_hotspots("3")


def test_memory_is_shared_and_outlives_the_session():
    session = GpuFlightSession(TRAIN)
    kernels = session.frame("kernels", ["start_ns", "name", "duration_ns"])
    column = numpy.asarray(session._session.column("kernels", "start_ns"))
    assert numpy.shares_memory(column, kernels.start_ns.to_numpy()) and not column.flags.writeable
    before, total = kernels.start_ns[0], kernels.duration_ns.sum()
    del session, column
    gc.collect()
    assert kernels.start_ns[0] == before and kernels.duration_ns.sum() == total


def test_arrow_capsules():
    table = GpuFlightSession(TRAIN).arrow("kernels")
    capsule = table.__arrow_c_stream__()
    assert 'capsule object "arrow_array_stream"' in repr(capsule)
    del table, capsule  # a stream that nobody consumed is released
    gc.collect()


def test_all_rotated_parts(begin, tmp_path):
    assert begin(log_rotate_bytes=4096, flush_interval_ms=10)
    until, number = time.monotonic() + PATIENCE, 0
    while len(list((tmp_path / "logs").rglob("scope.*.log*"))) < 3:
        assert time.monotonic() < until
        for _ in range(100):
            number += 1
            with gpufl.Scope(f"scope {number}"):
                pass
    gpufl.shutdown()
    events = GpuFlightSession(tmp_path / "logs").scope_events
    assert len(events) > 0
    assert sorted(events.name) == sorted(row["name"] for row in Log(tmp_path / "logs").scopes())


def test_which_session(begin, tmp_path):
    ids = []
    for number in range(2):
        assert begin(app_name=f"app {number}")
        ids.append(gpufl.session_id())
        gpufl.shutdown()
    os.utime(next((tmp_path / "logs" / ids[0]).iterdir()), (1, 1))
    for path in (tmp_path / "logs" / ids[0]).iterdir():
        os.utime(path, (1, 1))
    assert GpuFlightSession(tmp_path / "logs").session_id == ids[1]
    assert GpuFlightSession(tmp_path / "logs", session_id=ids[0]).app_name == "app 0"
    assert GpuFlightSession(tmp_path / "logs", log_prefix="app 1").session_id == ids[1]
    with pytest.warns(RuntimeWarning, match="'app 0' names no session.* of 'app 1'"):
        assert GpuFlightSession(tmp_path / "logs", log_prefix="app 0").session_id == ids[1]
    with pytest.raises(FileNotFoundError, match="no session nope"):
        GpuFlightSession(tmp_path / "logs", session_id="nope")


def test_a_long_name_of_a_program(begin, tmp_path):
    name = "é" * 200  # 400 bytes, of which 255 are kept
    assert begin(app_name=name)
    gpufl.shutdown()
    app = GpuFlightSession(tmp_path / "logs").app_name
    assert len(app) == 127 and name.startswith(app)


@pytest.mark.parametrize("layout", ["nested", "flat"])
def test_reports_are_of_the_session_alone(begin, tmp_path, layout, capsys):
    ids = []
    for number in range(2):
        assert begin(app_name=f"app {number}")
        with gpufl.Scope(f"part {number}"):
            pass
        ids.append(gpufl.session_id())
        gpufl.shutdown()
    top = tmp_path / "top"
    top.mkdir()
    if layout == "nested":
        (tmp_path / "logs").rename(top / "logs")
    else:
        for number, name in enumerate(ids):
            for path in (tmp_path / "logs" / name).iterdir():
                path.rename(top / f"p{number}.{path.name}")
    for number, name in enumerate(ids):
        how = {"session_id": name} if layout == "nested" else {"log_prefix": f"p{number}"}
        session = GpuFlightSession(top, **how)
        assert session.session_id == name and session.answer["session"]["id"] == name
        assert list(session.scope_events.name) == [f"part {number}"]
        for text in (generate_report(top, **how), TextReport(session).generate()):
            assert f"part {number}" in text and f"part {1 - number}" not in text
        session.inspect_scopes()
        assert f"part {1 - number}" not in capsys.readouterr().out


def test_the_report_of_a_part_that_is_named(begin, tmp_path):
    assert begin(app_name="alone")
    gpufl.shutdown()
    part = next((tmp_path / "logs").glob("*/device.log"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the other parts are missing
        assert "alone" in generate_report(part)


def test_what_a_simulated_session_lacks_is_said(begin, tmp_path, capsys):
    assert begin()
    gpufl.shutdown()
    session = GpuFlightSession(tmp_path / "logs")
    for inspect in (session.inspect_stalls, session.inspect_perf_metrics, session.inspect_pm_sampling, session.inspect_profile_samples):
        inspect()
        assert "has none of this" in capsys.readouterr().out


def test_findings_have_the_same_columns_in_every_session(tmp_path, begin):
    assert begin(profiling_engine=gpufl.ProfilingEngine.Monitor)
    gpufl.shutdown()
    quiet = GpuFlightSession(tmp_path / "logs").insights
    session = GpuFlightSession(TRAIN)
    busy = session.insights
    assert len(busy) and list(quiet.columns) == list(busy.columns) == ["session_id", *session.answer["insights"][0]]
    for name in ("gives_back_least_ns", "half_width_ns", "line", "part_of"):
        assert str(busy[name].dtype) in ("int64", "Int64"), name
        values = [row[name] for row in session.answer["insights"]]
        assert [None if pandas.isna(cell) else cell for cell in busy[name]] == values
    assert busy.gives_back_ns.dtype == "int64" and quiet.gives_back_ns.sum() == 0


# ---- bad sessions -------------------------------------------------------------------------------


def test_nothing_there(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError):
            GpuFlightSession(path)
    (tmp_path / "device.log").write_text("this is no log\n")
    with pytest.raises(ValueError, match="not a session log"):
        GpuFlightSession(tmp_path)
    for wrong in ({"log_dir": 5}, {"log_dir": tmp_path, "session_id": 5}, {"log_dir": tmp_path, "nope": 1}):
        with pytest.raises(TypeError):
            GpuFlightSession(**wrong)


def test_a_number_that_is_not_small(tmp_path):
    """A column of int32 is int64 if one cell does not fit, and unknown stays unknown in both."""
    for name, value in (("wide", 5 * 2**30), ("small", 5)):
        folder = tmp_path / name
        shutil.copytree(TRAIN, folder)
        for path in [path for path in folder.rglob("*.log*") if path.is_file()]:
            opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
            with opened as file:
                lines = [json.loads(line) for line in file]
            path.unlink()
            for line in lines:
                if line["type"] == "config":
                    line["local_total"] = [value] + [None] * (line["rows"] - 1)
            text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            path.with_name(path.name.removesuffix(".gz").removesuffix(".zst")).write_text(text)
        session, log = GpuFlightSession(folder), Log(folder)
        configs = {row["id"]: row["local_total"] for row in log.rows("config")}
        wanted = [configs[row["config"]] for row in log.rows("kernel")]
        column = session.kernels.local_mem_total_bytes
        assert str(column.dtype) == ("Int64" if name == "wide" else "Int32")
        assert None in wanted and value in wanted
        assert [None if cell is pandas.NA else cell for cell in column] == wanted


@pytest.mark.parametrize("channel", ["device", "scope", "system"])
def test_a_channel_that_is_gone_is_said(tmp_path, channel):
    shutil.copytree(TRAIN, tmp_path / "logs")
    next((tmp_path / "logs").rglob(f"{channel}.*")).unlink()
    with pytest.warns(RuntimeWarning, match="not complete: 1 missing files"):
        GpuFlightSession(tmp_path / "logs")


def test_a_session_without_rows_is_complete(begin, tmp_path):
    assert begin(backend=gpufl.BackendKind.None_, profiling_engine=gpufl.ProfilingEngine.Monitor)
    gpufl.shutdown()
    assert [path.name for path in (tmp_path / "logs").rglob("*.log")] == ["system.log"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GpuFlightSession(tmp_path / "logs")


def test_damaged_lines_are_counted(tmp_path):
    shutil.copytree(TRAIN, tmp_path / "logs")
    (system,) = (tmp_path / "logs").rglob("system*.log*")
    system.unlink() if system.suffix != ".log" else None
    folder = system.parent
    (folder / "scope.log").write_text('{"type":"scope","rows":2,"start":[1]}\n')
    with pytest.warns(RuntimeWarning, match="1 damaged lines"):
        session = GpuFlightSession(tmp_path / "logs")
    assert len(session.kernels) == 10000


def test_a_session_of_a_newer_version(tmp_path):
    shutil.copytree(TRAIN, tmp_path / "logs")
    part = next((tmp_path / "logs").rglob("device.*"))
    text = gzip.decompress(part.read_bytes())
    part.write_bytes(gzip.compress(text + b'{"type":"thought","rows":1,"start":5}\n{"type":"thought","rows":1,"start":6}\n'))
    with pytest.warns(RuntimeWarning, match="2 lines are left out: .* a newer one wrote"):
        assert len(GpuFlightSession(tmp_path / "logs").kernels) == 10000


def test_a_session_that_is_being_written(begin, tmp_path):
    assert begin(flush_interval_ms=10)
    until = time.monotonic() + PATIENCE
    while not any(path.stat().st_size for path in (tmp_path / "logs").rglob("system.log")):
        assert time.monotonic() < until
    session = GpuFlightSession(tmp_path / "logs")
    assert session.session_end_ns is None and session.session_id == gpufl.session_id()


def test_unknown_tables_and_columns():
    session = GpuFlightSession(TRAIN)
    with pytest.raises(KeyError, match="kernels"):
        session.frame("kernel")
    for call in (lambda: session.arrow("kernel"), lambda: session.frame("kernels", ["nope"])):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(AttributeError, match="nope"):
        session.nope


@pytest.mark.parametrize("missing", [("pandas",), ("numpy", "pandas"), ("numpy", "pandas", "matplotlib", "duckdb")])
def test_packages_that_are_missing(run, missing):
    run("""
import sys
for name in %r:
    sys.modules[name] = None
import gpufl.viz
from gpufl.analyzer import GpuFlightSession
session = GpuFlightSession(%r)

def expect(call, extra):
    try:
        call()
    except ImportError as error:
        assert f"gpufl[{extra}]" in str(error), error
    else:
        raise AssertionError(extra)

for name in ("kernels", "scopes", "scope_events", "perf", "insights", "idle", "stacks"):
    expect(lambda: getattr(session, name), "analyzer")
if "matplotlib" in %r:
    expect(lambda: session.sql("select 1"), "sql")
    for draw in gpufl.viz.FIGURES:
        expect(lambda: draw(session), "viz")
    gpufl.viz.init(%r)
    expect(gpufl.viz.show, "viz")
assert "Kernels" in gpufl.report.generate_report(%r)
""" % (missing, str(TRAIN), missing, str(TRAIN), str(TRAIN)))


def test_nothing_is_imported_before_it_is_used(run):
    run("""
import sys, gpufl, gpufl.report, gpufl.analyzer
assert not {"pandas", "numpy", "asyncio", "difflib", "inspect"} & set(sys.modules)
""")


# ---- reports ------------------------------------------------------------------------------------


def native(*arguments):
    return subprocess.run([_native.command(), *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def test_the_report_is_the_commands(tmp_path, capsys):
    session = GpuFlightSession(TRAIN)
    report = TextReport(session, top_n=3)
    text = native("report", "--full", "--top", 3, TRAIN)
    assert report.generate() == text
    report.print()
    assert capsys.readouterr().out == text
    report.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == text
    assert generate_report(TRAIN, top_n=3, output_path=tmp_path / "again.txt") == text
    assert (tmp_path / "again.txt").read_text() == text


def test_insights_are_the_reports():
    session = GpuFlightSession(TRAIN)
    assert session.insights.id.tolist() == [row["id"] for row in json.loads(native("report", "--json", TRAIN))["insights"]]
    assert len(session.insights) > 0


def test_reports_of_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        generate_report(tmp_path)
    for wrong, error in ((-1, ValueError), ("x", TypeError), (True, TypeError)):
        with pytest.raises(error):
            TextReport(GpuFlightSession(TRAIN), wrong)
