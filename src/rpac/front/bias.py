"""What a law does to an answer beside its error: how far it draws it in, and what helps.

Noise is unbiased; whoever may be biased shrinks a noisy answer towards the mean and errs less. A
code word is shrunk already. So the two are compared after the best linear map of either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.types import Floats
from rpac.noise.base import Law, Noise
from rpac.noise.codebook import Codebook
from rpac.noise.grid import tabulate
from rpac.worlds.outputs import Outputs

MOST_NUMBERS = 1_000
"""Numbers of an answer from which no (d, d) matrices are made."""
DRAWN_IN = "a code word is a guess, drawn towards the mean of all worlds"
"""What is said of a channel, wherever it stands beside noise."""


@final
@dataclass(frozen=True)
class Bias:
    """How a law errs, in the answer's own units; NaN where it was not worked out.

    Attributes:
        error: E|Y - Z|^2.
        shrunk: The same after the best linear map of what is released.
        keeps: Of how far worlds lie from their mean, what a release keeps on average: 1 for noise.
    """

    error: float = math.nan
    shrunk: float = math.nan
    keeps: float = math.nan


def bias(outputs: Outputs, law: Law) -> Bias:
    """Return how a law errs on finite worlds; nothing is known of labels, nor of very many numbers.

    With C the covariance of the worlds, C_zy that of world and release and C_y that of releases,
    the best linear map leaves tr(C - C_zy C_y^-1 C_yz).
    """
    if outputs.kind == "label" or outputs.dim > MOST_NUMBERS or not outputs.exact:
        return Bias()
    unit = outputs.scale
    off = (outputs.values - outputs.center) * unit
    whole = (off * outputs.weights[:, None]).T @ off
    cross, around, error = _moments(outputs, law, off, whole)
    total = float(np.trace(whole))
    if not total > 0:
        return Bias(error, 0.0, 1.0)
    explained = float(np.sum(cross * (np.linalg.pinv(around, hermitian=True) @ cross.T).T))
    keeps = float(np.trace(cross)) / total
    keeps = 1.0 if isinstance(law, Noise) and abs(keeps - 1) < 1e-9 else keeps
    return Bias(error, max(0.0, total - explained), keeps)


def _moments(
    outputs: Outputs, law: Law, off: Floats, whole: Floats
) -> tuple[Floats, Floats, float]:
    """Return Cov(Z, Y) and Cov(Y), (d, d) each, and E|Y - Z|^2."""
    unit = outputs.scale
    if isinstance(law, Noise):
        spread = law.cov * np.outer(unit, unit)
        mean = getattr(law, "mean", np.zeros(outputs.dim)) * unit
        kept = _released_part(outputs, law)
        lost = outputs.weights @ np.square(off @ (np.eye(outputs.dim) - kept.T)).sum(axis=1)
        error = float(np.trace(spread) + mean @ mean + lost)
        return whole @ kept.T, kept @ whole @ kept.T + spread, error
    made = tabulate(outputs, law)
    assert isinstance(made, Codebook)
    joint = outputs.weights[:, None] * made.matrix
    mass, words = joint.sum(axis=0), (made.words - outputs.center) * unit
    words_off = words - mass @ words
    cross = off.T @ joint @ words_off
    return cross, (words_off * mass[:, None]).T @ words_off, made.power_in(unit)


def _released_part(outputs: Outputs, noise: Noise) -> Floats:
    """Return the projection on what a noise releases, (d, d): it may drop directions."""
    basis = getattr(noise, "basis", None)
    if basis is None or getattr(noise, "span", None) is not None:
        return np.eye(outputs.dim)
    unit = outputs.scale
    return np.asarray((basis @ basis.T) * np.outer(unit, 1 / unit))
