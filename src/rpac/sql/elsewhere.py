"""Databases elsewhere, asked in place and in their own dialect: only aggregates leave them.

What a question means is decided by this process, on empty tables of the same types in the embedded
DuckDB. What reads rows is written in the dialect of the engine that has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlglot import exp, parse_one

from rpac._base.checks import refuse
from rpac.errors import MechanismError, RpacError
from rpac.sql.owners import RAW
from rpac.sql.slices import Part, by_bit, count_bytes
from rpac.sql.syntax import Node

_WIDEST = 38
"""Digits of DuckDB's widest decimal."""
_MOST = "1e308"
"""What is larger, or no number, is not added up."""


class Elsewhere(ABC):
    """A database that keeps its rows, and answers questions about all of them.

    Attributes:
        dialect: Its name to sqlglot.
        received: Bytes of all that it has sent, as their text: what a test holds to a limit.
    """

    dialect: str
    double: str
    """The name of its type of floats."""
    types: Mapping[str, str] = MappingProxyType({})
    """DuckDB's names of the engine's own types."""

    def __init__(self) -> None:
        self.received = 0

    @abstractmethod
    def describe(self, table: str) -> list[tuple[str, str]]:
        """Return names and the engine's own types of the columns of a table, by its name there."""

    def is_view(self, table: str) -> bool:
        """Whether a name is that of a query, which may look across people or fail on a row."""
        return False

    @abstractmethod
    def md5(self, salt: str) -> str:
        """Return SQL for the hash of a text and the id k, in hexadecimal."""

    @abstractmethod
    def byte(self, text: str) -> str:
        """Return SQL for the number of two hexadecimal digits."""

    @abstractmethod
    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT."""

    def columns(self, table: str) -> dict[str, str]:
        """Return DuckDB's types of a table's columns, by lower-case name."""
        try:
            found = self.describe(table)
        except RpacError:
            raise
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
        if name != "DECIMAL" or not bracket:
            return name
        whole, _, scale = sizes.rstrip(")").partition(",")
        fits = int(whole) <= _WIDEST and 0 <= int(scale or 0) <= int(whole)
        return f"DECIMAL({int(whole)},{int(scale or 0)})" if fits else "DOUBLE"

    def written(self, tree: Node) -> str:
        """Return a query in the engine's dialect."""
        return str(self.safe(tree.copy()).sql(self.dialect))

    def safe(self, tree: Node) -> Node:
        """Return a query without TRY, whose terms are NULL where they fail as far as they can be.

        What fails all the same fails for everybody: under *sample* that is withheld and charged.
        """
        for node in reversed(list(tree.find_all(exp.Try, exp.Div, exp.Mod, exp.Anonymous))):
            if isinstance(node, exp.Try):
                node.replace(node.this.copy())
            elif isinstance(node, exp.Div | exp.Mod) and not isinstance(node.right, exp.Literal):
                zero = exp.Literal.number(0)
                node.right.replace(exp.Nullif(this=node.right.copy(), expression=zero))
            elif node.name.lower() == "isfinite":
                number, most = node.expressions[0].copy(), exp.Literal.number(_MOST)
                node.replace(exp.Between(this=number, low=exp.Neg(this=most.copy()), high=most))
        return tree

    def placed(self, sql: str | Node, places: Mapping[str, str]) -> str:
        """Return a query in the engine's dialect, on its own tables.

        Args:
            sql: In DuckDB's dialect, over tables of the schema `raw`.
            places: Names there of these tables, by name.
        """
        tree = parse_one(sql, read="duckdb") if isinstance(sql, str) else sql.copy()
        for table in list(tree.find_all(exp.Table)):
            if table.db == RAW:
                there = exp.to_table(places[table.name], dialect=self.dialect)
                for part in there.find_all(exp.Identifier):
                    part.args["quoted"] = True
                alias = table.alias or table.name
                table.replace(exp.alias_(there, alias, table=True, quoted=True))
        for i, inner in enumerate(list(tree.find_all(exp.Subquery))):
            if isinstance(inner.parent, exp.From | exp.Join) and not inner.alias:
                inner.set("alias", exp.TableAlias(this=exp.to_identifier(f"__s{i}")))
        return self.written(tree)

    def sums(
        self,
        rows: str | Node,
        keys: Sequence[str],
        parts: Sequence[Part],
        people: tuple[int, Sequence[str]],
        places: Mapping[str, str],
    ) -> list[tuple[Any, ...]]:
        """Return the rows of `slices.by_bit`: sums over all worlds, from one pass.

        Args:
            rows: Relation over `raw` with the keys, the owner's id k and what parts need.
            keys: Names of columns that tell groups apart.
            parts: What is put together.
            people: Number of pairs of worlds, and the salts of ids' hashes.
            places: Names there of the tables, by name.
        """
        pairs, salts = people
        size = count_bytes(pairs)
        hashed = [f"{self.md5(text)} AS h{j}" for j, text in enumerate(salts)]
        cut = [f"substr(h{i // 16}, {2 * (i % 16) + 1}, 2) AS b{i}" for i in range(size)]
        inner = f"SELECT r.*, {', '.join(hashed)} FROM ({self.placed(rows, places)}) AS r"
        middle = f"SELECT h.*, {', '.join(cut)} FROM ({inner}) AS h"
        names = [f"b{i}" for i in range(size)]
        sets = ", ".join(f"({', '.join([*keys, name])})" for name in names)
        shown = ", ".join([*keys, *names, *(f"{p.sql} AS {p.name}" for p in parts)])
        cells = f"SELECT {shown} FROM ({middle}) AS m GROUP BY GROUPING SETS ({sets})"
        place = " ".join(f"WHEN {name} IS NOT NULL THEN {i}" for i, name in enumerate(names))
        byte = self.byte(f"coalesce({', '.join(names)})" if size > 1 else names[0])
        listed = [*keys, f"CASE {place} END AS i", f"{byte} AS b", *(p.name for p in parts)]
        known = f"SELECT {', '.join(listed)} FROM ({cells}) AS s"
        return self.fetch(by_bit(known, keys, parts, self.double))

    def hashes(self, ids: str, salts: Sequence[str], places: Mapping[str, str]) -> Any:
        """Return the hashes of ids k, in hexadecimal: a tuple an id."""
        listed = ", ".join(self.md5(text) for text in salts)
        return self.fetch(f"SELECT {listed} FROM ({self.placed(ids, places)}) AS r")

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
