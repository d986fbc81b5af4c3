"""session.sql: every table of recorded sessions against its frame, the types, what a query may be, and what is wrong with one."""
import json
import pathlib

import numpy
import pandas
import pytest

import gpufl
from gpufl._sql import table
from gpufl.analyzer import ATTRIBUTES, GpuFlightSession

DATA = pathlib.Path(__file__).resolve().parents[3] / "examples/data"
TRAIN = DATA / "train_loop"
SESSIONS = [path.relative_to(DATA).as_posix() for path in (
    TRAIN, *sorted((DATA / "train_loop_engines").iterdir()), DATA / "train_loop_kernels", DATA / "hf_train", DATA / "jax_train")]
NAMES = sorted({*ATTRIBUTES, *GpuFlightSession.tables()})
LONG = 16 << 10  # bytes of the longest text of a session


@pytest.fixture
def duckdb():
    return pytest.importorskip("duckdb", reason="no duckdb for Python, which session.sql computes with")


def frame_of(session, name):
    return getattr(session, name) if name in ATTRIBUTES else session.frame(name)


def cells(column):
    """A column as Python's values, None for an unknown cell; lists and dicts as JSON."""
    return [json.dumps(cell) if isinstance(cell, (list, dict)) else None if pandas.isna(cell) else cell for cell in column.tolist()]


def is_text(column):
    return isinstance(column.dtype, pandas.CategoricalDtype) or column.dtype == object or str(column.dtype) == "string"


# ---- tables, which need no DuckDB ---------------------------------------------------------------


def test_a_table_is_its_frame_with_one_type_a_column():
    session = GpuFlightSession(TRAIN)
    for name in [*NAMES, "KERNELS"]:
        made, frame = table(session, name), frame_of(session, name.lower())
        assert list(made.columns) == list(frame.columns) and len(made) == len(frame), name
        for column in frame:
            assert cells(made[column]) == cells(frame[column]), (name, column)
            assert made[column].dtype != object, (name, column)
    assert table(session, "nothing") is None
    assert json.loads(table(session, "insights").evidence[0]) == session.insights.evidence[0]


def test_the_texts_of_a_table_are_in_order():
    session = GpuFlightSession(TRAIN)
    assert not session.kernels.name.cat.categories.is_monotonic_increasing
    made = table(session, "kernels")
    assert made.name.cat.categories.tolist() == sorted(session.kernels.name.cat.categories)
    assert table(session, "memcpy").start_ns.tolist() == session.memcpy.start_ns.tolist()
    scopes = table(session, "scope_events")
    unknown = session.scope_events.tag.isna()
    assert scopes.tag.isna().tolist() == unknown.tolist()


def test_columns_and_types_do_not_depend_on_the_session(tmp_path, begin):
    assert begin()
    gpufl.shutdown()
    kinds = {}
    for session in [GpuFlightSession(DATA / name) for name in SESSIONS] + [GpuFlightSession(tmp_path / "logs")]:
        for name in NAMES:
            made = table(session, name)
            kind = {column: "text" if is_text(made[column]) else str(made[column].dtype).lower() for column in made}
            assert kinds.setdefault(name, kind) == kind, (name, session)


def test_without_duckdb(run):
    run(f"""
        import sys
        sys.modules["duckdb"] = None
        from gpufl.analyzer import GpuFlightSession
        session = GpuFlightSession({str(TRAIN)!r})
        for wrong, error, text in (("select 1", ImportError, "gpufl[sql]"), (5, TypeError, "must be a str")):
            try:
                session.sql(wrong)
            except error as caught:
                assert text in str(caught), caught
            else:
                raise AssertionError
        """)


# ---- queries ------------------------------------------------------------------------------------


def test_without_pandas(duckdb, run):
    run(f"""
        import sys
        sys.modules["pandas"] = None
        from gpufl.analyzer import GpuFlightSession
        session = GpuFlightSession({str(TRAIN)!r})
        for query in ("select 1", "select * from kernels"):
            try:
                session.sql(query)
            except ImportError as caught:
                assert "pandas" in str(caught), caught
            else:
                raise AssertionError
        """)


@pytest.mark.parametrize("folder", SESSIONS)
def test_every_table_is_its_frame(duckdb, folder):
    session = GpuFlightSession(DATA / folder)
    for name in NAMES:
        rows, frame = session.sql(f"select * from {name}"), frame_of(session, name)
        assert list(rows.columns) == list(frame.columns), name
        for column in frame:
            assert cells(rows[column]) == cells(frame[column]), (name, column)
            if is_text(frame[column]):
                assert is_text(rows[column]), (name, column)
            elif str(frame[column].dtype) == "Int64" and not frame[column].isna().any():
                assert rows[column].dtype == numpy.int64, (name, column)
            else:
                assert rows[column].dtype == frame[column].dtype, (name, column)


def test_texts_are_in_order_and_compared_as_texts(duckdb):
    session = GpuFlightSession(TRAIN)
    names = sorted(session.kernels.name.unique())
    assert session.sql("select distinct name from kernels order by name").name.tolist() == names
    assert session.sql("select max(name) as last, min(name) as first from kernels").iloc[0].tolist() == [names[-1], names[0]]
    later = sum(name > "n" for name in session.kernels.name)
    assert session.sql("select count(*) as n from kernels where name > 'n'").n[0] == later > 0
    assert session.sql("select count(*) as n from kernels where name = 'absent'").n[0] == 0
    assert session.sql("select name || '!' as name from kernels where name = ? limit 1", [names[0]]).name[0] == names[0] + "!"


def test_sums_of_whole_numbers_are_whole(duckdb):
    session = GpuFlightSession(TRAIN)
    sums = session.sql("select name, count(*) as calls, sum(duration_ns) as ns from Kernels group by name order by ns desc")
    want = session.kernels.groupby("name", observed=True).duration_ns.agg(["count", "sum"]).sort_values("sum", ascending=False)
    assert sums.name.tolist() == want.index.tolist()
    assert sums.calls.tolist() == want["count"].tolist() and sums.ns.tolist() == want["sum"].tolist()
    assert sums.ns.dtype == numpy.int64
    exact = session.sql("select sum(x) as x, sum(x) as \"a \"\" b\" from (values (9007199254740993), (null)) t(x)")  # 2^53 + 1
    assert exact.iloc[0].tolist() == [9007199254740993] * 2 and list(exact.columns) == ["x", 'a " b']
    assert session.sql("select sum(null::bigint) as x from kernels").x.isna().all()
    large = session.sql("select sum(9223372036854775807) as x, count(*) as n from range(4)")
    assert large.x.tolist() == [2.0 ** 65] and large.n.tolist() == [4]


def test_unknown_is_null(duckdb):
    session = GpuFlightSession(TRAIN)
    unknown = session.device_metrics.energy_mj.isna().sum()
    rows = session.sql("select energy_mj from device_metrics where energy_mj is null or energy_mj > 0")
    assert len(rows) == len(session.device_metrics) and rows.energy_mj.isna().sum() == unknown > 0
    assert str(rows.energy_mj.dtype) == "Int64"
    times = session.sql("select min(start_ns) as ns from kernels union all select null order by ns")
    assert times.ns[0] == session.kernels.start_ns.min() and times.ns.isna().tolist() == [False, True]


def test_joins(duckdb):
    session = GpuFlightSession(TRAIN)
    want = session.kernels.merge(session.scope_events, left_on="scope_id", right_on="scope_instance_id")
    want = want.groupby("name_y", observed=True).duration_ns_x.sum().sort_index()
    rows = session.sql("select s.name, sum(k.duration_ns) as ns from kernels k join scope_events s on k.scope_id = s.scope_instance_id "
                       "group by s.name order by s.name")
    assert len(rows) > 1 and dict(zip(rows.name, rows.ns)) == want.to_dict() and rows.name.tolist() == sorted(rows.name)
    assert session.sql("select count(*) as n from insights i join idle d on i.place = d.place").n[0] > 0
    texts = session.sql("select count(*) as n from kernels k join (select distinct name from scope_events) s on k.user_scope = s.name")
    assert texts.n[0] == session.kernels.user_scope.notna().sum() > 0


def test_parameters(duckdb):
    session = GpuFlightSession(TRAIN)
    for query, values in (("name = ?", ["forward"]), ("name = ?", ("forward",)), ("name = $it", {"it": "forward"})):
        assert session.sql(f"select count(*) as n from scope_events where {query}", values).n[0] == 1000
    row = session.scope_events.iloc[7]  # its cells are scalars of numpy
    for values in ([row.scope_instance_id, row.duration_ms], {"1": row.scope_instance_id, "2": row.duration_ms}):
        got = session.sql("select start_ns from scope_events where scope_instance_id = $1 and duration_ms = $2", values)
        assert got.start_ns.tolist() == [row.start_ns]
    assert session.sql("select ? as x, ? as y", [pandas.NA, None]).isna().all(axis=None)
    with pytest.raises(ValueError, match="no values are given"):
        session.sql("select count(*) from scope_events where name = ?")
    with pytest.raises(duckdb.Error):
        session.sql("select count(*) from scope_events", ["forward"])


def test_what_a_query_may_be(duckdb):
    session = GpuFlightSession(TRAIN)
    for query in ("from KERNELS", 'select * from "Kernels"', "select * from main.kernels", "select 1; select * from kernels",
                  "create table own as from kernels; from own", "with own as (from kernels) from own", "-- a note\nfrom kernels;"):
        assert len(session.sql(query)) == 10000, query
    assert session.sql("with kernels as (select 5 as x) select * from kernels").x.tolist() == [5]
    assert session.sql("describe kernels").column_name.tolist() == session.kernels.columns.tolist()
    assert set(session.sql("pivot memcpy on copy_kind using count(*) group by device_id").iloc[0, 1:]) == set(session.memcpy.copy_kind.value_counts())
    findings = session.insights[session.insights.id == "sync_line"]
    calls = session.sql("select (evidence->>'calls')::bigint as calls from insights where id = 'sync_line'").calls.tolist()
    assert calls == [evidence["calls"] for evidence in findings.evidence] and calls


def test_what_is_wrong_with_a_query(duckdb):
    session = GpuFlightSession(TRAIN)
    for query, text in (("select * from nothing", "nothing"), ("select nothing from kernels", "nothing"), ("selec 1", "selec"),
                        ("select name::int from kernels", "Could not convert"), ("delete from kernels", "base table")):
        with pytest.raises(duckdb.Error, match=text):
            session.sql(query)
    frame = pandas.DataFrame({"x": [1]})
    for name in ("frame", "session", "text", "parameters", "connection", "json"):  # variables of the caller and of sql()
        with pytest.raises(duckdb.CatalogException, match=f"{name} does not exist"):
            session.sql(f"select * from {name}, kernels")
    assert len(frame)
    for query in ("", "-- nothing", "create table own as select 1"):
        with pytest.raises(ValueError, match="gives no rows"):
            session.sql(query)
    assert session.sql("select 1 as x").x[0] == 1  # no table of an earlier query is left


def test_long_and_odd_texts(duckdb, begin, tmp_path):
    texts = ["x" * LONG, "y" * (LONG - 2) + "é", "it's", 'say "so"', "two\nlines", "", "🚀", "\\", "%_", "Z", "a"]
    assert begin()
    for text in texts:
        with gpufl.Scope(text):
            pass
    gpufl.shutdown()
    session = GpuFlightSession(tmp_path / "logs")
    names = session.scope_events.name.tolist()
    assert len(names) == len(texts)
    assert session.sql("select name from scope_events order by start_ns").name.tolist() == names
    assert session.sql("select name from scope_events order by name").name.tolist() == sorted(names)
    for name in names:
        assert session.sql("select count(*) as n from scope_events where name = ?", [name]).n[0] == names.count(name)
    lengths = session.sql("select max(strlen(name)) as n from scope_events").n
    assert lengths[0] == max(len(name.encode()) for name in names) == LONG
