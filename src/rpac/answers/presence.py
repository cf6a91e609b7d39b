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
from rpac.person.level import grid_of_middles
from rpac.person.mechanism import MIDDLE_GRID, Drawn, _deviation
from rpac.person.source import Asked
from rpac.person.split import split

_NOISES = 400
"""Study noises for error bars: normal scores, in another order for each released sum."""
_ENOUGH = 4.0
"""People, in deviations of the noise of their votes, from which they settle where a middle is."""


def shown(asked: Asked, kept: Json, receipt: Any = None, *, sealed: Any = None) -> Release:
    """Return the release that is stored: the same for the first call and for every retry."""
    found: Any = {name: np.asarray(part, np.float64) for name, part in kept["drawn"].items()}
    drawn = Drawn(**found | {"levels": tuple(kept["drawn"]["levels"])})
    numbers = asked.numbers(drawn)
    said = kept["certificate"]
    made = Certificate(**said | {"not_covered": tuple(said["not_covered"])})
    return Release(
        asked.form.rebuild(numbers), made, receipt,
        _interval(asked, drawn, numbers, made.distance), sealed=sealed,
    )  # fmt: skip


def _interval(
    asked: Asked, drawn: Drawn, numbers: Floats, distance: float | None
) -> tuple[Any, Any] | None:
    """Return ends that hold the answer without noise in 95 % of releases.

    Post-processing: the released sums with further noise of the same scales, many times, and how
    much that changes the answer; exact for sums and counts, about for quotients. Noise only: what
    clipping takes away from large contributions is not in it. Numbers that are made of no sum, as
    quantiles are, have no ends: their noise is in the rank. Averages over so few people that they
    may be anything have infinite ones.
    """
    if not len(drawn.scales):
        return None
    noises = study_noises(drawn.sums.shape) * drawn.scales
    moved = np.stack([asked.numbers(replace(drawn, sums=drawn.sums + one)) for one in noises])
    half = interval.NORMAL * np.ma.masked_invalid(moved).std(axis=0).filled(np.nan)
    if drawn.quantiles.size:
        half = np.where((moved == numbers).all(axis=0), np.nan, half)
    half = np.where(_anything(asked, drawn, numbers, distance), np.inf, half)
    ends = numbers - half, numbers + half
    if asked.form.whole:
        ends = np.floor(ends[0]), np.ceil(ends[1])
    rebuild = asked.form.rebuild if asked.form.settle is None else asked.form.settle(numbers)
    return rebuild(ends[0]), rebuild(ends[1])


def _anything(asked: Asked, drawn: Drawn, numbers: Floats, distance: float | None) -> Any:
    """Return which numbers hang on a middle that was found, and may be anything.

    Either the group's count may be 0 by its own noise (so a quotient has no ends: Fieller), or all
    people together are too few to settle the middle by noisy votes: entries far from it are cut
    down to the level, and their sums do not show that. Of what was released alone.
    """
    question = asked.question
    counts = [i for i, term in enumerate(question.terms) if not any(term.powers)]
    if not (question.sought and counts and distance):
        return np.zeros(numbers.shape, bool)
    off, few = interval.NORMAL * drawn.scales[counts], drawn.sums.copy()
    points = grid_of_middles(question.columns[question.sought[0]].exponent, MIDDLE_GRID)
    votes = _deviation(0.5, len(points), question.moves, split(distance, question).middle)
    people = few[:, counts].sum(axis=0) - off * np.sqrt(question.groups)
    unknown = (few[:, counts] - off < 1) | bool(people.max() < _ENOUGH * votes)
    few[:, counts] = np.where(unknown, np.nan, few[:, counts])
    moved = drawn.middles.copy()
    moved[list(question.sought)] += 1.0 + np.abs(moved[list(question.sought)])
    hang = asked.numbers(replace(drawn, middles=moved)) != numbers
    return hang & np.isnan(asked.numbers(replace(drawn, sums=few)))


def study_noises(shape: tuple[int, ...]) -> Floats:
    """Return (_NOISES, *shape) study noises: of each sum all normal scores, in its own order.

    Their deviation is 1, so that of a released sum alone is the law's own, not that of some draws.
    """
    ranks = ((np.arange(_NOISES) + 0.5) / _NOISES).tolist()
    scores, size = np.array([NormalDist().inv_cdf(p) for p in ranks]), int(np.prod(shape))
    scores /= scores.std()
    mixed = np.random.default_rng(0).permuted(np.tile(scores, (size, 1)), axis=1)
    return np.asarray(mixed.T.reshape(_NOISES, *shape))
