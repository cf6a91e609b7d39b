"""Databases elsewhere, asked in place and in their own dialect: only aggregates leave them.

What a question means is decided by this process, on empty tables of the same types in the embedded
DuckDB. What reads rows is written in the dialect of the engine that has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from rpac._base.checks import refuse
from rpac.errors import MechanismError
from rpac.sql.syntax import Node

_FAILING = (exp.Try, exp.TryCast)


class Elsewhere(ABC):
    """A database that keeps its rows, and answers questions about all of them.

    Attributes:
        dialect: Its name to sqlglot.
        received: Bytes of all that it has sent, as their text: what a test holds to a limit.
    """

    dialect: str
    types: Mapping[str, str] = MappingProxyType({})
    """DuckDB's names of the engine's own types."""

    def __init__(self) -> None:
        self.received = 0

    @abstractmethod
    def describe(self, table: str) -> list[tuple[str, str]]:
        """Return names and the engine's own types of the columns of a table, by its name there."""

    @abstractmethod
    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT."""

    def columns(self, table: str) -> dict[str, str]:
        """Return DuckDB's types of a table's columns, by lower-case name."""
        try:
            found = self.describe(table)
        except Exception as error:  # a driver's own
            kind = f"a {type(error).__name__}"
            raise refuse(f"a table {table!r} that can be read", kind, "Check its name.") from None
        if not found:
            raise refuse(f"a table {table!r} there", "none", "Check its name and schema.")
        return {name.lower(): self.duckdb_type(kind) for name, kind in found}

    def duckdb_type(self, kind: str) -> str:
        """Return DuckDB's name of a type; what it has none for is text, and cannot be computed."""
        plain, bracket, sizes = kind.lower().partition("(")
        name = self.types.get(plain.strip(), "VARCHAR")
        return f"DECIMAL({sizes}" if name == "DECIMAL" and bracket else name

    def written(self, tree: Node) -> str:
        """Return a query in the engine's dialect."""
        return str(self.safe(tree.copy()).sql(self.dialect))

    def safe(self, tree: Node) -> Node:
        """Return a query without TRY, whose terms are NULL where they fail as far as they can be.

        What fails all the same fails for everybody: under *sample* that is withheld and charged.
        """
        return tree.transform(_bare)

    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows of a SELECT in the engine's dialect; errors say nothing of rows.

        Raises:
            MechanismError: If it fails, in words that are the same for every entry.
        """
        try:
            found = self._rows(sql)
        except Exception as error:  # its message may quote an entry
            kind, move = f"a {type(error).__name__}", "Guard divisions and casts with CASE."
            raise refuse("a query that runs on every world", kind, move, MechanismError) from None
        self.received += sum(len(str(entry)) + 4 for row in found for entry in row)
        return found


def _bare(node: Node) -> Node:
    """Return a term that may fail as one that is NULL instead, where the dialects have a way."""
    if isinstance(node, exp.Try):
        return node.this
    if isinstance(node, exp.Div | exp.Mod | exp.IntDiv) and not isinstance(node.right, exp.Literal):
        node.set("expression", exp.Nullif(this=node.right.copy(), expression=exp.Literal.number(0)))
    return node
