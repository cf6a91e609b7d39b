"""Corrections of the log-determinant: certified lower bounds of the Gaussianity gap.

For any fixed Gaussian Q, MI(X; Y) <= E[log q(B) - log Q(Y)] - KL(P_Y || Q), so whatever is surely
below the divergence may be taken off. Everything happens after whitening by Cov(Y), where Q is the
standard normal. Each correction fixes a bounded function on training draws and takes its mean on
validation draws; only that mean is uncertain, and its lower confidence bound is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from rpac._base.checks import count, in_range, refuse
from rpac._base.types import Floats
from rpac.calibrators.product import independent_rotation
from rpac.certificate.confidence import lower_mean, upper_mean
from rpac.certificate.references import MixtureReference
from rpac.noise.gaussian import GaussianNoise
from rpac.numerics import normal_quantile, normal_tail
from rpac.worlds.outputs import Outputs

Critic = Callable[[Floats], Floats]
_CAPS = (1.0, 2.0, 3.0, 4.0, 5.0)
_BINS = 96
_KNOTS = 601
_REACH = 6.0


@final
@dataclass(frozen=True)
class Correction:
    """A certified reduction of the log-determinant.

    Attributes:
        name: Which correction.
        nats: Lower bound of the Gaussianity gap; 0 where nothing could be shown.
        log_det: The bound it is taken off.
        confidence: Probability with which `nats` is below the gap.
    """

    name: str
    nats: float
    log_det: float
    confidence: float

    @property
    def bound(self) -> float:
        """The corrected bound on the leakage, in nats."""
        return self.log_det - self.nats


@dataclass(frozen=True)
class _Whitened:
    """Draws of Y in coordinates in which its mean is 0 and its covariance the identity.

    Attributes:
        points: (m, r) worlds.
        weights: (m,) prior.
        factor: (r, r) noise factor: Y = point + factor @ normal.
        log_det: The log-determinant bound.
        rng: Source of all draws.
    """

    points: Floats
    weights: Floats
    factor: Floats
    log_det: float
    rng: np.random.Generator

    @classmethod
    def of(cls, outputs: Outputs, noise: GaussianNoise, seed: int | None) -> _Whitened:
        if not outputs.exact or type(noise) is not GaussianNoise:
            raise refuse(
                "finite worlds under GaussianNoise",
                f"{outputs!r} under {noise!r}",
                "Open distributions are corrected by their reference in certify.",
            )
        unit = noise.whiten(outputs.values, outputs.center)
        cov = (unit * outputs.weights[:, None]).T @ unit + np.eye(unit.shape[1])
        values, vectors = np.linalg.eigh(cov)
        to_white = (vectors / np.sqrt(values)) @ vectors.T
        rng = np.random.default_rng(seed)  # None: seeded by the operating system
        half_log = 0.5 * float(np.log(values).sum())
        return cls(unit @ to_white, outputs.weights, to_white, half_log, rng)

    def draw(self, n: int) -> Floats:
        """Return (n, r) draws of Y."""
        rows = self.rng.choice(len(self.points), size=n, p=self.weights)
        normal = self.rng.standard_normal((n, self.points.shape[1]))
        return np.asarray(self.points[rows] + normal @ self.factor.T)

    def normal(self, n: int) -> Floats:
        """Return (n, r) draws of the standard normal Q."""
        return self.rng.standard_normal((n, self.points.shape[1]))

    def correction(self, name: str, nats: float, confidence: float) -> Correction:
        return Correction(name, max(0.0, nats), self.log_det, confidence)


def donsker_varadhan(
    outputs: Outputs,
    noise: GaussianNoise,
    *,
    critic: Literal["mixture", "network"] | Critic = "mixture",
    confidence: float = 1 - 1e-6,
    draws: int = 200_000,
    seed: int | None = None,
) -> Correction:
    """Return the Donsker-Varadhan correction: four independent splits, lower-confidence estimator.

    Args:
        outputs: Finite worlds.
        noise: Gaussian noise.
        critic: "mixture" (log ratio of a mixture fitted to training draws), "network" (trained;
            needs the extra `neural`), or a function of (n, r) whitened points.
        confidence: Of the correction.
        draws: Size of each validation split; a tenth of it, at most 5,000, trains.
        seed: Study randomness; None takes the operating system's.
    """
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    world = _Whitened.of(outputs, noise, seed)
    n_train = min(5_000, count(draws, "draws", least=1_000) // 10)
    train_p, train_q = world.draw(n_train), world.normal(n_train)
    if critic == "network":
        from rpac.learned.decoders import dv_network

        critic = dv_network(train_p, train_q, seed=0 if seed is None else seed)
    f = _mixture_critic(world) if critic == "mixture" else critic
    assert callable(f)
    cap = _best_cap(f(world.draw(n_train)), f(world.normal(n_train)), draws, delta)
    up = np.clip(f(world.draw(draws)), -cap, cap)
    down = np.exp(np.clip(f(world.normal(draws)), -cap, cap))
    low = lower_mean(up, -cap, cap, delta / 2)
    high = upper_mean(down, math.exp(-cap), math.exp(cap), delta / 2)
    return world.correction("donsker-varadhan", low - math.log(high), confidence)


def _mixture_critic(world: _Whitened) -> Critic:
    """Return log of (mixture of kernels at drawn worlds) over the standard normal."""
    rows = world.rng.choice(len(world.points), size=2_000, p=world.weights)
    picked, counts = np.unique(rows, return_counts=True)
    inverse = np.linalg.inv(world.factor)
    log_scale = float(np.linalg.slogdet(inverse)[1])
    mixture = MixtureReference(world.points[picked] @ inverse.T, counts / counts.sum())

    def critic(y: Floats) -> Floats:
        plain = 0.5 * np.square(y).sum(axis=1) + 0.5 * y.shape[1] * math.log(2 * math.pi)
        return np.asarray(mixture.log_density(y @ inverse.T) + log_scale + plain)

    return critic


def _best_cap(on_p: Floats, on_q: Floats, draws: int, delta: float) -> float:
    """Return the cap whose lower-confidence value should be largest; from training draws."""
    log_term = math.log(4 / delta)

    def value(cap: float) -> float:
        up, down = np.clip(on_p, -cap, cap), np.exp(np.clip(on_q, -cap, cap))
        slack = up.std() * math.sqrt(2 * log_term / draws) + 14 * cap * log_term / (3 * draws)
        wide = 7 * (math.exp(cap) - math.exp(-cap)) * log_term / (3 * draws)
        over = down.mean() + down.std() * math.sqrt(2 * log_term / draws) + wide
        return float(up.mean() - slack - math.log(over))

    return max(_CAPS, key=value)


def negentropy(
    outputs: Outputs,
    noise: GaussianNoise,
    *,
    basis: Literal["principal", "independent"] = "independent",
    confidence: float = 1 - 1e-6,
    draws: int = 200_000,
    seed: int | None = None,
) -> Correction:
    """Return the sum of one-dimensional negentropies over a basis orthonormal after whitening.

    There Q is a product, and by the chain rule KL(P || Q) >= sum_i KL(P_i || Q_i). Each term is
    bounded through a step function on bins, whose mean under the normal is an exact sum.
    """
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    world = _Whitened.of(outputs, noise, seed)
    turn = np.eye(world.points.shape[1])
    if basis == "independent":
        turn = independent_rotation(world.points, world.weights)
    elif basis != "principal":
        raise refuse('basis "principal" or "independent"', repr(basis), "Choose one.")
    train = world.draw(count(draws, "draws", least=1_000) // 4) @ turn
    edges = normal_quantile(np.arange(1, _BINS) / _BINS)  # bins of equal mass under the normal
    heights, log_mass = [], 0.0
    for column in train.T:
        counts = np.bincount(np.searchsorted(edges, column), minlength=_BINS)
        ratio = (counts + 1.0) / (len(column) + _BINS) * _BINS
        heights.append(np.log(ratio))
        log_mass += math.log(float(ratio.mean()))
    fresh = world.draw(draws) @ turn
    total = np.sum([h[np.searchsorted(edges, c)] for h, c in zip(heights, fresh.T, strict=True)], 0)
    limits = float(sum(h.min() for h in heights)), float(sum(h.max() for h in heights))
    nats = lower_mean(total, *limits, delta) - log_mass
    return world.correction("negentropy", nats, confidence)


def sliced_wasserstein(
    outputs: Outputs,
    noise: GaussianNoise,
    *,
    constant: Literal["sharp", "paper"] = "sharp",
    bases: int = 4,
    confidence: float = 1 - 1e-6,
    draws: int = 100_000,
    seed: int | None = None,
) -> Correction:
    """Return the sliced-Wasserstein correction.

    The squared cost splits over an orthonormal basis, so W_2^2 >= sum_i W_2^2(P_i, Q_i): the mean
    over directions of random bases times d/2 is below the gap (Talagrand). "paper" leaves the
    factor d out. Empirical W_2 is biased upward, so each direction is bounded by a pair of
    Kantorovich potentials: fitted on training draws, its mean taken on others.
    """
    delta = 1.0 - in_range(confidence, "confidence", 0.0, 1.0)
    if constant not in ("sharp", "paper"):
        raise refuse('constant "sharp" or "paper"', repr(constant), "Choose one.")
    world = _Whitened.of(outputs, noise, seed)
    d = world.points.shape[1]
    turns = [
        np.linalg.qr(world.rng.standard_normal((d, d)))[0]
        for _ in range(count(bases, "bases", least=1) if d > 1 else 1)
    ]
    directions = np.concatenate(turns, axis=1)
    train = world.draw(count(draws, "draws", least=1_000) // 4) @ directions
    potentials = [Potential.fit(column) for column in train.T]
    fresh = world.draw(draws) @ directions
    means = np.mean([f(c) for f, c in zip(potentials, fresh.T, strict=True)], axis=0)
    low, high = (float(np.mean([f.limits[side] for f in potentials])) for side in (0, 1))
    squared = lower_mean(means, low, high, delta) + float(np.mean([f.dual for f in potentials]))
    factor = d / 2 if constant == "sharp" else 0.5
    return world.correction(f"sliced wasserstein ({constant})", factor * squared, confidence)


@final
@dataclass(frozen=True)
class Potential:
    """A pair of potentials for W_2^2 against the standard normal on the line.

    With c convex, phi(x) = x^2 - 2 c(x) and psi(y) = y^2 - 2 c*(y) satisfy phi(x) + psi(y) <=
    (x - y)^2 everywhere, so E[phi(X)] + E[psi(N)] <= W_2^2. Here c is piecewise linear between
    knots and x^2 / 2 plus a constant beyond them, so phi is bounded and E[psi(N)] a closed form.

    Attributes:
        knots: (k,) places.
        values: (k,) c at the knots.
        dual: E[psi(N)].
        limits: Least and largest value of phi.
    """

    knots: Floats
    values: Floats
    dual: float
    limits: tuple[float, float]

    @classmethod
    def fit(cls, draws: Floats) -> Potential:
        """Return the potentials of the monotone map from (n,) draws to the normal."""
        g = np.linspace(-_REACH, _REACH, _KNOTS)
        middle = 0.5 * (g[1:] + g[:-1])
        rank = (np.searchsorted(np.sort(draws), middle) + 0.5) / (draws.size + 1)
        slopes = np.clip(normal_quantile(rank), g[0], g[-1])
        # Beyond the draws the map is unknown; the identity there keeps phi flat.
        outside = (middle < draws.min()) | (middle > draws.max())
        slopes = np.maximum.accumulate(np.where(outside, middle, slopes))
        values = np.concatenate([[0.0], np.cumsum(slopes * np.diff(g))]) + 0.5 * g[0] ** 2
        return cls(g, values, _dual(g, values, slopes), _range(g, values, slopes))

    def __call__(self, x: Floats) -> Floats:
        """Return phi at (n,) places."""
        inside = np.interp(x, self.knots, self.values)
        beyond = np.maximum(np.abs(x) - _REACH, 0.0) * (np.abs(x) + _REACH) / 2
        return np.asarray(np.square(x) - 2 * (inside + beyond))


def _range(g: Floats, values: Floats, slopes: Floats) -> tuple[float, float]:
    """Return the least and largest x^2 - 2 c(x): at knots, or where 2 x = 2 slope."""
    ends = np.square(g) - 2 * values
    held = (slopes > g[:-1]) & (slopes < g[1:])
    dips = np.square(slopes) - 2 * (values[:-1] + slopes * (slopes - g[:-1]))
    return float(min(ends.min(), dips[held].min(initial=math.inf))), float(ends.max())


def _dual(g: Floats, values: Floats, slopes: Floats) -> float:
    """Return E[N^2 - 2 c*(N)]: c* is linear with slope g_k between consecutive slopes of c."""
    cuts = np.concatenate([[g[0]], slopes, [g[-1]]])
    density = np.exp(-0.5 * np.square(cuts)) / math.sqrt(2 * math.pi)
    mass = np.diff(normal_tail(cuts))
    inner = float(g @ -np.diff(density) - values @ mass)
    edge = g[-1]
    tail_mass, tail_density = float(normal_tail(-edge)), float(density[-1])
    second = edge * tail_density + tail_mass  # E[N^2; N > edge]
    shift = (values[0] - 0.5 * g[0] ** 2) + (values[-1] - 0.5 * g[-1] ** 2)
    outer = second - shift * tail_mass
    return 1.0 - 2.0 * float(inner + outer)
