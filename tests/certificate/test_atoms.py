"""Finite worlds as atoms: equal ones are one, rare ones are merged and paid for."""

import math

import numpy as np
import pytest

import rpac
from rpac.certificate.atoms import merge_tail


def test_equal_outputs_are_one_world():
    outputs = rpac.Outputs([[0.0, 0.0]] * 5 + [[3.0, 1.0]] * 5)
    certificate = rpac.certify(outputs, rpac.GaussianNoise(0.01 * np.eye(2)))
    assert certificate.bound == pytest.approx(math.log(2), abs=1e-3)
    assert certificate.entropy == pytest.approx(math.log(10))


def test_tiny_worlds_are_merged_and_paid_for():
    weights = np.array([0.5, 0.5 - 3e-9, 1e-9, 2e-9])
    values = np.array([[-1.0, 0], [1, 0], [50, 50], [80, 0]])
    noise = rpac.GaussianNoise(np.eye(2))
    certificate = rpac.certify(rpac.Outputs(values, weights), noise)
    alone = rpac.certify(rpac.Outputs(values[:2], weights[:2] / weights[:2].sum()), noise)
    truth = rpac.oracles.quadrature_nats([-1, 1], [0.5, 0.5], 1.0)
    assert certificate.bound >= truth
    assert certificate.bound == pytest.approx(alone.bound, abs=2e-3)
    main, merge = merge_tail(weights)
    assert main.tolist() == [0, 1]
    assert merge(0.0) == pytest.approx(3e-9 * (1 + math.log(1 / 3e-9) + math.log(3)), rel=0.3)
