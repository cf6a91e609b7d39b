"""The interval holds as often as it says, for laws chosen to break it."""

import numpy as np
import pytest
from scipy.stats import binomtest

from rpac import InputError
from rpac.certificate import confidence
from rpac.certificate.confidence import lower_mean, upper_mean

LAWS = {
    "rare": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02),
    "even": (lambda rng, n: rng.random(n), 0.5),
    "nearly one": (lambda rng, n: (rng.random(n) < 0.99).astype(float), 0.99),
    "skewed": (lambda rng, n: rng.beta(0.1, 2.0, n), 0.1 / 2.1),
}


@pytest.mark.parametrize("name", LAWS)
def test_coverage(name):
    draw, mean = LAWS[name]
    rng = np.random.default_rng(0)
    low = high = 0
    for _ in range(2_000):
        x = draw(rng, 200)
        high += upper_mean(x, 0.0, 1.0, 0.1) < mean
        low += lower_mean(x, 0.0, 1.0, 0.1) > mean
    for misses in (low, high):
        assert binomtest(int(misses), 2_000, 0.1, "greater").pvalue > 1e-3


LOOKS = np.unique(np.geomspace(4, 4_000, 120).astype(int))


def test_looking_after_every_draw_costs_nothing():
    """Stop as soon as the true mean is ruled out: that happens no more often than it says."""
    rng, misses = np.random.default_rng(0), 0
    for _ in range(300):
        x = rng.integers(0, 2, 4_000).astype(float)
        misses += any(lower_mean(x[:t], 0.0, 1.0, 0.1, 4_000) > 0.5 for t in LOOKS)
    assert binomtest(misses, 300, 0.1, "greater").pvalue > 1e-3


def test_the_bound_of_the_first_draws_is_that_of_their_bets():
    """With one horizon, stakes of the first draws are the same whatever comes after them."""
    x = np.random.default_rng(6).random(500)
    whole = confidence._stakes(x, 2.0, 500)
    assert np.array_equal(confidence._stakes(x[:200], 2.0, 500), whole[:200])
    assert lower_mean(x, 0.0, 1.0, 0.1) == lower_mean(x, 0.0, 1.0, 0.1, 500)
    assert lower_mean(x[:200], 0.0, 1.0, 0.1, 500) < lower_mean(x[:200], 0.0, 1.0, 0.1)


def test_it_is_not_vacuous():
    x = np.random.default_rng(1).random(100_000)
    assert upper_mean(x, 0.0, 1.0, 1e-6) - lower_mean(x, 0.0, 1.0, 1e-6) < 0.012


def test_a_constant_and_the_ceiling():
    # Ten times 0.5 is compatible, at 0.1, with 1 in one draw of five: a mean of 0.6.
    assert 0.6 < upper_mean(np.full(10, 0.5), 0.0, 1.0, 0.1) < 0.65
    assert upper_mean(np.full(10**6, 0.5), 0.0, 1.0, 0.1) < 0.50001
    assert upper_mean(np.full(2, 0.5), 0.0, 1.0, 1e-6) == 1.0
    assert lower_mean(np.full(2, 0.5), 0.5, 0.5, 1e-6) == 0.5


def test_it_is_never_wider_than_empirical_bernstein():
    for name, (draw, _) in LAWS.items():
        for n in (50, 1_000, 200_000):
            x, log_term = draw(np.random.default_rng(3), n), np.log(2 / 1e-6)
            bernstein = np.sqrt(2 * x.var(ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
            assert upper_mean(x, 0.0, 1.0, 1e-6) - x.mean() <= bernstein, name
            assert x.mean() - lower_mean(x, 0.0, 1.0, 1e-6) <= bernstein, name


def test_the_bound_is_about_the_largest_mean_that_the_bet_rules_out():
    # Every smaller mean is ruled out too, and one a little larger is not.
    x = np.random.default_rng(4).beta(0.5, 3.0, 5_000)
    goal = np.log(1e6)
    stakes = confidence._stakes(x, goal + 1e-6, x.size)
    found = lower_mean(x, 0.0, 1.0, 1e-6)
    means = np.append(np.linspace(1e-9, found, 20), found + 0.002 * (x.mean() - found))
    bets = np.minimum(stakes, 0.75 / means[:, None])
    capital = np.log1p(bets * (x - means[:, None])).sum(axis=1)
    assert (np.diff(capital) < 0).all()
    assert capital[-2] >= goal > capital[-1]


def test_a_stake_never_sees_its_own_draw():
    x = np.random.default_rng(5).random(100)
    other = x.copy()
    other[60:] = 1.0 - other[60:]
    same = confidence._stakes(x, 2.0, 100) == confidence._stakes(other, 2.0, 100)
    assert same[:61].all()
    assert not same[61:].any()


def test_draws_that_drift_upwards_are_bounded_by_their_mean():
    drifting = np.append(np.tile([0.0, 0.3], 50), np.full(2_000, 0.9))
    assert lower_mean(drifting, 0.0, 1.0, 0.1) <= drifting.mean()


@pytest.mark.parametrize("draws", [[0.5], [0.5, 1.5], [-0.5, 0.5]])
def test_draws_outside_the_range_are_refused(draws):
    with pytest.raises(InputError, match=r"Expected at least 2 draws in \[0.0, 1.0\]; got"):
        lower_mean(np.array(draws), 0.0, 1.0, 0.1)


def test_the_search_comes_to_an_end_where_the_mean_itself_is_all_but_ruled_out():
    # The log capital at the mean misses this goal by a few units in the last place.
    x = np.append(np.full(50, 0.1), np.full(3_000, 0.2))
    assert lower_mean(x, 0.0, 1.0, 4.336020614253033e-05) == pytest.approx(x.mean(), rel=1e-9)


@pytest.mark.parametrize("limits", [(0.0, np.inf), (-np.inf, 1.0), (0.0, np.nan)])
def test_an_endless_range_is_refused(limits):
    for bound in (lower_mean, upper_mean):
        with pytest.raises(InputError, match="Expected at least 2 draws in"):
            bound(np.ones(100), *limits, 0.1)
