"""Search for covariances: never dearer than Auto-PAC, along budgets as good as at each."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators.budget_search import expected_bound
from rpac.calibrators.covariance import GaussianSearch, weighed_directions
from rpac.calibrators.utility import SquaredError, Weighted

ANGLE = 2 * math.pi * np.arange(240) / 240 + 0.1 * np.sin(3 * np.arange(240))
RING = rpac.Outputs(np.stack([2 * np.cos(ANGLE), np.sin(ANGLE)], axis=1))
WEIGHT = Weighted(np.diag([16.0, 1.0]))


@pytest.mark.parametrize("utility", [SquaredError(), WEIGHT])
@pytest.mark.parametrize("nats", [0.2, 2.0])
def test_noise_meets_the_budget_and_costs_no_more_than_auto_pac(nats, utility):
    found = GaussianSearch(RING, utility, 0).at(nats)
    closed = rpac.AutoPAC().propose(RING, nats)
    weight = utility.weight(np.eye(2))
    assert np.sum(weight * found.cov) <= np.sum(weight * closed.cov) * (1 + 1e-9)
    assert expected_bound(RING, found, 0) <= nats * (1 + 1e-9)


def test_a_grid_of_budgets_is_solved_as_well_as_each_alone():
    budgets = [0.3, 0.5, 0.8, 1.2, 2.0]
    search = GaussianSearch(RING, SquaredError(), 0)
    for nats, noise in zip(budgets, search.along(budgets), strict=True):
        assert noise.power == pytest.approx(search.at(nats).power, rel=0.02)
        assert expected_bound(RING, noise, 0) <= nats * 1.002


def test_noise_falls_with_the_budget():
    powers = [
        noise.power for noise in GaussianSearch(RING, SquaredError(), 0).along([0.1, 0.4, 1.5])
    ]
    assert powers[0] > powers[1] > powers[2]


def test_directions_of_no_weight_are_dropped():
    kept = weighed_directions(np.eye(3), Weighted(np.diag([1.0, 0.0, 2.0])))
    assert kept.shape == (3, 2)
    assert np.abs(kept[1]).max() < 1e-12
    assert weighed_directions(np.eye(3), SquaredError()).shape == (3, 3)
    blind = GaussianSearch(RING, Weighted(np.diag([0.0, 1.0])), 0)
    assert blind.drop
    noise = blind.at(0.5)
    assert noise.drop
    assert noise.cov[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert noise.power < rpac.AutoPAC().propose(RING, 0.5).power


def test_a_search_is_seeded():
    one, two = (GaussianSearch(RING, SquaredError(), 3).at(0.7) for _ in range(2))
    np.testing.assert_array_equal(one.cov, two.cov)
