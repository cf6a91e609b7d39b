"""TRY around what may fail on a row, and around nothing else."""

import numpy as np
import pyarrow as pa
import pytest

import rpac
from rpac.sql.guard import guard
from rpac.sql.parsing import parsed
from tests.sql.people import database

DB = database()


def guarded(sql, db=DB):
    tree = parsed(db, sql)
    guard(tree, db)
    return tree.sql("duckdb").replace('"', "")


BARE = (
    "SELECT COUNT(*) AS n FROM staff AS staff WHERE staff.age > 40 AND staff.dept = 'ops'",
    "SELECT COUNT(*) AS n FROM staff AS s JOIN visit AS v ON s.id = v.visitor",
    "SELECT SUM(staff.age) AS n FROM staff AS staff WHERE staff.since < CAST('2020-01-01' AS DATE)",
    "SELECT staff.dept AS d, MAX(staff.age) AS n FROM staff AS staff GROUP BY staff.dept",
    "SELECT SUM(CASE WHEN staff.dept = 'ops' THEN 1 ELSE 0 END) AS n FROM staff AS staff",
    "SELECT COUNT(*) AS n FROM staff AS staff WHERE staff.age IN (1, 2) OR NOT staff.age IS NULL",
)


@pytest.mark.parametrize("sql", BARE)
def test_what_cannot_fail_stays_as_it_is(sql):
    assert guarded(sql) == sql


TRIED = {
    "SELECT max(CAST(dept AS INT)) AS n FROM staff": "MAX(TRY(CAST(staff.dept AS INT)))",
    "SELECT max(age * 2) AS n FROM staff": "MAX(TRY(staff.age * 2))",
    "SELECT count(*) AS n FROM staff WHERE age // 2 > 1 AND age > 3":
        "WHERE TRY(staff.age // 2 > 1) AND staff.age > 3",
    "SELECT count(*) AS n FROM staff s JOIN visit v ON s.id = v.visitor AND s.age + 1 > v.cost":
        "ON s.id = v.visitor AND TRY(s.age + 1 > v.cost)",
    "SELECT upper(dept) AS d, count(*) AS n FROM staff GROUP BY upper(dept)":
        "SELECT TRY(UPPER(staff.dept)) AS d, COUNT(*) AS n FROM staff AS staff "
        "GROUP BY TRY(UPPER(staff.dept))",
    "SELECT length(upper(dept)) AS d, count(*) AS n FROM staff GROUP BY upper(dept)":
        "SELECT TRY(LENGTH(TRY(UPPER(staff.dept)))) AS d",
    "SELECT sum(cost) AS s FROM visit":
        "SUM(CASE WHEN ISFINITE(TRY_CAST(visit.cost AS DOUBLE)) THEN visit.cost END)",
    "SELECT sum(DISTINCT cost) AS s FROM visit":
        "SUM(DISTINCT CASE WHEN ISFINITE(TRY_CAST(visit.cost AS DOUBLE)) THEN visit.cost END)",
    "SELECT avg(age) AS s FROM (SELECT age + 1 AS age FROM staff)":
        "(SELECT TRY(staff.age + 1) AS age FROM staff AS staff)",
    "SELECT count(*) AS n FROM staff WHERE age + 1 IN (SELECT age * 2 FROM staff)":
        "WHERE TRY(staff.age + 1) IN (SELECT TRY(staff.age * 2) AS _col_0",
    "SELECT max(CASE WHEN age > (SELECT avg(age) FROM staff) THEN age * 2 END) AS n FROM staff":
        "THEN TRY(staff.age * 2) END",
    "SELECT age + 1 > ALL (SELECT age FROM staff) AS k, count(*) AS n FROM staff GROUP BY k":
        "GROUP BY TRY(staff.age + 1) > ALL (SELECT",
    "SELECT EXISTS (SELECT id FROM staff WHERE age > 3) AS k, count(*) AS n FROM staff GROUP BY k":
        "GROUP BY EXISTS(SELECT staff.id",
    "SELECT count(*) FILTER (WHERE age * 2 > 3) AS n FROM staff": "WHERE TRY(staff.age * 2 > 3)",
    "SELECT count(*) AS n FROM staff HAVING max(age * 2) + 1 > 3": "MAX(TRY(staff.age * 2)) + 1",
}  # fmt: skip


@pytest.mark.parametrize("sql", TRIED)
def test_what_may_fail_is_tried(sql):
    assert TRIED[sql] in guarded(sql)
    DB.connection.execute(f"EXPLAIN {guarded(sql)}")  # DuckDB takes it


def test_wide_numbers_are_added_as_floats():
    wide = pa.decimal128(38, 0)
    table = pa.table({"id": range(8), "x": pa.array([9 * 10**37] * 8, wide), "y": [1.0] * 8})
    db = rpac.Database({"t": table}, "id", worlds=8)
    assert "THEN TRY_CAST(t.x AS DOUBLE)" in guarded("SELECT sum(x) AS s FROM t", db)
    for sql in (
        "SELECT sum(x) AS s, sum(y) AS n FROM t",
        "SELECT sum(x) AS s, median(y) AS m FROM t",
    ):
        query = db.query(sql)
        query.announce(db.source)
        assert query.full[0, 0] == pytest.approx(8 * 9e37)


def test_types_that_the_parser_does_not_know_are_guarded_the_more(monkeypatch):
    def fails(*_, **__):
        raise ValueError

    monkeypatch.setattr("rpac.sql.guard.annotate_types", fails)
    assert "WHERE TRY(staff.age > 40)" in guarded("SELECT count(*) AS n FROM staff WHERE age > 40")
    assert "ISFINITE" in guarded("SELECT sum(age) AS n FROM staff")


def test_joins_on_keys_stay_joins():
    plan = DB.connection.execute("EXPLAIN " + guarded(
        "SELECT count(*) AS n FROM staff s JOIN visit v ON s.id = v.visitor WHERE age + 1 > cost"
    )).fetchall()[0][1]  # fmt: skip
    assert "hash join" in plan.lower().replace("_", " ")
    assert np.isfinite(DB.query("SELECT avg(1 / (age - 30)) AS a FROM staff")(np.arange(4))).all()


def test_columns_of_different_kinds_are_compared_inside_try():
    sql = "SELECT count(*) AS n FROM staff WHERE {}"
    assert "WHERE TRY(staff.dept = staff.age)" in guarded(sql.format("dept = age"))
    assert "WHERE TRY(staff.dept > 3)" in guarded(sql.format("dept > 3"))
