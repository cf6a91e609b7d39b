"""A SELECT taken apart: labels, groups, sums and rows."""

import pytest
import sqlglot
from sqlglot import exp

import rpac
from rpac.questions.selected import Said, Selected, words
from rpac.schema import Declared

SAID = Said(
    {
        "t": (False, {"id": "VARCHAR", "dept": "VARCHAR", "x": "VARCHAR"}),
        "p": (True, {"n": "BIGINT"}),
    },
    {"dept": ["a", 1, None]},
    {"t.x": Declared(domain=(1, 2), low=0.0, high=9.0)},
    frozenset({("t", "id")}),
)


def taken(sql):
    return Selected.of(sqlglot.parse_one(sql, dialect="duckdb"), SAID)


def test_a_query_is_taken_apart():
    found = taken(
        "SELECT t.dept AS d, count(*) AS n, sum(t.x) / count(*) AS _col_1 FROM t GROUP BY t.dept, t.x "  # noqa: E501
        "HAVING count(*) > 2"
    )
    assert found.labels == ["d", "n", "sum(x) / count(*)"]
    assert found.keys == ["dept", "x"]
    assert found.entries == [["a", "1", None], [1, 2]]
    assert found.places == {0: 0}
    assert found.kinds == {1: "BIGINT", 2: "DOUBLE"}
    assert found.alone
    assert found.finish.having is not None
    assert [item.alias for item in found.rows.selects] == ["k0", "k1", "a0"]
    assert not found.rows.find(exp.Group, exp.Having)
    assert found.lines([("a", 1), ("b", 2)]) == [("a",), ("b",)]
    assert found.sums.question(2, grouped=True, rows=None, moves=1).columns[0].cap == 9.0


def test_entries_follow_from_shapes():
    keys = "CASE WHEN t.id > 1 THEN 'a' WHEN t.id > 0 THEN NULL ELSE 'b' END, t.id > 1, p.n, CASE WHEN t.id THEN t.id END"  # noqa: E501
    found = taken(f"SELECT count(*) AS n FROM t, p GROUP BY {keys}")
    assert found.entries == [["a", None, "b"], [False, True], None, None]
    assert not found.alone


def test_a_column_of_an_inner_select_has_nothing_declared():
    found = taken("WITH q AS (SELECT t.x AS x FROM t) SELECT sum(q.x) AS s FROM q")
    assert found.sums.question(1, grouped=False, rows=None, moves=1).columns[0].cap is None


def test_words_are_the_author_s():
    assert words(sqlglot.parse_one('AVG("t"."x" + 1)', dialect="duckdb")) == "avg(x + 1)"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 UNION SELECT 2", "Expected one SELECT"),
        ("SELECT count(*) AS n, sum(t.x) AS n FROM t", "unique names"),
        ("SELECT t.dept FROM t GROUP BY t.dept", "at least one aggregate"),
        ("SELECT count(DISTINCT t.x) AS n FROM t", "the unit's id"),
        (
            "SELECT count(*) AS n FROM t GROUP BY CUBE (t.x)",
            r"plain keys in GROUP BY; got 'GROUP BY",
        ),
        ("SELECT count(DISTINCT t.id + 1) AS n FROM t", "the unit's id"),
        ("SELECT count(DISTINCT (t.id, t.x)) AS n FROM t", "the unit's id"),
    ],
)
def test_refused(sql, message):
    with pytest.raises(rpac.InputError, match=message):
        taken(sql)


def test_declared_columns_must_be_known():
    with pytest.raises(rpac.InputError, match="known columns in caps, middle and schema; got 'z'"):
        Said(SAID.columns, {}, {"z": Declared()})
