"""Problems that know their answer: for tests of this library, and of yours.

Truths come from closed forms or from one-dimensional quadrature that shares no code with
`rpac.certificate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.types import Floats
from rpac.noise import base
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.numerics import normal_quantile, student_quantile
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import vectorized
from rpac.worlds.source import Draws


@dataclass(frozen=True)
class Problem:
    """Outputs and noise whose leakage is known.

    Attributes:
        name: What it is.
        outputs: Finite worlds.
        noise: The noise.
        nats: The true MI(X; Y).
        error: Accuracy of that truth.
    """

    name: str
    outputs: Outputs
    noise: base.Law
    nats: float
    error: float


def quadrature_nats(atoms: Sequence[float], weights: Sequence[float], sigma: float) -> float:
    """Return MI of finite atoms plus ideal Gaussian noise, by the trapezoid rule on the line.

    >>> round(quadrature_nats([-1, 1], [0.5, 0.5], 1.0), 6)
    0.336831
    """
    z, p = np.asarray(atoms, float), np.asarray(weights, float)
    y = np.linspace(z.min() - 12 * sigma, z.max() + 12 * sigma, 40_001)
    law = np.zeros_like(y)
    for atom, weight in zip(z, p, strict=True):
        law += weight * np.exp(-0.5 * ((y - atom) / sigma) ** 2)
    law /= sigma * math.sqrt(2 * math.pi)
    integrand = np.where(law > 0, -law * np.log(np.where(law > 0, law, 1.0)), 0.0)
    entropy = float(integrand.sum() * (y[1] - y[0]))
    return entropy - 0.5 * math.log(2 * math.pi * math.e * sigma**2)


def sign_cube(dim: int, sigma: float) -> Problem:
    """Return the 2**dim corners of a cube under isotropic noise: dim times two points."""
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    nats = dim * quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    noise = GaussianNoise(sigma**2 * np.eye(dim))
    return Problem(f"sign cube, d = {dim}", Outputs(corners), noise, nats, 1e-9)


def coin_under_uniform(width: int) -> Problem:
    """Return a fair bit plus uniform noise on `width` integers: log(2) / width."""
    noise = LatticeNoise(1.0, np.arange(width), np.full(width, 1 / width))
    return Problem(
        f"coin, uniform noise on {width}", Outputs([0, 1]), noise, math.log(2) / width, 1e-12
    )


def randomized_response(classes: int, keep: float) -> Problem:
    """Return balanced labels kept with a given probability: log k - h(keep) - ..., closed."""
    rest = 0.0 if keep == 1 else (1 - keep) * math.log(classes * (1 - keep) / (classes - 1))
    outputs = Outputs([f"label {i}" for i in range(classes)])
    channel = LabelChannel.randomized_response(classes, keep)
    return Problem(
        f"randomised response, k = {classes}",
        outputs,
        channel,
        keep * math.log(classes * keep) + rest,
        1e-12,
    )


def problems() -> list[Problem]:
    """Return a spread of problems: one to eight dimensions, lattices and labels."""
    skew = Outputs([0.0, 4.0], [0.95, 0.05])
    return [
        Problem(
            "rare event", skew, GaussianNoise(4.0), quadrature_nats([0, 4], [0.95, 0.05], 2.0), 1e-9
        ),
        *(
            sign_cube(dim, sigma)
            for dim, sigma in ((1, 0.6), (1, 3.0), (2, 1.0), (5, 2.0), (8, 4.0))
        ),
        *(coin_under_uniform(width) for width in (1, 2, 7)),
        *(randomized_response(k, keep) for k, keep in ((2, 0.75), (10, 0.4))),
    ]


@dataclass(frozen=True)
class Law:
    """A one-dimensional law, clipped to public bounds, that knows what it leaks.

    Attributes:
        name: What it is.
        quantile: Its quantile function, or another map of uniforms on (0, 1) to it; elementwise.
        clip: Public bounds.
        light: Whether its tails end well within the clipping bounds.
    """

    name: str
    quantile: Callable[[Floats], Floats]
    clip: tuple[float, float]
    light: bool = False

    def source(self, dim: int, draws: int = 10_000) -> Draws:
        """Return the product law in `dim` dimensions as an open distribution."""

        @vectorized
        def sampler(rng: np.random.Generator, n: int) -> Floats:
            return self.quantile(rng.random((n, dim)))

        return Draws(sampler, clip=self.clip, draws=draws)

    def nats(self, sigma: float) -> float:
        """Return MI(Z; Z + B) of one clipped coordinate under Gaussian noise, by quadrature."""
        u = (np.arange(400_000) + 0.5) / 400_000
        z = np.clip(self.quantile(u), *self.clip)
        step = sigma / 50
        low = self.clip[0]
        mass = np.bincount(np.rint((z - low) / step).astype(int)) / z.size
        k = np.arange(-600, 601)
        kernel = np.exp(-0.5 * (k / 50) ** 2)
        law = np.convolve(mass, kernel / kernel.sum())
        law = law[law > 0]
        entropy = float(-(law @ np.log(law))) + math.log(step)
        return entropy - 0.5 * math.log(2 * math.pi * math.e * sigma**2)


def _normal_quantile(u: Any) -> Floats:
    return normal_quantile(u)


def laws() -> list[Law]:
    """Return twelve laws, six of them light-tailed, all clipped to public bounds."""
    root = math.sqrt

    def spike(u: Floats) -> Floats:
        return np.where(u > 0.999, 10.0, 0.1 * _normal_quantile(np.minimum(u, 0.999) / 0.999001))

    def two_humps(u: Floats) -> Floats:
        left = u < 0.5
        inner = np.clip(np.where(left, 2 * u, 2 * u - 1), 1e-12, 1 - 1e-12)
        return np.where(left, -1.0, 1.0) * 0.9 + 0.43 * _normal_quantile(inner)

    def laplace(u: Floats) -> Floats:
        return np.asarray(-np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5)) / root(2))

    def student(u: Floats) -> Floats:
        return student_quantile(u) / root(3)

    return [
        Law("normal", _normal_quantile, (-5, 5), light=True),
        Law("uniform", lambda u: root(12) * (u - 0.5), (-2, 2), light=True),
        Law("two humps", two_humps, (-4, 4), light=True),
        Law("arcsine", lambda u: root(2) * np.cos(math.pi * u), (-1.5, 1.5), light=True),
        Law("coin", lambda u: np.where(u < 0.5, -1.0, 1.0), (-1.5, 1.5), light=True),
        Law("laplace", laplace, (-6, 6), light=True),
        Law("exponential", lambda u: -np.log1p(-u), (0, 10)),
        Law("student", student, (-10, 10)),
        Law("lognormal", lambda u: np.exp(_normal_quantile(u)), (0, 12)),
        Law("pareto", lambda u: (1 - u) ** -0.4 - 1, (0, 12)),
        Law("rare spike", spike, (-1, 11)),
        Law("cauchy", lambda u: 0.3 * np.tan(math.pi * (u - 0.5)), (-8, 8)),
    ]
