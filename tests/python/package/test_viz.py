"""gpufl.viz: what the pictures show is what the frames have."""
import pathlib

import pytest

import gpufl
from gpufl.analyzer import GpuFlightSession

pytest.importorskip("matplotlib")
DATA = pathlib.Path(__file__).resolve().parents[3] / "examples/data"


@pytest.fixture(scope="module")
def train():
    return GpuFlightSession(DATA / "train_loop")


def widths(axes):
    """The lengths of bars by the name of their row."""
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


def test_utilisation(train, tmp_path):
    axes = saved(gpufl.viz.utilisation(train), tmp_path)
    assert axes[2].lines[0].get_ydata().tolist() == (train.device_metrics.power_mw / 1000).tolist()


def test_the_timeline_keeps_the_longest(train, tmp_path, monkeypatch):
    (axes,) = saved(gpufl.viz.timeline(train), tmp_path)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[:3] == ["scopes 1", "scopes 2", "scopes 3"] and labels[3].startswith("GPU 0 stream ")
    monkeypatch.setattr(gpufl.viz, "BARS", 50)
    (axes,) = saved(gpufl.viz.timeline(train, train.session_start_ns, train.session_end_ns), tmp_path)
    assert all(len(lane.get_paths()) <= 10 for lane in axes.collections)
    assert "shortest are left out" in axes.get_xlabel() and axes.get_xlim()[0] == 0


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
