"""The Gaussian equilibrium: noise is the square root of what the adversary still does not know.

Minimise tr(W S) subject to MI(X; Z + N(0, S)) <= budget. Stationarity reads S W S = (mu / 2) E,
with E = E[Cov(Z | Y)] the adversary's posterior error covariance, hence

    S  proportional to  W^(-1/2) (W^(1/2) E W^(1/2))^(1/2) W^(-1/2).

The scale follows from dMI / dlog t = -tr((t S)^-1 E) / 2. Draws are common to all iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rpac._base.entropy import entropy
from rpac._base.types import Floats, Ints
from rpac.certificate.references import MixtureReference
from rpac.noise.base import integer_table, look_up, study_uniforms

FLOOR = 1e-6
"""Least eigenvalue of the noise, relative to its mean eigenvalue."""
_ITERATIONS = 40
_FAR = 0.05
"""A step of log scale beyond which the leakage after it is not yet known well."""
_STILL = 1e-2
"""Relative change at which to stop: near the optimum the cost moves by its square."""


@dataclass(frozen=True)
class Game:
    """Worlds in the coordinates in which they differ, with the draws that all iterations share.

    Attributes:
        points: (m, r) worlds.
        weights: (m,) prior.
        utility: Returns the (r, r) positive-definite W of a covariance: noise b costs b' W b.
        worlds: (n,) drawn worlds.
        noise: (n, r) standard normal draws.
    """

    points: Floats
    weights: Floats
    utility: Callable[[Floats], Floats]
    worlds: Ints
    noise: Floats

    @classmethod
    def of(
        cls, points: Floats, weights: Floats, utility: Callable[[Floats], Floats], seed: int
    ) -> Game:
        """Return the game with its draws: fewer for more worlds or directions."""
        rng = np.random.default_rng(seed)
        n = int(np.clip(min(5e6 // len(points), 6e5 // points.shape[1]), 800, 20_000))
        worlds = look_up(integer_table(weights), study_uniforms(rng, n))
        return cls(points, weights, utility, worlds, rng.standard_normal((n, points.shape[1])))

    def cost(self, cov: Floats) -> float:
        """Return tr(W S)."""
        return float(np.sum(self.utility(cov) * cov))


def root(matrix: Floats, power: float) -> Floats:
    """Return a power of a symmetric positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    floor = max(float(values[-1]), 1e-300) * 1e-15
    return np.asarray((vectors * np.maximum(values, floor) ** power) @ vectors.T)


def between(low: Floats, high: Floats, share: float) -> Floats:
    """Return a covariance between two on the line of their logarithms."""
    logs = []
    for cov in (low, high):
        values, vectors = np.linalg.eigh(cov)
        logs.append((vectors * np.log(values)) @ vectors.T)
    values, vectors = np.linalg.eigh((1 - share) * logs[0] + share * logs[1])
    return np.asarray((vectors * np.exp(values)) @ vectors.T)


def posterior(game: Game, cov: Floats) -> tuple[float, Floats, float]:
    """Return estimates under N(0, cov): MI, E[Cov(Z | Y)], (r, r), and -dMI / dlog scale^2."""
    mixture = MixtureReference(whitened(game.points, cov), game.weights)
    columns = np.column_stack([np.ones(len(game.points)), game.points])
    total, means = np.zeros(len(game.points)), np.zeros(cov.shape)
    densities = 0.0
    for sign in (1.0, -1.0):
        for _, kernel, top in mixture.kernels(game.worlds, sign * game.noise):
            sums = kernel @ columns
            mass = sums[:, 0]
            densities -= float((top + np.log(mass)).sum())
            total += (1 / mass) @ kernel
            mean = sums[:, 1:] / mass[:, None]
            means += mean.T @ mean
    n = 2 * len(game.worlds)
    second = (game.points * total[:, None]).T @ game.points
    error = (second - means) / n
    return densities / n, error, 0.5 * float(np.sum(np.linalg.inv(cov) * error))


def whitened(points: Floats, cov: Floats) -> Floats:
    """Return (m, r) points in units of noise with this covariance."""
    return np.asarray(np.linalg.solve(np.linalg.cholesky(cov), points.T).T)


def stationary(
    game: Game, start: Floats, nats: float, iterations: int = _ITERATIONS
) -> tuple[float, Floats]:
    """Iterate from a start to a stationary covariance; return its cost and itself."""
    cov, best = start, (True, math.inf, start)
    for _ in range(iterations):
        mi, error, slope = posterior(game, cov)
        shift = float(np.clip((mi - nats) / max(slope, 1e-12), -1.0, 1.0))
        at_budget = cov * math.exp(shift)
        found = (abs(shift) >= _FAR, game.cost(at_budget), at_budget)
        best = min(best, found, key=lambda triple: triple[:2])
        weight = game.utility(cov)
        to_w, from_w = root(weight, 0.5), root(weight, -0.5)
        shape = from_w @ root(to_w @ error @ to_w, 0.5) @ from_w
        new = _floored(shape * (game.cost(at_budget) / game.cost(shape)))
        change = np.linalg.norm(new - cov) / np.linalg.norm(cov)
        cov = new
        if change < _STILL:
            break
    return best[1:]


def _floored(cov: Floats) -> Floats:
    values, vectors = np.linalg.eigh(cov)
    least = FLOOR * float(values.sum()) / values.size
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def clean_starts(game: Game, base: Floats, nats: float) -> list[Floats]:
    """Return starts that leave leading coordinates clean, where their entropy fits the budget."""
    starts = []
    scale = float(np.trace(base)) / len(base)
    for k in range(1, len(base)):
        spread = np.ptp(game.points[:, :k], axis=0) + 1e-300
        cells = np.rint(game.points[:, :k] / spread * 1e6)
        _, inverse = np.unique(cells, axis=0, return_inverse=True)
        if entropy(np.asarray(np.bincount(inverse.ravel(), game.weights), float)) > nats:
            break
        keep = np.where(np.arange(len(base)) < k, 1e-4, 1.0)
        starts.append(base * np.outer(keep, keep) + FLOOR * scale * np.eye(len(base)))
    return starts
