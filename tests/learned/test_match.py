"""A match: what is played for, training that can be resumed, and noise that meets the budget."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import rpac
from rpac.calibrators import gaussian
from rpac.learned.families import family_of
from rpac.learned.frame import frame_of
from rpac.learned.match import ScaledCost, tabulate_learned
from rpac.learned.play import Play
from rpac.learned.stackelberg import Stackelberg

SHORT = rpac.Training(iterations=100, batch=64)


def ring(m=8, seed=1):
    """Points in the plane, far from Gaussian."""
    angle = 2 * math.pi * np.arange(m) / m
    spread = np.random.default_rng(seed).normal(size=(m, 2))
    return rpac.Outputs(np.stack([2 * np.cos(angle), np.sin(angle)], axis=1) + 0.05 * spread)


def line(seed=2):
    """Eight values in three clusters."""
    rng = np.random.default_rng(seed)
    return rpac.Outputs(np.array([-3.0, -3, -3, 0, 0, 4, 4, 4]) + 0.1 * rng.normal(size=8))


def covariance(match, state):
    """Return the learned covariance in the coordinates of the outputs."""
    axes = match.follower.frame.axes
    return axes @ match.covariance(state) @ axes.T


def test_gaussian_equilibria(truths):
    """The learned covariance, scaled to the budget by the exact posterior."""
    for case in truths("gaussian_equilibrium_2d"):
        if case["budget"] == 0.5:  # the benchmark runs and certifies all
            outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
            match = Stackelberg().match(outputs, 0.5)
            cov = covariance(match, match.train()[0])
            draws = gaussian.Game.of(outputs.values, outputs.weights, lambda _: np.eye(2), 0)
            low, high = -2.0, 2.0
            for _ in range(12):
                t = (low + high) / 2
                over = gaussian.posterior(draws, cov * math.exp(t))[0] > 0.5
                low, high = (t, high) if over else (low, t)
            assert np.trace(cov) * math.exp(high) <= 1.05 * case["power"], case


@pytest.mark.parametrize("decoder", ["network", "gaussian"])
def test_the_leader_plays_against_decoders_that_learn(decoder):
    match = Stackelberg(decoder=decoder, training=rpac.Training(batch=64)).match(line(), 0.8)
    _, history = match.train()
    assert history[-100:, 2].mean() == pytest.approx(float(match.stakes().target), abs=0.15)


def test_from_zero_noise_the_leader_raises_it_whatever_the_seed():
    """The sign of the penalty: as printed it would be zero exactly where privacy is violated."""
    outputs = ring()
    for seed in range(50):
        game = Stackelberg(start=1e-3, seed=seed, training=rpac.Training(iterations=50))
        match = game.match(outputs, 0.5)
        state, history = match.train()
        assert history[-1, 1] > 2 * history[0, 1]
        cov = np.asarray(match.game.family.cov(state.noise))
        assert (np.linalg.eigvalsh(cov) > 1e-6).all()


def test_the_follower_is_never_frozen():
    """Train against one noise, change it: the figure follows the change."""
    outputs = ring()
    match = Stackelberg(decoder="kernel", training=SHORT).match(outputs, 1.0)
    state, _ = match.train()
    for variance in (0.02, 0.2, 2.0, 20.0):
        noise = rpac.GaussianNoise(variance * np.eye(2))
        truth = rpac.certify(outputs, noise, draws=100_000)
        warm = match.follower.respond(state.decoder, noise)
        fresh = rpac.decoder_attack(outputs, noise)
        for attack in (warm, fresh):
            assert attack.lower <= truth.bound
            assert attack.nats == pytest.approx(truth.bound, rel=0.05, abs=0.03)


def test_a_game_is_seeded_and_resumes_where_it_stopped():
    match = Stackelberg(training=rpac.Training(iterations=100), seed=3).match(ring(), 0.5)
    first, once = match.train()
    again, twice = match.train()
    np.testing.assert_array_equal(once, twice)
    kept = pickle.loads(pickle.dumps(Play(None, None, once, first)))
    _, rest = match.train(kept.state)
    _, same = match.train(again)
    np.testing.assert_array_equal(rest, same)
    assert int(kept.state.t) == 100


def test_training_stops_early_where_nothing_improves():
    training = rpac.Training(iterations=1_000, noise_rate=1e-6, patience=2)
    _, history = Stackelberg(training=training).match(ring(), 0.5).train()
    assert len(history) < 1_000


def test_the_target_is_the_entropy_less_the_budget_and_the_cost_is_one_at_the_start():
    outputs = rpac.Outputs(ring().values, np.arange(1, 9) / 36)
    match = Stackelberg().match(outputs, 0.5)
    stakes = match.stakes()
    assert float(stakes.target) == pytest.approx(outputs.entropy - 0.5, rel=1e-6)
    assert float(stakes.scale) == pytest.approx(0.5)
    assert np.trace(stakes.weight) == pytest.approx(1.0)
    sigmas = match.follower.frame.sigmas
    assert stakes.weight == pytest.approx(np.diag(sigmas**2) / (sigmas**2).sum(), abs=1e-6)
    tight = Stackelberg().match(outputs, outputs.entropy - 0.1).stakes()
    assert float(tight.scale) == pytest.approx(0.1, rel=1e-5)


def test_variants_of_the_constraint():
    outputs = ring()
    margin = rpac.Adjustment(capacity=5.0, bound=3.0, samples=10**6, delta=1e-3)
    rule = rpac.Constraint(adjustment=margin, augmented=True)
    games = (Stackelberg(), Stackelberg(training=rpac.Training(constraint=rule)))
    plain, adjusted = (g.match(outputs, 0.5).train()[1][-100:, 2].mean() for g in games)
    target = math.log(8) - 0.5
    assert plain == pytest.approx(target, abs=0.03)
    assert adjusted == pytest.approx(target + margin.epsilon, abs=0.02)
    impossible = rpac.Constraint(adjustment=rpac.Adjustment(samples=10))
    game = Stackelberg(training=rpac.Training(constraint=impossible))
    with pytest.raises(rpac.InputError, match=r"a margin below the budget; got 3\.6.* of 0\.5 nat"):
        game.propose(outputs, 0.5)


def learned_cov(outputs, utility, nats=0.8):
    match = Stackelberg(utility=utility).match(outputs, nats)
    return covariance(match, match.train()[0])


def test_costs_other_than_squared_error():
    outputs = ring()
    weighted = learned_cov(outputs, rpac.Weighted(np.diag([100.0, 1.0])))
    plain = learned_cov(outputs, rpac.SquaredError())
    assert weighted[0, 0] < 0.5 * plain[0, 0]
    smooth = learned_cov(outputs, rpac.Smooth(lambda b: 100 * b[:, 0] ** 2 + b[:, 1] ** 2))
    np.testing.assert_allclose(smooth, weighted, rtol=0.15, atol=0.1)

    class Other(rpac.Utility):
        def cost(self, noise):
            return np.zeros(len(noise))

        def weight(self, cov):
            return np.eye(len(cov))

    with pytest.raises(rpac.InputError, match="a cost that JAX can trace; got Other"):
        Stackelberg(utility=Other()).propose(outputs, 0.8)


def test_a_cost_of_ones_own_is_one_at_auto_pacs_noise():
    frame = frame_of(ring(), np.eye(2), 0.5)
    cost = ScaledCost(lambda b: 7 * (b**2).sum(axis=1), frame)
    normal = np.random.default_rng(1).normal(size=(100_000, 2))
    assert cost(normal).mean() == pytest.approx(1.0, abs=0.1)
    assert cost(2 * normal) == pytest.approx(4 * cost(normal))


def test_settled_noise_has_the_learned_shape_and_the_size_of_the_budget():
    outputs = ring(m=128)
    match = Stackelberg(training=SHORT).match(outputs, 0.8)
    state, _ = match.train()
    noise, same = match.settle(state)
    assert same is state
    cov = covariance(match, state)
    assert noise.cov / noise.power == pytest.approx(cov / np.trace(cov), abs=1e-6)
    assert rpac.certify(outputs, noise, draws=20_000).bound == pytest.approx(0.8, rel=0.02)
    louder, _ = replace(match, nats=0.4).settle(state)  # the same shape, for another budget
    assert louder.power > noise.power


def test_learned_tables_are_centred_on_the_outputs_or_on_the_lattice_of_counts():
    family = family_of("laplace", 7)
    reals = rpac.Outputs([0.5, 1.5, 5.0])
    frame = frame_of(reals, np.eye(1), 0.5)
    law = tabulate_learned(reals, frame, family, family.init(1, 1.0))
    assert law.center == pytest.approx(reals.center)
    assert law.power == pytest.approx(float(frame.sigmas[0] ** 2), rel=0.01)
    counts = rpac.Outputs([0, 1, 5])
    law = tabulate_learned(counts, frame, family, family.init(1, 1.0))
    assert law.steps.tolist() == [1.0]
    assert law.center.tolist() == [0.0]
