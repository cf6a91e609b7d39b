"""Limits: the textbook's, the ones of a bet, and how often they hold."""

import numpy as np
import pytest
from benchmarks import attack as bench
from scipy.stats import beta, binom, binomtest

import rpac
from rpac.attack.interval import clopper_pearson, mean_limits


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_clopper_pearson_is_the_textbook_interval(hits):
    low, high = clopper_pearson(hits, 20, 0.05)
    textbook = binomtest(hits, 20).proportion_ci(0.95, "exact")
    assert (float(low), float(high)) == pytest.approx((textbook.low, textbook.high), abs=1e-12)


def test_limits_refuse_draws_outside_their_range():
    # Rounding is not: 1 - (1 - prior) of a small prior is off in its last digits.
    assert mean_limits(np.append(np.zeros(9), 1 + 5e-10), 0, 1, 0.1)[0] >= -1e-9
    with pytest.raises(rpac.InputError, match="Expected at least 2 draws in"):
        mean_limits(np.array([0.0, 2.0]), 0, 1, 0.1)
    with pytest.raises(rpac.InputError, match="Expected hits between 0 and trials"):
        clopper_pearson(3, 2, 0.1)


@pytest.mark.parametrize("interval", bench.INTERVALS)
def test_intervals_cover(interval):
    held = sum(bench.INTERVALS[interval](seed) for seed in range(150))
    assert bench.binomtest(held, 150, bench.NOMINAL, alternative="less").pvalue >= 1e-3


def test_clopper_pearson_takes_arrays_and_meets_its_definition():
    hits, trials = np.array([0, 3, 40, 50]), np.array([50, 50, 50, 50])
    low, high = clopper_pearson(hits, trials, 0.1)
    assert low[0] == 0.0
    assert high[-1] == 1.0
    # At either limit so many hits, or more extreme ones, have probability delta / 2.
    assert binom.sf(hits[1:] - 1, 50, low[1:]) == pytest.approx(0.05, rel=1e-9)
    assert binom.cdf(hits[:-1], 50, high[:-1]) == pytest.approx(0.05, rel=1e-9)
    assert low[1:] == pytest.approx(beta.ppf(0.05, hits[1:], 51 - hits[1:]), abs=1e-12)
    one, two = clopper_pearson(3, 50, 0.1)
    assert (float(one), float(two)) == pytest.approx((low[1], high[1]), rel=1e-12)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5])
def test_clopper_pearson_covers_by_summing_the_binomial(rate):
    hits = np.arange(31)
    low, high = clopper_pearson(hits, 30, 0.1)
    held = (low <= rate) & (rate <= high)
    assert binom.pmf(hits, 30, rate)[held].sum() >= 0.9


def test_clopper_pearson_narrows_with_trials_and_widens_with_confidence():
    widths = [np.subtract(*clopper_pearson(n // 4, n, 0.05)[::-1]) for n in (20, 200, 2_000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0
    loose, tight = (np.subtract(*clopper_pearson(5, 20, d)[::-1]) for d in (0.5, 1e-6))
    assert tight > 2 * loose


@pytest.mark.parametrize(("hits", "trials"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_counts_are_refused(hits, trials):
    with pytest.raises(
        rpac.InputError, match=rf"trials >= 1; got {hits}\.0 of {trials}\.0\. Count again"
    ):
        clopper_pearson(hits, trials, 0.1)


def test_mean_limits_enclose_the_mean_and_close_in_on_it():
    rng = np.random.default_rng(0)
    widths = []
    for n in (100, 1_000, 10_000):
        draws = rng.random(n) ** 2
        low, high = mean_limits(draws, 0.0, 1.0, 0.01)
        assert low < draws.mean() < high
        assert low <= 1 / 3 <= high
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_mean_limits_follow_the_spread_and_not_the_range():
    draws = np.random.default_rng(1).random(20_000)
    narrow, wide = (np.subtract(*mean_limits(draws, -r, 1 + r, 0.01)[::-1]) for r in (0.0, 4.5))
    assert wide < 1.5 * narrow  # a range ten times as wide


def test_mean_limits_move_with_the_draws():
    draws = np.random.default_rng(2).random(500)
    low, high = mean_limits(draws, 0.0, 1.0, 0.05)
    moved = mean_limits(3 * draws - 1, -1.0, 2.0, 0.05)
    assert moved == pytest.approx((3 * low - 1, 3 * high - 1), abs=1e-6)
