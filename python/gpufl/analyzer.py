"""Sessions as pandas DataFrames.

    from gpufl.analyzer import GpuFlightSession

    session = GpuFlightSession("logs")
    session.kernels.groupby("name").duration_ns.sum()

Reads sessions of gpufl and of the public GPUFlight client, with all their parts. Columns are the memory of the C library: times
are int64, ns since the Unix epoch, other ints int64 or int32, texts categories. If cells are unknown an int column is
pandas' Int64 or Int32 (with <NA>) and a float column has NaN; an unknown value is never 0. A DataFrame is made when
it is first used; frame() makes one of some columns. pandas and numpy are imported at that moment.
"""
from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Iterable

from gpufl import _analysis, _notebook

if TYPE_CHECKING:
    import pandas

EVENTS = {"kernels", "memcpy", "marks", "device_metrics", "host_metrics", "syncs", "stacks", "samples", "allocs",
          "graphs"}
ATTRIBUTES = EVENTS | {"scopes", "scope_events", "perf", "idle", "insights"}
SAMPLES = {"pc_samples": "pc_sampling", "sass_metrics": "sass_metric"}  # tables of scopes, with their sample_kind
IDLE = ["cause", "place", "file", "line", "function", "symbol", "in_library", "reason", "idle_ns", "exact_ns", "estimated_ns",
        "half_width_ns", "samples", "ended_by", "inherited", "state", "syscall", "scope", "operator"]
HOST_TIME = ["place", "file", "line", "function", "symbol", "in_library", "reason", "state", "syscall", "call", "time_ns", "exact_ns",
             "estimated_ns", "half_width_ns", "samples"]
INSIGHTS = ["id", "category", "severity", "title", "text", "inside", "next", "gives_back_ns", "gives_back_least_ns", "gives_back_share",
            "bound", "half_width_ns", "part_of", "ended_by", "parts", "place", "file", "line", "function", "symbol", "in_library", "scope",
            "kernel", "short_name", "kernel_symbol", "device", "evidence"]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("DataFrames need pandas: pip install 'gpufl[analyzer]', or apt install python3-pandas") from error
    return pandas


def _of_answer(rows: list[dict[str, Any]], columns: list[str]) -> Any:
    """Rows of the report as a frame with those columns. A column's type does not depend on its rows, and ints stay ints
    next to unknown cells."""
    frame = _pandas().DataFrame(rows, columns=columns)
    for name in columns:
        if name in ("line", "part_of", "device"):
            frame[name] = frame[name].astype("Int64")
        elif name.endswith("_ns") or name == "samples":
            whole = frame[name].astype("Int64")
            frame[name] = whole if whole.isna().any() else whole.astype("int64")
        elif name in ("in_library", "ended_by", "inherited"):
            frame[name] = frame[name].astype("boolean" if frame[name].isna().any() else "bool")
        elif name == "gives_back_share":
            frame[name] = frame[name].astype("float64")
    return frame


def _one_below_the_other(columns: list[Any]) -> Any:
    """Columns of one kind as one column: texts stay categories, and ints stay ints."""
    pandas = _pandas()
    from pandas.api.types import union_categoricals

    columns = [column for column in columns if len(column)] or columns[:1]
    if isinstance(columns[0].dtype, pandas.CategoricalDtype):
        return union_categoricals(columns)
    return pandas.concat(columns, ignore_index=True)


def _unknown(like: Any, count: int) -> Any:
    """A column like that one in which all cells are unknown."""
    pandas = _pandas()
    kind = like.dtype if isinstance(like.dtype, pandas.CategoricalDtype) else "Int64"
    return pandas.Series(index=range(count), dtype=kind)


class GpuFlightSession:
    """One session below log_dir.

    session_id names it (the name of its folder), or log_prefix does in the flat layout of the public client; without a
    name it is the session that was written last. Raises FileNotFoundError if there is no session, ValueError if nothing
    in it can be read. Lines that are damaged are left out, with a RuntimeWarning that counts them, and so are lines that a newer
    version wrote and this one does not know; a session that is still being written is read up to its present end.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], log_prefix: str | None = None, session_id: str | None = None
    ) -> None:
        for name, value in (("log_prefix", log_prefix), ("session_id", session_id)):
            if value is not None and not isinstance(value, str):
                raise TypeError(f"GpuFlightSession(): {name} must be a str, not {value!r}")
        self.path = os.fspath(log_dir)
        if session_id:
            self._session = _analysis.open(log_dir, session_id)
        else:
            self._session = self._newest(log_dir, log_prefix)
        self.info: dict[str, Any] = self._session.info()
        self._frames: dict[str, Any] = {}
        self._answer: dict[str, Any] | None = None
        damage = [f"{self.info[key]} {what}" for key, what in (
            ("damaged_lines", "damaged lines"), ("damaged_parts", "files that cannot be read to their end"),
            ("missing_parts", "missing files")) if self.info[key]]
        if damage:
            warnings.warn(f"{self.path}: the session is not complete: {', '.join(damage)}", RuntimeWarning, 2)
        if self.info["unknown_lines"]:
            warnings.warn(f"{self.path}: {self.info['unknown_lines']} lines are left out: they are of kinds that this version does "
                          "not know, so a newer one wrote the session", RuntimeWarning, 2)

    @staticmethod
    def _newest(log_dir: str | os.PathLike[str], prefix: str | None) -> _analysis.Session:
        """Sessions of gpufl have no prefix: a prefix without files must be the program's name, or a warning says which session is read."""
        if prefix:
            try:
                return _analysis.open(log_dir, prefix)
            except FileNotFoundError:
                pass
        made = _analysis.open(log_dir, "")
        info = made.info()
        if prefix and info["app"] != prefix:
            warnings.warn(f"{os.fspath(log_dir)}: log_prefix {prefix!r} names no session; the one that was written last is read, "
                          f"{info['id']} of {info['app']!r}", RuntimeWarning, 3)
        return made

    def __repr__(self) -> str:
        return f"GpuFlightSession({self.path!r}, session_id={self.session_id!r})"

    @property
    def session_id(self) -> str:
        return self.info["id"]

    @property
    def app_name(self) -> str:
        return self.info["app"]

    @property
    def session_start_ns(self) -> int:
        return self.info["start_ns"]

    @property
    def session_end_ns(self) -> int | None:
        """None if the log has no end: the session still runs, or its program was killed."""
        return self.info["end_ns"] if self.info["ended"] else None

    # ---- tables ---------------------------------------------------------------------------------

    @staticmethod
    def tables() -> dict[str, list[str]]:
        """The tables of frame() and arrow(), with their columns."""
        return _analysis.tables()

    def arrow(self, table: str) -> _analysis.Table:
        """The table for pyarrow, polars and others that take __arrow_c_stream__, without a copy."""
        return self._session.table(table)

    def _own(self, frame: Any) -> Any:
        """The frame with the session's id as its first column, so that frames of several sessions can be put together."""
        pandas = _pandas()  # first, since its error says what to install
        import numpy

        ids = pandas.Categorical.from_codes(numpy.zeros(len(frame), numpy.int8), [self.session_id])
        frame.insert(0, "session_id", ids)
        return frame

    def _series(self, table: str, name: str) -> Any:
        pandas = _pandas()
        import numpy

        column = self._session.column(table, name)
        values = numpy.asarray(column)
        if column.kind == "text":
            kind = pandas.CategoricalDtype(pandas.Index(column.texts, dtype=object))
            try:
                return pandas.Categorical.from_codes(values, dtype=kind, validate=False)
            except TypeError:  # pandas before 2.1
                return pandas.Categorical(values, dtype=kind, fastpath=True)
        if column.kind == "int" and column.nulls:
            mask = values == numpy.iinfo(values.dtype).min
            return pandas.arrays.IntegerArray(numpy.where(mask, 1, values), mask)
        return values

    def frame(self, table: str, columns: Iterable[str] | None = None) -> pandas.DataFrame:
        """A table, or some columns of it, as a new DataFrame over the session's memory, which is read-only."""
        known = self.tables()
        if table not in known:
            raise KeyError(f"there is no table {table!r}; there are {', '.join(known)}")
        names = known[table] if columns is None else list(columns)
        data = {name: self._series(table, name) for name in names}
        return _pandas().DataFrame(data, copy=False)

    def __getattr__(self, name: str) -> Any:
        if name not in EVENTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name not in self._frames:
            self._frames[name] = self._own(self.frame(name))
        return self._frames[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *EVENTS})

    def _cached(self, name: str, make: Any) -> Any:
        if name not in self._frames:
            self._frames[name] = make()
        return self._frames[name]

    @property
    def scopes(self) -> pandas.DataFrame:
        """Profile samples: of program counters (sample_kind pc_sampling) and counts of instructions (sass_metric)."""
        return self._cached("scopes", self._scopes)

    def _scopes(self) -> pandas.DataFrame:
        pandas = _pandas()  # first, since its error says what to install
        import numpy

        frames = [self.frame(table) for table in SAMPLES]
        rows = {}
        for name in dict.fromkeys(name for frame in frames for name in frame):
            like = next(frame[name] for frame in frames if name in frame)
            rows[name] = _one_below_the_other([frame[name] if name in frame else _unknown(like, len(frame)) for frame in frames])
        codes = numpy.repeat(range(len(frames)), [len(frame) for frame in frames])
        kinds = pandas.Categorical.from_codes(codes, list(SAMPLES.values()))
        frame = self._own(pandas.DataFrame({**rows, "sample_kind": kinds}, copy=False))
        return _notebook.shown(frame, _notebook.scopes_html)

    @property
    def scope_events(self) -> pandas.DataFrame:
        """Scopes that ended: calls are rows; mean_ns is the mean of one iteration if there are repeats."""
        return self._cached("scope_events", self._scope_events)

    def _scope_events(self) -> pandas.DataFrame:
        frame = self.frame("scope_events")
        mean = frame["duration_ns"].astype("float64") / frame["repeat"].clip(lower=1).astype("float64")
        frame = self._own(frame.assign(mean_ns=mean))
        return _notebook.shown(frame, _notebook.scope_events_html)

    @property
    def perf(self) -> pandas.DataFrame:
        """Values of hardware counters; `source` says what each value covers: 1 a moment, 2 a range, 3 a kernel."""
        return self._cached("perf", self._perf)

    def _perf(self) -> pandas.DataFrame:
        frame = self.frame("counters")
        value = frame["value"].astype("float64") * 10.0 ** frame["exponent"].fillna(0).astype("float64")
        return self._own(frame.assign(value=value))

    def sql(self, query: str, parameters: Any = None) -> pandas.DataFrame:
        """The result of a query, as a new DataFrame: `session.sql("select name, count(*) from kernels group by name")`.

        The tables are the attributes (kernels, memcpy, scopes, scope_events, perf, idle, insights, …) and what tables()
        names, with the columns of the frames; parameters are values for ? or $name in the query. DuckDB computes it, over the
        memory of the frames' numbers. Needs the Python package duckdb, 1.1 or newer. What is wrong with the query is an error
        of duckdb's; a ValueError says that it gives no rows, or that values for its parameters are missing.
        """
        from gpufl._sql import query as run

        return run(self, query, parameters)

    # ---- answers --------------------------------------------------------------------------------

    @property
    def answer(self) -> dict[str, Any]:
        """The report as data: what `gpufl report --json` writes (docs/report.md)."""
        if self._answer is None:
            self._answer = json.loads(self._report(json=True, top=0))
        return self._answer

    def _report(self, **options: Any) -> str:
        """The report of only this session, even if the folder has others."""
        if os.path.isfile(self.path):  # log_dir names a single part
            return _analysis.report(self.path, **options)
        return _analysis.report(self.info["dir"], session=self.info["name"], **options)

    @property
    def insights(self) -> pandas.DataFrame:
        """The findings with their next steps, one in each row."""
        return self._cached("insights", self._insights)

    def _insights(self) -> pandas.DataFrame:
        frame = _of_answer(self.answer["insights"], INSIGHTS)
        return _notebook.shown(self._own(frame), _notebook.insights_html)

    @property
    def idle(self) -> pandas.DataFrame:
        """Idle time of the GPUs by cause and line, longest first; what the columns mean: docs/report.md, `idle.lines[]`."""
        return self._cached("idle", self._idle)

    def _idle(self) -> pandas.DataFrame:
        frame = _of_answer(self.answer["idle"]["lines"], IDLE)
        return self._own(frame.sort_values("idle_ns", ascending=False, ignore_index=True))

    @property
    def host_time(self) -> pandas.DataFrame:
        """Time of the program's threads by line and state, longest first, if no kernels were recorded (engine Sync); empty
        for other sessions. What the columns mean: docs/report.md, `host_time.lines[]`."""
        return self._cached("host_time", self._host_time)

    def _host_time(self) -> pandas.DataFrame:
        frame = _of_answer(self.answer["host_time"]["lines"], HOST_TIME)
        return self._own(frame.sort_values("time_ns", ascending=False, ignore_index=True))

    # ---- text -----------------------------------------------------------------------------------

    def print_summary(self) -> None:
        """Prints the first screen of the report."""
        print(self._report(), end="")

    def _section(self, name: str, top: int, engines: str = "Trace", tables: tuple[str, ...] = ()) -> None:
        """Prints a section, or, if the session has no rows for it, the engine that records them."""
        if isinstance(top, bool) or not isinstance(top, int):
            raise TypeError(f"top_n must be an int, not {top!r}")
        if top < 0:
            raise ValueError(f"top_n must be 0 (all) or more, not {top}")
        known = self.tables()
        text = self._report(top=top, sections=name)
        rows = sum(len(self._session.column(table, known[table][0])) for table in tables)
        if (tables and not rows) or all(line.startswith("***") for line in text.splitlines() if line):
            text = f"The session has none of this; its engine was {self.info['engine']}, and it takes {engines}.\n"
        print(text, end="")

    def inspect_scopes(self, top_n: int = 10) -> None:
        """Prints the time of scopes; top_n rows, 0: all."""
        self._section("scopes", top_n)

    def inspect_hotspots(self, top_n: int = 10) -> None:
        """Prints the kernels with most time."""
        self._section("kernels", top_n)

    def inspect_stalls(self, top_n: int = 10) -> None:
        """Prints what kernels waited for, from samples of the program counter, and counts of instructions, if there are any."""
        self._section("samples", top_n, "PcSampling or Deep", ("pc_samples", "sass_metrics"))

    def inspect_profile_samples(self, top_n: int = 10) -> None:
        """Prints samples of the program counter and counts of instructions."""
        self._section("samples", top_n, "PcSampling, SassMetrics or Deep", ("pc_samples", "sass_metrics"))

    def inspect_perf_metrics(self, top_n: int = 10) -> None:
        """Prints hardware counters of scopes, ranges and kernels."""
        self._section("samples", top_n, "RangeProfiler or PmSampling", ("counters",))

    def inspect_pm_sampling(self, top_n: int = 10) -> None:
        """Prints hardware counters that were sampled over time."""
        self._section("samples", top_n, "PmSampling", ("counters",))

    def inspect_idle(self, top_n: int = 10) -> None:
        """Prints why GPUs were idle, and the lines that the time belongs to."""
        self._section("idle", top_n)

    def inspect_host_time(self, top_n: int = 10) -> None:
        """Prints where the time of the program's threads went, if no kernels were recorded."""
        self._section("host_time", top_n, "Sync")

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows for a session at the end of a cell."""
        return _notebook.session_html(self)
