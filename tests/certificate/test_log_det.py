"""The log-determinant bound against its closed form, on and off the grid."""

import math

import numpy as np
import pytest

import rpac
from rpac.certificate.kernel import grid_kernel
from rpac.certificate.log_det import axis_log_det, log_det


def test_gaussian_reference_is_the_log_determinant():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    noise = rpac.GaussianNoise(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5)
    outputs = rpac.Outputs(values)
    found = rpac.certify(outputs, noise, draws=0).bounds["log-det"]
    cov = np.cov(values.T, bias=True)
    truth = 0.5 * np.linalg.slogdet(np.eye(4) + np.linalg.solve(noise.cov, cov))[1]
    assert found == pytest.approx(truth, abs=1e-10)
    assert found >= truth


def test_log_determinant_on_the_grid_is_a_bound_and_close_to_the_ideal():
    rng = np.random.default_rng(4)
    outputs = rpac.Outputs(rng.normal(size=(200, 3)))
    for scale in (0.3, 1.0, 5.0):
        noise = rpac.GaussianNoise(scale**2 * np.eye(3))
        ideal = rpac.certify(outputs, noise, draws=0).bounds["log-det"]
        table = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=0).bounds["log-det"]
        assert table == pytest.approx(ideal, rel=1e-3)


def test_outputs_too_far_apart_for_a_determinant_fall_back_on_the_entropy():
    outputs = rpac.Outputs([[0.0, 0.0], [1e9, 1.0], [0.0, 1e9]])
    certificate = rpac.certify(outputs, rpac.GaussianNoise(np.eye(2)))
    assert "log-det" not in certificate.bounds
    assert certificate.bound == pytest.approx(math.log(3), abs=1e-9)


def test_the_diagonal_alone_is_never_below_the_log_determinant():
    rng = np.random.default_rng(3)
    for _ in range(100):
        weights = rng.dirichlet(np.ones(30))
        outputs = rpac.Outputs(rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)), weights)
        for noise, same in (
            (rpac.GaussianNoise(np.diag(rng.uniform(0.1, 9, 3))), False),
            (rpac.calibrate(outputs, 0.3, "proportional"), True),
        ):
            law = rpac.tabulate(outputs, noise)
            points, kernel = law.encode(outputs.values) / law.scales, grid_kernel(law.laws)
            diagonal = axis_log_det(points, weights, kernel)
            whole = log_det(points, weights, kernel)
            assert diagonal >= whole - 1e-12
            assert axis_log_det(points + 0.1, weights, kernel) > diagonal  # about any other point
            assert not same or diagonal == pytest.approx(whole, rel=1e-4)
    assert axis_log_det(1e9 * points, weights, kernel) == math.inf
