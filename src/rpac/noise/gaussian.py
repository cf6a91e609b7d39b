"""Ideal Gaussian noise: what calibrators think in. It is tabulated before anything is released."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from rpac._base.checks import array, positive_definite, refuse
from rpac._base.hashing import digest
from rpac._base.limits import hold_in_memory
from rpac._base.types import Floats, Json
from rpac.errors import RpacError
from rpac.noise.base import Noise
from rpac.worlds.span import Span

_BARE = 1e-9
"""Share of the largest shift that may lie where no noise is: rounding. It is not released."""


def refuse_bare(shifts: Floats, basis: Floats) -> None:
    """Refuse (n, d) shifts that leave the span of an orthonormal (d, r) basis.

    Raises:
        InputError: If some shift points where no noise is added.
    """
    rest = np.linalg.norm(shifts - (shifts @ basis) @ basis.T, axis=1).max()
    if rest > _BARE * np.linalg.norm(shifts, axis=1).max():
        raise _bare()


def _bare() -> RpacError:
    return refuse(
        "noise in every direction in which outputs differ",
        "a direction without noise",
        "Calibrate the noise on these outputs.",
    )


def seen_from(values: Floats, center: Floats, span: Span | None) -> Floats:
    """Return (n, d) values around a (d,) centre; in the (n, r) coordinates of a span, if any.

    Raises:
        InputError: If the values leave the span.
    """
    if span is None:
        return np.asarray(values - center)
    shifts = span.along(values) - span.along(center[None])
    if span.rest(values, center) > _BARE * np.linalg.norm(shifts, axis=1).max():
        raise _bare()
    return np.asarray(shifts)


def in_numbers(along: Floats, span: Span | None) -> Floats:
    """Return (n, r) shifts in the coordinates of a span as (n, d) numbers."""
    return np.asarray(along if span is None else span.shifts(along))


def axis_sums(basis: Floats, variances: Floats, span: Span | None) -> Floats:
    """Return the diagonal of a covariance by directions and variances, (d,)."""
    if span is None:
        return np.asarray(np.square(basis) @ variances)
    return span.variances(basis, variances)


def covariance(basis: Floats, variances: Floats, span: Span | None) -> Floats:
    """Return a covariance by directions and variances, (d, d), if it fits into memory."""
    if span is not None:
        move = "Use `variances_of_numbers`, its diagonal."
        hold_in_memory(span.dim**2, f"a covariance of {span.dim} numbers that fits", move)
        basis = span.shifts(basis.T).T
    return np.asarray((basis * variances) @ basis.T)


@final
class GaussianNoise(Noise):
    """Gaussian noise with a full covariance, or on a subspace.

    Args:
        cov: (d, d) positive-definite covariance; a plain number is a variance (d = 1).

    Attributes:
        basis: (d, r) orthonormal directions; in the coordinates of `span`, where it has one.
        span: The span of some worlds that the noise lies in, or None. Its directions are implied.
        variances: (r,) positive variances along them. Outside their span there is no noise,
            so outputs may not differ there; `certify` and `tabulate` check it.
        drop: If True, what lies outside the span is not released.

    >>> GaussianNoise(4.0).power
    4.0
    """

    def __init__(self, cov: Any) -> None:
        cov = positive_definite(cov, "cov")
        if np.count_nonzero(cov - np.diag(np.diag(cov))) == 0:
            variances, basis = np.diag(cov).copy(), np.eye(len(cov))
        else:
            variances, basis = np.linalg.eigh(cov)
        self.basis, self.variances, self.drop = basis, variances, False
        self.span: Span | None = None
        self.freeze("basis", "variances")

    @classmethod
    def on(
        cls, basis: Any, variances: Any, *, drop: bool = False, span: Span | None = None
    ) -> GaussianNoise:
        """Return noise on a subspace: `basis` (d, r) with orthonormal columns, `variances` (r,).

        With `drop` what lies outside the subspace is not released at all. With `span` the basis is
        in its coordinates.
        """
        noise = object.__new__(cls)
        noise.drop, noise.span = drop, span
        noise.basis, noise.variances = array(basis, "basis", 2), array(variances, "variances", 1)
        gram = noise.basis.T @ noise.basis
        if gram.shape != (noise.variances.size,) * 2 or not np.allclose(gram, np.eye(len(gram))):
            raise refuse(
                f"{noise.variances.size} orthonormal columns",
                f"a basis of shape {noise.basis.shape}",
                "Use numpy.linalg.qr.",
            )
        if (noise.variances <= 0).any():
            raise refuse(
                "positive variances", noise.variances.min(), "Drop directions without noise."
            )
        noise.freeze("basis", "variances")
        return noise

    def _anew(self) -> GaussianNoise:
        """Return the same noise, made of plain copies of its parts."""
        basis, variances = np.array(self.basis), np.array(self.variances)
        return GaussianNoise.on(basis, variances, drop=bool(self.drop), span=self.span)

    def scaled(self, factor: float) -> GaussianNoise:
        """Return the same noise with `factor` times the power."""
        return GaussianNoise.on(self.basis, self.variances * factor, drop=self.drop, span=self.span)

    def lifted(self, span: Span) -> GaussianNoise:
        """Return the same noise on outputs of which these coordinates are those of their span."""
        return GaussianNoise.on(self.basis, self.variances, drop=self.drop, span=span)

    @property
    def within(self) -> GaussianNoise:
        """The same noise in the coordinates of its span; itself, without one."""
        return GaussianNoise.on(self.basis, self.variances, drop=self.drop)

    @property
    def dim(self) -> int:
        """Number of output coordinates, d."""
        return int(self.basis.shape[0]) if self.span is None else self.span.dim

    @property
    def cov(self) -> Floats:
        """Covariance, (d, d).

        Raises:
            TooLarge: If that many numbers do not fit into memory.
        """
        return covariance(self.basis, self.variances, self.span)

    @property
    def variances_of_numbers(self) -> Floats:
        """Variance of each coordinate, (d,)."""
        return axis_sums(self.basis, self.variances, self.span)

    @property
    def power(self) -> float:
        """E ||B||^2, the trace of the covariance."""
        return float(self.variances.sum())

    def power_in(self, scale: Floats) -> float:
        """Return E ||scale * B||^2 for (d,) factors: the power in other units."""
        return float(np.square(scale) @ self.variances_of_numbers)

    def whiten(self, values: Floats, center: Floats) -> Floats:
        """Return (n, r) coordinates in units of the noise's own scale."""
        shifts = seen_from(values, center, self.span)
        if not self.drop:
            refuse_bare(shifts, self.basis)
        return np.asarray(shifts @ self.basis / np.sqrt(self.variances))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, d) draws for study."""
        unit = rng.standard_normal((n, self.variances.size))
        return in_numbers((unit * np.sqrt(self.variances)) @ self.basis.T, self.span)

    def log_density(self, points: Floats) -> Floats:
        """Return log q at (n, d) points, with respect to volume in the span of `basis`."""
        unit = self.whiten(np.asarray(points, np.float64), np.zeros(self.dim))
        log_scale = float(np.log(2.0 * math.pi * self.variances).sum())
        return np.asarray(-0.5 * (np.square(unit).sum(axis=1) + log_scale))

    def describe(self) -> Json:
        """Return the public description."""
        rank = int(self.variances.size)
        key = digest(self.basis, self.variances, *([] if self.span is None else [self.span.digest]))
        return {
            "family": "gaussian",
            "dim": self.dim,
            "rank": rank,
            "power": self.power,
            "digest": key,
        }

    def __repr__(self) -> str:
        return f"GaussianNoise(dim={self.dim}, power={self.power:.6g})"
