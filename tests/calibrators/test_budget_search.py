"""Budgets met from the safe side: the search on known curves, and bounds on known leakages."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators.budget_search import (
    Beside,
    expected,
    expected_bound,
    expected_interval,
    meet,
    meet_above,
    meet_gaussian,
    meet_tightly,
    proved_bound,
    spread_out,
)
from rpac.oracles import quadrature_nats

COIN = rpac.Outputs([-1.0, 1.0])
CURVES = {
    "a line": lambda t: 3.0 - 2.0 * t,
    "an exponential": lambda t: math.exp(-t) - 0.2,
    "a slow end": lambda t: 1 / (1 + math.exp(t)) - 1e-3,
    "far to the left": lambda t: -5.0 - t,
    "a jump": lambda t: 1.0 if t < 0.37 else -1.0,
    "stairs": lambda t: 0.45 - math.floor(10 * t) / 10,
    "a logarithm": lambda t: 0.5 * math.log1p(math.exp(-t)) - 0.1,
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("slope", [0.01, 1.0, 50.0])
def test_the_answer_was_evaluated_and_is_safe_and_tight(name, slope):
    asked = {}

    def gap(t):
        asked[t] = CURVES[name](t)
        return asked[t]

    found = meet(gap, 1e-3, slope=slope)
    assert asked[found] <= 0
    assert asked[found] >= -1e-3 or CURVES[name](found - 1.1e-5) > 0  # tight, or at a jump
    assert len(asked) <= 60


def test_random_curves_are_met():
    rng = np.random.default_rng(0)
    for _ in range(200):
        height, rate, power = np.exp(rng.normal(size=3))
        goal = height * rng.uniform(0.01, 0.99)

        def gap(t, height=height, rate=rate, power=power, goal=goal):
            return height * (1 - 1 / (1 + math.exp(-rate * t)) ** power) - goal

        found = meet(gap, 1e-4 * goal)
        assert -1e-4 * goal <= gap(found) <= 0


def test_what_lies_beyond_the_most_wanted_is_not_evaluated():
    asked = []

    def gap(t):
        asked.append(t)
        return 100.0 - t

    assert meet(gap, 1e-3, most=3.0) > 3.0
    assert max(asked) <= 3.0


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_proved_bounds_of_a_coin_are_its_leakage(sigma):
    truth = quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    found = proved_bound(COIN, rpac.GaussianNoise(sigma**2))
    assert found == pytest.approx(truth, rel=4e-3)  # the grid moves the worlds by half a step


def test_an_open_distribution_is_judged_on_its_planning_half():
    values = np.random.default_rng(0).normal(size=(2_000, 1))
    clip = (np.array([-5.0]), np.array([5.0]))
    other = np.concatenate([values[:1_000], np.full((1_000, 1), 4.0)])
    noise = rpac.GaussianNoise(4.0)
    a, b = (proved_bound(rpac.Outputs(v, clip=clip), noise) for v in (values, other))
    assert a == b
    assert a >= 0.5 * math.log1p(1 / 4)  # a normal's capacity


def test_what_a_certificate_will_say_lies_above_the_truth_and_near():
    """Two coins on two axes: leakages add."""
    corners = rpac.Outputs([[x, 2 * y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    noise = rpac.GaussianNoise(np.diag([1.0, 2.0]))
    pairs = ((1.0, 1.0), (2.0, math.sqrt(2.0)))
    truth = sum(quadrature_nats([-a, a], [0.5, 0.5], s) for a, s in pairs)
    found = expected_bound(corners, noise, 0)
    assert truth <= found <= 1.01 * truth
    assert expected_bound(corners, noise, 0) == found  # seeded
    rough = expected(corners, noise, 0, beside=Beside.of(corners, noise, 0), share=4)
    assert rough.bound == pytest.approx(found, rel=0.02)


def test_the_slope_is_how_the_bound_falls_with_power():
    points = rpac.Outputs(np.random.default_rng(3).normal(size=(200, 3)))
    noise = rpac.GaussianNoise(0.5 * np.eye(3))
    beside = Beside.of(points, noise, 0)
    low, here, high = (
        expected(points, noise.scaled(math.exp(t)), 0, beside=beside) for t in (-0.05, 0.0, 0.05)
    )
    assert here.slope == pytest.approx((low.bound - high.bound) / 0.1, rel=0.05)
    assert here.bound == pytest.approx(expected_bound(points, noise, 0))


def test_worlds_are_spread_out_by_their_weights():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    for n in (7, 100, 999):
        counts = np.bincount(spread_out(np.random.default_rng(n), p, n), minlength=4)
        assert (np.abs(counts - n * p) <= 1).all()


def test_many_worlds_are_met_without_a_last_look():
    rng = np.random.default_rng(4)
    points = rpac.Outputs(rng.normal(size=(1_500, 2)))
    noise = rpac.GaussianNoise(np.eye(2))
    t = meet_tightly(points, noise, 0.8, 0, slope=0.5)
    found = expected_bound(points, noise.scaled(math.exp(t)), 0)
    assert 0.8 * (1 - 4e-3) <= found <= 0.8 * (1 + 5e-4)


def test_intervals_shrink_with_draws_and_grow_with_spread():
    draws = np.random.default_rng(0).normal(1.0, 0.3, 5_000)
    widths = [expected_interval(draws, 1.0, n) for n in (10_000, 40_000, 160_000)]
    assert widths[0] > widths[1] > widths[2]
    assert widths[0] / widths[2] == pytest.approx(4.0, rel=0.2)  # like one over the square root
    assert expected_interval(3 * draws, 1.0, 40_000) > 2 * widths[1]
    assert expected_interval(np.ones(10), 0.0, 40_000) > 0  # draws that do not differ cost too


@pytest.mark.parametrize("nats", [0.1, 0.4])
def test_noise_is_scaled_up_where_needed_and_never_down(nats):
    loud = rpac.GaussianNoise(100.0)
    assert meet_above(COIN, loud, nats) is loud
    found = meet_above(COIN, rpac.GaussianNoise(0.1), nats)
    assert found.power > 0.1
    assert nats * (1 - 4e-3) <= proved_bound(COIN, found) <= nats


@pytest.mark.parametrize("power", [0.05, 1.0, 400.0])
def test_a_shape_is_scaled_either_way_to_the_budget(power):
    found = meet_gaussian(COIN, rpac.GaussianNoise(power), 0.3, 0)
    assert quadrature_nats([-1, 1], [0.5, 0.5], math.sqrt(found.power)) == pytest.approx(
        0.3, abs=2e-3
    )


def test_a_shape_for_draws_is_held_to_a_proved_estimate():
    values = np.random.default_rng(1).normal(size=(2_000, 1))
    draws = rpac.Outputs(values, clip=(np.array([-4.0]), np.array([4.0])))
    found = meet_gaussian(draws, rpac.GaussianNoise(1.0), 0.5, 0)
    assert 0.5 * (1 - 2e-3) <= proved_bound(draws, found) <= 0.5


def test_a_tight_search_ends_early_where_noise_is_no_longer_wanted():
    points = rpac.Outputs(np.random.default_rng(2).normal(size=(20, 2)))
    noise = rpac.GaussianNoise(0.01 * np.eye(2))
    t = meet_tightly(points, noise, 0.3, 0, slope=0.3)
    assert expected_bound(points, noise.scaled(math.exp(t)), 0) <= 0.3
    assert expected_bound(points, noise.scaled(math.exp(t)), 0) == pytest.approx(0.3, rel=2e-3)
    assert meet_tightly(points, noise, 0.3, 0, slope=0.3, most=0.5 * t) > 0.5 * t
