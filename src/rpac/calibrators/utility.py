"""What noise costs: K(b), in the units of the answer. Calibrators minimise E[K(B)]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, final

import numpy as np

from rpac._base.checks import array, number, refuse
from rpac._base.limits import hold_in_memory
from rpac._base.types import Floats
from rpac.errors import RpacError
from rpac.noise.base import Noise
from rpac.worlds.span import Span

_NUMBERS = 1 << 22
"""Numbers of differences that a function sees together, at most."""


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

    def within(self, span: Span) -> Utility:
        """Return the cost of noise that lies in a span, in its coordinates; W becomes B' W B."""
        return Restricted(self, span)

    def loss(self, values: Floats, words: Floats) -> Floats:
        """Return what (k, d) words cost in place of (n, d) values, (n, k): K of the difference."""
        out = np.empty((len(values), len(words)))
        size = max(1, _NUMBERS // words.size)
        for a in range(0, len(values), size):
            off = (words - values[a : a + size, None]).reshape(-1, words.shape[1])
            out[a : a + size] = self.cost(off).reshape(-1, len(words))
        return out

    def features(self, values: Floats, weights: Floats) -> Floats | None:
        """Return coordinates of (n, d) values in which the loss is a squared length, (n, r).

        None where there are none. Code words are then the means of the values behind them.
        """
        return None

    def placed(self, words: Floats, dim: int) -> Floats:
        """Return where (K, r) words may be, nearest to given places: anywhere."""
        return words


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

    def within(self, span: Span) -> Utility:
        """Return itself: lengths are the same in every orthonormal basis."""
        return self

    def features(self, values: Floats, weights: Floats) -> Floats:
        """Return the values around their mean."""
        return np.asarray(values - weights @ values)


@final
@dataclass(frozen=True, eq=False)
class Weighted(Utility):
    """K(b) = b' W b, W positive semi-definite. Directions of zero weight are not released.

    Args:
        matrix: W, (d, d); or (d,), its diagonal, for as many numbers as you like.
        task_basis: (d, k) orthonormal columns Q: (ratio - 1) Q Q' is added; see `task`.
        ratio: By how much.
    """

    matrix: Any
    task_basis: Any = None
    ratio: float = 1.0

    def __post_init__(self) -> None:
        given = np.asarray(self.matrix)
        w = array(given, "matrix", given.ndim if given.ndim in (1, 2) else 2)
        if not _convex(w):
            raise refuse(
                "a symmetric, non-negative, non-zero `matrix`",
                f"{str(w[:9].tolist())[:80]} of shape {w.shape}",
                "A cost must be convex.",
            )

    @classmethod
    def scaled(cls, scales: Any) -> Weighted:
        """Return K(b) = sum (b_c / scale_c)^2: errors in units of each coordinate."""
        s = array(scales, "scales", 1)
        if (s <= 0).any():
            raise refuse("positive scales", s.min(), "Give each coordinate its unit.")
        return cls(1 / np.square(s))

    @classmethod
    def task(cls, basis: Any, ratio: float = 100.0) -> Weighted:
        """Return a cost that weighs a task subspace `ratio` times the rest; (d, k) basis."""
        if number(ratio, "ratio") <= 0:
            raise refuse("a positive `ratio`", ratio, "1 weighs all directions alike.")
        columns = _columns(basis)
        return cls(np.ones(len(columns)), columns, ratio)

    def cost(self, noise: Floats) -> Floats:
        """Return b' W b."""
        w = np.asarray(self.matrix, np.float64)
        found = np.square(noise) @ w if w.ndim == 1 else np.einsum("ni,ni->n", noise @ w, noise)
        if self.task_basis is not None:
            found = found + (self.ratio - 1) * np.square(noise @ self.task_basis).sum(axis=1)
        return np.asarray(found)

    def weight(self, cov: Floats) -> Floats:
        """Return W."""
        w = np.asarray(self.matrix, np.float64)
        if w.ndim == 1:
            hold_in_memory(w.size**2, f"a weight of {w.size} numbers that fits", _NARROW)
            w = np.diag(w)
        if self.task_basis is None:
            return w
        return np.asarray(w + (self.ratio - 1) * (self.task_basis @ self.task_basis.T))

    def features(self, values: Floats, weights: Floats) -> Floats:
        """Return the values around their mean times A, with W = A A'."""
        scales, vectors = np.linalg.eigh(self.weight(np.eye(values.shape[1])))
        keep = scales > 1e-12 * scales[-1]
        return np.asarray((values - weights @ values) @ (vectors[:, keep] * np.sqrt(scales[keep])))

    def within(self, span: Span) -> Utility:
        """Return the cost with B' W B, which is (r, r)."""
        w = np.asarray(self.matrix, np.float64)
        if w.shape[0] != span.dim:
            raise refuse(f"a cost of {span.dim} numbers", f"shape {w.shape}", "One for each.")
        inner = span.weighed(w) if w.ndim == 1 else span.directions(span.directions(w).T)
        if self.task_basis is not None:
            turn = span.directions(self.task_basis.T)
            inner += (self.ratio - 1) * (turn.T @ turn)
        return Weighted((inner + inner.T) / 2)


_NARROW = "Use it on noise in a span of worlds, by `within`."


def _convex(w: Floats) -> bool:
    """Whether a matrix, or a diagonal, is symmetric, not negative and not 0."""
    if w.ndim == 1:
        return bool(w.min() >= 0 and w.any())
    least = np.linalg.eigvalsh((w + w.T) / 2)[0] if w.shape[0] == w.shape[1] else -1.0
    return bool(least >= -1e-12 * np.abs(w).max() and w.any() and np.allclose(w, w.T))


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

    def within(self, span: Span) -> Utility:
        """Return K of noise in a span, at (n, r) coordinates; some of them at a time."""
        size = max(1, _NUMBERS // span.dim)

        def inner(along: Floats) -> Floats:
            parts = (along[a : a + size] for a in range(0, len(along), size))
            return np.concatenate([self.cost(span.shifts(part)) for part in parts])

        return Smooth(wraps(self.function)(inner), self.draws)


@final
@dataclass(frozen=True)
class Restricted(Utility):
    """A cost of one's own, of noise in a span, in its coordinates: through (d, d) matrices."""

    utility: Utility
    span: Span

    def cost(self, noise: Floats) -> Floats:
        """Return K of the noise that these (n, r) coordinates are of."""
        return self.utility.cost(self.span.shifts(noise))

    def weight(self, cov: Floats) -> Floats:
        """Return B' W B, (r, r)."""
        span, d = self.span, self.span.dim
        move = "Write `within` for it, which returns the cost in the coordinates of a span."
        hold_in_memory(2 * d * d, f"a weight of {d} numbers that fits", move)
        basis = span.shifts(np.eye(span.rank)).T
        sliver = 1e-12 * np.trace(cov) * np.eye(d)  # so that it can be factored
        weight = self.utility.weight(basis @ cov @ basis.T + sliver)
        return span.directions(span.directions(weight).T)


@final
@dataclass(frozen=True)
class ArgMax(Utility):
    """Squared error, and which number is the largest: for logits and scores.

    To a channel a changed class costs `share` of the variance of all numbers on top of the squared
    error. As a cost of noise it is the squared error.

    Args:
        share: What a changed class costs; 0 is the squared error.
    """

    share: float = 0.3

    def __post_init__(self) -> None:
        if number(self.share, "share") < 0:
            raise refuse("a `share` of at least 0", self.share, "0.3 is a good start.")

    def cost(self, noise: Floats) -> Floats:
        """Return |b|^2."""
        return SquaredError().cost(noise)

    def weight(self, cov: Floats) -> Floats:
        """Return the identity."""
        return np.eye(len(cov))

    def within(self, span: Span) -> Utility:
        """Return the squared error: in other coordinates another number is the largest."""
        return SquaredError()

    def features(self, values: Floats, weights: Floats) -> Floats:
        """Return the values around their mean, and their classes."""
        off = values - weights @ values
        width = np.sqrt(self.share * float(weights @ np.square(off).sum(axis=1)))
        kinds, labels = np.unique(values.argmax(axis=1), return_inverse=True)
        return np.concatenate([off, np.sqrt(0.5) * width * np.eye(kinds.size)[labels]], axis=1)

    def placed(self, words: Floats, dim: int) -> Floats:
        """Return words whose classes are mixed with the likeliest one in their place."""
        named = words[:, dim:]
        hard = np.eye(named.shape[1])[named.argmax(axis=1)] * named.sum(axis=1, keepdims=True)
        return np.concatenate([words[:, :dim], hard], axis=1)


@final
@dataclass(frozen=True)
class Loss(Utility):
    """A loss of one's own, `function(values, words)`: of (k, d) words in place of (n, d) values.

    It returns (n, k) finite numbers, not negative. For channels alone: it may be of any kind,
    where noise must cost the same wherever it is added.
    """

    function: Callable[[Floats, Floats], Any]

    def loss(self, values: Floats, words: Floats) -> Floats:
        """Return the loss, checked."""
        found = np.asarray(self.function(values, words), np.float64)
        shape = len(values), len(words)
        if found.shape != shape or not np.isfinite(found).all() or found.min() < 0:
            got = f"shape {found.shape}"
            got = got if found.shape != shape else "NaN, infinite or negative ones"
            raise refuse(f"a loss of shape {shape}", got, "Return finite numbers from 0.")
        return found

    def cost(self, noise: Floats) -> Floats:
        """Refuse: it is not of noise."""
        raise _of_channels(self)

    def weight(self, cov: Floats) -> Floats:
        """Refuse: it is not of noise."""
        raise _of_channels(self)

    def within(self, span: Span) -> Utility:
        """Return the loss of values and words in the coordinates of a span."""
        return Loss(lambda values, words: self.loss(span.back(values), span.back(words)))


def _of_channels(utility: Loss) -> RpacError:
    name = getattr(utility.function, "__qualname__", type(utility.function).__qualname__)
    return refuse(
        "a cost of noise", f"the loss {name} of values and words", 'Use method="channel".'
    )


def hamming(values: Floats, words: Floats) -> Floats:
    """Return whether the largest entry is another, (n, k); of single numbers whether they differ.

    For `rpac.Loss`: the share of changed answers of a classifier, by its logits.
    """
    if words.shape[1] == 1:
        return np.asarray(values != words.T, np.float64)
    return np.asarray(values.argmax(axis=1)[:, None] != words.argmax(axis=1), np.float64)


def _columns(basis: Any) -> Floats:
    """Return orthonormal columns with the span of (d, k) ones."""
    return np.asarray(np.linalg.qr(array(basis, "basis", 2))[0])


def selectivity(noise: Noise, basis: Any) -> dict[str, float]:
    """Return how the power of a noise splits between a task subspace, (d, k) basis, and the rest.

    >>> import rpac
    >>> selectivity(rpac.GaussianNoise([[1.0, 0.0], [0.0, 3.0]]), [[1.0], [0.0]])
    {'task': 0.25, 'rest': 0.75}
    """
    columns = _columns(basis)
    along = columns.T @ noise.cov @ columns
    inside = float(np.trace(along) / noise.variances_of_numbers.sum())
    return {"task": inside, "rest": 1 - inside}
