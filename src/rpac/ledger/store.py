"""Where a ledger's rows live: a transaction at a time, durable once it is committed."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rpac._base.checks import refuse
from rpac.errors import LedgerError
from rpac.ledger.anchor import Position
from rpac.ledger.entries import Account, damaged

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
_WITH_STATE = ("session", "key")


@dataclass
class Snapshot:
    """What one transaction knows of the tables without asking again.

    Invariant: all that is in it is what the database holds, as this transaction sees it. Four
    rules keep it:

    1. It begins empty. Only `exclusive`, which holds the write lock, may begin with the snapshot
       of this connection's last commit, and only if the database says that nobody else has
       written since (`version`).
    2. What is read goes in as it was read; what is written goes in as it was written.
    3. It is kept for later only once the transaction is committed; a failure drops it.
    4. Whoever reads without the lock begins with an empty one, since others may write meanwhile.

    Attributes:
        accounts: Balances that were read or written, by kind and name.
        lines: Number of accounts; None where a new one may have been added since it was counted.
        head: (number, hash) of the last entry; None where it was not read.
    """

    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)
    lines: int | None = None
    head: Position | None = None


class Store(ABC):
    """A database with the tables of one ledger.

    Guarantees:
        Blocks under `exclusive` run one after the other, over all processes. When such a block
        ends, what it wrote is on the disk; when it raises or the process dies, nothing is.
    """

    failures: tuple[type[Exception], ...] = (OSError,)
    version: Callable[[], Any] = object
    """Return what stays the same until somebody else writes; unique where it cannot tell."""
    _db: Any

    def __init__(self) -> None:
        self._lock, self._pid, self._inside = threading.RLock(), -1, 0
        self._inherited: list[Any] = []
        # Wait for a turn, where the database does not see to fairness itself.
        self.turn: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        self.seen = Snapshot()
        self._committed: tuple[Any, Snapshot] = None, Snapshot()
        os.register_at_fork(before=partial(_part, weakref.ref(self)))

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
            self.seen, self._inside = Snapshot(), self._inside + 1
            try:
                if self._pid != os.getpid():  # a connection does not survive a fork
                    self._inherited.append(getattr(self, "_db", None))  # nor may the child close it
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
        """Run a block as one transaction, alone."""
        with self.reading(), self.turn:
            self.begin()
            try:
                self.seen, version = self._unchanged()
                yield
                self.rows("COMMIT")
                self._committed, self.seen = (version, self.seen), Snapshot()
            except BaseException:
                with contextlib.suppress(*self.failures):
                    self.rows("ROLLBACK")
                raise

    def _unchanged(self) -> tuple[Snapshot, Any]:
        """Return the last commit's snapshot if it is still true, and the database's version.

        The snapshot is taken, not lent: should this transaction fail, none is left.
        """
        (before, kept), self._committed = self._committed, (None, Snapshot())
        version = self.version()
        return (kept if version == before else Snapshot()), version

    def forget(self) -> None:
        """Look at what is stored, whatever is known of it."""
        self.seen = Snapshot()

    def accounts(self, names: list[tuple[str, str]]) -> list[Account]:
        """Return accounts by kind and name; empty ones where nothing was booked."""
        seen = self.seen.accounts
        missing = [name for name in names if name not in seen]
        rows: list[Any] = missing and self.rows(
            "SELECT kind, name, cap, spent, note, seal FROM rpac_accounts WHERE (kind, name) IN "
            f"(VALUES {', '.join('(?, ?)' for _ in missing)})",
            *(part for name in missing for part in name),
        )
        for *balance, seal in rows:
            account = Account(*balance)
            if account.seal != seal:
                raise damaged("a balance that was changed")
            seen[account.key] = account
        return [seen.get(name) or Account(*name, None, 0, "") for name in names]

    def account(self, kind: str, name: str) -> Account:
        """Return one account."""
        return self.accounts([(kind, name)])[0]

    def names(self) -> list[tuple[str, str]]:
        """Return kind and name of every account, in order."""
        found = self.rows("SELECT kind, name FROM rpac_accounts ORDER BY kind, name")
        return [(kind, name) for kind, name in found]

    def put(self, *accounts: Account, state: bytes = b"") -> None:
        """Write accounts; a session's with its state (empty once closed), the key's with it."""
        self.rows(
            f"INSERT INTO rpac_accounts VALUES {', '.join([_ROW] * len(accounts))} "
            "ON CONFLICT (kind, name) DO UPDATE SET cap = excluded.cap, spent = excluded.spent, "
            "note = excluded.note, seal = excluded.seal, state = excluded.state",
            *[v for a in accounts for v in (*a, a.seal, state if a.kind in _WITH_STATE else b"")],
        )
        if any(a.key not in self.seen.accounts for a in accounts):
            self.seen.lines = None  # perhaps a new one: count again
        self.seen.accounts |= {a.key: a for a in accounts}

    def state(self, kind: str, name: str) -> bytes:
        """Return the state that was stored with an account; empty if there is none."""
        sql = "SELECT state FROM rpac_accounts WHERE (kind, name) = (?, ?)"
        rows = self.rows(sql, kind, name)
        return bytes(rows[0][0]) if rows else b""

    def lines(self) -> int:
        """Return how many accounts there are."""
        if self.seen.lines is None:
            self.seen.lines = int(self.rows("SELECT count(*) FROM rpac_accounts")[0][0])
        return self.seen.lines

    def entry(self, seq: int) -> tuple[int, str, str]:
        """Return (number, body, hash) of an entry."""
        rows = self.rows("SELECT seq, body, hash FROM rpac_entries WHERE seq = ?", seq)
        if not rows:
            raise damaged(f"no entry {seq}")
        number, body, own = rows[0]
        return number, body, own


def _part(store: weakref.ref[Store]) -> None:
    if (alive := store()) is not None:
        alive.part()
