"""The equilibrium on a lattice: least E[K(B)] at a leakage, over all noise laws on integers.

For a multiplier mu the problem min E[K(B)] + mu MI is jointly convex in the noise q and the law w
of Y. The best q for a given w is proportional to exp(-K / mu + E_Z log w(Z + b)); the best w for a
given q is the law of Y. The alternation converges, slowly where worlds share a divisor, so each
step is followed by a Newton step. Both are judged by the gap of the convex problem:
E_q[g] - min g >= F(q) - min F, with g the gradient of F.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.atoms import distinct

_TINY = 1e-290
_RIDGE = 1e-14
"""Mass below which a place has no Newton step of its own."""
_STEPS = 200
_STAYS, _STILL = 5, 1e-10
"""Steps in which the objective falls by less than this share of itself where it stays."""
_SPARSE = 0.1
"""Share of a matrix below which its zeros are left out."""
_NARROW = 1e-3
"""Width of a bracket, against the budget: a mixture of its ends costs more by its square."""


@dataclass(frozen=True)
class LatticeGame:
    """Integer worlds against noise on the integers -half..half.

    Attributes:
        codes: (m,) worlds, the least is 0.
        weights: (m,) prior.
        cost: (2 half + 1,) K at every integer, finite.
    """

    codes: Ints
    weights: Floats
    cost: Floats

    @classmethod
    def of(cls, codes: Ints, weights: Floats, cost: Floats) -> LatticeGame:
        """Return the game of (m,) integer worlds; equal worlds are one."""
        rows, p = distinct(codes[:, None], weights)
        gaps = np.minimum(np.diff(rows[:, 0]), cost.size)  # noise cannot bridge wider ones
        return cls(np.concatenate([[0], np.cumsum(gaps)]), p, cost)

    @property
    def cells(self) -> int:
        """Size of the matrix that a step works on."""
        return (int(self.codes[-1]) + self.cost.size) * self.cost.size

    @cached_property
    def _prior(self) -> Floats:
        return np.asarray(np.bincount(self.codes, self.weights), np.float64)

    def law(self, q: Floats) -> Floats:
        """Return the law of Y, A q: added up term by term, so that tails keep their digits."""
        return np.convolve(self._prior, q)

    @cached_property
    def spread(self) -> Floats:
        """The matrix A with law(Y) = A q."""
        n = self.cost.size
        out = np.zeros((int(self.codes[-1]) + n, n))
        for code, weight in zip(self.codes, self.weights, strict=True):
            out[code + np.arange(n), np.arange(n)] += weight
        return out

    def response(self, log_q: Floats, mu: float) -> tuple[Floats, Floats, float]:
        """Return (best noise against the law of Y, gradient of F / mu, MI)."""
        q = np.exp(log_q)
        score = np.correlate(np.log(np.maximum(self.law(q), _TINY)), self._prior, "valid")
        reply = score - self.cost / mu
        return _normalised(reply), log_q - reply, float(q @ (log_q - score))

    def objective(self, log_q: Floats, mu: float) -> float:
        """Return F / mu = E[K] / mu + MI."""
        q = np.exp(log_q)
        law = self.law(q)
        mass = law[law > 0]
        return float(q @ (self.cost / mu + log_q) - mass @ np.log(mass))

    def newton(self, log_q: Floats, gradient: Floats) -> Floats:
        """Return the Newton direction in log q, in a trust region; 0 where there is no mass."""
        q = np.exp(log_q)
        law = np.maximum(self.law(q), _TINY)
        hessian = np.diag(q * (1 + 1e-9) + _RIDGE) - self._gram(q, law)
        centred, there = gradient - q @ gradient, np.flatnonzero(q > _RIDGE)
        out = np.zeros_like(q)
        out[there] = np.linalg.solve(hessian[np.ix_(there, there)], -(q * centred)[there])
        return np.asarray(np.clip(out, -3.0, 3.0))

    def _gram(self, q: Floats, law: Floats) -> Floats:
        """Return diag(q) A' diag(1 / law) A diag(q); most of A is empty where worlds lie apart."""
        n, root = q.size, np.sqrt(law)
        if self.codes.size * n > _SPARSE * self.cells:
            scaled = self.spread * q / root[:, None]
            return np.asarray(scaled.T @ scaled)
        share = self.weights[:, None] * q / law[self.codes[:, None] + np.arange(n)]
        at = np.zeros(int(self.codes[-1]) + n)  # weights by code, behind n - 1 places of none
        at[self.codes + n - 1] = self.weights
        gram = np.zeros((n, n))
        for gap in range(n):  # between worlds that noise can take to the same sum
            other = at[self.codes + n - 1 - gap]
            met = np.flatnonzero(other)
            if met.size:
                line = (other[met] @ share[met, : n - gap]) * q[gap:]
                gram.ravel()[gap :: n + 1][: n - gap] = line
        return gram + np.triu(gram, 1).T

    def solve(self, mu: float, log_q: Floats, tolerance: float = 1e-5) -> tuple[Floats, float]:
        """Return (log q, MI) of the optimum for a multiplier, from a start.

        It ends at a small gap, or where the objective stays: a gap may also be that of places
        which hold next to nothing.
        """
        last: list[float] = []
        for _ in range(_STEPS):
            reply, gradient, mi = self.response(log_q, mu)
            gap = float(np.exp(log_q) @ gradient - gradient.min())
            last = [*last[-_STAYS:], max(self.objective(log_q, mu), 1e-9)]
            stays = len(last) > _STAYS and last[0] - last[-1] < _STILL * last[-1]
            if gap < tolerance * last[-1] or stays:
                break
            log_q, least = reply, self.objective(reply, mu)
            direction = self.newton(reply, self.response(reply, mu)[1])
            for step in (1.0, 0.5, 0.2):
                trial = _normalised(reply + step * direction)
                value = self.objective(trial, mu)
                if value < least:
                    log_q, least = trial, value
                    break
        return log_q, mi


def _normalised(log_q: Floats) -> Floats:
    shifted = np.maximum(log_q - log_q.max(), -700.0)
    return np.asarray(shifted - math.log(np.exp(shifted).sum()))


def gaussian_start(half: int, scale: float) -> Floats:
    """Return log q of a discrete Gaussian on -half..half."""
    return _normalised(-0.5 * np.square(np.arange(-half, half + 1) / scale))


@dataclass(frozen=True)
class TwoLevels:
    """A game on a fine lattice, solved on a coarse one where noise is many steps wide.

    There log q is smooth as a rule: between the coarse points it is drawn straight, and two replies
    on the fine lattice take away what is left of the corners. Where it is not, because worlds are
    few and far apart, the fine lattice is solved. The leakage is that on the fine lattice.

    Attributes:
        fine: The game.
        coarse: The same in steps of `step`.
        step: In fine steps.
    """

    fine: LatticeGame
    coarse: LatticeGame
    step: int

    @classmethod
    def of(cls, codes: Ints, weights: Floats, cost: Floats, step: int) -> TwoLevels:
        """Return the levels of the game `LatticeGame.of` the first three."""
        half = (cost.size // 2) // step
        places = cost.size // 2 + step * np.arange(-half, half + 1)
        apart = codes - weights @ codes
        shrink = 1 - (step**2 - 1) / 12 / float(weights @ np.square(apart))  # rounding spreads them
        rounded = np.rint(apart * math.sqrt(max(shrink, 0.25)) / step).astype(np.int64)
        few = LatticeGame.of(rounded, weights, cost[places])
        return cls(LatticeGame.of(codes, weights, cost), few, step)

    def solve(self, mu: float, log_q: Floats, tolerance: float = 1e-5) -> tuple[Floats, float]:
        """Return (log q, MI) near the optimum for a multiplier, from a start."""
        middle, half = self.fine.cost.size // 2, self.coarse.cost.size // 2
        places = middle + self.step * np.arange(-half, half + 1)
        few, _ = self.coarse.solve(mu, _normalised(log_q[places]), tolerance)
        log_q = _normalised(np.interp(np.arange(self.fine.cost.size), places, few))
        for _ in range(2):
            log_q = self.fine.response(log_q, mu)[0]
        _, gradient, mi = self.fine.response(log_q, mu)
        q = np.exp(log_q)
        # Half the variance of the gradient is what the objective could still fall by, about.
        if q @ np.square(gradient - q @ gradient) > tolerance * self.fine.objective(log_q, mu):
            return self.fine.solve(mu, log_q, tolerance)
        return log_q, mi


def gaussian_multiplier(cost: float, ratio: float) -> float:
    """Return mu = -dE[K] / dMI for Gaussian noise on Gaussian worlds.

    Args:
        cost: E[K(B)], K a quadratic.
        ratio: Variance of the noise over that of the worlds.
    """
    return 2 * cost * (1 + ratio)


def _model(nats: float) -> float:
    """Return log mu of Gaussian noise at a leakage, but for a constant."""
    return 2 * nats - 2 * math.log(math.expm1(min(2 * nats, 700.0)))


class Solvable(Protocol):
    """A game that can be solved for a multiplier."""

    def solve(self, mu: float, log_q: Floats, tolerance: float = 1e-5) -> tuple[Floats, float]:
        """Return (log q, MI) of the optimum, from a start."""


def meet_along_mu(game: Solvable, nats: float, start: Floats, mu: float) -> tuple[Floats, float]:
    """Return (q, mu) with MI just below the budget, by a bracket on the multiplier.

    Leakage falls as mu grows, about as it does for Gaussians (`_model`), which says where to look
    next. MI is convex in q, so a mixture of the two ends of the bracket leaks no more than the
    mixture of their leakages: it closes the last gap from the safe side.
    """
    low: tuple[float, Floats, float] | None = None
    high: tuple[float, Floats, float] | None = None
    log_q = start
    nats = nats * (1 - 1e-9) - 1e-11  # room for the rounding that a certificate adds
    aim, further = _model(nats), 5e-4
    for turn in range(80):
        log_q, mi = game.solve(mu, log_q)
        if mi > nats:
            low = (mu, log_q, mi)
        else:
            high = (mu, log_q, mi)
        if high and (nats - high[2] < 1e-5 * nats or (low and _closed(low, high, nats))):
            break
        here = _model(max(mi, 1e-12))
        if low and high:
            ends = [_model(max(end[2], 1e-12)) for end in (low, high)]
            share = (aim - ends[0]) / max(ends[1] - ends[0], 1e-300) if turn % 3 else 0.5
            mu = low[0] * (high[0] / low[0]) ** min(max(share, 0.05), 0.95)
        else:  # a little further than the model says, to have both ends
            further *= 4 if high is None else -4
            mu *= math.exp(min(max(aim - here + further, -1.4), 1.4))
            further = abs(further)
    assert high is not None
    q, mu = np.exp(high[1]), high[0]
    if low and low[2] - high[2] > 1e-12:
        share = 0.999 * (nats - high[2]) / (low[2] - high[2])
        q, mu = (1 - share) * q + share * np.exp(low[1]), mu * (low[0] / mu) ** share
    return q, mu


def _closed(
    low: tuple[float, Floats, float], high: tuple[float, Floats, float], nats: float
) -> bool:
    """Whether a bracket is so narrow that a mixture of its ends is as good as the optimum."""
    return low[2] - high[2] < _NARROW * min(nats, 1.0) or high[0] / low[0] < 1 + 1e-7
