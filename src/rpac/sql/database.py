"""The database that a user asks: tables of units, and questions about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, final

from rpac._base.checks import refuse
from rpac.person.source import ROWS, Presence
from rpac.sql.elsewhere import Elsewhere
from rpac.sql.owned import Owned
from rpac.sql.parsing import parsed
from rpac.sql.query import Query
from rpac.sql.tables import Tables, by_name
from rpac.worlds.files import column_names, is_csv


def elsewhere(engine: Any) -> Elsewhere | None:
    """Return the database that an address or a session is; None for none."""
    if engine is None or isinstance(engine, Elsewhere):
        return engine
    if isinstance(engine, str) and engine.startswith(("postgresql://", "postgres://")):
        from rpac.sql.postgres import Postgres

        return Postgres(engine)
    if hasattr(engine, "sql") and hasattr(engine, "table"):
        from rpac.sql.spark import Spark

        return Spark(engine)
    got = repr(engine.partition(":")[0]) if isinstance(engine, str) else type(engine).__name__
    raise refuse("engine='postgresql://...' or a Spark session", got, "Or leave it out for DuckDB.")


@final
class Database(Tables):
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
            public. All other entries are "other" (NULL if they are not text) to half-samples, and
            in no row of an answer about presence.
        worlds: Number of half-samples.
        seed: Study randomness that picks them.
        caps: As for `Presence`, by "column" or "table.column"; so are the following.
        middle: What averages are counted from.
        schema: What is declared of columns.
        size: About how many units there are.
        engine: Who has the tables: "postgresql://..." or a Spark session. Then `tables` are names
            there, and rows never leave it; None: the embedded DuckDB.
        memory_limit: Of the embedded DuckDB, in its words ("2GB").
        temp_directory: Where it puts what does not fit, unreadable to others.

    Tables are read when the first question is asked: for half-samples (`source`) with the types
    that DuckDB finds, and for the promise *person* (`presence`) entry by entry.

    Attributes:
        source: `Subsets` of the units: what `privatize` draws the secret from.
        connection: The DuckDB connection; it reads no file and no network after loading.
        columns: Names and SQL types of every table's columns.
        private: Names of the tables whose rows belong to units.
        entities: For columns that determine the unit: which key they are equal to.
    """

    def __init__(
        self, tables: Mapping[str, Any] | Sequence[str] | str | Path, unit: str,
        links: Mapping[str, str] | None = None, *, public: Sequence[str] = (),
        keys: Mapping[str, Sequence[Any]] | None = None, worlds: int = 512, seed: int = 0,
        caps: Mapping[str, Any] | None = None, middle: Mapping[str, float] | None = None,
        schema: Mapping[str, Any] | None = None, size: int | None = None,
        engine: Any = None, memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
    ) -> None:  # fmt: skip
        said = {"tables": tables, "unit": unit, "links": links, "public": public, "keys": keys}
        place = {"memory_limit": memory_limit, "temp_directory": temp_directory}
        self._said: dict[str, Any] = said | place | {"engine": elsewhere(engine)}
        self._drawn: dict[str, Any] = {"worlds": worlds, "seed": seed}
        declared = {"caps": caps, "middle": middle or {}, "schema": schema, "size": size}
        self._declared: dict[str, Any] = declared

    @cached_property
    def owned(self) -> Owned:
        """Tables for the promise *person*: nothing in them is refused because of rows."""
        return Owned(**self._said)

    @cached_property
    def presence(self) -> Presence:
        """The source whose secret is whether a given unit is in the data."""
        table, column = self.owned.unit
        rows = column == ROWS and column not in self.owned.columns[table]
        source = Presence(self, ROWS if rows else f"{table}.{column}", **self._declared)
        self.owned.said(source.schema)
        return source

    def __getattr__(self, name: str) -> Any:
        """Read the tables for half-samples, at the first question that needs them."""
        if name.startswith("_") or "source" in vars(self):
            raise AttributeError(name)
        super().__init__(**self._said, **self._drawn)
        return getattr(self, name)

    def _outline(self) -> Any:
        """Return names of tables and columns; None where rows are read already, or must be."""
        if self._said["engine"] is not None or {"owned", "source"} & vars(self).keys():
            return None
        named = by_name(self._said["tables"], away=False)
        names = {name.lower(): _known(data) for name, data in named.items()}
        if None in names.values():
            return None
        more = [ROWS] if self._said["unit"] == ROWS else []
        columns = {t: dict.fromkeys(map(str.lower, [*(n or []), *more]), "VARCHAR")
                   for t, n in names.items()}  # fmt: skip
        return SimpleNamespace(columns=columns)

    def query(self, sql: str) -> Query:
        """Return a question as a mechanism: `rpac.privatize(db.query(sql), db.source, budget)`.

        Names that no table has are refused now, before rows are read.
        """
        outline = self._outline()
        if outline is not None:
            parsed(outline, sql)
        return Query(self, sql)

    def __repr__(self) -> str:
        return f"Database(units of {self._said['unit']})"


def _known(data: Any) -> list[str] | None:
    """Return names of columns; None of a CSV whose first line is one word, as DuckDB finds more."""
    names = column_names(data)
    return None if is_csv(data) and len(names or ()) < 2 else names
