"""The ledger: what has been spent of a budget, in integers, in an order nobody can change.

Amounts are nano-nats: charges are rounded up, caps down. Every entry carries the hash of the one
before. An answer is revealed only after the entry that charges for it is on the disk. What is
derived from data, and is no answer, is written under a key that never leaves the ledger.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Any, final

from rpac._base.checks import plain_text, refuse
from rpac._base.types import Json
from rpac.errors import LedgerError
from rpac.ledger.anchor import NOWHERE, Anchor, Position, state_place
from rpac.ledger.chain import Chain
from rpac.ledger.entries import (
    NANO,
    Account,
    Charged,
    Line,
    Receipt,
    cap_nano,
    charged_names,
    checked_body,
    damaged,
    exact_nano,
    nats_text,
    overspent,
)
from rpac.ledger.judgements import Judgements
from rpac.ledger.postgres import PostgresStore
from rpac.ledger.sessions import Sessions
from rpac.ledger.sqlite import SqliteStore
from rpac.pictures.accounts import account_lines, accounts_html, gauges
from rpac.pictures.history import History
from rpac.pictures.plots import gauge
from rpac.pictures.text import aligned

SCHEMA = "rpac-ledger/5"
_LAST = 20_000
_SOON = 50_000
"""Entries up to which opening a ledger verifies all of it; beyond, the last `_LAST`."""
_NO_BALANCE = ("attempts", "judged", "key")
"""Accounts that count no nats: of certificates, and of the ledger's key."""


@final
class Ledger(Judgements):
    """The books of a budget.

    Args:
        where: Path of an SQLite file, or a postgresql:// URL.
        budget: Cap on all that is charged, in nats or bits; needed for a new ledger only.
        dataset: Name under which charges are booked; it keeps its name when the data change.
        analyst: Who asks.
        anchor: File that remembers the head against rollback; by default in the user's state
            folder, by the ledger's identity, and none for PostgreSQL.
        trust_head: Anchor what is there, on the record, where the anchor was lost: after a move
            to another machine or user.

    Attributes:
        id: Identity of the ledger.
        sessions: Conversations that are booked here, each with a cap of its own.

    Guarantees:
        What is acknowledged is recorded, because it is returned after the commit. What is recorded
        never exceeds a cap: it is checked and written in one transaction that excludes all others,
        and the database's own CHECK and `verify` look again. One key is charged once and has one
        answer. A ledger that was damaged or rolled back is refused, and so is an anchor that was
        put back. (Entries are not signed: whoever can write all of its files can forge them.)

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
        self._store = PostgresStore(str(where)) if remote else SqliteStore(str(where))
        self._chain = Chain(self._store, alone=not remote)
        self.sessions = Sessions(self._chain)
        cap = None if budget is None else cap_nano(budget, budget)
        with self._store.exclusive():
            self._store.create()
            new = not self._chain.begun()
            if new:
                self._found(cap, anchor)
            self.id = self._opened()
            self._chain.unlock()
            if anchor or not remote:
                self._chain.anchor = Anchor(anchor or state_place(self.id), alone=not remote)
            head = self._anchored(new=new, trust=trust_head)
            self._same_budget(cap)
        self._chain.confirm(head, trust=trust_head)
        self.verify(0 if head.seq <= _SOON else head.seq - _LAST)

    def _found(self, cap: int | None, anchor: Any) -> None:
        said = Anchor(anchor).read() if anchor else None
        if said is not None and said.confirmed != NOWHERE:
            raise damaged("an anchor without entries")
        if cap is None:
            raise refuse("a budget for a new ledger", None, 'Ledger("ledger.db", budget=1.0).')
        key = secrets.token_bytes(32)
        mark = sha256(key).hexdigest()
        self._store.put(Account("ledger", "", cap, 0, ""), Account("key", "", None, 0, mark),
                        state=key)  # fmt: skip
        opening = {"schema": SCHEMA, "ledger": secrets.token_hex(16), "cap": cap, "keyed_by": mark}
        self._chain.append("open", opening, Position(-1, ""))

    def _anchored(self, *, new: bool, trust: bool) -> Position:
        """Return the head, once the anchor has accepted it, or will have to."""
        head = self._chain.head(trust=new or trust)
        if new:
            self._chain.intend(NOWHERE, head)
        elif trust and self.anchored:
            entry = self._chain.append("anchor", {}, head)
            head = Position(entry["seq"], entry["hash"])
        return head

    @property
    def anchored(self) -> bool:
        """Whether an anchor remembers the head."""
        return self._chain.anchor is not None

    def _opened(self) -> str:
        """Return the identity that the opening entry gives."""
        _, opening, own = self._store.entry(0)
        if SCHEMA not in opening:  # first: another schema may have other hashes
            got, move = "another one", "Open it with the version of rpac that wrote it."
            raise refuse(f"a ledger of schema {SCHEMA}", got, move, LedgerError)
        return str(checked_body(0, opening, own, "")["ledger"])

    def _same_budget(self, cap: int | None) -> None:
        stored = self._store.account("ledger", "").cap
        if cap is not None and cap != stored:
            raise refuse(
                f"the budget of this ledger, {nats_text(stored or 0)} nats",
                f"{nats_text(cap)} nats",
                "Leave it out; `cap` changes it, on the record.",
            )

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
        return self.charge(charge, key=key, request=request, line=line, draw=draw).receipt

    def charge(
        self,
        charge: Any,
        *,
        key: str | None = None,
        request: str = "",
        line: Line = Line(),  # noqa: B008  (frozen)
        draw: Callable[[], tuple[Any, bytes]] | None = None,
    ) -> Charged:
        """Do what `spend` does; return whether this call was the first with its key, too."""
        nano = math.ceil(exact_nano(charge))
        state, mark, line = b"", self.fingerprint(request), self._marked(line)

        def change() -> Json:
            nonlocal state
            accounts = self._accounts(nano, line)
            answer, state = draw() if draw else (None, b"")
            body: Json = {
                "nano": nano, "key": key, "request": mark, "dataset": self.dataset,
                "version": line.version, "secret": line.secret, "analyst": self.analyst,
                "session": line.session, "promise": line.promise, "answer": answer,
            }  # fmt: skip
            if line.session:
                now = body["state"] = self.sessions.mark(state)
                accounts = [a._replace(note=now) if a.kind == "session" else a for a in accounts]
            self._store.put(*accounts, state=state)
            return body

        if known := self.find(key, request):
            return Charged(known, None)
        entry, ours = self._chain.record("spend", change, key, mark)
        return Charged(self.receipt(entry), state if ours else None)

    def check(self, charge: Any, line: Line = Line()) -> None:  # noqa: B008
        """Raise what `spend` would raise for this charge now; nothing is written."""
        with self._store.reading():
            self._accounts(math.ceil(exact_nano(charge)), self._marked(line))

    def _marked(self, line: Line) -> Line:
        """Return a line as the books write it: hashes of data under the ledger's key."""
        version, secret, state = map(self.fingerprint, (line.version, line.secret, line.state))
        return Line(version, secret, line.session, state, line.promise)

    def find(self, key: str | None, request: str | None = None) -> Receipt | None:
        """Return the receipt under a key, or None.

        Raises:
            InputError: If the key was used for another request, or is no text.
        """
        if key is None:
            return None
        mark = None if request is None else self.fingerprint(request)
        entry = self._chain.find(plain_text(key, "key"), mark)
        return None if entry is None else self.receipt(entry)

    def cap(self, nats: Any, *, dataset: str | None = None, analyst: str | None = None) -> None:
        """Set a cap, on the record: of the ledger, of one dataset or of one analyst."""
        both = ("dataset", dataset), ("analyst", analyst)
        named = {kind: plain_text(name, kind) for kind, name in both if name is not None}
        if len(named) > 1 or "" in named.values():
            raise refuse("the name of one dataset or one analyst", named, "Or give none, for all.")
        kind, name = next(iter(named.items()), ("ledger", ""))
        cap = cap_nano(nats, nats)

        def change() -> Json:
            old = self._store.account(kind, name)
            if cap < old.spent:
                raise refuse(
                    f"a cap of at least what is spent, {nats_text(old.spent)} nats",
                    f"{nats_text(cap)} nats",
                    "What is spent stays spent.",
                )
            self._store.put(old._replace(cap=cap))
            return {"account": [kind, name], "cap": cap}

        self.record("cap", change)

    @property
    def spent(self) -> float:
        """Nats charged so far, on the account that `remaining` speaks of."""
        return self._scarcest.spent / NANO

    @property
    def remaining(self) -> float:
        """Nats left for this dataset and this analyst: on the scarcest account that has a cap."""
        account = self._scarcest
        return ((account.cap or 0) - account.spent) / NANO

    @property
    def _scarcest(self) -> Account:
        with self._store.reading():
            accounts = self._store.accounts(charged_names(self.dataset, "", self.analyst, ""))
        capped = [a for a in accounts if a.cap is not None]
        return min(capped, key=lambda a: (a.cap or 0) - a.spent)  # the ledger's own comes first

    def accounts(self) -> list[Json]:
        """Return every account with what is spent and its cap, in nats."""
        with self._store.reading():
            names = [name for name in self._store.names() if name[0] not in _NO_BALANCE]
            found = [self._store.account(*name) for name in names]
        return [
            {"kind": a.kind, "name": a.name, "spent": a.spent / NANO,
             "cap": None if a.cap is None else a.cap / NANO}
            for a in found
        ]  # fmt: skip

    def history(self) -> History:
        """Return who asked what, when and for how much: a table, each row plain data."""
        return History.of(self.entries())

    def entries(self, since: int = 0) -> Iterator[Json]:
        """Yield the entries from number `since` on, oldest first, each with its hash checked."""
        return self._chain.entries(since)

    def verify(self, since: int = 0) -> int:
        """Check hashes, balances, caps and head; return the number of the last entry.

        Args:
            since: First entry to look at. Balances are recomputed where that is all of them.

        Raises:
            LedgerError: If anything does not fit.
        """
        return self._chain.verify(since)

    def close(self) -> None:
        """Let go of the file or the connection."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"ledger {self.id}\n{aligned(account_lines(self.accounts()))}"

    def _repr_html_(self) -> str:
        return accounts_html(self.id, self.accounts())

    def plot(self) -> Any:
        """Return what is spent and left of every account that has a cap (needs matplotlib)."""
        return gauge(gauges(self.accounts()))

    def _accounts(self, nano: int, line: Line) -> list[Account]:
        """Return the accounts that a charge falls on, charged; or refuse."""
        names = charged_names(self.dataset, line.version, self.analyst, line.session, line.promise)
        charged = []
        for old in self._store.accounts(names):
            if old.cap is not None and old.spent + nano > old.cap:
                raise overspent(nano, old.cap - old.spent, old.label)
            if old.kind == "session" and old.note != line.state:
                raise refuse(
                    "a charge under the latest state of an open session",
                    f"an older state of session {old.name[:8]!r}, or a closed one",
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

    def receipt(self, entry: Json) -> Receipt:
        """Return the receipt of a charge, given its entry."""
        names = ("seq", "nano", "hash", "key", "dataset", "version", "analyst", "answer")
        kept = {name: entry[name] for name in names}
        return Receipt(self.id, date=entry["at"][:10], **kept)
