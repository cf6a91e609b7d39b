"""Tables of a PostgreSQL server, asked in place and read-only."""

from __future__ import annotations

import weakref
from types import MappingProxyType
from typing import Any, final

from rpac._base.checks import refuse
from rpac.errors import InputError
from rpac.sql.elsewhere import Elsewhere


@final
class Postgres(Elsewhere):
    """A PostgreSQL database, by URL.

    Every query is a read-only transaction of its own: nothing is written there, and no lock is
    held between questions, which see the tables as they are when they are asked.
    """

    dialect = "postgres"
    double = "DOUBLE PRECISION"
    types = MappingProxyType({
        "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "real": "FLOAT",
        "double precision": "DOUBLE", "numeric": "DECIMAL", "boolean": "BOOLEAN", "date": "DATE",
        "timestamp without time zone": "TIMESTAMP", "text": "VARCHAR",
    })  # fmt: skip

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            move = "pip install 'rpac[postgres]'."
            raise refuse("the `postgres` extra", "none", move) from None
        try:
            self._db: Any = psycopg.connect(url, autocommit=True)
        except psycopg.Error as error:  # in the words of driver and server; no table was read yet
            said = " ".join(str(error).split())[:160].rstrip(".")
            move = "Check host, port, database and user."
            raise refuse("a server that answers", said, move, InputError) from None
        weakref.finalize(self, self._db.close)
        self._db.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        self._db.execute("SET statement_timeout = 0")  # what takes long would tell of rows

    def describe(self, table: str) -> list[tuple[str, str]]:
        """Return names and types of a table's columns; "schema.table" or "table"."""
        sql = (
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        quoted = _quoted(table)
        may = "SELECT has_table_privilege(to_regclass(%s), 'SELECT')"
        if self._db.execute(may, [quoted]).fetchall() == [(False,)]:
            move = "GRANT SELECT on it to this user."
            raise refuse(f"a right to read table {table!r}", "none", move)
        return [(str(name), str(kind)) for name, kind in self._db.execute(sql, [quoted]).fetchall()]

    def is_view(self, table: str) -> bool:
        """Whether a name is that of a view, materialised or not."""
        kind = "SELECT relkind IN ('v', 'm') FROM pg_class WHERE oid = to_regclass(%s)"
        return bool(self._db.execute(kind, [_quoted(table)]).fetchall() == [(True,)])

    def md5(self, salt: str) -> str:
        """Return SQL for the hash of a text and the id k."""
        return f"md5('{salt}' || CAST(k AS TEXT))"

    def byte(self, text: str) -> str:
        """Return SQL for the number of two hexadecimal digits."""
        return f"CAST(CAST('x' || {text} AS BIT(8)) AS INTEGER)"

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._db.cursor(binary=True) as cursor:  # numbers take 8 bytes
            return list(cursor.execute(sql).fetchall())


def _quoted(table: str) -> str:
    """Return "schema.table" or "table" as the server reads it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
