"""Display in notebooks: HTML of a session, and %%gpufl in a real IPython."""
import gc
import html.parser
import pathlib
import pickle
import tempfile

import pandas
import pytest

import gpufl
from gpufl.analyzer import GpuFlightSession
from gpufl.report import TextReport

SOURCE = pathlib.Path(__file__).resolve().parents[3]


class Text(html.parser.HTMLParser):
    """Collects the text of a page; fails if an element is closed that is not open."""

    def __init__(self, page):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_session_shows_its_time_and_findings():
    session = GpuFlightSession(SOURCE / "examples/data/train_loop")
    page = Text(session._repr_html_())
    assert "train_loop" in page.text and session.session_id in page.text
    for part in session.answer["time"]["parts"]:
        assert not part["permille"] or f"{part['permille'] / 10:.1f} %" in page.text
    for finding in session.answer["insights"][:5]:
        assert finding["title"] in page.text


def test_names_are_escaped(begin, tmp_path):
    assert begin(app_name="<script>alert(1)</script>")
    gpufl.shutdown()
    page = GpuFlightSession(tmp_path / "logs")._repr_html_()
    assert "<script>" not in page and "<script>alert(1)</script>" in Text(page).text
    assert "Simulated" in page


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    made = interactive.instance()
    made.run_line_magic("load_ext", "gpufl")
    yield made
    interactive.clear_instance()


def test_a_cell_is_profiled(shell, tmp_path):
    shell.user_ns["seen"] = []
    session = shell.run_cell_magic("gpufl", "backend=Sim app_name=mine", "import gpufl\nwith gpufl.Scope('inside'):\n    seen.append(5)\n")
    assert shell.user_ns["seen"] == [5] and session.app_name == "mine" and shell.user_ns["gpufl_session"] is session
    assert "inside" in set(session.scope_events.name) and "mine" in session._repr_html_()
    assert not gpufl.active()


def test_a_cells_session_can_be_asked_later(shell, capsys):
    session = shell.run_cell_magic("gpufl", "backend=Sim app_name=mine", "pass")
    folder = pathlib.Path(session.path)
    session.print_summary()
    session.inspect_scopes()
    assert "mine" in capsys.readouterr().out and "mine" in TextReport(session).generate()
    assert folder.exists()
    del session, shell.user_ns["gpufl_session"]
    gc.collect()
    assert not folder.parent.exists()


def test_a_cell_without_a_session_leaves_no_folder(shell, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("GPUFL_DISABLED", "1")
    assert shell.run_cell_magic("gpufl", "", "pass") is None
    with pytest.raises(TypeError):
        shell.run_cell_magic("gpufl", "app_nam=x", "pass")
    assert not list(tmp_path.iterdir())


def test_switches_and_numbers_of_a_line(shell):
    with pytest.warns(DeprecationWarning):
        assert shell.run_cell_magic("gpufl", "backend=Sim sampling_auto_start=off enable_stack_trace=True", "pass")
    for line, text in (("enable_stack_trace=maybe", "true or false, not 'maybe'"), ("system_sample_rate_ms=abc", "whole number, not 'abc'")):
        with pytest.raises(ValueError, match=text):
            shell.run_cell_magic("gpufl", line, "pass")


def test_a_cell_that_raises_shows_its_own_exception(shell, capsys):
    result = shell.run_cell("%%gpufl backend=Sim\nraise KeyError('of the program')")
    out = capsys.readouterr().out
    assert isinstance(result.error_in_exec, KeyError)  # a notebook that runs from top to bottom ends here
    session = shell.user_ns["gpufl_session"]
    assert session.session_end_ns and out.count("Traceback") == 1 and repr(session) in out
    assert "of the program" in out and "_notebook.py" not in out
    assert isinstance(shell.run_cell("%%gpufl backend=Sim\n1 +").error_in_exec, SyntaxError)


def test_wrong_lines(shell):
    for line, text in (("profiling_engine=Nope", "Trace"), ("word", "keyword=value")):
        with pytest.raises(ValueError, match=text):
            shell.run_cell_magic("gpufl", line, "pass")
    with pytest.raises(TypeError, match="app_name"):
        shell.run_cell_magic("gpufl", "app_nam=x", "pass")


def test_a_session_that_runs_is_left_alone(shell, begin):
    assert begin()
    with pytest.raises(RuntimeError, match="runs already"):
        shell.run_cell_magic("gpufl", "backend=Sim", "pass")
    assert gpufl.active()


def test_disabled(shell, monkeypatch, capsys):
    monkeypatch.setenv("GPUFL_DISABLED", "1")
    assert shell.run_cell_magic("gpufl", "", "print('ran')") is None
    out = capsys.readouterr().out
    assert "ran" in out and "nothing was recorded" in out


def test_findings_and_scopes_have_pages():
    session = GpuFlightSession(SOURCE / "examples/data/train_loop")
    page = Text(session.insights._repr_html_())
    assert all(finding["title"] in page.text and (finding["next"] or "") in page.text for finding in session.answer["insights"])
    page = Text(session.scope_events._repr_html_())
    sums = session.scope_events.groupby("name", observed=True).duration_ns.agg(["sum", "count"])
    for name, row in sums.iterrows():
        assert name in page.text and f"{row['sum'] / 1e6:,.3f}" in page.text and f"{row['count']:,}" in page.text
    samples = GpuFlightSession(SOURCE / "examples/data/train_loop_engines/2-PcSampling").scopes
    total = samples.groupby("function_name", observed=True).sample_count.sum()
    assert all(name in Text(samples._repr_html_()).text and f"{count:,}" in Text(samples._repr_html_()).text
               for name, count in total.nlargest(15).items())
    assert "counts of instructions" in GpuFlightSession(SOURCE / "examples/data/train_loop_engines/3-SassMetrics").scopes._repr_html_()
    assert "PcSampling" in session.scopes._repr_html_()


def test_a_page_belongs_to_the_whole_frame_alone():
    frame = GpuFlightSession(SOURCE / "examples/data/train_loop").scope_events
    for part in (frame.head(3), frame[frame.name == "forward"], frame.copy(), frame.assign(one=1), pickle.loads(pickle.dumps(frame))):
        assert type(part) is pandas.DataFrame and "ms together" not in part._repr_html_()
    assert str(GpuFlightSession(SOURCE / "examples/data/train_loop").insights.line.dtype) == "Int64"
