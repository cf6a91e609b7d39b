"""One release under the promise *person*, in order: price, books, rows, noise, charge, reveal.

The price is the requested distance: a public number, whatever the data. So everything that can be
refused is refused before a row is read, and nothing is refused after that; what fails all the same
(a broken disk, no memory left) comes out as `Withheld`, with its one text, at the full price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac._base.sealed import Sealed
from rpac._base.types import Json
from rpac.advantage import distance_to_nats, distance_to_success
from rpac.answers.presence import shown
from rpac.answers.release import Release, unusual
from rpac.answers.told import question_of, told
from rpac.budget import SuccessRate, as_distance
from rpac.certificate.certificate import (
    FUNCTION_NOT_COVERED,
    GIVEN,
    GIVEN_NOT_COVERED,
    PERSON_ADVERSARY,
    PERSON_NOT_COVERED,
    VALUE_NOT_COVERED,
    Certificate,
)
from rpac.errors import Withheld
from rpac.ledger.entries import Charged, Line, Receipt
from rpac.ledger.ledger import Ledger
from rpac.person.contributions import Linear, Rows, Units
from rpac.person.mechanism import Drawn, draw
from rpac.person.source import Asked, Presence
from rpac.person.split import Split, split
from rpac.release.refusal import MARK, was_withheld, withheld

Ask = Callable[[Any, Presence], Asked]
"""Reads a mechanism as a question to a source, by public things alone."""
STATE = b"person"
"""What the books keep of a session: it has no posterior, so its state never changes."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Studied(Sealed):
    """What an audit needs of a release. Sealed: never printed, compared or pickled."""

    question: Linear
    units: Rows | Units
    shares: Split
    drawn: Drawn

    @cached_property
    def rows(self) -> Rows:
        """The rows, read again where a database keeps them; refused where they stay there."""
        return self.units.held()


@final
@dataclass(frozen=True)
class Inquiry:
    """What is asked of whom, for how much; arguments as for `rpac.privatize`."""

    mechanism: Any
    source: Presence
    budget: Any
    ledger: Ledger | None = None
    key: str | None = None
    line: Line = Line(promise="person")
    asked: Mapping[str, Any] | None = None
    distance: float = field(init=False)
    """Delta: what is requested, charged and certified; read once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distance", as_distance(self.budget))
        if self.key is not None and self.ledger is None:
            raise refuse("a ledger for the key", repr(self.key), "Pass ledger=rpac.Ledger(...).")

    def terms(self, asked: Asked, ledger: Ledger) -> str:
        """Return a hash of all that a key stands for: the question, not the data."""
        who = (ledger.dataset, ledger.analyst, self.line.session)
        name = getattr(self.mechanism, "__qualname__", None) or repr(self.mechanism)
        return digest("person", repr(self.budget), spelled(asked), name, *who)


def spelled(asked: Asked) -> str:
    """Return all that is public of a question, as text."""
    beside = {"labels": asked.form.labels, "notes": asked.notes, "middle": asked.middle}
    public = {**vars(asked.question), **beside}
    return repr({name: _plain(part) for name, part in public.items()})


def _plain(part: Any) -> Any:
    parts = part if isinstance(part, tuple) else ()
    return [vars(one) | {"grid": ""} if hasattr(one, "grid") else one for one in parts] or part


def released(inquiry: Inquiry, ask: Ask) -> Release:
    """Return the answer to an inquiry.

    Guarantees:
        Whatever the data, what is returned, stored and refused has a law that tells nobody's
        presence better than two unit Gaussians at the requested distance (but for
        `gaussian.ERROR` a draw), and the books have its nats before it is returned. Answers *given
        the level* promise less, and say so; their nats are on a line of their own.
    """
    asked = ask(inquiry.mechanism, inquiry.source)
    ledger, nats = inquiry.ledger, distance_to_nats(inquiry.distance)
    worded = inquiry.asked or question_of(inquiry.mechanism)  # before it runs, and could tell
    terms = "" if ledger is None else inquiry.terms(asked, ledger)
    known = None if ledger is None else ledger.find(inquiry.key, terms)
    if known is not None:
        return _revealed(asked, known.answer, known)
    line = replace(inquiry.line, promise=asked.promise)
    if ledger is not None:
        ledger.check(nats, line)

    def charged(kept: Json) -> Charged:
        assert ledger is not None
        key = inquiry.key
        return ledger.charge(nats, key=key, request=terms, line=line, draw=lambda: (kept, STATE))

    with withheld(None if ledger is None else lambda: charged(dict(MARK))):
        shares = split(inquiry.distance, asked.question)
        rows = asked.rows()
        given = asked.given
        drawn = draw(asked.question, rows, shares) if given is None else given(inquiry.distance)
        kept = _stored(asked, drawn, _certificate(inquiry, asked, drawn))
        sealed = Studied(asked.question, rows, shares, drawn) if given is None else None
        first = shown(asked, kept, sealed=sealed)
        if ledger is None:
            return first
        kept |= told(first, worded, asked.question.groups * len(asked.question.terms))
        receipt, state = charged(kept)
    if state is not None:
        return replace(first, receipt=receipt)
    return _revealed(asked, receipt.answer, receipt)


def _revealed(asked: Asked, kept: Json, receipt: Receipt) -> Release:
    """Return what is on record: the answer, or that it was withheld."""
    if was_withheld(kept):
        raise Withheld
    return shown(asked, kept, receipt)


def _certificate(inquiry: Inquiry, asked: Asked, drawn: Drawn) -> Certificate:
    distance, question = inquiry.distance, asked.question
    names = ["rows" if j is None else question.columns[j].name for j in question.levels]
    terms = [term.name for term in question.terms]
    columns = [column.name for column in question.columns]
    asked_for = {"distance": distance}
    if isinstance(inquiry.budget, SuccessRate) and inquiry.budget.prior == 0.5:
        asked_for["success"] = float(inquiry.budget.rate)
    success = asked_for.get("success", distance_to_success(distance))
    whole = asked.promise == "person"
    return Certificate(
        promise=asked.promise, secret=inquiry.source.statement, prior="any", distance=distance,
        bound=distance_to_nats(distance), charged=True, entropy=None, bounds={},
        worst_unit_success=success if whole else None, grade="proved" if whole else GIVEN,
        noise={
            "family": "rounded gaussian",
            "power": float(np.square(drawn.scales).sum() * question.groups),
            "scales": dict(zip(terms, drawn.scales.tolist(), strict=True)),
            "levels": dict(zip(names, drawn.levels, strict=True)),
            "middles": dict(zip(columns, drawn.middles.tolist(), strict=True)),
        },
        outputs={"kind": asked.way, "groups": question.groups, "notes": list(asked.notes)},
        requested=asked_for, adversary=PERSON_ADVERSARY,
        not_covered=(*_not_covered(inquiry.source, asked), *PERSON_NOT_COVERED),
    )  # fmt: skip


def _not_covered(source: Presence, asked: Asked) -> tuple[str, ...]:
    """Return what a certificate does not cover, beside what none does."""
    found: tuple[str, ...] = () if asked.given is None else GIVEN_NOT_COVERED
    found += () if asked.way == "contributions" else FUNCTION_NOT_COVERED
    return found + (() if source.instead else VALUE_NOT_COVERED)


def _stored(asked: Asked, drawn: Drawn, made: Certificate) -> Json:
    plain = {name: np.asarray(part).tolist() for name, part in asdict(drawn).items()}
    return {"drawn": plain, "certificate": unusual(made)}
