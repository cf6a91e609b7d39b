"""The parts of a SELECT: what it reads and in which order, what it groups by, what is its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from sqlglot import exp

Node: TypeAlias = Any
"""A node of a parsed query; the parser's own types differ between its versions."""
SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
"""What groups by several lists of keys, with NULL for those that a list leaves out."""


def joined(select: Node) -> Iterator[tuple[str, Node]]:
    """Yield the name of every source in order, with the JOIN that adds it; None for the first."""
    first = select.args.get("from_") or select.args.get("from")
    if first is not None:
        yield first.this.alias_or_name, None
    for join in select.args.get("joins") or []:
        yield join.this.alias_or_name, join


def source_names(select: Node) -> list[str]:
    """Return the names of the sources of a SELECT, in order."""
    return [name for name, _ in joined(select)]


def group_keys(select: Node) -> list[Node]:
    """Return the expressions that a SELECT groups by."""
    group = select.args.get("group")
    return list(group.expressions) if group else []


def every_key(select: Node) -> list[Node]:
    """Return all expressions that a SELECT groups by; of ROLLUP and the like, their columns."""
    keys = [key for key in group_keys(select) if not isinstance(key, SETS)]
    sets = select.args["group"].find_all(*SETS) if has_sets(select) else []
    return keys + [column for part in sets for column in part.find_all(exp.Column)]


def column_pairs(select: Node) -> list[tuple[Node, Node]]:
    """Return the pairs of columns that WHERE or a join of a SELECT holds equal."""
    where = select.args.get("where")
    roots = [where.this] if where else []
    roots += [
        join.args["on"] for _, join in joined(select) if join is not None and join.args.get("on")
    ]
    parts = [part for root in roots for part in conjuncts(root) if isinstance(part, exp.EQ)]
    pairs = [(part.left, part.right) for part in parts]
    return [pair for pair in pairs if all(isinstance(side, exp.Column) for side in pair)]


def is_own(node: Node, top: Node) -> bool:
    """Whether no subquery stands between a node and the expression it was found in."""
    at = node
    while at is not top:
        if isinstance(at, exp.Select | exp.SetOperation):
            return False
        at = at.parent
    return True


def outward(column: Node, top: Node) -> bool:
    """Whether a column in an expression is of the SELECT around it, not of a subquery inside."""
    at = column
    while at is not top:
        at = at.parent
        if isinstance(at, exp.Select) and column.table in source_names(at):
            return False
    return True


def own_nodes(top: Node, *kinds: type) -> list[Node]:
    """Return the nodes of these kinds in an expression, without those of subqueries."""
    return [node for node in top.find_all(*kinds) if is_own(node, top)]


def own_aggregates(select: Node) -> list[Node]:
    """Return the aggregates of a SELECT's own columns and of its HAVING."""
    having = select.args.get("having")
    items = [*select.selects, *([having] if having else [])]
    return [node for item in items for node in own_nodes(item, exp.AggFunc)]


def is_grouped(select: Node) -> bool:
    """Whether the rows of a SELECT are groups of the rows it reads."""
    return bool(select.args.get("group")) or bool(own_aggregates(select))


def snippet(node: Node) -> str:
    """Return an expression as its author wrote it, about: for messages."""
    text = str(node.sql("duckdb")).replace('"', "")
    return text if len(text) <= 80 else f"{text[:77]}..."


def conjuncts(condition: Node) -> list[Node]:
    """Return the parts that a condition holds all together."""
    node = condition.unnest()
    parts = [node.left, node.right] if isinstance(node, exp.And) else []
    return [found for part in parts for found in conjuncts(part)] or [node]


def has_sets(select: Node) -> bool:
    """Whether a SELECT groups by ROLLUP, CUBE or GROUPING SETS."""
    group = select.args.get("group")
    return group is not None and group.find(*SETS) is not None


def is_one_row(select: Node) -> bool:
    """Whether a SELECT aggregates all that it reads into one row."""
    if select.args.get("group"):
        return False
    over = [node.parent for node in own_aggregates(select)]
    over = [at.parent if isinstance(at, exp.Filter | exp.IgnoreNulls) else at for at in over]
    return any(not isinstance(at, exp.Window) for at in over)
