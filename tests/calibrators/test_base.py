"""The noun Calibrator: one method to write, a grid of budgets for free."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.base import Calibrator, single_count


class Fixed(Calibrator):
    """Noise of a power that the budget decides; it remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def propose(self, outputs, nats):
        self.asked.append((outputs, nats))
        return rpac.GaussianNoise(1 / nats * np.eye(outputs.dim))


def test_a_grid_asks_for_each_budget_in_turn():
    outputs, method = rpac.Outputs([[0.0, 1.0], [1.0, 0.0]]), Fixed()
    found = method.along(outputs, [0.1, 0.2, 0.5])
    assert [noise.power for noise in found] == pytest.approx([20.0, 10.0, 4.0])
    assert method.asked == [(outputs, 0.1), (outputs, 0.2), (outputs, 0.5)]
    assert Fixed().along(outputs, []) == []


def test_the_one_method_must_be_written():
    with pytest.raises(TypeError, match="abstract method '?propose"):
        type("Nothing", (Calibrator,), {})()


def test_a_calibrator_of_ones_own_is_a_method():
    noise = rpac.calibrate(rpac.Outputs([0.0, 1.0]), 0.25, Fixed())
    assert noise.power == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([0, 1, 5], None, True),
        ([0.0, 1.0], None, False),
        ([[0, 1], [2, 3]], None, False),
        ([0, 1], "real", False),
        (["a", "b"], None, False),
    ],
)
def test_single_counts_keep_to_whole_numbers(values, kind, expected):
    assert single_count(rpac.Outputs(values, kind=kind)) is expected
