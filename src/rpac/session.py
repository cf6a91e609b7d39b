"""Sessions: one drawn world, adaptive questions, each charged under the exact posterior.

After every answer the adversary's posterior over the worlds is known. The next answer is charged
its deterministic bound under it; if the charges of every transcript sum to at most the cap, so
does the leakage of the whole conversation (chain rule; docs/ledger.md).
"""

from __future__ import annotations

import json
import math
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, final

import numpy as np

from rpac._checks import digest, refuse
from rpac._types import Floats, Ints, Json
from rpac.books import NANO, Account, Line, exact_nano, nats_text, overspent
from rpac.budget import as_budget
from rpac.calibrate.posterior import first_aim, noise_under, stacked
from rpac.certificate import Certificate
from rpac.errors import BudgetExceeded, LedgerError
from rpac.joint import entropy
from rpac.leakage import label_leakage, proved_leakage
from rpac.ledger import Ledger
from rpac.noise.grid import GridNoise
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs
from rpac.release import decode, draw_among, given_worlds, noisy_codes
from rpac.reveal import Release, answer, retried, reveal, written
from rpac.sealed import SealedValue, publish
from rpac.simulate import evaluate
from rpac.source import Draws, Source

FLOOR = 1e-6
"""Share of the prior mixed into the posterior; I(p) <= I((1 - e) p + e u) / (1 - e)."""


@final
class Session:
    """A conversation about one drawn world.

    Args:
        source: `Worlds` or `Subsets`. The world is drawn here, once, by the operating system.
        budget: What all answers together may leak.
        ledger: The books; every answer is charged and written before it is revealed.
        store: File that keeps the drawn world, sealed, so that the session survives a restart:
            opened again with the same source, ledger and store it goes on. Needs a ledger.
        method: Calibrator for single numbers. Several numbers get Auto-PAC noise, whose bound has
            no sampling error; labels the equilibrium.

        secret: The secret itself, one of `Worlds`, where it is given rather than drawn.

    Guarantees:
        The questions may depend on all earlier answers. In every transcript the charges sum to
        at most the budget, and so does the mutual information between world and transcript.

    >>> import rpac
    >>> with Session(rpac.Worlds([1.0, 2.0, 4.0]), budget=0.3) as session:
    ...     first = session.ask(lambda x: x, budget=0.1)
    ...     second = session.ask(lambda x: x * x, budget=0.2)
    >>> session.spent <= 0.3
    True
    """

    def __init__(
        self,
        source: Source,
        budget: Any,
        ledger: Ledger | None = None,
        *,
        store: str | Path | None = None,
        method: str = "auto-pac",
        secret: Any = None,
    ) -> None:
        if not isinstance(source, Source) or isinstance(source, Draws):
            raise refuse("Worlds or Subsets", type(source).__name__, "Its worlds must be finite.")
        if store is not None and ledger is None:
            raise refuse("a ledger beside a sealed store", "none", "Books outlive the process.")
        self._source, self._worlds, self._method = source, source.worlds(0), method
        m = len(self._worlds)
        self._prior = np.full(m, 1 / m) if source.weights is None else source.weights
        self._ledger, self._store = ledger, None if store is None else Path(store)
        self._entropy = entropy(self._prior)
        self._cap = math.floor(exact_nano(as_budget(budget).nats(self._entropy)))
        self._spent, self._questions = 0, 0
        self._log_posterior: Floats = np.log(self._prior)
        self._line = Line()
        self._lock, self._pid = threading.Lock(), os.getpid()
        if self._store is not None and self._store.exists():
            self._resume()
        else:
            self._open(None if secret is None else given_worlds(source, secret))

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
            raise refuse("a ledger that keeps the key", "none", "Pass ledger=rpac.Ledger(...).")
        outputs = self._outputs(question)
        with self._lock:
            self._ready()
            return self._asked(outputs, budget, key)

    def _ready(self) -> None:
        if self._world.open() < 0 or self._pid != os.getpid():
            raise refuse("an open session", "one closed or forked", "Open one here.", LedgerError)

    def _asked(self, outputs: Outputs, budget: Any, key: str | None) -> Release:
        nats = as_budget(budget).nats(self._entropy)
        request = ""
        if key is not None and self._ledger is not None:
            who = (self._ledger.dataset, self._ledger.analyst)
            request = digest(outputs.digest, repr(budget), self._method, self.id, *who)
            if known := self._ledger.find(key, request):
                return retried(outputs, known)
        weights = self._floored()
        aim, h = first_aim(weights, nats), entropy(weights)
        for _ in range(20):  # rounding to the grid moves the bound a little, either way
            law, codes = noise_under(outputs, weights, aim, self._method)
            bound = bound_under(codes, weights, law, h) / (1 - FLOOR)
            if bound <= nats:
                break
            aim *= 0.99 * nats / bound
        else:
            raise BudgetExceeded(bound, nats)
        made = self._certificate(outputs, law, bound, h)
        return self._answered(outputs, law, codes, made, key, request)

    def _answered(
        self, outputs: Outputs, law: GridNoise | LabelChannel, codes: Ints, made: Certificate,
        key: str | None, request: str,
    ) -> Release:  # fmt: skip
        nano = math.ceil(exact_nano(made.bound))
        if self._spent + nano > self._cap:
            raise overspent(nano, self._cap - self._spent, "the session")
        posterior = self._log_posterior

        def draw() -> tuple[Json, bytes]:
            nonlocal posterior
            noisy = noisy_codes(codes[self._world.open()], law)
            posterior = updated(posterior, codes, noisy, law)
            found = answer(law, decode(noisy, law))
            return found if self._ledger is None else written(found, made), posterior.tobytes()

        receipt = None
        if self._ledger is not None:
            receipt = self._ledger.spend(
                made.bound, key=key, request=request, line=self._line, draw=draw
            )
            if posterior is self._log_posterior:  # another process was first with this key
                return retried(outputs, receipt)
            self._stand(posterior.tobytes())
        stored = draw()[0] if receipt is None else receipt.answer
        self._log_posterior = posterior
        self._spent, self._questions = self._spent + nano, self._questions + 1
        return reveal(outputs, stored, made, receipt)

    def close(self) -> None:
        """Erase the drawn world; the session cannot be resumed."""
        with self._lock:
            self._world = SealedValue(-1)
        if self._store is not None and self._store.exists():
            with open(self._store, "r+b") as file:
                file.write(bytes(os.path.getsize(self._store)))
                file.flush()
                os.fsync(file.fileno())
            self._store.unlink()
        if self._ledger is not None:
            _close(self._ledger, self.id)

    def __enter__(self) -> Session:
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
            _open(self._ledger, self.id, self._cap, state)
            self._stand(state)
        if self._store is not None:
            _seal(self._store, {"session": self.id, "world": self._world.open(),
                                "given": given is not None, "source": self._mark()})  # fmt: skip

    def _resume(self) -> None:
        assert self._store is not None
        assert self._ledger is not None
        kept = json.loads(self._store.read_text(encoding="utf-8"))
        if kept["source"] != self._mark():
            raise refuse("the source of this session", "another", "Open it with the same data.")
        self._ledger.verify()  # the state is what a charge is computed from
        self.id, self._world = kept["session"], SealedValue(int(kept["world"]))
        self._given = kept["given"]
        state, self._spent, self._cap = _load(self._ledger, self.id)
        self._log_posterior = np.frombuffer(state, np.float64)
        self._stand(state)

    def _mark(self) -> str:
        assert self._ledger is not None
        return digest(self._source.version, self._source.secret, self._ledger.id)

    def _stand(self, state: bytes) -> None:
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
        self, outputs: Outputs, law: GridNoise | LabelChannel, bound: float, h: float
    ) -> Certificate:
        return Certificate(
            secret=outputs.statement, bound=bound, charged=True, entropy=h,
            prior=f"the posterior after {self._questions} answers of a session",
            bounds={"under the posterior": bound}, noise=law.describe(), outputs=outputs.describe(),
        )  # fmt: skip


def bound_under(codes: Ints, weights: Floats, law: GridNoise | LabelChannel, h: float) -> float:
    """Return a bound in nats on what one answer leaks under these weights, whose entropy is `h`.

    It has no sampling error.
    """
    if isinstance(law, LabelChannel):
        prior = np.bincount(codes[:, 0], weights, len(law.tables))
        return label_leakage(np.asarray(prior, np.float64), law).proved["exact sum"]
    return max(0.0, proved_leakage(codes, weights, law, h))


def updated(log_prior: Floats, codes: Ints, noisy: Ints, law: GridNoise | LabelChannel) -> Floats:
    """Return the exact log posterior over (m,) worlds, given their (m, r) codes and the answer."""
    if isinstance(law, LabelChannel):
        found = law.log_density(codes[:, 0], np.broadcast_to(noisy, codes[:, 0].shape))
    elif law.laws.shared:
        low, log_mass = law.laws.each[0].log_mass
        # `sum` without its wrapper, as below
        found = np.add.reduce(log_mass.take(((noisy - low) - codes).T, mode="clip"), axis=0)
    else:
        found = np.zeros(len(codes))
        for c, axis in enumerate(law.axes):
            low, log_mass = axis.log_mass
            found += log_mass.take(noisy[c] - codes[:, c] - low, mode="clip")
    joint = log_prior + found
    joint -= np.maximum.reduce(joint)
    joint -= math.log(np.add.reduce(np.exp(joint)))
    return joint


def _seal(path: Path, body: Json) -> None:
    """Write a sealed store: for its owner's eyes, and on the disk before anything is asked."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, publish(body).encode())
        os.fsync(file)
    finally:
        os.close(file)


def _open(ledger: Ledger, session: str, cap: int, state: bytes) -> None:
    mark = sha256(state).hexdigest()

    def change() -> Json:
        ledger._store.put(Account("session", session, cap, 0, mark), state=state)
        return {"session": session, "cap": cap, "state": mark}

    ledger.record("session", change)


def _load(ledger: Ledger, session: str) -> tuple[bytes, int, int]:
    """Return (state, spent, cap) of an open session."""
    name = "session", session
    with ledger._store.reading():
        rows = ledger._store.rows(
            "SELECT state FROM rpac_accounts WHERE (kind, name) = (?, ?)", *name
        )
        account = ledger._store.account(*name)
    state = bytes(rows[0][0]) if rows else b""
    if not state or sha256(state).hexdigest() != account.note:
        raise refuse(
            "an open session with the state on record", "none", "Open a new one.", LedgerError
        )
    return state, account.spent, account.cap or 0


def _close(ledger: Ledger, session: str) -> None:
    def change() -> Json:
        ledger._store.put(ledger._store.account("session", session)._replace(note="closed"))
        return {"session": session}

    ledger.record("close", change)
