"""The plan: what an answer would cost and how good it would be, before anything is spent."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac._base.types import Floats, Json
from rpac.advantage import nats_to_success
from rpac.budget import Budget, SuccessRate, as_budget
from rpac.calibrators.base import Calibrator
from rpac.calibrators.equilibrium import Equilibrium
from rpac.calibrators.utility import SquaredError
from rpac.certificate.evidence import proved_leakage
from rpac.certificate.person import on_a_person
from rpac.errors import ExactRelease
from rpac.front.bias import DRAWN_IN, bias
from rpac.front.compare import WORTH, curve
from rpac.front.methods import calibrate, calibrator, needs_no_noise
from rpac.ledger.entries import NANO, exact_nano
from rpac.noise.base import Law, Noise
from rpac.noise.codebook import Codebook
from rpac.noise.grid import tabulate
from rpac.person.source import Presence
from rpac.pictures.text import at_most, columns
from rpac.report import wording
from rpac.worlds.flatten import flatten
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Source, Subsets

_WORDS = 256
"""Code words that a plan looks for, at most: it should not take long."""
CURVE = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Budgets in nats along which noise is drawn."""


@final
@dataclass(frozen=True)
class Plan:
    """A price and two errors a number. None of them is the answer.

    Attributes:
        nats: The price: what the ledger will be charged at most. For a success rate on a person
            it is the least proved bound of the planned noise, since that is what will be booked.
        membership: What one person's membership in the drawn sample can be guessed at, at most;
            None where no half-sample is drawn.
        meaning: The price in words: the most that it can mean for one person. What is certified
            may be less.
        numbers: For each number its name, and the standard errors that noise and sampling add
            to it, in its own units, against the whole table; `fact` is true of numbers on which
            all worlds agree: facts of the pool, released as they are.
        curve: (budget, noise) pairs: root mean square noise over all numbers, in shares of how
            far the answer varies between samples.
        chosen: The share at this plan's budget.
        remaining: Nats left in the ledger before and after; None without a ledger.
        channel: What a channel to public code words would do at the same price: its root mean
            square error (`error`) beside that of the noise (`noise`) and of the noise after its
            best linear shrinkage (`shrunk`), in the answer's units; how many `words`; what it
            `keeps` of a world's distance from the mean; whether it is `proposed`, because it errs
            less. None for half-samples, whose words must be given, and for labels.
    """

    nats: float
    membership: float | None
    meaning: str
    numbers: list[Json]
    curve: list[tuple[float, float]]
    chosen: float
    remaining: tuple[float, float] | None
    channel: Json | None = None

    @property
    def beside(self) -> str:
        """What is said of the channel, in words; empty where there is none."""
        if self.channel is None:
            return ""
        said = self.channel
        better = "less" if said["proposed"] else "no less"
        text = (
            f"a channel to {said['words']} public code words errs by {said['error']:.4g} in all, "
            f"noise by {said['noise']:.4g} ({said['shrunk']:.4g} after its best linear shrinkage): "
            f"{better} error, but {DRAWN_IN}, and keeps {said['keeps']:.0%} of the distance."
        )
        propose = ' Proposed where that does no harm: method="channel".'
        return text + propose if said["proposed"] else text

    def __str__(self) -> str:
        rows = [(n["number"], n["noise"], n["sampling"]) for n in self.numbers]
        price = f"price: at most {at_most(self.nats)} nats. {self.meaning}"
        table = columns(("number", "+- noise", "+- sampling"), rows)
        return "\n".join([price, table, *([self.beside] if self.beside else [])])

    def to_dict(self) -> Json:
        """Return the plan as plain data."""
        return asdict(self)


def _of_outputs(outputs: Any, budget: Any) -> None:
    """Refuse what is planned elsewhere: a question about presence, a function without its run."""
    if isinstance(outputs, Outputs) and not isinstance(budget, Source):
        return
    move = "Simulate first: rpac.plan(rpac.simulate(source, function), budget)."
    if isinstance(budget, Presence):
        move = "Under *person*: rpac.compare((question, people), [budget])."
    raise refuse("outputs of a simulation, then a budget", type(outputs).__name__, move)


def plan(
    outputs: Outputs,
    budget: Any,
    method: str | Calibrator = "equilibrium",
    *,
    noise: Law | None = None,
    full: Any = None,
    left: float | None = None,
) -> Plan:
    """Return the plan of a release; nothing is drawn, spent or printed of the answer.

    Args:
        outputs: From `simulate`.
        budget: As for `privatize`.
        method: As for `privatize`.
        noise: The noise, if it is known already.
        full: (d,) answer on the whole table, for the sampling error; the mean of worlds otherwise.
        left: Nats left in the ledger.
    """
    _of_outputs(outputs, budget)
    limit = as_budget(budget)
    if noise is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExactRelease)
            noise = calibrate(outputs, limit, method)
    nats, membership = price(outputs, limit, noise)
    return Plan(
        nats=nats,
        membership=membership,
        meaning=_meaning(membership, nats),
        numbers=_numbers(outputs, noise, full),
        curve=noise_curve(outputs),
        chosen=_share(outputs, noise),
        remaining=None if left is None else (left, left - nats),
        channel=_channel(outputs, nats, method, noise),
    )


def _channel(outputs: Outputs, nats: float, method: str | Calibrator, noise: Law) -> Json | None:
    """Return what a channel would do at the same price and for the same utility, beside noise."""
    if outputs.kind == "label" or outputs.halves or not outputs.exact:
        return None
    if isinstance(noise, Codebook) or needs_no_noise(outputs, nats) or outputs.wide:
        return None
    utility = getattr(calibrator(method), "utility", SquaredError())
    book = Equilibrium(family="channel", utility=utility, words=_WORDS).propose(outputs, nats)
    assert isinstance(book, Codebook)
    errs, noisy = bias(outputs, book), bias(outputs, noise)
    return {
        "error": math.sqrt(errs.error), "noise": math.sqrt(noisy.error),
        "shrunk": math.sqrt(noisy.shrunk), "keeps": errs.keeps, "words": len(book.words),
        "proposed": errs.shrunk < (1 - WORTH) * noisy.shrunk,
    }  # fmt: skip


def price(outputs: Outputs, limit: Budget, noise: Law) -> tuple[float, float | None]:
    """Return what will be charged at most, in nats, and the membership figure beside it.

    A release within a budget of nats is charged at most those. A success rate on a person says
    nothing of nats: there the least proved bound of the law, which the search finds again.
    """
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        law = tabulate(outputs, noise)
        h = entropy(outputs.weights)
        bound = proved_leakage(outputs.codes(law), outputs.weights, law, h)
        return _booked(bound), limit.rate
    nats = _booked(limit.nats(outputs.entropy))
    if outputs.members is None:
        return nats, None
    return nats, min(1.0, float(nats_to_success(nats)))


def _booked(nats: float) -> float:
    """Return an amount as the books round it: up, to a billionth."""
    return math.ceil(exact_nano(nats)) / NANO


def _meaning(membership: float | None, nats: float) -> str:
    """Return what the price means: for one person, where a half of them is drawn."""
    return wording.any_guess(nats) if membership is None else wording.before_and_after(membership)


def _numbers(outputs: Outputs, noise: Law, full: Any) -> list[Json]:
    if outputs.kind == "label":
        label = {"number": "a label", "noise": float(noise.power), "sampling": None}
        return [label | {"fact": bool(outputs.constant[0])}]
    scale = outputs.scale
    weights, values = outputs.planning.weights, outputs.planning.values * scale
    target = weights @ values if full is None else np.asarray(full, np.float64)
    sampling = np.sqrt(weights @ np.square(values - target))
    constant = outputs.constant
    added = _deviations(outputs, noise) * np.abs(scale)
    return [
        {"number": name, "noise": float(a), "sampling": float(s), "fact": bool(fact)}
        for name, a, s, fact in zip(
            outputs.names, np.where(constant, 0.0, added), sampling, constant, strict=True
        )
    ]


def _deviations(outputs: Outputs, noise: Law) -> Floats:
    """Return how far each number is off, (d,): by noise, or by code words with their bias."""
    if isinstance(noise, Noise):
        return np.sqrt(noise.variances_of_numbers)
    found = tabulate(outputs, noise).error()
    return np.asarray(np.sqrt(np.square(found["noise"]) + np.square(found["bias"])))


def noise_curve(outputs: Outputs) -> list[tuple[float, float]]:
    """Return noise in shares of the answer's own spread, along budgets; closed form, no search."""
    if outputs.kind == "label":
        return []
    laws = curve(outputs, CURVE, "auto-pac")
    return [(b, _share(outputs, law)) for b, law in zip(CURVE, laws, strict=True)]


def _share(outputs: Outputs, noise: Law) -> float:
    if outputs.kind == "label":
        return float(noise.power)
    away = outputs.planning.weights @ outputs.planning.values - outputs.center
    spread = float(outputs.spread.sum() + away @ away)
    return float(np.sqrt(noise.power / spread)) if spread > 0 else 0.0


def full_answer(source: Source, mechanism: Any) -> Floats | None:
    """Return the (d,) answer on the whole table, or None. Sealed: for errors only."""
    found = getattr(mechanism, "full", None)
    if found is not None:
        return np.asarray(found, np.float64).ravel()
    if not isinstance(source, Subsets) or source.frame is None:
        return None
    try:
        return np.asarray(flatten(mechanism(source.frame.to_native()))[1], np.float64)
    except Exception:  # a black box may raise anything; the mean of worlds serves
        return None
