"""SQL over the frames of a session, with DuckDB."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from gpufl.analyzer import GpuFlightSession

FRAMES = ("scopes", "scope_events", "perf", "idle", "insights")  # attributes that are more than a table


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError("session.sql() needs duckdb: pip install 'gpufl[sql]'") from error
    return duckdb


def _plain(frame: Any) -> Any:
    """The frame with cells that are lists or dicts as JSON: a column has one type in SQL."""
    made = {name: frame[name].map(lambda cell: json.dumps(cell) if isinstance(cell, (list, dict)) else cell)
            for name in frame.columns if frame[name].dtype == object}
    return frame.assign(**made) if made else frame


def table(session: GpuFlightSession, name: str) -> Any:
    """The frame that a query means by a name; None where there is none."""
    name = name.lower()
    if name in FRAMES:
        return _plain(getattr(session, name))
    return session.frame(name) if name in session.tables() else None


def query(session: GpuFlightSession, text: str, parameters: Any) -> pandas.DataFrame:
    """Runs it on a connection of its own; only the tables that it names are made."""
    if not isinstance(text, str):
        raise TypeError(f"session.sql(): the query must be a str, not {text!r}")
    with _duckdb().connect() as connection:
        for name in connection.get_table_names(text):
            frame = table(session, name)
            if frame is not None:
                connection.register(name, frame)
        return connection.execute(text, parameters).df()
