"""One aggregation for all worlds: whom it serves, and that it gives what each world would."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.sql.one_pass import OnePass, serves
from rpac.sql.question import read
from tests.sql.people import STAFF, as_float, database, frame, hand

DB = database()

SERVED = {
    "count(*)": True,
    "count(age), sum(salary), avg(age), min(since), max(salary)": True,
    "sum(salary) / count(*)": True,
    "CASE WHEN avg(age) > 40 THEN 1 ELSE 0 END": True,
    "max(age) + (SELECT max(length(label)) FROM codes)": True,
    "median(salary)": False,
    "count(DISTINCT age)": False,
    "sum(DISTINCT age)": False,
    "count(*) FILTER (WHERE age > 40)": False,
    "max(age ORDER BY salary)": False,
    "quantile_cont(age, 0.5)": False,
    "avg(salary) - (SELECT avg(salary) FROM staff)": False,
}


@pytest.mark.parametrize("items", SERVED)
def test_which_aggregates_are_served(items):
    assert serves(read(DB, f"SELECT {items} FROM staff")) is SERVED[items]


@pytest.mark.parametrize(
    ("sql", "served"),
    [
        ("SELECT count(*) FROM staff JOIN visit ON id = visitor", True),
        ("SELECT dept, count(*) FROM staff GROUP BY dept HAVING avg(age) > 40", True),
        ("SELECT dept, count(*) FROM staff GROUP BY ROLLUP (dept)", False),
        ("SELECT dept, count(*) FROM staff GROUP BY CUBE (dept)", False),
        ("SELECT dept, count(*) FROM staff GROUP BY GROUPING SETS ((dept), ())", False),
        ("SELECT DISTINCT count(*) FROM staff", False),
        ("SELECT 1 AS k, count(*) FROM staff UNION ALL SELECT 2, count(*) FROM visit", False),
        ("SELECT avg(a.age) FROM staff a, staff b", False),
        ("SELECT (SELECT count(*) FROM staff) AS n", False),
        ("SELECT label, n FROM codes, (SELECT avg(age) AS n FROM staff)", False),
        ("SELECT avg(x) FROM staff, (VALUES ((SELECT max(age) FROM staff))) AS t(x)", False),
    ],
)
def test_which_queries_are_served(sql, served):
    assert serves(read(DB, sql)) is served


def test_a_private_table_that_the_analysis_did_not_see_is_not_served():
    question = read(DB, "SELECT count(*) FROM staff")
    assert serves(question)
    other = dataclasses.replace(question, tree=question.tree.copy())  # with tables of its own
    assert not serves(other)


def rows_by_hand(sql, question, world):
    """Return the numbers of a world by key, run by a plain DuckDB."""
    found = {}
    for row in hand(DB, sql, world):
        key = tuple(row[i] for i in question.keys)
        found[key] = [as_float(row[m.place]) for m in question.measures]
    return found


ASKED = {
    "every kind": "SELECT dept, count(*) AS n, count(age) AS c, sum(salary) AS s, avg(age) AS a, "
    "min(since) AS f, max(salary) AS m, sum(age) AS y FROM staff GROUP BY dept",
    "types": "SELECT max(age > 60) AS o, sum(salary::DECIMAL(12,2)) AS d, sum(salary::FLOAT) AS f, "
    "max(since::TIMESTAMP) AS t, min(age::UTINYINT) AS u FROM staff",
    "keys in measures": "SELECT label, sum(cost) / length(label) AS s FROM visit "
    "JOIN codes USING (code) GROUP BY label HAVING max(cost) > length(label) + 90",
    "aggregates twice": "SELECT avg(age) AS a, avg(age) + 1 AS b, sum(age) - avg(age) * count(age) "
    "AS zero FROM staff WHERE age > 30",
    "an aggregate of a subquery": "SELECT (SELECT count(*) FROM codes) * count(*) AS n FROM staff "
    "WHERE age > 50",
    "a subquery of the key": "SELECT code, count(*) * (SELECT max(length(label)) FROM codes "
    "WHERE codes.code = visit.code) AS n FROM visit GROUP BY code",
    "in its own list": "SELECT count(*) AS n FROM staff WHERE age > ANY "
    "(SELECT cost FROM visit WHERE visitor = id)",
    "grouped by the unit inside": "SELECT max(n) AS m, avg(t) AS a FROM (SELECT visitor, "
    "count(*) AS n, sum(cost) AS t FROM visit WHERE cost > 20 GROUP BY visitor) WHERE n > 3",
    "rows of the unit inside": "SELECT avg(x) AS a, max(d) AS d FROM (SELECT age + 1 AS x, "
    "since AS d FROM staff WHERE salary > 20000) WHERE x < 60",
    "named columns of a CTE": "WITH v(a, b) AS (SELECT visitor, sum(cost) FROM visit "
    "GROUP BY visitor) SELECT avg(b) AS m FROM v JOIN staff ON id = a",
    "rare": "SELECT dept, avg(salary) AS a, min(age) AS m FROM staff WHERE age > 62 GROUP BY dept",
}


@pytest.mark.parametrize("name", ASKED)
def test_the_answer_on_a_world_is_that_of_the_world_run_by_hand(name):
    sql = ASKED[name]
    db = DB if "code," not in sql else database(public=("codes", "staff.dept", "visit.code"))
    question = read(db, sql)
    assert serves(question)
    runs = OnePass(question)
    rows, _ = runs.study()
    worlds = np.array([31, 4, 0])
    for world, table in zip(worlds, runs.answers(worlds), strict=True):
        expected = rows_by_hand(sql, question, world)
        assert set(expected) <= set(rows)
        for key, found in zip(rows, np.nan_to_num(table), strict=True):
            blank = [0.0] * len(found)
            assert found == pytest.approx(expected.get(key, blank), rel=1e-9, abs=1e-7)


def test_a_study_shows_all_worlds_and_the_pool():
    db = database(worlds=40)
    runs = OnePass(read(db, "SELECT dept, sum(age) AS y FROM staff GROUP BY dept"))
    rows, values = runs.study()
    assert rows == [("lab",), ("law",), ("ops",)]
    assert values.shape == (41, 3, 1)
    assert np.array_equal(values[:-1], runs.answers(np.arange(40)), equal_nan=True)
    pool = pd.DataFrame(STAFF).groupby("dept")["age"].sum()
    assert values[-1, :, 0].tolist() == pool.tolist()


def test_the_company_of_a_world_does_not_change_its_answer():
    """Rounded averages would jump if sums came out otherwise in the last bit."""
    db = database(worlds=128)
    sql = (
        "SELECT dept, sum(salary) AS s, round(avg(salary), 2) AS r, "
        "CAST(sum(salary * 100) AS BIGINT) AS f FROM staff GROUP BY dept"
    )
    runs = OnePass(read(db, sql))
    runs.study()
    together = runs.answers(np.arange(128))
    for worlds in ([127], [5, 5, 90], list(range(127, -1, -1))):
        assert np.array_equal(runs.answers(np.array(worlds)), together[worlds], equal_nan=True)


def test_two_questions_do_not_mix_their_groups():
    first = OnePass(read(DB, "SELECT dept, count(*) * length(dept) AS n FROM staff GROUP BY dept"))
    before = (first.study()[0], first.answers(np.array([3])))
    second = OnePass(read(DB, "SELECT label, count(*) * length(label) AS n FROM visit "
                              "JOIN codes USING (code) GROUP BY label"))  # fmt: skip
    second.study()
    assert first.study()[0] == before[0]
    assert np.array_equal(first.answers(np.array([3])), before[1], equal_nan=True)


def test_declared_groups_are_all_there_in_every_combination():
    db = database(public=("codes", "visit.code"), keys={"dept": ["ops", "zoo"], "age": [30, 31]})
    sql = "SELECT dept, age, code, count(*) AS n FROM staff JOIN visit ON id = visitor GROUP BY ALL"
    runs = OnePass(read(db, sql))
    rows, values = runs.study()
    assert sorted(map(str, rows)) == sorted(
        str((dept, age, code))
        for dept in ("ops", "zoo", "other") for age in (30, 31, None) for code in "ab"
    )  # fmt: skip
    assert np.nansum(values[-1]) == len(hand(db, "FROM staff JOIN visit ON id = visitor", 0)) + len(
        hand(db, "FROM staff JOIN visit ON id = visitor", 16)
    )  # a world and its complement


def test_groups_without_their_key_are_rows_without_a_name():
    rows, values = OnePass(read(DB, "SELECT sum(age) AS y FROM staff GROUP BY dept")).study()
    assert rows == [(), (), ()]
    assert np.nansum(values[-1]) == STAFF["age"].sum()


def test_what_fails_on_some_rows_is_null_there_before_anything_is_added():
    table = frame(id=[1, 2, 3, 4], x=["1", "2", "no", "4"], y=[1.0, np.inf, np.nan, 5.0])
    db = rpac.Database({"t": table}, "id", worlds=6)
    sql = (
        "SELECT sum(CAST(x AS INTEGER)) AS s, avg(y) AS a, CAST(count(*) * 99 AS TINYINT) AS c "
        "FROM t"
    )
    runs = OnePass(read(db, sql + " WHERE 10 // (CAST(x AS INTEGER) - 4) < 0"))
    assert np.array_equal(runs.study()[1][-1], [[3.0, 1.0, np.nan]], equal_nan=True)
    assert np.array_equal(
        OnePass(read(db, sql)).study()[1][-1], [[7.0, 3.0, np.nan]], equal_nan=True
    )


def test_a_subquery_that_fails_leaves_a_world_without_an_answer():
    db = database(worlds=16)
    sql = (
        "SELECT avg(age) AS a, max(age) // (SELECT max(length(label)) - 5 FROM codes) AS f "
        "FROM staff"
    )
    assert np.isnan(OnePass(read(db, sql)).study()[1]).all()


def test_text_that_is_no_number_is_refused():
    text = OnePass(read(DB, "SELECT length(max(dept)) AS t FROM staff"))
    with pytest.raises(rpac.InputError, match=r"dates in 'staff.dept'; got VARCHAR\. Count"):
        text.study()


def test_null_is_not_zero_before_it_is_filled():
    table = frame(id=[1, 2, 3, 4], g=["a", "a", "b", "b"], x=[1.0, None, None, None])
    db = rpac.Database({"t": table}, "id", public=["g"], worlds=6)
    sql = "SELECT g, sum(x) AS s, max(x) AS m, count(x) AS c, count(*) AS n FROM t GROUP BY g"
    rows, values = OnePass(read(db, sql)).study()
    assert rows == [("a",), ("b",)]
    assert np.array_equal(
        values[-1], [[1.0, 1.0, 1.0, 2.0], [np.nan, np.nan, 0.0, 2.0]], equal_nan=True
    )
