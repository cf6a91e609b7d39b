"""A calibrator that cheats is caught by the certificate; trying again does not help it."""

import numpy as np
import pytest
from scipy.optimize import brentq

import rpac
from rpac.oracles import quadrature_nats, sign_cube


def needed_sigma(dim, nats):
    """The isotropic noise at which the sign cube leaks exactly `nats`."""
    return brentq(lambda s: dim * quadrature_nats([-1, 1], [0.5, 0.5], s) - nats, 0.2, 40)


def rotation(dim, rng):
    return np.linalg.qr(rng.normal(size=(dim, dim)))[0]


@pytest.mark.parametrize("seed", range(50))
def test_half_the_needed_covariance_is_refused(seed):
    rng = np.random.default_rng(seed)
    dim, budget = int(rng.integers(1, 5)), float(rng.choice([0.1, 0.5, 1.0]))
    budget = min(budget, 0.6 * dim * np.log(2))
    sigma = needed_sigma(dim, budget)
    turn = rotation(dim, rng)
    outputs = rpac.Outputs(sign_cube(dim, 1.0).outputs.values @ turn)
    cheat = rpac.GaussianNoise(0.5 * sigma**2 * np.eye(dim))
    for law in (cheat, rpac.tabulate(outputs, cheat)):
        with pytest.raises(rpac.BudgetExceeded, match="Raise the noise or the budget") as caught:
            rpac.certify(outputs, law, budget=budget, draws=20_000)
        assert caught.value.bound > budget == caught.value.budget
    honest = rpac.GaussianNoise(1.1 * sigma**2 * np.eye(dim))
    rpac.certify(outputs, honest, budget=budget, draws=400_000)


def test_a_cheating_calibrator_cannot_make_privatize_release():
    class Half(rpac.Calibrator):
        def propose(self, outputs, nats):
            noise = rpac.AutoPAC().propose(outputs, nats)
            return rpac.tabulate(outputs, noise.scaled(0.5))

    people = rpac.Subsets(np.random.default_rng(0).normal(size=(60, 2)), worlds=64)
    with pytest.raises(rpac.BudgetExceeded):
        rpac.privatize(lambda x: x.mean(axis=0), people, 0.1, method=Half())


def test_three_hundred_proposals_of_equal_leakage_yield_none_below_it():
    problem = sign_cube(3, 1.2)
    bounds = []
    for k in range(1, 301):
        certificate = rpac.certify(problem.outputs, problem.noise, 0.999, draws=3_000)
        assert certificate.attempt == k
        bounds.append(certificate.bounds["mixture"])
    assert min(bounds) >= problem.nats
    assert np.mean(bounds[-50:]) > np.mean(bounds[:50])  # later attempts get less of the error


def test_the_errors_of_all_attempts_sum_to_the_one_stated():
    shares = [1 / (k * (k + 1)) for k in range(1, 100_000)]
    assert sum(shares) < 1


def test_proved_bounds_cost_no_attempt():
    problem = sign_cube(2, 1.0)
    for _ in range(3):
        certificate = rpac.certify(problem.outputs, problem.noise, draws=0)
        assert certificate.grade == "proved"
        assert certificate.density_quantiles == {}
        assert "not drawn" in str(certificate)
    assert rpac.certify(problem.outputs, problem.noise, draws=1_000).attempt == 1
