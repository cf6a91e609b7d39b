"""Tables in DuckDB, each row with its owner: the unit whose membership is the secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sqlglot import exp

from rpac._base.checks import count, refuse, whole_characters
from rpac._base.hashing import digest
from rpac.sql.elsewhere import Elsewhere
from rpac.sql.engine import (
    close_files,
    connect,
    describe,
    execute,
    kind_of,
    load,
    quoted,
    tables_in,
    without_fields,
)
from rpac.sql.measures import whole_type
from rpac.sql.owners import RAW as RAW
from rpac.sql.owners import UNIT as UNIT
from rpac.sql.owners import direct, owned, owners
from rpac.sql.people import Home, People, hold_worlds
from rpac.worlds.files import is_warehouse, parquet_files, table_name
from rpac.worlds.source import Pool, Subsets, even


class Tables:
    """Tables with a declared privacy unit: what a query is read against and run on.

    Rows stay where they are: those of Parquet and DuckDB files are read in place, and those of a
    database elsewhere never leave it; there, this process has empty tables of the same types.

    Args:
        tables: Frames, DuckDB relations or paths, by name; or one path, named after its file (of a
            DuckDB file: all of its tables). With `engine`: names there, by name or as a list.
        unit: "table.column" that names the units; "column" or "rows" if there is one table.
        links: Foreign keys {"child.column": "parent.column"} that lead to the unit.
        public: Names of public tables, and of columns whose entries may be named as groups.
        keys: Declared groups of grouping columns that are not public.
        worlds: Number of half-samples.
        seed: Study randomness that picks them.
        engine: The database elsewhere that has the tables; None: the embedded DuckDB.
        memory_limit: Of the embedded DuckDB, in its words ("2GB").
        temp_directory: Where it puts what does not fit.
    """

    home = RAW
    """Schema that tables are loaded into."""

    def __init__(
        self,
        tables: Any,
        unit: str,
        links: Mapping[str, str] | None = None,
        *,
        public: Sequence[str] = (),
        keys: Mapping[str, Sequence[Any]] | None = None,
        worlds: int = 512,
        seed: int = 0,
        engine: Elsewhere | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
    ) -> None:  # fmt: skip
        hold_worlds(even(worlds))
        self.engine, named = engine, by_name(tables, away=engine is not None)
        self.connection = connect(memory_limit, temp_directory)
        self.kind = "rows" if engine else kind_of(next(iter(named.values())))
        self.places = {name.lower(): str(data) for name, data in named.items()} if engine else {}
        self.links = {_pair(a): _pair(b) for a, b in (links or {}).items()}
        self.columns = {name.lower(): self._load(name, data) for name, data in named.items()}
        self.public, self.keys = self._named_public(public), dict(keys or {})
        whole_characters(chain.from_iterable(self.keys.values()), "keys")
        self.unit = self._named_unit(unit)
        if self.engine is not None:
            self._refuse_unlike(self.unit, self.unit)
        self.private = self._owned_tables()
        self.entities = self._entities()
        self._draw_from(worlds, seed)
        close_files(self.connection, [f for data in named.values() for f in parquet_files(data)]
                    if engine is None else [])  # fmt: skip

    def _draw_from(self, worlds: int, seed: int) -> None:
        """Look who owns which row, and choose the half-samples."""
        self._refuse_nobody()
        self._refuse_orphans()
        home = Home(self.connection, self.engine, self.unit, self.places)
        self.people = People.of(home, even(worlds), count(seed, "seed", least=0))
        members = self.people.members()
        if self.engine is None:
            self.enter(None)
        for name in self.columns:
            self._make_views(name)
        self.source = Subsets(Pool(members.units, self.version, members=members), worlds=worlds)

    def enter(self, members: Any) -> None:
        """Let the schema `world` show the rows of some units only.

        Args:
            members: The number of a world; None for everybody; or places of units in `source`.
        """
        kept = "true"
        if isinstance(members, int):
            kept = self.people.is_in(members)
        elif members is not None:
            kept = f"u IN ({', '.join(str(int(u)) for u in members) or 'NULL'})"
        every = "SELECT *, row_number() OVER (ORDER BY k) - 1 AS u FROM pool.__units"
        every = every if kept.startswith("u ") else "SELECT * FROM pool.__units"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE world.__members AS SELECT k FROM ({every}) WHERE {kept}"
        )

    def unit_names(self) -> list[Any]:
        """Return the units' own names, in the order of `source`."""
        rows = self.connection.execute("SELECT k FROM pool.__units ORDER BY k").fetchall()
        return [row[0] for row in rows]

    def version(self) -> str:
        """Return a hash of all rows: a changed table is a new secret.

        Of a database elsewhere, one for all its versions: their charges share a line of the books.
        """
        if self.engine is not None:
            return digest("elsewhere", *map(str, sorted(self.places.items())))
        parts: list[str] = []
        for name in sorted(self.columns):
            rows = f"SELECT count(*), sum(hash(t)::HUGEINT)::VARCHAR FROM raw.{quoted(name)} AS t"
            parts += [name, str(self.connection.execute(rows).fetchall())]
        return digest(*parts)

    def _load(self, name: str, data: Any) -> dict[str, str]:
        if self.engine is None:
            found = load(self.connection, name, data, self.home)
        else:
            found = self.engine.columns(str(data))
            listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in found.items())
            at = f"{self.home}.{quoted(name.lower())}"
            self.connection.execute(f"CREATE TABLE {at} ({listed})")
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
        at, many = f"{self.home}.{quoted(table)}", "row_number() OVER () - 1 AS rows"
        if self.engine is not None:
            move = "Name the column that says whose row it is."
            raise refuse("a column of ids, in a database elsewhere", "'rows'", move)
        kind = "VIEW" if self._is_view(table) else "TABLE"
        self.connection.execute(f"CREATE TABLE {self.home}.__rows AS SELECT *, {many} FROM {at}")
        self.connection.execute(f"DROP {kind} {at}")
        self.connection.execute(f"ALTER TABLE {self.home}.__rows RENAME TO {quoted(table)}")
        return table, "rows"

    def _is_view(self, name: str) -> bool:
        rows = "FROM duckdb_views() WHERE schema_name = ? AND view_name = ?"
        found = self.connection.execute(f"SELECT count(*) {rows}", [self.home, name]).fetchall()
        return bool(found[0][0])

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
            raise refuse(
                f"one of {', '.join(known)} in `public`", repr(column), "Name one of them."
            )
        return homes[0]

    def _known(self, pair: tuple[str, str], what: str) -> tuple[str, str]:
        table, column = pair
        if table not in self.columns:
            known = sorted(self.columns)
            raise refuse(f"a table among {known} in `{what}`", repr(table), "Name one of them.")
        if column not in self.columns[table]:
            known = list(self.columns[table])
            raise refuse(f"a column among {known} in `{what}`", repr(column), "Name one of them.")
        return pair

    def _owned_tables(self) -> dict[str, tuple[str, str, str] | None]:
        """Return private tables in the order that owners spread: name to (column, parent, key)."""
        for end in (*self.links, *self.links.values()):
            self._known(end, "links")
        for ends in self.links.items() if self.declared_types else ():
            self._refuse_unlike(*ends)
        owned: dict[str, tuple[str, str, str] | None] = {self.unit[0]: None}
        for _ in self.columns:
            for (child, column), (parent, key) in self.links.items():
                if parent in owned and child not in owned:
                    owned[child] = (column, parent, key)
        for name in self.columns:
            self._one_side(name, owned)
        return owned

    @property
    def declared_types(self) -> bool:
        """Whether types are the database's own, and decide how ids are spelled and compared."""
        return self.engine is not None

    def _refuse_unlike(self, child: tuple[str, str], parent: tuple[str, str]) -> None:
        """Refuse a link between types of which equal entries may be spelled otherwise."""
        kinds = [self.columns[table][column] for table, column in (child, parent)]
        whole, text = all(map(whole_type, kinds)), kinds == ["VARCHAR", "VARCHAR"]
        if not (whole or text or (kinds[0] == kinds[1] and self.engine is None)):
            said = [without_fields(kind) for kind in kinds]
            got = f"{'.'.join(child)} {said[0]} and {'.'.join(parent)} {said[1]}"
            move = "Link whole numbers, or text: CAST them where the tables are made."
            raise refuse("links between ids of one kind", got, move)

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
        """Return which columns determine the unit, by the key they stand for.

        Those alone that owners are found by: a second link of a table names somebody else.
        """
        found = {self.unit: ".".join(self.unit)}
        for _ in self.columns:
            for child, parent in self.links.items():
                if parent[0] in self.private and self.private[child[0]] == (child[1], *parent):
                    found.setdefault(parent, ".".join(parent))
                    found[child] = found[parent]
        return found

    def _refuse_nobody(self) -> None:
        table, column = self.unit
        if self.number(f"SELECT count(*) FROM raw.{quoted(table)} WHERE {quoted(column)} IS NULL"):
            move = "Fill them in or drop those rows."
            raise refuse(f"a unit in every row of {table}.{column}", "missing ones", move)

    def _refuse_orphans(self) -> None:
        """Refuse rows that nobody owns, or several units do: a world could not show them."""
        every = f"SELECT {quoted(self.unit[1])} AS k FROM raw.{quoted(self.unit[0])}"
        for name, link in self.private.items():
            if link is None:
                continue
            column, parent, key = link
            names = every if (parent, key) == self.unit else self._keys_with_owners(parent, key)
            known = f"LEFT JOIN ({names}) AS o ON t.{quoted(column)} = o.k WHERE o.k IS NULL"
            if self.number(f"SELECT count(*) FROM raw.{quoted(name)} AS t {known}"):
                raise refuse(
                    f"an owner for every row of {name!r}", "rows without", "Drop those rows first."
                )

    def _keys_with_owners(self, parent: str, key: str) -> str:
        """Return SQL for all keys of a table that have an owner: one each, or it is refused."""
        pairs = owners(self.unit, self.private, parent, key).sql("duckdb")
        twice = f"SELECT k FROM ({pairs}) AS o GROUP BY k HAVING count(*) > 1"
        if self.number(f"SELECT count(*) FROM ({twice}) AS x"):
            got, move = "some with several", "Link through a key that is unique."
            raise refuse(f"keys {parent}.{key} that belong to one unit each", got, move)
        return f"SELECT k FROM ({pairs}) AS o WHERE k IS NOT NULL"

    def _with_owners(self, name: str) -> str:
        """Return SQL for a table's rows with their owners; where keys lead to them, by a table."""
        link = self.private[name]
        if self.engine is not None or direct(self.unit, name, link) is not None:
            return str(owned(self.unit, self.private, name).sql("duckdb"))
        assert link is not None
        pairs, kept = owners(self.unit, self.private, *link[1:]), f"pool.{quoted(f'__of_{name}')}"
        self.connection.execute(f"CREATE TABLE {kept} AS {pairs.sql('duckdb')}")
        return (
            f"SELECT t.*, o.{UNIT} FROM raw.{quoted(name)} AS t "
            f"JOIN {kept} AS o ON t.{quoted(link[0])} = o.k"
        )

    def has(self, name: str) -> bool:
        """Whether a name is that of a column, alone or after its table's."""
        table, _, column = str(name).lower().rpartition(".")
        return any(column in inside for t, inside in self.columns.items() if table in ("", t))

    def lost_in_words(self, lost: Sequence[str]) -> str:
        """Return what to say of declared groups that no column is named after."""
        known = ", ".join(dict.fromkeys(c for inside in self.columns.values() for c in inside))
        return f" No column is named {lost[0]!r}, as in `keys`. Columns: {known}." if lost else ""

    def number(self, sql: str) -> int:
        """Return the one number of a query on tables as they are, wherever these are."""
        if self.engine is None:
            return int(self.connection.execute(sql).fetchall()[0][0])
        return int(self.engine.fetch(self.engine.placed(sql, self.places))[0][0])

    def _make_views(self, name: str) -> None:
        """Show a table's columns in `main` and, of one world, `world`; with owners in `pool`."""
        at = quoted(name)
        extra = " EXCLUDE (rows)" if self.unit == (name, "rows") else ""
        self.connection.execute(f"CREATE VIEW main.{at} AS SELECT *{extra} FROM raw.{at}")
        rows = self._with_owners(name) if name in self.private else f"SELECT * FROM raw.{at}"
        self.connection.execute(f"CREATE VIEW pool.{at} AS {rows}")
        here = f"SELECT * FROM raw.{at}"
        if self.engine is not None:  # there worlds are never entered
            return
        if name in self.private:
            hidden = f"* EXCLUDE ({UNIT}{', rows' if extra else ''})"
            inside = f"{UNIT} IN (SELECT k FROM world.__members)"
            here = f"SELECT {hidden} FROM pool.{at} WHERE {inside}"
        self.connection.execute(f"CREATE VIEW world.{at} AS {here}")


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


def by_name(tables: Any, *, away: bool) -> Mapping[str, Any]:
    """Return tables by name, however they were given."""
    given = tables.values() if isinstance(tables, Mapping) else tables
    if away and not (isinstance(given, str) or all(isinstance(name, str) for name in given)):
        move = "Pass ['customer'] or {'customer': 'schema.customer'}."
        raise refuse("names of tables elsewhere", type(tables).__name__, move)
    if away and isinstance(tables, Sequence):
        tables = {name: name for name in ([tables] if isinstance(tables, str) else tables)}
    if isinstance(tables, str | Path):
        path = tables
        names = tables_in(path) if is_warehouse(path) else [table_name(path)]
        tables = {name: path for name in names}
    if not isinstance(tables, Mapping) or not tables:
        empty = "an empty " if isinstance(tables, Mapping) else ""
        got = f"{empty}{type(tables).__name__}"
        raise refuse("tables by name", got, "Pass {'staff': frame}.")
    return tables


def _pair(name: str) -> tuple[str, str]:
    table, dot, column = str(name).lower().rpartition(".")
    if not dot or not table:
        raise refuse('"table.column"', repr(name), "Join them with a dot.")
    return table, column
