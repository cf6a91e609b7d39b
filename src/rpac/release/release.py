"""One release, from a question to its answer: certify, check the books, draw, write, reveal.

What can be refused by public things alone is refused first, in its own words. Everything after that
looks at data, and comes out as an answer or as `Withheld`: see `rpac.release.refusal`.

Who proposes the noise is not trusted: whatever comes back is tabulated and certified here, and the
very law that was certified is the one that is drawn from.
"""

from __future__ import annotations

import math
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from rpac._base.checks import in_range, plain_text, refuse
from rpac._base.entropy import entropy
from rpac._base.hashing import digest, fingerprint
from rpac._base.sealed import SealedValue
from rpac._base.types import Ints, Json
from rpac.answers.release import Release, shown, stored
from rpac.answers.told import question_of, told
from rpac.budget import Nats, ResidualEntropy, SuccessRate, as_budget
from rpac.certificate.attempts import Attempts
from rpac.certificate.certificate import Certificate
from rpac.certificate.issue import issue
from rpac.errors import BudgetExceeded, InputError, Withheld
from rpac.ledger.entries import Charged, Line, Receipt
from rpac.ledger.ledger import Ledger
from rpac.noise.base import Law, Releasable
from rpac.noise.grid import GridNoise, agreed_law, tabulate
from rpac.noise.plain import anew
from rpac.release.draw import draw_among, given_worlds, noisy_codes
from rpac.release.refusal import refusal_in, told_or_marked, was_withheld, withheld
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import answer_on_fresh_draw, simulate
from rpac.worlds.source import Draws, Source, Subsets

Propose: TypeAlias = Callable[[Outputs], Law]
"""Returns noise for some outputs and a budget of its own: a proposal."""


@final
@dataclass(frozen=True)
class Request:
    """What is asked, of which secret, for how much; arguments as for `rpac.privatize`."""

    mechanism: Any
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
    subject: str = ""
    store: Any = None
    asked: Mapping[str, Any] | None = None
    executor: Any = None
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        limit = as_budget(self.budget)
        if isinstance(limit, Nats) and limit is not self.budget:  # a number, of whatever class
            object.__setattr__(self, "budget", limit.value)
        if not isinstance(self.source, Source):
            move = (
                "Wrap a table of people in rpac.Presence(data, unit=...), a pool that is public in "
                "rpac.Subsets, a list of secrets in rpac.Worlds."
            )
            raise refuse("a Source", type(self.source).__name__, move)
        in_range(self.confidence, "confidence", 0.0, 1.0)
        if self.key is not None and self.ledger is None:
            raise refuse("a ledger for the key", repr(self.key), "Pass ledger=rpac.Ledger(...).")
        if plain_text(self.subject, "subject") and self.secret is None:
            raise refuse("a given secret for the subject", repr(self.subject), "Pass secret=.")

    @property
    def nats(self) -> float | None:
        """What is asked for, in nats; None where only a person's success is limited."""
        limit = as_budget(self.budget)
        halves = isinstance(self.source, Subsets)
        if isinstance(limit, SuccessRate) and limit.prior == 0.5 and halves:
            return None
        return limit.nats(entropy_of(self.source) if isinstance(limit, ResidualEntropy) else None)

    def outputs(self) -> Outputs:
        """Return the mechanism's outputs on every world: simulated now, or before."""
        given = isinstance(self.mechanism, Outputs)
        found = self.mechanism.of(self.source) if given else self._simulated()
        if self.secret is None:
            return found.stating(found.statement)  # a release holds its outputs, not the table
        return found.stating(f"{found.statement} (given by its owner, who declares the prior)")

    def _simulated(self) -> Outputs:
        seed = self._study_seed() if self.seed is None else self.seed
        return simulate(
            self.source, self.mechanism, self.n_jobs, seed, store=self.store,
            executor=self.executor, checkpoint=self.checkpoint,
        )  # fmt: skip

    def _study_seed(self) -> int:
        """Return 0 for finite worlds; for draws a new seed each time, or one for each key."""
        if not isinstance(self.source, Draws):
            return 0
        if self.key is None:
            return secrets.randbits(63)
        return int.from_bytes(sha256(self.key.encode()).digest()[:7], "little")

    def terms(self, ledger: Ledger) -> str:
        """Return a hash of all that a key stands for, but the outputs: who, what of, how much."""
        asked = [repr(self.budget), self.method, repr(self.confidence), repr(self.allow_exact)]
        of = "" if self.secret is None else fingerprint(self.secret)
        about = (self.source.version, self.source.secret, of, self.subject)
        return digest(*asked, *about, ledger.dataset, ledger.analyst)

    def line(self) -> Line:
        """Return the line of the books that the charge falls on."""
        if self.ledger is None:
            return Line()
        if self.secret is None:
            return Line(self.source.version, self.source.secret)
        return given_line(self.subject, secrets.token_hex(16))


def given_line(subject: str, who: str) -> Line:
    """Return the line of a given secret: of whom it is about, however its worlds are listed.

    Args:
        subject: Whom the secret is about, in whatever case and width; books add the dataset.
        who: The one release or session that may ask about it: no other is booked beside it.
    """
    name = " ".join(unicodedata.normalize("NFKC", subject).casefold().split())
    return Line(digest("given", name), digest("given", name, who))


def entropy_of(source: Source) -> float | None:
    """Return H(X) of the drawn world, from the prior alone; None for open distributions."""
    if isinstance(source, Draws):
        return None
    if source.weights is not None:
        return entropy(source.weights)
    return math.log(len(source.worlds(0)))


def charge(made: Certificate) -> float:
    """Return the nats to book: the least proved bound, or the statistical one and its error.

    With probability 1 - confidence a statistical bound fails, and then leakage is still at most
    H(X); for draws, at most the bound that holds for every law on the box. So what it costs on
    average is at most the bound and that share of the most; a proved bound may be less.
    """
    if made.grade == "proved":
        return made.bound
    most = made.bounds["box"] if made.entropy is None else made.entropy
    at_most = made.bound + (1.0 - made.confidence) * most
    # The one statistical bound is the least of them; all others are proved.
    return min([at_most, *sorted(made.bounds.values())[1:]])


def release(request: Request, propose: Propose, attempts: Attempts) -> Release:
    """Return the answer to a request, with noise that was proposed and then certified.

    Guarantees:
        Nothing is drawn before a certificate of the very law that is released meets the budget,
        and nothing is revealed before its charge is on record, in one transaction with the answer
        and all that its record tells of it: whoever dies after it can have both back.

    Raises:
        Withheld: For whatever depends on data.
    """
    ledger, nats = request.ledger, request.nats
    asked = request.asked or question_of(request.mechanism)  # before it runs, and could tell
    given = None if request.secret is None else given_worlds(request.source, request.secret)
    with withheld(refusal_in(ledger), static=(InputError,)):  # reads rows: a cell may fail
        line, terms = request.line(), "" if ledger is None else request.terms(ledger)
    known = None if ledger is None else ledger.find(request.key, terms)
    if known is not None and was_withheld(known.answer):
        raise Withheld
    if ledger is not None and known is None:
        ledger.check(max(nats or 0.0, Withheld.NATS), line)
    book = refusal_in(ledger, None if known else request.key, terms)
    with withheld(book, static=(InputError,)):
        outputs = request.outputs()
    with withheld(book):
        if ledger is not None and known is not None:
            return again(outputs, known, ledger)
        outputs.rebuild(outputs.center)  # what cannot be shown is refused before it is charged
        law, made = _certified(request, outputs, propose, attempts)
        _hold(made, nats, ledger, line)  # before the mechanism sees a fresh secret
        codes = _sealed_codes(request, outputs, law, given)
        bare = request.allow_exact or bool(outputs.constant.all())

        if ledger is None:
            kept = stored(outputs, law, noisy_codes(codes(), law, allow_exact=bare), made)
            return shown(outputs, kept, law=law)

        def drawn(released: Ints) -> Json:
            kept = stored(outputs, law, released, made)
            return kept | told(shown(outputs, kept), asked, outputs.dim)

        def draw() -> tuple[Json, bytes]:
            released = noisy_codes(codes(), law, allow_exact=bare)
            return told_or_marked(lambda: drawn(released)), b""

        charged = ledger.charge(charge(made), key=request.key, request=terms, line=line, draw=draw)
    return _first(outputs, charged, law)


def _hold(made: Certificate, nats: float | None, ledger: Ledger | None, line: Line) -> None:
    """Refuse a charge above what was asked for, or above what the books have left."""
    if nats is not None and charge(made) > nats:
        raise BudgetExceeded(charge(made), nats)
    if ledger is not None:
        ledger.check(charge(made), line)


def _first(outputs: Outputs, charged: Charged, law: Releasable) -> Release:
    """Return what was just charged; or what another call with the same key was first to write."""
    receipt, state = charged
    if was_withheld(receipt.answer):
        raise Withheld
    return shown(outputs, receipt.answer, receipt, law=None if state is None else law)


def again(outputs: Outputs, known: Receipt, ledger: Ledger) -> Release:
    """Return a release that is on record, if it is of these very outputs."""
    if known.answer["certificate"]["outputs"]["fingerprint"] != ledger.fingerprint(outputs.digest):
        raise refuse("the outputs of the first time", "others", "Take a new key.")
    return shown(outputs, known.answer, known)


def _certified(
    request: Request, outputs: Outputs, propose: Propose, attempts: Attempts
) -> tuple[Releasable, Certificate]:
    """Return the law to release and its certificate, within the budget."""
    same = bool(outputs.constant.all())
    law = agreed_law(outputs) if same else tabulate(outputs, anew(propose(outputs.planning.lent())))
    made = issue(outputs, law, request.confidence, attempts=attempts, budget=request.budget)
    if attempts.fingerprint(law.describe()["digest"]) != made.noise["fingerprint"]:
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
