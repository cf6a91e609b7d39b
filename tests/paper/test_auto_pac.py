"""The paper's statements on the log-determinant and Auto-PAC, as checks."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators.closed_form import auto_pac_variances
from rpac.oracles import quadrature_nats
from rpac.paper.corrections import donsker_varadhan, sliced_wasserstein


def gaussian_law(y, atoms, p, sigma):
    kernel = np.exp(-0.5 * ((y[:, None] - atoms) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    return kernel @ p


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_the_gap_is_a_divergence(sigma):
    """LogDet - MI = KL(law of Y || Gaussian with its moments), by quadrature on both sides."""
    atoms, p = np.array([-2.0, 0.0, 3.0]), np.array([0.2, 0.5, 0.3])
    mean = p @ atoms
    variance = p @ np.square(atoms - mean) + sigma**2
    y = np.linspace(-2 - 12 * sigma, 3 + 12 * sigma, 200_001)
    law = gaussian_law(y, atoms, p, sigma)
    surrogate = -0.5 * (y - mean) ** 2 / variance - 0.5 * math.log(2 * math.pi * variance)
    log_law = np.log(np.maximum(law, 1e-300))
    divergence = float((law * (log_law - surrogate)).sum() * (y[1] - y[0]))
    log_det = 0.5 * math.log(variance / sigma**2)
    assert log_det - quadrature_nats(atoms, p, sigma) == pytest.approx(divergence, abs=1e-7)
    assert divergence > 0


def test_the_gap_closes_for_gaussian_outputs():
    from scipy.special import ndtri

    atoms = ndtri((np.arange(200) + 0.5) / 200)
    p = np.full(200, 1 / 200)
    log_det = 0.5 * math.log1p(float(p @ atoms**2))
    assert log_det - quadrature_nats(atoms, p, 1.0) == pytest.approx(0.0, abs=1e-3)


def test_auto_pac_is_the_optimum_of_its_problem_and_the_only_one():
    """No Gaussian of the same log-determinant has less power; far ones have strictly more."""
    rng = np.random.default_rng(0)
    spectrum = np.array([4.0, 1.0, 0.2])
    best = auto_pac_variances(spectrum, 0.8)
    assert 0.5 * np.log1p(spectrum / best).sum() == pytest.approx(0.8, abs=1e-9)
    for _ in range(200):
        root = np.linalg.cholesky(np.diag(best)) @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
        cov = root @ root.T
        low, high = -20.0, 20.0
        for _ in range(80):
            t = (low + high) / 2
            inside = np.eye(3) + np.diag(spectrum) @ np.linalg.inv(cov * math.exp(t))
            low, high = (t, high) if 0.5 * np.linalg.slogdet(inside)[1] > 0.8 else (low, t)
        assert np.trace(cov) * math.exp(high) > best.sum()


def test_auto_pac_is_not_the_linearised_form():
    """The square-root rule solves sum r / l = 2 beta; it meets the log-determinant from above."""
    spectrum, beta = np.array([4.0, 1.0, 0.2]), 0.8
    linear = np.sqrt(spectrum) * np.sqrt(spectrum).sum() / (2 * beta)
    assert 0.5 * np.log1p(spectrum / linear).sum() < beta
    assert linear.sum() > auto_pac_variances(spectrum, beta).sum()


def test_the_confidence_version_costs_more():
    rng = np.random.default_rng(1)
    outputs = rpac.Outputs(rng.normal(size=(300, 3)) * [3, 1, 0.3])
    for budget in (0.1, 0.5, 2.0):
        exact = rpac.calibrate(outputs, budget, method="auto-pac")
        confident = rpac.calibrate(outputs, budget, method="confident-auto-pac")
        assert confident.power >= exact.power


def test_the_isotropic_branch_may_leak_more_than_auto_pac():
    """Noise in Algorithm 1's fallback is larger in sum, not in every direction.

    One direction carries a fair coin, 99 others rare events of small variance.
    """
    beta, d, rare = 0.1, 100, 0.01
    spectrum = np.full(d, 0.01)
    spectrum[0] = 1.0
    isotropic = spectrum.sum() / (2 * beta)  # v = beta
    anisotropic = auto_pac_variances(spectrum, beta)
    jump = math.sqrt(0.01 / (rare * (1 - rare)))

    def leakage(variances):
        coin = quadrature_nats([-1, 1], [0.5, 0.5], math.sqrt(variances[0]))
        rest = quadrature_nats([0, jump], [1 - rare, rare], math.sqrt(variances[1]))
        return coin, (d - 1) * rest

    fallback = leakage(np.full(d, isotropic))
    exact = leakage(anisotropic)
    assert d * isotropic > anisotropic.sum()
    assert fallback[0] > exact[0]
    assert sum(fallback) <= beta
    assert sum(exact) <= beta


def test_a_larger_budget_never_leaks_less_under_exact_auto_pac():
    """Every eigenvalue of its noise falls as the budget grows, so leakage rises."""
    spectrum = np.array([5.0, 1.0, 0.1])
    noise = [auto_pac_variances(spectrum, beta) for beta in (0.1, 0.3, 1.0, 3.0)]
    for more, less in zip(noise[:-1], noise[1:], strict=True):
        assert (less < more).all()


def test_a_family_in_which_the_log_determinant_orders_leakage_wrongly():
    """Two Gaussians under consideration; the larger budget picks the one that leaks less.

    A fair coin, and a rare event with much variance and little to tell.
    """
    coin = ([-1.0, 1.0], [0.5, 0.5])
    rare = ([0.0, 30.0], [0.995, 0.005])
    spread = [1.0, 900 * 0.005 * 0.995]
    family = [np.array([0.1, 40.0]), np.array([9.0, 0.3])]

    def log_det(v):
        return 0.5 * sum(math.log1p(s / x) for s, x in zip(spread, v, strict=True))

    def truth(v):
        pairs = zip((coin, rare), v, strict=True)
        return sum(quadrature_nats(*law, math.sqrt(x)) for law, x in pairs)

    first, second = sorted(family, key=log_det)
    budgets = [log_det(first), log_det(second)]
    assert budgets[0] < budgets[1]
    picked = [min((v for v in family if log_det(v) <= b + 1e-12), key=np.sum) for b in budgets]
    assert picked[1].sum() < picked[0].sum()
    assert truth(picked[0]) > truth(picked[1])
    gaps = [b - truth(v) for b, v in zip(budgets, picked, strict=True)]
    assert gaps[1] - gaps[0] > budgets[1] - budgets[0]


def test_equal_budgets_do_not_mean_equal_leakage():
    """The same log-determinant on a normal output and on a rare event."""
    sigma = 1 / math.sqrt(math.expm1(2 * 0.5))
    rare = 1e-3
    atoms = np.array([0.0, 1 / math.sqrt(rare * (1 - rare))])
    assert quadrature_nats(atoms, [1 - rare, rare], sigma) < 0.02


def test_corrected_bounds_lie_between_truth_and_log_determinant():
    outputs, noise = rpac.Outputs([-1.0, 1.0]), rpac.GaussianNoise(0.16)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], 0.4)
    for method in (donsker_varadhan, sliced_wasserstein):
        for seed in range(5):
            found = method(outputs, noise, draws=40_000, seed=seed)
            assert truth <= found.bound < found.log_det


def test_the_sliced_constant():
    """A product law: SW_2^2 is W_2^2 / d, so half of d SW_2^2 is exactly Talagrand's bound."""
    d = 3
    shift = 0.4  # N(shift e_1, I) against N(0, I): W_2^2 = shift^2 = 2 KL
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(200_000, d))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    sliced = float(np.mean((shift * theta[:, 0]) ** 2))
    divergence = 0.5 * shift**2
    assert d / 2 * sliced == pytest.approx(divergence, rel=0.02)
    assert 0.5 * sliced == pytest.approx(divergence / d, rel=0.02)
