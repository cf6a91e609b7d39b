"""The training loops: the sign of the penalty, steps that can be split, learning that arrives."""

import math

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import jax
import jax.numpy as jnp

import rpac
from rpac.learned.decoders import DensityDecoder, KernelDecoder, NetworkDecoder, make_table
from rpac.learned.families import FullGaussian
from rpac.learned.training import (
    Game,
    Stakes,
    advance,
    best_response,
    first_state,
    held_out,
    shortfall_price,
)
from rpac.oracles import quadrature_nats

POINTS = np.array([[-1.0], [1.0]])
TABLE = make_table(POINTS, np.full(2, 0.5), POINTS)
SHORT = rpac.Training(iterations=20, batch=32)
GAUSS = FullGaussian()


def game(decoder=None, training=SHORT, cost=None):
    return Game(GAUSS, decoder or KernelDecoder(GAUSS, known=True), training, cost)


def stakes(target=0.4, scale=0.3):
    return Stakes(np.float32(target), np.float32(scale), np.eye(1, dtype=np.float32))


def test_the_penalty_is_on_the_shortfall():
    at = Stakes(2.0, 0.5, np.eye(1))
    rule = rpac.Constraint(weight=3.0)
    assert float(shortfall_price(rule, at, 1.9, 0.0)) == pytest.approx(2 * 3 * 0.1 / 0.25)
    assert float(shortfall_price(rule, at, 2.1, 0.0)) == 0.0
    augmented = rpac.Constraint(weight=3.0, augmented=True)
    assert float(shortfall_price(augmented, at, 2.0, 0.7)) == pytest.approx(0.7)
    assert float(shortfall_price(rule, at, 2.0, 0.7)) == 0.0  # a penalty has no multiplier


def test_a_game_knows_who_is_informed():
    assert game().informed
    assert not game(KernelDecoder(GAUSS)).informed
    assert not game(NetworkDecoder()).informed


def test_the_first_state_is_seeded_single_precision_and_at_zero():
    made = game(NetworkDecoder())
    one, two, other = (first_state(made, TABLE, 0.5, seed) for seed in (0, 0, 1))
    assert int(one.t) == 0
    assert math.isnan(float(one.score))
    assert float(one.noise["log_diag"][0]) == pytest.approx(math.log(0.5))
    leaves = jax.tree.leaves((one.noise, one.decoder))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
    same = zip(jax.tree.leaves(one.decoder), jax.tree.leaves(two.decoder), strict=True)
    assert all((a == b).all() for a, b in same)
    assert not jnp.array_equal(one.decoder[0][0], other.decoder[0][0])


def test_steps_may_be_split():
    made = game()
    start = first_state(made, TABLE, 1.0, 0)
    whole, trace = advance(made, 10, start, TABLE, stakes(), 0)
    half, early = advance(made, 5, start, TABLE, stakes(), 0)
    rest, late = advance(made, 5, half, TABLE, stakes(), 0)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(rest), strict=True):
        assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-4, abs=1e-6)
    assert np.asarray(trace[0]) == pytest.approx(np.concatenate([early[0], late[0]]), rel=1e-4)
    assert int(whole.t) == 10
    assert jax.tree.all(jax.tree.map(jnp.array_equal, start.decoder, whole.decoder))  # informed


def test_a_follower_that_learns_moves():
    made = game(NetworkDecoder())
    start = first_state(made, TABLE, 1.0, 0)
    state, _ = advance(made, 1, start, TABLE, stakes(), 0)
    assert not jnp.array_equal(start.decoder[0][0], state.decoder[0][0])
    assert int(state.t) == 1


def test_the_leader_lowers_the_cost_where_the_constraint_holds_and_raises_it_where_not():
    made = game(training=rpac.Training(iterations=40, batch=64))
    start = first_state(made, TABLE, 1.0, 0)
    easy = advance(made, 40, start, TABLE, stakes(target=1e-3), 0)[1][1]
    hard = advance(made, 40, start, TABLE, stakes(target=0.68), 0)[1][1]
    assert float(easy[-5:].mean()) < 0.5 * float(easy[:5].mean())
    assert float(hard[-5:].mean()) > 2 * float(hard[:5].mean())


def test_a_cost_of_ones_own_takes_the_place_of_the_quadratic():
    doubled = game(cost=lambda b: 2 * jnp.square(b).sum(axis=1))
    state = first_state(doubled, TABLE, 1.0, 0)
    costs = [advance(g, 1, state, TABLE, stakes(), 0)[1][1] for g in (doubled, game())]
    assert float(costs[0][0]) == pytest.approx(2 * float(costs[1][0]), rel=1e-5)


def draws_of(points, scale, n, seed=0):
    rng = np.random.default_rng(seed)
    worlds = rng.integers(0, len(points), n).astype(np.int32)
    return worlds, (scale * rng.normal(size=(n, points.shape[1]))).astype(np.float32)


def test_a_kernel_learns_the_noise_that_it_meets():
    """The best kernel is the noise's own density, so its width is the noise's."""
    decoder = KernelDecoder(GAUSS)
    params = best_response(decoder, 400, 256, decoder.init(None, TABLE), TABLE,
                           draws_of(POINTS, 0.7, 20_000), 0)  # fmt: skip
    assert float(GAUSS.cov(params)[0, 0]) == pytest.approx(0.49, rel=0.1)


def test_a_gaussian_decoder_learns_the_linear_estimate_of_a_gaussian():
    """X and Y jointly normal: E[X | Y] = Y / (1 + s), and the gain is log(1 + 1/s) / 2 nats."""
    x = np.random.default_rng(1).normal(size=(2_000, 1))
    x = (x - x.mean()) / x.std()
    table = make_table(x, np.full(2_000, 1 / 2_000), x)
    decoder, power = DensityDecoder(), 0.5
    learned = draws_of(x, math.sqrt(power), 40_000)
    params = best_response(decoder, 400, 256, decoder.init(jax.random.key(0), table), table,
                           learned, 0)  # fmt: skip
    worlds, noise = draws_of(x, math.sqrt(power), 20_000, seed=5)
    loss, _ = decoder.log_loss(params, table, jnp.asarray(worlds), table.points[worlds] + noise)
    gain = decoder.prior_entropy(table, 0.0) - float(loss.mean())
    truth = 0.5 * math.log1p(1 / power)
    assert 0.9 * truth < gain < 1.03 * truth


def test_held_out_posteriors_are_bayes_and_whole_blocks_are_kept():
    decoder, params = KernelDecoder(GAUSS, known=True), GAUSS.init(1, 0.7)
    worlds, noise = draws_of(POINTS, 0.7, 20_000, seed=2)
    found = held_out(decoder, params, TABLE, worlds.astype(np.int64), noise.astype(float))
    assert found.size == 20_000 // 256 * 256
    y = POINTS[worlds, 0] + noise[:, 0]
    by_hand = -np.log1p(np.exp(-2 * y * POINTS[worlds, 0] / 0.49))  # a logistic of the log odds
    assert found == pytest.approx(by_hand[: found.size], abs=1e-4)
    gain = found.mean() + math.log(2)
    assert gain == pytest.approx(quadrature_nats([-1, 1], [0.5, 0.5], 0.7), abs=0.02)
