"""gpufl.viz: the pictures show the data of the frames."""
import gzip
import pathlib

import pytest
from conftest import Log

import gpufl
from gpufl import viz
from gpufl.analyzer import GpuFlightSession

pytest.importorskip("matplotlib")
DATA = pathlib.Path(__file__).resolve().parents[3] / "examples/data"


@pytest.fixture(scope="module")
def train():
    return GpuFlightSession(DATA / "train_loop")


def widths(axes):
    """The sums of the lengths of bars, by the name of their row."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    sums = dict.fromkeys(names, 0.0)
    for bar in axes.patches:
        sums[names[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()
    return sums


def saved(figure, tmp_path):
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    return figure.axes


def test_kernel_time(train, tmp_path):
    (axes,) = saved(gpufl.viz.kernel_time(train), tmp_path)
    sums = train.kernels.groupby("user_scope", observed=True).duration_ns.sum() / 1e6
    assert widths(axes) == pytest.approx(sums.to_dict())
    assert "matmul<true, false>" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_idle_lines(train, tmp_path):
    (axes,) = saved(gpufl.viz.idle_lines(train, top=3), tmp_path)
    lines = train.idle.nlargest(3, "idle_ns")
    assert list(widths(axes).values()) == pytest.approx((lines.idle_ns / 1e6).tolist())
    assert "train_loop.cu:235" in widths(axes)


def test_stalls(tmp_path):
    session = GpuFlightSession(DATA / "train_loop_engines/2-PcSampling")
    (axes,) = saved(gpufl.viz.stalls(session, top=100), tmp_path)
    assert sum(widths(axes).values()) == session.scopes.sample_count.sum()


def test_occupancy_and_transfers(train, tmp_path):
    (axes,) = saved(gpufl.viz.occupancy(train), tmp_path)
    assert set(bar.get_width() for bar in axes.patches) == {100.0}
    (axes,) = saved(gpufl.viz.transfers(train), tmp_path)
    assert sum(len(points.get_offsets()) for points in axes.collections) == len(train.memcpy)


def test_few_bytes_are_not_none(tmp_path):
    session = GpuFlightSession(DATA / "jax_train")
    (axes,) = saved(gpufl.viz.transfers(session), tmp_path)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    back = session.memcpy[session.memcpy.copy_kind == 2]
    assert 0 < back.bytes.sum() < 2**20 and f"device to host: {len(back)}, {back.bytes.sum() / 1024:.1f} KiB" in texts


def test_utilisation(train, tmp_path):
    axes = saved(gpufl.viz.utilisation(train), tmp_path)
    assert axes[2].lines[0].get_ydata().tolist() == (train.device_metrics.power_mw / 1000).tolist()
    axes = saved(gpufl.viz.utilisation(GpuFlightSession(DATA / "jax_train")), tmp_path)
    for one in axes:  # two devices, of which the second one has more
        assert len(one.lines) == 2 and one.get_ylim()[0] == 0
        assert one.get_ylim()[1] >= max(line.get_ydata().max() for line in one.lines)


RATES = {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed": "dram__bytes_read.sum.per_second",
         "sm__inst_executed.avg.per_cycle_elapsed": "dram__bytes_write.sum.per_second",
         "sm__warps_active.avg.pct_of_peak_sustained_active": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_second",
         "lts__t_sector_hit_rate.pct": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_second",
         "dram__throughput.avg.pct_of_peak_sustained_elapsed": "too small to tell",
         "l1tex__t_sector_hit_rate.pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed"}


@pytest.fixture
def rated(tmp_path):
    """The recorded session of kernels with its counters renamed to rates; the values stay those of the counters."""
    for path in (DATA / "train_loop_kernels").rglob("*.log.gz"):
        text = gzip.decompress(path.read_bytes()).decode()
        for name, rate in RATES.items():
            text = text.replace(f'"{name}"', f'"{rate}"')
        (tmp_path / "rated" / path.parent.name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "rated" / path.parent.name / path.name).write_bytes(gzip.compress(text.encode()))
    return tmp_path / "rated"


def test_roofline(rated, tmp_path):
    session = GpuFlightSession(rated)
    sums = {}
    launches = {}
    for row in Log(rated).rows("counter"):
        launches.setdefault((row["start"], row["kernel"]), {})[row["metric"]] = row["value"] * 10.0 ** (row["exponent"] or 0)
    names = Log(rated).names
    for (_, kernel), values in launches.items():
        values = {names[metric]: value for metric, value in values.items()}
        read, write, fma, add = (values[rate] for rate in list(RATES.values())[:4])
        time = values["gpu__time_duration.sum"]
        total = sums.setdefault(kernel, [0, 0, 0])
        for place, part in enumerate((time, time * (2 * fma + add), time * (read + write))):
            total[place] += part
    points = gpufl.viz.roofline_points(session)
    assert len(points) == len(sums) > 3 and "void (anonymous namespace)::matmul" in points.name[0]
    assert sorted(points.weight) == pytest.approx(sorted(time for time, _, _ in sums.values()))
    assert sorted(points.flops) == pytest.approx(sorted(flops / time for time, flops, _ in sums.values()))
    assert sorted(points.intensity) == pytest.approx(sorted(flops / moved for _, flops, moved in sums.values()))
    (axes,) = saved(gpufl.viz.roofline(session, top=100, peak_gbps=4800), tmp_path)
    drawn = [tuple(dot.get_offsets()[0]) for dot in axes.collections]
    assert drawn == [pytest.approx((row.intensity, row.flops / 1e9)) for row in points.itertuples()]
    slanted, flat = axes.lines
    assert flat.get_ydata().tolist() == [2 * 128 * 132 * 1980e6 / 1e9] * 2 and slanted.get_ydata()[1] == pytest.approx(flat.get_ydata()[0])
    assert "4,800 GB/s" in axes.get_xlabel() and "without tensor cores" in axes.get_xlabel()
    assert "matmul<false, false>" in axes.get_legend().get_texts()[0].get_text()
    (axes,) = saved(gpufl.viz.roofline(session), tmp_path)
    peak = points.peak_bytes.median()
    x, y = axes.lines[0].get_xydata()[0]
    assert y == pytest.approx(x * peak / 1e9)
    assert "estimated from dram__throughput" in axes.get_xlabel()
    with pytest.raises(ValueError, match="counter_metrics=roofline"):
        gpufl.viz.roofline(GpuFlightSession(DATA / "train_loop_kernels"))


def test_the_timeline_keeps_the_longest(train, tmp_path, monkeypatch):
    (axes,) = saved(gpufl.viz.timeline(train), tmp_path)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[:3] == ["scopes 1", "scopes 2", "scopes 3"] and labels[3].startswith("GPU 0 stream ")
    monkeypatch.setattr(gpufl.viz, "BARS", 50)
    (axes,) = saved(gpufl.viz.timeline(train, train.session_start_ns, train.session_end_ns), tmp_path)
    assert all(len(lane.get_paths()) <= 10 for lane in axes.collections)
    assert "shortest are left out" in axes.get_xlabel() and axes.get_xlim()[0] == 0


def test_the_timeline_of_a_moment(train, tmp_path, monkeypatch):
    monkeypatch.setattr(gpufl.viz, "BARS", 100)
    kernels = train.kernels.sort_values("start_ns")
    begin, end = int(kernels.start_ns.iloc[50]), int(kernels.end_ns.iloc[55])
    (axes,) = saved(gpufl.viz.timeline(train, begin, end), tmp_path)
    lanes = dict(zip([label.get_text() for label in axes.get_yticklabels()], axes.collections))
    inside = [name for name in lanes if name.startswith("GPU 0 stream")]
    seen = kernels[(kernels.end_ns >= begin) & (kernels.start_ns <= end)]
    assert sum(len(lanes[name].get_paths()) for name in inside) == len(seen) >= 6
    assert "left out" not in axes.get_xlabel()


def test_the_legend_has_the_colours_of_the_bars(train, tmp_path):
    (axes,) = saved(gpufl.viz.timeline(train), tmp_path)
    drawn = {tuple(colour) for lane in axes.collections for colour in lane.get_facecolors()}
    named = [patch.get_facecolor() for patch in axes.get_legend().get_patches()]
    assert len(set(named)) == len(named) == min(len(drawn), 10) and set(named) <= drawn


def test_all_that_there_is(train, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    session = gpufl.viz.init(DATA / "train_loop")
    assert session.session_id == train.session_id
    assert len(gpufl.viz.show()) == 6  # all but the stalls
    pattern = next((DATA / "train_loop").rglob("device*")).parent / "*.log*"
    assert gpufl.viz.init(str(pattern)).session_id == train.session_id


def test_what_is_not_there(train, tmp_path):
    with pytest.raises(ValueError, match="the session has no samples of the program counter; the engine PcSampling"):
        gpufl.viz.stalls(train)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        gpufl.viz.init(str(tmp_path / "*.log"))


@pytest.mark.parametrize("pattern", ["logs/*.log", "logs/*/*.log", "logs/*"])
def test_a_pattern(begin, tmp_path, pattern):
    assert begin(app_name="found")
    gpufl.shutdown()
    assert viz.init(tmp_path / pattern).app_name == "found"
    with pytest.raises(FileNotFoundError, match="no file matches"):
        viz.init(tmp_path / "logs/*.nothing")


def test_a_simulated_session_says_so(begin, tmp_path):
    assert begin()
    with gpufl.Scope("one"):
        pass
    gpufl.shutdown()
    assert "SIMULATED" in gpufl.viz.timeline(GpuFlightSession(tmp_path / "logs"))._suptitle.get_text()


def test_before_init_and_without_matplotlib(run):
    run("""
import sys, gpufl.viz
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
try:
    gpufl.viz.show()
except RuntimeError as error:
    assert "gpufl.viz.init" in str(error)
else:
    raise AssertionError
try:
    gpufl.viz.kernel_time(gpufl.viz.init(%r))
except ImportError as error:
    assert "gpufl[viz]" in str(error)
else:
    raise AssertionError
""" % str(DATA / "train_loop"))
