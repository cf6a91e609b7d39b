"""The one SELECT in a text."""

import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import rpac
from rpac.sql.parsing import parsed, take_order
from tests.sql.people import database

DB = database()


def test_every_column_is_named_with_its_table():
    tree = parsed(DB, "SELECT age, cost AS c FROM staff, visit v WHERE id = visitor")
    assert {(c.table, c.name) for c in tree.find_all(exp.Column)} == {
        ("staff", "age"), ("v", "cost"), ("staff", "id"), ("v", "visitor"),
    }  # fmt: skip
    assert [item.alias for item in parsed(DB, "SELECT * FROM codes").selects] == ["code", "label"]


@pytest.mark.parametrize("sql", ["SELECT avg(age) FROM staff;", "(SELECT avg(age) FROM staff)",
                                 "((SELECT avg(age) FROM staff))", "FROM staff SELECT avg(age)",
                                 "select AVG(Age) from STAFF"])  # fmt: skip
def test_one_question_may_be_written_in_many_ways(sql):
    assert parsed(DB, sql).sql() == parsed(DB, "SELECT avg(age) FROM staff").sql()


def test_group_by_all_is_spelled_out():
    tree = parsed(DB, "SELECT dept, age + 1 AS a, avg(salary) FROM staff GROUP BY ALL")
    plain = parsed(DB, "SELECT dept, age + 1 AS a, avg(salary) FROM staff GROUP BY dept, age + 1")
    assert tree.sql() == plain.sql()
    inner = parsed(DB, "SELECT avg(m) FROM (SELECT dept, max(age) AS m FROM staff GROUP BY ALL)")
    assert len(inner.find(exp.Group).expressions) == 1


REFUSED = {
    "two": ("SELECT 1; SELECT 2", "Expected one SELECT; got 2 statements"),
    "none": ("", "Expected one SELECT; got nothing"),
    "a change": ("DROP TABLE staff", "Expected one SELECT; got 'DROP TABLE staff'"),
    "values": ("VALUES (1)", "Expected one SELECT; got"),
    "limited brackets": ("(SELECT 1) LIMIT 1", r"Expected one SELECT; got '\(SELECT 1\) LIMIT 1'"),
    "nonsense": ("SELECT FROM WHERE (", "Expected a SELECT that parses; got"),
    "too deep": (
        f"SELECT avg({'(' * 3000}age{')' * 3000}) FROM staff",
        "Expected a SELECT that parses; got",
    ),
    "column": (
        "SELECT avg(wage) FROM staff",
        r"got Column 'wage' could not be resolved.* Columns: staff.id, .*codes.label\.",
    ),
    "ambiguous": ("SELECT avg(cost) FROM visit, codes WHERE code > 'a'", "a SELECT that parses"),
    "table": ("SELECT avg(wage) FROM payroll", "Expected tables among .*; got payroll"),
    "a schema": (
        "SELECT avg(age) + (SELECT salary FROM pool.staff WHERE id = 17) FROM staff",
        "tables among .*, without a schema; got pool.staff",
    ),
    "a catalog": ("SELECT avg(age) FROM memory.main.staff", "got memory.main.staff"),
    "a function of tables": (
        "SELECT avg(age) FROM staff, query('SELECT 1 AS x')",
        "without a schema; got .*QUERY",
    ),
    "the catalog": ("SELECT count(*) FROM staff, duckdb_tables()", "without a schema; got"),
    "a file": ("SELECT avg(a) FROM 'other.csv'", "Expected tables among"),
    "hidden": ("SELECT count(*) FROM __members", "Expected tables among"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_one_select_of_known_tables_is_refused(name):
    sql, message = REFUSED[name]
    with pytest.raises(rpac.InputError, match=message):
        parsed(DB, sql)


def test_long_lists_of_columns_are_cut():
    import pandas as pd

    wide = rpac.Database({"t": pd.DataFrame([{f"c{i}": i for i in range(30)}] * 2)}, "rows")
    with pytest.raises(rpac.InputError, match=r"Columns: t.c0, .*, t.c23 \.\.\.\.$"):
        parsed(wide, "SELECT nope FROM t")


@pytest.mark.parametrize(
    ("rest", "order", "limit"),
    [
        ("", [], None),
        ("ORDER BY n", [(1, False)], None),
        ("ORDER BY n DESC, dept LIMIT 3", [(1, True), (0, False)], 3),
        ("ORDER BY 2 DESC", [(1, True)], None),
        ("ORDER BY count(*)", [(1, False)], None),
        ("ORDER BY avg(age), n", [(1, False)], None),
        ("LIMIT 0", [], 0),
    ],
)
def test_order_and_limit_are_taken_off(rest, order, limit):
    tree = parsed(DB, f"SELECT dept, count(*) AS n FROM staff GROUP BY dept {rest}")
    assert take_order(tree) == (order, limit)
    assert not tree.find(exp.Order, exp.Limit)


def test_what_cannot_be_applied_to_released_rows_is_refused():
    for rest, message in {
        "LIMIT 1 OFFSET 1": "no OFFSET in the outermost SELECT; got OFFSET 1",
        "LIMIT 1 + 1": r"a plain number in LIMIT; got 'LIMIT 1 \+ 1'",
        "LIMIT 50%": "a plain number in LIMIT; got 'LIMIT 50 PERCENT'",
        "FETCH FIRST 3 ROWS ONLY": "a plain number in LIMIT; got 'FETCH FIRST 3",
    }.items():
        with pytest.raises(rpac.InputError, match=message):
            take_order(parsed(DB, f"SELECT avg(age) FROM staff {rest}"))


@pytest.mark.parametrize("sql", [
    "WITH p AS (PIVOT (SELECT name AS k, pay AS x FROM staff) ON k USING sum(x)) "
    "SELECT p.*, staff.pay FROM p, staff",
    "WITH p AS (PIVOT (SELECT name AS k, pay AS x FROM staff WHERE id = 7) ON k USING sum(x)) "
    "SELECT sum(COLUMNS(p.*)) + sum(staff.pay) FROM p, staff",
    "WITH p AS (PIVOT_WIDER staff ON name USING sum(pay)) SELECT * FROM p",
    "SELECT * FROM staff PIVOT (sum(pay) FOR name IN ('ann'))",
    "SELECT sum(COLUMNS(*)) FROM staff",
    "SELECT s.*, n FROM (SELECT {'a': 1, 'b': 2} AS s, count(*) AS n FROM staff) AS q",
])  # fmt: skip
def test_no_entry_becomes_the_name_of_a_column(sql):
    """A name is not covered by any noise: a PIVOT would print whatever the table holds."""
    people = ["zelda-hiv", "yorick-flu", "xenia-ok", "walter-ok"]
    staff = pd.DataFrame({"id": range(40), "name": people * 10, "pay": np.arange(40.0)})
    db = rpac.Database({"staff": staff}, unit="id", worlds=8)
    with pytest.raises(rpac.InputError) as caught:
        db.query(sql)
    assert not any(part in str(caught.value) for name in people for part in name.split("-"))


def test_a_name_of_a_table_means_that_table_everywhere():
    with pytest.raises(
        rpac.InputError, match="names in WITH that no table has; got 'codes'. Choose"
    ):
        parsed(
            database(), "WITH codes AS (SELECT age AS code FROM staff) SELECT count(*) FROM codes"
        )
