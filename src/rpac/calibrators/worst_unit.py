"""Least noise for the worst unit: deviations that hold everybody to one distance.

With a_ui what unit u moves number i by, minimise sum_i w_i s_i^2 under sum_i a_ui^2 / s_i^2 <= c^2
for all u. Its dual is to maximise (sum_i sqrt(w_i M_i))^2 / c^2 with M_i = sum_u mu_u a_ui^2 over
probabilities mu of units, and for any mu, deviations s_i^2 proportional to sqrt(M_i / w_i) are
feasible once they are raised by the largest bracket

    b_u = (sum_i a_ui^2 sqrt(w_i / M_i)) / (sum_i sqrt(w_i M_i)),

so that b_max - 1 is the relative gap between the two. The update mu_u <- mu_u b_u keeps the sum of
mu and ascends; longer steps, mu_u b_u^p, are tried and kept while they ascend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.checks import array, in_range, refuse
from rpac._base.types import Floats

GAP = 1e-3
"""Relative gap at which the ascent stops."""
_ROUNDS = 20_000


@final
@dataclass(frozen=True, eq=False)
class WorstUnit:
    """Deviations for the worst unit, with their proof.

    Attributes:
        scales: (d,) deviations that hold every unit to the distance.
        dual: No deviations that do have a smaller weighted sum of squares.
        gap: How far theirs is above it, as a share of it.
    """

    scales: Floats
    dual: float
    gap: float


def propose(moves: Floats, c: float) -> Floats:
    """Return (d,) deviations that hold every unit to distance c, whatever the numbers' units are.

    Their variances, each over the square of the largest move of its number, have the least sum.
    """
    return worst_unit(moves, c, 1 / np.square(moves).max(axis=0)).scales


def worst_unit(moves: Floats, c: float, weights: Floats | None = None) -> WorstUnit:
    """Return the least deviations under which no unit is beyond distance c.

    Args:
        moves: (k, d) what each unit moves each number by. Every number needs somebody who does.
        c: The distance.
        weights: (d,) of the numbers' variances, positive; equal by default.
    """
    squares = np.square(array(moves, "moves", 2))
    in_range(c, "c", 0.0, np.inf)
    size = squares.shape[1]
    w = np.ones(size) if weights is None else array(weights, "weights", 1)
    if w.shape != (size,) or not (w > 0).all():
        raise refuse(f"{size} positive weights", f"shape {w.shape}", "One for each number.")
    if not squares.any(axis=0).all():
        raise refuse("somebody who moves each number", "none", "Add a floor for each of them.")
    units = squares.max(axis=0)
    squares, w = squares / units, w * units  # each number in units of its largest move
    mu = _ascend(squares, w)
    brackets, root = _brackets(squares, w, mu)
    most = float(brackets.max())
    spread = np.sqrt(mu @ squares / w) * root * most / c**2
    return WorstUnit(np.sqrt(spread * units), root**2 / c**2, max(most - 1.0, 0.0))


def _brackets(squares: Floats, w: Floats, mu: Floats) -> tuple[Floats, float]:
    """Return (k,) brackets, and the root of the dual at c = 1."""
    m = mu @ squares
    root = float(np.sqrt(w * m).sum())
    return squares @ np.sqrt(w / m) / root, root


def _ascend(squares: Floats, w: Floats) -> Floats:
    """Return (k,) probabilities of units, near the dual's best."""
    mu = np.full(len(squares), 1 / len(squares))
    brackets, root = _brackets(squares, w, mu)
    power = 1.0
    for _ in range(_ROUNDS):
        if brackets.max() <= 1 + GAP / 2:
            break
        tried = mu * brackets**power
        tried /= tried.sum()
        found = _brackets(squares, w, tried)
        if found[1] >= root or power == 1.0:
            mu, (brackets, root), power = tried, found, min(power * 1.5, 64.0)
        else:
            power = 1.0
    return mu
