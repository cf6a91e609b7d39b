"""How a distance is shared out: public numbers, whose squares sum to at most the square of it.

Delta is the distance at which two Gaussians of unit variance are told apart. Distances of parts
that are drawn one after the other, each for what was drawn before, add by their squares: the log
likelihood ratio of all parts together is dominated by that of one Gaussian at the distance
sqrt(sum of squares) (composition of Gaussian differential privacy; Dong, Roth and Su 2022, and for
adaptive questions under a public cap, Smith and Thakurta 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from rpac.person.contributions import Linear

LEVELS, MIDDLES = 0.158, 0.02
"""Shares of Delta squared for all levels, and for all middles that are found privately."""
STEEP = 12.0
"""c_m over beta: how much a level's noise is, in factors of e."""
LEAST_BETA, MOST_BETA = 1e-4, 0.1
"""How coarse a menu may be: it has an end, and levels a factor apart serve nobody."""
_ROOM = 1 - 1e-9
"""Shares are computed in floating point, and held to a little less than the whole."""


@final
@dataclass(frozen=True)
class Split:
    """Distances of the parts of one release.

    Attributes:
        delta: All together.
        values: Of all sums together: what the joint clip is for.
        level: Of each level.
        middle: Of each middle that is found.
        quantiles: Of each quantile.
        steep: A level's distance over its beta.
    """

    delta: float
    values: float
    level: float
    middle: float
    quantiles: tuple[float, ...]
    steep: float = STEEP

    @property
    def beta(self) -> float:
        """How fast a level falls with the number of units above it; menus have an end."""
        return max(self.level / self.steep, LEAST_BETA)

    @property
    def spread(self) -> float:
        """Deviation of a level's own noise, in factors of e."""
        return self.beta / self.level if self.level else 0.0


def split(delta: float, question: Linear) -> Split:
    """Return the shares of a distance, from the question alone."""
    levels, middles = len(question.levels), len(question.sought)
    whole = delta * delta * _ROOM
    left = whole * (1 - LEVELS * (levels > 0) - MIDDLES * (middles > 0))
    sums = sum(term.share for term in question.terms)
    every = sums + sum(q.share for q in question.quantiles)
    level = math.sqrt(whole * LEVELS / levels) if levels else 0.0
    return Split(
        delta,
        math.sqrt(left * sums / every),
        level,
        math.sqrt(whole * MIDDLES / middles) if middles else 0.0,
        tuple(math.sqrt(left * q.share / every) for q in question.quantiles),
        level / question.beta if levels and question.beta else max(STEEP, level / MOST_BETA),
    )


def spent(made: Split, question: Linear) -> float:
    """Return the square of the distance of all parts together: what is charged at least."""
    parts = [made.values, *made.quantiles]
    parts += [made.level] * len(question.levels) + [made.middle] * len(question.sought)
    return math.fsum(part * part for part in parts)
