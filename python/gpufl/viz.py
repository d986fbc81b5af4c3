"""Pictures of a session, as figures of matplotlib.

    import gpufl.viz as viz

    viz.idle_lines(GpuFlightSession("logs")).savefig("idle.png")      # one, without a display
    viz.init("logs")
    viz.show()                                                        # all that the session has data for

Each function takes a GpuFlightSession and returns a matplotlib.figure.Figure. A picture for which the session has no data raises a
ValueError that names the engine that records the data; show() leaves such pictures out.
"""
from __future__ import annotations

import functools
import glob
import io
import os
from typing import TYPE_CHECKING, Any, Callable

from gpufl.analyzer import GpuFlightSession

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["idle_lines", "init", "kernel_time", "occupancy", "roofline", "roofline_points", "show", "stalls", "timeline", "transfers", "utilisation"]

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#9ecae9")
OTHER = "#bab0ac"
BARS = 20_000  # the longest bars of a timeline
COPIES = {1: "host to device", 2: "device to host", 3: "host to array", 4: "array to host", 5: "array to array",
          6: "array to device", 7: "device to array", 8: "device to device", 9: "host to host", 10: "peer to peer"}

_session: list[GpuFlightSession] = []


@functools.lru_cache(None)
def _figure_class() -> type[Figure]:
    """Figures that a notebook shows without pyplot and its backends."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("gpufl.viz needs matplotlib: pip install 'gpufl[viz]', or apt install python3-matplotlib") from error

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            page = io.BytesIO()
            self.savefig(page, format="png", dpi=100)
            return page.getvalue()

    return Shown


def _picture(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """A function that draws: matplotlib is imported before the session is read, so that its error comes first."""

    @functools.wraps(draw)
    def made(*args: Any, **kwargs: Any) -> Figure:
        _figure_class()
        return draw(*args, **kwargs)

    return made


def _new_figure(width: float, height: float) -> Figure:
    return _figure_class()(figsize=(width, height), layout="constrained")


def _axes(session: GpuFlightSession, title: str, height: float, rows: int = 1) -> tuple[Figure, Any]:
    figure = _new_figure(10, height)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    name = session.app_name + (", SIMULATED: invented numbers" if session.info["simulated"] else "")
    figure.suptitle(f"{title} ({name})", x=0.01, ha="left", fontsize=12, fontweight="bold")
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.set_axisbelow(True)
    return figure, axes if rows > 1 else axes[0]


def _need(frame: Any, what: str, engines: str) -> Any:
    if not len(frame):
        raise ValueError(f"the session has no {what}; {engines} takes them")
    return frame


def _short(text: Any, most: int = 48) -> str:
    text = str(text)
    return text if len(text) <= most else f"{text[:most - 1]}…"


def _bars(axes: Any, parts: Any, unit: str) -> None:
    """Horizontal bars, the largest at the top: parts is a table with a row for each bar and a column for each colour."""
    left = 0
    names = [_short(name) for name in parts.index]
    for number, column in enumerate(parts.columns):
        axes.barh(range(len(parts)), parts[column], left=left, label=_short(column, 40),
                  color=OTHER if column == "others" else COLOURS[number % len(COLOURS)])
        left = left + parts[column].to_numpy()
    axes.set_yticks(range(len(parts)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.grid(axis="x", alpha=0.3)
    if len(parts.columns) > 1:
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def _short_names(session: GpuFlightSession, names: Any) -> Any:
    """Kernels under the short names of the report (docs/report.md); kernels with one short name are counted together."""
    short = {row["name"]: row["short_name"] for row in session.answer["kernels"]["by_name"]}
    return names.astype(object).map(lambda name: short.get(name, name))


def _table(frame: Any, rows: str, columns: str, value: str, top: int, colours: int = 6) -> Any:
    """Sums of value: the `top` largest rows, and the `colours` largest columns with the rest as "others"."""
    frame = frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), "(none)") for name in (rows, columns)})
    sums = frame.groupby([rows, columns], observed=True)[value].sum().unstack(fill_value=0)
    sums = sums.loc[sums.sum(axis=1).nlargest(top).index]
    order = sums.sum().sort_values(ascending=False).index
    shown = sums[order[:colours]].copy()
    if len(order) > colours:
        shown["others"] = sums[order[colours:]].sum(axis=1)
    return shown


@_picture
def kernel_time(session: GpuFlightSession, top: int = 12) -> Figure:
    """Time of kernels by scope, coloured by kernel."""
    kernels = _need(session.kernels, "kernels", "the engine Trace")
    kernels = kernels.assign(name=_short_names(session, kernels.name))
    parts = _table(kernels, "user_scope", "name", "duration_ns", top) / 1e6
    figure, axes = _axes(session, "Time of kernels by scope", 1.6 + 0.35 * len(parts))
    _bars(axes, parts, "ms on the GPU")
    return figure


@_picture
def idle_lines(session: GpuFlightSession, top: int = 12) -> Figure:
    """Idle time of the GPUs by the line that it belongs to, coloured by cause."""
    idle = _need(session.idle[session.idle.idle_ns > 0], "idle time that is known", "the engine Trace")
    parts = _table(idle.assign(place=idle.place.where(idle.place.notna(), "no line: " + idle.cause)), "place", "cause", "idle_ns", top) / 1e6
    figure, axes = _axes(session, "Idle time by line", 1.6 + 0.35 * len(parts))
    _bars(axes, parts, "ms idle")
    return figure


@_picture
def stalls(session: GpuFlightSession, top: int = 10) -> Figure:
    """Samples of the program counter by kernel, coloured by what the warps waited for."""
    samples = session.scopes
    samples = samples[samples.sample_kind == "pc_sampling"] if len(samples) else samples
    parts = _table(_need(samples, "samples of the program counter", "the engine PcSampling"), "function_name", "reason_name", "sample_count",
                   top, colours=8)
    figure, axes = _axes(session, "What warps waited for", 1.6 + 0.35 * len(parts))
    _bars(axes, parts, "samples")
    return figure


@_picture
def occupancy(session: GpuFlightSession, top: int = 15) -> Figure:
    """Theoretical occupancy of the kernels with most time, coloured by what limits it."""
    kernels = session.kernels
    kernels = _need(kernels[kernels.occupancy.notna()], "kernels with a known occupancy", "the engine Trace")
    kernels = kernels.assign(weighted=kernels.occupancy * kernels.duration_ns, name=_short_names(session, kernels.name))
    sums = kernels.groupby(["name", "limiting_resource"], observed=True)[["weighted", "duration_ns"]].sum().reset_index()
    sums = sums.nlargest(top, "duration_ns").reset_index(drop=True)
    figure, axes = _axes(session, "Occupancy of the kernels with most time", 1.6 + 0.35 * len(sums))
    total = kernels.duration_ns.sum()
    for number, limiter in enumerate(sums.limiting_resource.drop_duplicates()):
        rows = sums[sums.limiting_resource == limiter]
        axes.barh(rows.index, 100 * rows.weighted / rows.duration_ns, label=str(limiter), color=COLOURS[number % len(COLOURS)])
    axes.set_yticks(sums.index, [f"{_short(row.name_, 42)}  {100 * row.duration_ns / total:.0f} %"
                                 for row in sums.rename(columns={"name": "name_"}).itertuples()], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the warp slots of an SM; next to the name: share of the time of kernels")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(title="limited by", fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _size(count: float) -> str:
    """Bytes in the unit in which they are at least 1."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"


@_picture
def transfers(session: GpuFlightSession) -> Figure:
    """Copies by size and throughput, coloured by direction."""
    copies = _need(session.memcpy, "copies", "the engine Trace")
    copies = copies[(copies.bytes > 0) & copies.throughput_gbps.notna()]
    figure, axes = _axes(session, "Copies", 5)
    for number, (kind, rows) in enumerate(copies.groupby("copy_kind", observed=True)):
        axes.scatter(rows.bytes.astype(float), rows.throughput_gbps, s=10, alpha=0.5, color=COLOURS[number % len(COLOURS)],
                     label=f"{COPIES.get(kind, f'kind {kind}')}: {len(rows):,}, {_size(rows.bytes.sum())}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bytes of a copy")
    axes.set_ylabel("GB/s")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


@_picture
def utilisation(session: GpuFlightSession) -> Figure:
    """Utilisation, memory and power of the devices over time."""
    metrics = _need(session.device_metrics, "samples of devices", "system_sample_rate_ms")
    figure, axes = _axes(session, "Devices over time", 6, rows=3)
    for number, (device, rows) in enumerate(metrics.groupby("device_id", dropna=False)):
        seconds = (rows.ts_ns - session.session_start_ns) / 1e9
        for one, (column, scale, label) in zip(axes, (("gpu_util", 1, "GPU in use, %"), ("used_mib", 1024, "memory, GiB"),
                                                      ("power_mw", 1000, "power, W"))):
            one.plot(seconds, rows[column].astype("float64") / scale, color=COLOURS[number % len(COLOURS)], label=f"GPU {device}",
                     marker="." if len(rows) < 100 else None, linewidth=1.2)
            one.set_ylabel(label, fontsize=8)
            one.grid(alpha=0.3)
    for one in axes:  # after all devices, since a limit that is set stays
        one.set_ylim(bottom=0)
    axes[-1].set_xlabel("s since the session began")
    if metrics.device_id.nunique() > 1:
        axes[0].legend(fontsize=8)
    return figure


# What an instruction of a thread does, and how many FP32 ones an SM begins in a cycle (by compute capability).
OPERATIONS = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum.per_second": count
              for name, count in (("fadd", 1), ("fmul", 1), ("ffma", 2), ("dadd", 1), ("dmul", 1), ("dfma", 2))}
TRAFFIC = ("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second")
THROUGHPUT = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
FP32_LANES = {(7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128,
              (10, 3): 128, (12, 0): 128}
RANGE, KERNEL = 2, 3  # `source` of a counter


def roofline_points(session: GpuFlightSession) -> Any:
    """A row for each kernel or range whose arithmetic and memory traffic were counted, longest first.

    Columns: name, flops (FP32 and FP64 operations a second, without those of tensor cores), bytes (of DRAM, a second),
    intensity (operations a byte), weight (its time, or how often it was counted if no time was recorded), peak_bytes (the most
    that DRAM can move, as dram__throughput says; NaN without it). Rates are means over the time.
    """
    perf = session.perf
    perf = perf[perf["source"].isin((RANGE, KERNEL))]
    name = perf["kernel"].astype(object).where(perf["kernel"].notna(), perf["range"].astype(object))
    frame = perf.assign(name=name, metric_name=perf["metric_name"].astype(object))
    wide = frame.pivot_table(index=["device_id", "ts_ns", "source", "name"], columns="metric_name", values="value", aggfunc="first")
    counted = [metric for metric in OPERATIONS if metric in wide]
    if not counted or any(metric not in wide for metric in TRAFFIC):
        raise ValueError("the session has no counts of arithmetic and memory traffic; the engine RangeProfiler takes them with "
                         "counter_metrics=roofline")
    wide = wide.dropna(subset=[*counted, *TRAFFIC])  # unknown is not 0
    wide["weight"] = wide["gpu__time_duration.sum"].fillna(1) if "gpu__time_duration.sum" in wide else 1.0
    wide["flops"] = sum(OPERATIONS[metric] * wide[metric] for metric in counted) * wide["weight"]
    wide["bytes"] = sum(wide[metric] for metric in TRAFFIC)
    wide["peak_bytes"] = wide["bytes"] / (wide[THROUGHPUT] / 100).where(wide[THROUGHPUT] > 1) if THROUGHPUT in wide else float("nan")
    wide["bytes"] *= wide["weight"]
    points = wide.groupby("name").agg({"flops": "sum", "bytes": "sum", "weight": "sum", "peak_bytes": "median"})
    points[["flops", "bytes"]] = points[["flops", "bytes"]].div(points["weight"], axis=0)
    points["intensity"] = points["flops"] / points["bytes"].where(points["bytes"] > 0)
    return points.sort_values("weight", ascending=False).reset_index()


def _fp32_peak(session: GpuFlightSession) -> float | None:
    """FP32 operations a second at the highest clock; None if the device is not known, or devices differ."""
    peaks = set()
    for device in session.answer["devices"]:
        lanes = FP32_LANES.get((device.get("compute_major"), device.get("compute_minor")))
        known = lanes and device.get("vendor") == "nvidia" and device.get("sm_count") and device.get("clock_max_sm")
        peaks.add(2e6 * lanes * device["sm_count"] * device["clock_max_sm"] if known else None)
    return peaks.pop() if len(peaks) == 1 else None


@_picture
def roofline(session: GpuFlightSession, top: int = 10, peak_gbps: float | None = None) -> Figure:
    """Arithmetic over memory traffic of kernels or ranges, below the limits of the device.

    The flat roof is FP32 at the highest clock. The slanted one is peak_gbps (GB/s of DRAM), or what the counter
    dram__throughput says; without either there is none. Operations of tensor cores are not counted.
    """
    points = roofline_points(session)
    shown = points[(points["flops"] > 0) & (points["bytes"] > 0)].head(top)
    shown = _need(shown, "kernel with arithmetic of FP32 or FP64 and memory traffic", "the engine RangeProfiler")
    figure, axes = _axes(session, "Roofline", 5.5)
    total = points["weight"].sum()
    for number, row in enumerate(shown.assign(name=_short_names(session, shown["name"])).itertuples()):
        axes.scatter([row.intensity], [row.flops / 1e9], s=40 + 400 * row.weight / total, alpha=0.8, color=COLOURS[number % len(COLOURS)],
                     label=f"{_short(row.name, 40)}  {100 * row.weight / total:.0f} %", zorder=3)
    peak = _fp32_peak(session)
    estimates = points["peak_bytes"].dropna()
    memory = peak_gbps * 1e9 if peak_gbps else estimates.median() if len(estimates) else None
    low, high = shown["intensity"].min() / 4, shown["intensity"].max() * 4
    if memory and peak:
        high = max(high, 4 * peak / memory)
    notes = ["FP32 and FP64, without tensor cores"]
    if memory:
        until = min(high, peak / memory) if peak else high
        axes.plot([low, until], [low * memory / 1e9, until * memory / 1e9], color="#444", linewidth=1.2)
        notes.append(f"DRAM {memory / 1e9:,.0f} GB/s" + ("" if peak_gbps else ", estimated from dram__throughput"))
    else:
        notes.append("memory roof unknown: give peak_gbps")
    if peak:
        axes.plot([peak / memory if memory else low, high], [peak / 1e9] * 2, color="#444", linewidth=1.2)
        notes.append(f"FP32 {peak / 1e9:,.0f} GFLOP/s")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations a byte of DRAM; " + "; ".join(notes))
    axes.set_ylabel("GFLOP/s")
    axes.grid(alpha=0.3)
    axes.legend(title="share of the counted time", fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def _lanes(session: GpuFlightSession, start_ns: int | None, end_ns: int | None) -> tuple[list[tuple[str, Any]], int]:
    """Lanes of a timeline with their rows between the two times, and how many of those were left out."""
    lanes: list[tuple[str, Any]] = []
    left = 0
    events = session.scope_events
    for depth, rows in events.groupby("depth"):
        lanes.append((f"scopes {depth + 1}", rows))
    for label, frame in (("GPU {} stream {}", session.kernels), ("GPU {} copies", session.memcpy.assign(name="copy"))):
        by: Any = ["device_id", "stream_id"] if "stream {}" in label else "device_id"
        for key, rows in frame.groupby(by, dropna=False):
            lanes.append((label.format(*(key if isinstance(key, tuple) else (key,))), rows))
    most = BARS // max(len(lanes), 1)
    for number, (label, rows) in enumerate(lanes):
        rows = rows if start_ns is None else rows[rows.start_ns + rows.duration_ns >= start_ns]
        rows = rows if end_ns is None else rows[rows.start_ns <= end_ns]
        left += max(len(rows) - most, 0)
        lanes[number] = (label, rows.nlargest(most, "duration_ns") if len(rows) > most else rows)
    return lanes, left


@_picture
def timeline(session: GpuFlightSession, start_ns: int | None = None, end_ns: int | None = None) -> Figure:
    """Scopes, kernels by stream, and copies over time; from start_ns to end_ns (ns since the Unix epoch), or all of it."""
    lanes, left = _lanes(session, start_ns, end_ns)
    if not lanes:
        raise ValueError("the session has no scopes, kernels or copies; the engine Trace takes them")
    figure, axes = _axes(session, "Timeline", 1.5 + 0.45 * len(lanes))
    colours: dict[str, str] = {}
    for number, (_, rows) in enumerate(lanes):
        rows = rows.assign(name=_short_names(session, rows.name))
        begin = (rows.start_ns - session.session_start_ns).to_numpy("float64") / 1e6
        spans = list(zip(begin, rows.duration_ns.to_numpy("float64") / 1e6))
        for name in rows.name.astype(object).drop_duplicates():
            colours.setdefault(name, COLOURS[len(colours) % len(COLOURS)])
        axes.broken_barh(spans, (number - 0.4, 0.8), facecolors=[colours[name] for name in rows.name.astype(object)], linewidth=0)
    axes.set_yticks(range(len(lanes)), [label for label, _ in lanes], fontsize=8)
    axes.invert_yaxis()
    from matplotlib.patches import Patch

    shown = [Patch(color=colours[name], label=_short(name, 40)) for name in list(colours)[: len(COLOURS)]]
    axes.legend(handles=shown, fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    bounds = [None if moment is None else (moment - session.session_start_ns) / 1e6 for moment in (start_ns, end_ns)]
    axes.set_xlim(*bounds)
    axes.set_xlabel("ms since the session began" + (f"; the {left:,} shortest are left out" if left else ""))
    axes.grid(axis="x", alpha=0.3)
    return figure


FIGURES: tuple[Callable[[GpuFlightSession], Figure], ...] = (timeline, kernel_time, idle_lines, occupancy, transfers, stalls, utilisation,
                                                                   roofline)


def init(log_path: str | os.PathLike[str], session_id: str | None = None) -> GpuFlightSession:
    """Reads the session that show() draws: below a folder, or where files lie that a pattern names ("logs/*.log"), which
    may also name the folder that contains the folders of sessions.
    """
    path = os.fspath(log_path)
    if glob.has_magic(path):
        found = glob.glob(path) or glob.glob(os.path.join(os.path.dirname(path), "*", os.path.basename(path)))
        if not found:
            raise FileNotFoundError(f"no file matches {path}")
        newest = max(found, key=os.path.getmtime)
        path = newest if os.path.isdir(newest) else os.path.dirname(newest) or "."
    _session[:] = [GpuFlightSession(path, session_id=session_id)]
    return _session[0]


def show() -> list[Figure]:
    """Draws all pictures that the session of init() has data for, shows them if there is a display, and returns them."""
    if not _session:
        raise RuntimeError("gpufl.viz.show(): call gpufl.viz.init(log_path) first")
    figures = []
    for make in FIGURES:
        try:
            figures.append(make(_session[0]))
        except ValueError as error:
            if not str(error).startswith("the session has no "):
                raise
    _display(figures)
    return figures


def _display(figures: list[Figure]) -> None:
    import matplotlib
    from matplotlib import pyplot

    if matplotlib.get_backend().lower() == "agg":
        return
    for figure in figures:
        window = pyplot.figure(figsize=figure.get_size_inches())
        manager = window.canvas.manager
        manager.canvas.figure = figure
        figure.set_canvas(manager.canvas)
    pyplot.show()
