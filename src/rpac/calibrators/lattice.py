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

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.atoms import distinct

_TINY = 1e-290
_STEPS = 200


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
        score = np.log(np.maximum(self.spread @ q, _TINY)) @ self.spread
        reply = score - self.cost / mu
        return _normalised(reply), log_q - reply, float(q @ (log_q - score))

    def objective(self, log_q: Floats, mu: float) -> float:
        """Return F / mu = E[K] / mu + MI."""
        q = np.exp(log_q)
        law = self.spread @ q
        mass = law[law > 0]
        return float(q @ (self.cost / mu + log_q) - mass @ np.log(mass))

    def newton(self, log_q: Floats, gradient: Floats) -> Floats:
        """Return the Newton direction in log q, in a trust region."""
        q = np.exp(log_q)
        law = np.maximum(self.spread @ q, _TINY)
        scaled = self.spread * q / np.sqrt(law)[:, None]
        hessian = np.diag(q * (1 + 1e-9) + 1e-14) - scaled.T @ scaled
        centred = gradient - q @ gradient
        return np.asarray(np.clip(np.linalg.solve(hessian, -q * centred), -3.0, 3.0))

    def solve(self, mu: float, log_q: Floats, tolerance: float = 1e-5) -> tuple[Floats, float]:
        """Return (log q, MI) of the optimum for a multiplier, from a start."""
        for _ in range(_STEPS):
            reply, gradient, mi = self.response(log_q, mu)
            gap = float(np.exp(log_q) @ gradient - gradient.min())
            if gap < tolerance * max(self.objective(log_q, mu), 1e-9):
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


def meet_along_mu(game: LatticeGame, nats: float, start: Floats, mu: float) -> tuple[Floats, float]:
    """Return (q, mu) with MI just below the budget, by a bracket on the multiplier.

    Leakage falls as mu grows. MI is convex in q, so a mixture of the two ends of the bracket
    leaks no more than the mixture of their leakages: it closes the last gap from the safe side.
    """
    low: tuple[float, Floats, float] | None = None
    high: tuple[float, Floats, float] | None = None
    log_q = start
    nats = nats * (1 - 1e-9) - 1e-11  # room for the rounding that a certificate adds
    for _ in range(80):
        log_q, mi = game.solve(mu, log_q)
        if mi > nats:
            low = (mu, log_q, mi)
        else:
            high = (mu, log_q, mi)
        if high and (nats - high[2] < 1e-5 * nats or (low and high[0] / low[0] < 1 + 1e-7)):
            break
        if low and high:
            share = math.log(low[2] / nats) / math.log(low[2] / max(high[2], 1e-12))
            mu = low[0] * (high[0] / low[0]) ** min(max(share, 0.05), 0.95)
        else:
            mu = mu * 4 if high is None else mu / 4
    assert high is not None
    q = np.exp(high[1])
    if low and low[2] - high[2] > 1e-12:
        share = 0.999 * (nats - high[2]) / (low[2] - high[2])
        q = (1 - share) * q + share * np.exp(low[1])
    return q, high[0]
