"""A ledger's rows in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, final

from rpac.ledger.fair_lock import FairLock
from rpac.ledger.store import TABLES, Store


@final
class SqliteStore(Store):
    """A SQLite file: write-ahead log, synchronised at every commit, a fair lock in front."""

    failures = (OSError, sqlite3.Error)

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._path = str(path)
        self.turn = self._turns = FairLock(f"{path}.lock")

    def connect(self) -> None:
        """Open the file, its owner's alone: it holds the key, and every answer."""
        if self._path != ":memory:":  # journals are made with the rights of the file
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._db = sqlite3.connect(
            self._path, isolation_level=None, timeout=60, check_same_thread=False
        )
        if self.rows("PRAGMA journal_mode=WAL")[0][0] != "wal":
            self._db.close()
            raise OSError("no write-ahead log")
        self.rows("PRAGMA synchronous=FULL")

    def create(self) -> None:
        """Create the tables and the triggers that keep entries as they are."""
        for statement in TABLES.format(int="INTEGER", bytes="BLOB").split(";"):
            self.rows(statement)
        for change in ("UPDATE", "DELETE"):
            self.rows(
                f"CREATE TRIGGER IF NOT EXISTS rpac_no_{change} BEFORE {change} ON rpac_entries "
                f"BEGIN SELECT RAISE(ABORT, 'entries are kept'); END"
            )

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Run one statement."""
        return list(self._db.execute(sql, values))

    def begin(self) -> None:
        """Begin with the write lock."""
        self.rows("BEGIN IMMEDIATE")

    def sound(self) -> bool:
        """Check pages and indices."""
        return bool(self.rows("PRAGMA integrity_check")[0][0] == "ok")

    def version(self) -> Any:
        """Return SQLite's own number, which other connections change; it is this one's alone."""
        return self._db, self.rows("PRAGMA data_version")[0][0]

    def close(self) -> None:
        """Close the files."""
        super().close()
        self._turns.close()
