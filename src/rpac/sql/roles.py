"""Whose rows are whose, and what may be shown: the words, the invariant, and rules 1 to 6.

Words. A *unit* is whose membership is the secret; every row of a private table belongs to one
unit. The *pool* is all rows, a *world* the public rows and those of the units that are in. A
*scope* is one SELECT; its *sources* are the tables and scopes that it reads.

    private (a scope)   It reads a private table, itself or in a subquery.
    owned   (a scope)   Each of its rows belongs to one unit.
    local   (a scope)   It is owned, and each row depends on rows of its unit and public rows alone.
    public  (a column)  Made of constants, columns of public tables and columns declared public,
                        row by row: of no aggregate, and no subquery that reads a private table.
    measure (a column)  A number over rows of several units: what noise is for.
    private (a column)  Everything else: it says something of single units.
    entity  (a column)  The key that it equals; whoever knows its entry knows the row's unit.
    degree  (a number)  k, if it grows like n^k with the number n of units in the sample.

Invariant.

    A. No private row can influence what a column called public is, nor which rows an answer has,
       but for what the owner declared: the entries of columns declared public, each column apart.
       The rows of an answer are listed from public things alone (`domain`).
    B. The rows of a local scope in a world are its rows in the pool whose unit is in the world. So
       a query is served in one pass only if its aggregates are over rows of exactly one unit each,
       and an aggregate over a world is put together from what each of its units adds.
    C. The released number is the world's number times 2^degree: a world holds half of the units.

Rules 1 to 6 are here, each a function; 7 to 9, on joins, subqueries and columns, need the tree of
scopes and are in `analysis`; those of degrees, D1 to D8, are in `degrees`. What no rule speaks of
is taken as not owned, not local, private, or refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rpac._base.checks import refuse
from rpac.sql.syntax import Node, joined
from rpac.sql.tables import Tables

Role: TypeAlias = Literal["public", "private", "measure"]
_KEEPING = frozenset({"", "INNER", "CROSS", "LEFT", "LEFT OUTER"})
_MERGING = ("limit", "offset", "distinct", "qualify")


@dataclass(frozen=True)
class Column:
    """What is known of one column of a scope; by default what is safe to assume."""

    role: Role = "private"
    degree: int = 0
    entity: str | None = None


@dataclass(frozen=True)
class Facts:
    """What is known of one scope, or of a table as if it were one.

    Attributes:
        private: Whether it reads a private table.
        owned: Whether every row belongs to one unit.
        local: Whether every row also depends on the rows of that unit only.
        owner: Name of the source that carries the unit's number, if the rows that the scope reads
            and joins are local; its own rows may be groups of them.
        rows: Degree of the number of rows that its aggregates see; None if rows join several units.
        grows: Degree of the number of its own rows; None if it is not known.
        columns: Its output columns in order, with their names.
    """

    private: bool = False
    owned: bool = False
    local: bool = False
    owner: str | None = None
    rows: int | None = 0
    grows: int | None = 0
    columns: tuple[tuple[str, Column], ...] = ()

    def column(self, name: str) -> Column:
        """Return what is known of a column: of an unknown one, what is safe to assume."""
        return dict(self.columns).get(name, Column())

    @property
    def listed(self) -> list[Column]:
        """The output columns in order; names may occur twice."""
        return [column for _, column in self.columns]


def facts_of_table(tables: Tables, name: str) -> Facts:
    """Rule 1: a private table's rows are its owners' own; its columns are private.

    Nothing is public unless its table or column was declared to be. A column that leads to the
    unit by declared links carries the key that it equals.
    """
    if name not in tables.columns:  # nobody's rows, to this rule, and perhaps everybody's
        raise refuse(f"tables among {sorted(tables.columns)}", repr(name), "Name one of them.")
    private = name in tables.private
    columns = tuple(
        (
            column,
            Column(
                "private" if private and f"{name}.{column}" not in tables.public else "public",
                entity=tables.entities.get((name, column)) if private else None,
            ),
        )
        for column in tables.columns[name]
    )
    many = 1 if private else 0
    return Facts(private, private, private, rows=many, grows=many, columns=columns)


def worst(roles: Collection[Role]) -> Role:
    """Rule 2: what is computed of several columns is as private as the most private of them.

    A constant, of none, is public. A measure beside public columns is a measure still.

    >>> worst(["public", "measure"])
    'measure'
    """
    return "private" if "private" in roles else "measure" if "measure" in roles else "public"


def keeps_owners(select: Node, private: Collection[str]) -> bool:
    """Rule 3: joined rows, each of one unit, stay so if none is merged, cut off or filled up.

    DISTINCT merges rows of several units; LIMIT, OFFSET and QUALIFY keep a row or not by what
    others there are. Of joins, inner and cross ones only combine rows, and a left one keeps the
    rows on its left: if it adds the first private source, these are nobody's, and would stay
    without one. Right and full ones, and kinds not thought of here, are taken not to keep.
    """
    if any(select.args.get(part) for part in _MERGING):
        return False
    owners = False
    for name, join in joined(select):
        side = "" if join is None else f"{join.side} {join.kind} {join.method}".strip().upper()
        if side not in _KEEPING or (side.startswith("LEFT") and name in private and not owners):
            return False
        owners = owners or name in private
    return True


def grouped_by_unit(select: Node, entities: Sequence[str | None], keys: Sequence[Node]) -> bool:
    """Rule 4: groups of owned rows are owned if one of their keys determines the unit.

    Not so a key of a source that an outer join adds: it is missing in rows of several units.

    Args:
        select: The SELECT that groups.
        entities: The entity of every key.
        keys: What it groups by.
    """
    hollow = {name for name, join in joined(select) if join is not None and join.side}
    return any(
        entity and key.table not in hollow for entity, key in zip(entities, keys, strict=True)
    )


def growth(*, private: bool, owned: bool, merged: bool) -> int | None:
    """Rule 5: owned rows grow with the units; groups and limited rows do not, nor public ones.

    All other rows, pairs of units and the like, grow in a way that is not known.

    Args:
        private: Whether the scope is private.
        owned: Whether its rows are owned.
        merged: Whether they are groups, or limited in number.
    """
    if not private or (merged and not owned):
        return 0
    return 1 if owned else None


def facts_of_union(parts: Sequence[Facts]) -> Facts:
    """Rule 6: a union is nobody's, and grows in a way that is not known, unless no part grows.

    Equal rows of several units may be merged in it. Its columns are named as in its first part,
    and as private as in any. What is no SELECT and no union (VALUES, UNNEST) has no parts, and no
    column that is known.
    """
    names = [name for name, _ in parts[0].columns] if parts else []
    columns = tuple(
        (name, Column(worst([column.role for column in same]), same[0].degree))
        for name, *same in zip(names, *(part.listed for part in parts), strict=True)
    )
    grows = 0 if all(part.grows == 0 for part in parts) else None
    private = any(part.private for part in parts)
    return Facts(private, rows=None, grows=grows, columns=columns)
