"""One release under the promise *person*: middles, levels, joint clip, noise.

    1. Middles that are sought: noisy votes of units down a public grid.
    2. Levels: how much one unit adds, privately (`level`), around these middles.
    3. Scales s_i from levels and public shares alone.
    4. With v_u = (A_ui / s_i) over all numbers that unit u touches, A_u is multiplied by
       min(1, c / |v_u|), and rounded toward zero: |v_u| <= c for everybody, jointly.
    5. The sums get rounded Gaussian noise of deviation s_i on the same steps.

Given what was drawn before, each part is a Gaussian mechanism: whoever joins or leaves moves a vote
by at most its weight, the place of a level by at most B, the vector (sum A_ui / s_i) by at most c.
Where one's entries are replaced (`moves` = 2) votes move by at most 1 in their group, or sqrt(2)
times their weight from group to group, a level as before, and the vector by at most 2 c, so it is
clipped at c / 2. The squares of all distances sum to at most Delta squared (`split`), for any data,
any unit, in them or not.

Rounding toward zero only shortens v_u; floating point enters the factor alone, and the test against
c leaves a billionth of room, a million times its error. Whatever is added up is integers, so that
neither the order of rows nor the engine that adds can tell anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.sealed import Sealed
from rpac._base.types import Floats, Ints
from rpac.person.contributions import (
    FINE,
    LARGEST,
    VOTE,
    Added,
    Linear,
    Quantile,
    Rows,
    Term,
    Units,
    added,
    inside,
    lengths,
    reach,
    sums,
)
from rpac.person.gaussian import rounded_gaussian
from rpac.person.level import draw_level, floor_steps, grid_of_middles, menu, place
from rpac.person.split import Split

HEADROOM = 2.2
"""Deviations of its own noise by which a level is raised: so that it rarely cuts the largest."""
HIGHEST = 1.5
"""A level is raised by this factor at most: where few blocks stand for people its noise is wide."""
MIDDLE_GRID = 8
"""Candidates for a middle in a doubling."""
MOST = 2.0**13
"""One number of a unit counts as this many times the clip at most."""
SQUARE = 2.0**36
"""Squares of lengths, in clips, are on steps of 1 / SQUARE."""
_ROOM = 1 - 1e-9


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """What was released, all of it public.

    Attributes:
        middles: (columns,) given, or found.
        levels: What one unit adds to a number at most, for each level of the question.
        scales: (terms,) deviation of the noise.
        sums: (groups, terms) released sums.
        quantiles: (groups, quantiles) released quantiles.
    """

    middles: Floats
    levels: tuple[float, ...]
    scales: Floats
    sums: Floats
    quantiles: Floats


def draw(question: Linear, rows: Rows | Units, shares: Split) -> Drawn:
    """Return the release of a question on rows, at the distances of a split: release randomness.

    Guarantees:
        With or without all rows of any one unit, the law of what is returned has the trade-off of
        two Gaussians at distance `spent(shares, question)` ** 0.5, or is harder to tell apart (but
        for `gaussian.ERROR` a draw).
    """
    units: Units = Held(question, rows) if isinstance(rows, Rows) else rows
    middles = _middles(question, units, shares.middle)
    levels = tuple(_level(question, j, units, middles, shares) for j in question.levels)
    scales = scales_of(question, dict(zip(question.levels, levels, strict=True)), shares.values)
    values = np.zeros((question.groups, 0))
    if question.terms:
        values = _noisy_sums(question, units.sums(question, middles, scales, shares.values), scales)
    found = [
        _quantile(question, part, units, c)
        for part, c in zip(question.quantiles, shares.quantiles, strict=True)
    ]
    quantiles = np.stack(found, axis=1) if found else np.zeros((question.groups, 0))
    return Drawn(middles, levels, scales, values, quantiles)


# --- levels and scales ----------------------------------------------------------------------------


def _level(question: Linear, j: int | None, units: Units, middles: Floats, shares: Split) -> float:
    """Draw the level of a column, or of the number of rows, in its own units."""
    floor, exponent = menu_of(question, j)
    entries = menu(floor, shares.beta)
    at = draw_level(units.place(question, j, middles, shares.beta), len(entries), shares.level)
    return math.ldexp(headroom(shares) * float(entries[at]), exponent - FINE)


def menu_of(question: Linear, j: int | None) -> tuple[float, int]:
    """Return the floor of a level in steps, and the exponent of these."""
    floor, exponent = 1.0, 0
    if j is not None:
        floor, exponent = question.columns[j].floor, question.columns[j].exponent
    return floor_steps(floor, exponent), exponent


def headroom(shares: Split) -> float:
    """Return the public factor that a level is raised by."""
    return math.exp(min(HEADROOM * shares.spread, math.log(HIGHEST)))


def bound_of(question: Linear, term: Term, levels: dict[int | None, float]) -> float:
    """Return what one unit is taken to add to a term at most, in its own units: public."""
    counts = not any(term.powers) and not term.once
    found = (levels[None] if question.rows is None else question.rows) if counts else 1.0
    for j, power in enumerate(term.powers):
        if power:
            cap = question.columns[j].cap
            found *= (levels[j] if cap is None else cap) ** power
    return min(found, LARGEST * question.step(term))


def scales_of(question: Linear, levels: dict[int | None, float], c: float) -> Floats:
    """Return (terms,) deviations of the noise, from levels and shares alone.

    They are the least for bounds that fill the clip: share_i of c^2 for each term that a unit
    touches, in as many groups as it may. Whoever is at all bounds is just within the clip, or each
    would lose a step to rounding: 3 of a count of 50,000.
    """
    whole = sum(term.share for term in question.terms) * question.touches
    clip = c / question.moves * _ROOM * _ROOM
    bounds = [bound_of(question, term, levels) for term in question.terms]
    each = [term.share / whole for term in question.terms]
    return np.array([b / (clip * math.sqrt(e)) for b, e in zip(bounds, each, strict=True)])


# --- sums -----------------------------------------------------------------------------------------


def clip_at(question: Linear, c: float) -> float:
    """Return how long what a unit adds may be, in scales, at distance c."""
    return c / question.moves * _ROOM


def clipped(question: Linear, found: Added, scales: Floats, c: float) -> Ints:
    """Return (n, terms) what units add, in steps, after the joint clip.

    Squares of lengths are rounded up to integers, so that their sum has no order; nobody's number
    counts as more than `MOST` times what the clip lets it be, so that these have an end.
    """
    steps = np.array([question.step(term) for term in question.terms])
    unit = steps / scales / clip_at(question, c)
    most = np.minimum(np.floor(MOST / unit), LARGEST)
    held = np.clip(found.steps.astype(np.float64), -most, most)
    parts = np.ceil(np.square(held * unit) * SQUARE).astype(np.int64)
    units, own = np.unique(found.units, return_inverse=True)
    squares = lengths(np.repeat(own, len(steps)), parts.ravel(), len(units))
    factor = np.where(squares > SQUARE, 1 / np.sqrt(np.maximum(squares, SQUARE) / SQUARE), 1.0)
    factor = factor[own][:, None]
    whole = np.where(np.abs(found.steps) <= most, found.steps, held)  # of whom the clip let be
    return np.where(factor < 1, np.trunc(held * factor), whole).astype(np.int64)


def _noisy_sums(question: Linear, found: list[list[int]], scales: Floats) -> Floats:
    """Return (groups, terms) sums with noise, of (terms, groups) sums in steps."""
    noisy = np.zeros((question.groups, len(question.terms)))
    for i, term in enumerate(question.terms):
        step = question.step(term)
        sigma = math.ceil(scales[i] / step * 2**16), 2**16
        noisy[:, i] = [(total + rounded_gaussian(sigma)) * step for total in found[i]]
    return noisy


# --- votes ----------------------------------------------------------------------------------------


def _middles(question: Linear, units: Units, c: float) -> Floats:
    """Return (columns,) middles: given, or the noisy median over units of their own averages."""
    found = np.array([column.middle or 0.0 for column in question.columns])
    for j in question.sought:
        grid = grid_of_middles(question.columns[j].exponent, MIDDLE_GRID)
        within = np.cumsum(units.averages(question, j, grid)).tolist()
        # Whoever is within an entry votes 1/2, and whoever is not -1/2, in steps of 2^-VOTE.
        ballots = np.array([(2 * below - within[-1]) << (VOTE - 1) for below in within], object)
        sigma = _deviation(0.5, len(grid), question.moves, c)
        found[j] = _bisect(grid, 1, ballots.__getitem__, sigma)[0]
    return found


def _quantile(question: Linear, part: Quantile, units: Units, c: float) -> Floats:
    """Return (groups,) noisy quantiles; each unit has one vote, shared out among its rows."""
    sigma = _deviation(part.level, len(part.grid), question.moves, c)
    votes = lambda at: units.votes(question, part, part.grid[at])  # noqa: E731
    return _bisect(part.grid, question.groups, votes, sigma)


def _deviation(level: float, size: int, moves: int, c: float) -> float:
    """Return the noise of one vote so that all rounds together are at distance c.

    A unit's votes are a mixture of (1 - level) and -level, each in some group, shrunk by rounding.
    Where they are replaced the most is from one side to the other, or from group to group.
    """
    weight = max(level, 1 - level)
    moved = weight if moves == 1 else max(1.0, math.sqrt(2) * weight)
    return moved * math.sqrt(_rounds(size)) / (c * _ROOM)


def _rounds(size: int) -> int:
    return max(1, (size - 1).bit_length())


def _bisect(grid: Floats, size: int, votes: Callable[[Ints], Any], sigma: float) -> Floats:
    """Return the least (size,) entries of a grid at which noisy votes are not below 0.

    Args:
        grid: (n,) rising.
        size: Number of groups.
        votes: From the place of one entry a group to (size,) votes, in steps of 2^-VOTE.
        sigma: Deviation of the noise.
    """
    low, high = np.zeros(size, np.int64), np.full(size, len(grid) - 1)
    fraction = math.ceil(sigma * 2.0**VOTE), 1
    for _ in range(_rounds(len(grid))):
        at = (low + high) // 2
        noisy = np.array([cast + rounded_gaussian(fraction) for cast in votes(at)])
        right = (noisy < 0) & (low < high)
        low, high = np.where(right, at + 1, low), np.where(right, high, at)
    return grid[low]


# --- rows in this process -------------------------------------------------------------------------


@final
class Held(Sealed):
    """What units add, of rows in this process. Sealed."""

    def __init__(self, question: Linear, rows: Rows) -> None:
        self.rows = inside(question, rows)

    def held(self) -> Rows:
        """Return the rows that are somebody's and in a group."""
        return self.rows

    def averages(self, question: Linear, j: int, grid: Floats) -> Ints:
        """Return (grid + 1,) units by the first entry of a grid that their average is within."""
        powers = tuple(int(i == j) for i in range(len(question.columns)))
        terms = Term("", powers), Term("", (0,) * len(powers), (j,))
        flat = Rows(self.rows.units, np.zeros_like(self.rows.units), self.rows.values)
        found = added(Linear(question.columns, terms), flat, np.zeros(len(powers)))
        total, count = found.steps[found.steps[:, 1] > 0].T
        # Steps of entries are 2^exponent of steps of counts: the quotient is in the column's units.
        mine = np.ldexp(total / count, question.columns[j].exponent)
        return np.bincount(np.searchsorted(grid, mine), minlength=len(grid) + 1)

    def votes(self, question: Linear, part: Quantile, at: Floats) -> list[int]:
        """Return (groups,) votes at one entry a group, in steps of 2^-VOTE."""
        values = self.rows.values[:, part.column]
        there = np.isfinite(values)
        values, groups = values[there], self.rows.groups[there]
        _, own, size = np.unique(self.rows.units[there], return_inverse=True, return_counts=True)
        pair, line = np.unique(own * question.groups + groups, return_inverse=True)
        weight = size[pair // question.groups]
        mine = np.bincount(line, minlength=len(pair))
        below = np.bincount(line, values <= at[groups], len(pair))
        cast = np.trunc((below - part.level * mine) / weight * 2.0**VOTE).astype(np.int64)
        return sums(pair % question.groups, cast, question.groups)

    def place(self, question: Linear, level: int | None, middles: Floats, beta: float) -> int:
        """Return m of a level on its menu."""
        entries = menu(menu_of(question, level)[0], beta)
        return place(reach(question, level, self.rows, middles), entries)

    def sums(self, question: Linear, middles: Floats, scales: Floats, c: float) -> list[list[int]]:
        """Return (terms, groups) sums of what units add, in steps, after the joint clip."""
        found = added(question, self.rows, middles)
        kept = clipped(question, found, scales, c)
        return [sums(found.groups, steps, question.groups) for steps in kept.T]
