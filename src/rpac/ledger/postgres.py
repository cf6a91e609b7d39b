"""A ledger's rows in PostgreSQL."""

from __future__ import annotations

from typing import Any, final

from rpac._base.checks import refuse
from rpac.errors import LedgerError
from rpac.ledger.store import TABLES, Store

_LOCK = 0x72706163
_KEEP = """
CREATE OR REPLACE FUNCTION rpac_keep() RETURNS trigger AS
$$ BEGIN RAISE EXCEPTION 'entries are kept'; END $$ LANGUAGE plpgsql
"""


@final
class PostgresStore(Store):
    """A PostgreSQL database, by URL. One ledger to a schema.

    Transactions run at READ COMMITTED, whatever the server's default, under one advisory lock.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise refuse(
                "the `postgres` extra", "none", "pip install 'rpac[postgres]'.", LedgerError
            ) from None
        self._url, self._psycopg = url, psycopg
        self.failures = (OSError, psycopg.Error)

    def connect(self) -> None:
        """Connect; commits wait for the disk."""
        self._db = self._psycopg.connect(self._url, autocommit=True)
        self.rows("SET synchronous_commit = on")
        if self.rows("SHOW fsync")[0][0] != "on":
            self._db.close()
            raise OSError("a server that does not synchronise its disk")

    def create(self) -> None:
        """Create the tables and the trigger that keeps entries as they are."""
        if self.rows("SELECT to_regclass('rpac_entries') IS NOT NULL")[0][0]:
            return
        for statement in TABLES.format(int="BIGINT", bytes="BYTEA").split(";"):
            self.rows(statement)
        self.rows(_KEEP)
        self.rows(
            "CREATE TRIGGER rpac_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON rpac_entries "
            "FOR EACH STATEMENT EXECUTE FUNCTION rpac_keep()"
        )

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Run one statement."""
        cursor = self._db.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    def begin(self) -> None:
        """Begin, and wait for the one lock of all writers."""
        self.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        self.rows("SELECT pg_advisory_xact_lock(?)", _LOCK)
