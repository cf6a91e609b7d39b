"""Tails, quantiles and the descent, against SciPy."""

import numpy as np
import pytest
from scipy import optimize, special

from rpac import numerics

PLACES = np.array([-np.inf, -1e4, -60, -30.1, -30, -29.9, -8, -1, -1e-9, 0, 0.3, 5, 9, 40, np.inf])
SHARES = np.array([0, 1e-300, 1e-12, 0.01, 0.3, 0.5, 0.8, 0.99, 1 - 1e-12, 1])


def test_normal_tails_are_scipys():
    np.testing.assert_allclose(numerics.normal_tail(PLACES), special.ndtr(PLACES), rtol=1e-12)
    np.testing.assert_allclose(
        numerics.log_normal_tail(PLACES), special.log_ndtr(PLACES), rtol=1e-12, atol=1e-300
    )


def test_quantiles_are_scipys_and_end_at_the_ends():
    np.testing.assert_allclose(numerics.normal_quantile(SHARES), special.ndtri(SHARES), rtol=1e-13)
    assert np.isnan(numerics.normal_quantile([-0.1, 1.1, np.nan])).all()
    inner = SHARES[3:-2]
    np.testing.assert_allclose(
        numerics.student_quantile(inner), special.stdtrit(3.0, inner), rtol=1e-7, atol=1e-15
    )


TRIALS = np.array([1, 2, 20, 1_000, 100_000])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_binomial_tails_are_scipys(share):
    hits, rate = np.maximum(np.round(share * TRIALS), 1), np.array([[1e-9], [0.2], [0.5], [0.9]])
    near = np.clip((hits + np.array([[-4], [0], [4]]) * np.sqrt(TRIALS)) / TRIALS, 1e-9, 1 - 1e-9)
    rates = np.concatenate([np.broadcast_to(rate, (4, 5)), near])
    expected = special.betainc(hits, TRIALS - hits + 1, rates)
    found = np.exp(numerics.log_binomial_tail(hits, TRIALS, rates))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("share", [1e-12, 1e-6, 0.025, 0.5])
def test_rates_of_a_share_are_scipys(share, monkeypatch):
    hits = np.stack([np.maximum(TRIALS * part // 10, 1) for part in (0, 1, 5, 9, 10)])
    expected = special.betaincinv(hits, TRIALS - hits + 1, share)
    np.testing.assert_allclose(numerics.hit_rate(hits, TRIALS, share), expected, rtol=1e-9)
    monkeypatch.setattr(numerics, "_CELLS", 1_000)
    np.testing.assert_allclose(numerics.hit_rate(hits, TRIALS, share), expected, rtol=1e-9)
    assert numerics.hit_rate(3, 7, share) == pytest.approx(special.betaincinv(3, 5, share))


def test_binomial_tails_end_where_rates_do():
    tails = numerics.log_binomial_tail([[1], [3]], 3, [0.0, 1.0])
    np.testing.assert_array_equal(tails, [[-np.inf, 0.0]] * 2)


def test_descent_finds_what_scipy_finds():
    rng = np.random.default_rng(3)
    rows, side = rng.normal(size=(400, 12)), rng.integers(0, 2, 400)

    def loss(at):
        score = rows @ at
        slope = rows.T @ (special.expit(score) - side) / 400 + 2e-3 * at
        return float(np.logaddexp(0, score).mean() - score @ side / 400 + 1e-3 * at @ at), slope

    best = optimize.minimize(loss, np.zeros(12), jac=True, tol=1e-12)
    found = numerics.descend(loss, np.zeros(12))
    assert loss(found)[0] <= best.fun + 1e-8
    assert loss(numerics.descend(loss, np.zeros(12), steps=2))[0] > best.fun + 1e-6


def test_descent_stays_where_nothing_is_lower():
    flat = np.array([1.0, 2.0])
    assert numerics.descend(lambda at: (5.0, np.zeros(2)), flat) is flat
    # A slope that lies: no step is lower, and the start is kept.
    assert numerics.descend(lambda at: (abs(at[0] - 1), np.array([1.0, 0.0])), flat) is flat
