"""Gaussian noise in units of its own scale, ideal or on a grid: what Gaussian bounds rest on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rpac._base.types import Floats
from rpac.noise.base import system_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import Laws

TAIL = 1e-3
"""Most that the mean of a quadratic form of noise loses by being clipped, by its largest value."""


@dataclass(frozen=True)
class Kernel:
    """Gaussian noise B in units of its own scale.

    Attributes:
        entropy: Entropy of B with respect to volume.
        variances: (r,) variances of its coordinates; 1 for ideal noise.
        excess: KL(B || ideal kernel), the price of tabulating.
        log_theta: Log of the most by which a Gaussian density, no narrower than B, can exceed 1
            when summed over the grid (Poisson summation); 0 for ideal noise.
        draw: n judging draws, (n, r).
    """

    entropy: float
    variances: Floats
    excess: float
    log_theta: float
    draw: Callable[[int], Floats]

    def lengths(self, noise: Floats) -> tuple[Floats, float, float]:
        """Return min(|b|^2, most) of (n, r) noise, a lower bound of its mean, and `most`."""
        most = form_limit(self.variances.size, 1.0)
        squares = np.einsum("nr,nr->n", noise, noise)
        return np.minimum(squares, most), float(self.variances.sum()) - 1.01 * TAIL, float(most)


def form_limit(trace: Any, largest: Any) -> Any:
    """Return where b' C b may be clipped, C positive semi-definite: its mean loses TAIL `largest`.

    `largest` is at least the largest eigenvalue of C. Proof: with a = 0.4 / `largest`, (x)+ <=
    exp(a x) / (a e) gives E(b' C b - c)+ <= exp(-a c) E exp(a b' C b) / (a e). Noise in units of
    its scale, ideal or on a grid, has E exp(w . b) <= exp(|w|^2 / 2) (docs/mathematics.md); the
    mean of both sides over w ~ N(0, 2 a C) is E exp(a b' C b) <= det(I - 2 a C)^(-1/2), at most
    5^(trace / (2 `largest`)) because -log(1 - x) / x grows. The c below makes all of it TAIL
    `largest`; a hundredth of that is left for rounding wherever it is used.
    """
    return 2.5 * largest * math.log(2.5 / (math.e * TAIL)) + 1.25 * math.log(5.0) * trace


def ideal_kernel(noise: GaussianNoise) -> Kernel:
    """Return the kernel of ideal Gaussian noise."""
    rank = noise.variances.size
    rng = np.random.default_rng()  # seeded by the operating system, afresh for every certificate
    entropy = 0.5 * rank * math.log(2.0 * math.pi * math.e)
    return Kernel(entropy, np.ones(rank), 0.0, 0.0, lambda n: rng.standard_normal((n, rank)))


@lru_cache(maxsize=16)
def grid_kernel(laws: Laws) -> Kernel:
    """Return the kernel of tabulated Gaussian noise, by its tables."""
    scales, rank = laws.scales, len(laws.each)
    decay = math.exp(-2.0 * math.pi**2 * float(laws.variances.min()))
    # Poisson: sum_k N(k; m, v) = sum_j exp(-2 pi^2 v j^2) cos(2 pi j m) <= theta(v), which falls
    # with v; a Gaussian with covariance >= v I sums, axis after axis, to at most theta(v)^r.
    theta = 1.0 + 2.0 * decay / (1.0 - decay) if decay < 1 else math.inf  # exp(-a k^2) <= exp(-a k)
    variances = laws.variances / scales**2
    variances.setflags(write=False)
    return Kernel(
        entropy=sum(law.entropy for law in laws.each) - float(np.log(scales).sum()),
        variances=variances,
        excess=sum(law.excess for law in laws.each),
        log_theta=rank * math.log(theta),
        draw=lambda n: laws.at(system_uniforms(n, rank)) / scales,
    )
