"""Costs of noise: their curvature in closed form, how power splits, and what is no cost."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.utility import (
    Smooth,
    SquaredError,
    Utility,
    Weighted,
    selectivity,
)

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(500, 3))


def test_squared_error_is_the_length_squared():
    assert SquaredError().cost(NOISE) == pytest.approx(np.linalg.norm(NOISE, axis=1) ** 2)
    np.testing.assert_array_equal(SquaredError().weight(5 * np.eye(3)), np.eye(3))


def test_a_weighted_cost_is_its_quadratic_form():
    a = RNG.normal(size=(3, 3))
    made = Weighted(a @ a.T)
    by_hand = [b @ a @ a.T @ b for b in NOISE]
    assert made.cost(NOISE) == pytest.approx(by_hand)
    np.testing.assert_array_equal(made.weight(np.eye(3)), a @ a.T)


def test_units_of_coordinates():
    made = Weighted.scaled([2.0, 0.5])
    assert made.cost(np.array([[2.0, 0.0], [0.0, 0.5], [2.0, 0.5]])) == pytest.approx([1, 1, 2])


def test_a_task_weighs_its_subspace():
    basis = np.array([[1.0], [1.0]])  # need not be of unit length
    made = Weighted.task(basis, ratio=25.0)
    along, across = np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]])
    assert made.cost(along) == pytest.approx(25 * made.cost(across))
    assert Weighted.task(basis, ratio=1.0).weight(np.eye(2)) == pytest.approx(np.eye(2))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_curvature_of_a_smooth_cost_is_read_off_its_values(scale):
    """Quadratics give their matrix; sum b^4 gives half of E[12 b^2], six variances."""
    cov = scale * np.array([[1.0, 0.3], [0.3, 2.0]])
    quadratic = Smooth(lambda b: 3 * b[:, 0] ** 2 + b[:, 1] ** 2, draws=200_000)
    assert quadratic.weight(cov) == pytest.approx(np.diag([3.0, 1.0]), abs=0.1)
    quartic = Smooth(lambda b: (b**4).sum(axis=1), draws=400_000)
    assert quartic.weight(cov) == pytest.approx(6 * np.diag(np.diag(cov)), abs=0.5 * scale)


def test_power_splits_between_a_subspace_and_the_rest():
    cov = np.diag([1.0, 2.0, 5.0])
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    noise = rpac.GaussianNoise(turn @ cov @ turn.T)
    found = selectivity(noise, turn[:, [0, 2]])
    assert found == pytest.approx({"task": 0.75, "rest": 0.25})
    columns = turn[:, :2] @ np.array([[1.0, 2.0], [0.0, 3.0]])  # any basis of the span
    onto = Weighted.task(columns, 2.0).weight(np.eye(3)) - np.eye(3)
    assert onto @ onto == pytest.approx(onto)
    assert np.trace(onto) == pytest.approx(2.0)


def test_a_utility_has_two_methods_to_write():
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (Utility,), {"cost": lambda self, noise: noise})()


def falling(b):
    return -np.square(b).sum(axis=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Weighted([[1.0, 0.0]]),
            r"a symmetric, non-negative, non-zero `matrix`; got \[\[1.0, 0.0\]\] of shape \(1, 2\)",
        ),
        (lambda: Weighted([[-1.0]]), r"got \[\[-1.0\]\] of shape .* A cost must be convex"),
        (lambda: Weighted([[0.0]]), r"non-zero `matrix`; got \[\[0.0\]\]"),
        (lambda: Weighted([[1.0, 2.0], [0.0, 1.0]]), r"symmetric.*got \[\[1.0, 2.0\]"),
        (lambda: Weighted.scaled([1.0, 0.0]), "positive scales; got 0.0"),
        (lambda: Weighted.task(np.eye(2), ratio=0), "a positive `ratio`; got 0"),
        (
            lambda: Smooth(lambda b: b[:, 0] * np.nan).cost(np.ones((3, 1))),
            r"one finite cost for each noise; got shape \(3,\) for 3, 0 of them finite",
        ),
        (
            lambda: Smooth(lambda b: np.ones(2)).cost(np.ones((3, 1))),
            r"one finite cost for each noise; got shape \(2,\) for 3",
        ),
        (
            lambda: Smooth(falling).weight(np.eye(2)),
            "a convex cost; got falling, which falls in some direction",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
