"""The one SELECT in a text."""

import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

import rpac
from rpac.sql.parsing import as_written, parsed, take_order
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
    "table": ("SELECT avg(wage) FROM payroll", "tables among .*; got payroll. Name one of"),
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


def test_lists_of_columns_are_complete():
    import pandas as pd

    wide = rpac.Database({"t": pd.DataFrame([{f"c{i}": i for i in range(30)}] * 2)}, "rows")
    with pytest.raises(rpac.InputError, match=r"Columns: t.c0, .*, t.c29\.$"):
        parsed(wide, "SELECT nope FROM t")


@pytest.mark.parametrize(
    ("rest", "order", "limit"),
    [
        ("", [], None),
        ("ORDER BY n", [(1, False)], None),
        ("ORDER BY n DESC, dept LIMIT 3", [(1, True), (0, False)], 3),
        ("ORDER BY 2 DESC", [(1, True)], None),
        ("ORDER BY count(*)", [(1, False)], None),
        ("LIMIT 0", [], 0),
        ("FETCH FIRST 3 ROWS ONLY", [], 3),
    ],
)
def test_order_and_limit_are_taken_off(rest, order, limit):
    tree = parsed(DB, f"SELECT dept, count(*) AS n FROM staff GROUP BY dept {rest}")
    assert take_order(tree) == (order, limit)
    assert not tree.find(exp.Order, exp.Limit)


def test_what_cannot_be_applied_to_released_rows_is_refused():
    for rest, message in {
        "LIMIT 1 OFFSET 1": "no OFFSET in the outermost SELECT; got OFFSET 1",
        "ORDER BY count(*) LIMIT 1": r"in ORDER BY; got 'COUNT\(\*\)'. Select",
        "ORDER BY min(age)": r"in ORDER BY; got 'MIN\(staff.age\)'. Select it too, or leave it out",
        "LIMIT 1 + 1": r"a plain number in LIMIT; got 'LIMIT 1 \+ 1'",
        "LIMIT 50%": "a plain number in LIMIT; got 'LIMIT 50 PERCENT'",
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
        _ = db.query(sql).measures
    assert not any(part in str(caught.value) for name in people for part in name.split("-"))
    if "PIVOT" in sql or "COLUMNS" in sql:
        assert "columns that the query names itself" in str(caught.value)


def test_a_name_of_a_table_means_that_table_everywhere():
    with pytest.raises(
        rpac.InputError, match="names in WITH that no table has; got 'codes'. Choose"
    ):
        parsed(
            database(), "WITH codes AS (SELECT age AS code FROM staff) SELECT count(*) FROM codes"
        )


def pools():
    """Return two databases that differ in the salary of one person."""
    for pay in (12345.0, 54321.0):
        rows = [{"id": i, "name": f"p{i}", "dept": "lab" if i % 2 else "ops", "pay": 1000.0 + i}
                for i in range(40)]  # fmt: skip
        rows[17]["pay"] = pay
        yield rpac.Database({"staff": pd.DataFrame(rows)}, "id", worlds=16, public=["dept"])


CODE = {
    "a date": "''UTC'')::DATE + (SELECT max(pay)::INT FROM pool.staff WHERE id = 17) + (0",
    "a text": "''UTC'')::VARCHAR || (SELECT name || pay FROM pool.staff LIMIT 1) || (''''",
    "known tables": "''UTC'')::DATE + (SELECT max(pay)::INT FROM staff) + (0",
    "a comment": "''UTC'') --",
}


@pytest.mark.parametrize("name", CODE)
def test_a_string_does_not_become_code(name):
    """What the parser writes is what is run: one of its functions wrote a string without quotes."""
    moment = "TIMESTAMPTZ '2000-01-01 00:00:00+00'"
    found = set()
    for db in pools():
        with pytest.raises(rpac.InputError, match="plain words where units") as caught:
            _ = db.query(
                f"SELECT time_bucket(INTERVAL '1 day', {moment}, '{CODE[name]}') AS k, "
                "avg(pay) AS s FROM staff GROUP BY 1"
            ).measures
        found.add(str(caught.value))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pay > (SELECT max(pay) FROM pool.staff)", "tables among .*, without a schema; got pool"),
        ("pay > (SELECT max(u) FROM world.__members)", "without a schema; got world"),
        ("pay > 1; DROP TABLE staff", "Expected one SELECT; got 2 statements"),
        ("pay > (SELECT max(pay) FROM STAFF)", "Expected tables among .*; got 'STAFF'. Write its"),
        ("pay IN (FROM staff PIVOT (sum(pay) FOR name IN ('a')))", "that the query names itself"),
        ("pay<1", "a query that reads the same when it is written out; got one that does not"),
    ],
)
def test_what_is_run_is_looked_at_whatever_the_first_look_found(text, message):
    """A part that the parser would write as any text: it is read again before it is run."""
    for db in pools():
        tree = parsed(db, "SELECT avg(pay) AS s FROM staff WHERE name = 'p17'")
        tree.find(exp.Where).set("this", exp.Identifier(this=text, quoted=False))
        with pytest.raises(rpac.InputError, match=message):
            as_written(tree, db)


SHOUTED = {
    "a subquery": "SELECT avg(pay) * 0 + (SELECT max(STAFF.pay) FROM STAFF {} "
    "WHERE STAFF.name = 'p17') AS x FROM staff",
    "a join": "SELECT avg(s.pay) * 0 + max(t.pay) AS x FROM staff AS s CROSS JOIN STAFF {} AS t "
    "WHERE t.name = 'p17'",
    "beside a count": "SELECT (SELECT max(t.pay) FROM STAFF {} AS t WHERE t.name = 'p17') AS x, "
    "count(*) AS n FROM staff",
}


@pytest.mark.parametrize("name", SHOUTED)
def test_a_comment_does_not_change_whose_rows_a_table_holds(name):
    comment = "/* sqlglot.meta case_sensitive */"
    for db in pools():
        plain, told = (db.query(SHOUTED[name].format(text)) for text in ("", comment))
        assert not told.one_pass
        assert parsed(db, told.sql).sql() == parsed(db, plain.sql).sql()
        names = {table.name for table in parsed(db, told.sql).find_all(exp.Table)}
        assert names == {"staff"}


def test_hints_and_comments_are_left_out():
    plain = parsed(DB, "SELECT avg(age) FROM staff")
    for text in ("SELECT /*+ BROADCAST(staff) */ avg(age) FROM staff",
                 "SELECT avg(age) /* a */ FROM staff -- b"):  # fmt: skip
        assert parsed(DB, text).sql() == plain.sql()


def test_a_name_in_with_is_known_where_it_reaches_and_not_elsewhere():
    inside = "(WITH some AS (SELECT 1 AS u) SELECT max(u) FROM some)"
    assert parsed(DB, f"SELECT avg(age) + {inside} FROM staff").find(exp.CTE)
    with pytest.raises(rpac.InputError, match="tables among .*; got 'some'. Write its name"):
        parsed(DB, f"SELECT avg(age) + {inside} + (SELECT count(*) FROM some) FROM staff")


def test_names_that_the_library_keeps_for_itself_are_refused():
    for sql in ("SELECT avg(__unit) FROM staff", 'SELECT avg(age) AS "__X" FROM staff'):
        with pytest.raises(rpac.InputError, match="names that do not begin with __; got '__"):
            parsed(DB, sql)


def test_names_of_a_sub_query_are_each_one_column():
    with pytest.raises(rpac.InputError, match="unique names in a sub-query; got 'a'"):
        parsed(DB, "SELECT avg(a) FROM (SELECT age AS a, 1 AS A FROM staff) AS s")
