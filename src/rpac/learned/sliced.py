"""Sliced SR-PAC: the game on one-dimensional projections, for outputs of high dimension.

Sliced leakage is the mean of MI over random directions: of the output (phi'Y), of the secret
(theta'X), or of both. It lies below the leakage, often far below, so a certificate is printed
beside it. On finite worlds whose secrets differ, theta'X names the world for almost every theta:
slicing the secret changes nothing there, and slicing both is slicing the output. A Gaussian
follower, who guesses a number and not a world, still tells the three apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.entropy import entropy
from rpac.calibrators.base import Calibrator
from rpac.calibrators.budget_search import meet
from rpac.calibrators.closed_form import principal
from rpac.certificate.exact import lattice_leakage
from rpac.learned.stackelberg import frame_of, meet_gaussian, require_neural
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs

_FINE = 32
_SLICES, _DRAWS = 32, 32
_ROUGH, _FINAL = (256, 0.05), (4_096, 2e-3)
"""Directions, and relative tolerance, of a first and of a last look at the sliced leakage."""


@final
@dataclass(frozen=True)
class SlicedPrivacy:
    """Sliced figures of a noise, in nats; means over directions, with their standard error.

    Attributes:
        leakage: Mean of MI(X; phi'Y), each direction's an exact sum.
        error: Standard error of that mean over directions.
        entropy: SH(X), the sliced entropy.
        residual_entropy: SH(X | Y), what remains.
        residual: SH(X | Y) - H(R): sliced residual privacy against the uniform pool, at most 0.
    """

    leakage: float
    error: float
    entropy: float
    residual_entropy: float
    residual: float


def sliced_privacy(
    outputs: Outputs, noise: GaussianNoise, *, slices: int = 256, seed: int = 0
) -> SlicedPrivacy:
    """Return the sliced leakage of finite worlds under Gaussian noise, and what remains.

    Args:
        outputs: Finite worlds.
        noise: Gaussian noise.
        slices: Random directions, uniform on the sphere.
        seed: Study randomness of the directions.
    """
    if not outputs.exact or not isinstance(noise, GaussianNoise):
        raise refuse("finite worlds under GaussianNoise", repr(noise), "Or call rpac.certify.")
    n = count(slices, "slices", least=2)
    phi = np.random.default_rng([seed, 23]).standard_normal((n, outputs.dim))
    along = (outputs.values - outputs.center) @ phi.T
    widths = np.sqrt(np.square(phi @ noise.basis) @ noise.variances)
    axis = LatticeNoise.gaussian(1.0 / _FINE, _FINE)
    codes = np.rint(along / widths * _FINE).astype(np.int64)
    each = np.array([lattice_leakage(c, outputs.weights, axis) for c in codes.T])
    whole = entropy(outputs.weights)
    mean = float(each.mean())
    return SlicedPrivacy(
        mean, float(each.std(ddof=1)) / math.sqrt(n), whole, whole - mean,
        whole - mean - math.log(len(outputs.weights)),
    )  # fmt: skip


@final
@dataclass(frozen=True)
class SlicedStackelberg(Calibrator):
    """Sliced SR-PAC: Gaussian noise, diagonal in the principal directions, learned on slices.

    Args:
        sides: What is sliced: "both", "output" or "secret". With "output" the follower names the
            world from phi'Y, by its exact posterior; with the others it guesses theta'X by the
            best Gaussian decoder.
        meet: "full" sets the size of the noise by what a certificate will say, "sliced" by the
            sliced leakage (only with "output" slices is that the follower's own figure). Noise
            met by "sliced" leaks more than the budget in full.
        iterations: Steps of the leader.
        rate: Its learning rate.
        weight: The penalty weight on the relative shortfall.
        seed: Study randomness.
    """

    sides: Literal["both", "output", "secret"] = "output"
    meet: Literal["full", "sliced"] = "full"
    iterations: int = 300
    rate: float = 0.02
    weight: float = 50.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sides not in ("both", "output", "secret") or self.meet not in ("full", "sliced"):
            raise refuse(
                'sides "both", "output" or "secret" and meet "full" or "sliced"',
                (self.sides, self.meet),
                "Choose one of each.",
            )
        count(self.iterations, "iterations", least=1)

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return noise of the learned shape, of the size that `meet` asks for."""
        require_neural()
        basis, _ = principal(outputs)
        frame = frame_of(outputs, basis, nats)
        plan = outputs.planning
        worlds = Outputs(plan.values, plan.weights)
        first = GaussianNoise.on(basis, np.square(frame.sigmas))
        start = 0.5 * self._sliced_size(worlds, first, nats, _ROUGH)
        train = _trainer(self.sides, self.iterations, self.rate, self.weight)
        arrays = (frame.points, plan.weights, frame.sigmas, start, nats)
        found = train(*(np.asarray(a, np.float32) for a in arrays), self.seed)
        scales = np.exp(2 * np.asarray(found, np.float64))
        shape = GaussianNoise.on(basis, np.square(frame.sigmas) * scales)
        if self.meet == "full":
            return meet_gaussian(outputs, shape, nats, self.seed)
        return shape.scaled(math.exp(self._sliced_size(worlds, shape, nats, _FINAL)))

    def _sliced_size(
        self, worlds: Outputs, shape: GaussianNoise, nats: float, care: tuple[int, float]
    ) -> float:
        """Return the log of the factor at which the sliced leakage is just below the budget."""

        def gap(t: float) -> float:
            noise = shape.scaled(math.exp(t))
            return sliced_privacy(worlds, noise, slices=slices, seed=self.seed).leakage - nats

        slices, tolerance = care
        return meet(gap, tolerance * nats, slope=nats)


@cache
def _trainer(sides: str, iterations: int, rate: float, weight: float) -> Any:
    """Return the compiled loop: (points, weights, sigmas, start, nats, seed) to log scales, (r,).

    A Gaussian follower is held to its own figure at the start, which meets the budget.
    """
    import jax
    import jax.numpy as jnp
    import optax

    optimiser = optax.adam(optax.cosine_decay_schedule(rate, iterations, 0.03))
    figure = _output_leakage if sides == "output" else _gaussian_leakage

    def train(points: Any, weights: Any, sigmas: Any, start: Any, nats: Any, seed: Any) -> Any:
        log_p = jnp.log(weights)
        cost = jnp.square(sigmas) / jnp.square(sigmas).sum()
        centred = (points - weights @ points) * jnp.sqrt(weights)[:, None]
        cov = centred.T @ centred
        root = jax.random.key(seed)
        begin = jnp.full(points.shape[1], start)
        cost = cost / jnp.exp(2 * start)
        if sides != "output":
            keys = jax.random.split(jax.random.fold_in(root, iterations), 32)
            nats = jax.lax.map(
                lambda k: figure(begin, points, log_p, sigmas, cov, k, sides), keys
            ).mean()

        def loss(log_scale: Any, state: Any, key: Any) -> Any:
            mean, t = state
            leak = figure(log_scale, points, log_p, sigmas, cov, key, sides)
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


def _output_leakage(
    log_scale: Any, points: Any, log_p: Any, sigmas: Any, cov: Any, key: Any, sides: str
) -> Any:
    """Return H(X) minus the log score of the exact posterior of the world given phi'Y."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    first, second, third = jax.random.split(key, 3)
    phi = jax.random.normal(first, (_SLICES, points.shape[1])) * sigmas
    along = phi @ points.T
    width = jnp.sqrt(jnp.square(phi) @ jnp.exp(2 * log_scale))
    half = jax.random.normal(second, (_SLICES, _DRAWS // 2))
    b = jnp.concatenate([half, -half], axis=1) * width[:, None]
    worlds = jax.random.categorical(third, log_p, shape=(_SLICES, _DRAWS))
    own = jnp.take_along_axis(along, worlds, axis=1)
    fixed = jax.lax.stop_gradient(width)[:, None, None]  # the follower's, at its best response
    unit = ((own + b)[:, :, None] - along[:, None, :]) / fixed
    kernel = -0.5 * jnp.square(unit)
    mine = -0.5 * jnp.square(b / fixed[:, :, 0])
    return (mine - logsumexp(kernel + log_p, axis=2)).mean()


def _gaussian_leakage(
    log_scale: Any, points: Any, log_p: Any, sigmas: Any, cov: Any, key: Any, sides: str
) -> Any:
    """Return what the best Gaussian decoder of theta'X gains: the mean of -log(1 - rho^2) / 2.

    The secret is the output without noise; the follower sees phi'Y, or all of Y.
    """
    import jax
    import jax.numpy as jnp

    first, second = jax.random.split(key)
    theta = jax.random.normal(first, (_SLICES, points.shape[1])) * sigmas
    total = cov + jnp.diag(jnp.exp(2 * log_scale))
    power = jnp.einsum("si,ij,sj->s", theta, cov, theta)
    if sides == "secret":
        seen = theta @ cov
        caught = jnp.einsum("si,si->s", seen, jnp.linalg.solve(total, seen.T).T)
    else:
        phi = jax.random.normal(second, theta.shape) * sigmas
        cross = jnp.einsum("si,ij,sj->s", theta, cov, phi)
        caught = jnp.square(cross) / jnp.einsum("si,ij,sj->s", phi, total, phi)
    return (-0.5 * jnp.log1p(-jnp.minimum(caught / power, 1 - 1e-6))).mean()
