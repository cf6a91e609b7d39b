"""The parts of a SELECT."""

import pytest
import sqlglot
from sqlglot import exp

from rpac.sql.syntax import (
    group_keys,
    is_grouped,
    is_own,
    joined,
    own_aggregates,
    own_nodes,
    snippet,
    source_names,
)


def select(sql):
    return sqlglot.parse_one(sql, dialect="duckdb")


def test_sources_come_in_the_order_that_they_are_joined():
    tree = select("SELECT 1 FROM a AS x JOIN b ON true LEFT JOIN (SELECT 1) AS c ON true, d")
    assert source_names(tree) == ["x", "b", "c", "d"]
    assert [join.side if join else None for _, join in joined(tree)] == [None, "", "LEFT", ""]
    assert source_names(select("SELECT 1")) == []


def test_what_a_select_groups_by():
    tree = select("SELECT 1 FROM a GROUP BY x, upper(y)")
    assert [node.sql() for node in group_keys(tree)] == ["x", "UPPER(y)"]
    assert group_keys(select("SELECT 1 FROM a")) == []


@pytest.mark.parametrize(
    ("sql", "own"),
    [
        ("SELECT avg(x) + max(y), min(x) FROM a", ["AVG(x)", "MAX(y)", "MIN(x)"]),
        ("SELECT x FROM a GROUP BY x HAVING sum(y) > 1", ["SUM(y)"]),
        ("SELECT (SELECT max(y) FROM b) FROM a", []),
        ("SELECT (SELECT max(y) FROM b UNION SELECT min(y) FROM b) FROM a", []),
        ("SELECT x FROM (SELECT max(y) AS x FROM b)", []),
        ("SELECT x IN (SELECT max(y) FROM b), avg(z) FROM a", ["AVG(z)"]),
        ("SELECT x FROM a WHERE y > (SELECT avg(y) FROM a)", []),
    ],
)
def test_aggregates_of_subqueries_are_not_those_of_the_select(sql, own):
    tree = select(sql)
    assert sorted(node.sql() for node in own_aggregates(tree)) == sorted(own)
    assert is_grouped(tree) is (bool(own) or "GROUP" in sql)


def test_a_node_is_its_own_and_that_of_whatever_holds_it_without_a_subquery():
    tree = select("SELECT x + (SELECT y FROM b) FROM a")
    item = tree.selects[0]
    x, y = (next(c for c in item.find_all(exp.Column) if c.name == n) for n in "xy")
    assert is_own(x, x)
    assert is_own(x, item)
    assert not is_own(y, item)
    assert [node.name for node in own_nodes(item, exp.Column)] == ["x"]


def test_snippets_are_short_and_without_the_quotes_that_were_put_in():
    assert snippet(select('SELECT "a"."x" + 1').selects[0]) == "a.x + 1"
    long = snippet(select(f"SELECT {' + '.join(['x'] * 99)}"))
    assert len(long) == 80
    assert long.endswith("...")
