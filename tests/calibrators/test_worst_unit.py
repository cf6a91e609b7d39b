"""Least noise for the worst unit: the dual's gap, and an independent solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rpac import InputError
from rpac.calibrators.worst_unit import GAP, propose, worst_unit


def problem(rng, d):
    moves = rng.normal(size=(int(rng.integers(1, 60)), d)) * 10 ** rng.uniform(-3, 3, d)
    return np.vstack([moves, np.diag(10 ** rng.uniform(-6, 0, d))])


def brute(moves, c, w):
    """Return the least weighted sum of variances, by a general solver in log deviations."""
    squares = np.square(moves)
    unit = np.sqrt(squares.max(axis=0))

    def value(x):
        return np.log((w * unit**2 * np.exp(2 * x)).sum())

    def room(x):
        return c**2 - (squares / unit**2) @ np.exp(-2 * x)

    start = np.full(len(w), np.log(np.sqrt(len(w)) / c * 1.01))
    found = minimize(
        value, start, constraints={"type": "ineq", "fun": room}, method="SLSQP",
        bounds=[(-20, 20)] * len(w), options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    assert room(found.x).min() > -1e-7 * c**2
    return float(np.exp(value(found.x)))


@pytest.mark.parametrize("seed", range(12))
def test_a_general_solver_finds_nothing_better(seed):
    rng = np.random.default_rng(seed)
    d, c = int(rng.integers(1, 5)), float(rng.uniform(0.1, 2))
    moves, w = problem(rng, d), 10 ** rng.uniform(-2, 2, d)
    found = worst_unit(moves, c, w)
    primal = float(w @ np.square(found.scales))
    best = brute(moves, c, w)
    assert found.gap <= GAP
    assert primal == pytest.approx(found.dual * (1 + found.gap), rel=1e-9)
    assert found.dual <= best * (1 + 1e-5)
    assert best <= primal * (1 + 1e-5)


def test_every_unit_is_within_the_distance_and_the_gap_is_small_on_large_problems():
    rng = np.random.default_rng(7)
    for n, d in ((3000, 20), (500, 60), (40, 1), (2000, 9)):
        moves = np.vstack([rng.standard_t(2, size=(n, d)) / n, np.eye(d) * 1e-3])
        found = worst_unit(moves, 0.25)
        assert np.linalg.norm(moves / found.scales, axis=1).max() <= 0.25 * (1 + 1e-9)
        assert found.gap <= GAP


def test_proposals_do_not_depend_on_the_units_of_numbers():
    rng = np.random.default_rng(3)
    moves, units = problem(rng, 4), np.array([1e-6, 1.0, 50.0, 1e7])
    one, other = propose(moves, 0.5), propose(moves * units, 0.5)
    assert other == pytest.approx(one * units, rel=1e-9)
    alone = np.abs(moves).max(axis=0) / 0.5
    assert (one >= alone * (1 - 1e-9)).all()
    assert np.square(one / alone).sum() <= 4 * 4 * (1 + GAP)  # no worse than an even split


def test_closed_forms():
    one = worst_unit(np.array([[3.0], [-4.0]]), 0.5)  # one number: the largest move over c
    assert one.scales == pytest.approx([8.0], rel=GAP)
    # One unit moves all: s_i^2 proportional to |a_i|, Cauchy and Schwarz with equality.
    move = np.array([[1.0, 4.0, 9.0]])
    found = worst_unit(move, 1.0)
    assert found.dual == pytest.approx(14.0**2)
    assert found.scales == pytest.approx(np.sqrt(move[0] * 14.0))
    # Units that move a number each: as if each were alone.
    assert worst_unit(np.diag([1.0, 5.0]), 1.0).scales == pytest.approx([1.0, 5.0], rel=0.02)


def test_an_even_split_would_cost_more():
    moves = np.vstack([np.random.default_rng(0).normal(size=(200, 10)) * np.arange(1, 11)])
    found = worst_unit(moves, 1.0)
    even = np.abs(moves).max(axis=0) * np.sqrt(10)
    assert np.square(found.scales).sum() < 0.5 * np.square(even).sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 2)), 1.0), "`moves` with 2 axes"),
        ((np.array([[np.nan]]), 1.0), "finite numbers in `moves`"),
        ((np.array([[1.0, 0.0]]), 1.0), "somebody who moves each number; got none"),
        ((np.eye(2), 0.0), "`c` between 0.0 and inf"),
        ((np.eye(2), 1.0, np.array([1.0])), r"2 positive weights; got shape \(1,\)"),
        ((np.eye(2), 1.0, np.array([1.0, -1.0])), "2 positive weights"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        worst_unit(*arguments)
