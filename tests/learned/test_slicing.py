"""The sliced game, compiled: what followers of slices gain, against closed forms."""

import math

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `neural` is not installed")

import jax
import jax.numpy as jnp

from rpac.learned.slicing import gaussian_leakage, output_leakage, trainer, worlds_of
from rpac.oracles import quadrature_nats

KEYS = jax.random.split(jax.random.key(0), 40)
PLANE = np.random.default_rng(0).normal(size=(60, 2)) * [2.0, 1.0]


def worlds(points, weights=None, sigmas=None):
    points = np.asarray(points, np.float32).reshape(len(points), -1)
    prior = np.full(len(points), 1 / len(points)) if weights is None else np.asarray(weights)
    unit = np.ones(points.shape[1]) if sigmas is None else np.asarray(sigmas)
    return worlds_of(*(jnp.asarray(a, jnp.float32) for a in (points, prior, unit)))


def test_the_covariance_is_that_of_the_prior():
    prior = np.random.default_rng(1).dirichlet(np.ones(60))
    found = np.asarray(worlds(PLANE, prior).cov)
    assert found == pytest.approx(np.cov(PLANE.T, aweights=prior, bias=True), rel=1e-4)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("log_scale", [-1.0, 0.0, 1.5])
def test_on_a_line_a_gaussian_gains_the_capacity(whole, log_scale):
    """There is one direction: every slice gives log(1 + variance / noise) / 2."""
    made = worlds([-1.0, 0.5, 3.0])
    found = gaussian_leakage(jnp.array([log_scale]), made, KEYS[0], whole=whole)
    truth = 0.5 * math.log1p(np.var([-1.0, 0.5, 3.0]) / math.exp(2 * log_scale))
    assert float(found) == pytest.approx(truth, rel=1e-4)


def test_all_of_an_isotropic_output_tells_any_slice_alike():
    """Cov(X) = v I and Cov(B) = n I: rho^2 = v / (v + n) for every theta; a slice tells less."""
    corners = [[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    made, log_scale = worlds(corners), jnp.zeros(2)
    for key in KEYS[:3]:
        found = float(gaussian_leakage(log_scale, made, key, whole=True))
        assert found == pytest.approx(0.5 * math.log(2), rel=1e-4)
        assert 0 < float(gaussian_leakage(log_scale, made, key, whole=False)) < found


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_naming_the_world_from_a_slice_is_its_leakage(sigma):
    made = worlds([-1.0, 1.0])
    log_scale = jnp.array([math.log(sigma)])
    each = np.asarray(jax.vmap(lambda key: output_leakage(log_scale, made, key))(KEYS), float)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    assert each.mean() == pytest.approx(truth, abs=6 * each.std() / math.sqrt(len(each)))


def test_the_follower_is_at_its_best_response():
    """The gradient pushes noise up: more of it tells less, at a follower who stays as they were."""
    made = worlds(PLANE)
    gradient = jax.vmap(jax.grad(lambda s, key: output_leakage(s, made, key)), (None, 0))
    assert (np.asarray(gradient(jnp.zeros(2), KEYS)).mean(axis=0) < 0).all()


@pytest.mark.parametrize("sides", ["output", "both", "secret"])
def test_the_loop_is_seeded_and_stays_near_its_budget(sides):
    train = trainer(sides, 40, 0.02, 50.0)
    assert train is trainer(sides, 40, 0.02, 50.0)  # compiled once
    prior, sigmas = np.full(60, 1 / 60), np.array([2.0, 1.0])
    arrays = [np.asarray(a, np.float32) for a in (PLANE, prior, sigmas, 0.3, 0.4)]
    one, two, other = (np.asarray(train(*arrays, seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert one == pytest.approx([0.3, 0.3], abs=0.5)
    assert one.shape == (2,)
