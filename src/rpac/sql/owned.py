"""Tables as the promise *person* reads them: no type is inferred, and what is odd is nobody's.

Entries of frames and CSV files are text in its one spelling (`rpac.person.entries`), whatever held
them. Parquet and DuckDB files and databases elsewhere declare their types, and are read in place. A
row without an owner is not here; a row that several units claim is here once for each of them.
Public tables keep their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from rpac._base.checks import refuse
from rpac.person.entries import Entries
from rpac.person.source import ROWS
from rpac.questions.selected import Said
from rpac.schema import Declared
from rpac.sql.engine import quoted, views_in
from rpac.sql.tables import UNIT, Tables
from rpac.worlds.files import is_warehouse

_MACROS = (
    "__number(x) AS CASE x WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE ELSE "
    "CASE WHEN isfinite(TRY_CAST(x AS DOUBLE)) THEN TRY_CAST(x AS DOUBLE) END END",
    "__whole(x) AS CASE WHEN x = trunc(x) THEN TRY_CAST(x AS BIGINT)::VARCHAR END",
    "__digits(x) AS CASE WHEN regexp_full_match(x, '[+-]?0+') THEN '0' WHEN "
    "regexp_full_match(x, '[+-]?[0-9]+') THEN "
    "CASE WHEN x LIKE '-%' THEN '-' ELSE '' END || ltrim(x, '+-0') END",
    "__spelled(x) AS CASE WHEN lower(trim(x)) IN ('true', 'false') THEN lower(trim(x)) ELSE "
    "coalesce(__digits(trim(x)), __whole(__number(trim(x))), __number(trim(x))::VARCHAR, "
    "nullif(trim(x), '')) END",
    "__key(x) AS replace(__spelled(x), ' 00:00:00', '')",
)
"""An entry as a number, and text in its one spelling, row by row; neither can fail."""


@final
class Owned(Tables):
    """Tables with owners, for questions about presence; arguments as for `Tables`.

    Guarantees:
        Which rows a unit has, and what they hold, is a function of that unit's own rows and of
        public tables. What is refused depends on names and declarations alone.
    """

    def __init__(
        self, tables: Any, unit: str, links: Any = None, *, public: Any = (), **options: Any
    ) -> None:
        named = [public] if isinstance(public, str) else public
        self._open = {str(name).lower() for name in named}
        each = tables.items() if isinstance(tables, Mapping) else [("", tables)]
        private = [data for name, data in each if str(name).lower() not in self._open]
        away = options.get("engine") is not None
        self.typed = away or (unit != ROWS and all(map(_declares_types, private)))
        self.home = "raw" if self.typed else "pool"
        super().__init__(tables, unit, links, public=named, **options)

    @property
    def declared_types(self) -> bool:
        """Whether types are those of files or of a database elsewhere."""
        return self.typed

    def _asks(self, name: str, data: Any) -> bool:
        """Whether a table is a query: it may look across people, or fail on one person's row."""
        if self.engine is not None:
            return self.engine.is_view(str(data))
        return is_warehouse(data) and name in views_in(data)

    def _load(self, name: str, data: Any) -> dict[str, str]:
        if self.typed or name.lower() in self._open:
            found = super()._load(name, data)
            if name.lower() not in self._open and self._asks(name, data):
                move = "Name its tables, and join them in the question."
                raise refuse(f"a table for {name!r}, which is not public", "a view", move)
            return found
        entries = Entries(data)
        if entries.ragged:
            got, move = f"a {type(data).__name__}", "Make a frame of it, which names its columns."
            raise refuse(f"a frame, a relation or a path for table {name!r}", got, move)
        columns = [column.lower() for column in entries.columns]
        if UNIT in columns or len(set(columns)) < len(columns):
            raise refuse(f"unique names of columns, none {UNIT}", columns[:12], "Rename them.")
        texts = [_text(entries.texts(column)) for column in entries.columns]
        self.connection.register("__loading", pa.table(texts, names=columns))
        self.connection.execute(f"CREATE TABLE pool.{quoted(name.lower())} AS FROM __loading")
        self.connection.unregister("__loading")
        return dict.fromkeys(columns, "VARCHAR")

    def _draw_from(self, worlds: int, seed: int) -> None:
        """Give every row its owners; nothing is drawn, and no column of a unit's is public."""
        self.public = tuple(name for name in self.public if name in self.columns)
        # It takes what occurs twice out of TRY, where it fails for everybody.
        self.connection.execute("SET disabled_optimizers = 'common_subexpressions'")
        if self.typed:
            for name in self.columns:
                rows = f"SELECT * FROM raw.{quoted(name)}"
                rows = self._with_owners(name) if name in self.private else rows
                self.connection.execute(f"CREATE VIEW pool.{quoted(name)} AS {rows}")
            return
        self.units = self._number_units()
        for name, link in self.private.items():
            self._own_table(name, link)
        self.connection.execute("CREATE SCHEMA part")
        for macro in _MACROS:
            self.connection.execute(f"CREATE MACRO {macro}")

    def _number_units(self) -> range:
        table, column = quoted(self.unit[0]), quoted(self.unit[1])
        self.connection.execute(
            f"CREATE TABLE pool.__units AS SELECT *, row_number() OVER (ORDER BY k) - 1 AS u "
            f"FROM (SELECT DISTINCT {column} AS k FROM pool.{table} WHERE {column} IS NOT NULL)"
        )
        return range(self.number("SELECT count(*) FROM pool.__units"))

    def _own_table(self, name: str, link: tuple[str, str, str] | None) -> None:
        """Let a table have its rows once for each of their owners: the unit, or those of a key."""
        at, column, owners = f"pool.{quoted(name)}", self.unit[1], "SELECT k, u FROM pool.__units"
        if link is not None:
            column, owners = link[0], self._owners(*link[1:])
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {at} AS SELECT t.*, o.u::INTEGER AS {UNIT} "
            f"FROM {at} AS t JOIN ({owners}) AS o ON t.{quoted(column)} = o.k"
        )

    def take(self, low: int, high: int) -> None:
        """Let the schema `part` have the rows of units from `low` to below `high` alone."""
        for name in map(quoted, self.private):
            here = f"SELECT * FROM pool.{name} WHERE {UNIT} >= {low} AND {UNIT} < {high}"
            self.connection.execute(f"CREATE OR REPLACE TABLE part.{name} AS {here}")

    def said(self, schema: Mapping[str, Declared]) -> Said:
        """Return what is said of the tables: all that a question may be read by."""
        columns = {name: (name not in self.private, c) for name, c in self.columns.items()}
        ids = frozenset(at for at, key in self.entities.items() if key == ".".join(self.unit))
        return Said(columns, self.keys, schema, ids, self.typed)

    def _owners(self, parent: str, key: str) -> str:
        """Return SQL for the owners of every key of a table, each pair once."""
        return f"SELECT DISTINCT {quoted(key)} AS k, {UNIT} AS u FROM pool.{quoted(parent)}"


def _declares_types(data: Any) -> bool:
    """Whether a table is a file that says of which types its columns are."""
    return isinstance(data, str | Path) and not str(data).lower().endswith((".csv", ".csv.gz"))


def _text(words: list[str | None]) -> Any:
    """Return a column of text; characters that are none are replaced, each in its own entry."""
    try:
        return pa.array(words, pa.large_string())
    except UnicodeEncodeError:
        known = [None if w is None else w.encode("utf-8", "replace").decode() for w in words]
        return pa.array(known, pa.large_string())
