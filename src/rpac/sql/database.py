"""Tables in DuckDB, each row with its owner: the unit whose membership is the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac._base.types import Ints
from rpac.worlds import tables as frames
from rpac.worlds.source import Pool, Subsets

if TYPE_CHECKING:
    from rpac.sql.query import Query

UNIT = "__unit"
"""Hidden column of private tables: the number of the row's owner."""


def connect() -> Any:
    """Return a DuckDB database in memory."""
    try:
        import duckdb
        import sqlglot  # noqa: F401
    except ImportError:
        raise refuse("duckdb and sqlglot", "no such packages", "pip install 'rpac[sql]'.") from None
    return duckdb.connect()


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


@final
class Database:
    """Tables with a declared privacy unit, to ask in SQL.

    Every table is either public, or its rows belong to units: directly (it has the unit's column)
    or through foreign keys. Nothing is public unless it is said to be.

    Args:
        tables: Frames, DuckDB relations or paths, by name; or one path, named after its file.
        unit: "table.column" that names the units; "column" if there is one table. "rows": each
            row of the one table is a unit.
        links: Foreign keys {"child.column": "parent.column"} that lead to the unit.
        public: Names of public tables ("nation"), and of columns ("orders.status"; "status" where
            one table has it) whose entries may be named as groups.
        keys: Declared groups {"column or label": entries} of grouping columns that are not
            public; all other entries are "other" (NULL if they are not text).
        worlds: Number of half-samples.
        seed: Study randomness that picks them.

    Attributes:
        source: `Subsets` of the units: what `privatize` draws the secret from.
        connection: The DuckDB connection; it reads no file and no network after loading.
        columns: Names and SQL types of every table's columns.
        private: Names of the tables whose rows belong to units.
        entities: For columns that determine the unit: which key they are equal to.
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
            tables = {Path(tables).stem: tables}
        if not isinstance(tables, Mapping) or not tables:
            raise refuse("tables by name", type(tables).__name__, "Pass {'staff': frame}.")
        self.connection = connect()
        self.kind = _kind(next(iter(tables.values())))
        self.links = {_pair(a): _pair(b) for a, b in (links or {}).items()}
        self.columns = {name.lower(): self._load(name, data) for name, data in tables.items()}
        self.public, self.keys = self._named_public(public), dict(keys or {})
        self.unit = self._named_unit(unit)
        self.private = self._owned_tables()
        self.entities = self._entities()
        self.units = self._number_units()
        self._own_rows()
        pool = Pool(len(self.units), self.version())
        self.source = Subsets(pool, worlds=worlds, seed=seed)
        self.connection.execute("SET enable_external_access = false")

    def query(self, sql: str) -> Query:
        """Return a question as a mechanism: `rpac.privatize(db.query(sql), db.source, budget)`."""
        from rpac.sql.query import Query

        return Query(self, sql)

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
        """Copy one table into the schema `pool`; return its columns."""
        con = self.connection
        con.execute("CREATE SCHEMA IF NOT EXISTS pool")
        con.execute("CREATE SCHEMA IF NOT EXISTS world")
        at = f"pool.{quoted(name.lower())}"
        try:
            if isinstance(data, str | Path):
                _check_file(Path(data))
                con.execute(f"CREATE TABLE {at} AS FROM {_literal(str(data))}")
            else:
                con.register("__loading", frames.table(data).to_arrow())
                con.execute(f"CREATE TABLE {at} AS FROM __loading")
                con.unregister("__loading")
        except Exception as error:
            from rpac.errors import RpacError

            if isinstance(error, RpacError):
                raise
            kind = f"a {type(error).__name__}"
            raise refuse(f"rows in table {name!r}", kind, "Check its format.") from None
        rows = con.execute(f"DESCRIBE {at}").fetchall()
        if UNIT in (row[0].lower() for row in rows):
            raise refuse(f"no column {UNIT}", f"one in {name!r}", "Rename it.")
        return {row[0].lower(): row[1] for row in rows}

    def _named_unit(self, unit: str) -> tuple[str, str]:
        if len(self.columns) == 1 and "." not in unit:
            (table,) = self.columns
            if unit == "rows":
                at = f"pool.{quoted(table)}"
                self.connection.execute(f"ALTER TABLE {at} ADD COLUMN rows BIGINT")
                self.connection.execute(f"UPDATE {at} SET rows = rowid")
                return table, "rows"
            unit = f"{table}.{unit}"
        return self._known(_pair(unit), "unit")

    def _named_public(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return public tables, and public columns with their table."""
        given = [str(name).lower() for name in ([names] if isinstance(names, str) else names)]
        tables = [name for name in given if name in self.columns]
        found = list(tables)
        for name in given:
            if "." in name:
                found.append(".".join(self._known(_pair(name), "public")))
            elif name not in tables:
                homes = [t for t, inside in self.columns.items() if name in inside]
                homes = [t for t in homes if t not in tables] or homes
                if len(homes) != 1:
                    known = [f"{t}.{c}" for t, inside in self.columns.items() for c in inside]
                    known = [f"{t}.{name}" for t in homes] or [*self.columns, *known]
                    shown = ", ".join(known[:12]) + (" ..." if len(known) > 12 else "")
                    raise refuse(f"one of {shown} in `public`", repr(name), "Name one of them.")
                found.append(f"{homes[0]}.{name}")
        return tuple(found)

    def _known(self, pair: tuple[str, str], what: str) -> tuple[str, str]:
        table, column = pair
        if table not in self.columns:
            raise refuse(f"a table among {sorted(self.columns)} in `{what}`", table, "Name one.")
        if column not in self.columns[table] and column != "rows":
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
            if name not in owned and name not in self.public:
                raise refuse(
                    f"a link from table {name!r} to the unit, or its name in `public`",
                    "neither",
                    "Say whose rows they are, or that they are nobody's.",
                )
            if name in owned and name in self.public:
                raise refuse(f"table {name!r} public or linked", "both", "Choose one.")
        return owned

    def _entities(self) -> dict[tuple[str, str], str]:
        """Return which columns determine the unit, by the key they stand for."""
        found = {self.unit: ".".join(self.unit)}
        for _ in self.columns:
            for child, parent in self.links.items():
                if parent[0] in self.private:
                    found.setdefault(parent, ".".join(parent))
                    found[child] = found[parent]
        return found

    def _number_units(self) -> Any:
        table, column = self.unit
        at = f"FROM pool.{quoted(table)}"
        lost = f"SELECT count(*) {at} WHERE {quoted(column)} IS NULL"
        if self.connection.execute(lost).fetchall()[0][0]:
            raise refuse("a unit in every row", "missing ones", "Fill them in or drop those rows.")
        self.connection.execute(
            f"CREATE TABLE pool.__units AS SELECT *, row_number() OVER (ORDER BY k) - 1 AS u "
            f"FROM (SELECT DISTINCT {quoted(column)} AS k {at})"
        )
        size = self.connection.execute("SELECT count(*) FROM pool.__units").fetchall()[0][0]
        return range(size)

    def _own_rows(self) -> None:
        """Give every row of a private table its owner, and make the views that worlds see."""
        for name, link in self.private.items():
            at = f"pool.{quoted(name)}"
            column, owners = self.unit[1], "SELECT k, u FROM pool.__units"
            if link is not None:
                column, parent, key = link
                owners = (
                    f"SELECT DISTINCT {quoted(key)} AS k, {UNIT} AS u FROM pool.{quoted(parent)}"
                )
            self._one_owner(owners, link)
            total = self._rows(at)
            self.connection.execute(
                f"CREATE OR REPLACE TABLE {at} AS SELECT t.*, o.u::INTEGER AS {UNIT} "
                f"FROM {at} AS t JOIN ({owners}) AS o ON t.{quoted(column)} = o.k"
            )
            if self._rows(at) != total:
                raise refuse(
                    f"an owner for every row of {name!r}", "rows without", "Drop those rows first."
                )
        for name in self.columns:
            self._make_views(name)

    def _one_owner(self, owners: str, link: tuple[str, str, str] | None) -> None:
        found = self.connection.execute(f"SELECT count(*), count(DISTINCT k) FROM ({owners})")
        pairs, different = found.fetchall()[0]
        if link is not None and pairs != different:
            raise refuse(
                f"keys {link[1]}.{link[2]} that belong to one unit each",
                "some with several",
                "Link through a key that is unique.",
            )

    def _rows(self, at: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) FROM {at}").fetchall()[0][0])

    def _make_views(self, name: str) -> None:
        at = quoted(name)
        hidden, here = "*", ""
        if name in self.private:
            extra = ", rows" if self.unit == (name, "rows") else ""
            hidden = f"* EXCLUDE ({UNIT}{extra})"
            here = f" WHERE {UNIT} IN (SELECT u FROM world.__members)"
        self.connection.execute("CREATE TABLE IF NOT EXISTS world.__members (u BIGINT)")
        self.connection.execute(f"CREATE VIEW main.{at} AS SELECT {hidden} FROM pool.{at}")
        self.connection.execute(f"CREATE VIEW world.{at} AS SELECT {hidden} FROM pool.{at}{here}")

    def enter(self, members: Ints) -> None:
        """Let the schema `world` show the rows of these units only."""
        self.connection.register("__now", {"u": np.ascontiguousarray(members)})
        self.connection.execute("CREATE OR REPLACE TABLE world.__members AS SELECT u FROM __now")
        self.connection.unregister("__now")

    def __repr__(self) -> str:
        unit = ".".join(self.unit)
        return f"Database({len(self.units)} units of {unit}, {len(self.columns)} tables)"


def _pair(name: str) -> tuple[str, str]:
    table, dot, column = str(name).lower().rpartition(".")
    if not dot or not table:
        raise refuse('"table.column"', repr(name), "Join them with a dot.")
    return table, column


def _check_file(file: Path) -> None:
    if file.suffix.lower() not in {".csv", ".parquet"}:
        raise refuse("a .csv or .parquet file", repr(file.name), "Convert it first.")
    if not file.is_file():
        raise refuse("a file that exists", repr(file.name), "Check the path.")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _kind(data: Any) -> str:
    """Return the kind of table that answers come back as."""
    if isinstance(data, str | Path):
        return "rows"
    module = type(data).__module__.split(".")[0].lstrip("_")
    return module if module in {"pandas", "polars", "pyarrow", "duckdb"} else "rows"
