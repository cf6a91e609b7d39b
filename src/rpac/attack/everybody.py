"""Everybody's own figure under the promise *person*: how far one's presence moves a release.

The certificate holds for anybody. Most people are far below it: their distance is that of the
place of each level without them, of what they add after the clip, and of their votes, each in
deviations of its noise, at the levels and middles that were drawn. Sealed: for the owner alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.types import Floats, Ints, Json
from rpac.advantage import distance_to_success
from rpac.attack.ballots import averages, deviation, shares_of_rows, way
from rpac.numerics import normal_tail
from rpac.person import mechanism
from rpac.person.contributions import Added, Linear, Quantile, Rows, added, inside, reach
from rpac.person.level import PER_BETA, floor_steps, menu
from rpac.person.split import Split
from rpac.release.presence import Studied

BARS = 20
"""Bars of the histogram of everybody's success."""
_NOTICED = 1e-3
"""What somebody adds is clipped if more than this share of it is lost: rounding is not counted."""


@final
@dataclass(frozen=True, eq=False)
class Exposure:
    """How exposed everybody is. Sealed: never publish it.

    Attributes:
        ids: (n,) units as the rows number them, rising.
        distances: (n,) how far each one's presence moves the release, in deviations of its noise.
        clipped: How many of them add less than they would without the clip.
        claimed: The success that is certified for anybody.
    """

    ids: Ints
    distances: Floats
    clipped: int
    claimed: float

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.ids)

    @property
    def successes(self) -> Floats:
        """(n,) how often each one's presence is guessed right, at even odds."""
        return normal_tail(self.distances / 2)

    @property
    def worst(self) -> int | None:
        """The most exposed unit; None where there is none."""
        return int(self.ids[self.distances.argmax()]) if self.units else None

    @property
    def histogram(self) -> list[Json]:
        """Bars from a blind guess to what is claimed: how many people are guessed so well."""
        ends = np.linspace(0.5, max(self.claimed, 0.5 + 1e-9), BARS + 1)
        counts, _ = np.histogram(np.clip(self.successes, ends[0], ends[-1]), ends)
        bars = zip(ends[:-1].tolist(), ends[1:].tolist(), counts.tolist(), strict=True)
        return [{"low": low, "high": high, "people": people} for low, high, people in bars]


def exposure(studied: Studied) -> Exposure:
    """Return everybody's own figure in a release."""
    question, shares = studied.question, studied.shares
    middles, rows = studied.drawn.middles, inside(question, studied.rows)
    ids = np.unique(rows.units)
    squares = np.zeros(len(ids))
    for level in question.levels:
        squares += _level_squares(question, level, rows, middles, shares)
    values, cut = _value_squares(studied, rows, ids)
    squares += values
    for j in question.sought:
        _, voters = averages(question, j, rows)
        squares += np.isin(ids, voters) * shares.middle**2
    for i, (part, c) in enumerate(zip(question.quantiles, shares.quantiles, strict=True)):
        squares += _vote_squares(question, part, rows, studied.drawn.quantiles[:, i], c)
    return Exposure(ids, np.sqrt(squares), cut, distance_to_success(shares.delta))


def _level_squares(
    question: Linear, level: int | None, rows: Rows, middles: Floats, shares: Split
) -> Floats:
    """Return (units,) squared distances of a level's place."""
    place, without = places_without(
        reach(question, level, rows, middles), entries_of(question, level, shares)
    )
    moved = place - without
    if question.moves == 2:  # in place of one's entries the most or the least, whichever is farther
        moved = np.maximum(moved, PER_BETA - moved)
    return np.asarray(np.square(moved * (shares.level / PER_BETA)))


def entries_of(question: Linear, level: int | None, shares: Split) -> Ints:
    """Return the public menu of a level, in steps."""
    floor, exponent = 1.0, 0
    if level is not None:
        floor, exponent = question.columns[level].floor, question.columns[level].exponent
    return menu(floor_steps(floor, exponent), shares.beta)


def places_without(reached: Ints, entries: Ints) -> tuple[int, Ints]:
    """Return the place of a level, and (units,) its place without each one of them.

    Of the falling list l_(1) >= l_(2) >= ... the place is the least of l_(j) + B (j - 1). Without
    the unit of rank r, entries before it stay and those after it move up: each costs B less.
    """
    n = len(reached)
    found = np.searchsorted(entries[:-1], reached, side="left")
    order = np.argsort(-found, kind="stable")
    costs = found[order] + PER_BETA * np.arange(n)
    last = PER_BETA * n
    far = np.iinfo(np.int64).max // 2
    before = np.minimum.accumulate(np.concatenate([[far], costs]))[:-1]
    after = np.minimum.accumulate(np.concatenate([costs, [far]])[::-1])[::-1][1:]
    without = np.empty(n, np.int64)
    without[order] = np.minimum(np.minimum(before, after - PER_BETA), last - PER_BETA)
    return int(min(costs.min(initial=last), last)), without


def _value_squares(studied: Studied, rows: Rows, ids: Ints) -> tuple[Floats, int]:
    """Return (units,) squared lengths of what each one adds after the clip; how many were cut."""
    question, drawn, c = studied.question, studied.drawn, studied.shares.values
    if not question.terms:
        return np.zeros(len(ids)), 0
    found = added(question, rows, drawn.middles)
    kept = mechanism.clipped(question, found, drawn.scales, c)
    own = np.searchsorted(ids, found.units)
    squares = np.bincount(own, _squares(question, found, kept, drawn.scales), len(ids))
    lost = np.abs(found.steps - kept) > _NOTICED * np.abs(found.steps)
    cut = np.bincount(own, lost.any(axis=1), len(ids)) > 0
    if question.moves == 2:  # as far again on the other side
        squares = np.square(np.sqrt(squares) + c / 2)
    return np.asarray(squares, np.float64), int(cut.sum())


def _squares(question: Linear, found: Added, kept: Ints, scales: Floats) -> Floats:
    steps = np.array([question.step(term) for term in question.terms])
    return np.asarray(np.square(kept * (steps / scales)).sum(axis=1))


def _vote_squares(question: Linear, part: Quantile, rows: Rows, ends: Floats, c: float) -> Floats:
    """Return (units,) squared distances of all votes for a quantile, on the way to its end."""
    there, share = shares_of_rows(rows, part.column)
    ids = np.unique(rows.units)
    pairs, line = np.unique(there.units * question.groups + there.groups, return_inverse=True)
    mine = np.bincount(line, share, len(pairs))
    sigma = deviation(part.level, len(part.grid), question.moves, c)
    squares = np.zeros(len(pairs))
    places = np.searchsorted(part.grid, ends)
    for at, _, cast in way(len(part.grid), places):
        below = there.values[:, part.column] <= part.grid[at][there.groups]
        vote = np.bincount(line, share * below, len(pairs)) - part.level * mine
        squares += np.square(vote / sigma) * cast[pairs % question.groups]
    own = np.searchsorted(ids, pairs // question.groups)
    if question.moves == 2:  # votes in another group, or on the other side: as far as can be
        return np.where(np.isin(ids, there.units), c**2, 0.0)
    return np.asarray(np.bincount(own, squares, len(ids)), np.float64)
