"""Sessions: one drawn world, adaptive questions, each charged under the exact posterior.

After every answer the adversary's posterior over the worlds is known. The next answer is charged
its deterministic bound under it; if the charges of every transcript sum to at most the cap, so
does the leakage of the whole conversation.

Proof: by the chain rule MI(X; Y_1..Y_t) = sum_k E[MI(X; Y_k | Y_1..Y_(k-1) = y)], and each term is
the leakage of one answer under the posterior given y, which the charge bounds in every transcript.
The posterior p is floored to (1 - e) p + e u before a bound is computed: MI is concave in the
prior, so I(p) <= I((1 - e) p + e u) / (1 - e).
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac._base.hashing import digest
from rpac._base.sealed import SealedValue
from rpac._base.types import Floats, Ints, Json
from rpac.budget import as_budget
from rpac.certificate.certificate import Certificate
from rpac.certificate.evidence import proved_leakage
from rpac.certificate.issue import described
from rpac.errors import BudgetExceeded, LedgerError
from rpac.ledger.entries import NANO, Line, exact_nano, nats_text, overspent
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Releasable
from rpac.noise.grid import tabulate
from rpac.release.answer import Release, answered, shown, stored
from rpac.release.draw import draw_among, given_worlds, noisy_codes
from rpac.release.sealed_store import SealedStore
from rpac.worlds.batch import stacked
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import evaluate
from rpac.worlds.source import Draws, Source

FLOOR = 1e-6
"""Share of the prior mixed into the posterior."""


class Conversation(ABC):
    """Questions about one drawn world; `rpac.Session` says who proposes the noise.

    Guarantees:
        The questions may depend on all earlier answers. In every transcript the charges sum to
        at most the budget, and so does the mutual information between world and transcript.
    """

    def __init__(
        self,
        source: Source,
        budget: Any,
        ledger: Ledger | None,
        store: str | Path | None,
        secret: Any,
    ) -> None:
        if not isinstance(source, Source) or isinstance(source, Draws):
            raise refuse("Worlds or Subsets", type(source).__name__, "Its worlds must be finite.")
        if store is not None and ledger is None:
            raise refuse("a ledger beside a sealed store", None, "Books outlive the process.")
        self._source, self._worlds, self._ledger = source, source.worlds(0), ledger
        m = len(self._worlds)
        self._prior = np.full(m, 1 / m) if source.weights is None else source.weights
        self._store = None if store is None else SealedStore(store)
        self._entropy = entropy(self._prior)
        self._cap = math.floor(exact_nano(as_budget(budget).nats(self._entropy)))
        self._spent, self._questions = 0, 0
        self._log_posterior: Floats = np.log(self._prior)
        self._line = Line()
        self._lock, self._pid = threading.Lock(), os.getpid()
        if self._store is not None and self._store.exists():
            self._resume(self._store)
        else:
            self._open(None if secret is None else given_worlds(source, secret))

    @abstractmethod
    def _propose(self, outputs: Outputs, weights: Floats, nats: float) -> tuple[Releasable, Ints]:
        """Return a law for outputs under a posterior, and the integers of all worlds."""

    @abstractmethod
    def _first_aim(self, weights: Floats, nats: float) -> float:
        """Return the nats to propose for at first."""

    @property
    @abstractmethod
    def _method(self) -> str:
        """Who proposes, in a word: part of what a key stands for."""

    @property
    def spent(self) -> float:
        """Nats charged so far."""
        return self._spent / NANO

    @property
    def remaining(self) -> float:
        """Nats left."""
        return (self._cap - self._spent) / NANO

    def ask(
        self,
        question: Callable[..., Any] | Outputs | Sequence[Callable[..., Any]],
        budget: Any,
        *,
        key: str | None = None,
    ) -> Release:
        """Return the answer on the drawn world, with noise for the posterior of this moment.

        Args:
            question: A mechanism; or its outputs on all worlds of the source; or a list of
                mechanisms, declared together: one release, calibrated jointly, whose value is
                the list of their answers.
            budget: What this answer may leak, in nats given all earlier answers.
            key: Idempotency key, with a ledger.

        Raises:
            BudgetSpent: If the charge does not fit into what is left.
            BudgetExceeded: If no noise was found that meets the budget.
        """
        self._ready()
        if key is not None and self._ledger is None:
            raise refuse("a ledger for the key", repr(key), "Pass ledger=rpac.Ledger(...).")
        outputs = self._outputs(question)
        with self._lock:
            self._ready()
            return self._turn(outputs, budget, key)

    def _ready(self) -> None:
        if self._world.open() < 0 or self._pid != os.getpid():
            raise refuse("an open session", "one closed or forked", "Open one here.", LedgerError)

    def _turn(self, outputs: Outputs, budget: Any, key: str | None) -> Release:
        """Answer one question: look for a retry, certify, charge, draw, store, then reveal."""
        request = ""
        if key is not None and self._ledger is not None:
            who = (self._ledger.dataset, self._ledger.analyst)
            request = digest(outputs.digest, repr(budget), self._method, self.id, *who)
            if known := self._ledger.find(key, request):
                return shown(outputs, known.answer, known)
        law, codes, made = self._certified(outputs, as_budget(budget).nats(self._entropy))
        nano = math.ceil(exact_nano(made.bound))
        if self._spent + nano > self._cap:
            raise overspent(nano, self._cap - self._spent, "the session")

        def draw() -> tuple[Json, bytes]:
            released = noisy_codes(codes[self._world.open()], law)
            posterior = updated(self._log_posterior, law.log_likelihood(codes, released))
            keep = answered(law, released) if self._ledger is None else stored(law, released, made)
            return keep, posterior.tobytes()

        if self._ledger is None:
            kept, state = draw()
            self._advance(state, nano)
            return shown(outputs, kept, made=made)
        receipt, after = self._ledger.charge(
            made.bound, key=key, request=request, line=self._line, draw=draw
        )
        if after is None:  # another process was first with this key: its answer stands
            return shown(outputs, receipt.answer, receipt)
        self._advance(after, nano)
        return shown(outputs, receipt.answer, receipt, made=made)

    def _certified(self, outputs: Outputs, nats: float) -> tuple[Releasable, Ints, Certificate]:
        """Return a law whose bound under the floored posterior meets the budget; and its codes."""
        weights = self._floored()
        aim, h = self._first_aim(weights, nats), entropy(weights)
        for _ in range(20):  # rounding to the grid moves the bound a little, either way
            law, codes = self._held(outputs, *self._propose(outputs, weights, aim))
            bound = proved_leakage(codes, weights, law, h) / (1 - FLOOR)
            if bound <= nats:
                return law, codes, self._certificate(outputs, law, bound, h)
            aim *= 0.99 * nats / bound
        raise BudgetExceeded(bound, nats)

    def _held(self, outputs: Outputs, law: Releasable, codes: Ints) -> tuple[Releasable, Ints]:
        """Refuse a proposal that is not one of the known laws, with integers for every world."""
        known = tabulate(outputs, law)
        shape = len(self._prior), known.rank
        if known is not law or codes.dtype != np.int64 or codes.shape != shape:
            expected = f"a law that can be released, and its integers of shape {shape}"
            raise refuse(expected, f"{law!r} and {codes.dtype} {codes.shape}", "Use rpac.tabulate.")
        return law, codes

    def _advance(self, state: bytes, nano: int) -> None:
        """Take in an answer: the posterior it leaves, and what it cost."""
        self._log_posterior = np.frombuffer(state, np.float64)
        self._spent, self._questions = self._spent + nano, self._questions + 1
        self._stand(state)

    def close(self) -> None:
        """Erase the drawn world; the session cannot be resumed."""
        with self._lock:
            self._world = SealedValue(-1)
        if self._store is not None:
            self._store.erase()
        if self._ledger is not None:
            self._ledger.sessions.close(self.id)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise refuse("one session for one drawn world", "a copy", "Resume it from its store.")

    def __repr__(self) -> str:
        spent, cap = nats_text(self._spent), nats_text(self._cap)
        return f"Session({self._questions} answers, {spent} of {cap} nats spent)"

    def _open(self, given: list[int] | None) -> None:
        self.id = secrets.token_hex(16)
        self._world = SealedValue(draw_among(self._prior, given))
        self._given = given is not None
        if self._ledger is not None:
            state = self._log_posterior.tobytes()
            self._ledger.sessions.open(self.id, self._cap, state)
            self._stand(state)
        if self._store is not None:
            self._store.write({"session": self.id, "world": self._world.open(),
                               "given": given is not None, "source": self._mark()})  # fmt: skip

    def _resume(self, store: SealedStore) -> None:
        assert self._ledger is not None
        kept = store.read()
        if kept["source"] != self._mark():
            raise refuse("the source of this session", "another", "Open it with the same data.")
        self._ledger.verify()  # the state is what a charge is computed from
        self.id, self._world = kept["session"], SealedValue(int(kept["world"]))
        self._given = kept["given"]
        state, self._spent, self._cap = self._ledger.sessions.load(self.id)
        spends = (e for e in self._ledger.entries() if e["kind"] == "spend")
        self._questions = sum(e["session"] == self.id for e in spends)
        self._log_posterior = np.frombuffer(state, np.float64)
        self._stand(state)

    def _mark(self) -> str:
        assert self._ledger is not None
        return digest(self._source.version, self._source.secret, self._ledger.id)

    def _stand(self, state: bytes) -> None:
        """Write down the line of the books that the next charge falls on."""
        if self._ledger is None:
            return
        source = self._source
        owned = digest(source.secret, self.id) if self._given else source.secret
        self._line = Line(source.version, owned, self.id, sha256(state).hexdigest())

    def _outputs(self, question: Any) -> Outputs:
        if isinstance(question, Outputs):
            if not (question.exact and question.weights.tobytes() == self._prior.tobytes()):
                raise refuse("outputs on the worlds of the session", repr(question), "Simulate.")
            return question
        if isinstance(question, list | tuple):
            return stacked([self._outputs(one) for one in question])
        return evaluate(self._source, question, self._worlds, n_jobs=1, seed=0)

    def _floored(self) -> Floats:
        weights = (1 - FLOOR) * np.exp(self._log_posterior) + FLOOR * self._prior
        weights /= np.add.reduce(weights)  # `sum` without its wrapper
        return weights

    def _certificate(
        self, outputs: Outputs, law: Releasable, bound: float, h: float
    ) -> Certificate:
        return Certificate(
            secret=outputs.statement, bound=bound, charged=True, entropy=h,
            prior=f"the posterior after {self._questions} answers of a session",
            bounds={"under the posterior": bound}, noise=described(outputs, law),
            outputs=outputs.describe(),
        )  # fmt: skip


def updated(log_prior: Floats, log_likelihood: Floats) -> Floats:
    """Return the exact log posterior over (m,) worlds."""
    joint = log_prior + log_likelihood
    joint -= np.maximum.reduce(joint)  # `max` and `sum` without their wrappers
    joint -= math.log(np.add.reduce(np.exp(joint)))
    return joint
