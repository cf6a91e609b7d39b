"""Two tables that differ in one person, and what a release tells of which it was.

Somebody knows every other row and all of this person's. A release shows middles, levels, sums and
quantiles; for each the law without the person and with them is known:

    middles, quantiles  how each vote on the way down a grid came out (`ballots`);
    levels              the place on the menu, a rounded Gaussian around another centre;
    sums                Gaussians whose means differ by what the person adds after the clip.

The ratios of the parts multiply, each given what was drawn before, and no test is better than their
product. Where a person's entries are the secret (`instead`) the two tables have opposite ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from rpac._base.types import Bools, Floats, Ints
from rpac.attack.ballots import Ballot, Normal, averages, deviation, shares_of_rows, votes
from rpac.attack.everybody import entries_of
from rpac.numerics import log_normal_tail, normal_quantile, normal_tail
from rpac.person import mechanism
from rpac.person.contributions import FINE, Linear, Rows, added, inside, reach
from rpac.person.level import PER_BETA, grid_of_middles, place
from rpac.person.mechanism import Drawn
from rpac.person.split import Split
from rpac.release.presence import Studied

Released = Callable[[Linear, Rows, Split], Drawn]
"""Draws a release of a question on rows."""
_FAR = 60
"""Entries that are as large as can be have 2^60 steps."""


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What games told: log likelihood ratios, with the person over without.

    Attributes:
        coins: (n,) 1 where they were in.
        votes: (n,) from middles and quantiles.
        levels: (n,) from levels.
        values: (n,) from sums.
        spread: (n,) distance of the two laws of the sums, given the rest.
    """

    coins: Ints
    votes: Floats
    levels: Floats
    values: Floats
    spread: Floats

    def right(self, *parts: str) -> Bools:
        """Return (n,) whether the guess from some parts, all by default, was right."""
        told = sum(getattr(self, part) for part in parts or ("votes", "levels", "values"))
        return np.asarray((np.asarray(told) > 0) == (self.coins == 1))

    @property
    def exact(self) -> float:
        """Success of the best test there is, averaged over what was drawn before the sums.

        Given votes and levels the rest is two Gaussians `spread` apart, at known odds.
        """
        odds = self.votes + self.levels
        apart = np.maximum(self.spread, 1e-12)
        inside = np.exp(-np.logaddexp(0, -odds)) * normal_tail(apart / 2 + odds / apart)
        outside = np.exp(-np.logaddexp(0, odds)) * normal_tail(apart / 2 - odds / apart)
        return float((inside + outside).mean())


@final
class Duel:
    """Two tables that differ in one person, and what a release tells of which it was.

    Args:
        question: What is asked.
        shares: Its distances.
        rest: Rows of everybody else.
        sides: The person's rows: in the table without them (none, or other entries), and with.
    """

    def __init__(
        self, question: Linear, shares: Split, rest: Rows, sides: tuple[Rows, Rows]
    ) -> None:
        self.question, self.shares, self.rest, self.sides = question, shares, rest, sides
        self.tables = tuple(_joined(rest, side) for side in sides)
        self._entries = [entries_of(question, level, shares) for level in question.levels]
        self._known: dict[Any, Any] = {}

    def play(self, games: int, rng: np.random.Generator) -> Evidence:
        """Play games from the declared law: study randomness."""
        return self._played(rng.integers(0, 2, games), lambda n: rng.normal(size=n))

    def best(self, games: int, rng: np.random.Generator) -> float:
        """Return the success of the best test there is, from games spread evenly over the law."""

        def evenly(n: int) -> Floats:
            return normal_quantile((rng.permutation(n) + rng.random(n)) / n)

        half = np.ones(games // 2, np.int64)
        return float(np.mean([self._played(coin * half, evenly).exact for coin in (0, 1)]))

    def _played(self, coins: Ints, normal: Normal) -> Evidence:
        middles, told = self._walk_middles(coins, normal)
        places = self._draw_places(coins, middles, normal)
        spread = self._spread(middles, places)
        values = (coins - 0.5) * np.square(spread) + spread * normal(len(coins))
        for ballot in self._quantiles.values():
            told += ballot.read(ballot.walk(coins, normal))
        return Evidence(coins, told, self._level_ratios(middles, places), values, spread)

    def draw(self, coins: Ints, released: Released) -> list[Drawn]:
        """Return a release for each coin, by the code that really draws."""
        with np.errstate(all="ignore"):  # as a release does: a warning would quote data
            return [released(self.question, self.tables[coin], self.shares) for coin in coins]

    def hear(self, coins: Ints, drawn: Sequence[Drawn]) -> Evidence:
        """Return what releases tell of their coins."""
        middles = np.array([one.middles for one in drawn]).reshape(len(drawn), -1)
        told = np.zeros(len(drawn))
        for j, ballot in self._middles.items():
            told += ballot.read(np.searchsorted(self._grid(j), middles[:, j]))
        for (g, i), ballot in self._quantiles.items():
            ends = np.array([one.quantiles[g, i] for one in drawn])
            told += ballot.read(np.searchsorted(self.question.quantiles[i].grid, ends))
        places = self._read_places(drawn)
        values = [self._value_ratio(one, at) for one, at in zip(drawn, places, strict=True)]
        return Evidence(coins, told, self._level_ratios(middles, places),
                        np.array(values), self._spread(middles, places))  # fmt: skip

    # --- middles and quantiles ------------------------------------------------------------------

    def _grid(self, j: int) -> Floats:
        return grid_of_middles(self.question.columns[j].exponent, mechanism.MIDDLE_GRID)

    @cached_property
    def _middles(self) -> dict[int, Ballot]:
        """Votes for each middle that is sought."""
        found = {}
        for j in self.question.sought:
            grid = self._grid(j)
            mine = [averages(self.question, j, table)[0] for table in self.tables]
            totals = np.stack([votes(x, np.ones(len(x)), 0.5, grid) for x in mine])
            sigma = deviation(0.5, len(grid), self.question.moves, self.shares.middle)
            found[j] = Ballot(totals, sigma)
        return found

    @cached_property
    def _quantiles(self) -> dict[tuple[int, int], Ballot]:
        """Votes for each quantile in each group that the person touches."""
        found = {}
        pairs = zip(self.question.quantiles, self.shares.quantiles, strict=True)
        for i, (part, c) in enumerate(pairs):
            read = [shares_of_rows(table, part.column) for table in self.tables]
            sigma = deviation(part.level, len(part.grid), self.question.moves, c)
            for g in self._touched:
                here = [(rows.groups == g, rows.values[:, part.column], w) for rows, w in read]
                totals = [votes(x[at], w[at], part.level, part.grid) for at, x, w in here]
                found[int(g), i] = Ballot(np.stack(totals), sigma)
        return found

    @cached_property
    def _touched(self) -> Ints:
        """Groups in which the person has rows, on either side."""
        return np.unique(np.concatenate([side.groups for side in self.sides]))

    def _walk_middles(self, coins: Ints, normal: Normal) -> tuple[Floats, Floats]:
        given = np.array([column.middle or 0.0 for column in self.question.columns])
        middles, told = np.tile(given, (len(coins), 1)), np.zeros(len(coins))
        for j, ballot in self._middles.items():
            ends = ballot.walk(coins, normal)
            middles[:, j] = self._grid(j)[ends]
            told += ballot.read(ends)
        return middles, told

    # --- levels ---------------------------------------------------------------------------------

    @property
    def _noise(self) -> float:
        return PER_BETA / self.shares.level

    @property
    def _raised(self) -> float:
        """The public factor between an entry of the menu and the level."""
        return mechanism.headroom(self.shares)

    def _centres(self, i: int, middles: Floats) -> Floats:
        """Return (n, 2) places of a level before noise, without the person and with them."""
        level = self.question.levels[i]
        of = np.zeros(len(middles)) if level is None else middles[:, level]
        seen, back = np.unique(of, return_inverse=True)
        return np.array([self._centre(i, float(middle)) for middle in seen])[back]

    def _centre(self, i: int, middle: float) -> tuple[int, ...]:
        if (i, middle) not in self._known:
            level = self.question.levels[i]
            around = np.full(len(self.question.columns), middle)
            parts = (reach(self.question, level, rows, around) for rows in self.tables)
            self._known[i, middle] = tuple(place(part, self._entries[i]) for part in parts)
        found: tuple[int, ...] = self._known[i, middle]
        return found

    def _draw_places(self, coins: Ints, middles: Floats, normal: Normal) -> Ints:
        found = np.zeros((len(coins), len(self._entries)), np.int64)
        for i, entries in enumerate(self._entries):
            centre = self._centres(i, middles)[np.arange(len(coins)), coins]
            noisy = centre + np.rint(self._noise * normal(len(coins)))
            found[:, i] = np.clip(noisy, 0, len(entries) - 1)
        return found

    def _read_places(self, drawn: Sequence[Drawn]) -> Ints:
        """Return (n, levels) places on the menus of published levels."""
        found = np.zeros((len(drawn), len(self._entries)), np.int64)
        for i, entries in enumerate(self._entries):
            menu = entries * (self._level(i, 0) / float(entries[0]))
            shown = np.array([one.levels[i] for one in drawn])
            found[:, i] = np.searchsorted(menu * (1 - 1e-9), shown, side="right") - 1
        return np.maximum(found, 0)

    def _level(self, i: int, at: int) -> float:
        """Return a level as it is published, from its place."""
        level = self.question.levels[i]
        exponent = 0 if level is None else self.question.columns[level].exponent
        return math.ldexp(self._raised * float(self._entries[i][at]), exponent - FINE)

    def _level_ratios(self, middles: Floats, places: Ints) -> Floats:
        """Return (n,) log likelihood ratios of all levels."""
        told = np.zeros(len(places))
        for i, entries in enumerate(self._entries):
            without, with_ = self._centres(i, middles).T
            last, at = len(entries) - 1, places[:, i]
            told += _log_mass(at, with_, self._noise, last) - _log_mass(
                at, without, self._noise, last
            )
        return told

    # --- sums -----------------------------------------------------------------------------------

    def _spread(self, middles: Floats, places: Ints) -> Floats:
        """Return (n,) distances of the two laws of the sums."""
        lines = np.concatenate([middles, places], axis=1)
        seen, back = np.unique(lines, axis=0, return_inverse=True)
        columns = middles.shape[1]
        found = [
            math.sqrt(np.square(self._shift(line[:columns], line[columns:])).sum()) for line in seen
        ]
        return np.array(found)[back.ravel()]

    def _scales(self, places: Any) -> Floats:
        levels = [self._level(i, int(at)) for i, at in enumerate(places)]
        named = dict(zip(self.question.levels, levels, strict=True))
        return mechanism.scales_of(self.question, named, self.shares.values)

    def _shift(self, middles: Floats, places: Any) -> Floats:
        """Return (touched groups, terms) by what the sums differ, in deviations of their noise."""
        scales = self._scales(places)
        without, with_ = (self._sums(side, middles, scales) for side in self.sides)
        return (with_ - without) * (self._steps / scales)

    @cached_property
    def _steps(self) -> Floats:
        return np.array([self.question.step(term) for term in self.question.terms])

    def _sums(self, rows: Rows, middles: Floats, scales: Floats) -> Floats:
        """Return (touched groups, terms) sums in steps after the clip, before noise."""
        found = np.zeros((len(self._touched), len(self.question.terms)))
        if not len(rows.units) or not self.question.terms:
            return found
        key = id(rows), middles.tobytes()
        if key not in self._known:
            self._known[key] = added(self.question, rows, middles)
        adds = self._known[key]
        kept = mechanism.clipped(self.question, adds, scales, self.shares.values)
        at = np.searchsorted(self._touched, adds.groups)
        inside = np.isin(adds.groups, self._touched)
        np.add.at(found, at[inside], kept[inside].astype(np.float64))
        return found

    def _value_ratio(self, one: Drawn, places: Ints) -> float:
        """Return the log likelihood ratio of the published sums, given the levels."""
        if not self.question.terms:
            return 0.0
        scales, shift = self._scales(places), self._shift(one.middles, places)
        parts = (self._sums(rows, one.middles, scales) for rows in (self.rest, self.sides[0]))
        away = (one.sums[self._touched] - sum(parts) * self._steps) / scales
        return float((away * shift).sum() - np.square(shift).sum() / 2)


def _log_mass(at: Ints, centre: Floats, sigma: float, last: int) -> Floats:
    """Return (n,) log probabilities of places: a rounded Gaussian, clamped to 0 ... last."""
    low = np.where(at <= 0, -np.inf, (at - 0.5 - centre) / sigma)
    high = np.where(at >= last, np.inf, (at + 0.5 - centre) / sigma)
    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    # On the side where tails keep their digits.
    above, below = log_normal_tail(high), log_normal_tail(low)
    return np.asarray(above + np.log1p(-np.exp(below - above)))


# --- who is attacked ------------------------------------------------------------------------------


def somebody(studied: Studied, unit: int) -> Duel:
    """Return the duel about a unit of the data: without them, or with other entries, and with."""
    rows, question = inside(studied.question, studied.rows), studied.question
    own = rows.units == unit
    mine, rest = _part(rows, own), _part(rows, ~own)
    return Duel(question, studied.shares, rest, (_other(question, mine), mine))


def stranger(studied: Studied) -> Duel:
    """Return the duel about somebody who is not in the data, far beyond every level.

    They have entries as large as entries can be in as many groups as one unit may touch, and more
    rows than anybody, where that is not capped.
    """
    rows, question = inside(studied.question, studied.rows), studied.question
    groups = np.arange(min(question.touches, question.groups))
    most = int(np.bincount(np.unique(rows.units, return_inverse=True)[1]).max(initial=0))
    each = 4 * most + 64 if question.rows is None else max(1, int(question.rows) // len(groups))
    large = [math.ldexp(1.0, column.exponent + _FAR - FINE) for column in question.columns]
    size = each * len(groups)
    new = int(rows.units.max(initial=-1)) + 1
    mine = Rows(np.full(size, new), np.repeat(groups, each), np.tile(large, (size, 1)))
    return Duel(question, studied.shares, rows, (_other(question, mine), mine))


def _other(question: Linear, mine: Rows) -> Rows:
    """Return the other side: nobody; where entries are the secret, the opposite ones."""
    if question.moves == 1:
        return _part(mine, np.zeros(len(mine.units), np.bool_))
    groups = mine.groups if question.columns else (mine.groups + 1) % question.groups
    far = np.array([math.ldexp(1.0, column.exponent + _FAR - FINE) for column in question.columns])
    values = np.where(mine.values > 0, -far, far) if question.columns else mine.values
    return Rows(mine.units, groups, np.where(np.isfinite(mine.values), values, mine.values))


def _part(rows: Rows, kept: Bools) -> Rows:
    return Rows(rows.units[kept], rows.groups[kept], rows.values[kept])


def _joined(first: Rows, second: Rows) -> Rows:
    both = (np.concatenate(pair) for pair in zip(_arrays(first), _arrays(second), strict=True))
    return Rows(*both)


def _arrays(rows: Rows) -> tuple[Any, ...]:
    return rows.units, rows.groups, rows.values
