"""One release, from a question to its answer: certify, check the books, draw, write, reveal.

Who proposes the noise is not trusted: whatever comes back is tabulated and certified here, and the
very law that was certified is the one that is drawn from.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac._base.sealed import SealedValue
from rpac._base.types import Ints, Json
from rpac.budget import as_budget
from rpac.certificate.attempts import Attempts
from rpac.certificate.certificate import Certificate
from rpac.certificate.issue import issue
from rpac.ledger.entries import Line
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Law, Releasable
from rpac.noise.grid import GridNoise, tabulate
from rpac.release.answer import Release, shown, stored
from rpac.release.draw import draw_among, given_worlds, noisy_codes
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import answer_on_fresh_draw, simulate
from rpac.worlds.source import Draws, Source

Propose: TypeAlias = Callable[[Outputs], Law]
"""Returns noise for some outputs and a budget of its own: a proposal."""


@final
@dataclass(frozen=True)
class Request:
    """What is asked, of which secret, for how much; arguments as for `rpac.privatize`."""

    mechanism: Callable[..., Any]
    source: Source
    budget: Any
    method: str
    confidence: float
    ledger: Ledger | None = None
    key: str | None = None
    secret: Any = None
    n_jobs: int = 1
    seed: int | None = None
    allow_exact: bool = False

    def __post_init__(self) -> None:
        as_budget(self.budget)
        if self.key is not None and self.ledger is None:
            raise refuse("a ledger for the key", repr(self.key), "Pass ledger=rpac.Ledger(...).")

    def outputs(self) -> Outputs:
        """Return the mechanism's outputs on every world."""
        seed = self._study_seed() if self.seed is None else self.seed
        found = simulate(self.source, self.mechanism, n_jobs=self.n_jobs, seed=seed)
        if self.secret is None:
            return found
        return found.stating(f"{found.statement} (given by its owner, who declares the prior)")

    def _study_seed(self) -> int:
        """Return 0 for finite worlds; for draws a new seed each time, or one for each key."""
        if not isinstance(self.source, Draws):
            return 0
        if self.key is None:
            return secrets.randbits(63)
        return int.from_bytes(sha256(self.key.encode()).digest()[:7], "little")

    def digest(self, outputs: Outputs) -> str:
        """Return a hash of all that a key stands for."""
        asked = [outputs.digest, repr(self.budget), self.method, str(self.secret is None)]
        asked += [repr(self.confidence), repr(self.allow_exact)]
        who = () if self.ledger is None else (self.ledger.dataset, self.ledger.analyst)
        return digest(*asked, *who)

    def line(self) -> Line:
        """Return the line of the books that the charge falls on."""
        if self.ledger is None:
            return Line()
        owned = self.source.secret
        if self.secret is not None:  # of its own, so that nothing else is booked beside it
            owned = digest(self.source.secret, secrets.token_hex(16))
        return Line(self.source.version, owned)


def charge(made: Certificate) -> float:
    """Return the nats to book: the bound, and what its error could cost on average.

    With probability 1 - confidence a statistical bound fails, and then leakage is still at most
    H(X); for draws, at most the bound that holds for every law on the box.
    """
    if made.grade == "proved":
        return made.bound
    most = made.bounds["box"] if made.entropy is None else made.entropy
    return made.bound + (1.0 - made.confidence) * most


def release(request: Request, propose: Propose, attempts: Attempts) -> Release:
    """Return the answer to a request, with noise that was proposed and then certified.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget,
        and nothing is revealed before its charge is on record.
    """
    ledger, outputs = request.ledger, request.outputs()
    given = None if request.secret is None else given_worlds(request.source, request.secret)
    mark = request.digest(outputs)
    if ledger is not None and (known := ledger.find(request.key, mark)):
        return shown(outputs, known.answer, known)
    law, made = _certified(request, outputs, propose, attempts)
    line = request.line()
    if ledger is not None:
        ledger.check(charge(made), line)  # before the mechanism sees a fresh secret
    codes = _sealed_codes(request, outputs, law, given)

    def draw() -> tuple[Json, bytes]:
        released = noisy_codes(codes(), law, allow_exact=request.allow_exact)
        return stored(law, released, made), b""

    if ledger is None:
        return shown(outputs, draw()[0], law=law)
    charged = ledger.charge(charge(made), key=request.key, request=mark, line=line, draw=draw)
    first = charged.state is not None  # else another call's law, which only that call knows
    return shown(outputs, charged.receipt.answer, charged.receipt, law=law if first else None)


def _certified(
    request: Request, outputs: Outputs, propose: Propose, attempts: Attempts
) -> tuple[Releasable, Certificate]:
    """Return the law to release and its certificate, within the budget."""
    law = tabulate(outputs, propose(outputs.planning))  # the judging half is not shown
    made = issue(outputs, law, request.confidence, attempts=attempts, budget=request.budget)
    if law.describe()["digest"] != made.noise["digest"]:
        raise refuse("the law that was certified", "another", "Leave the noise as it was made.")
    return law, made


def _sealed_codes(
    request: Request, outputs: Outputs, law: Releasable, given: list[int] | None
) -> Callable[[], Ints]:
    """Return what opens the (r,) integers of the secret: drawn when asked, or given.

    A draw from an open distribution is made here, before the charge, because the mechanism must
    run on it; a world is one of the stored outputs, and is drawn only once the charge fits.
    """
    if isinstance(request.source, Draws):
        assert isinstance(law, GridNoise)
        fresh = answer_on_fresh_draw(request.source, request.mechanism, outputs, request.secret)
        return SealedValue(np.asarray(law.encode_rows(fresh[None])[0])).open
    return lambda: np.asarray(outputs.codes(law)[draw_among(outputs.weights, given)])
