"""SQL over the frames of a session, with DuckDB."""
from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from gpufl.analyzer import ATTRIBUTES, _pandas

if TYPE_CHECKING:
    import pandas

    from gpufl.analyzer import GpuFlightSession

ALONE = {"python_enable_replacements": False}  # a name is a table of the session, not a variable of Python
WIDE = {"HUGEINT", "UHUGEINT"}  # types of sums of whole numbers, which DuckDB converts to floats


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError("session.sql() needs duckdb: pip install 'gpufl[sql]'") from error
    return duckdb


def _in_order(column: Any) -> Any:
    """The categories by the alphabet: DuckDB orders and compares texts by their places among the categories."""
    import numpy
    import pandas

    kind = column.dtype
    if kind.ordered or kind.categories.is_monotonic_increasing:
        return column
    order = kind.categories.argsort()
    rank = numpy.full(len(order) + 1, -1, dtype=column.cat.codes.dtype)  # the last cell is the code -1, which is unknown
    rank[order] = numpy.arange(len(order))
    return pandas.Categorical.from_codes(rank[column.cat.codes.to_numpy()], categories=kind.categories[order])


def _plain(column: Any) -> Any:
    """The column with one type in SQL, whatever its rows are: texts are texts, even if all are unknown; lists and dicts are JSON."""
    import pandas

    if isinstance(column.dtype, pandas.CategoricalDtype):
        return _in_order(column)
    if column.dtype != object:
        return column
    return column.map(lambda cell: json.dumps(cell) if isinstance(cell, (list, dict)) else cell).astype("string")


def table(session: GpuFlightSession, name: str) -> Any:
    """The frame of that name for a query; None if there is none."""
    name = name.lower()
    if name in ATTRIBUTES:
        frame = getattr(session, name)
    elif name in session.tables():
        frame = session.frame(name)
    else:
        return None
    return _pandas().DataFrame({key: _plain(frame[key]) for key in frame.columns}, copy=False)


def _whole(result: Any) -> Any:
    """The rows, with sums of whole numbers as int64; one that is too large for it leaves them floats."""
    kinds = [str(kind) for kind in result.types]
    if not WIDE & set(kinds):
        return result.df()
    cells = (f"#{at}::BIGINT" if kind in WIDE else f"#{at}" for at, kind in enumerate(kinds, 1))
    quoted = (name.replace('"', '""') for name in result.columns)
    try:
        return result.project(", ".join(f'{cell} as "{name}"' for cell, name in zip(cells, quoted))).df()
    except _duckdb().ConversionException:
        return result.df()


def _given(parameters: Any) -> Any:
    """The values with cells of frames as Python's own: DuckDB takes no scalar of numpy and no <NA>."""
    import numpy
    import pandas

    if isinstance(parameters, dict):
        return {name: _given([value])[0] for name, value in parameters.items()}
    if not isinstance(parameters, (list, tuple)):
        return parameters
    return [None if value is pandas.NA else value.item() if isinstance(value, numpy.generic) else value for value in parameters]


def query(session: GpuFlightSession, text: str, parameters: Any) -> pandas.DataFrame:
    """Runs it on a connection of its own; only tables whose names stand in it are made."""
    if not isinstance(text, str):
        raise TypeError(f"session.sql(): the query must be a str, not {text!r}")
    duckdb = _duckdb()
    _pandas()  # an answer is a frame, also of a query without a table
    with duckdb.connect(config=ALONE) as connection:
        for name in sorted(set(re.findall(r"\w+", text.lower()))):
            frame = table(session, name)
            if frame is not None:
                connection.register(name, frame)
        if not parameters and any(statement.named_parameters for statement in connection.extract_statements(text)):
            raise ValueError("session.sql(): the query has parameters, and no values are given for them")
        result = connection.sql(text, params=_given(parameters))
        if result is None:
            raise ValueError("session.sql(): the query gives no rows: its last statement is not one like SELECT")
        return _whole(result)
