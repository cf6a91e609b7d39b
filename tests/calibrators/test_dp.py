"""Baselines of differential privacy."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.dp import analytic_gaussian_sigma


def test_differential_privacy_baselines():
    outputs = rpac.simulate(
        rpac.Subsets(np.clip(np.random.default_rng(6).normal(size=100), -2, 2), worlds=64), np.mean
    )
    nats, sensitivity = 0.1, 4 / 50
    for method in (rpac.DPGaussian(sensitivity), rpac.DPLaplace(sensitivity)):
        noise = rpac.calibrate(outputs, nats, method)
        certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
        assert certificate.worst_unit_success <= rpac.advantage.nats_to_success(nats)
    epsilon = rpac.advantage.nats_to_epsilon(nats)
    laplace = rpac.DPLaplace(sensitivity).propose(outputs, nats)
    assert laplace.power == pytest.approx(2 * (sensitivity / epsilon) ** 2, rel=1e-3)
    exact = rpac.DPGaussian(sensitivity).propose(outputs, nats).power
    classical = rpac.DPGaussian(sensitivity, analytic=False).propose(outputs, nats).power
    assert exact < classical
    with pytest.raises(rpac.InputError, match="Expected a budget that matches a finite epsilon"):
        rpac.DPLaplace(1.0).propose(outputs, 2.0)
    with pytest.raises(rpac.InputError, match="Expected a positive `sensitivity`; got 0"):
        rpac.DPGaussian(0)


def test_the_analytic_gaussian_spends_exactly_its_delta():
    from scipy.stats import norm

    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-3)):
        s = analytic_gaussian_sigma(epsilon, delta)
        spent = norm.cdf(0.5 / s - epsilon * s) - np.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)
        assert spent == pytest.approx(delta, rel=1e-6)
