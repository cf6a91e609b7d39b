"""The chain: entries in an order nobody can change, under a head that is anchored elsewhere.

Every entry carries the hash of the one before, and of the balances the number of accounts and the
total. The head is held against itself and against the anchor before anything is appended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.ledger.anchor import Anchor
from rpac.ledger.entries import Book, chain_hash, checked_body, damaged, rebook
from rpac.ledger.store import Store

_PAGE = 20_000


class Recorded(NamedTuple):
    """An entry on record; `ours` unless another call had written it under the same key."""

    entry: Json
    ours: bool


@final
class Chain:
    """The entries of one ledger.

    Args:
        store: Where they live.
        anchor: Remembers the head; None where nothing does.
    """

    def __init__(self, store: Store, anchor: Anchor | None) -> None:
        self.store, self._anchor = store, anchor

    def record(
        self, kind: str, change: Callable[[], Json], key: str | None = None, request: str = ""
    ) -> Recorded:
        """Run a change and append its entry, in one transaction; then anchor the new head.

        An entry under the same key that another process has just written stands in its place.
        """
        with self.store.exclusive():
            head = self.head()
            known = None if key is None else self._under(key, request)
            entry = known or self.append(kind, change(), head, key)
        self.remember(entry["seq"], entry["hash"])
        return Recorded(entry, known is None)

    def append(self, kind: str, body: Json, head: tuple[int, str], key: str | None) -> Json:
        """Write an entry after `head`, inside a transaction."""
        lines, total = self.store.lines(), self.store.account("ledger", "").spent
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        text = publish({"kind": kind, "at": now, "lines": lines, "total": total} | body)
        seq = head[0] + 1
        own = chain_hash(seq, head[1], text)
        self.store.rows("INSERT INTO rpac_entries VALUES (?, ?, ?, ?)", seq, key, text, own)
        self.store.seen.head = seq, own
        return body | {"seq": seq, "hash": own}

    def begun(self) -> bool:
        """Whether there is an entry, or an anchor that remembers one.

        Raises:
            LedgerError: If an anchor remembers entries that are gone.
        """
        if self.store.rows("SELECT 1 FROM rpac_entries LIMIT 1"):
            return True
        if self._anchor is not None and self._anchor.read() is not None:
            raise damaged("an anchor without entries")
        return False

    def head(self, *, trust: bool = False) -> tuple[int, str]:
        """Return the last entry's number and hash, held against itself and the anchor."""
        seen = self.store.seen
        if seen.head is None:
            seen.head = self._stored_head()
        seq, own = seen.head
        if self._anchor is not None and not trust:
            kept = self._anchor.read()
            if kept is None and seq > 0:
                raise damaged("no anchor (trust_head=True makes a new one)")
            if (
                kept is not None
                and kept != (seq, own)
                and (seq < kept[0] or self.store.entry(kept[0])[2] != kept[1])
            ):
                raise damaged("a head before its anchor: it was rolled back")
        return seq, own

    def _stored_head(self) -> tuple[int, str]:
        """Return the last entry's number and hash; what it says of the balances must be true."""
        rows = self.store.rows("SELECT seq, body, hash FROM rpac_entries ORDER BY seq DESC LIMIT 2")
        seq, text, own = rows[0]
        body = checked_body(seq, text, own, rows[1][2] if seq else "")
        if body["lines"] != self.store.lines():
            raise damaged("accounts that were added or removed")
        if body["total"] != self.store.account("ledger", "").spent:
            raise damaged("a balance that differs from the last entry's")
        return seq, own

    def remember(self, seq: int, head: str) -> None:
        """Anchor a head."""
        if self._anchor is not None:
            with self.store.reading():
                self._anchor.write(seq, head)

    def find(self, key: str, request: str | None) -> Json | None:
        """Return the entry under a key, or None; it is anchored before anybody sees it."""
        with self.store.reading():
            entry = self._under(key, request)
        if entry is not None:
            self.remember(entry["seq"], entry["hash"])
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
                f"another one, {request[:12]!r}",
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
