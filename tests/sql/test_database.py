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


def test_names_between_semicolons_are_found_where_they_always_were(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame(STAFF).to_csv(path, index=False, sep=";")
    db = rpac.Database(path, "id", worlds=32)
    value = rpac.privatize(db.query("SELECT avg(salary) AS a FROM people"), db.source, 1).value
    assert list(value[0]) == ["a"]
    with pytest.raises(rpac.errors.InputError, match="'pya' could not be resolved"):
        rpac.privatize(db.query("SELECT avg(pya) AS a FROM people"), db.source, 1)


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


def test_a_mistyped_name_is_refused_before_a_row_is_read(monkeypatch, tmp_path):
    """It took as long as reading the table, entry by entry; and the table is there to be asked."""
    pd.DataFrame(STAFF).to_csv(tmp_path / "staff.csv.gz", index=False)
    pl.DataFrame(STAFF).write_parquet(tmp_path / "staff.parquet")
    tables = (
        pd.DataFrame(STAFF),
        pl.DataFrame(STAFF),
        pa.table(STAFF),
        tmp_path / "staff.csv.gz",
    )
    monkeypatch.setattr("rpac.sql.database.Owned", None)
    for table in (*tables, tmp_path / "staff.parquet"):
        db = rpac.Database({"Staff": table}, "rows")
        with pytest.raises(
            rpac.InputError,
            match=r"'agee' could not be resolved. Check the spelling. Columns: staf",
        ):
            db.query("SELECT avg(agee) FROM staff")
        with pytest.raises(
            rpac.InputError, match=r"tables among \['staff'\], without a schema; got x"
        ):
            db.query("SELECT avg(age) FROM x")
        db.query("SELECT avg(AGE) AS a, count(DISTINCT rows) AS n FROM Staff")
    elsewhere = rpac.Database({"staff": pl.LazyFrame(STAFF)}, "id", worlds=32)
    late = elsewhere.query("SELECT avg(agee) FROM staff")  # its names are known once it is read
    with pytest.raises(rpac.InputError, match="'agee' could not be resolved"):
        rpac.simulate(elsewhere.source, late)


def test_a_structs_field_is_no_mistyped_name():
    table = pa.table({"id": [*range(8)], "s": [{"a": float(i)} for i in range(8)]})
    db = rpac.Database({"t": table}, "id", worlds=4)
    outputs = rpac.simulate(db.source, db.query("SELECT avg(s.a) AS a, avg(t.s.a) AS b FROM t"))
    assert outputs.values.shape == (4, 2)
    assert (outputs.values[:, 0] == outputs.values[:, 1]).all()


def test_declared_groups_that_no_column_is_named_after_are_told_with_all_columns():
    db = database(public=("codes",), keys={"dpt": ["lab"]})
    sql = "SELECT dept, count(*) AS n FROM staff GROUP BY dept"
    told = r"No column is named 'dpt', as in `keys`. Columns: id, dept, .*label\.$"
    for source in (db.source, db.presence):
        with pytest.raises(rpac.InputError, match=told):
            rpac.privatize(db.query(sql), source, 0.1)
    assert db.has("STAFF.Dept")
    assert db.has("dept")
    assert not db.has("codes.dept")
