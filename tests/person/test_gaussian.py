"""The rounded Gaussian: its law, where it comes from, and what would not pass for it."""

import random

import numpy as np
import pytest
from scipy.stats import chi2, norm

from rpac.person import gaussian
from rpac.person.gaussian import ERROR, rounded_gaussian
from tests.person.trace import (
    discrete_masses,
    gaussian_delta,
    hockey_stick,
    rounded_masses,
)

DRAWS = 20_000
FALSE_ALARM = 1e-7


def p_value(draws, masses, grid):
    """Return the chi-square p-value of draws against masses; rare results are put together."""
    counts = np.array([np.count_nonzero(draws == k) for k in grid], float)
    common = masses * len(draws) >= 10
    seen = np.append(counts[common], len(draws) - counts[common].sum())
    expected = np.append(masses[common], 1 - masses[common].sum()) * len(draws)
    kept = expected > 0.5
    return chi2.sf(np.sum((seen - expected)[kept] ** 2 / expected[kept]), kept.sum() - 1)


@pytest.fixture(scope="module")
def drawn():
    """Draws for a few deviations, from the operating system."""
    sizes = {0.5: 200_000, 0.75: DRAWS, 1.0: 5 * DRAWS, 3.0: DRAWS}
    return {
        sigma: np.array([rounded_gaussian((int(sigma * 4), 4)) for _ in range(size)])
        for sigma, size in sizes.items()
    }


@pytest.mark.parametrize("sigma", [0.5, 0.75, 1.0, 3.0])
def test_draws_have_the_law_of_the_rounded_gaussian(drawn, sigma):
    grid = np.arange(-40, 41)
    assert p_value(drawn[sigma], rounded_masses(0, sigma, grid), grid) > FALSE_ALARM


@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
def test_another_deviation_would_be_noticed(drawn, factor):
    grid = np.arange(-40, 41)
    assert p_value(drawn[0.5], rounded_masses(0, 0.5 * factor, grid), grid) < 1e-9


@pytest.mark.parametrize("sigma", [0.5, 0.75, 1.0])
def test_the_discrete_gaussian_would_be_noticed(drawn, sigma):
    grid = np.arange(-40, 41)
    assert p_value(drawn[sigma], discrete_masses(0, sigma, grid), grid) < 1e-9


def test_the_curve_of_the_rounded_gaussian_is_below_and_that_of_the_discrete_one_is_not():
    grid, epsilons = np.arange(-60, 61), np.linspace(0, 3, 31)
    for sigma in (0.5, 1.0, 2.0, 5.0):
        claim = gaussian_delta(epsilons, 1 / sigma)
        rounded = hockey_stick(
            rounded_masses(0, sigma, grid), rounded_masses(1, sigma, grid), epsilons
        )
        assert (rounded <= claim + 1e-12).all()
        if sigma <= 2:
            p, q = discrete_masses(0, sigma, grid), discrete_masses(1, sigma, grid)
            assert (hockey_stick(p, q, epsilons) > claim + 1e-4).any()


def test_large_deviations_have_the_right_quantiles():
    """Sums are drawn at deviations far beyond 2^53: floating point would leave gaps."""
    sigma = (3 << 100, 1)
    draws = [rounded_gaussian(sigma) for _ in range(4_000)]
    scaled = np.array([float(x / sigma[0]) for x in draws])
    below = np.array([(scaled < z).mean() for z in (-1, 0, 1)])
    assert np.abs(below - norm.cdf([-1, 0, 1])).max() < 5.5 * 0.5 / 4_000**0.5
    odd = np.mean([x & 1 for x in draws])
    assert abs(odd - 0.5) < 5.5 * 0.5 / 4_000**0.5  # every bit is noise


def test_signs_are_even(drawn):
    for draws in drawn.values():
        signs = np.sign(draws[draws != 0])
        assert abs(signs.sum()) < 5.5 * len(signs) ** 0.5


def test_no_seed_decides():
    def sequence():
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        return [rounded_gaussian((1 << 60, 1)) for _ in range(3)]

    assert len({*sequence(), *sequence()}) == 6


def test_randomness_is_that_of_the_operating_system(monkeypatch):
    taken = []
    urandom = gaussian.os.urandom
    monkeypatch.setattr(gaussian.os, "urandom", lambda n: taken.append(n) or urandom(n))
    rounded_gaussian((1, 1))
    assert set(taken) == {32}


def test_probabilities_of_runs():
    """exp(-y), and exp(-y (2k + y) / (2k + 2)) with coins: the two that the law is made of."""
    one, n = 1 << 256, 20_000
    for start, k, wanted in [
        (one >> 1, None, np.exp(-0.5)), (one - 1, None, np.exp(-1.0)),
        (one >> 1, 0, np.exp(-0.125)), (one >> 1, 2, np.exp(-0.5 * 4.5 / 6)),
    ]:  # fmt: skip
        found = np.mean([gaussian._falls_evenly(start, k) for _ in range(n)])
        assert abs(found - wanted) < 5.5 * (wanted * (1 - wanted) / n) ** 0.5


def test_the_stated_error_is_small():
    assert ERROR * 2**60 < 1e-12
