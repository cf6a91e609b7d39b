"""How likely each world makes a release: the declared law of the noise, or one fitted to games.

A decoder may be wrong. Its log score is a lower bound on the leakage all the same, provided it
was fixed before the games that it is judged on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.certificate.references import blocks
from rpac.certificate.sampled import FLOOR
from rpac.noise.channel import Channel
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.worlds.outputs import Outputs

_MOST_AXES = 16
"""Directions, the widest first, in which a law is fitted."""


class Decoder(ABC):
    """Says how likely each world makes a release; anything that does may attack."""

    name: str = "decoder"
    failures: Floats | None = None
    """(m,) how often each world's release is not finite, where that was learnt; within (0, 1)."""

    @abstractmethod
    def logits(self, released: Floats) -> Floats:
        """Return log P(released | world) for (n, d) releases, (n, m), up to a term of each row."""


@final
class DeclaredLaw(Decoder):
    """The law that the noise is said to have: the exact posterior, if it is true.

    Args:
        outputs: Finite worlds.
        noise: Anything with `log_density`; for labels a law that can be released.
    """

    name = "declared law"

    def __init__(self, outputs: Outputs, noise: Any) -> None:
        self._of = _declared(outputs, noise)

    def logits(self, released: Floats) -> Floats:
        """Return log q(released - world), (n, m)."""
        return self._of(released)


def _declared(outputs: Outputs, noise: Any) -> Callable[[Floats], Floats]:
    if isinstance(noise, Channel):
        return _channel_logits(outputs, noise)
    if isinstance(noise, GaussianNoise) or (isinstance(noise, GridNoise) and noise.gaussian):
        center, matrix = noise_axes(outputs, noise)
        points = (released_points(outputs, noise) - center) @ matrix
        return lambda y: _gaussian_logits((y - center) @ matrix, points, np.ones(points.shape))
    if isinstance(noise, GridNoise):
        codes, logs = outputs.codes(noise), [axis.log_mass for axis in noise.axes]
        return lambda y: _table_logits(np.rint((y - noise.center) @ noise.basis / noise.steps),
                                       codes, logs)  # fmt: skip
    return lambda y: _density_logits(y, outputs.values, noise.log_density)


def _channel_logits(outputs: Outputs, channel: Channel) -> Callable[[Floats], Floats]:
    """Return log P(released | world) by a channel's table; equal words are one, others are none."""
    words, place = np.unique(channel.words, axis=0, return_inverse=True)
    likely = np.zeros((len(words), len(outputs.values)))
    np.add.at(likely, place.ravel(), channel.matrix[outputs.codes(channel)[:, 0]].T)
    with np.errstate(divide="ignore"):
        rows = np.log(np.vstack([likely, np.zeros(len(outputs.values))]))
    at = {word.tobytes(): i for i, word in enumerate(words + 0.0)}

    def logits(y: Floats) -> Floats:
        return rows[[at.get(one.tobytes(), len(words)) for one in y + 0.0]]  # -0.0 is 0.0

    return logits


def _table_logits(cells: Floats, codes: Ints, logs: list[tuple[int, Floats]]) -> Floats:
    total = np.zeros((len(cells), len(codes)))
    for c, (low, log_q) in enumerate(logs):
        at = cells[:, [c]] - codes[:, c] - low
        total += log_q[np.clip(at, 0, log_q.size - 1).astype(np.int64)]
    return total


def _density_logits(y: Floats, values: Floats, log_density: Callable[[Floats], Any]) -> Floats:
    out = np.empty((len(y), len(values)))
    for rows in blocks(len(y), values.size):
        shifts = (y[rows, None] - values).reshape(-1, values.shape[1])
        out[rows] = np.asarray(log_density(shifts), np.float64).reshape(-1, len(values))
    return out


def _gaussian_logits(y: Floats, points: Floats, variances: Floats) -> Floats:
    """Return the log density of (n, k) points under Gaussians at (m, k) points, (n, m)."""
    own = np.square(points) / variances + np.log(variances)
    both = np.concatenate([y, -0.5 * np.square(y), np.full((len(y), 1), -0.5)], axis=1)
    terms = np.concatenate([points / variances, 1.0 / variances, own.sum(axis=1)[:, None]], axis=1)
    return np.asarray(both @ terms.T)


def released_points(outputs: Outputs, noise: Any) -> Floats:
    """Return what would be released of each world without noise, or on average, (m, d)."""
    if isinstance(noise, Channel):
        return np.asarray(noise.matrix[outputs.codes(noise)[:, 0]] @ noise.words)
    if isinstance(noise, GridNoise):
        return noise.decode(outputs.codes(noise))
    if isinstance(noise, GaussianNoise) and noise.drop:
        shifted = (outputs.values - outputs.center) @ noise.basis
        return np.asarray(outputs.center + shifted @ noise.basis.T)
    return outputs.values


def noise_axes(outputs: Outputs, noise: Any) -> tuple[Floats, Floats]:
    """Return (center, matrix): (y - center) @ matrix is in units of the noise, or of the spread."""
    if isinstance(noise, GaussianNoise):
        return outputs.center, noise.basis / np.sqrt(noise.variances)
    if isinstance(noise, GridNoise):
        sigmas = np.sqrt([axis.cov[0, 0] for axis in noise.axes])
        if noise.gaussian:
            sigmas = noise.scales * noise.steps
        return outputs.center, noise.basis / np.where(sigmas > 0, sigmas, 1.0)
    spread = outputs.values.std(axis=0)
    return outputs.center, np.diag(1.0 / np.where(spread > 0, spread, 1.0))


@final
class FittedLaw(Decoder):
    """A Gaussian law fitted to games: noise that is weaker than declared, or depends on the world.

    Args:
        outputs: Finite worlds.
        noise: The declared noise, which only says where to look; may be None.
        worlds: (n,) worlds of the games to fit on.
        released: (n, d) their releases, finite.
        by_world: Whether the scale of the noise may vary from world to world.
    """

    def __init__(
        self, outputs: Outputs, noise: Any, *, worlds: Ints, released: Floats, by_world: bool
    ) -> None:
        self.name = "fitted law, scale by world" if by_world else "fitted law"
        self._center, matrix = noise_axes(outputs, noise)
        points = (released_points(outputs, noise) - self._center) @ matrix
        axes = np.linalg.svd(points * np.sqrt(outputs.weights)[:, None], full_matrices=False)[2]
        self._matrix = matrix @ axes[:_MOST_AXES].T
        points = points @ axes[:_MOST_AXES].T
        noise_part = (released - self._center) @ self._matrix - points[worlds]
        shift = noise_part.mean(axis=0)
        values, turn = np.linalg.eigh(np.atleast_2d(np.cov(noise_part.T, ddof=1)))
        turn = turn / np.sqrt(np.maximum(values, 1e-9 * max(values.max(), 1e-300)))
        self._shift, self._matrix, self._points = shift @ turn, self._matrix @ turn, points @ turn
        log_scale = np.zeros(len(points))
        if by_world:
            energy = np.square((noise_part - shift) @ turn).mean(axis=1)
            log_scale = _log_scales(points, worlds, energy)
        self._variances = np.repeat(np.exp(log_scale)[:, None], points.shape[1], axis=1)

    def logits(self, released: Floats) -> Floats:
        """Return the fitted log density, (n, m)."""
        y = (released - self._center) @ self._matrix - self._shift
        return _gaussian_logits(y, self._points, self._variances)


def _log_scales(points: Floats, worlds: Ints, energy: Floats) -> Floats:
    """Return the log variance of the noise of each world, (m,): a quadratic of its output."""
    unit = points[:, :4] / np.maximum(points[:, :4].std(axis=0), 1e-300)
    features = np.concatenate([np.ones((len(points), 1)), unit, np.square(unit)], axis=1)
    x, target = features[worlds], np.log(energy + 1e-9 * energy.mean())
    ridge = 1e-3 * len(x) * np.eye(x.shape[1])
    fitted = features @ np.linalg.solve(x.T @ x + ridge, x.T @ (target - target.mean()))
    fitted = np.clip(fitted, -6.0, 6.0)
    return np.asarray(fitted + np.log((energy / np.exp(fitted[worlds])).mean()))


def posteriors(decoder: Decoder, weights: Floats, released: Floats) -> Iterator[tuple[slice, Any]]:
    """Yield (rows, P(world | released) of those rows, (rows, m)), in blocks.

    A release that is not finite tells what the decoder's `failures` say, and nothing without
    them; one that no world explains leaves the prior as it was.
    """
    log_p, failures = np.log(weights), decoder.failures
    failed = log_p if failures is None else log_p + np.log(failures)
    fine = log_p if failures is None else log_p + np.log1p(-failures)
    for rows in blocks(len(released), 2 * len(weights)):
        y = released[rows]
        plain = np.asarray(np.isfinite(y).all(axis=1))
        post = decoder.logits(y if plain.all() else np.where(plain[:, None], y, 0.0)) + fine
        post[~plain] = failed
        top = post.max(axis=1, keepdims=True)
        post[~np.isfinite(top[:, 0])] = log_p
        post -= np.where(np.isfinite(top), top, log_p.max())
        np.exp(post, out=post)
        post /= post.sum(axis=1, keepdims=True)
        yield rows, post


def log_gain(posterior: Floats, prior: Floats) -> Floats:
    """Return the log score of a floored posterior above the prior: its mean never exceeds MI."""
    return np.asarray(np.log((1.0 - FLOOR) * posterior / prior + FLOOR))


def gain_range(prior: float) -> tuple[float, float]:
    """Return the least and largest values of `log_gain` where no prior is below `prior`."""
    return float(np.log(FLOOR)), float(np.log((1.0 - FLOOR) / prior + FLOOR))


def world_gains(decoder: Decoder, weights: Floats, worlds: Ints, released: Floats) -> Floats:
    """Return the log gain on the true world of each game, (n,)."""
    if len(worlds) != len(released):
        got = f"{len(released)} for {len(worlds)}"
        raise refuse("one release for each world", got, "Give equal lengths.")
    out = np.empty(len(worlds))
    for rows, post in posteriors(decoder, weights, released):
        own = worlds[rows]
        out[rows] = log_gain(post[np.arange(len(own)), own], weights[own])
    return out
