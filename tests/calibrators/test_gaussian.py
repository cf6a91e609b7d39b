"""The Gaussian equilibrium: posteriors against quadrature and closed forms, and stationarity."""

import math

import numpy as np
import pytest
from scipy.linalg import logm, sqrtm

from rpac.calibrators.gaussian import (
    FLOOR,
    Game,
    between,
    clean_starts,
    posterior,
    root,
    stationary,
)
from rpac.oracles import quadrature_nats

RNG = np.random.default_rng(0)


def spd(r, seed=0):
    a = np.random.default_rng(seed).normal(size=(r, r))
    return a @ a.T + 0.3 * np.eye(r)


def game(points, weights=None, weight=None, seed=0):
    points = np.asarray(points, float)
    p = np.full(len(points), 1 / len(points)) if weights is None else np.asarray(weights)
    w = np.eye(points.shape[1]) if weight is None else weight
    return Game.of(points, p, lambda _: w, seed)


def test_roots_are_powers():
    a = spd(4)
    assert root(a, 0.5) == pytest.approx(sqrtm(a).real)
    assert root(a, -1.0) == pytest.approx(np.linalg.inv(a))
    flat = root(np.diag([4.0, 0.0]), 0.5)
    assert np.isfinite(flat).all()
    assert flat[0, 0] == pytest.approx(2.0)


def test_between_two_covariances_logarithms_are_straight():
    a, b = spd(3, 1), spd(3, 2)
    assert between(a, b, 0.0) == pytest.approx(a)
    assert between(a, b, 1.0) == pytest.approx(b)
    middle = logm(between(a, b, 0.3)).real
    assert middle == pytest.approx(0.7 * logm(a).real + 0.3 * logm(b).real)
    scaled = between(a, 9 * a, 0.5)
    assert scaled == pytest.approx(3 * a)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_leakage_of_a_coin_is_that_of_quadrature(sigma):
    mi, error, slope = posterior(game([[-1.0], [1.0]]), np.array([[sigma**2]]))
    truth = quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    assert mi == pytest.approx(truth, abs=0.01)
    assert 0 < error[0, 0] < 1.0
    h = 1e-3  # -dMI / dlog sigma^2, by differences of quadratures
    low, high = (quadrature_nats([-1, 1], [0.5, 0.5], sigma * math.exp(s * h)) for s in (-1, 1))
    assert slope == pytest.approx((low - high) / (4 * h), rel=0.05)


def test_normal_outputs_leave_the_error_of_the_linear_estimate():
    """E[Cov(Z | Y)] = (C^-1 + S^-1)^-1, and MI is the log-determinant."""
    points = np.random.default_rng(3).normal(size=(4_000, 2)) * [2.0, 0.7]
    c, s = np.cov(points.T, bias=True), np.array([[1.5, 0.4], [0.4, 1.0]])
    mi, error, _ = posterior(game(points), s)
    truth = np.linalg.inv(np.linalg.inv(c) + np.linalg.inv(s))
    assert error == pytest.approx(truth, rel=0.1, abs=0.03)
    log_det = 0.5 * np.linalg.slogdet(np.eye(2) + c @ np.linalg.inv(s))[1]
    assert mi == pytest.approx(log_det, rel=0.05)


@pytest.mark.parametrize("weight", [np.eye(2), np.diag([9.0, 1.0]), spd(2, 5)])
def test_a_stationary_covariance_satisfies_its_equation(weight):
    """S W S is proportional to the posterior error covariance, and the budget is spent."""
    angle = 2 * math.pi * np.arange(7) / 7
    ring = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    made = game(ring, weight=weight)
    cost, cov = stationary(made, np.eye(2), 0.8)
    mi, error, _ = posterior(made, cov)
    assert mi == pytest.approx(0.8, abs=0.02)
    assert cost == pytest.approx(float(np.sum(weight * cov)))
    left = cov @ weight @ cov
    assert left / np.trace(left) == pytest.approx(error / np.trace(error), abs=0.02)
    for seed in range(30):  # no covariance near it is cheaper at the same leakage
        twist = np.eye(2) + 0.2 * np.random.default_rng(seed).normal(size=(2, 2))
        other = twist @ cov @ twist.T
        for _ in range(8):
            found, _, slope = posterior(made, other)
            other = other * math.exp((found - 0.8) / slope)
        assert made.cost(other) >= 0.995 * cost


def test_normal_outputs_give_auto_pac():
    from rpac.calibrators.closed_form import auto_pac_variances

    points = np.random.default_rng(4).normal(size=(3_000, 3)) * [3.0, 1.0, 0.4]
    values, vectors = np.linalg.eigh(np.cov(points.T, bias=True))
    cost, cov = stationary(game(points), np.eye(3), 1.0)
    assert cost == pytest.approx(auto_pac_variances(values, 1.0).sum(), rel=0.05)
    off = vectors.T @ cov @ vectors
    assert off - np.diag(np.diag(off)) == pytest.approx(np.zeros((3, 3)), abs=0.1 * cost)


def test_draws_are_seeded_and_fewer_for_more_worlds():
    one, two, other = (game([[0.0], [1.0]], seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.noise, two.noise)
    assert not np.array_equal(one.noise, other.noise)
    assert len(one.worlds) == 20_000
    assert len(game(RNG.normal(size=(10_000, 1))).worlds) == 800


def test_leading_coordinates_are_left_clean_where_their_entropy_fits():
    """Two clusters along the first axis, many worlds along the second."""
    points = np.stack([np.repeat([-5.0, 5.0], 8), np.tile(np.arange(8.0), 2)], axis=1)
    made, base = game(points), np.diag([4.0, 2.0])
    (start,) = clean_starts(made, base, 0.8)  # log 2 fits into 0.8 nats
    assert start[0, 0] < 1e-4 * base[0, 0]
    assert start[1, 1] == pytest.approx(2.0, rel=1e-4)
    assert np.linalg.eigvalsh(start)[0] >= FLOOR
    assert clean_starts(made, base, 0.6) == []
