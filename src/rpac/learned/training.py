"""The training loops of Stackelberg SR-PAC, compiled: leader and follower in one scan (JAX).

Settings are static and hashable, arrays are arguments: problems of one shape share compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import logsumexp

from rpac._base.types import Floats, Ints
from rpac.learned.decoders import Decoder, KernelDecoder, Table, draw_worlds
from rpac.learned.families import Family, Params
from rpac.learned.settings import Constraint, Training

_LAST_RATE = 0.03
"""Learning rates fall to this share of their start along a cosine."""
_DUAL_RATE = 0.02
_MEMORY = 0.97
"""Of the running mean of the leader's parameters."""
_HELD = 256


@dataclass(frozen=True)
class Game:
    """What stays the same throughout a game.

    Attributes:
        family: The leader's noise laws.
        decoder: The follower's decoders.
        training: Settings of the algorithm.
        cost: K of (n, r) noise in scaled coordinates; None for the quadratic cost in `Stakes`.
    """

    family: Family
    decoder: Decoder
    training: Training
    cost: Callable[[Any], Any] | None = None

    @property
    def informed(self) -> bool:
        """Whether the follower knows the noise law, and so its best response."""
        return isinstance(self.decoder, KernelDecoder) and self.decoder.known


class Stakes(NamedTuple):
    """What a game is played for.

    Attributes:
        target: Log score that the follower must not go below, beta_hat + eps, in nats.
        scale: Nats in whose units a shortfall is measured.
        weight: (r, r) matrix of a quadratic cost, 1 at Auto-PAC's noise.
    """

    target: Any
    scale: Any
    weight: Any


class State(NamedTuple):
    """Everything a game carries on: it resumes from here.

    Attributes:
        noise: The leader's parameters.
        decoder: The follower's.
        noise_memory: The optimiser's memory of the leader.
        decoder_memory: And of the follower.
        multiplier: Of the augmented Lagrangian.
        score: Running mean of H_c.
        average: Running mean of the leader's parameters: what is used in the end.
        t: Iterations so far.
    """

    noise: Params
    decoder: Params
    noise_memory: Any
    decoder_memory: Any
    multiplier: Any
    score: Any
    average: Params
    t: Any


def _optimisers(training: Training) -> tuple[Any, Any]:
    rates = (training.noise_rate, training.decoder_rate)
    # The follower's eps is large: a direction that says little must not wander at full speed.
    made = [
        optax.chain(
            optax.clip_by_global_norm(10.0),
            optax.adam(optax.cosine_decay_schedule(rate, training.iterations, _LAST_RATE), eps=eps),
        )
        for rate, eps in zip(rates, (1e-8, 1e-3), strict=True)
    ]
    return made[0], made[1]


def first_state(game: Game, table: Table, start: float, seed: int) -> State:
    """Return the state at iteration 0."""
    noise = jax.tree.map(
        lambda a: jnp.asarray(a, jnp.float32), game.family.init(table.points.shape[1], start)
    )
    decoder = jax.tree.map(
        lambda a: jnp.asarray(a, jnp.float32), game.decoder.init(jax.random.key(seed), table)
    )
    leader, follower = _optimisers(game.training)
    return State(
        noise, decoder, leader.init(noise), follower.init(decoder), jnp.zeros(()),
        jnp.full((), jnp.nan), noise, jnp.array(0),
    )  # fmt: skip


def _draw(game: Game, noise: Params, table: Table, key: Any) -> tuple[Any, Any, Any, Any]:
    """Return worlds, noise, its weights and releases of one batch."""
    which, what = jax.random.split(key)
    b, weights = game.family.sample(noise, what, game.training.batch)
    worlds = draw_worlds(table, which, b.shape[0])
    return worlds, b, weights, table.points[worlds] + b


def shortfall_price(rule: Constraint, stakes: Stakes, score: Any, multiplier: Any) -> Any:
    """Return minus the derivative of the leader's penalty in H_c: what a nat of it is worth.

    The penalty is weight * ((target - H_c)_+ / scale)^2. It is positive where the follower does
    too well, zero where the constraint holds, and it pushes H_c up.
    """
    price = 2 * rule.weight * (stakes.target - score) / stakes.scale**2
    return jax.nn.relu(price + multiplier if rule.augmented else price)


def _leader_loss(
    noise: Params, game: Game, state: State, table: Table, stakes: Stakes, key: Any
) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    worlds, b, weights, y = _draw(game, noise, table, key)
    decoder = jax.lax.stop_gradient(state.noise) if game.informed else state.decoder
    loss, log_loss = game.decoder.log_loss(decoder, table, worlds, y)
    h_c = (weights * loss).mean()
    quadratic = jnp.einsum("ni,ij,nj->n", b, stakes.weight, b)
    k = (weights * (quadratic if game.cost is None else game.cost(b))).mean()
    score = jnp.where(jnp.isnan(state.score), h_c, 0.9 * state.score + 0.1 * h_c)
    rule = game.training.constraint
    # The price comes from the running mean, so that a noisy batch is not taken for a shortfall.
    price = shortfall_price(rule, stakes, jax.lax.stop_gradient(score), state.multiplier)
    # Where the follower is all but sure, H_c and its gradient are exponentially small; the
    # logarithm has the same sign and a gradient that is not.
    log_h = logsumexp(log_loss, b=weights) - jnp.log(weights.size)
    lost = jax.nn.relu(jnp.log(jnp.maximum(stakes.target, 1e-6) / 2) - log_h)
    far = jnp.isfinite(log_h) & (lost > 0)
    restore = jnp.where(far, jnp.square(jnp.where(far, lost, 0.0)), 0.0)
    return k - price * h_c + restore, (k, h_c, jax.lax.stop_gradient(score), price)


def _follow(game: Game, state: State, table: Table, key: Any) -> State:
    """Return the state after one round of the follower at the present noise."""
    _, follower = _optimisers(game.training)

    def loss(decoder: Params, one: Any) -> Any:
        worlds, _, weights, y = _draw(game, state.noise, table, one)
        return (weights * game.decoder.log_loss(decoder, table, worlds, y)[0]).mean()

    def step(carry: Any, one: Any) -> tuple[Any, None]:
        decoder, memory = carry
        update, memory = follower.update(jax.grad(loss)(decoder, one), memory)
        return (optax.apply_updates(decoder, update), memory), None

    keys = jax.random.split(key, game.training.decoder_steps)
    start = (state.decoder, state.decoder_memory)
    decoder, memory = jax.lax.scan(step, start, keys)[0]
    return state._replace(decoder=decoder, decoder_memory=memory)


def _lead(
    game: Game, state: State, table: Table, stakes: Stakes, key: Any
) -> tuple[State, tuple[Any, Any, Any]]:
    """Return the state after one step of the leader, and (loss, K, H_c)."""
    leader, _ = _optimisers(game.training)
    value, gradient = jax.value_and_grad(_leader_loss, has_aux=True)(
        state.noise, game, state, table, stakes, key
    )
    update, memory = leader.update(gradient, state.noise_memory)
    _, (k, h_c, score, price) = value
    dual = _DUAL_RATE * 2 * game.training.constraint.weight / stakes.scale**2
    noise = optax.apply_updates(state.noise, update)
    state = state._replace(
        noise=noise,
        score=score,
        average=jax.tree.map(lambda a, b: _MEMORY * a + (1 - _MEMORY) * b, state.average, noise),
        noise_memory=memory,
        multiplier=jax.nn.relu(state.multiplier + dual * (stakes.target - h_c)),
        t=state.t + 1,
    )
    return state, (k + price * jax.nn.relu(stakes.target - score) / 2, k, h_c)


@partial(jax.jit, static_argnames=("game", "steps"))
def advance(
    game: Game, steps: int, state: State, table: Table, stakes: Stakes, seed: Any
) -> tuple[State, tuple[Any, Any, Any]]:
    """Return the state after some leader steps, and (loss, K, H_c) of each (Algorithm 2).

    The keys follow from seed and iteration, so a resumed game is the game itself.
    """
    root = jax.random.key(seed)

    def iterate(carry: State, _: Any) -> tuple[State, Any]:
        first, second = jax.random.split(jax.random.fold_in(root, carry.t))
        if not game.informed:
            carry = jax.lax.cond(
                carry.t % game.training.decoder_steps == 0,
                lambda s: _follow(game, s, table, first),
                lambda s: s,
                carry,
            )
        return _lead(game, carry, table, stakes, second)

    return jax.lax.scan(iterate, state, None, length=steps)


@partial(jax.jit, static_argnames=("decoder", "steps", "batch"))
def best_response(
    decoder: Decoder, steps: int, batch: int, params: Params, table: Table, draws: Any, seed: Any
) -> Params:
    """Return the decoder trained on draws (worlds, noise) of a fixed law, batch by batch."""
    worlds, noise = draws
    optimiser = optax.chain(
        optax.clip_by_global_norm(10.0),
        optax.adam(optax.cosine_decay_schedule(0.03, steps, _LAST_RATE)),
    )

    def loss(tree: Params, rows: Any) -> Any:
        y = table.points[worlds[rows]] + noise[rows]
        return decoder.log_loss(tree, table, worlds[rows], y)[0].mean()

    def step(carry: Any, key: Any) -> tuple[Any, None]:
        tree, memory = carry
        rows = jax.random.randint(key, (batch,), 0, worlds.shape[0])
        update, memory = optimiser.update(jax.grad(loss)(tree, rows), memory)
        return (optax.apply_updates(tree, update), memory), None

    keys = jax.random.split(jax.random.key(seed), steps)
    return jax.lax.scan(step, (params, optimiser.init(params)), keys)[0][0]


@partial(jax.jit, static_argnames=("decoder",))
def _posteriors(decoder: Decoder, params: Params, table: Table, worlds: Any, y: Any) -> Any:
    def block(rows: Any) -> Any:
        who, where = rows
        scores = decoder.scores(params, table, where)
        return scores[jnp.arange(who.size), who] - logsumexp(scores, axis=1)

    return jax.lax.map(block, (worlds, y)).ravel()


def held_out(decoder: Decoder, params: Params, table: Table, worlds: Ints, noise: Floats) -> Floats:
    """Return log pi(true world | y) on draws that nothing was trained on, (n,)."""
    n = len(worlds) // _HELD * _HELD
    who = jnp.asarray(worlds[:n].astype(np.int32).reshape(-1, _HELD))
    y = table.points[who] + jnp.asarray(noise[:n], jnp.float32).reshape(*who.shape, -1)
    return np.asarray(_posteriors(decoder, params, table, who, y), np.float64)
