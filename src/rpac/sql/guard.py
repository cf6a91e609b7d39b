"""Errors on rows become NULL: TRY around every term of a query that could fail on some row.

An error, its text or its absence would tell about rows. What TRY cannot be put around (aggregates,
windows, subqueries) fails as a whole, and then the answer of that world is NULL: `by_world`.
"""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from rpac.sql.syntax import Node, every_key
from rpac.sql.tables import Tables

_LEAVES = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Star, exp.Interval, exp.Identifier,
           exp.DataType, exp.Var)  # fmt: skip
_LOGIC = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.Alias, exp.Case, exp.If, exp.Distinct)
_COMPARE = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)
_WHOLE = (exp.AggFunc, exp.Window, exp.Query, exp.Subquery)
"""What DuckDB does not allow inside TRY."""
_ADDED = (exp.Sum, exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance,
          exp.VariancePop)  # fmt: skip
_EXACT = (exp.Add, exp.Sub, exp.Mul, exp.Neg)
_PARTS = ("expressions", "where", "joins", "group", "having", "qualify")


def guard(tree: Node, tables: Tables) -> None:
    """Put TRY around all of a query, in place, that could fail on some row.

    Comparisons of columns of one kind stay bare, so that joins stay what they are. Numbers that are
    added up count as NULL where they are not finite; very wide ones are added as DOUBLE.
    """
    with suppress(Exception):  # types that the parser does not know: more is guarded than need be
        annotate_types(tree, schema=dict(tables.columns), dialect="duckdb")
    for select in list(tree.find_all(exp.Select)):
        tried = [key for key in every_key(select) if not (_plain(key) or key.find(*_WHOLE))]
        keys = frozenset(key.copy() for key in tried)
        for part in _PARTS:
            _inside(select, part, keys)
    for node in list(tree.find_all(*_ADDED)):
        _finite(node)


def _inside(node: Node, part: str, keys: frozenset[Node]) -> None:
    """Guard the parts of a node that one of its arguments holds."""
    found = node.args.get(part)
    if isinstance(found, list):
        node.set(part, [_guarded(one, keys) if isinstance(one, exp.Expression) else one
                        for one in found])  # fmt: skip
    elif isinstance(found, exp.Expression):
        node.set(part, _guarded(found, keys))


def _guarded(node: Node, keys: frozenset[Node]) -> Node:
    if _plain(node) or isinstance(node, exp.Query | exp.Try | exp.TableAlias | exp.Table):
        return node
    if node in keys:
        return exp.Try(this=node.copy())
    term = isinstance(node, exp.Condition) and not isinstance(node, exp.And | exp.Distinct | exp.If)
    if not term or node.find(*_WHOLE):
        _children(node, keys)
        return node
    inner = node.copy()
    if any(part in keys for part in inner.walk()):  # what is grouped by stays a part of its own
        _children(inner, keys)
    return exp.Try(this=inner)


def _children(node: Node, keys: frozenset[Node]) -> None:
    for part in list(node.args):
        if part not in ("to", "alias", "kind", "spec"):
            _inside(node, part, keys)


def _plain(node: Node) -> bool:
    """Whether an expression cannot fail on any row."""
    if isinstance(node, _LEAVES) or not node.find(exp.Column, *_WHOLE):
        return not node.find(*_WHOLE)
    parts = list(node.iter_expressions())
    if isinstance(node, _LOGIC):
        return all(map(_plain, parts))
    return isinstance(node, _COMPARE) and all(map(_plain, parts)) and _comparable(parts)


def _comparable(parts: list[Node]) -> bool:
    """Whether no column needs a cast that could fail: constants are cast in every world alike."""
    columns = {_kind(part) for part in parts if part.find(exp.Column)}
    if len(columns) > 1:
        return False
    bare = all(isinstance(part, exp.Column) for part in parts if part.find(exp.Column))
    text = {part.is_string for part in parts if not part.find(exp.Column)}
    return bare and None not in columns and not ("text" in columns and False in text)


def _kind(node: Node) -> str | None:
    kinds = {"text": exp.DataType.TEXT_TYPES, "number": exp.DataType.NUMERIC_TYPES,
             "time": exp.DataType.TEMPORAL_TYPES}  # fmt: skip
    found = [name for name, types in kinds.items() if node.type and node.type.this in types]
    return found[0] if found else None


def _finite(node: Node) -> None:
    """Let an aggregate that adds up skip what is not a finite number."""
    distinct = isinstance(node.this, exp.Distinct)
    inner = node.this.expressions[0] if distinct else node.this
    if inner is None or _exact(inner):
        return
    number = exp.TryCast(this=inner.copy(), to=exp.DataType.build("DOUBLE"))
    finite = exp.Anonymous(this="isfinite", expressions=[number])
    shown = number.copy() if _wide(inner) else inner.copy()
    inner.replace(exp.Case().when(finite, shown))


def _exact(node: Node) -> bool:
    """Whether a term is a whole or decimal number that cannot overflow a sum of such terms."""
    kinds = (*_EXACT, *_LEAVES, *_LOGIC, *_COMPARE, exp.Try)
    floats = exp.DataType.FLOAT_TYPES
    known = all(_kind(c) and c.type.this not in floats for c in node.find_all(exp.Column))
    return known and all(isinstance(part, kinds) for part in node.walk()) and not _wide(node)


def _wide(node: Node) -> bool:
    huge = (exp.DataType.Type.INT128, exp.DataType.Type.UINT128)
    return any(
        c.type is not None and (c.type.this in huge or _digits(c.type) > 30)
        for c in node.find_all(exp.Column)
    )


def _digits(kind: Node) -> int:
    sizes = [part.name for part in kind.expressions]
    return int(sizes[0]) if kind.this == exp.DataType.Type.DECIMAL and sizes else 0
