"""Whose row it is, in SQL: every private table as a relation with its unit's id beside each row.

A row of the unit's own table, and of a table that links to the unit's column, has the id in a
column of its own. Any other row is its parent's: the owner of the key that it links to. Tables
stand in the schema `raw`, as they are; `owned` reads them there, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, select

from rpac.sql.syntax import Node

UNIT = "__unit"
"""Hidden column of private relations: the id of the row's owner."""
RAW = "raw"
"""Schema of tables as they are."""
Link = tuple[str, str, str] | None
"""(column, parent, key) that leads to the unit; None for the unit's own table."""


def direct(unit: tuple[str, str], name: str, link: Link) -> str | None:
    """Return the column of a private table that holds the unit's id itself; None if none does."""
    if link is None:
        return unit[1] if name == unit[0] else None
    return link[0] if link[1:] == unit else None


def owned(unit: tuple[str, str], private: Mapping[str, Link], name: str) -> Node:
    """Return a SELECT of all rows of a private table that have an owner, with the owner's id.

    A row whose key several units have is there once for each of them.

    Args:
        unit: Table and column of the units' ids.
        private: Private tables, each with the link that leads to the unit.
        name: One of them.
    """
    column = direct(unit, name, private[name])
    table = exp.table_(name, db=RAW, alias="t", quoted=True)
    if column is not None:
        at = exp.column(column, "t", quoted=True)
        shown = exp.alias_(at.copy(), UNIT, quoted=True)
        return select(_star("t"), shown).from_(table).where(at.is_(exp.null()).not_())
    link = private[name]
    assert link is not None
    child, parent, key = link
    return (
        select(_star("t"), exp.column(UNIT, "o", quoted=True))
        .from_(table)
        .join(owners(unit, private, parent, key).subquery("o"),
              on=exp.column(child, "t", quoted=True).eq(exp.column("k", "o")))
    )  # fmt: skip


def owners(unit: tuple[str, str], private: Mapping[str, Link], parent: str, key: str) -> Node:
    """Return a SELECT of the owners of every key of a private table: k and the id, once each."""
    rows = owned(unit, private, parent).subquery("p")
    return (
        select(exp.alias_(exp.column(key, "p", quoted=True), "k"),
               exp.column(UNIT, "p", quoted=True))
        .distinct().from_(rows)
    )  # fmt: skip


def _star(table: str) -> Node:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(table))
