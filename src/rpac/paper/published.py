"""The figures that the paper prints, and whether they can be true as privacy claims.

Accuracy: who knows the label this well has learned at least so many nats (Fano; binds any method).
Entropy: nothing leaves more to know than there was. Noise: Gaussian noise of this power, of
Auto-PAC's shape and on standardised features, leaks at least so much. A row that crosses one is
`incompatible` with its budget in nats; every other is `compatible`: these do not refute it.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from rpac.advantage import fano_accuracy

METHODS = ("Auto-PAC", "Efficient-PAC", "SR-PAC", "DP")
POOL = 30
"""Records in the pool of Iris and Rice; their membership vector has POOL log 2 nats."""
_ROUNDING = {"accuracy": 5e-4, "left": 5e-4}
_ERRORS = 3.0
_LEAK_FACTOR = 1.05


@dataclass(frozen=True)
class Claim:
    """What is printed for one method at one budget, None where nothing is.

    Attributes:
        dataset: Its name.
        method: Auto-PAC, Efficient-PAC, SR-PAC or DP.
        budget: Nats.
        accuracy: Of the perturbed classifier.
        power: E|B|^2.
        left: Conditional entropy that the method is said to leave, nats.
        target: What it aimed at: the secret's entropy minus the budget.
        success: Empirical membership success.
    """

    dataset: str
    method: str
    budget: float
    accuracy: float | None = None
    power: float | None = None
    left: float | None = None
    target: float | None = None
    success: float | None = None

    @property
    def entropy(self) -> float | None:
        """The secret's entropy, as the printed target implies it."""
        return None if self.target is None else self.target + self.budget


@dataclass(frozen=True)
class Verdict:
    """Whether a claim can be true.

    Attributes:
        word: `compatible` or `incompatible`.
        why: Why not.
        conditional: Whether that rests on the shape of noise and the scale of features alone.
    """

    word: str
    why: str = ""
    conditional: bool = False


_FIELDS = {
    "accuracy": "accuracy",
    "noise_power": "power",
    "achieved_conditional_entropy": "left",
    "target_conditional_entropy": "target",
    "empirical_psr": "success",
}


@cache
def claims(dataset: str) -> tuple[Claim, ...]:
    """Return everything printed for a dataset, by method and rising budget.

    Membership success is printed at budgets of four decimals (0.0078), noise at three (0.008):
    rows whose budgets agree to that rounding are one claim.
    """
    found: dict[tuple[str, float], dict[str, Any]] = defaultdict(dict)
    text = resources.files("rpac.paper").joinpath("published.csv").read_text()
    for row in csv.DictReader(text.splitlines()):
        if row["dataset"] == dataset:
            budget = _rounded(float(row["beta_nats"]))
            found[row["method"], budget][_FIELDS[row["metric"]]] = float(row["value"])
    order = sorted(found, key=lambda key: (METHODS.index(key[0]), key[1]))
    return tuple(Claim(dataset, *key, **found[key]) for key in order)


def budgets(dataset: str) -> list[float]:
    """Return the budgets of the paper's grid, rising, nats."""
    return sorted({claim.budget for claim in claims(dataset)})


def ceiling(nats: float, labels: Any) -> float:
    """Return the highest accuracy on these labels that a leakage of so many nats allows.

    Fano's inequality for any prior: H(L) - h(a) - (1 - a) log(K - 1) <= nats. With K balanced
    classes H(L) = log K; with others the difference counts as leaked already.
    """
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    known = math.log(len(share)) + float((share * np.log(share)).sum())
    return float(fano_accuracy(nats + max(known, 0.0), len(share)))


def judge(
    made: Claim, labels: Any = None, leaked: Callable[[float], float] | None = None
) -> Verdict:
    """Return whether a claim can be true.

    Args:
        made: What is printed.
        labels: (n,) true labels that its accuracy is over.
        leaked: A lower limit on the leakage, in nats, of noise of a given power, on standardised
            features; see `rpac.paper.means.leaked_at`.
    """
    why, firm = [], []
    if made.accuracy is not None and labels is not None:
        most = ceiling(made.budget, labels)
        room = _ERRORS * math.sqrt(most * (1 - most) / len(labels)) + _ROUNDING["accuracy"]
        if made.accuracy > most + room:
            firm.append(f"accuracy {made.accuracy:.3f} above the ceiling {most:.3f}")
    if made.power is not None and leaked is not None:
        least = leaked(made.power)
        if least > _LEAK_FACTOR * made.budget:
            why.append(
                f"noise power {made.power:.4g} leaks at least {least:.3g} nats (standardised)"
            )
    whole = math.inf if made.entropy is None else made.entropy + _ROUNDING["left"]
    if made.left is not None and made.left > whole:
        firm.append(f"conditional entropy {made.left:.3f} above the secret's {made.entropy:.3f}")
    word = "incompatible" if why or firm else "compatible"
    return Verdict(word, "; ".join([*why, *firm]), conditional=bool(why) and not firm)


def count_text(found: dict[Claim, Verdict]) -> str:
    """Return how many printed rows are incompatible, and how many of them on a condition."""
    bad = [v for v in found.values() if v.word == "incompatible"]
    text = f"{len(bad)} of {len(found)} printed rows are incompatible with their budget in nats"
    maybe = sum(v.conditional for v in bad)
    return f"{text}, {maybe} of them if features were standardised" if maybe else text


def verdicts(
    dataset: str, labels: Any = None, leaked: Callable[[float], float] | None = None
) -> dict[Claim, Verdict]:
    """Return the verdict on every printed row of a dataset."""
    return {made: judge(made, labels, leaked) for made in claims(dataset)}


def _rounded(budget: float) -> float:
    """Return a budget as the tables of noise print it: three decimals."""
    return round(budget - 1e-9, 3)
