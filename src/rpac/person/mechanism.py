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
c leaves a billionth of room, a million times its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.person.contributions import (
    FINE,
    LARGEST,
    Added,
    Linear,
    Quantile,
    Rows,
    Term,
    added,
    inside,
    reach,
    sums,
)
from rpac.person.gaussian import rounded_gaussian
from rpac.person.level import draw_level, floor_steps, grid_of_middles, menu
from rpac.person.split import Split

HEADROOM = 2.2
"""Deviations of its own noise by which a level is raised: so that it rarely cuts the largest."""
HIGHEST = 1.5
"""A level is raised by this factor at most: where few blocks stand for people its noise is wide."""
MIDDLE_GRID = 8
"""Candidates for a middle in a doubling."""
_ROOM = 1 - 1e-9
_VOTE = 30
"""Votes are on steps of 2^-30."""


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


def draw(question: Linear, rows: Rows, shares: Split) -> Drawn:
    """Return the release of a question on rows, at the distances of a split: release randomness.

    Guarantees:
        With or without all rows of any one unit, the law of what is returned has the trade-off of
        two Gaussians at distance `spent(shares, question)` ** 0.5, or is harder to tell apart (but
        for `gaussian.ERROR` a draw).
    """
    rows = inside(question, rows)
    middles = _middles(question, rows, shares.middle)
    levels = tuple(_level(question, j, rows, middles, shares) for j in question.levels)
    scales = scales_of(question, dict(zip(question.levels, levels, strict=True)), shares.values)
    values = np.zeros((question.groups, 0))
    if question.terms:
        values = _noisy_sums(question, added(question, rows, middles), scales, shares.values)
    found = [
        _quantile(question, part, rows, c)
        for part, c in zip(question.quantiles, shares.quantiles, strict=True)
    ]
    quantiles = np.stack(found, axis=1) if found else np.zeros((question.groups, 0))
    return Drawn(middles, levels, scales, values, quantiles)


# --- levels and scales ----------------------------------------------------------------------------


def _level(question: Linear, j: int | None, rows: Rows, middles: Floats, shares: Split) -> float:
    """Draw the level of a column, or of the number of rows, in its own units."""
    floor, exponent = 1.0, 0
    if j is not None:
        floor, exponent = question.columns[j].floor, question.columns[j].exponent
    entries = menu(floor_steps(floor, exponent), shares.beta)
    at = draw_level(reach(question, j, rows, middles), entries, shares.level)
    return math.ldexp(headroom(shares) * float(entries[at]), exponent - FINE)


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


def clipped(question: Linear, found: Added, scales: Floats, c: float) -> Ints:
    """Return (n, terms) what units add, in steps, after the joint clip."""
    steps = np.array([question.step(term) for term in question.terms])
    units, own = np.unique(found.units, return_inverse=True)
    squares = np.zeros(len(units))
    for column in np.square(found.steps * (steps / scales)).T:
        # bincount adds in the order of lines, which is a unit's own: nobody else's rows enter it.
        squares += np.bincount(own, column, len(units))
    norms = np.sqrt(squares)
    limit = c / question.moves * _ROOM
    factor = np.where(norms > limit, limit / np.maximum(norms, limit), 1.0)[own][:, None]
    return np.where(factor < 1, np.trunc(found.steps * factor), found.steps).astype(np.int64)


def _noisy_sums(question: Linear, found: Added, scales: Floats, c: float) -> Floats:
    kept = clipped(question, found, scales, c) if question.terms else found.steps
    noisy = np.zeros((question.groups, len(question.terms)))
    for i, term in enumerate(question.terms):
        step = question.step(term)
        totals = sums(found.groups, kept[:, i], question.groups)
        sigma = math.ceil(scales[i] / step * 2**16), 2**16
        noisy[:, i] = [(total + rounded_gaussian(sigma)) * step for total in totals]
    return noisy


# --- votes ----------------------------------------------------------------------------------------


def _middles(question: Linear, rows: Rows, c: float) -> Floats:
    """Return (columns,) middles: given, or the noisy median over units of their own averages."""
    found = np.array([column.middle or 0.0 for column in question.columns])
    for j in question.sought:
        mine = _averages(question, j, rows)
        grid = grid_of_middles(question.columns[j].exponent, MIDDLE_GRID)
        flat = Rows(np.arange(len(mine)), np.zeros(len(mine), np.int64), mine[:, None])
        found[j] = _quantile(Linear((), (), moves=question.moves), Quantile(0, 0.5, grid), flat, c)[
            0
        ]
    return found


def _averages(question: Linear, j: int, rows: Rows) -> Floats:
    """Return the average entry of every unit that has one."""
    powers = tuple(int(i == j) for i in range(len(question.columns)))
    terms = Term("", powers), Term("", (0,) * len(powers), (j,))
    flat = Rows(rows.units, np.zeros_like(rows.units), rows.values)
    found = added(Linear(question.columns, terms), flat, np.zeros(len(powers)))
    there = found.steps[:, 1] > 0
    total, count = found.steps[there].T
    # Steps of entries are 2^exponent of steps of counts: the quotient is in the column's units.
    return np.asarray(np.ldexp(total / count, question.columns[j].exponent))


def _quantile(question: Linear, part: Quantile, rows: Rows, c: float) -> Floats:
    """Return (groups,) noisy quantiles; each unit has one vote, shared out among its rows."""
    values = rows.values[:, part.column]
    there = np.isfinite(values)
    values, groups = values[there], rows.groups[there]
    _, own, size = np.unique(rows.units[there], return_inverse=True, return_counts=True)
    pair, line = np.unique(own * question.groups + groups, return_inverse=True)
    weight = size[pair // question.groups]
    mine = np.bincount(line, minlength=len(pair))

    def votes(at: Floats) -> Floats:
        below = np.bincount(line, values <= at[groups], len(pair))
        return np.asarray((below - part.level * mine) / weight)

    sigma = _deviation(part.level, len(part.grid), question.moves, c)
    return _bisect(part.grid, question.groups, votes, pair % question.groups, sigma)


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


def _bisect(
    grid: Floats, size: int, votes: Callable[[Floats], Floats], groups: Ints, sigma: float
) -> Floats:
    """Return the least (size,) entries of a grid at which noisy votes are not below 0.

    Args:
        grid: (n,) rising.
        size: Number of groups.
        votes: (lines,) votes for one entry a group, each rounded toward zero here.
        groups: (lines,) whose group each vote counts for.
        sigma: Deviation of the noise.
    """
    low, high = np.zeros(size, np.int64), np.full(size, len(grid) - 1)
    fraction = math.ceil(sigma * 2.0**_VOTE), 1
    for _ in range(_rounds(len(grid))):
        at = (low + high) // 2
        cast = np.trunc(votes(grid[at]) * 2.0**_VOTE).astype(np.int64)
        noisy = np.array([t + rounded_gaussian(fraction) for t in sums(groups, cast, size)])
        right = (noisy < 0) & (low < high)
        low, high = np.where(right, at + 1, low), np.where(right, high, at)
    return grid[low]
