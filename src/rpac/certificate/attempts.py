"""Who remembers how often some outputs were judged: retrying until one passes gains nothing.

The k-th statistical certificate of the same outputs may err with probability delta / (k (k + 1));
these sum to at most delta, so all of them hold together with the confidence that each one names.
Where two memories count together, each learns the other's number, so that the numbers of both are
distinct and rising. Outputs are known by their digest: other outputs are other attempts. Draws of
an open distribution are new every time; a ledger counts them by dataset, so that nobody draws until
some draws please, and without one their error is the single certificate's own.

Draws of an open distribution judge one noise: a second one would be chosen by the first verdict.

Who remembers also keeps a key, and says what may be shown of a hash: `fingerprint`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import final

from rpac._base.hashing import keyed, process_key


class Attempts(ABC):
    """A memory of judgements, kept by a process or by a ledger."""

    @abstractmethod
    def attempt(self, outputs: str) -> int:
        """Count one more statistical certificate of some outputs, by digest; return its number."""

    @abstractmethod
    def learn(self, outputs: str, number: int) -> None:
        """Take in that so many attempts were made, here or elsewhere."""

    @abstractmethod
    def attempt_on_draws(self, outputs: str) -> int:
        """Return the number of some draws of an open distribution among all; 0 if not counted."""

    @abstractmethod
    def judge(self, outputs: str, law: str, number: int = 1) -> bool:
        """Have draws judge a law, both by digest; return False if they have judged another."""

    @abstractmethod
    def fingerprint(self, mark: str) -> str:
        """Return what may be shown of a digest: its HMAC under a key that stays here."""


@final
class Memory(Attempts):
    """Judgements of one process."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._laws: dict[str, str] = {}
        self._lock = threading.Lock()

    def attempt(self, outputs: str) -> int:
        """Count one more certificate; return its number."""
        with self._lock:
            self._counts[outputs] = self._counts.get(outputs, 0) + 1
            return self._counts[outputs]

    def learn(self, outputs: str, number: int) -> None:
        """Count on from the larger number."""
        with self._lock:
            self._counts[outputs] = max(self._counts.get(outputs, 0), number)

    def attempt_on_draws(self, outputs: str) -> int:
        """Return 0: a process has no datasets to count by."""
        return 0

    def judge(self, outputs: str, law: str, number: int = 1) -> bool:
        """Return whether the draws have judged no other law."""
        return self._laws.setdefault(outputs, law) == law

    def fingerprint(self, mark: str) -> str:
        """Return the HMAC of a digest under the process's key."""
        return keyed(process_key(), mark)

    def clear(self) -> None:
        """Forget all of it."""
        self._counts.clear()
        self._laws.clear()


@final
class Together(Attempts):
    """Two memories, a process's and a ledger's: the stricter one counts, the second has the key."""

    def __init__(self, first: Attempts, second: Attempts) -> None:
        self._both = first, second

    def attempt(self, outputs: str) -> int:
        """Count in both; return the larger number, which both go on from."""
        number = max(memory.attempt(outputs) for memory in self._both)
        self.learn(outputs, number)
        return number

    def learn(self, outputs: str, number: int) -> None:
        """Tell both."""
        for memory in self._both:
            memory.learn(outputs, number)

    def attempt_on_draws(self, outputs: str) -> int:
        """Return the larger number."""
        return max(memory.attempt_on_draws(outputs) for memory in self._both)

    def judge(self, outputs: str, law: str, number: int = 1) -> bool:
        """Return whether neither knows of another law."""
        return all([memory.judge(outputs, law, number) for memory in self._both])

    def fingerprint(self, mark: str) -> str:
        """Return the second's."""
        return self._both[1].fingerprint(mark)
