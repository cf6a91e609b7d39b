"""Sessions in the books: each has a cap, and the state that its next charge comes from."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple, final

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.errors import LedgerError
from rpac.ledger.chain import Chain
from rpac.ledger.entries import Account


class Standing(NamedTuple):
    """An open session: its state, what is spent of its cap in nano-nats, and its state's mark."""

    state: bytes
    spent: int
    cap: int
    mark: str


@final
class Sessions:
    """The sessions of one ledger.

    Guarantees:
        After `Ledger.verify`, which recomputes every account from the entries, `load` returns the
        state that the last charge stored, or refuses: its hash stands in the account and in the
        entry. Whoever resumes a session verifies first.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def mark(self, state: bytes) -> str:
        """Return the mark of a state, under the ledger's key."""
        return self._chain.fingerprint(sha256(state).hexdigest())

    def open(self, name: str, cap: int, state: bytes) -> None:
        """Open a session with a cap in nano-nats and its first state."""
        mark = self.mark(state)

        def change() -> Json:
            self._chain.store.put(Account("session", name, cap, 0, mark), state=state)
            return {"session": name, "cap": cap, "state": mark}

        self._chain.record("session", change)

    def load(self, name: str) -> Standing:
        """Return how an open session stands."""
        store = self._chain.store
        with store.reading():
            state, account = store.state("session", name), store.account("session", name)
        if not state or self.mark(state) != account.note:
            raise refuse(
                "an open session with the state on record",
                f"none for session {name[:8]!r}",
                "Open a new one.",
                LedgerError,
            )
        return Standing(state, account.spent, account.cap or 0, account.note)

    def close(self, name: str) -> None:
        """Close a session: nothing more can be charged to it."""
        store = self._chain.store

        def change() -> Json:
            store.put(store.account("session", name)._replace(note="closed"))
            return {"session": name}

        self._chain.record("close", change)
