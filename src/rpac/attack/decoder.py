"""A learned posterior of the world: softmax regression on features of release and world.

The score of world j on a release y is phi(y)' A psi_j, where psi_j holds the world's output and its
squares. With phi linear in y this family contains the exact posterior of Gaussian noise; with
squares, of noise whose scale depends on the world; with random Fourier features, more.
"""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.attack.base import Attack, Finding, Play, nats_finding
from rpac.attack.likelihood import Decoder
from rpac.numerics import descend

_AXES = 4
_FOURIER = 64
_MOST_ENTRIES = 2_000_000
"""Of the matrix of training releases against worlds."""
Features = Literal["linear", "quadratic", "kernel"]


@final
class SoftmaxDecoder(Decoder):
    """Softmax regression of the world on a release.

    Args:
        values: (m, d) worlds' outputs.
        weights: (m,) prior.
        features: "linear", "quadratic", or "kernel" (random Fourier features).
        ridge: Penalty on the squared coefficients, per game.
        seed: Of the random features.
    """

    def __init__(
        self,
        values: Floats,
        weights: Floats,
        *,
        features: Features = "quadratic",
        ridge: float = 1e-4,
        seed: int = 0,
    ) -> None:
        if features not in ("linear", "quadratic", "kernel"):
            raise refuse("linear, quadratic or kernel features", repr(features), "Name one.")
        self.name = f"softmax decoder, {features}"
        self._features, self._ridge, self._weights = features, ridge, weights
        self._seed = seed
        self._center = weights @ values
        shifted = (values - self._center) * np.sqrt(weights)[:, None]
        spread, axes = np.linalg.svd(shifted, full_matrices=False)[1:]
        used = spread > 1e-12 * max(float(spread.max()), 1e-300)
        self._axes = axes[used][:_AXES].T
        worlds = (values - self._center) @ self._axes
        self._psi = _standard(np.concatenate([worlds, _products(worlds)], axis=1), weights)
        self._coefficients: Floats = np.zeros((0, 0))

    def fit(self, released: Floats, worlds: Ints) -> SoftmaxDecoder:
        """Learn from (n, d) releases of (n,) worlds."""
        plain = np.isfinite(released).all(axis=1)
        n = max(2, _MOST_ENTRIES // len(self._weights))
        y, own = released[plain][:n], worlds[plain][:n]
        if len(y) < 2:
            raise refuse("finite releases to learn from", len(y), "Play more games.")
        along = (y - self._center) @ self._axes
        self._mean, self._spread = along.mean(axis=0), np.maximum(along.std(axis=0), 1e-300)
        rng = np.random.default_rng(self._seed)
        self._waves = (
            rng.standard_normal((along.shape[1], _FOURIER)),
            2 * np.pi * rng.random(_FOURIER),
        )
        phi, log_p = self._phi(y), np.log(self._weights)

        def loss(flat: Floats) -> tuple[float, Floats]:
            a = flat.reshape(phi.shape[1], -1)
            logits = (phi @ a) @ self._psi.T + log_p
            logits -= logits.max(axis=1, keepdims=True)
            post = np.exp(logits)
            total = post.sum(axis=1, keepdims=True)
            value = float((np.log(total[:, 0]) - logits[np.arange(len(own)), own]).mean())
            pull = (post / total) @ self._psi - self._psi[own]
            slope = phi.T @ pull / len(own) + 2 * self._ridge * a
            return value + self._ridge * float(np.square(a).sum()), slope.ravel()

        start = np.zeros(phi.shape[1] * self._psi.shape[1])
        self._coefficients = descend(loss, start).reshape(phi.shape[1], -1)
        return self

    def logits(self, released: Floats) -> Floats:
        """Return the learned log likelihood of each world, (n, m)."""
        return np.asarray((self._phi(released) @ self._coefficients) @ self._psi.T)

    def _phi(self, released: Floats) -> Floats:
        unit = ((released - self._center) @ self._axes - self._mean) / self._spread
        parts: list[Any] = [np.ones((len(unit), 1)), unit]
        if self._features == "quadratic":
            parts.append(_products(unit))
        if self._features == "kernel":
            parts.append(np.sqrt(2 / _FOURIER) * np.cos(unit @ self._waves[0] + self._waves[1]))
        return np.concatenate(parts, axis=1)


def _products(x: Floats) -> Floats:
    i, j = np.triu_indices(x.shape[1])
    return np.asarray(x[:, i] * x[:, j])


def _standard(x: Floats, weights: Floats) -> Floats:
    x = x - weights @ x
    spread = np.sqrt(weights @ np.square(x))
    return np.asarray(x / np.where(spread > 0, spread, 1.0))


@final
class Learned(Attack):
    """A decoder learned from study games alone; needs neither density nor masks.

    Args:
        decoder: Anything with `fit(released, worlds)` that returns a `Decoder`; by default the
            softmax decoder with the given features.
        features: See `SoftmaxDecoder`.
    """

    name = "decoder"
    needs = frozenset({"numbers"})

    def __init__(self, decoder: Any = None, *, features: Features = "quadratic") -> None:
        self._decoder, self._features = decoder, features

    def run(self, play: Play, delta: float) -> Finding:
        """Return a lower limit on MI(world; release)."""
        values = play.game.outputs.values
        decoder = self._decoder or SoftmaxDecoder(
            values, play.weights, features=self._features, seed=play.seed
        )
        fitted: Decoder = decoder.fit(play.study.released, play.study.worlds)
        gains = play.gains(fitted, play.judge)
        least = float(play.weights.min())
        return nats_finding(self.name, gains, least, delta, note=f"by {fitted.name}")
