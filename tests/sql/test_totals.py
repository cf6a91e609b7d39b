"""Sums and extremes over worlds, against plain Python; and sums that no order changes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rpac.sql.totals import extremes, on_grid, ranked, totals


def cells(seed, n=400, size=5, units=40, k=3):
    """Return cells of random groups and units, one of the groups empty."""
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.choice([g for g in range(size) if g != 2], n))
    values = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-6, 7, (n, k))
    return groups, rng.integers(0, units, n), values, rng.random((units, 11)) < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_totals_are_the_sums_over_the_units_of_each_world(seed, monkeypatch):
    groups, units, values, members = cells(seed)
    monkeypatch.setattr("rpac.sql.totals._BLOCK", 50)  # several blocks a group
    found = totals(groups, units, values, members, 5)
    assert found.shape == (11, 5, 3)
    for w in range(11):
        for g in range(5):
            inside = [i for i in range(len(groups)) if groups[i] == g and members[units[i], w]]
            for j in range(3):
                exact = math.fsum(values[i, j] for i in inside)
                reach = math.fsum(abs(values[i, j]) for i in inside)
                assert found[w, g, j] == pytest.approx(exact, abs=1e-13 * reach)


@pytest.mark.parametrize("seed", range(4))
def test_extremes_are_the_least_over_the_units_of_each_world(seed):
    groups, units, values, members = cells(seed, n=900)
    values[::7, 0] = np.nan
    members[:, 0] = False
    found = extremes(ranked(groups, values[:, 0], 5), units, values[:, 0], members)
    assert found.shape == (11, 5)
    for w in range(11):
        for g in range(5):
            inside = [
                values[i, 0]
                for i in range(len(groups))
                if groups[i] == g and members[units[i], w] and not np.isnan(values[i, 0])
            ]
            assert found[w, g] == min(inside) if inside else np.isnan(found[w, g])


def test_extremes_look_on_where_the_first_cells_are_of_nobody_inside():
    """More than one look: the least 64 values are of a unit that is in one world of two."""
    values = np.arange(100.0)
    units = np.where(values < 64, 0, 1)
    members = np.array([[True, False, False], [True, True, False]])
    found = extremes(ranked(np.zeros(100, int), values, 1), units, values, members)
    assert found[:2].ravel().tolist() == [0.0, 64.0]
    assert np.isnan(found[2, 0])
    decided = extremes(ranked(np.zeros(100, int), values, 1), units, values, members[:, :1])
    assert decided.ravel().tolist() == [0.0]  # and no further than needed


@pytest.mark.parametrize("seed", range(4))
def test_sums_on_the_grid_are_exact_in_every_order(seed):
    groups, _, values, _ = cells(seed)
    grid = on_grid(groups, values, 5)
    rng = np.random.default_rng(seed)
    for g in (0, 1, 3, 4):
        for j in range(3):
            column = grid[groups == g, j]
            exact = sum(map(Fraction, column))
            for _ in range(5):
                assert Fraction(float(rng.permutation(column).sum())) == exact
            true = sum(map(Fraction, values[groups == g, j]))
            reach = math.fsum(np.abs(values[groups == g, j]))
            assert abs(float(exact - true)) <= len(column) * 2.0**-52 * reach


def test_the_company_of_a_world_does_not_change_its_sum():
    groups, units, values, _ = cells(9, n=3_000, units=300)
    members = np.random.default_rng(1).random((300, 64)) < 0.5
    grid = on_grid(groups, values, 5)
    together = totals(groups, units, grid, members, 5)
    for w in range(0, 64, 9):
        alone = totals(groups, units, grid, members[:, [w]], 5)[0]
        assert (alone == together[w]).all()  # to the last bit


def test_whole_numbers_and_what_cannot_be_rounded_stay_as_they_are():
    groups = np.array([0, 0, 0, 1, 1])
    whole = np.array([[3.0], [2.0**50], [-7.0], [1.0], [0.0]])
    assert (on_grid(groups, whole, 2) == whole).all()
    tiny = np.full((5, 1), 5e-324)
    assert np.isfinite(on_grid(groups, tiny, 2)).all()
    endless = on_grid(groups, np.array([[np.inf], [1.0], [2.0], [3.0], [4.0]]), 2)
    assert endless.ravel().tolist() == [np.inf, 1.0, 2.0, 3.0, 4.0]
    assert on_grid(np.zeros(0, int), np.zeros((0, 2)), 3).shape == (0, 2)
