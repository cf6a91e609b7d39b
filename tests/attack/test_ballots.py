"""Votes down a grid: what their way tells, against counting it all out."""

import numpy as np
import pytest
from scipy.special import ndtr

from rpac.attack.ballots import Ballot, averages, deviation, rounds, shares_of_rows, votes, way
from rpac.person.contributions import Column, Linear, Rows, Term
from rpac.person.mechanism import Held, _deviation

GRID = np.array([-2.0, 0.0, 1.0, 5.0, 9.0])
TOTALS = np.array([[-3.0, -1.0, 0.5, 1.0, 4.0], [-2.5, -0.5, 1.0, 1.5, 4.5]])


def chances(ballot, side):
    """Return the probability of every end, by following every way."""
    found = np.ones(5)
    for at, right, cast in way(5, np.arange(5)):
        below = ndtr(-ballot.totals[side, at] / ballot.sigma)
        found *= np.where(cast, np.where(right, below, 1 - below), 1.0)
    return found


def test_ratios_are_those_of_the_ends_probabilities():
    ballot = Ballot(TOTALS, 1.3)
    without, with_ = chances(ballot, 0), chances(ballot, 1)
    assert without.sum() == pytest.approx(1, abs=1e-12)
    assert with_.sum() == pytest.approx(1, abs=1e-12)
    assert ballot.read(np.arange(5)) == pytest.approx(np.log(with_ / without), abs=1e-12)


@pytest.mark.parametrize("side", [0, 1])
def test_walks_end_where_they_should(side):
    ballot, rng, n = Ballot(TOTALS, 1.3), np.random.default_rng(side), 40_000
    ends = ballot.walk(np.full(n, side), lambda k: rng.normal(size=k))
    rates, wanted = np.bincount(ends, minlength=5) / n, chances(ballot, side)
    assert np.abs(rates - wanted).max() < 5.5 * np.sqrt(0.25 / n)


def test_votes_are_counted_up_to_each_entry():
    values, weights = np.array([3.0, -1.0, 1.0]), np.array([1.0, 0.5, 0.5])
    wanted = [(weights * ((values <= at) - 0.3)).sum() for at in GRID]
    assert votes(values, weights, 0.3, GRID) == pytest.approx(wanted)
    assert votes(np.zeros(0), np.zeros(0), 0.3, GRID).tolist() == [0.0] * 5


def test_what_is_declared_is_what_the_mechanism_does():
    """Written anew here: the attack must not take the mechanism's word for its own noise."""
    for case in [(0.5, 337, 1, 0.03), (0.9, 5, 1, 0.2), (0.9, 4096, 2, 0.2), (0.5, 1, 1, 1.0)]:
        assert deviation(*case) == pytest.approx(_deviation(*case), rel=1e-8)
    assert [rounds(n) for n in (1, 2, 3, 4, 5, 4096)] == [1, 1, 2, 2, 3, 12]
    question = Linear((Column("x", 0.1), Column("y")), (Term("n", (0, 0)),))
    values = np.array([[1.0, 2], [3.0, np.nan], [np.nan, 1], [7.25, 0], [np.inf, 4]])
    rows = Rows(np.array([4, 4, 5, 6, 7]), np.zeros(5, int), values)
    for j in (0, 1):
        mine, whose = averages(question, j, rows)
        grid = np.array([0.5, 1.5, 2.5, 7.5])
        found = Held(question, rows).averages(question, j, grid)
        assert np.bincount(np.searchsorted(grid, mine), minlength=5).tolist() == found.tolist()
        assert whose.tolist() == ([4, 6] if j == 0 else [4, 5, 6, 7])
    assert averages(question, 0, rows)[0] == pytest.approx([2.0, 7.25], abs=1e-5)


def test_each_unit_has_one_vote():
    values = np.array([[1.0], [2.0], [np.nan], [5.0]])
    rows = Rows(np.array([8, 8, 8, 9]), np.array([0, 1, 1, 1]), values)
    kept, share = shares_of_rows(rows, 0)
    assert kept.units.tolist() == [8, 8, 9]
    assert share.tolist() == [0.5, 0.5, 1.0]
    assert shares_of_rows(Rows(rows.units[2:3], rows.groups[2:3], values[2:3]), 0)[1].size == 0
