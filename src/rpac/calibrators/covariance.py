"""Search for the Gaussian noise of least cost on given outputs, at one budget or along many.

Along a grid some budgets, the knots, are solved and met by themselves. How far below the budget
the leakage of met noise lies (the *slack* of the certificate) varies slowly, so that the budgets
between take it from the knots beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpac._base.types import Floats
from rpac.calibrators import gaussian
from rpac.calibrators.budget_search import meet_tightly
from rpac.calibrators.closed_form import AutoPAC, principal, signs
from rpac.calibrators.utility import Utility
from rpac.noise.gaussian import GaussianNoise
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

_STRIDE = 4
"""Of the budgets of a grid, every which one is a knot, met by evaluations of its own."""
_FEW = 3
"""Iterations between knots: the start is off by little, and the cost by its square."""
_MANY = 2_000
"""Worlds beyond which one start must do."""


@dataclass(frozen=True)
class _Knot:
    """A budget of a grid that was met by evaluations of its own."""

    place: int
    nats: float
    noise: GaussianNoise
    slack: float


class GaussianSearch:
    """The worlds' game in the directions that the utility weighs, and ways to solve it."""

    def __init__(self, outputs: Outputs, utility: Utility, seed: int) -> None:
        self.outputs, self.utility, self.seed = outputs, utility, seed
        basis, _ = principal(outputs)
        self.kept = kept = weighed_directions(basis, utility)
        self.drop = kept.shape[1] < basis.shape[1]
        self.inner = utility.within(Span.given(kept))
        points = (outputs.values - outputs.center) @ kept
        self.game = gaussian.Game.of(points, outputs.weights, self.inner.weight, seed)

    def at(self, nats: float) -> GaussianNoise:
        """Return the noise of least cost found at one budget."""
        baseline = AutoPAC().propose(self.outputs, nats)
        cov = self._solved(nats, self._starts(self._cov(baseline), nats))
        return self._cheaper(self._met(cov, nats, baseline)[0], baseline)

    def along(self, budgets: Sequence[float]) -> list[GaussianNoise]:
        """Return the noise at each of increasing budgets, each solved from its neighbours'.

        From the largest budget down: once Auto-PAC is cheaper at a knot, it is below as well,
        since the gain over it vanishes with the budget faster than the slack.
        """
        found = [AutoPAC().propose(self.outputs, nats) for nats in budgets]
        above: _Knot | None = None
        for i in sorted({*range(len(budgets) - 1, 0, -_STRIDE), 0}, reverse=True):
            knot = self._knot(i, budgets[i], found[i], above)
            if above is not None:
                for j in range(i + 1, above.place):
                    found[j] = self._cheaper(self._between(knot, above, budgets[j]), found[j])
            noise = self._cheaper(knot.noise, found[i])
            if noise is found[i]:
                break
            found[i], above = noise, knot
        return found

    def _knot(self, place: int, nats: float, baseline: GaussianNoise, above: _Knot | None) -> _Knot:
        if above is None:
            cov = self._solved(nats, self._starts(self._cov(baseline), nats))
        else:
            target = nats * (1 - above.slack / above.nats)
            cov = self._solved(target, [self._cov(above.noise)])
        return _Knot(place, nats, *self._met(cov, nats, baseline))

    def _between(self, low: _Knot, high: _Knot, nats: float) -> GaussianNoise:
        """Return the noise at a budget between two knots, its slack taken from theirs."""
        share = math.log(nats / low.nats) / math.log(high.nats / low.nats)
        slack = (1 - share) * low.slack + share * high.slack + abs(low.slack - high.slack) / 4
        start = gaussian.between(self._cov(low.noise), self._cov(high.noise), share)
        return self._noise(gaussian.stationary(self.game, start, nats - slack, _FEW)[1])

    def _cov(self, noise: GaussianNoise) -> Floats:
        turn = self.kept.T @ noise.basis
        return np.asarray((turn * noise.variances) @ turn.T)

    def _starts(self, first: Floats, nats: float) -> list[Floats]:
        r = len(first)
        even = [np.eye(r) * np.trace(first) / r] if len(self.game.points) <= _MANY else []
        return [first, *even, *gaussian.clean_starts(self.game, first, nats)]

    def _solved(self, nats: float, starts: list[Floats]) -> Floats:
        found = [gaussian.stationary(self.game, start, nats) for start in starts]
        return min(found, key=lambda pair: pair[0])[1]

    def _noise(self, cov: Floats) -> GaussianNoise:
        variances, turn = np.linalg.eigh(cov)
        turn *= signs(self.game.points @ turn)
        return GaussianNoise.on(self.kept @ turn, variances, drop=self.drop)

    def _met(
        self, cov: Floats, nats: float, baseline: GaussianNoise
    ) -> tuple[GaussianNoise, float]:
        """Return noise that meets the budget, and the slack: the budget less what it leaks.

        The search ends early where the noise would cost more than the baseline.
        """
        mi, _, slope = gaussian.posterior(self.game, cov)
        noise = self._noise(cov)
        most = math.inf if self.drop else math.log(self._cost(baseline) / self._cost(noise))
        t = meet_tightly(self.outputs, noise, nats, self.seed, slope=slope, most=most)
        return noise.scaled(math.exp(t)), nats - mi + slope * t

    def _cost(self, noise: GaussianNoise) -> float:
        cov = self._cov(noise)
        return float(np.sum(self.inner.weight(cov) * cov))

    def _cheaper(self, noise: GaussianNoise, baseline: GaussianNoise) -> GaussianNoise:
        """Return exact Auto-PAC instead where it costs no more."""
        return noise if self.drop or self._cost(noise) < self._cost(baseline) else baseline


def weighed_directions(basis: Floats, utility: Utility) -> Floats:
    """Return the part of a (d, r) basis that the utility weighs."""
    weight = utility.within(Span.given(basis)).weight(np.eye(basis.shape[1]))
    values, vectors = np.linalg.eigh(weight)
    if values[0] > 1e-12 * values[-1]:
        return basis
    return np.asarray(basis @ vectors[:, values > 1e-12 * values[-1]])
