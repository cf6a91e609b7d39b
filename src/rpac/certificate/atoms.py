"""Finite worlds as atoms of the law of Z: equal ones are one, and what is rare is merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rpac._base.entropy import entropy
from rpac._base.types import Floats, Ints

MERGED = 1e-7
"""Total weight of the worlds that the sampled bound merges; fixed in advance."""


def distinct(points: Any, weights: Floats) -> tuple[Any, Floats]:
    """Return the distinct rows and their total weights: equal outputs are one world."""
    rows, inverse = np.unique(points, axis=0, return_inverse=True)
    return rows, np.asarray(np.bincount(inverse.ravel(), weights, len(rows)), np.float64)


def centred(codes: Ints, weights: Floats) -> Ints:
    """Return integer worlds around 0, so that dividing and squaring them keeps their digits."""
    return np.asarray(codes - np.rint(weights @ codes).astype(np.int64))


def merge_tail(weights: Floats) -> tuple[Ints, Callable[[float], float]]:
    """Return the worlds to keep, and how a bound on them becomes one on all.

    Proof: with T the event of total weight e that a merged world was drawn, T is a function of X,
    so MI(X; Y) = MI(T; Y) + MI(X; Y | T) <= h(e) + (1 - e) MI_main + e H(X | T = 1).
    """
    order = np.argsort(weights)
    tail = order[: np.searchsorted(np.cumsum(weights[order]), MERGED, side="right")]
    mass = float(weights[tail].sum())
    if mass == 0.0:
        return np.arange(weights.size), lambda bound: bound
    price = entropy(np.array([mass, 1 - mass])) + mass * entropy(weights[tail] / mass)
    return np.sort(order[tail.size :]), lambda bound: price + (1 - mass) * bound
