"""Which sources of a query are tied to one unit: by columns that conditions hold equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from rpac.sql.syntax import Node


def home(scope: Scope, alias: str) -> Scope | None:
    """Return the scope whose source a name means: this one, or one around a subquery."""
    at: Scope | None = scope
    while at is not None and alias not in at.sources:
        at = at.parent if at.is_subquery else None
    return at


@dataclass(frozen=True)
class Place:
    """A source by its scope and name: a subquery may use a name again."""

    scope: Scope = field(compare=False)
    select: int
    alias: str


@dataclass(frozen=True)
class Named:
    """A column of a source."""

    name: str
    node: Node = field(compare=False)


def place_of(scope: Scope, alias: str) -> Place:
    """Return the place of a source that a name in this scope means."""
    at = home(scope, alias) or scope
    return Place(at, id(at.expression), alias)


def equal_columns(scope: Scope) -> list[set[tuple[Place, Named]]]:
    """Return pairs of columns that WHERE or an inner join holds equal."""
    where = scope.expression.args.get("where")
    roots = [where.this] if where else []
    joins = scope.expression.args.get("joins") or []
    roots += [join.args["on"] for join in joins if join.args.get("on") and not join.side]
    return [pair for root in roots for pair in _pairs(scope, root)]


def optional_pairs(scope: Scope) -> list[list[set[tuple[Place, Named]]]]:
    """Return, for each outer join, the pairs that tie its own source to another."""
    found = []
    for join in scope.expression.args.get("joins") or []:
        if join.side and join.args.get("on"):
            mine = place_of(scope, join.this.alias_or_name)
            pairs = _pairs(scope, join.args["on"])
            found.append([pair for pair in pairs if any(place == mine for place, _ in pair)])
    return found


def _pairs(scope: Scope, root: Node) -> list[set[tuple[Place, Named]]]:
    """Return pairs of columns that a condition holds equal."""
    pairs = []
    for part in root.flatten() if isinstance(root, exp.And) else [root]:
        node = part.unnest()
        sides: Any = (node.left, node.right) if isinstance(node, exp.EQ) else ()
        if sides and all(isinstance(side, exp.Column) for side in sides):
            pairs.append({(place_of(scope, s.table), Named(s.name, s)) for s in sides})
    return pairs


def merge(sets: list[Any]) -> list[Any]:
    """Return the unions of sets that share a member."""
    merged: list[Any] = []
    for one in sets:
        apart = [other for other in merged if not other & one]
        joined = one.union(*(other for other in merged if other & one))
        merged = [*apart, joined]
    return merged


def components(ties: list[set[Place]], places: list[Place]) -> list[set[Place]]:
    """Return the places in sets that are tied together."""
    wanted = set(places)
    return [part & wanted for part in merge([*ties, *({p} for p in places)]) if part & wanted]
