"""A query a world: what its rows are, and that every answer is a run of its own."""

import numpy as np
import pytest

import rpac
from rpac.sql.by_world import ByWorld
from rpac.sql.question import read
from tests.sql.people import as_float, database, frame, hand

DB = database()


def test_the_rows_are_those_that_may_be_in_a_fixed_order():
    sql = "SELECT dept, median(salary) AS m FROM staff GROUP BY dept HAVING median(age) > 45"
    rows, values = ByWorld(read(DB, sql)).study()
    seen = {row[:1] for world in range(32) for row in hand(DB, sql, world)}
    assert {*seen} <= {*rows}
    assert rows == [("lab",), ("law",), ("ops",)]
    assert values.shape == (33, len(rows), 1)
    assert ByWorld(read(DB, sql)).study()[0] == rows


def test_missing_keys_come_last():
    sql = "SELECT dept, count(*) AS n FROM staff GROUP BY ROLLUP (dept)"
    assert ByWorld(read(DB, sql)).study()[0] == [("lab",), ("law",), ("ops",), (None,)]


ASKED = {
    "median": "SELECT dept, median(salary) AS m, count(*) AS n FROM staff GROUP BY dept",
    "against the average": "SELECT dept, count(*) AS n FROM staff "
    "WHERE salary > (SELECT avg(salary) FROM staff) GROUP BY dept",
    "the best": "SELECT dept, max(since) AS d FROM staff GROUP BY dept "
    "HAVING avg(age) >= ALL (SELECT avg(age) FROM staff GROUP BY dept)",
    "public rows": "SELECT label, (SELECT avg(cost) FROM visit WHERE visit.code = codes.code "
    "AND cost > 100) AS a FROM codes",
    "union": "SELECT 'staff' AS t, count(*) AS n FROM staff UNION ALL "
    "SELECT 'visit', count(*) FROM visit",
}


@pytest.mark.parametrize("name", ASKED)
def test_the_answer_on_a_world_is_that_of_the_world_run_by_hand(name):
    sql = ASKED[name]
    question = read(DB, sql)
    runs = ByWorld(question)
    rows, values = runs.study()
    for world in (0, 17):
        by_key = {row[:1]: [as_float(v) for v in row[1:]] for row in hand(DB, sql, world)}
        table = np.nan_to_num(runs.answers(np.array([world]))[0])
        assert np.array_equal(table, np.nan_to_num(values[world]))
        for key, found in zip(rows, table, strict=True):
            assert found == pytest.approx(by_key.get(key, [0.0] * len(found)), rel=1e-12)


def test_the_first_answer_of_a_world_is_the_run_that_was_needed_and_the_next_a_new_one():
    """The tables change behind its back: whoever asks a second time is told of it."""
    db = rpac.Database({"t": frame(id=[1, 2, 3, 4], x=[1, 2, 3, 4])}, "id", worlds=6)
    runs = ByWorld(read(db, "SELECT median(x) AS m FROM t"))
    rows, values = runs.study()
    assert rows == [()]
    db.connection.execute("UPDATE raw.t SET x = 10 * x")
    first, second = runs.answers(np.array([4, 4]))
    assert np.array_equal(first, values[4])
    assert np.array_equal(second, 10 * values[4])
    assert np.array_equal(runs.answers(np.arange(4)), values[:4])
    assert np.array_equal(runs.answers(np.arange(4)), 10 * values[:4])


def test_plain_names_mean_all_rows_again_after_a_run():
    runs = ByWorld(read(DB, "SELECT median(age) FROM staff"))
    runs.study()
    assert DB.connection.execute("SELECT count(*) FROM staff").fetchall() == [(60,)]
    failing = ByWorld(read(DB, "SELECT CAST(max(dept) AS INTEGER) AS i FROM staff"))
    rows, values = failing.study()
    assert rows == [()]
    assert np.isnan(values).all()
    assert DB.connection.execute("SELECT count(*) FROM staff").fetchall() == [(60,)]


def test_keys_with_several_rows_in_a_world_have_no_number_there():
    sql = (
        "SELECT label, a FROM codes JOIN (SELECT median(age) AS a, code FROM staff, visit "
        "GROUP BY code) AS v ON length(codes.label) > length(v.code) AND codes.code >= v.code"
    )
    db = database(public=("codes", "visit.code", "staff.dept"))
    sql = sql.replace("label, a", "label, v.code, a").replace("codes JOIN", "(SELECT label, code "
        "FROM codes UNION ALL SELECT label, code FROM codes) AS codes JOIN")  # fmt: skip
    rows, values = ByWorld(read(db, sql)).study()
    assert len(rows) == 3
    assert np.isnan(values).all()


def test_declared_groups_are_all_there_whether_they_occur_or_not():
    db = database(public=("codes", "visit.code"), keys={"dept": ["zoo", "ops"]})
    sql = (
        "SELECT code, dept, median(cost) AS m FROM staff JOIN visit ON id = visitor "
        "WHERE cost {} GROUP BY code, dept"
    )
    rows, _ = ByWorld(read(db, sql.format("> 0"))).study()
    assert rows == [(code, dept) for code in "ab" for dept in ("ops", "other", "zoo")]
    assert ByWorld(read(db, sql.format("< 0"))).study()[0] == rows  # nobody meets it
    alone = ByWorld(
        read(db, "SELECT dept, median(age) AS m FROM staff WHERE age < 0 GROUP BY dept")
    )
    rows, values = alone.study()
    assert rows == [("ops",), ("other",), ("zoo",)]
    assert np.isnan(values).all()
