"""What a query means for units, scope by scope: `roles` says what is meant, and by which rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from rpac.sql.degrees import At, check_comparisons, check_union, degree
from rpac.sql.joins import (
    Named,
    Place,
    components,
    equal_columns,
    home,
    merge,
    optional_pairs,
    place_of,
)
from rpac.sql.owners import direct
from rpac.sql.roles import (
    Column,
    Facts,
    Role,
    facts_of_table,
    facts_of_union,
    grouped_by_unit,
    growth,
    keeps_owners,
    worst,
)
from rpac.sql.syntax import Node, group_keys, is_grouped, joined, outward, own_nodes, source_names
from rpac.sql.tables import Tables

_UNSEEN = (exp.Window, exp.Unnest, exp.Lateral, exp.TableSample)
"""What makes rows of more than is joined: of their neighbours, of lists, of chance."""
_BEYOND = (exp.AggFunc, exp.Window, exp.Unnest, exp.Explode)
"""What makes an entry of more than one row, or several of one."""


class Analysis:
    """Facts of every scope of a qualified query.

    Attributes:
        root: The outermost scope.
        facts: What is known of it.
    """

    def __init__(self, tables: Tables, root: Scope) -> None:
        self.tables, self.root = tables, root
        self._facts: dict[int, Facts] = {}
        self.facts = self.of(root)

    def of(self, scope: Scope) -> Facts:
        """Return the facts of a scope, worked out once."""
        key = id(scope.expression)
        if key not in self._facts:
            select = isinstance(scope.expression, exp.Select)
            self._facts[key] = self._select(scope) if select else self._union(scope)
        return self._facts[key]

    def source(self, scope: Scope, name: str) -> Facts:
        """Return the facts of a scope's source, as if it were a scope; of LATERAL ones, none."""
        found = scope.sources.get(name)
        if isinstance(found, Scope):
            return self.of(found)
        return facts_of_table(self.tables, found.name) if found is not None else Facts()

    def column(self, scope: Scope, node: Node) -> Column:
        """Return what is known of a column that an expression of this scope names."""
        at = home(scope, node.table)
        return Column() if at is None else self.source(at, node.table).column(node.name)

    def _select(self, scope: Scope) -> Facts:
        """Put the facts of a SELECT together from those of its sources: rules 3 to 9."""
        select: Node = scope.expression
        sources = {name: self.source(scope, name) for name in source_names(select)}
        secret = {name: facts for name, facts in sources.items() if facts.private}
        below = [self.of(inner) for inner in scope.subquery_scopes]
        rows = self._joined_rows(scope, secret)
        single = rows == 1 and keeps_owners(select, secret)
        local = single and self._local(scope, secret)
        grouped = is_grouped(select)
        owned = single and (not grouped or self._grouped_by_unit(scope))
        at = self._at(scope, rows)
        columns = tuple(
            (item.alias_or_name, self._describe(scope, at, item, owned=owned))
            for item in select.selects
        )
        if not owned:
            check_comparisons(at, select)
        private = any(facts.private for facts in (*secret.values(), *below))
        merged = grouped or bool(select.args.get("limit"))
        return Facts(
            private, owned, owned and local, self._owner(scope, secret) if local else None, rows,
            growth(private=private, owned=owned, merged=merged), columns,
        )  # fmt: skip

    def _union(self, scope: Scope) -> Facts:
        """Put the facts of a union together from those of its parts: rule 6."""
        parts = [self.of(part) for part in scope.set_operation_scopes]
        check_union(parts, scope.expression)
        facts = facts_of_union(parts)
        around = scope.expression.find_ancestor(exp.With)
        if around is not None and around.recursive:  # its rows are made of its own rows
            columns = tuple((name, replace(c, role="private")) for name, c in facts.columns)
            return replace(facts, columns=columns)
        return facts

    def _joined_rows(self, scope: Scope, secret: Mapping[str, Facts]) -> int | None:
        """Rule 7: joined rows are of one unit each if equal keys tie all owned sources together.

        Returns:
            The degree of their number: 1 where units own them, 0 where nobody does, and None
            where rows join several units, or a source grows in a way that is not known.
        """
        owned = [place_of(scope, name) for name, facts in secret.items() if facts.owned]
        known = all(facts.grows is not None for facts in secret.values())
        if not known or len(components(self._ties(scope), owned)) > 1:
            return None
        return 1 if owned else 0

    def _owner(self, scope: Scope, secret: Mapping[str, Facts]) -> str:
        """Return the source that the owner of a joined row is read from.

        All are of the same unit; one that has its id in a column of its own needs no other table.
        Not one that an outer join adds: it may be missing.
        """
        inner = [name for name, join in joined(scope.expression) if join is None or not join.side]
        known = [name for name in inner if name in secret]
        return min(known, key=lambda name: self._indirect(scope.sources[name]))

    def _indirect(self, source: Node) -> int:
        if isinstance(source, Scope):
            return 1
        link = self.tables.private[source.name]
        return 0 if direct(self.tables.unit, source.name, link) is not None else 2

    def _local(self, scope: Scope, secret: Mapping[str, Facts]) -> bool:
        """Rule 8: rows of one unit each are local if all that they are made of is.

        That is: local sources; subqueries over public rows or over the same unit's; and no part
        that looks beyond the joined row.
        """
        if scope.expression.find(*_UNSEEN) or not all(facts.local for facts in secret.values()):
            return False
        return all(self._same_unit(scope, inner, secret) for inner in scope.subquery_scopes)

    def _same_unit(self, scope: Scope, inner: Scope, secret: Mapping[str, Facts]) -> bool:
        """Whether a subquery looks at public rows only, or at rows of the same unit."""
        facts = self.of(inner)
        if not facts.private:
            return True
        if facts.owner is None or inner.expression.args.get("group"):
            return False
        names = source_names(inner.expression)
        mine = {place_of(inner, name) for name in names if self.source(inner, name).owned}
        outer = {place_of(scope, name) for name in secret}
        parts = components(self._ties(inner), [*mine, *outer])
        return any(mine <= part and part & outer for part in parts)

    def _ties(self, scope: Scope) -> list[set[Place]]:
        """Return sets of sources that an equality of keys ties to one unit."""
        scopes = [scope]
        if scope.is_subquery and scope.parent is not None:
            scopes.append(scope.parent)
        equal = merge([pair for at in scopes for pair in equal_columns(at)])
        ties = [tied for group in equal for tied in self._by_key(group)]
        for at in scopes:
            for pairs in optional_pairs(at):  # an outer join ties its own source, once
                ties += [tied for pair in pairs for tied in self._by_key(pair) if len(tied) > 1][:1]
        return ties

    def _by_key(self, group: set[tuple[Place, Named]]) -> list[set[Place]]:
        """Return the sources of equal columns, apart by the key that the columns stand for."""
        found: dict[str, set[Place]] = {}
        for place, column in group:
            entity = self.column(place.scope, column.node).entity
            if entity:
                found.setdefault(entity, set()).add(place)
        return list(found.values())

    def _grouped_by_unit(self, scope: Scope) -> bool:
        keys = group_keys(scope.expression)
        return grouped_by_unit(scope.expression, [self._entity(scope, key) for key in keys], keys)

    def _entity(self, scope: Scope, node: Node) -> str | None:
        return self.column(scope, node).entity if isinstance(node, exp.Column) else None

    def _at(self, scope: Scope, rows: int | None) -> At:
        def inner(node: Node) -> Facts:
            select = node.this if isinstance(node, exp.Subquery) else node
            return self.of(next(s for s in scope.subquery_scopes if s.expression is select))

        return At(rows, lambda node: self.column(scope, node), inner)

    def _describe(self, scope: Scope, at: At, item: Node, *, owned: bool) -> Column:
        """Rule 9: in an owned scope a column is public or private, in others aggregates measure.

        What is in a row of one unit is of that unit alone, aggregates too. In any other scope an
        aggregate is over rows of several units, whatever it is made of.
        """
        node = item.unalias()
        role = self.role(scope, node)
        if owned:
            kept: Role = "public" if role == "public" else "private"
            return Column(kept, 0, self._entity(scope, node))
        if own_nodes(node, exp.AggFunc):
            role = "measure"
        return Column(role, degree(at, node) if role == "measure" else 0)

    def role(self, scope: Scope, node: Node) -> Role:
        """Return the role of an expression: the worst of its columns and of its subqueries'.

        Public are those alone whose entries can be listed without a private row (`domain`): a
        subquery that reads one is a measure if it is the entry of an aggregate, and else private,
        for whether it has rows is a fact of units too.
        """
        if own_nodes(node, *_BEYOND):
            return "private"
        roles = [self.column(scope, c).role for c in node.find_all(exp.Column) if outward(c, node)]
        roles += [
            self._inner_role(inner)
            for inner in scope.subquery_scopes
            if any(part is inner.expression for part in node.walk())
        ]
        return worst(roles)

    def _inner_role(self, inner: Scope) -> Role:
        tables = list(inner.expression.find_all(exp.Table))
        if all(t.name in self.tables.columns and t.name not in self.tables.private for t in tables):
            return "public"
        around: Node = inner.expression.parent
        every = (exp.Any, exp.All, exp.In)
        whole = isinstance(around, exp.Subquery) and not isinstance(around.parent, every)
        listed = [column.role for column in self.of(inner).listed] if whole else []
        return "measure" if listed == ["measure"] else "private"
