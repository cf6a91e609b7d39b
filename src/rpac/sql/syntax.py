"""The parts of a SELECT: what it reads and in which order, what it groups by, what is its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from sqlglot import exp

Node: TypeAlias = Any
"""A node of a parsed query; the parser's own types differ between its versions."""


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


def is_own(node: Node, top: Node) -> bool:
    """Whether no subquery stands between a node and the expression it was found in."""
    at = node
    while at is not top:
        if isinstance(at, exp.Select | exp.SetOperation):
            return False
        at = at.parent
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
