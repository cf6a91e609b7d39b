"""The chain: entries in an order nobody can change, under a head that is anchored elsewhere.

Every entry carries the hash of the one before, and of the balances the number of accounts and the
total. The head is held against itself and against the anchor before anything is appended. Hashes
of data go into entries under a key that the ledger keeps, so that nobody else can try candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import NamedTuple, final

from rpac._base.checks import refuse
from rpac._base.hashing import keyed
from rpac._base.sealed import SealedValue, publish
from rpac._base.types import Json
from rpac.ledger.anchor import NOWHERE, Anchor, Position
from rpac.ledger.entries import Book, chain_hash, checked_body, damaged, rebook
from rpac.ledger.store import Store

_PAGE = 20_000
_TRUST = "`rpac ledger LEDGER --trust-head`, or trust_head=True, makes a new one, on the record"


class Recorded(NamedTuple):
    """An entry on record; `ours` unless another call had written it under the same key."""

    entry: Json
    ours: bool


@final
class Chain:
    """The entries of one ledger.

    Args:
        store: Where they live.
        alone: Whether all who write to it write the same anchor.

    Attributes:
        anchor: Remembers the head; None where nothing does.
    """

    def __init__(self, store: Store, *, alone: bool = True) -> None:
        self.store, self._alone = store, alone
        self.anchor: Anchor | None = None
        self._key = SealedValue(b"")

    def unlock(self) -> None:
        """Take the ledger's key from the store, if it is the one of the opening entry."""
        _, opening, own = self.store.entry(0)
        key = self.store.state("key", "")
        if sha256(key).hexdigest() != checked_body(0, opening, own, "")["keyed_by"]:
            raise damaged("a key that was changed")
        self._key = SealedValue(key)

    def fingerprint(self, mark: str) -> str:
        """Return what the books write of a hash of data: its HMAC; nothing of nothing."""
        return mark and keyed(self._key.open(), mark)

    def record(
        self, kind: str, change: Callable[[], Json], key: str | None = None, request: str = ""
    ) -> Recorded:
        """Run a change and append its entry, in one transaction; the anchor knows before and after.

        An entry under the same key that another process has just written stands in its place.
        """
        with self.store.exclusive():
            head = self.head()
            known = None if key is None else self._under(key, request)
            entry = known or self.append(kind, change(), head, key)
            if known is None:
                self.intend(head, Position(entry["seq"], entry["hash"]))
        self.confirm(Position(entry["seq"], entry["hash"]))
        return Recorded(entry, known is None)

    def append(self, kind: str, body: Json, head: Position, key: str | None = None) -> Json:
        """Write an entry after `head`, inside a transaction."""
        lines, total = self.store.lines(), self.store.account("ledger", "").spent
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        text = publish({"kind": kind, "at": now, "lines": lines, "total": total} | body)
        seq = head[0] + 1
        own = chain_hash(seq, head[1], text)
        self.store.rows("INSERT INTO rpac_entries VALUES (?, ?, ?, ?)", seq, key, text, own)
        self.store.seen.head = Position(seq, own)
        return body | {"at": now, "seq": seq, "hash": own}

    def begun(self) -> bool:
        """Whether there is an entry."""
        return bool(self.store.rows("SELECT 1 FROM rpac_entries LIMIT 1"))

    def head(self, *, trust: bool = False) -> Position:
        """Return the last entry's number and hash, held against itself and the anchor."""
        seen = self.store.seen
        if seen.head is None:
            seen.head = self._stored_head()
        if self.anchor is not None and not trust:
            self._hold(self.anchor, seen.head)
        elif self.anchor is not None and self.anchor.place(seen.head) == "behind":
            raise damaged("a head before its anchor: it was rolled back, which trust does not undo")
        return seen.head

    def _hold(self, anchor: Anchor, head: Position) -> None:
        """Refuse a head that the anchor does not accept."""
        place = anchor.place(head)
        if place == "none":
            raise damaged(f"no anchor ({_TRUST})")
        if place == "ahead" and self._alone:
            raise damaged(f"a head beyond its anchor: the anchor was put back ({_TRUST})")
        if place in ("ahead", "cut"):
            said = anchor.read()
            assert said is not None
            known = said.intended if said.confirmed == NOWHERE else said.confirmed
            if self.store.entry(known.seq)[2] != known.mark:
                raise damaged("other entries than its anchor knows")
            if self._alone:
                anchor.reset(head)
        elif place == "behind":
            raise damaged("a head before its anchor: it was rolled back")

    def _stored_head(self) -> Position:
        """Return the last entry's number and hash; what it says of the balances must be true."""
        rows = self.store.rows("SELECT seq, body, hash FROM rpac_entries ORDER BY seq DESC LIMIT 2")
        seq, text, own = rows[0]
        body = checked_body(seq, text, own, rows[1][2] if seq else "")
        if body["lines"] != self.store.lines():
            raise damaged("accounts that were added or removed")
        if body["total"] != self.store.account("ledger", "").spent:
            raise damaged("a balance that differs from the last entry's")
        return Position(seq, own)

    def intend(self, head: Position, then: Position) -> None:
        """Tell the anchor, inside the transaction, where its commit will lead."""
        if self.anchor is not None:
            self.anchor.intend(head, then)

    def confirm(self, head: Position, *, trust: bool = False) -> None:
        """Tell the anchor that a commit was made; nothing of it is revealed before."""
        if self.anchor is not None:
            with self.store.reading():
                (self.anchor.reset if trust else self.anchor.confirm)(head)

    def find(self, key: str, request: str | None) -> Json | None:
        """Return the entry under a key, or None; it is anchored before anybody sees it."""
        with self.store.reading():
            entry = self._under(key, request)
        if entry is not None:
            self.confirm(Position(entry["seq"], entry["hash"]))
        return entry

    def _under(self, key: str, request: str | None) -> Json | None:
        rows = self.store.rows(
            "SELECT e.seq, e.body, e.hash, p.hash FROM rpac_entries e JOIN rpac_entries p "
            "ON p.seq = e.seq - 1 WHERE e.key = ?", key
        )  # fmt: skip
        if not rows:
            return None
        seq, text, own, before = rows[0]
        body = checked_body(seq, text, own, before)
        if request is not None and body["request"] != request:
            raise refuse(
                f"the request that key {key!r} was first used for",
                "another one",
                "Take a new key, or ask the same of the same data.",
            )
        return body | {"seq": seq, "hash": own}

    def entries(self, since: int = 0) -> Iterator[Json]:
        """Yield the entries from number `since` on, oldest first, each with its hash checked."""
        before = ""
        if since > 0:
            with self.store.reading():
                before = self.store.entry(since - 1)[2]
        while True:
            with self.store.reading():
                page = self.store.rows(
                    "SELECT seq, body, hash, key FROM rpac_entries WHERE seq >= ? ORDER BY seq "
                    "LIMIT ?", since, _PAGE
                )  # fmt: skip
            for seq, text, own, key in page:
                if seq != since:
                    raise damaged(f"a gap before entry {seq}")
                body = checked_body(seq, text, own, before)
                if body.get("key") != key:
                    raise damaged(f"entry {seq} under another key")
                yield body | {"seq": seq, "hash": own}
                since, before = seq + 1, own
            if len(page) < _PAGE:
                return

    def verify(self, since: int = 0) -> int:
        """Check hashes, balances, caps and head; return the number of the last entry.

        Balances are recomputed from the entries where that is all of them.
        """
        with self.store.exclusive():
            self.store.forget()
            self.unlock()
            seq, head = self.head()
            last = ""
            book: Book = {}
            for entry in self.entries(since):
                last = entry["hash"]
                rebook(book, entry)
            if last != head or not self.store.sound():
                raise damaged("a head that is not the last entry, or a broken file")
            found = {name: self.store.account(*name) for name in self.store.names()}
            if since == 0 and found != book:
                raise damaged("accounts that differ from the sum of the entries")
        return seq
