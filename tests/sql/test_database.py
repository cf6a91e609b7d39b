"""The database as a user meets it: made, asked, shown, and missing without its extra."""

import importlib
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
import rpac.sql
from rpac.sql.database import Database
from rpac.sql.query import Query
from tests.sql.people import STAFF, N, database


def test_a_database_makes_queries_and_says_what_it_holds():
    db = database()
    query = db.query("SELECT avg(age) FROM staff")
    assert isinstance(query, Query)
    assert query.database is db
    assert repr(db) == "Database(units of staff.id)"
    assert rpac.Database is Database is rpac.sql.Database


def test_files_are_named_after_themselves_and_give_rows(tmp_path):
    path = tmp_path / "Staff.csv"
    pd.DataFrame(STAFF).to_csv(path, index=False)
    db = rpac.Database(path, "rows", worlds=32)
    assert db.source.units.size == N
    value = rpac.privatize(db.query("select avg(salary) a from staff"), db.source, 1).value
    assert list(value[0]) == ["a"]
    assert repr(db) == "Database(units of rows)"
    same, other = pd.DataFrame(STAFF), pd.DataFrame(STAFF | {"age": STAFF["age"] + 1})
    assert rpac.Database({"staff": same}, "rows", worlds=32).version() == db.version()
    assert rpac.Database({"staff": other}, "rows", worlds=32).version() != db.version()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_the_same_kind_of_table_comes_back(make):
    db = rpac.Database({"staff": make(STAFF)}, "id", worlds=32)
    release = rpac.privatize(
        db.query("SELECT count(*) AS n FROM staff WHERE age < 40"), db.source, 1
    )
    assert type(release.value) is type(make(STAFF))
    assert release.certificate.outputs["kind"] == "count"


def test_a_relation_comes_back_as_a_relation():
    import duckdb

    db = rpac.Database({"staff": duckdb.from_df(pd.DataFrame(STAFF))}, "id", worlds=32)
    value = rpac.privatize(db.query("SELECT avg(age) AS a FROM staff"), db.source, 1).value
    assert value.columns == ["a"]


@pytest.mark.parametrize("missing", [["duckdb"], ["sqlglot"], ["duckdb", "sqlglot"]])
def test_without_the_extra_it_is_said_what_to_install(missing, monkeypatch):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(rpac.InputError, match=f"got no {' and no '.join(missing)}. pip install"):
        importlib.reload(rpac.sql)
