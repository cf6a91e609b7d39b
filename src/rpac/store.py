"""Where a ledger's rows live: a transaction at a time, durable once it is committed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, final

from rpac._checks import refuse
from rpac.books import Account, damaged
from rpac.errors import LedgerError
from rpac.turns import Turns

TABLES = """
CREATE TABLE IF NOT EXISTS rpac_entries (
    seq {int} PRIMARY KEY, key TEXT, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS rpac_keys ON rpac_entries (key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS rpac_accounts (
    kind TEXT NOT NULL, name TEXT NOT NULL, cap {int}, spent {int} NOT NULL, note TEXT NOT NULL,
    seal TEXT NOT NULL, state {bytes} NOT NULL, PRIMARY KEY (kind, name),
    CHECK (spent BETWEEN 0 AND coalesce(cap, spent)))
"""
_ROW = "(?, ?, ?, ?, ?, ?, ?)"


class Store(ABC):
    """A database with the tables of one ledger.

    Guarantees:
        Blocks under `exclusive` run one after the other, over all processes. When such a block
        ends, what it wrote is on the disk; when it raises or the process dies, nothing is.
    """

    failures: tuple[type[Exception], ...] = (OSError,)
    turn: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    """Wait for a turn, where the database does not see to fairness itself."""
    version: Callable[[], Any] = object
    """Return what stays the same until somebody else writes; unique where it cannot tell."""
    _db: Any

    def __init__(self) -> None:
        self._lock, self._pid, self._inside = threading.RLock(), -1, 0
        self._kept: list[Any] = []
        self.known: dict[Any, Any] = {}
        self._memory: tuple[Any, dict[Any, Any]] = None, {}
        _STORES.add(self)

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

    def sound(self) -> bool:
        """Whether the database finds itself intact, where it can tell."""
        return True

    def close(self) -> None:
        """Let go of the connection."""
        if self._pid == os.getpid():
            self._db.close()
        self._pid = -1

    def __del__(self) -> None:
        self.close()

    def part(self) -> None:
        """Close the connection before a fork; either process opens one of its own when it needs it.

        SQLite counts the locks of a file by process, and a child inherits the count, not the locks:
        its parent would take itself for the last user, and remove the log the child writes to.
        """
        with self._lock:
            if not self._inside:
                self.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Hold this process's connection; failures of the database come out as LedgerError."""
        with self._lock:
            self.known, self._inside = {}, self._inside + 1
            try:
                if self._pid != os.getpid():  # a connection does not survive a fork
                    self._kept.append(getattr(self, "_db", None))  # nor may the child close it
                    self.connect()
                    self._pid = os.getpid()
                yield
            except self.failures as error:
                raise refuse(
                    "a ledger that can be read and written",
                    f"a {type(error).__name__}",
                    "Nothing was released. Look at its disk, rights and server, then verify it.",
                    LedgerError,
                ) from None
            finally:
                self._inside -= 1

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run a block as one transaction, alone.

        What the last one read or wrote is `known` in this one, if nobody else has written since.
        """
        with self.reading(), self.turn:
            self.begin()
            try:
                (before, memory), self._memory = self._memory, (None, {})
                version = self.version()
                self.known = memory if version == before else {}
                yield
                self.rows("COMMIT")
                self._memory, self.known = (version, self.known), {}
            except BaseException:
                with contextlib.suppress(*self.failures):
                    self.rows("ROLLBACK")
                raise

    def accounts(self, names: list[tuple[str, str]]) -> list[Account]:
        """Return accounts by kind and name; empty ones where nothing was booked."""
        missing = [name for name in names if name not in self.known]
        rows: list[Any] = missing and self.rows(
            "SELECT kind, name, cap, spent, note, seal FROM rpac_accounts WHERE (kind, name) IN "
            f"(VALUES {', '.join('(?, ?)' for _ in missing)})",
            *(part for name in missing for part in name),
        )
        self.known |= {(row[0], row[1]): Account(*row[:5]) for row in rows}
        if any(self.known[row[0], row[1]].seal != row[5] for row in rows):
            raise damaged("a balance that was changed")
        return [self.known.get(name) or Account(*name, None, 0, "") for name in names]

    def account(self, kind: str, name: str) -> Account:
        """Return one account."""
        return self.accounts([(kind, name)])[0]

    def put(self, *accounts: Account, state: bytes = b"") -> None:
        """Write accounts; that of a session with its state, which is empty once it is closed."""
        self.rows(
            f"INSERT INTO rpac_accounts VALUES {', '.join([_ROW] * len(accounts))} "
            "ON CONFLICT (kind, name) DO UPDATE SET cap = excluded.cap, spent = excluded.spent, "
            "note = excluded.note, seal = excluded.seal, state = excluded.state",
            *[v for a in accounts for v in (*a, a.seal, state if a.kind == "session" else b"")],
        )
        if not self.known.keys() >= {a[:2] for a in accounts}:
            self.known.pop("lines", None)
        self.known |= {a[:2]: a for a in accounts}

    def entry(self, seq: int) -> tuple[int, str, str]:
        """Return (number, body, hash) of an entry."""
        rows = self.rows("SELECT seq, body, hash FROM rpac_entries WHERE seq = ?", seq)
        if not rows:
            raise damaged(f"no entry {seq}")
        number, body, own = rows[0]
        return number, body, own

    def lines(self) -> int:
        """Return how many accounts there are."""
        if "lines" not in self.known:
            self.known["lines"] = self.rows("SELECT count(*) FROM rpac_accounts")[0][0]
        return int(self.known["lines"])


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _before_fork() -> None:
    for store in list(_STORES):
        store.part()


os.register_at_fork(before=_before_fork)


@final
class SqliteStore(Store):
    """A SQLite file: write-ahead log, synchronised at every commit, a fair lock in front."""

    failures = (OSError, sqlite3.Error)

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._path = str(path)
        self.turn = self._turns = Turns(f"{path}.lock")

    def connect(self) -> None:
        """Open the file."""
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


def open_store(where: str, *, remote: bool) -> Store:
    """Return the store at a path, or behind a URL."""
    if not remote:
        return SqliteStore(where)
    from rpac.postgres import PostgresStore

    return PostgresStore(where)
