"""Baselines of differential privacy."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.dp import DPGaussian, DPLaplace, analytic_gaussian_sigma

PLANE = rpac.Outputs(np.random.default_rng(0).normal(size=(40, 2)))


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


@pytest.mark.parametrize("nats", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("sensitivity", [0.1, 3.0])
def test_gaussian_noise_is_isotropic_and_scales_with_the_sensitivity(nats, sensitivity):
    epsilon = rpac.advantage.nats_to_epsilon(nats, 1e-5)
    noise = DPGaussian(sensitivity).propose(PLANE, nats)
    sigma = sensitivity * analytic_gaussian_sigma(epsilon, 1e-5)
    assert noise.cov == pytest.approx(sigma**2 * np.eye(2))
    classical = DPGaussian(sensitivity, analytic=False).propose(PLANE, nats)
    known = sensitivity * np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon
    assert classical.cov == pytest.approx(known**2 * np.eye(2))


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_laplace_noise_has_the_ratio_of_its_epsilon(prior):
    """Neighbouring answers differ by the sensitivity: masses differ by at most exp(epsilon)."""
    nats, sensitivity = 0.1, 1.5
    epsilon = rpac.advantage.nats_to_epsilon(nats, 0.0, prior)
    law = DPLaplace(sensitivity, prior=prior).propose(PLANE, nats)
    axis = law.axes[0]
    steps = round(sensitivity / axis.step)
    assert steps * axis.step == pytest.approx(sensitivity, rel=1e-2)
    middle = axis.dense.size // 2
    inside = axis.dense[middle - 5_000 : middle + 5_001]
    ratio = np.log(inside[steps:] / inside[:-steps])
    assert np.abs(ratio).max() == pytest.approx(epsilon, rel=1e-2)
    assert law.center == pytest.approx(PLANE.center)
    assert law.power == pytest.approx(2 * 2 * (sensitivity / epsilon) ** 2, rel=1e-3)


def test_noise_grows_as_the_budget_falls_and_vanishing_delta_costs_more():
    powers = [DPGaussian(1.0).propose(PLANE, nats).power for nats in (0.05, 0.2, 0.6)]
    assert powers[0] > powers[1] > powers[2]
    sigmas = [analytic_gaussian_sigma(1.0, delta) for delta in (1e-3, 1e-6, 1e-9)]
    assert sigmas[0] < sigmas[1] < sigmas[2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DPGaussian(-1.0), "a positive `sensitivity`; got -1.0"),
        (lambda: DPLaplace(0), "a positive `sensitivity`; got 0"),
        (lambda: DPLaplace("wide"), "a finite number for `sensitivity`; got 'wide'"),
        (lambda: DPGaussian(1.0, delta=0.0), "`delta` between 0.0 and 1.0; got 0.0"),
        (
            lambda: DPLaplace(1.0).propose(PLANE, 2.0),
            "above 0; got 2.0 nats, which match inf. At prior 0.5 stay below 0.693 nats",
        ),
        (
            lambda: DPLaplace(1.0, prior=0.1).propose(PLANE, 0.2),
            "above 0; got 0.2 nats, which match 0. At prior 0.1 a blind guess succeeds as often",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
