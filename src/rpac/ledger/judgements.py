"""What the books remember of certificates: attempts, and which draws have judged which law.

Outputs and laws are written under the ledger's key.
"""

from __future__ import annotations

from collections.abc import Callable

from rpac._base.types import Json
from rpac.certificate.attempts import Attempts
from rpac.ledger.chain import Chain
from rpac.ledger.entries import Account
from rpac.ledger.store import Store


class Judgements(Attempts):
    """The part of a ledger that counts certificates.

    Attributes:
        dataset: By which attempts on draws are counted.
    """

    dataset: str
    _chain: Chain
    _store: Store

    def fingerprint(self, mark: str) -> str:
        """Return what may be shown of a hash of data: its HMAC under the ledger's key."""
        return self._chain.fingerprint(mark)

    def record(
        self, kind: str, change: Callable[[], Json], key: str | None = None, request: str = ""
    ) -> Json:
        """Run a change and append its entry, in one transaction; then anchor the new head."""
        return self._chain.record(kind, change, key, request).entry

    def attempt(self, outputs: str) -> int:
        """Record an attempt at a statistical certificate of these outputs; return its number."""
        name = self.fingerprint(outputs)

        def change() -> Json:
            old = self._store.account("attempts", name)
            self._store.put(old._replace(spent=old.spent + 1))
            return {"outputs": name, "attempt": old.spent + 1}

        return int(self.record("attempt", change)["attempt"])

    def attempt_on_draws(self, outputs: str) -> int:
        """Return the number of these draws among all that were judged for this dataset.

        Draws that have judged already keep their number: their verdict is the same again.
        """
        with self._store.reading():
            known = self._store.account("judged", self.fingerprint(outputs)).spent
        return known or self.attempt(f"draws for {self.dataset}")

    def learn(self, outputs: str, number: int) -> None:
        """Record that so many attempts were made elsewhere, where the books know of fewer."""
        name = self.fingerprint(outputs)

        def change() -> Json:
            old = self._store.account("attempts", name)
            known = max(old.spent, number)
            self._store.put(old._replace(spent=known))
            return {"outputs": name, "attempt": known}

        with self._store.reading():
            fewer = self._store.account("attempts", name).spent < number
        if fewer:
            self.record("attempt", change)

    def judge(self, outputs: str, law: str, number: int = 1) -> bool:
        """Record which law some draws judge, and as which attempt; return False if another."""
        name, mark = self.fingerprint(outputs), self.fingerprint(law)
        with self._store.reading():
            known = self._store.account("judged", name).note
        if not known:

            def change() -> Json:
                old = self._store.account("judged", name)
                first = old if old.note else Account("judged", name, None, number, mark)
                self._store.put(first)
                return {"outputs": name, "law": first.note, "attempt": first.spent}

            known = self.record("judged", change)["law"]
        return bool(known == mark)
