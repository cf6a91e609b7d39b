"""The plan: what an answer would cost and how good it would be, before anything is spent."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from rpac._base.types import Floats, Json
from rpac.advantage import nats_to_success
from rpac.budget import Budget, SuccessRate, as_budget
from rpac.calibrators.base import Calibrator
from rpac.certificate.person import on_a_person
from rpac.errors import ExactRelease
from rpac.front.compare import curve
from rpac.front.methods import calibrate
from rpac.noise.base import Law, Noise
from rpac.report import wording
from rpac.worlds.flatten import flatten
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Source, Subsets

CURVE = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Budgets in nats along which noise is drawn."""


@final
@dataclass(frozen=True)
class Plan:
    """A price and two errors a number. None of them is the answer.

    Attributes:
        nats: The price: what the ledger will be charged at most.
        meaning: The price in words: the most that it can mean for one person. What is certified
            may be less.
        numbers: For each number its name, and the standard errors that noise and sampling add
            to it, in its own units, against the whole table.
        curve: (budget, noise) pairs: root mean square noise over all numbers, in shares of how
            far the answer varies between samples.
        chosen: The share at this plan's budget.
        remaining: Nats left in the ledger before and after; None without a ledger.
    """

    nats: float
    meaning: str
    numbers: list[Json]
    curve: list[tuple[float, float]]
    chosen: float
    remaining: tuple[float, float] | None

    def to_dict(self) -> Json:
        """Return the plan as plain data."""
        return asdict(self)


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
    limit = as_budget(budget)
    if noise is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExactRelease)
            noise = calibrate(outputs, limit, method)
    nats = limit.nats(outputs.entropy)
    return Plan(
        nats=nats,
        meaning=_meaning(outputs, limit, nats),
        numbers=_numbers(outputs, noise, full),
        curve=noise_curve(outputs),
        chosen=_share(outputs, noise),
        remaining=None if left is None else (left, left - nats),
    )


def _meaning(outputs: Outputs, limit: Budget, nats: float) -> str:
    """Return what the price means: for one person, where a half of them is drawn."""
    if outputs.masks is None:
        return wording.any_guess(nats)
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        return wording.before_and_after(limit.rate)
    return wording.before_and_after(float(nats_to_success(nats)))


def _numbers(outputs: Outputs, noise: Law, full: Any) -> list[Json]:
    if not isinstance(noise, Noise):
        return [{"number": "a label", "noise": float(noise.power), "sampling": None}]
    scale = outputs.scale
    weights, values = outputs.planning.weights, outputs.planning.values * scale
    target = weights @ values if full is None else np.asarray(full, np.float64)
    sampling = np.sqrt(weights @ np.square(values - target))
    added = np.sqrt(np.diag(noise.cov)) * np.abs(scale)
    return [
        {"number": name, "noise": float(a), "sampling": float(s)}
        for name, a, s in zip(outputs.names, added, sampling, strict=True)
    ]


def noise_curve(outputs: Outputs) -> list[tuple[float, float]]:
    """Return noise in shares of the answer's own spread, along budgets; closed form, no search."""
    if outputs.kind == "label":
        return []
    laws = curve(outputs, CURVE, "auto-pac")
    return [(b, _share(outputs, law)) for b, law in zip(CURVE, laws, strict=True)]


def _share(outputs: Outputs, noise: Law) -> float:
    if outputs.kind == "label":
        return float(noise.power)
    moves = np.square(outputs.planning.values - outputs.center)
    return float(np.sqrt(noise.power / (outputs.planning.weights @ moves).sum()))


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
