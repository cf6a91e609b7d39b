"""Decoders: the follower's families, in JAX. A decoder's figure is an attack, never a guarantee.

Every decoder gives a loss to train on (its log score) and scores of all worlds, so that whatever it
was trained on, its held-out figure is of a normalised posterior over the worlds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flowjax.distributions import Normal
from flowjax.flows import masked_autoregressive_flow
from jax.scipy.special import logsumexp

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.learned.families import Family, Params

Critic: TypeAlias = Callable[[Floats], Floats]
_WIDTH = 64
_CRITIC_STEPS = 400
_CAP = 4.0
"""Largest value of a trained critic, approached smoothly."""


class Table(NamedTuple):
    """What the players know of the worlds.

    Attributes:
        points: (m, r) outputs, in units of Auto-PAC's noise.
        log_p: (m,) log prior.
        cumulative: (m,) cumulative prior.
        secrets: (m, k) what a Bernoulli or density decoder guesses: members, or numbers.
    """

    points: Any
    log_p: Any
    cumulative: Any
    secrets: Any


def make_table(points: Floats, weights: Floats, secrets: Floats) -> Table:
    """Return the table in single precision."""
    arrays = (points, np.log(weights), np.cumsum(weights), secrets)
    return Table(*(jnp.asarray(a, jnp.float32) for a in arrays))


def draw_worlds(table: Table, key: Any, n: int) -> Any:
    """Return (n,) worlds drawn from the prior."""
    uniform = jax.random.uniform(key, (n,)) * table.cumulative[-1]
    worlds = jnp.searchsorted(table.cumulative, uniform, side="right")
    return jnp.minimum(worlds, table.log_p.size - 1)


@dataclass(frozen=True)
class Decoder:
    """A family of conditional laws of the secret given the release; hashable."""

    @abstractmethod
    def init(self, key: Any, table: Table) -> Params:
        """Return parameters to start from."""

    @abstractmethod
    def log_loss(self, params: Params, table: Table, worlds: Any, y: Any) -> tuple[Any, Any]:
        """Return -log pi(x | y) and its logarithm (NaN where the loss may be negative), (n,)."""

    @abstractmethod
    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return unnormalised log posteriors of all worlds, (n, m)."""

    def prior_entropy(self, table: Table, entropy: float) -> float:
        """Return the log score of the best blind guess, in nats."""
        return entropy


class Categorical(Decoder):
    """A decoder that names the world."""

    def log_loss(self, params: Params, table: Table, worlds: Any, y: Any) -> tuple[Any, Any]:
        """Return softplus(log odds against the true world), and its log without underflow."""
        scores = self.scores(params, table, y)
        true = jnp.arange(scores.shape[1]) == worlds[:, None]  # a mask fuses; a scatter copies
        own = jnp.where(true, scores, 0.0).sum(axis=1)
        against = logsumexp(jnp.where(true, -jnp.inf, scores), axis=1) - own
        loss = jax.nn.softplus(against)
        sharp = against < -12.0
        safe = jnp.where(sharp, 1.0, loss)
        return loss, jnp.where(sharp, against, jnp.log(safe))


@final
@dataclass(frozen=True)
class KernelDecoder(Categorical):
    """Posterior proportional to prior times a kernel of y - z: contains the true one.

    Attributes:
        family: Of the kernel.
        known: Whether the kernel is the noise's own density, so that the decoder is the Bayes
            posterior and its training over before it began; else it is learned.
    """

    family: Family
    known: bool = False

    def init(self, key: Any, table: Table) -> Params:
        """Return a unit kernel."""
        return self.family.init(table.points.shape[1], 1.0)

    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return log prior plus log kernel."""
        return table.log_p + self.family.scores(params, y, table.points)


@final
@dataclass(frozen=True)
class NetworkDecoder(Categorical):
    """A multilayer perceptron from the release to one logit for each world."""

    def init(self, key: Any, table: Table) -> Params:
        """Return a random network."""
        return network_init(key, table.points.shape[1], table.points.shape[0])

    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return log prior plus logits."""
        return table.log_p + network(params, y)


@final
@dataclass(frozen=True)
class BernoulliDecoder(Decoder):
    """One probability of membership for each unit of half-samples."""

    def init(self, key: Any, table: Table) -> Params:
        """Return a random network with an output for each unit."""
        return network_init(key, table.points.shape[1], table.secrets.shape[1])

    def log_loss(self, params: Params, table: Table, worlds: Any, y: Any) -> tuple[Any, Any]:
        """Return the sum of the units' cross-entropies."""
        logits, inside = network(params, y), table.secrets[worlds]
        loss = optax.sigmoid_binary_cross_entropy(logits, inside).sum(axis=1)
        return loss, jnp.log(jnp.maximum(loss, 1e-30))

    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return the log probability of every world's members."""
        return table.log_p + network(params, y) @ table.secrets.T

    def prior_entropy(self, table: Table, entropy: float) -> float:
        """Return the units' entropies, added."""
        share = np.clip(np.exp(np.asarray(table.log_p)) @ np.asarray(table.secrets), 1e-9, 1 - 1e-9)
        return float(-(share * np.log(share) + (1 - share) * np.log1p(-share)).sum())


@final
@dataclass(frozen=True)
class DensityDecoder(Decoder):
    """A conditional density of a numeric secret: a mixture of diagonal normals.

    With one component it is the Gaussian decoder.
    """

    components: int = 1

    def init(self, key: Any, table: Table) -> Params:
        """Return a random network; means start at random secrets."""
        out = self.components * (1 + 2 * table.secrets.shape[1])
        return network_init(key, table.points.shape[1], out)

    def _log_density(self, params: Params, y: Any, x: Any) -> Any:
        """Return log f(x | y) for (n, r) releases and (n, l, k) secrets, (n, l)."""
        k = x.shape[-1]
        raw = network(params, y).reshape(y.shape[0], self.components, 1 + 2 * k)
        share = jax.nn.log_softmax(raw[:, :, 0], axis=1)
        spread = jnp.linspace(-1.0, 1.0, self.components)[:, None] * (self.components > 1)
        mean, log_width = raw[:, :, 1 : k + 1] + spread, jnp.clip(raw[:, :, k + 1 :], -1.0, 3.0)

        def one(mix: Any, mu: Any, log_w: Any, secrets: Any) -> Any:
            unit = (secrets[:, None, :] - mu) * jnp.exp(-log_w)
            part = mix - (0.5 * jnp.square(unit) + log_w).sum(axis=-1)
            return logsumexp(part, axis=1) - 0.5 * k * math.log(2 * math.pi)

        return jax.vmap(one)(share, mean, log_width, x)

    def log_loss(self, params: Params, table: Table, worlds: Any, y: Any) -> tuple[Any, Any]:
        """Return minus the log density; it may be negative."""
        loss = -self._log_density(params, y, table.secrets[worlds][:, None, :])[:, 0]
        return loss, jnp.full(loss.shape, jnp.nan)

    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return log prior plus log density at every world's secret, row by row."""

        def row(one: Any) -> Any:
            return self._log_density(params, one[None], table.secrets[None])[0]

        return table.log_p + jax.lax.map(row, y, batch_size=64)

    def prior_entropy(self, table: Table, entropy: float) -> float:
        """Return the entropy of the normal with the secrets' variances: a blind normal guess."""
        return blind_entropy(table)


@final
@dataclass(frozen=True)
class FlowDecoder(Decoder):
    """A conditional density of a numeric secret: a masked autoregressive flow."""

    def _flow(self, key: Any, table: Table) -> Any:
        k = table.secrets.shape[1]
        return masked_autoregressive_flow(
            key, base_dist=Normal(jnp.zeros(k)), cond_dim=table.points.shape[1], flow_layers=2,
            nn_width=24, nn_depth=1,
        )  # fmt: skip

    def init(self, key: Any, table: Table) -> Params:
        """Return the parameters of a random flow."""
        return eqx.filter(self._flow(key, table), eqx.is_inexact_array)

    def _log_density(self, params: Params, table: Table, x: Any, y: Any) -> Any:
        static = eqx.partition(self._flow(jax.random.key(0), table), eqx.is_inexact_array)[1]
        return eqx.combine(params, static).log_prob(x, condition=y)

    def log_loss(self, params: Params, table: Table, worlds: Any, y: Any) -> tuple[Any, Any]:
        """Return minus the log density; it may be negative."""
        loss = -self._log_density(params, table, table.secrets[worlds], y)
        return loss, jnp.full(loss.shape, jnp.nan)

    def scores(self, params: Params, table: Table, y: Any) -> Any:
        """Return log prior plus log density at every world's secret, row by row."""

        def row(one: Any) -> Any:
            tiled = jnp.broadcast_to(one, (table.secrets.shape[0], one.size))
            return self._log_density(params, table, table.secrets, tiled)

        return table.log_p + jax.lax.map(row, y)

    def prior_entropy(self, table: Table, entropy: float) -> float:
        """Return the entropy of the normal with the secrets' variances: a blind normal guess."""
        return blind_entropy(table)


def blind_entropy(table: Table) -> float:
    """Return the log score of the best diagonal normal that ignores the release."""
    p, x = np.exp(np.asarray(table.log_p, float)), np.asarray(table.secrets, float)
    variance = p @ np.square(x - p @ x) / p.sum()
    return 0.5 * float(np.log(2 * math.pi * math.e * variance).sum())


def network_init(key: Any, inputs: int, outputs: int) -> Params:
    """Return a perceptron with two hidden layers; its last layer starts small."""
    sizes = [inputs, _WIDTH, _WIDTH, outputs]
    keys = jax.random.split(key, 3)
    gain = [1.0, 1.0, 0.1]
    return [
        (g * jax.random.normal(k, (a, b)) / math.sqrt(a), jnp.zeros(b))
        for k, a, b, g in zip(keys, sizes[:-1], sizes[1:], gain, strict=True)
    ]


def network(params: Params, x: Any) -> Any:
    """Return the perceptron's outputs for (n, inputs)."""
    for weight, bias in params[:-1]:
        x = jax.nn.gelu(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


DECODERS = ("bayes", "kernel", "network", "bernoulli", "gaussian", "mixture", "flow")


def decoder_of(name: str, family: Family) -> Decoder:
    """Return the decoder of that name; a kernel is of the noise's own family."""
    if name not in DECODERS:
        raise refuse(f"a decoder among {DECODERS}", repr(name), "Or leave it out.")
    made: dict[str, Decoder] = {
        "bayes": KernelDecoder(family, known=True),
        "kernel": KernelDecoder(family),
        "network": NetworkDecoder(),
        "bernoulli": BernoulliDecoder(),
        "gaussian": DensityDecoder(),
        "mixture": DensityDecoder(components=5),
        "flow": FlowDecoder(),
    }
    return made[name]


def dv_network(on_p: Floats, on_q: Floats, *, seed: int) -> Critic:
    """Return a critic trained to maximise the Donsker-Varadhan objective on training draws."""
    optimiser = optax.adam(3e-3)
    params = network_init(jax.random.key(seed), on_p.shape[1], 1)
    p, q = jnp.asarray(on_p, jnp.float32), jnp.asarray(on_q, jnp.float32)

    def loss(tree: Params) -> Any:
        up = _CAP * jnp.tanh(network(tree, p)[:, 0] / _CAP)
        down = _CAP * jnp.tanh(network(tree, q)[:, 0] / _CAP)
        return logsumexp(down) - math.log(len(q)) - up.mean()

    def step(state: Any, _: Any) -> tuple[Any, None]:
        tree, memory = state
        update, memory = optimiser.update(jax.grad(loss)(tree), memory)
        return (optax.apply_updates(tree, update), memory), None

    trained = jax.jit(lambda s: jax.lax.scan(step, s, None, length=_CRITIC_STEPS)[0])(
        (params, optimiser.init(params))
    )[0]

    def critic(y: Floats) -> Floats:
        raw = np.asarray(network(trained, jnp.asarray(y, jnp.float32))[:, 0], np.float64)
        return np.asarray(_CAP * np.tanh(raw / _CAP))

    return critic
