"""Display in notebooks: the HTML of a session, its scopes and its findings, and the cell magic %%gpufl.

    %load_ext gpufl

    %%gpufl
    model(x).sum().backward()

profiles the cell and shows the answer below it; gpufl_session is then the session. Keywords of gpufl.init may follow: %%gpufl profiling_engine=PcSampling.
"""
from __future__ import annotations

import functools
import html
import os
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from gpufl.analyzer import GpuFlightSession

# Colours of the parts of a bar: those of work, then those of idle causes, the largest first.
WORK = {"kernels": "#4c78a8", "copies": "#9ecae9", "rank_wait": "#b279a2"}
IDLE = ("#e45756", "#f58518", "#eeca3b", "#ff9da6", "#9d755d")
OTHER = "#bab0ac"
FINDINGS = 5
ROWS = 15  # rows of a table
SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _bar(parts: list[dict[str, Any]]) -> str:
    """The time of the GPUs as a bar, with a legend."""
    shown = [part for part in parts if part["permille"]]
    idle = sorted((part for part in shown if part["part"] not in WORK), key=lambda part: -part["permille"])
    colours = {part["part"]: IDLE[i] if i < len(IDLE) else OTHER for i, part in enumerate(idle)} | WORK
    pieces = "".join(f'<div style="width:{part["permille"] / 10:.1f}%;background:{colours[part["part"]]}" '
                     f'title="{html.escape(part["name"])}"></div>' for part in shown)
    legend = " ".join(f'<span style="white-space:nowrap;margin-right:1em"><span style="color:{colours[part["part"]]}">&#9632;</span> '
                      f'{html.escape(part["name"])} {part["permille"] / 10:.1f} %</span>' for part in shown)
    return (f'<div style="display:flex;height:1.2em;max-width:60em;border-radius:3px;overflow:hidden">{pieces}</div>'
            f'<div style="max-width:60em;font-size:90%">{legend}</div>')


def session_html(session: GpuFlightSession) -> str:
    """Program, length, the bar of the GPUs' time, and what to change first."""
    answer, info = session.answer, session.info
    length = f"{(session.session_end_ns - session.session_start_ns) / 1e9:.3f} s" if session.session_end_ns else "not ended"
    head = f"<b>{html.escape(session.app_name)}</b> &middot; {length} &middot; engine {html.escape(info['engine'])} &middot; " \
           f"{html.escape(session.session_id)}"
    if info["simulated"]:
        head += "<br><b>Simulated: no real GPU ran it; its numbers are invented.</b>"
    parts = answer["time"]["parts"]
    body = _bar(parts) if parts else "<p>Nothing is known of the time of a GPU.</p>"
    more = len(answer["insights"]) - FINDINGS
    more = f"<p>{more} more in <code>.insights</code></p>" if more > 0 else ""
    return f'<div>{head}{body}{_findings(answer["insights"][:FINDINGS])}{more}</div>'


def _findings(rows: list[dict[str, Any]]) -> str:
    """Findings as a list: each with its cost, and below it the next step."""
    items = ""
    for row in rows:
        known = isinstance(row["gives_back_ns"], int) and row["gives_back_ns"]  # not None, not pandas.NA
        gain = f" <b>{known / 1e6:.1f} ms</b>" if known else ""
        items += f"<li>{html.escape(row['title'])}{gain}<br><span style='opacity:.75'>{html.escape(row['next'] or '')}</span></li>"
    return f"<ol>{items}</ol>" if items else "<p>No finding.</p>"


# ---- frames ---------------------------------------------------------------------------------------


@functools.lru_cache(None)
def _frame_class(page: Callable[[Any], str]) -> Any:
    """A class of DataFrames that a notebook shows as page(frame); frames that are made from one (copies, parts, sums)
    are plain DataFrames."""
    import pandas

    class Shown(pandas.DataFrame):
        @property
        def _constructor(self) -> Any:
            return pandas.DataFrame

        def __reduce__(self) -> Any:
            return pandas.DataFrame, (pandas.DataFrame(self),)

        def _repr_html_(self) -> str:
            return page(self)

    return Shown


def shown(frame: Any, page: Callable[[Any], str]) -> Any:
    """The frame as one that a notebook shows as page(frame)."""
    return _frame_class(page)(frame, copy=False)


def insights_html(frame: Any) -> str:
    """All findings, the largest cost first."""
    return f"<div>{_findings(frame.to_dict('records'))}</div>"


def _bars_html(heads: tuple[str, ...], rows: list[tuple[str, float, tuple[str, ...]]], left: int) -> str:
    """A table of a name, a bar of its share and cells; `left` says how many rows are not in it."""
    most = max((value for _, value, _ in rows), default=0) or 1
    lines = "".join(
        f"<tr><td style='text-align:left'>{html.escape(name)}</td><td style='text-align:left;min-width:12em'>"
        f"<div style='background:{WORK['kernels']};height:.9em;width:{100 * value / most:.1f}%'></div></td>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for name, value, cells in rows)
    head = "".join(f"<th>{html.escape(word)}</th>" for word in heads)
    more = f"<p>{left} more</p>" if left > 0 else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}</div>"


def scope_events_html(frame: Any) -> str:
    """Scopes by name: how long they took together, and one of them."""
    if not len(frame):
        return "<p>No scope ended.</p>"
    sums = frame.groupby("name", observed=True).duration_ns.agg(["sum", "count", "mean", "max"]).sort_values("sum", ascending=False)
    rows = [(str(name), row["sum"], (f"{row['sum'] / 1e6:,.3f}", f"{row['count']:,.0f}", f"{row['mean'] / 1e6:,.3f}",
                                     f"{row['max'] / 1e6:,.3f}")) for name, row in sums.head(ROWS).iterrows()]
    return _bars_html(("scope", "", "ms together", "calls", "ms a call", "longest, ms"), rows, len(sums) - len(rows))


def scopes_html(frame: Any) -> str:
    """Profile samples by function; counts of instructions by metric if there are no samples."""
    if not len(frame):
        return "<p>No profile samples: the engines PcSampling, SassMetrics and Deep take them.</p>"
    samples = frame[frame.sample_kind == "pc_sampling"]
    if not len(samples):
        counts = frame.groupby("function_name", observed=True).size().sort_values(ascending=False)
        rows = [(str(name), float(count), (f"{count:,}",)) for name, count in counts.head(ROWS).items()]
        return _bars_html(("function", "", "counts of instructions"), rows, len(counts) - len(rows))
    sums = samples.groupby("function_name", observed=True).sample_count.sum().sort_values(ascending=False)
    total = sums.sum()
    rows = [(str(name), float(count), (f"{count:,}", f"{100 * count / total:.1f} %")) for name, count in sums.head(ROWS).items()]
    return _bars_html(("function", "", "samples", "share"), rows, len(sums) - len(rows))


# ---- the cell magic -------------------------------------------------------------------------------


def _value(name: str, text: str) -> Any:
    """Converts the text of a keyword to the kind of its option."""
    import gpufl
    from gpufl import _capture

    kinds = {row[0]: row[1] for row in _capture.options()}
    kind = kinds.get("continuous_system_sampling" if name == "sampling_auto_start" else name, "str")
    if kind in ("BackendKind", "ProfilingEngine"):
        try:
            return getattr(gpufl, kind)[text]
        except KeyError:
            raise ValueError(f"%%gpufl: {name} is one of {', '.join(getattr(gpufl, kind).__members__)}, not {text!r}") from None
    if kind == "bool":
        if text.lower() not in SWITCH:
            raise ValueError(f"%%gpufl: {name} is true or false, not {text!r}")
        return SWITCH[text.lower()]
    if kind != "int":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"%%gpufl: {name} is a whole number, not {text!r}") from None


def _options(line: str) -> dict[str, Any]:
    import shlex

    import gpufl

    options: dict[str, Any] = {"app_name": "cell", "profiling_engine": gpufl.ProfilingEngine.Trace}
    for word in shlex.split(line):
        name, found, text = word.partition("=")
        if not found:
            raise ValueError(f"%%gpufl: {word!r} is no keyword=value")
        options[name] = _value(name, text)
    return options


def _remove(folder: str, pid: int) -> None:
    """Removes a cell's folder, which its session's reports are read from; not in a child of fork."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _fail_with(error: BaseException | None, session: GpuFlightSession | None) -> None:
    """The cell fails with the error of what it ran, so that no cell after it runs; IPython has shown its traceback."""
    if error is None:
        return
    from IPython.display import display

    if session is not None:
        display(session)
    error._render_traceback_ = list  # type: ignore[attr-defined] # no lines: not a second time
    raise error


def load_ipython_extension(shell: Any) -> None:
    """Called by %load_ext gpufl: gives IPython the cell magic."""

    def profile(line: str, cell: str) -> Any:
        """Runs the cell in a session of its own, and shows the session's answer."""
        import gpufl
        from gpufl.analyzer import GpuFlightSession

        options = _options(line)
        if gpufl.active():
            raise RuntimeError("%%gpufl: a session runs already; end it with gpufl.shutdown()")
        folder = None if "log_path" in options else tempfile.mkdtemp(prefix="gpufl-")
        kept = None
        try:
            with gpufl.session(upload=False, **({"log_path": folder} if folder else {}), **options) as running:
                done = shell.run_cell(cell)
            if running.id:
                kept = GpuFlightSession(running.dir)
                shell.user_ns["gpufl_session"] = kept
            else:
                print("%%gpufl: nothing was recorded: capture is disabled, or the session could not begin")
        finally:
            if folder and kept:
                weakref.finalize(kept, _remove, folder, os.getpid())
            elif folder:
                _remove(folder, os.getpid())
        _fail_with(done.error_before_exec or done.error_in_exec, kept)
        return kept

    shell.register_magic_function(profile, "cell", "gpufl")
