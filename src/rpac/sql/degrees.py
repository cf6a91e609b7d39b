"""How a number grows with the units in the sample: rules D1 to D8.

A number of degree k grows like n^k with the number n of units. A world holds half of them, so its
number is multiplied by 2^k to speak of all: sums and counts (degree 1) are doubled, averages
(degree 0) are not. What mixes degrees has none: five more than half the people is neither five
more than all of them, nor half of that. It is refused.

Every rule takes the scope that the expression stands in, and the expression. It returns the
degree, or None for a zero or NULL, which goes with any degree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rpac._base.checks import refuse
from rpac.errors import RpacError
from rpac.sql.roles import Column, Facts
from rpac.sql.syntax import Node, own_nodes, snippet

_KEEP = (exp.Avg, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp,
         exp.Quantile, exp.PercentileCont, exp.ApproxQuantile)  # fmt: skip
_PASS = (exp.Filter, exp.WithinGroup, exp.Paren, exp.Neg, exp.Cast, exp.TryCast, exp.Abs,
         exp.Round, exp.Coalesce, exp.Alias)  # fmt: skip
_COMPARE = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True)
class At:
    """What the rules ask of the scope that an expression stands in.

    Attributes:
        rows: Degree of the number of rows that its aggregates see; None for a join of units.
        column: Returns what is known of a column that it names.
        inner: Returns the facts of a subquery in it.
    """

    rows: int | None
    column: Callable[[Node], Column]
    inner: Callable[[Node], Facts]


def degree(at: At, node: Node) -> int:
    """Return the degree of an expression; 0 for constants."""
    return _degree(at, node) or 0


def check_comparisons(at: At, select: Node) -> None:
    """Rule D8: what is compared grows alike; a total held against a constant is refused.

    A half-sample cannot meet such a threshold: five of half the people, or of all?
    """
    for part in ("where", "having", "joins"):
        found = select.args.get(part) or []
        for root in found if isinstance(found, list) else [found]:
            for node in own_nodes(root, *_COMPARE):
                _alike(at, list(node.iter_expressions()), node)


def check_union(parts: Sequence[Facts], union: Node) -> None:
    """Refuse a union of totals with something else: one column has one degree."""
    for same in zip(*(part.listed for part in parts), strict=True):
        if len({column.degree for column in same}) > 1:
            raise _mixed("a union of totals with something else", union)


def _degree(at: At, node: Node) -> int | None:
    for kinds, rule in _RULES:
        if isinstance(node, kinds):
            return rule(at, node)
    return _function(at, node)


def _named(at: At, node: Node) -> int | None:
    """Rule D1: a column has the degree it was made with, a subquery that of its first column."""
    if isinstance(node, exp.Column):
        return at.column(node).degree
    return at.inner(node).listed[0].degree


def _constant(at: At, node: Node) -> int | None:
    """Rule D2: a constant does not grow; half of zero is zero, so zero and NULL go with all."""
    return None if node.sql() in {"0", "0.0", "NULL"} else 0


def _aggregate(at: At, node: Node) -> int:
    """Rule D3: a count grows like the rows it counts, a sum like these and what it sums.

    Different entries do not grow, unless they name units. Averages, extremes and quantiles grow
    like what they are of, other aggregates with nothing.
    """
    distinct = isinstance(node.this, exp.Distinct)
    inner = node.this.expressions[0] if distinct else node.this
    bare = inner is None or isinstance(inner, exp.Star)
    inside = 0 if bare else degree(at, inner)
    if not isinstance(node, exp.Count | exp.CountIf | exp.Sum):
        if inside and not isinstance(node, _KEEP):
            raise _mixed("an aggregate of totals", node)
        return inside
    if distinct and not (isinstance(inner, exp.Column) and at.column(inner).entity):
        return 0
    if at.rows is None:
        raise refuse(
            "sums and counts of rows that belong to one unit each",
            f"a join of several units in {snippet(node)}",
            "Join on the unit's key, or take an average.",
        )
    return at.rows + (inside if isinstance(node, exp.Sum) else 0)


def _same(at: At, node: Node) -> int | None:
    """Rule D4: signs, casts, rounding and names keep the degree; COALESCE needs parts alike."""
    parts = [node.this, *(node.expressions if isinstance(node, exp.Coalesce) else [])]
    return _alike(at, parts, node)


def _case(at: At, node: Node) -> int | None:
    """Rule D5: the branches of a CASE grow alike, and so does it."""
    branches = [branch.args["true"] for branch in node.args["ifs"]]
    default = node.args.get("default")
    return _alike(at, [*branches, *([] if default is None else [default])], node)


def _product(at: At, node: Node) -> int:
    """Rule D6: a product adds degrees, a ratio subtracts them."""
    left, right = degree(at, node.left), degree(at, node.right)
    return left + right if isinstance(node, exp.Mul) else left - right


def _sum(at: At, node: Node) -> int | None:
    """Rule D7: what is added or subtracted grows alike."""
    return _alike(at, [node.left, node.right], node)


def _function(at: At, node: Node) -> int:
    """Whatever has no rule is of degree 0 if all its parts are, and refused otherwise."""
    parts = [part for part in node.iter_expressions() if not isinstance(part, exp.DataType)]
    if any(degree(at, part) for part in parts):
        raise _mixed("a function of totals", node)
    return 0


_RULES: tuple[tuple[tuple[type, ...], Callable[[At, Node], int | None]], ...] = (
    ((exp.Column, exp.Subquery, exp.Select), _named),
    ((exp.Literal, exp.Null, exp.Boolean), _constant),
    ((exp.AggFunc,), _aggregate),
    (_PASS, _same),
    ((exp.Case,), _case),
    ((exp.Mul, exp.Div), _product),
    ((exp.Add, exp.Sub), _sum),
)


def _alike(at: At, nodes: Sequence[Node], whole: Node) -> int | None:
    degrees = {found for found in (_degree(at, node) for node in nodes) if found is not None}
    if len(degrees) > 1:
        raise _mixed("a total beside a constant or an average", whole)
    return degrees.pop() if degrees else None


def _mixed(what: str, node: Node) -> RpacError:
    return refuse(
        "numbers that grow alike with the sample",
        f"{what} in {snippet(node)}",
        "Totals are of half the units until they are scaled: compare shares or averages, or select "
        "what HAVING compares, so that the released number decides.",
    )
