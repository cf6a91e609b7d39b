"""What the books are made of: amounts, lines, accounts, receipts, entries that hold together."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, final

from rpac._base.checks import number, refuse
from rpac._base.types import Json
from rpac.budget import Bits, GaussianDP, Nats, SuccessRate
from rpac.errors import BudgetSpent, LedgerError

NANO = 10**9
_MOST = 10**9


def exact_nano(nats: Any) -> Decimal:
    """Return an amount in nano-nats, unrounded; `Nats`, `Bits` or a number of nats, 0 allowed."""
    if isinstance(nats, SuccessRate):
        distance = f"rpac.advantage.success_to_distance({nats.rate:g})"
        move = f"About a person: rpac.GaussianDP({distance})."
        raise refuse("an amount in nats or bits, or a distance", repr(nats), move)
    value = number(nats.nats() if isinstance(nats, Nats | Bits | GaussianDP) else nats, "nats")
    if not 0 <= value <= _MOST:
        raise refuse(f"between 0 and {_MOST} nats", repr(value), "Books are kept in nats or bits.")
    return Decimal(repr(value)).scaleb(9)  # 0.001 is a thousandth, as it was written


def cap_nano(cap: Any, nats: Any) -> int:
    """Return a cap that comes to `nats` in nano-nats: rounded down, but a success or distance up.

    Its only question, asked at that very success, is charged as much and fits.
    """
    exact = exact_nano(nats)
    return math.ceil(exact) if isinstance(cap, SuccessRate | GaussianDP) else math.floor(exact)


def nats_text(nano: int) -> str:
    """Return nano-nats as a decimal number of nats, exactly."""
    return f"{nano // NANO}.{nano % NANO:09d}"


def overspent(nano: int, left: int, account: str) -> BudgetSpent:
    """Return the refusal of a charge that does not fit into what is left."""
    return BudgetSpent(nats_text(nano), nats_text(left), account, left / NANO)


@final
@dataclass(frozen=True)
class Line:
    """What a charge is about. Hashes are of data: the books write what their key makes of them.

    Attributes:
        version: Hash of the data; where the secret was given, of whom it is about.
        secret: Hash of what is drawn from them, and with which prior; one of its own where the
            secret was given, so that no other release or session can be booked beside it.
        session: The session it belongs to, if any.
        state: Hash of the session's state that the charge was computed from.
        promise: Where anybody's presence is the secret, the name of the promise: then one line
            serves all versions of the dataset, since a person in two of them is exposed to both.
    """

    version: str = ""
    secret: str = ""
    session: str = ""
    state: str = ""
    promise: str = ""


@final
@dataclass(frozen=True)
class Receipt:
    """The public proof of a charge.

    Attributes:
        ledger: Identity of the ledger.
        seq: Number of the entry.
        nano: The charge in nano-nats.
        hash: Hash of the entry, which covers all entries before it.
        key: The idempotency key, if one was given.
        version: Mark of the data, under the ledger's key.
        answer: What was released under this entry, as it is stored; None for a bare charge.
        date: The day of the charge, in UTC.
    """

    ledger: str
    seq: int
    nano: int
    hash: str
    key: str | None
    dataset: str
    version: str
    analyst: str
    answer: Any = None
    date: str = ""

    @property
    def nats(self) -> float:
        """The charge in nats."""
        return self.nano / NANO

    @property
    def place(self) -> str:
        """Where the charge is written, in words; not how much it is."""
        return f"entry {self.seq} of ledger {self.ledger[:8]}"

    def __str__(self) -> str:
        return f"{self.place}: {nats_text(self.nano)} nats"


@final
class Charged(NamedTuple):
    """What a charge came to.

    Attributes:
        receipt: The entry.
        state: The session's state after it; None if the entry was there already, because another
            call was first with the key.
    """

    receipt: Receipt
    state: bytes | None


@final
class Account(NamedTuple):
    """What is spent of a cap, in nano-nats; the seal shows a changed balance."""

    kind: str
    name: str
    cap: int | None
    spent: int
    note: str

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name."""
        return self.kind, self.name

    @property
    def seal(self) -> str:
        """Hash of the balance."""
        return chain_hash(*self)

    @property
    def label(self) -> str:
        """The account, in words."""
        return f"{self.kind} {self.name!r}" if self.name else f"the {self.kind}"


def chain_hash(*parts: Any) -> str:
    """Return the SHA-256 of some parts, kept apart: literals end by themselves, text is last."""
    return sha256(f"{ascii(parts[:-1])}{parts[-1]}".encode()).hexdigest()


def damaged(what: str) -> LedgerError:
    """Return the error for a ledger that does not fit together."""
    move = "Nothing is released from it. Restore the latest copy, and find out what changed it."
    error = refuse("a ledger whose entries fit together", what, move, LedgerError)
    assert isinstance(error, LedgerError)
    return error


def checked_body(seq: int, text: str, own: str, before: str) -> Json:
    """Return the body of an entry whose hash follows from it and the entry before."""
    if chain_hash(seq, before, text) != own:
        raise damaged(f"an altered entry {seq}")
    body: Json = json.loads(text)
    return body


Book: TypeAlias = dict[tuple[str, str], Account]
"""Accounts recomputed from the entries."""


def charged_names(
    dataset: str, version: str, analyst: str, session: str, promise: str = ""
) -> list[tuple[str, str]]:
    """Return the accounts that a charge falls on; who and what has no name has none."""
    named = ("dataset", dataset), ("analyst", analyst), ("session", session)
    line = (promise, dataset) if promise else ("version", f"{dataset}@{version}")
    return [("ledger", ""), *filter(itemgetter(1), named), line]


_PARTS = ("dataset", "version", "analyst", "session", "promise")
_NO_CHANGE = ("seal", "anchor")
"""Kinds of entries that change no account."""


def rebook(book: Book, entry: Json) -> None:
    """Add an entry to recomputed accounts."""
    kind = entry["kind"]
    if kind == "open":
        book["ledger", ""] = Account("ledger", "", entry["cap"], 0, "")
        book["key", ""] = Account("key", "", None, 0, entry["keyed_by"])
    elif kind == "cap":
        old = _account(book, *entry["account"])
        book[old.kind, old.name] = old._replace(cap=entry["cap"])
    elif kind == "session":
        name = entry["session"]
        book["session", name] = Account("session", name, entry["cap"], 0, entry["state"])
    elif kind == "close":
        old = _account(book, "session", entry["session"])
        book["session", old.name] = old._replace(note="closed")
    elif kind == "attempt":
        old = _account(book, "attempts", entry["outputs"])
        book["attempts", old.name] = old._replace(spent=entry["attempt"])
    elif kind == "judged":
        name, number = entry["outputs"], entry["attempt"]
        book["judged", name] = Account(kind, name, None, number, entry["law"])
    elif kind not in _NO_CHANGE:
        notes = {"version": entry["secret"], "session": entry.get("state", "")}
        for name in charged_names(*(entry[part] for part in _PARTS)):
            old = _account(book, *name)
            new = old._replace(spent=old.spent + entry["nano"], note=notes.get(old.kind, ""))
            if new.cap is not None and new.spent > new.cap:
                raise damaged(f"entry {entry['seq']}, which exceeds a cap")
            book[name] = new


def _account(book: Book, kind: str, name: str) -> Account:
    return book.get((kind, name), Account(kind, name, None, 0, ""))
