"""The database that a user asks: tables of units, and questions about them."""

from __future__ import annotations

from typing import final

from rpac.sql.query import Query
from rpac.sql.tables import Tables


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

    def query(self, sql: str) -> Query:
        """Return a question as a mechanism: `rpac.privatize(db.query(sql), db.source, budget)`."""
        return Query(self, sql)

    def __repr__(self) -> str:
        unit = ".".join(self.unit)
        return f"Database({len(self.units)} units of {unit}, {len(self.columns)} tables)"
