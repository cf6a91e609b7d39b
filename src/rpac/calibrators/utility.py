"""What noise costs: K(b), in the units of the answer. Calibrators minimise E[K(B)]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import array, number, refuse
from rpac._base.types import Floats
from rpac.noise.base import Noise


class Utility(ABC):
    """The cost of noise."""

    @abstractmethod
    def cost(self, noise: Floats) -> Floats:
        """Return K at (n, d) noise, (n,): finite, least at 0."""

    @abstractmethod
    def weight(self, cov: Floats) -> Floats:
        """Return W, (d, d), with E[K(B)] = tr(W S) to first order around Gaussian noise N(0, S).

        For a quadratic K it is K's matrix; in general half of E[Hessian of K].
        """


@final
@dataclass(frozen=True)
class SquaredError(Utility):
    """K(b) = |b|^2."""

    def cost(self, noise: Floats) -> Floats:
        """Return |b|^2."""
        return np.asarray(np.square(noise).sum(axis=1))

    def weight(self, cov: Floats) -> Floats:
        """Return the identity."""
        return np.eye(len(cov))


@final
@dataclass(frozen=True, eq=False)
class Weighted(Utility):
    """K(b) = b' W b, W positive semi-definite. Directions of zero weight are not released."""

    matrix: Any

    def __post_init__(self) -> None:
        w = array(self.matrix, "matrix", 2)
        least = np.linalg.eigvalsh((w + w.T) / 2)[0] if w.shape[0] == w.shape[1] else -1.0
        if least < -1e-12 * np.abs(w).max() or not w.any() or not np.allclose(w, w.T):
            raise refuse(
                "a symmetric, non-negative, non-zero `matrix`",
                f"{str(w.tolist())[:80]} of shape {w.shape}",
                "A cost must be convex.",
            )

    @classmethod
    def scaled(cls, scales: Any) -> Weighted:
        """Return K(b) = sum (b_c / scale_c)^2: errors in units of each coordinate."""
        s = array(scales, "scales", 1)
        if (s <= 0).any():
            raise refuse("positive scales", s.min(), "Give each coordinate its unit.")
        return cls(np.diag(1 / np.square(s)))

    @classmethod
    def task(cls, basis: Any, ratio: float = 100.0) -> Weighted:
        """Return a cost that weighs a task subspace `ratio` times the rest; (d, k) basis."""
        if number(ratio, "ratio") <= 0:
            raise refuse("a positive `ratio`", ratio, "1 weighs all directions alike.")
        onto = projector(basis)
        return cls(np.eye(len(onto)) + (ratio - 1) * onto)

    def cost(self, noise: Floats) -> Floats:
        """Return b' W b."""
        w = np.asarray(self.matrix, np.float64)
        return np.asarray(np.einsum("ni,ij,nj->n", noise, w, noise))

    def weight(self, cov: Floats) -> Floats:
        """Return W."""
        return np.asarray(self.matrix, np.float64)


@final
@dataclass(frozen=True)
class Smooth(Utility):
    """A differentiable convex cost given as a callable on (n, d) noise.

    Under Gaussian noise the gradient of E[K(B)] in S is half of E[Hessian of K(B)], which Stein's
    identity reads off values of K alone.
    """

    function: Callable[[Floats], Floats]
    draws: int = 20_000

    def cost(self, noise: Floats) -> Floats:
        """Return K, checked to be finite."""
        found = np.asarray(self.function(noise), np.float64)
        if found.shape != (len(noise),) or not np.isfinite(found).all():
            raise refuse(
                "one finite cost for each noise",
                f"shape {found.shape} for {len(noise)}, {np.isfinite(found).sum()} of them finite",
                "Return K of shape (n,), without NaN or infinity.",
            )
        return found

    def weight(self, cov: Floats) -> Floats:
        """Return half of E[Hessian of K(B)] under N(0, cov)."""
        n = np.random.default_rng(0).standard_normal((self.draws, len(cov)))
        factor = np.linalg.cholesky(cov)
        shift = 0.5 * (self.cost(n @ factor.T) + self.cost(-n @ factor.T))
        shift -= shift.mean()
        whitened = (n * shift[:, None]).T @ n / self.draws
        inverse = np.linalg.inv(factor)
        w = 0.5 * inverse.T @ whitened @ inverse
        if np.linalg.eigvalsh(w)[0] <= 0:
            name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
            raise refuse(
                "a convex cost", f"{name}, which falls in some direction", "Penalise all noise."
            )
        return np.asarray(w)


def projector(basis: Any) -> Floats:
    """Return the projector onto the span of (d, k) columns."""
    q = np.linalg.qr(array(basis, "basis", 2))[0]
    return np.asarray(q @ q.T)


def selectivity(noise: Noise, basis: Any) -> dict[str, float]:
    """Return how the power of a noise splits between a task subspace, (d, k) basis, and the rest.

    >>> import rpac
    >>> selectivity(rpac.GaussianNoise([[1.0, 0.0], [0.0, 3.0]]), [[1.0], [0.0]])
    {'task': 0.25, 'rest': 0.75}
    """
    cov = noise.cov
    total = float(np.trace(cov))
    inside = float(np.sum(projector(basis) * cov)) / total
    return {"task": inside, "rest": 1 - inside}
