"""Entropy, against closed forms."""

import math

import numpy as np
import pytest

from rpac._base.entropy import ROUNDING, entropy


def test_closed_forms():
    assert entropy(np.full(8, 1 / 8)) == pytest.approx(math.log(8), abs=1e-15)
    assert entropy(np.array([1.0])) == 0.0
    p = 0.25 ** np.arange(1, 40) * 3  # geometric: H = h(1/4) / (3/4)
    h = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert entropy(p) == pytest.approx(h / 0.75, abs=1e-12)


def test_the_allowance_covers_the_rounding_of_long_sums():
    weights = np.random.default_rng(0).dirichlet(np.ones(100_000))
    exact = -math.fsum(w * math.log(w) for w in weights.tolist())
    assert abs(entropy(weights) - exact) < ROUNDING
