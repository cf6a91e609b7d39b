"""What a query means for units: whose rows are whose, what is public, what grows with the sample.

A scope (one SELECT) is *owned* if each of its rows belongs to one unit, and *local* if they also
depend on the rows of that unit alone. A number has a *degree*: how it grows with the number of
units in the sample. Sums and counts over owned rows have degree 1, averages 0, a product adds
degrees, a ratio subtracts them. A half-sample's number of degree k is multiplied by 2^k to speak
of all units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from rpac._base.checks import refuse
from rpac.errors import RpacError
from rpac.sql.database import Database
from rpac.sql.joins import (
    Named,
    Node,
    Place,
    components,
    equal_columns,
    home,
    merge,
    optional_pairs,
    place_of,
)

Role = Literal["public", "private", "measure"]
ONE_PASS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_KEEP = (exp.Avg, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp,
         exp.Quantile, exp.PercentileCont, exp.ApproxQuantile)  # fmt: skip
_PASS = (
    exp.Filter,
    exp.WithinGroup,
    exp.Paren,
    exp.Neg,
    exp.Cast,
    exp.TryCast,
    exp.Abs,
    exp.Round,
    exp.Coalesce,
    exp.Alias,
)
_COMPARE = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True)
class Column:
    """What is known of one column of a scope."""

    role: Role
    degree: int = 0
    entity: str | None = None


@dataclass
class Facts:
    """What is known of one scope.

    Attributes:
        private: Whether it reads a private table.
        owned: Whether every row belongs to one unit.
        local: Whether every row also depends on the rows of that unit only.
        owner: Name of the source that carries the owner's number.
        rows: Degree of the number of rows that its aggregates see; None if rows join several units.
        columns: Its output columns.
        grows: Degree of the number of its own rows; None if it is not known.
    """

    private: bool
    owned: bool
    local: bool
    owner: str | None
    rows: int | None
    columns: dict[str, Column] = field(default_factory=dict)
    grows: int | None = 0


Inputs: TypeAlias = Mapping[str, Facts | None]


class Analysis:
    """Facts of every scope of a qualified query."""

    def __init__(self, database: Database, root: Scope) -> None:
        self.database = database
        self._facts: dict[int, Facts] = {}
        self.root = root
        self.facts = self.of(root)

    def of(self, scope: Scope) -> Facts:
        """Return the facts of a scope, worked out once."""
        key = id(scope.expression)
        if key not in self._facts:
            self._facts[key] = self._study(scope)
        return self._facts[key]

    def source(self, scope: Scope, alias: str) -> Facts | None:
        """Return the facts of a scope's source, as if it were a scope; None if unknown."""
        found = scope.sources.get(alias)
        if isinstance(found, Scope):
            return self.of(found)
        if not isinstance(found, exp.Table):
            return None
        return self._table(found.name)

    def _table(self, name: str) -> Facts:
        base = self.database
        private = name in base.private
        columns = {
            column: Column(
                "private" if private and f"{name}.{column}" not in base.public else "public",
                entity=base.entities.get((name, column)) if private else None,
            )
            for column in base.columns.get(name, {})
        }
        many = 1 if private else 0
        return Facts(private, private, private, None, many, columns, many)

    def column(self, scope: Scope, node: Node) -> Column:
        """Return what is known of a column that an expression of this scope names."""
        at = home(scope, node.table)
        facts = None if at is None else self.source(at, node.table)
        if facts is None or node.name not in facts.columns:
            return Column("private")
        return facts.columns[node.name]

    def _study(self, scope: Scope) -> Facts:
        select = scope.expression
        if not isinstance(select, exp.Select):
            return self._study_union(scope)
        inputs = {alias: self.source(scope, alias) for alias in _sources_in_order(select)}
        secret = [alias for alias, facts in inputs.items() if facts is not None and facts.private]
        below = any(self.of(inner).private for inner in scope.subquery_scopes)
        rows = self._rows(scope, secret, inputs)
        grouped = bool(select.args.get("group")) or _aggregates(select)
        owned = rows == 1 and _keeps_owners(select, secret)
        local = owned and self._local(scope, secret, inputs)
        owner = secret[0] if local else None
        if grouped:
            hollow = {alias for alias, join in _joined(select) if join is not None and join.side}
            owned = owned and any(
                self._entity(scope, key) and key.table not in hollow for key in group_keys(select)
            )
        facts = Facts(bool(secret) or below, owned, owned and local, owner, rows)
        facts.grows = 1 if owned else None
        if not facts.private or (not owned and (grouped or select.args.get("limit"))):
            facts.grows = 0
        self._facts[id(select)] = facts
        for item in select.selects:
            facts.columns[item.alias_or_name] = self._describe(scope, item, facts, grouped=grouped)
        self._check_comparisons(scope, facts)
        return facts

    def _study_union(self, scope: Scope) -> Facts:
        inner: list[Scope] = getattr(scope, "set_operation_scopes", None) or []
        parts = [self.of(part) for part in inner]
        columns: dict[str, Column] = {}
        if parts:
            for i, name in enumerate(parts[0].columns):
                same = [list(part.columns.values())[i] for part in parts]
                if len({c.degree for c in same}) > 1:
                    raise _mixed("a union of totals with something else")
                columns[name] = Column(_worst([c.role for c in same]), same[0].degree)
        private = any(part.private for part in parts)
        fixed = all(part.grows == 0 for part in parts)
        made = Facts(private, owned=False, local=False, owner=None, rows=None, columns=columns)
        made.grows = 0 if fixed else None
        return made

    def _rows(self, scope: Scope, secret: list[str], inputs: Inputs) -> int | None:
        """Return the degree of the number of joined rows; None where rows join several units."""
        loose = [place_of(scope, alias) for alias in secret if _owned_rows(inputs[alias])]
        if any((facts := inputs[alias]) and facts.grows is None for alias in secret):
            return None
        if len(components(self._links(scope), loose)) > 1:
            return None
        return 1 if loose else 0

    def _local(self, scope: Scope, secret: list[str], inputs: Inputs) -> bool:
        """Whether owned rows depend on the rows of their unit and on public rows only."""
        if scope.expression.find(exp.Window, exp.Unnest, exp.Lateral, exp.TableSample):
            return False
        if not all((facts := inputs[alias]) and facts.local for alias in secret):
            return False
        return all(self._tied(scope, inner, secret) for inner in scope.subquery_scopes)

    def _tied(self, scope: Scope, inner: Scope, secret: list[str]) -> bool:
        """Whether a subquery looks at public rows only, or at rows of the same unit."""
        facts = self.of(inner)
        if not facts.private:
            return True
        names = _sources_in_order(inner.expression)
        mine = [place_of(inner, a) for a in names if _owned_rows(self.source(inner, a))]
        if not facts.owner or not mine or inner.expression.args.get("group"):
            return False
        outer = {place_of(scope, alias) for alias in secret}
        parts = components(self._links(inner), [*mine, *outer])
        return any(set(mine) <= part and part & outer for part in parts)

    def _links(self, scope: Scope) -> list[set[Place]]:
        """Return sets of sources that an equality of keys ties to one unit."""
        scopes = [scope]
        if scope.is_subquery and scope.parent is not None:
            scopes.append(scope.parent)
        ties = [
            tied
            for group in merge([pair for at in scopes for pair in equal_columns(at)])
            for tied in self._by_key(group)
        ]
        for at in scopes:
            for pairs in optional_pairs(at):  # an outer join ties its own source, once
                ties += [t for pair in pairs for t in self._by_key(pair) if len(t) > 1][:1]
        return ties

    def _by_key(self, group: set[tuple[Place, Named]]) -> list[set[Place]]:
        """Return the sources of equal columns, apart by the key that the columns stand for."""
        found: dict[str, set[Place]] = {}
        for place, column in group:
            entity = self.column(place.scope, column.node).entity
            if entity:
                found.setdefault(entity, set()).add(place)
        return list(found.values())

    def _entity(self, scope: Scope, node: Node) -> str | None:
        return self.column(scope, node).entity if isinstance(node, exp.Column) else None

    def _describe(self, scope: Scope, item: Any, facts: Facts, *, grouped: bool) -> Column:
        node = item.this if isinstance(item, exp.Alias) else item
        role = self.role(scope, node)
        if facts.owned:
            return Column(role if role == "public" else "private", 0, self._entity(scope, node))
        if grouped and _has_aggregate(node):
            role = "measure"
        return Column(role, self.degree(scope, node) if role == "measure" else 0)

    def role(self, scope: Scope, node: Node) -> Role:
        """Return whether an expression is public, a measure, or says something of single units."""
        roles: list[Role] = [
            self.column(scope, c).role for c in node.find_all(exp.Column) if _own(c, node)
        ]
        for inner in scope.subquery_scopes:
            if any(part is inner.expression for part in node.walk()):
                roles += [c.role for c in self.of(inner).columns.values()]
        return _worst(roles)

    def degree(self, scope: Scope, node: Node) -> int:
        """Return how a number grows with the units in the sample."""
        found = self._degree(scope, node)
        return 0 if found is None else found

    def _degree(self, scope: Scope, node: Any) -> int | None:
        """Return the degree; None for constants, which go with anything in sums of zero."""
        if isinstance(node, exp.Column):
            return self.column(scope, node).degree
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            return None if node.sql() in {"0", "0.0", "NULL"} else 0
        if isinstance(node, exp.Subquery | exp.Select):
            return next(iter(self.of(self._inner(scope, node)).columns.values())).degree
        if isinstance(node, exp.AggFunc):
            return self._aggregate(scope, node)
        if isinstance(node, _PASS):
            parts = [node.this, *(node.expressions if isinstance(node, exp.Coalesce) else [])]
            return self._alike(scope, parts)
        if isinstance(node, exp.Case):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            return self._alike(scope, [*branches, *filter(None, [node.args.get("default")])])
        if isinstance(node, exp.Mul | exp.Div):
            left, right = (self.degree(scope, side) for side in (node.left, node.right))
            return left + right if isinstance(node, exp.Mul) else left - right
        if isinstance(node, exp.Add | exp.Sub):
            return self._alike(scope, [node.left, node.right])
        parts = [part for part in node.iter_expressions() if not isinstance(part, exp.DataType)]
        if any(self.degree(scope, part) for part in parts):
            raise _mixed("a function of totals")
        return 0

    def _inner(self, scope: Scope, node: Node) -> Scope:
        select = node.this if isinstance(node, exp.Subquery) else node
        return next(s for s in scope.subquery_scopes if s.expression is select)

    def _aggregate(self, scope: Scope, node: Node) -> int:
        rows = self.of(scope).rows
        inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        bare = inner is None or isinstance(inner, exp.Star)
        inside = 0 if bare else self.degree(scope, inner)
        if isinstance(node, exp.Count | exp.CountIf | exp.Sum):
            if isinstance(node.this, exp.Distinct) and self._entity(scope, inner) is None:
                return 0
            if rows is None:
                raise refuse(
                    "sums and counts of rows that belong to one unit each",
                    "a join of several units",
                    "Join on the unit's key, or take an average.",
                )
            return rows + (inside if isinstance(node, exp.Sum) else 0)
        if inside and not isinstance(node, _KEEP):
            raise _mixed("an aggregate of totals")
        return inside

    def _alike(self, scope: Scope, nodes: list[Any]) -> int | None:
        degrees = {d for d in (self._degree(scope, node) for node in nodes) if d is not None}
        if len(degrees) > 1:
            raise _mixed("a total beside a constant or an average")
        return degrees.pop() if degrees else None

    def _check_comparisons(self, scope: Scope, facts: Facts) -> None:
        """Refuse thresholds that a half-sample cannot meet: a total held against a constant."""
        if facts.owned:
            return
        for part in ("where", "having", "joins"):
            found = scope.expression.args.get(part)
            for root in found if isinstance(found, list) else [found]:
                for node in _own_nodes(root, _COMPARE):
                    self._alike(scope, list(node.iter_expressions()))


def _mixed(what: str) -> RpacError:
    return refuse(
        "numbers that grow alike with the sample",
        what,
        "Totals are of half the units until they are scaled: compare shares or averages.",
    )


def _worst(roles: list[Role]) -> Role:
    return "private" if "private" in roles else "measure" if "measure" in roles else "public"


def _owned_rows(facts: Facts | None) -> bool:
    return facts is not None and facts.owned


def _keeps_owners(select: Any, secret: list[str]) -> bool:
    """Whether joined rows, each of one unit, stay so: not merged, cut off or filled up."""
    if any(select.args.get(part) for part in ("limit", "offset", "distinct", "qualify")):
        return False
    seen: set[str] = set()
    for alias, join in _joined(select):
        side = "" if join is None else f"{join.side} {join.kind} {join.method}".strip().upper()
        if side not in {"", "INNER", "CROSS", "LEFT", "LEFT OUTER"}:
            return False
        if side.startswith("LEFT") and alias in secret and not seen:
            return False
        seen |= {alias} & set(secret)
    return True


def _sources_in_order(select: Any) -> list[str]:
    return [alias for alias, _ in _joined(select)]


def _joined(select: Any) -> Iterator[tuple[str, exp.Join | None]]:
    first = select.args.get("from_") or select.args.get("from")
    if first is not None:
        yield first.this.alias_or_name, None
    for join in select.args.get("joins") or []:
        yield join.this.alias_or_name, join


def group_keys(select: exp.Select) -> list[Node]:
    """Return the expressions that a SELECT groups by."""
    group = select.args.get("group")
    return list(group.expressions) if group else []


def _own(node: Node, top: Node | None) -> bool:
    """Whether no subquery stands between a node and the expression it was found in."""
    at: Node = node
    while at is not top and at.parent is not None:
        if isinstance(at, exp.Select | exp.SetOperation):
            return False
        at = at.parent
    return not isinstance(top, exp.Select) or at is top


def _own_nodes(root: Any, kinds: Any) -> Iterator[Any]:
    if root is not None:
        yield from (node for node in root.find_all(*kinds) if _own(node, root))


def _has_aggregate(node: Node) -> bool:
    return any(_own(found, node) for found in node.find_all(exp.AggFunc))


def _aggregates(select: exp.Select) -> bool:
    having = select.args.get("having")
    return any(_has_aggregate(item) for item in [*select.selects, *([having] if having else [])])
