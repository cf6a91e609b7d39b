"""The interval holds as often as it says, for laws chosen to break it."""

import numpy as np
import pytest
from scipy.stats import binomtest

from rpac import InputError
from rpac.confidence import lower_mean, upper_mean

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


def test_it_is_not_vacuous():
    x = np.random.default_rng(1).random(100_000)
    assert upper_mean(x, 0.0, 1.0, 1e-6) - lower_mean(x, 0.0, 1.0, 1e-6) < 0.012


def test_a_constant_and_the_ceiling():
    assert upper_mean(np.full(10, 0.5), 0.0, 1.0, 0.1) == 1.0
    assert upper_mean(np.full(10**6, 0.5), 0.0, 1.0, 0.1) < 0.50001


@pytest.mark.parametrize("draws", [[0.5], [0.5, 1.5], [-0.5, 0.5]])
def test_draws_outside_the_range_are_refused(draws):
    with pytest.raises(InputError, match=r"Expected at least 2 draws in \[0.0, 1.0\]; got"):
        upper_mean(np.array(draws), 0.0, 1.0, 0.1)
