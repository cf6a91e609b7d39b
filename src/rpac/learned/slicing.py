"""The training loop of sliced SR-PAC, compiled: the leader against a follower's best response.

A follower who names the world from phi'Y answers by its exact posterior; one who guesses the
number theta'X is the best Gaussian decoder, in closed form. Neither needs training of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import logsumexp

_SLICES, _DRAWS = 32, 32


class Worlds(NamedTuple):
    """What a slice is taken of, in units of Auto-PAC's noise.

    Attributes:
        points: (m, r) outputs.
        log_p: (m,) log prior.
        sigmas: (r,) Auto-PAC's standard deviations, in the units of the outputs.
        cov: (r, r) covariance of the points.
    """

    points: Any
    log_p: Any
    sigmas: Any
    cov: Any


def worlds_of(points: Any, weights: Any, sigmas: Any) -> Worlds:
    """Return the worlds with their covariance."""
    centred = (points - weights @ points) * jnp.sqrt(weights)[:, None]
    return Worlds(points, jnp.log(weights), sigmas, centred.T @ centred)


@cache
def trainer(sides: str, iterations: int, rate: float, weight: float) -> Any:
    """Return the compiled loop: (points, weights, sigmas, start, nats, seed) to log scales, (r,).

    A Gaussian follower is held to its own figure at the start, which meets the budget.
    """
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, iterations, 0.03))
    figure = _FIGURES[sides]

    def train(points: Any, weights: Any, sigmas: Any, start: Any, nats: Any, seed: Any) -> Any:
        worlds = worlds_of(points, weights, sigmas)
        root = jax.random.key(seed)
        begin = jnp.full(points.shape[1], start)
        cost = jnp.square(sigmas) / jnp.square(sigmas).sum() / jnp.exp(2 * start)
        if sides != "output":
            keys = jax.random.split(jax.random.fold_in(root, iterations), 32)
            nats = jax.lax.map(lambda key: figure(begin, worlds, key), keys).mean()

        def loss(log_scale: Any, state: Any, key: Any) -> Any:
            mean, t = state
            leak = figure(log_scale, worlds, key)
            mean = jnp.where(t == 0, leak, 0.9 * mean + 0.1 * leak)
            excess = jax.lax.stop_gradient(jax.nn.relu(mean - nats)) / nats
            far = jax.nn.relu(jnp.log(leak / (2 * nats)))
            value = cost @ jnp.exp(2 * log_scale) + 2 * weight * excess * leak / nats
            return value + jnp.square(far), jax.lax.stop_gradient(mean)

        def step(carry: Any, t: Any) -> Any:
            log_scale, memory, mean, average = carry
            gradient, mean = jax.grad(loss, has_aux=True)(
                log_scale, (mean, t), jax.random.fold_in(root, t)
            )
            update, memory = optimiser.update(gradient, memory)
            log_scale = optax.apply_updates(log_scale, update)
            return (log_scale, memory, mean, 0.97 * average + 0.03 * log_scale), None

        first = (begin, optimiser.init(begin), jnp.zeros(()), begin)
        return jax.lax.scan(step, first, jnp.arange(iterations))[0][3]

    return jax.jit(train)


def output_leakage(log_scale: Any, worlds: Worlds, key: Any) -> Any:
    """Return H(X) minus the log score of the exact posterior of the world given phi'Y."""
    first, second, third = jax.random.split(key, 3)
    phi = jax.random.normal(first, (_SLICES, worlds.points.shape[1])) * worlds.sigmas
    along = phi @ worlds.points.T
    width = jnp.sqrt(jnp.square(phi) @ jnp.exp(2 * log_scale))
    half = jax.random.normal(second, (_SLICES, _DRAWS // 2))
    b = jnp.concatenate([half, -half], axis=1) * width[:, None]
    drawn = jax.random.categorical(third, worlds.log_p, shape=(_SLICES, _DRAWS))
    own = jnp.take_along_axis(along, drawn, axis=1)
    fixed = jax.lax.stop_gradient(width)[:, None, None]  # the follower's, at its best response
    unit = ((own + b)[:, :, None] - along[:, None, :]) / fixed
    kernel = -0.5 * jnp.square(unit)
    mine = -0.5 * jnp.square(b / fixed[:, :, 0])
    return (mine - logsumexp(kernel + worlds.log_p, axis=2)).mean()


def gaussian_leakage(log_scale: Any, worlds: Worlds, key: Any, *, whole: bool) -> Any:
    """Return what the best Gaussian decoder of theta'X gains: the mean of -log(1 - rho^2) / 2.

    The secret is the output without noise; the follower sees all of Y if `whole`, else phi'Y.
    """
    first, second = jax.random.split(key)
    theta = jax.random.normal(first, (_SLICES, worlds.points.shape[1])) * worlds.sigmas
    total = worlds.cov + jnp.diag(jnp.exp(2 * log_scale))
    power = jnp.einsum("si,ij,sj->s", theta, worlds.cov, theta)
    if whole:
        seen = theta @ worlds.cov
        caught = jnp.einsum("si,si->s", seen, jnp.linalg.solve(total, seen.T).T)
    else:
        phi = jax.random.normal(second, theta.shape) * worlds.sigmas
        cross = jnp.einsum("si,ij,sj->s", theta, worlds.cov, phi)
        caught = jnp.square(cross) / jnp.einsum("si,ij,sj->s", phi, total, phi)
    return (-0.5 * jnp.log1p(-jnp.minimum(caught / power, 1 - 1e-6))).mean()


_FIGURES: Mapping[str, Callable[..., Any]] = {
    "output": output_leakage,
    "secret": partial(gaussian_leakage, whole=True),
    "both": partial(gaussian_leakage, whole=False),
}
