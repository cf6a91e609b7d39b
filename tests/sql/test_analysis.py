"""What a query means for units: the invariant of `rpac.sql.roles`, checked on worlds by hand."""

import collections

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.sql.analysis import Analysis
from tests.sql.people import (
    CODES,
    STAFF,
    VISITS,
    analysed,
    database,
    frame,
    hand,
    members,
    run_on,
    scope_of,
    tables_of,
)

DB = database()
EVERY = np.unique(STAFF["id"])

# Rows with the unit's key in their first column, which says whose they are.
LOCAL = {
    "a table": "SELECT id, age FROM staff",
    "some rows": "SELECT id, age FROM staff WHERE age > 40 AND dept <> 'law'",
    "joined on the key": "SELECT s.id, v.cost FROM staff s JOIN visit v ON s.id = v.visitor",
    "joined in WHERE": "SELECT s.id, v.cost FROM staff s, visit v WHERE v.visitor = s.id",
    "joined with itself": "SELECT v.visitor, w.cost FROM visit v JOIN visit w USING (visitor)",
    "with public rows": "SELECT v.visitor, c.label FROM visit v JOIN codes c ON v.code = c.code",
    "with public rows, or none": "SELECT visitor, label FROM visit LEFT JOIN codes "
    "ON visit.code = codes.code AND label > 'b'",
    "with its own rows, or none": "SELECT id, cost FROM staff LEFT JOIN visit "
    "ON id = visitor AND cost > 60",
    "grouped by the unit": "SELECT visitor, sum(cost), count(*) FROM visit GROUP BY visitor",
    "grouped by more": "SELECT visitor, code, avg(cost) FROM visit GROUP BY visitor, code",
    "of groups of the unit": "SELECT s.id, v.n FROM staff s JOIN "
    "(SELECT visitor, count(*) AS n FROM visit GROUP BY visitor) v ON s.id = v.visitor",
    "that has some": "SELECT id FROM staff WHERE EXISTS "
    "(SELECT 1 FROM visit WHERE visitor = id AND cost > 60)",
    "above its own average": "SELECT v.visitor, v.cost FROM visit v WHERE v.cost > "
    "(SELECT avg(w.cost) FROM visit w WHERE w.visitor = v.visitor)",
    "in a public list": "SELECT visitor FROM visit WHERE code IN "
    "(SELECT code FROM codes WHERE label > 'b')",
    "in its own list": "SELECT id, age FROM staff s WHERE age > ANY "
    "(SELECT cost FROM visit WHERE visitor = s.id)",
    "through a CTE": "WITH v AS (SELECT visitor, max(cost) AS m FROM visit GROUP BY visitor) "
    "SELECT visitor, m FROM v WHERE m > 50",
    "with listed numbers": "SELECT id, k FROM staff, (VALUES (1), (2)) AS t(k)",
}


@pytest.mark.parametrize("name", LOCAL)
def test_local_rows_of_a_world_are_the_pools_rows_of_its_units(name):
    """Invariant B: the rows of every world are those of the pool, filtered by their owner."""
    sql = LOCAL[name]
    facts = analysed(DB, sql).facts
    assert (facts.private, facts.owned, facts.local, facts.rows, facts.grows) == (
        True, True, True, 1, 1,
    )  # fmt: skip
    assert facts.owner is not None
    pool = run_on(tables_of(EVERY), sql)
    for world in (0, 13, 31):
        inside = set(members(DB, world).tolist())
        expected = collections.Counter(row for row in pool if row[0] in inside)
        assert collections.Counter(hand(DB, sql, world)) == expected


NOT_LOCAL = {
    "above everybody's average": "SELECT id, age FROM staff "
    "WHERE salary > (SELECT avg(salary) FROM staff)",
    "as old as another": "SELECT id FROM staff WHERE age IN (SELECT age + 1 FROM staff)",
    "numbered": "SELECT id, row_number() OVER (ORDER BY salary) AS k FROM staff",
    "the first": "SELECT id FROM staff ORDER BY salary LIMIT 10",
    "one of each age": "SELECT DISTINCT ON (age) id, age FROM staff ORDER BY age, salary",
    "of everybody's visits": "SELECT id FROM staff s WHERE EXISTS "
    "(SELECT 1 FROM visit v, visit w WHERE v.visitor = s.id AND w.cost > 40 * v.cost)",
    "of totals beside": "SELECT id, n FROM staff, (SELECT avg(cost) AS n FROM visit)",
    "the public rows without": "SELECT visitor, label FROM codes LEFT JOIN visit "
    "ON codes.code = visit.code AND cost > 140",
    "a group of nobody's": "SELECT v.visitor, count(*) FROM staff s LEFT JOIN visit v "
    "ON s.id = v.visitor AND v.cost > 90 GROUP BY v.visitor",
}


@pytest.mark.parametrize("name", NOT_LOCAL)
def test_rows_that_depend_on_other_units_are_not_called_local(name):
    sql = NOT_LOCAL[name]
    assert not analysed(DB, sql).facts.local
    pool = run_on(tables_of(EVERY), sql)

    def differs(world):
        inside = set(members(DB, world).tolist())
        kept = collections.Counter(row for row in pool if row[0] in inside)
        return collections.Counter(hand(DB, sql, world)) != kept

    assert any(map(differs, range(32)))  # the rule is needed: these rows are others in some world


CAUTIOUS = (
    "SELECT id FROM staff WHERE EXISTS (SELECT code FROM visit WHERE visitor = id GROUP BY code)",
    "SELECT s.id, l.x FROM staff s, LATERAL (SELECT s.age AS x) AS l",
    "SELECT s.id, u.x FROM staff s, unnest([1, 2]) AS u(x)",
    "SELECT id FROM staff TABLESAMPLE 50%",
    "SELECT s.id FROM staff s SEMI JOIN visit v ON s.id = v.visitor",
)


@pytest.mark.parametrize("sql", CAUTIOUS)
def test_what_no_rule_speaks_of_is_not_called_local(sql):
    assert not analysed(DB, sql).facts.local


PAIRS = {
    "SELECT s.id, t.id AS other FROM staff s, staff t": None,
    "SELECT s.id FROM staff s JOIN visit v ON s.age = v.cost": None,
    "SELECT s.id FROM staff s JOIN visit v ON s.id = v.visitor OR s.age > 60": None,
    "SELECT s.id FROM staff s JOIN (SELECT visitor + 0 AS v FROM visit) ON s.id = v": None,
    "SELECT s.id FROM staff s CROSS JOIN visit v LEFT JOIN codes c "
    "ON c.code = v.code AND s.id = v.visitor": None,
    "SELECT v.visitor FROM visit v JOIN visit w ON v.visitor = w.visitor "
    "JOIN staff s ON s.id = w.visitor": 1,
    "SELECT a.id FROM (SELECT id FROM staff UNION ALL SELECT visitor FROM visit) a": None,
    "SELECT label FROM codes": 0,
    "SELECT label, n FROM codes, (SELECT count(*) AS n FROM staff)": 0,
}


@pytest.mark.parametrize("sql", PAIRS)
def test_the_number_of_joined_rows(sql):
    """Rule 7: of degree 1 if they are of one unit each, of none that is known if they are not."""
    assert analysed(DB, sql).facts.rows == PAIRS[sql]


def test_keys_that_equal_different_columns_tie_nobody():
    """Equal numbers of different keys do not make two units one."""
    tables = {
        "a": frame(x=[1, 2], k=[2, 1]), "b": frame(y=[1, 2]), "c": frame(z=[2, 1]),
    }  # fmt: skip
    db = rpac.Database(tables, "a.x", {"b.y": "a.x", "c.z": "a.k"})
    assert analysed(db, "SELECT y FROM b JOIN c ON b.y = c.z").facts.rows is None
    assert analysed(db, "SELECT y FROM a JOIN c ON a.k = c.z JOIN b ON a.x = b.y").facts.rows == 1


ROLES = {
    "SELECT dept, count(*) AS n FROM staff GROUP BY dept": ["public", "measure"],
    "SELECT age, count(*) AS n FROM staff GROUP BY age": ["private", "measure"],
    "SELECT upper(dept) AS d, avg(age) + 1 AS n FROM staff GROUP BY dept": ["public", "measure"],
    "SELECT dept || age AS d, avg(age) AS n FROM staff GROUP BY ALL": ["private", "measure"],
    "SELECT 'all' AS d, avg(age) AS n FROM staff": ["public", "measure"],
    "SELECT label, sum(cost) AS s FROM visit JOIN codes USING (code) GROUP BY label":
        ["public", "measure"],
    "SELECT code, sum(cost) AS s FROM visit GROUP BY code": ["private", "measure"],
    "SELECT label, (SELECT avg(age) FROM staff) AS a FROM codes": ["public", "measure"],
    "SELECT label, (SELECT age FROM staff LIMIT 1) AS a FROM codes": ["public", "private"],
    "SELECT label, n FROM codes, (SELECT avg(age) AS n FROM staff)": ["public", "measure"],
    "SELECT c FROM (SELECT id, min(cost) AS c FROM staff JOIN visit ON id = visitor GROUP BY id)":
        ["private"],
    "SELECT avg(x) AS a FROM (SELECT age AS x FROM staff UNION ALL SELECT cost FROM visit)":
        ["measure"],
    "SELECT dept AS d FROM staff UNION SELECT code FROM visit": ["private"],
    "SELECT x, count(*) AS n FROM staff, unnest([age]) AS u(x) GROUP BY x": ["private", "measure"],
    "SELECT x, count(*) AS n FROM staff, LATERAL (SELECT age AS x) AS l GROUP BY x":
        ["private", "measure"],
}  # fmt: skip


@pytest.mark.parametrize("sql", ROLES)
def test_the_role_of_every_column(sql):
    assert [column.role for column in analysed(DB, sql).facts.listed] == ROLES[sql]


@pytest.mark.parametrize("seed", range(3))
def test_public_columns_carry_no_entry_of_a_private_row(seed):
    """Invariant A: other private entries, the same public columns."""
    rng = np.random.default_rng(seed)
    staff = pd.DataFrame(STAFF).assign(salary=rng.normal(size=60), age=rng.integers(100, 999, 60))
    visit = pd.DataFrame(VISITS).assign(cost=rng.normal(size=300))
    other = {"staff": staff, "visit": visit, "codes": pd.DataFrame(CODES)}
    for sql, roles in ROLES.items():
        public = [i for i, role in enumerate(roles) if role == "public"]
        shown = [
            {tuple(row[i] for i in public) for row in run_on(tables, sql)}
            for tables in (tables_of(EVERY), other)
        ]
        assert shown[0] == shown[1], sql


def test_scopes_are_studied_once_and_found_again():
    scope = scope_of(DB, "WITH v AS (SELECT visitor AS x FROM visit) SELECT avg(v.x) FROM v, v w")
    analysis = Analysis(DB, scope)
    assert analysis.of(scope) is analysis.facts
    assert analysis.source(scope, "v") is analysis.source(scope, "w")
    assert not analysis.source(scope, "nobody").private


def test_a_recursion_is_read_as_private_rows_of_nobody():
    sql = (
        "WITH RECURSIVE t AS (SELECT age AS n FROM staff UNION ALL SELECT n - 1 FROM t "
        "WHERE n > 60) SELECT avg(n) AS a, min(n) AS b FROM t"
    )
    facts = analysed(DB, sql).facts
    assert facts.private
    assert facts.rows is None
    assert [column.role for column in facts.listed] == ["measure", "measure"]
