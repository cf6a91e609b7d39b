"""Which questions are taken, and what is public, declared and a number in them."""

import numpy as np
import pytest
from sqlglot import exp

import rpac
from rpac.sql.parsing import parsed
from rpac.sql.question import OTHER, read
from tests.sql.people import database

DB = database()


def test_a_question_is_read_into_keys_and_measures():
    found = read(
        DB,
        'SELECT count(*) AS n, dept AS "Département", avg(salary), sum(age) AS years '
        "FROM staff GROUP BY dept ORDER BY n DESC LIMIT 2;",
    )
    assert found.labels == ["n", "Département", "avg(salary)", "years"]
    assert found.keys == [1]
    assert [(m.place, m.kind, m.degree, m.counts) for m in found.measures] == [
        (0, "BIGINT", 1, True), (2, "DOUBLE", 0, False), (3, "HUGEINT", 1, False),
    ]  # fmt: skip
    assert (found.order, found.limit, found.declared, found.lost_keys) == ([(0, True)], 2, {}, [])


@pytest.mark.parametrize("items", ["dept, sum(age) AS n", "sum(age) AS n, dept"])
def test_a_lone_whole_number_is_a_count_wherever_it_stands(items):
    (measure,) = read(DB, f"SELECT {items} FROM staff GROUP BY dept").measures
    assert measure.counts


def test_declared_groups_are_written_out_in_select_and_group_by():
    db = database(public=("codes",), keys={"Dept": ["ops", "zoo"], "AGE": [30, 31], "nope": [1]})
    found = read(db, "SELECT age, dept, count(*) AS n FROM staff GROUP BY dept, age")
    assert found.declared == {0: [30, 31, None], 1: ["ops", "zoo", OTHER]}
    assert found.keys == [0, 1]
    assert found.lost_keys == ["nope"]
    text = found.tree.sql("duckdb")
    assert text.count("IN ('ops', 'zoo')") == text.count("IN (30, 31)") == 2
    labelled = read(
        database(public=("codes",), keys={"decade": [2, 3]}),
        "SELECT age // 10 AS decade, count(*) AS n FROM staff GROUP BY age // 10",
    )
    assert labelled.declared == {0: [2, 3, None]}


def test_keys_that_do_not_group_are_neither_declared_nor_lost():
    db = database(public=("codes", "staff.dept"), keys={"age": [30], "staff.salary": [1], "m": [2]})
    found = read(db, "SELECT dept, avg(age) AS m FROM staff GROUP BY dept")
    assert found.declared == {}
    assert found.lost_keys == []
    union = read(
        db, "SELECT 'a' AS t, count(*) AS n FROM staff UNION SELECT 'b', count(*) FROM visit"
    )
    assert (union.declared, union.lost_keys) == ({}, ["m"])


def test_labels_that_a_case_writes_are_groups_and_words_of_rows_are_not():
    sql = "SELECT CASE WHEN salary > 9 THEN 'rich' ELSE 'poor' END AS k, count(*) FROM staff "
    sql += "GROUP BY "
    assert read(DB, sql + "1").declared == {0: ["rich", "poor"]}
    assert read(DB, sql + "k").tree.sql().count("'rich'") == 2  # as it was written
    for labels in ("dept ELSE 'x'", "'x' ELSE 3", "'x' ELSE (SELECT 'y')", "lower('X') ELSE 'y'"):
        with pytest.raises(
            rpac.InputError, match=r"groups in 'k' that are public or declared; got"
        ):
            read(
                DB,
                f"SELECT CASE WHEN age > 9 THEN {labels} END AS k, count(*) FROM staff GROUP BY 1",
            )
    inner = "CASE WHEN age > (SELECT avg(age) FROM staff) THEN 'x' ELSE 'y' END AS k, count(*)"
    with pytest.raises(rpac.InputError, match="groups in 'k' that are public or declared; got a"):
        read(DB, f"SELECT {inner} FROM staff GROUP BY 1")


def test_a_having_of_selected_numbers_is_taken_off():
    start = "SELECT dept, count(*) AS n, avg(age) AS a FROM staff GROUP BY dept HAVING"
    rows = np.array([[np.nan, 3.0, 40.0], [np.nan, 9.0, 20.0], [np.nan, 9.0, np.nan]])
    for having, kept in {
        "count(*) >= 9": [False, True, True],
        "n >= 9 AND avg(age) > 19": [False, True, False],
        "avg(age) IS NULL": [False, False, True],
        "a * n > 100": [True, True, False],
    }.items():
        found = read(DB, f"{start} {having}")
        assert found.having(rows).tolist() == kept
        assert not found.tree.args.get("having")


def test_any_other_having_is_decided_in_every_world_or_refused():
    start = "SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING"
    assert read(DB, f"{start} avg(age) > 3").tree.args["having"]
    assert read(DB, f"{start} avg(age) > 3").having is None
    with pytest.raises(
        rpac.InputError, match="or select what HAVING compares, so that the released"
    ):
        read(DB, f"{start} count(*) FILTER (WHERE age > 3) > 3")
    with pytest.raises(
        rpac.InputError, match="aggregates in HAVING; got \"staff.dept = 'ops'\". Write"
    ):
        read(DB, f"{start} dept = 'ops'")


REFUSED = {
    "rows": (
        "SELECT salary FROM staff",
        r"that aggregates over units; got rows of single units, with columns \['salary'\]",
    ),
    "by unit": ("SELECT id, sum(salary) FROM staff GROUP BY id", "rows of single units"),
    "the whole table": ("FROM staff", "rows of single units, with columns .*'since'"),
    "private groups": (
        "SELECT age, count(*) FROM staff GROUP BY age",
        "groups in 'age' that are public or declared; got a private column",
    ),
    "public only": (
        "SELECT count(*) FROM codes",
        r"that reads a private table; got public tables only: \['codes'\]",
    ),
    "no table": ("SELECT 1", r"got public tables only: \[\]"),
    "text": ("SELECT min(dept || 'x') FROM staff", "Expected numbers or dates in .*; got VARCHAR"),
    "lists": (
        "SELECT list(age) AS ages FROM staff",
        "aggregates that grow with the sample in a known way; got array_agg. Use avg",
    ),
    "mean of text": ("SELECT avg(dept) FROM staff", r"computes; got text in 'dept'\. Count"),
    "no number": (
        "SELECT DISTINCT dept FROM staff",
        r"Expected at least one number to privatize; got public columns \['dept'\]",
    ),
    "twice": ("SELECT avg(age) AS x, max(age) AS x FROM staff", "unique names .*; got 'x' twice"),
    "union of rows": (
        "SELECT count(*) FROM (SELECT id FROM staff UNION ALL SELECT visitor FROM visit)",
        "rows that belong to one unit each",
    ),
    "distinct rows": (
        "SELECT count(*) FROM (SELECT DISTINCT age, dept FROM staff)",
        "rows that belong to one unit each",
    ),
    "aggregate in WHERE": ("SELECT avg(age) FROM staff WHERE sum(age) > 3", "DuckDB can run; got"),
    "unknown function": ("SELECT avg(bogus(age)) FROM staff", "DuckDB can run; got .*bogus"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_questions(name):
    sql, message = REFUSED[name]
    with pytest.raises(rpac.InputError, match=message):
        read(DB, sql)


def test_a_key_that_nothing_has_is_named_beside_the_private_column():
    db = database(public=("codes",), keys={"dpt": ["ops"]})
    with pytest.raises(rpac.InputError, match="No column is named 'dpt', as in `keys`"):
        read(db, "SELECT dept, avg(age) FROM staff GROUP BY dept")


ALIKE = {
    "SELECT count(*) AS n FROM staff UNION ALL SELECT count(*) FROM visit":
        "several rows and no key",
    "SELECT c.label, (SELECT avg(age) FROM staff) AS a FROM codes c, codes d":
        r"several rows with equal \['label'\]",
    "SELECT dept, n FROM (SELECT dept, age, count(*) AS n FROM staff GROUP BY dept, age)":
        r"several rows with equal \['dept'\]",
    "SELECT label, a FROM codes, (SELECT avg(age) OVER () AS a FROM staff)":
        r"several rows with equal \['label'\]",
    "SELECT label, avg(age) OVER () AS a FROM codes, staff": r"several rows with equal \['label'\]",
    "SELECT avg(age) AS a FROM staff GROUP BY ROLLUP (dept)": "several rows and no key",
    "SELECT DISTINCT label, a FROM codes, (SELECT DISTINCT age AS x, 1 AS y FROM staff) AS t, "
    "(SELECT avg(age) AS a FROM staff) AS u": r"several rows with equal \['label'\]",
}  # fmt: skip


@pytest.mark.parametrize("sql", ALIKE)
def test_rows_that_keys_cannot_tell_apart_are_refused_by_shape(sql):
    with pytest.raises(rpac.InputError, match=f"rows of an answer apart; got {ALIKE[sql]}. Select"):
        read(database(), sql)


def test_rows_that_keys_tell_apart_are_taken():
    for sql in (
        "SELECT dept, n FROM (SELECT dept, count(*) AS n FROM staff GROUP BY dept)",
        "SELECT label, n FROM codes JOIN (SELECT dept, count(*) AS n FROM staff GROUP BY dept) "
        "AS s ON codes.label = s.dept",
        "SELECT t, n FROM (SELECT 'a' AS t, count(*) AS n FROM staff UNION ALL "
        "SELECT 'b', count(*) FROM visit) AS u",
        "SELECT label, a FROM (SELECT label FROM codes) AS c, (SELECT avg(age) AS a FROM staff)",
    ):
        assert read(database(), sql).keys == [0]


def test_groups_that_are_not_shown_are_public_too():
    with pytest.raises(rpac.InputError, match="groups in 'staff.age' that are public or declared"):
        read(database(), "SELECT count(*) AS n FROM staff GROUP BY age")
    assert read(database(), "SELECT count(*) AS n FROM staff GROUP BY dept").keys == []


@pytest.mark.parametrize("change", [
    lambda tree: tree.selects[1].set("this", exp.Literal.string("x")),
    lambda tree: tree.selects[1].set("alias", exp.to_identifier("b")),
    lambda tree: tree.select("1 AS more", copy=False),
])  # fmt: skip
def test_the_text_that_is_run_has_the_columns_of_the_one_that_was_asked(change, monkeypatch):
    """The parser might write a query otherwise than it read it, and DuckDB says so."""
    sql = "SELECT dept, avg(age) AS a FROM staff GROUP BY dept"
    assert read(DB, sql).kinds == ["VARCHAR", "DOUBLE"]

    def other(tables, text):
        tree = parsed(tables, text)
        change(tree)
        return tree

    monkeypatch.setattr("rpac.sql.question.parsed", other)
    with pytest.raises(
        rpac.InputError, match="Expected columns (of the same|that the query) names"
    ):
        read(DB, sql)
