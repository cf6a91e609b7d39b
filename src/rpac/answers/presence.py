"""Answers under the promise *person*, from what was stored: the same for every retry."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from rpac._base.types import Floats, Json
from rpac.answers import interval
from rpac.answers.release import Release
from rpac.certificate.certificate import Certificate
from rpac.person.mechanism import Drawn
from rpac.person.source import Asked

_NOISES = 400
"""Study noises for error bars: normal scores, in another order for each released sum."""


def shown(asked: Asked, kept: Json, receipt: Any = None, *, sealed: Any = None) -> Release:
    """Return the release that is stored: the same for the first call and for every retry."""
    found: Any = {name: np.asarray(part, np.float64) for name, part in kept["drawn"].items()}
    drawn = Drawn(**found | {"levels": tuple(kept["drawn"]["levels"])})
    numbers = asked.numbers(drawn)
    said = kept["certificate"]
    made = Certificate(**said | {"not_covered": tuple(said["not_covered"])})
    return Release(
        asked.form.rebuild(numbers), made, receipt, _interval(asked, drawn, numbers), sealed=sealed
    )


def _interval(asked: Asked, drawn: Drawn, numbers: Floats) -> tuple[Any, Any] | None:
    """Return ends that hold the answer without noise in 95 % of releases.

    Post-processing: the released sums with further noise of the same scales, many times, and how
    much that changes the answer; exact for sums and counts, about for quotients. Noise only: what
    clipping takes away from large contributions is not in it. Numbers that are made of no sum, as
    quantiles are, have no ends: their noise is in the rank.
    """
    if not len(drawn.scales):
        return None
    noises = study_noises(drawn.sums.shape) * drawn.scales
    moved = np.stack([asked.numbers(replace(drawn, sums=drawn.sums + one)) for one in noises])
    half = interval.NORMAL * np.ma.masked_invalid(moved).std(axis=0).filled(np.nan)
    if drawn.quantiles.size:
        half = np.where((moved == numbers).all(axis=0), np.nan, half)
    ends = numbers - half, numbers + half
    if asked.form.whole:
        ends = np.floor(ends[0]), np.ceil(ends[1])
    rebuild = asked.form.rebuild if asked.form.settle is None else asked.form.settle(numbers)
    return rebuild(ends[0]), rebuild(ends[1])


def study_noises(shape: tuple[int, ...]) -> Floats:
    """Return (_NOISES, *shape) study noises: of each sum all normal scores, in its own order.

    Their deviation is 1, so that of a released sum alone is the law's own, not that of some draws.
    """
    ranks = ((np.arange(_NOISES) + 0.5) / _NOISES).tolist()
    scores, size = np.array([NormalDist().inv_cdf(p) for p in ranks]), int(np.prod(shape))
    scores /= scores.std()
    mixed = np.random.default_rng(0).permuted(np.tile(scores, (size, 1)), axis=1)
    return np.asarray(mixed.T.reshape(_NOISES, *shape))
