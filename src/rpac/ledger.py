"""The ledger: what has been spent of a budget, in integers, in an order nobody can change.

Amounts are nano-nats: charges are rounded up, caps down. Every entry carries the hash of the one
before. An answer is revealed only after the entry that charges for it is on the disk.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Any, final

from rpac import _show, books
from rpac._checks import plain_text, refuse
from rpac._types import Json
from rpac.anchor import Anchor
from rpac.books import NANO, Account, Book, Line, Receipt
from rpac.errors import LedgerError
from rpac.sealed import publish
from rpac.store import open_store

SCHEMA = "rpac-ledger/2"
_PAGE = 20_000
_SOON = 50_000
"""Entries up to which opening a ledger verifies all of it; beyond, the last page."""


@final
class Ledger:
    """The books of a budget.

    Args:
        where: Path of an SQLite file, or a postgresql:// URL.
        budget: Cap on all that is charged, in nats or bits; needed for a new ledger only.
        dataset: Name under which charges are booked; it keeps its name when the data change.
        analyst: Who asks.
        anchor: File that remembers the head against rollback; by default beside an SQLite file,
            and none for PostgreSQL. Best on another disk.
        trust_head: Anchor what is there, where the anchor was lost.

    Guarantees:
        What is acknowledged is recorded; what is recorded never exceeds a cap; one key is charged
        once and has one answer. A ledger that was damaged or rolled back is refused.

    Raises:
        LedgerError: If it cannot be written, or what is there does not fit together.
    """

    def __init__(
        self,
        where: str | Path,
        budget: Any = None,
        *,
        dataset: str = "",
        analyst: str = "",
        anchor: str | Path | None = None,
        trust_head: bool = False,
    ) -> None:
        remote = str(where).startswith(("postgresql://", "postgres://"))
        self.dataset, self.analyst = plain_text(dataset, "dataset"), plain_text(analyst, "analyst")
        self._store = open_store(str(where), remote=remote)
        place = anchor if anchor or remote else f"{where}.head"
        self._anchor = Anchor(place) if place else None
        cap = None if budget is None else math.floor(books.exact_nano(budget))
        with self._store.exclusive():
            self._store.create()
            if not self._store.rows("SELECT 1 FROM rpac_entries LIMIT 1"):
                self._found(cap)
            _, opening, own = self._store.entry(0)
            if SCHEMA not in opening:  # first: another schema may have other hashes
                got, move = "another one", "Open it with the version of rpac that wrote it."
                raise refuse(f"a ledger of schema {SCHEMA}", got, move, LedgerError)
            self.id: str = books.checked_body(0, opening, own, "")["ledger"]
            head = self._head(trust=trust_head)
            stored = self._store.account("ledger", "").cap
            if cap is not None and cap != stored:
                raise refuse(
                    f"the budget of this ledger, {books.nats_text(stored or 0)} nats",
                    f"{books.nats_text(cap)} nats",
                    "Leave it out; `cap` changes it, on the record.",
                )
        self._remember(*head)
        self.verify(0 if head[0] <= _SOON else head[0] - _PAGE)

    def _found(self, cap: int | None) -> None:
        if self._anchor is not None and self._anchor.read() is not None:
            raise books.damaged("an anchor without entries")
        if cap is None:
            raise refuse("a budget for a new ledger", "none", 'Ledger("ledger.db", budget=1.0).')
        self._store.put(Account("ledger", "", cap, 0, ""))
        opening = {"schema": SCHEMA, "ledger": secrets.token_hex(16), "cap": cap}
        self._append("open", opening, (-1, ""), None)

    def under(self, *, dataset: str | None = None, analyst: str | None = None) -> Ledger:
        """Return the same ledger, for another dataset or analyst."""
        other = copy(self)
        other.dataset = self.dataset if dataset is None else plain_text(dataset, "dataset")
        other.analyst = self.analyst if analyst is None else plain_text(analyst, "analyst")
        return other

    def spend(
        self,
        charge: Any,
        *,
        key: str | None = None,
        request: str = "",
        line: Line = Line(),  # noqa: B008  (frozen)
        draw: Callable[[], tuple[Any, bytes]] | None = None,
    ) -> Receipt:
        """Check, write, then reveal: charge nats, and store what `draw` returns, or refuse.

        Args:
            charge: `Nats`, `Bits` or a number of nats; rounded up to a nano-nat.
            key: Idempotency key. A second call with it charges nothing, draws nothing, and
                returns the receipt of the first.
            request: Digest of what is asked for; a key serves one request.
            line: What the charge is about. In a session its own cap applies too, and the charge
                must have been computed from its latest state.
            draw: Called once, after the check and before the write. Returns the answer to store
                (public, JSON) and the state of the session.

        Raises:
            BudgetSpent: If the charge does not fit; the message says what is left.
        """
        nano = math.ceil(books.exact_nano(charge))

        def change() -> Json:
            accounts = self._accounts(nano, line)
            answer, state = draw() if draw else (None, b"")
            body: Json = {
                "nano": nano, "key": key, "request": request, "dataset": self.dataset,
                "version": line.version, "secret": line.secret, "analyst": self.analyst,
                "session": line.session, "answer": answer,
            }  # fmt: skip
            if line.session:
                mark = body["state"] = sha256(state).hexdigest()
                accounts = [a._replace(note=mark) if a.kind == "session" else a for a in accounts]
            self._store.put(*accounts, state=state)
            return body

        return self.find(key, request) or self._receipt(self.record("spend", change, key, request))

    def check(self, charge: Any, line: Line = Line()) -> None:  # noqa: B008
        """Raise what `spend` would raise for this charge now; nothing is written."""
        with self._store.reading():
            self._accounts(math.ceil(books.exact_nano(charge)), line)

    def find(self, key: str | None, request: str | None = None) -> Receipt | None:
        """Return the receipt under a key, or None.

        Raises:
            InputError: If the key was used for another request, or is no text.
        """
        if key is None:
            return None
        with self._store.reading():
            entry = self._entry_of(plain_text(key, "key"), request)
        if entry is None:
            return None
        self._remember(entry["seq"], entry["hash"])
        return self._receipt(entry)

    def _entry_of(self, key: str, request: str | None) -> Json | None:
        rows = self._store.rows(
            "SELECT e.seq, e.body, e.hash, p.hash FROM rpac_entries e JOIN rpac_entries p "
            "ON p.seq = e.seq - 1 WHERE e.key = ?", key
        )  # fmt: skip
        if not rows:
            return None
        seq, text, own, before = rows[0]
        body = books.checked_body(seq, text, own, before)
        if request is not None and body["request"] != request:
            raise refuse(
                f"the request that key {key!r} was first used for",
                "another request",
                "Take a new key, or ask the same of the same data.",
            )
        return body | {"seq": seq, "hash": own}

    def cap(self, nats: Any, *, dataset: str | None = None, analyst: str | None = None) -> None:
        """Set a cap, on the record: of the ledger, of one dataset or of one analyst."""
        both = ("dataset", dataset), ("analyst", analyst)
        named = {kind: plain_text(name, kind) for kind, name in both if name is not None}
        if len(named) > 1 or "" in named.values():
            raise refuse("the name of one dataset or one analyst", named, "Or give none, for all.")
        kind, name = next(iter(named.items()), ("ledger", ""))
        cap = math.floor(books.exact_nano(nats))

        def change() -> Json:
            old = self._store.account(kind, name)
            if cap < old.spent:
                raise refuse(
                    f"a cap of at least what is spent, {books.nats_text(old.spent)} nats",
                    f"{books.nats_text(cap)} nats",
                    "What is spent stays spent.",
                )
            self._store.put(old._replace(cap=cap))
            return {"account": [kind, name], "cap": cap}

        self.record("cap", change)

    def attempt(self, outputs: str) -> int:
        """Record an attempt at a statistical certificate of these outputs; return its number."""

        def change() -> Json:
            old = self._store.account("attempts", outputs)
            self._store.put(old._replace(spent=old.spent + 1))
            return {"outputs": outputs, "attempt": old.spent + 1}

        return int(self.record("attempt", change)["attempt"])

    @property
    def spent(self) -> float:
        """Nats charged so far."""
        with self._store.reading():
            return self._store.account("ledger", "").spent / NANO

    @property
    def remaining(self) -> float:
        """Nats left for this dataset and this analyst."""
        with self._store.reading():
            own = books.charged_names(self.dataset, "", self.analyst, "")
            accounts = self._store.accounts(own)
        return min(a.cap - a.spent for a in accounts if a.cap is not None) / NANO

    def accounts(self) -> list[Json]:
        """Return every account with what is spent and its cap, in nats."""
        with self._store.reading():
            rows = self._store.rows("SELECT kind, name FROM rpac_accounts ORDER BY kind, name")
            found = [self._store.account(*row) for row in rows if row[0] != "attempts"]
        return [
            {"kind": a.kind, "name": a.name, "spent": a.spent / NANO,
             "cap": None if a.cap is None else a.cap / NANO}
            for a in found
        ]  # fmt: skip

    def entries(self, since: int = 0) -> Iterator[Json]:
        """Yield the entries from number `since` on, oldest first, each with its hash checked."""
        before = self._store.entry(since - 1)[2] if since > 0 else ""
        while True:
            with self._store.reading():
                page = self._store.rows(
                    "SELECT seq, body, hash, key FROM rpac_entries WHERE seq >= ? ORDER BY seq "
                    "LIMIT ?", since, _PAGE
                )  # fmt: skip
            for seq, text, own, key in page:
                if seq != since:
                    raise books.damaged(f"a gap before entry {seq}")
                body = books.checked_body(seq, text, own, before)
                if body.get("key") != key:
                    raise books.damaged(f"entry {seq} under another key")
                yield body | {"seq": seq, "hash": own}
                since, before = seq + 1, own
            if len(page) < _PAGE:
                return

    def verify(self, since: int = 0) -> int:
        """Check hashes, balances, caps and head; return the number of the last entry.

        Args:
            since: First entry to look at. Balances are recomputed where that is all of them.

        Raises:
            LedgerError: If anything does not fit.
        """
        with self._store.exclusive():
            self._store.known.clear()  # look at what is stored
            seq, head = self._head()
            last = ""
            book: Book = {}
            for entry in self.entries(since):
                last = entry["hash"]
                books.rebook(book, entry)
            if last != head or not self._store.sound():
                raise books.damaged("a head that is not the last entry, or a broken file")
            rows = self._store.rows("SELECT kind, name FROM rpac_accounts")
            found = {tuple(row): self._store.account(*row) for row in rows}
            if since == 0 and found != book:
                raise books.damaged("accounts that differ from the sum of the entries")
        return seq

    def close(self) -> None:
        """Let go of the file or the connection."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __str__(self) -> str:
        return _show.ledger_text(self.id, self.accounts())

    def _repr_html_(self) -> str:
        return _show.ledger_html(self.id, self.accounts())

    def _accounts(self, nano: int, line: Line) -> list[Account]:
        """Return the accounts that a charge falls on, charged; or refuse."""
        names = books.charged_names(self.dataset, line.version, self.analyst, line.session)
        charged = []
        for old in self._store.accounts(names):
            if old.cap is not None and old.spent + nano > old.cap:
                raise books.overspent(nano, old.cap - old.spent, old.label)
            if old.kind == "session" and old.note != line.state:
                raise refuse(
                    "a charge under the latest state of an open session",
                    "an older state, or a closed session",
                    "Resume the session, and ask again.",
                    LedgerError,
                )
            if old.kind == "version" and old.note not in ("", line.secret):
                raise refuse(
                    "charges about one secret on a line of the books",
                    "another unit, prior or set of worlds, or a given secret asked about again",
                    "Use the same source; ask about a given secret in one rpac.Session.",
                )
            note = line.secret if old.kind == "version" else old.note
            charged.append(Account(old.kind, old.name, old.cap, old.spent + nano, note))
        return charged

    def record(
        self, kind: str, change: Callable[[], Json], key: str | None = None, request: str = ""
    ) -> Json:
        """Run a change and append its entry, in one transaction; then anchor the new head.

        An entry under the same key that another process has just written stands in its place.
        """
        with self._store.exclusive():
            head = self._head()
            known = None if key is None else self._entry_of(key, request)
            entry = known or self._append(kind, change(), head, key)
        self._remember(entry["seq"], entry["hash"])
        return entry

    def _append(self, kind: str, body: Json, head: tuple[int, str], key: str | None) -> Json:
        lines, total = self._store.lines(), self._store.account("ledger", "").spent
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        text = publish({"kind": kind, "at": now, "lines": lines, "total": total} | body)
        seq = head[0] + 1
        own = books.chain_hash(seq, head[1], text)
        self._store.rows("INSERT INTO rpac_entries VALUES (?, ?, ?, ?)", seq, key, text, own)
        self._store.known["head"] = seq, own
        return body | {"seq": seq, "hash": own}

    def _head(self, *, trust: bool = False) -> tuple[int, str]:
        """Return the last entry's number and hash, held against itself and the anchor."""
        known = self._store.known
        if "head" not in known:
            rows = self._store.rows(
                "SELECT seq, body, hash FROM rpac_entries ORDER BY seq DESC LIMIT 2"
            )
            seq, text, own = rows[0]
            body = books.checked_body(seq, text, own, rows[1][2] if seq else "")
            if body["lines"] != self._store.lines():
                raise books.damaged("accounts that were added or removed")
            if body["total"] != self._store.account("ledger", "").spent:
                raise books.damaged("a balance that differs from the last entry's")
            known["head"] = seq, own
        seq, own = known["head"]
        if self._anchor is not None and not trust:
            kept = self._anchor.read()
            if kept is None and seq > 0:
                raise books.damaged("no anchor (trust_head=True makes a new one)")
            if (
                kept is not None
                and kept != (seq, own)
                and (seq < kept[0] or self._store.entry(kept[0])[2] != kept[1])
            ):
                raise books.damaged("a head before its anchor: it was rolled back")
        return seq, own

    def _remember(self, seq: int, head: str) -> None:
        if self._anchor is not None:
            with self._store.reading():
                self._anchor.write(seq, head)

    def _receipt(self, entry: Json) -> Receipt:
        names = ("seq", "nano", "hash", "key", "dataset", "version", "analyst", "answer")
        return Receipt(self.id, *(entry[name] for name in names))
