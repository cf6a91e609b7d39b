"""The released table: order, limit, types and labels are those of the query."""

import datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.sql.question import read
from rpac.sql.table import Table
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
