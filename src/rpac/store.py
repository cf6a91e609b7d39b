"""Where a ledger's rows live: a transaction at a time, durable once it is committed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from rpac._checks import refuse
from rpac.books import Account, damaged
from rpac.errors import LedgerError
from rpac.turns import Turns

TABLES = """
CREATE TABLE IF NOT EXISTS rpac_entries (
    seq {int} PRIMARY KEY, key TEXT UNIQUE, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rpac_accounts (
    kind TEXT NOT NULL, name TEXT NOT NULL, cap {int}, spent {int} NOT NULL, note TEXT NOT NULL,
    seal TEXT NOT NULL, PRIMARY KEY (kind, name),
    CHECK (spent >= 0 AND (cap IS NULL OR spent <= cap)));
CREATE TABLE IF NOT EXISTS rpac_sessions (id TEXT PRIMARY KEY, state {bytes} NOT NULL)
"""


class Store(ABC):
    """A database with the tables of one ledger.

    Guarantees:
        Blocks under `exclusive` run one after the other, over all processes. When such a block
        ends, what it wrote is on the disk; when it raises or the process dies, nothing is.
    """

    failures: tuple[type[Exception], ...] = (OSError,)

    def __init__(self) -> None:
        self._lock, self._pid = threading.RLock(), -1
        self._kept: list[Any] = []
        self._alone = False
        self.forget()

    @abstractmethod
    def connect(self) -> None:
        """Open a connection of this process, with durable commits."""

    @abstractmethod
    def create(self) -> None:
        """Create what tables are missing; entries can be neither changed nor deleted."""

    @abstractmethod
    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Run one statement, `?` for its values, and return its rows."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that excludes all others."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection."""

    def sound(self) -> bool:
        """Whether the database finds itself intact, where it can tell."""
        return True

    def mark(self) -> Any:
        """Return what stays the same until somebody else writes; unique where it cannot tell."""
        return object()

    def forget(self) -> None:
        """Read everything anew: head, accounts and how many there are."""
        self.head: tuple[int, str] | None = None
        self._lines: int | None = None
        self._known: dict[tuple[str, str], Account] = {}
        self._mark: Any = None

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Wait for a turn, where the database does not see to fairness itself."""
        return contextlib.nullcontext()

    def __del__(self) -> None:
        self.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Hold this process's connection; failures of the database come out as LedgerError."""
        with self._lock:
            try:
                if self._pid != os.getpid():  # a connection does not survive a fork
                    self._kept.append(getattr(self, "_db", None))  # nor may the child close it
                    self.forget()
                    self.connect()
                yield
            except self.failures as error:
                raise refuse(
                    "a ledger that can be read and written",
                    f"a {type(error).__name__}",
                    "Nothing was released. Look at its disk, rights and server, then verify it.",
                    LedgerError,
                ) from None

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run a block as one transaction, alone.

        What the last one read or wrote is taken from memory if nobody has written since.
        """
        with self.reading(), self.turn():
            self.begin()
            try:
                mark = self.mark()
                if mark != self._mark:
                    self.forget()
                self._mark, self._alone = mark, True
                yield
                self.rows("COMMIT")
            except BaseException:
                self.forget()
                with contextlib.suppress(*self.failures):
                    self.rows("ROLLBACK")
                raise
            finally:
                self._alone = False

    def accounts(self, names: list[tuple[str, str]]) -> list[Account]:
        """Return accounts by kind and name; empty ones where nothing was booked."""
        found = self._known if self._alone else {}
        missing = [name for name in names if name not in found]
        if missing:
            rows = self.rows(
                "SELECT kind, name, cap, spent, note, seal FROM rpac_accounts WHERE (kind, name) "
                f"IN (VALUES {', '.join('(?, ?)' for _ in missing)})",
                *(part for name in missing for part in name),
            )
            found |= {(row[0], row[1]): Account(*row[:5]) for row in rows}
            if any(found[row[0], row[1]].seal != row[5] for row in rows):
                raise damaged("a balance that was changed")
        return [found.get(name, Account(*name, None, 0, "")) for name in names]

    def account(self, kind: str, name: str) -> Account:
        """Return one account."""
        return self.accounts([(kind, name)])[0]

    def put(self, *accounts: Account) -> None:
        """Write accounts."""
        self.rows(
            "INSERT INTO rpac_accounts (kind, name, cap, spent, note, seal) VALUES "
            f"{', '.join('(?, ?, ?, ?, ?, ?)' for _ in accounts)} "
            "ON CONFLICT (kind, name) DO UPDATE SET cap = excluded.cap, spent = excluded.spent, "
            "note = excluded.note, seal = excluded.seal",
            *(v for a in accounts for v in (*a, a.seal)),
        )
        changed = {(a.kind, a.name): a for a in accounts}
        if not changed.keys() <= self._known.keys():
            self._lines = None
        self._known |= changed

    def keep_state(self, session: str, state: bytes) -> None:
        """Write the state of a session; empty once it is closed."""
        self.rows(
            "INSERT INTO rpac_sessions (id, state) VALUES (?, ?) ON CONFLICT (id) DO UPDATE "
            "SET state = excluded.state", session, state
        )  # fmt: skip

    def entry(self, seq: int) -> tuple[int, str, str]:
        """Return (number, body, hash) of an entry."""
        rows = self.rows("SELECT seq, body, hash FROM rpac_entries WHERE seq = ?", seq)
        if not rows:
            raise damaged(f"no entry {seq}")
        number, body, own = rows[0]
        return number, body, own

    def lines(self) -> int:
        """Return how many accounts there are."""
        if self._lines is None or not self._alone:
            self._lines = int(self.rows("SELECT count(*) FROM rpac_accounts")[0][0])
        return self._lines


@final
class SqliteStore(Store):
    """A SQLite file: write-ahead log, synchronised at every commit, a fair lock in front."""

    failures = (OSError, sqlite3.Error)

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._path, self._turns = str(path), Turns(f"{path}.lock")

    def connect(self) -> None:
        """Open the file."""
        self._db = sqlite3.connect(
            self._path, isolation_level=None, timeout=60, check_same_thread=False
        )
        self._pid = os.getpid()
        if self.rows("PRAGMA journal_mode=WAL")[0][0] != "wal":
            self.close()
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
        return self._db.execute(sql, values).fetchall()

    def begin(self) -> None:
        """Begin with the write lock."""
        self.rows("BEGIN IMMEDIATE")

    def mark(self) -> Any:
        """Return the version that changes when another connection writes."""
        return self.rows("PRAGMA data_version")[0][0]

    def sound(self) -> bool:
        """Check pages and indices."""
        return bool(self.rows("PRAGMA integrity_check")[0][0] == "ok")

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Wait for a turn at the lock file."""
        return self._turns.turn()

    def close(self) -> None:
        """Close the file."""
        if self._pid == os.getpid():
            self._db.close()
            self._turns.close()
        self._pid = -1


def open_store(where: str, *, remote: bool) -> Store:
    """Return the store at a path, or behind a URL."""
    if not remote:
        return SqliteStore(where)
    from rpac.postgres import PostgresStore

    return PostgresStore(where)
