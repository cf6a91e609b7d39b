"""The released table: order, limit, types and labels are those of the query."""

import datetime
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.answers.table import Table, _recorded, _sortable
from rpac.sql.question import read
from tests.sql.people import STAFF, database

DB = database()
ROWS = [("lab",), ("law",), ("ops",)]


def table(rest="", db=DB, items="dept, count(*) AS n, avg(age) AS a"):
    question = read(db, f"SELECT {items} FROM staff GROUP BY dept {rest}")
    return Table(question, ROWS)


def test_numbers_are_named_after_their_row_and_column():
    assert table().names == ("lab: n", "lab: a", "law: n", "law: a", "ops: n", "ops: a")
    alone = Table(read(DB, "SELECT avg(age) AS a, count(*) AS n FROM staff"), [()])
    assert alone.names == ("a", "n")


def test_having_leaves_out_rows_by_what_is_shown():
    values = np.array([2.4, 40.5, 9.9, np.nan, 2.6, 20.0])
    shown = lambda rest: table(rest).build(values)["dept"].tolist()  # noqa: E731
    assert shown("HAVING count(*) >= 3") == ["law", "ops"]  # 2.6 is shown as 3
    assert shown("HAVING count(*) >= 3 ORDER BY n DESC LIMIT 1") == ["law"]
    assert shown("HAVING avg(age) > 30") == ["lab"]
    assert shown("HAVING count(*) > 99") == []
    ends = table("HAVING count(*) >= 3").build(values - 5, values)
    assert ends["n"].tolist() == [5, -2]  # the rows of the answer, with other numbers
    table("HAVING count(*) >= 3").check()


def test_rows_are_ordered_and_cut_by_the_released_numbers():
    values = np.array([2.2, 40.5, 9.9, 30.0, 5.0, 20.0])
    plain = table().build(values)
    assert plain.to_dict("list") == {"dept": ["lab", "law", "ops"], "n": [2, 10, 5],
                                     "a": [40.5, 30.0, 20.0]}  # fmt: skip
    assert table("ORDER BY n DESC").build(values)["dept"].tolist() == ["law", "ops", "lab"]
    assert table("ORDER BY a LIMIT 2").build(values)["a"].tolist() == [20.0, 30.0]
    assert table("ORDER BY dept DESC").build(values)["n"].tolist() == [5, 10, 2]
    tied = np.array([1.0, 3.0, 1.0, 2.0, 0.0, 1.0])
    assert table("ORDER BY n DESC, a").build(tied)["a"].tolist() == [2.0, 3.0, 1.0]
    assert len(table("LIMIT 0").build(values)) == 0


def test_error_bars_stand_in_the_order_of_the_released_numbers():
    released, low = np.array([1.0, 0, 3.0, 0, 2.0, 0]), np.array([9.0, 0, 0.0, 0, 5.0, 0])
    found = table("ORDER BY n DESC LIMIT 2").build(low, released)
    assert found["dept"].tolist() == ["law", "ops"]
    scale = np.array([2.0, 1.0] * 3)
    doubled = table("ORDER BY n DESC LIMIT 2").ordered(released, scale)(low)
    assert doubled["n"].tolist() == [0, 10]


@pytest.mark.parametrize(
    ("make", "kind"),
    [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table),
     (lambda d: duckdb.from_arrow(pa.table(d)), duckdb.DuckDBPyRelation)],
)  # fmt: skip
def test_tables_are_of_the_kind_that_was_loaded(make, kind):
    db = rpac.Database({"staff": make(STAFF)}, "id", public=["dept"], worlds=8)
    found = table(db=db, items="max(since) AS last, dept, max(age > 60) AS old").build(
        np.array([86400.0, 0.9, 0.0, 0.1, 172800.0, 1.0])
    )
    assert isinstance(found, kind)
    rows = found.fetchall() if kind is duckdb.DuckDBPyRelation else [
        tuple(row.values()) for row in (
            found.to_dict("records") if kind is pd.DataFrame
            else found.to_dicts() if kind is pl.DataFrame else found.to_pylist()
        )
    ]  # fmt: skip
    assert rows == [
        (datetime.date(1970, 1, 2), "lab", True), (datetime.date(1970, 1, 1), "law", False),
        (datetime.date(1970, 1, 3), "ops", True),
    ]  # fmt: skip


def test_files_give_rows(tmp_path):
    path = tmp_path / "staff.csv"
    pd.DataFrame(STAFF).to_csv(path, index=False)
    db = rpac.Database(path, "id", public=["dept"], worlds=8)
    found = table("LIMIT 1", db=db).build(np.array([1.6, 30.0] * 3))
    assert found == [{"dept": "lab", "n": 2, "a": 30.0}]


KEYS = (
    "{'a': dept}", "[NULL, dept]", "MAP {'a': dept}", "union_value(a := dept)",
    "170141183460469231731687303715884105727::HUGEINT", "INTERVAL '1 month'", "'inf'::DOUBLE",
    "'nan'::DOUBLE", "'ab'::BLOB", "'101'::BIT", "'infinity'::DATE", "DATE '200000-01-01'",
    "TIMESTAMP '200000-01-01 00:00:00'", "TIMESTAMPTZ '2000-01-01 00:00:00+00'",
    "[TIMESTAMPTZ '2000-01-01 00:00:00+00']", "TIMETZ '10:00:00+02'", "TIME '24:00:00'",
    "CASE dept WHEN 'lab' THEN 1 END", "1.5::DECIMAL(38,10)", "NULL", "{'a': ['inf'::DOUBLE]}",
    "'00000000-0000-0000-0000-000000000001'::UUID", "CASE dept WHEN 'lab' THEN DATE '2000-01-01' "
    "ELSE 'infinity' END",
)  # fmt: skip


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table,
                                  lambda d: duckdb.from_arrow(pa.table(d))])  # fmt: skip
@pytest.mark.parametrize("key", KEYS)
def test_keys_of_every_type_are_ordered_and_shown(make, key):
    """What was charged and then could not be shown: a key of a type that a frame does not hold."""
    for pay in (12345.0, 54321.0):
        staff = {"id": list(range(40)), "dept": ["lab", "ops"] * 20, "pay": [1.0] * 39 + [pay]}
        db = rpac.Database({"staff": make(staff)}, "id", worlds=8, public=["dept"])
        query = db.query(f"SELECT {key} AS k, avg(pay) AS s FROM staff GROUP BY 1 ORDER BY 1 DESC")
        form = query.announce(db.source)
        found = form.rebuild(np.zeros(len(form.labels)))
        assert (found.shape if hasattr(found, "shape") else found)[1] == 2


def test_numbers_too_large_for_a_column_are_text_in_the_order_of_numbers():
    key = "CASE dept WHEN 'ops' THEN 9::HUGEINT ELSE 170141183460469231731687303715884105727 END"
    staff = pa.table({"id": list(range(8)), "dept": ["lab", "ops"] * 4, "pay": [1.0] * 8})
    db = rpac.Database({"staff": staff}, "id", worlds=4, public=["dept"])
    query = db.query(f"SELECT {key} AS k, avg(pay) AS s FROM staff GROUP BY 1 ORDER BY 1")
    form = query.announce(db.source)
    found = form.rebuild(np.zeros(2))["k"].to_pylist()
    assert found == ["9", "170141183460469231731687303715884105727"]


def test_entries_of_any_types_have_an_order():
    zone = datetime.UTC
    mixed = [None, 3, "a", b"a", {"a": None}, {"a": 1}, [2, None], [2, "x"], float("nan"), True,
             float("inf"), Decimal("1.5"), datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1),
             datetime.datetime(2000, 1, 1, tzinfo=zone), datetime.time(1), uuid.UUID(int=1),
             datetime.timedelta(1), ()]  # fmt: skip
    ordered = sorted(mixed, key=_sortable)
    assert ordered[-1] is None
    assert [v for v in ordered if type(v) in (bool, int, float, Decimal)][:4] == [
        True, Decimal("1.5"), 3, float("inf"),
    ]  # fmt: skip
    assert ordered.index({"a": 1}) < ordered.index({"a": None})
    assert sorted([{"a": 10}, {"a": 9}], key=_sortable) == [{"a": 9}, {"a": 10}]


def test_entries_that_no_record_holds_are_shown_as_text():
    for value in (
        float("inf"),
        [float("nan")],
        {"a": [float("inf")]},
        [b"x"],
        {"d": [uuid.UUID(int=1)]},
    ):
        assert not _recorded(value)
    for value in (None, 1, "a", float("nan"), [1, None, ["a"]], {"a": {"b": 1.5}}):
        assert _recorded(value)
    rows = [(1.5,), (float("inf"),), (2.0,)]
    question = read(DB, "SELECT dept, count(*) AS n FROM staff GROUP BY dept")
    assert Table(question, rows).build(np.zeros(3))["dept"].tolist() == ["1.5", "inf", "2.0"]
    gap = [(None,), (float("inf"),)]
    assert Table(question, gap).build(np.zeros(2))["dept"].isna().tolist() == [True, False]


def test_what_no_frame_shows_is_refused_before_it_is_charged(monkeypatch):
    monkeypatch.setattr("rpac.answers.table.nw.from_dict", lambda *a, **k: 1 / 0)
    with pytest.raises(rpac.InputError, match="rows that pandas can hold; got a ZeroDivisionError"):
        DB.query("SELECT dept, count(*) AS n FROM staff GROUP BY dept").announce(DB.source)
