"""Tables in DuckDB, each row with its owner: the unit whose membership is the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlglot import exp

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac._base.types import Ints
from rpac.sql.engine import connect, describe, execute, kind_of, load, quoted, show
from rpac.worlds.source import Pool, Subsets

UNIT = "__unit"
"""Hidden column of private tables: the number of the row's owner."""


class Tables:
    """Loaded tables with a declared privacy unit: what a query is read against and run on.

    Args:
        tables: Frames, DuckDB relations or paths, by name; or one path, named after its file.
        unit: "table.column" that names the units; "column" or "rows" if there is one table.
        links: Foreign keys {"child.column": "parent.column"} that lead to the unit.
        public: Names of public tables, and of columns whose entries may be named as groups.
        keys: Declared groups of grouping columns that are not public.
        worlds: Number of half-samples.
        seed: Study randomness that picks them.
    """

    def __init__(
        self,
        tables: Mapping[str, Any] | str | Path,
        unit: str,
        links: Mapping[str, str] | None = None,
        *,
        public: Sequence[str] = (),
        keys: Mapping[str, Sequence[Any]] | None = None,
        worlds: int = 512,
        seed: int = 0,
    ) -> None:
        if isinstance(tables, str | Path):
            tables = {Path(tables).name.partition(".")[0]: tables}
        if not isinstance(tables, Mapping) or not tables:
            empty = "an empty " if isinstance(tables, Mapping) else ""
            got = f"{empty}{type(tables).__name__}"
            raise refuse("tables by name", got, "Pass {'staff': frame}.")
        self.connection = connect()
        self.kind = kind_of(next(iter(tables.values())))
        self.links = {_pair(a): _pair(b) for a, b in (links or {}).items()}
        self.columns = {name.lower(): self._load(name, data) for name, data in tables.items()}
        self.public, self.keys = self._named_public(public), dict(keys or {})
        self.unit = self._named_unit(unit)
        self.private = self._owned_tables()
        self.entities = self._entities()
        self._draw_from(worlds, seed)
        self.connection.execute("SET python_enable_replacements = false")
        self.connection.execute("SET enable_external_access = false")

    def _draw_from(self, worlds: int, seed: int) -> None:
        """Number the units, give every row its owner, and choose the half-samples."""
        self._refuse_nobody()
        self.units = self._number_units()
        self._own_rows()
        pool = Pool(len(self.units), self.version(), self.unit_names())
        self.source = Subsets(pool, worlds=worlds, seed=seed)

    def enter(self, members: Ints) -> None:
        """Let the schema `world` show the rows of these units only."""
        show(self.connection, "__now", {"u": np.ascontiguousarray(members)})
        self.connection.execute("CREATE OR REPLACE TABLE world.__members AS SELECT u FROM __now")
        self.connection.unregister("__now")

    def unit_names(self) -> list[Any]:
        """Return the units' own names, by number."""
        rows = self.connection.execute("SELECT k FROM pool.__units ORDER BY u").fetchall()
        return [row[0] for row in rows]

    def version(self) -> str:
        """Return a hash of all rows: a changed table is a new secret."""
        parts: list[str] = []
        for name in sorted(self.columns):
            at = f"pool.{quoted(name)}"
            rows = f"SELECT count(*), sum(hash(t)::HUGEINT)::VARCHAR FROM {at} AS t"
            parts += [name, str(self.connection.execute(rows).fetchall())]
        return digest(*parts)

    def _load(self, name: str, data: Any) -> dict[str, str]:
        found = load(self.connection, name, data)
        if UNIT in found:
            raise refuse(f"no column {UNIT}", f"one in {name!r}", "Rename it.")
        return found

    def _named_unit(self, unit: str) -> tuple[str, str]:
        if len(self.columns) == 1 and "." not in unit:
            (table,) = self.columns
            if unit == "rows":
                return self._number_rows(table)
            unit = f"{table}.{unit}"
        return self._known(_pair(unit), "unit")

    def _number_rows(self, table: str) -> tuple[str, str]:
        """Make every row a unit of its own, by a hidden column `rows`."""
        if "rows" in self.columns[table]:
            got, move = f"one in {table!r}", "Rename the column, or name the unit's own."
            raise refuse('unit="rows" for a table without a column of that name', got, move)
        at = f"pool.{quoted(table)}"
        self.connection.execute(f"ALTER TABLE {at} ADD COLUMN rows BIGINT")
        self.connection.execute(f"UPDATE {at} SET rows = rowid")
        return table, "rows"

    def _named_public(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return public tables, and public columns with their table."""
        given = [str(name).lower() for name in ([names] if isinstance(names, str) else names)]
        tables = [name for name in given if name in self.columns]
        found = list(tables)
        for name in given:
            if "." in name:
                found.append(".".join(self._known(_pair(name), "public")))
            elif name not in tables:
                found.append(f"{self._only_home(name, tables)}.{name}")
        return tuple(found)

    def _only_home(self, column: str, public: list[str]) -> str:
        """Return the one table that has a column; a private one before public ones."""
        homes = [table for table, inside in self.columns.items() if column in inside]
        homes = [table for table in homes if table not in public] or homes
        if len(homes) != 1:
            every = [f"{t}.{c}" for t, inside in self.columns.items() for c in inside]
            known = [f"{table}.{column}" for table in homes] or [*self.columns, *every]
            shown = ", ".join(known[:12]) + (" ..." if len(known) > 12 else "")
            raise refuse(f"one of {shown} in `public`", repr(column), "Name one of them.")
        return homes[0]

    def _known(self, pair: tuple[str, str], what: str) -> tuple[str, str]:
        table, column = pair
        if table not in self.columns:
            known = sorted(self.columns)
            raise refuse(f"a table among {known} in `{what}`", repr(table), "Name one of them.")
        if column not in self.columns[table]:
            known = list(self.columns[table])[:12]
            raise refuse(f"a column among {known} in `{what}`", repr(column), "Name one of them.")
        return pair

    def _owned_tables(self) -> dict[str, tuple[str, str, str] | None]:
        """Return private tables in the order that owners spread: name to (column, parent, key)."""
        for end in (*self.links, *self.links.values()):
            self._known(end, "links")
        owned: dict[str, tuple[str, str, str] | None] = {self.unit[0]: None}
        for _ in self.columns:
            for (child, column), (parent, key) in self.links.items():
                if parent in owned and child not in owned:
                    owned[child] = (column, parent, key)
        for name in self.columns:
            self._one_side(name, owned)
        return owned

    def _one_side(self, name: str, owned: Mapping[str, tuple[str, str, str] | None]) -> None:
        """Refuse a table that is neither public nor anybody's, or both."""
        if name not in owned and name not in self.public:
            links = [".".join(end) for end in self.links]
            raise refuse(
                f"a link from table {name!r} to the unit, or its name in `public`",
                f"links from {links} and public {list(self.public)}",
                "Say whose rows they are, or that they are nobody's.",
            )
        if name in owned and name in self.public:
            link = owned[name]
            other = "the unit" if link is None else f"a link from {name}.{link[0]}"
            raise refuse(f"table {name!r} public or linked", f"both: {other}", "Choose one.")

    def _entities(self) -> dict[tuple[str, str], str]:
        """Return which columns determine the unit, by the key they stand for."""
        found = {self.unit: ".".join(self.unit)}
        for _ in self.columns:
            for child, parent in self.links.items():
                if parent[0] in self.private:
                    found.setdefault(parent, ".".join(parent))
                    found[child] = found[parent]
        return found

    def _refuse_nobody(self) -> None:
        table, column = self.unit
        if self._count(f"FROM pool.{quoted(table)} WHERE {quoted(column)} IS NULL"):
            move = "Fill them in or drop those rows."
            raise refuse(f"a unit in every row of {table}.{column}", "missing ones", move)

    def _number_units(self) -> range:
        table, column = quoted(self.unit[0]), quoted(self.unit[1])
        self.connection.execute(
            f"CREATE TABLE pool.__units AS SELECT *, row_number() OVER (ORDER BY k) - 1 AS u "
            f"FROM (SELECT DISTINCT {column} AS k FROM pool.{table} WHERE {column} IS NOT NULL)"
        )
        return range(self._count("FROM pool.__units"))

    def _own_rows(self) -> None:
        """Give every row of a private table its owner, and make the views that worlds see."""
        for name, link in self.private.items():
            total = self._count(f"FROM pool.{quoted(name)}")
            self._own_table(name, link)
            if self._count(f"FROM pool.{quoted(name)}") != total:
                raise refuse(
                    f"an owner for every row of {name!r}", "rows without", "Drop those rows first."
                )
        self.connection.execute("CREATE TABLE world.__members (u BIGINT)")
        for name in self.columns:
            self._make_views(name)

    def _own_table(self, name: str, link: tuple[str, str, str] | None) -> None:
        """Let a table have its rows once for each of their owners: the unit, or those of a key."""
        at, column, owners = f"pool.{quoted(name)}", self.unit[1], "SELECT k, u FROM pool.__units"
        if link is not None:
            column, owners = link[0], self._owners(*link[1:])
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {at} AS SELECT t.*, o.u::INTEGER AS {UNIT} "
            f"FROM {at} AS t JOIN ({owners}) AS o ON t.{quoted(column)} = o.k"
        )

    def _owners(self, parent: str, key: str) -> str:
        """Return SQL for the owner of every key of a table: one each, or it is refused."""
        rows = f"SELECT DISTINCT {quoted(key)} AS k, {UNIT} AS u FROM pool.{quoted(parent)}"
        if self._count(f"FROM ({rows})") != self._count(f"FROM ({rows})", "DISTINCT k"):
            got, move = "some with several", "Link through a key that is unique."
            raise refuse(f"keys {parent}.{key} that belong to one unit each", got, move)
        return rows

    def _count(self, rows: str, what: str = "*") -> int:
        return int(self.connection.execute(f"SELECT count({what}) {rows}").fetchall()[0][0])

    def _make_views(self, name: str) -> None:
        """Show a table's own columns: all rows in `main`, those of one world in `world`."""
        at, hidden, here = quoted(name), "*", ""
        if name in self.private:
            extra = ", rows" if self.unit == (name, "rows") else ""
            hidden = f"* EXCLUDE ({UNIT}{extra})"
            here = f" WHERE {UNIT} IN (SELECT u FROM world.__members)"
        self.connection.execute(f"CREATE VIEW main.{at} AS SELECT {hidden} FROM pool.{at}")
        self.connection.execute(f"CREATE VIEW world.{at} AS SELECT {hidden} FROM pool.{at}{here}")


def run(tables: Tables, sql: str, form: str = "fetchall") -> Any:
    """Return all rows of a statement on loaded tables; errors and forms as in `engine.execute`."""
    return execute(tables.connection, sql, form)


def described(tables: Tables, sql: str) -> list[tuple[str, str]]:
    """Return the names and SQL types of a SELECT's columns; errors as in `engine.describe`."""
    return describe(tables.connection, sql, tables.columns)


def put_in_schema(tree: Any, tables: Tables, schema: str) -> None:
    """Let every table in a query be the one in this schema, so that no name means anything else."""
    for table in tree.find_all(exp.Table):
        if table.name in tables.columns:
            table.set("db", exp.to_identifier(schema))


def _pair(name: str) -> tuple[str, str]:
    table, dot, column = str(name).lower().rpartition(".")
    if not dot or not table:
        raise refuse('"table.column"', repr(name), "Join them with a dot.")
    return table, column
