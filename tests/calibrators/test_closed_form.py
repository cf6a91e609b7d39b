"""Exact Auto-PAC: meets its log-determinant, and nothing Gaussian does better by that bound."""

import numpy as np
import pytest

import rpac
from rpac.calibrators.closed_form import auto_pac_variances, principal

REALS = rpac.Outputs(np.random.default_rng(1).normal(size=(80, 3)) * [3, 1, 0.5])


@pytest.mark.parametrize("nats", [1e-4, 0.1, 1.0, 20.0])
def test_auto_pac_meets_its_log_determinant(nats):
    rng = np.random.default_rng(0)
    for dim in (1, 3, 40):
        spectrum = np.exp(rng.normal(scale=3, size=dim))
        noise = auto_pac_variances(spectrum, nats)
        found = 0.5 * np.log1p(spectrum / noise).sum()
        assert found <= nats
        assert found == pytest.approx(nats, rel=1e-10)


def test_auto_pac_is_optimal_among_random_allocations():
    rng = np.random.default_rng(1)
    spectrum = np.array([5.0, 1.0, 0.1])
    best = auto_pac_variances(spectrum, 0.7).sum()
    for _ in range(500):
        shape = np.exp(rng.normal(size=3))
        low, high = 1e-6, 1e6
        for _ in range(80):
            middle = np.sqrt(low * high)
            over = 0.5 * np.log1p(spectrum / (middle * shape)).sum() > 0.7
            low, high = (middle, high) if over else (low, middle)
        assert best <= (high * shape).sum() * (1 + 1e-9)


def test_principal_directions_leave_constants_out():
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.normal(size=30), np.full(30, 7.0), rng.normal(size=30)])
    basis, variances = principal(rpac.Outputs(values))
    assert basis.shape == (3, 2)
    assert variances.sum() == pytest.approx(values.var(axis=0).sum())
    noise = rpac.calibrate(rpac.Outputs(values), 0.3)
    assert np.abs(noise.cov[1]).max() < 1e-9
    release_law = rpac.tabulate(rpac.Outputs(values), noise)
    assert rpac.certify(rpac.Outputs(values), release_law).bound <= 0.3


def test_more_coordinates_than_worlds():
    outputs = rpac.Outputs(np.random.default_rng(3).normal(size=(8, 500)))
    noise = rpac.calibrate(outputs, 0.5)
    assert noise.variances.size == 7
    assert rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.5).bound <= 0.5


@pytest.mark.parametrize("budget", [0.02, 0.5, 2.0])
def test_noise_meets_the_budget_after_tabulating(budget):
    rng = np.random.default_rng(4)
    for outputs in (
        rpac.Outputs(rng.normal(size=(64, 3))),
        rpac.Outputs(rng.integers(0, 9, size=64)),
        rpac.Outputs(rng.integers(0, 2, size=64), kind="real"),
    ):
        if budget >= 0.69 and len(np.unique(outputs.values)) == 2:
            continue  # above the entropy of a bit
        noise = rpac.calibrate(outputs, budget)
        certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=budget)
        assert certificate.bound <= budget


def test_draws_are_calibrated_on_the_planning_half_alone():
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=2_000)
    outputs = rpac.simulate(source, lambda x: x)
    noise = rpac.calibrate(outputs, 0.3)
    twin = rpac.simulate(source, lambda x: x)
    twin.values[1_000:] = 4.0
    assert rpac.calibrate(twin, 0.3).power == noise.power
    assert rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.3).bound <= 0.3


def test_refusals():
    outputs = rpac.Outputs([0.0, 1.0])
    with pytest.raises(rpac.InputError, match=r"Expected a method among \['auto-pac'.*\]; got 'x'"):
        rpac.calibrate(outputs, 0.1, method="x")
    with pytest.raises(rpac.InputError, match="Expected a method's name or a Calibrator; got 3"):
        rpac.calibrate(outputs, 0.1, method=3)
    with pytest.raises(rpac.InputError, match="Expected outputs that differ between worlds; got"):
        rpac.calibrate(rpac.Outputs([[1.0, 2.0]] * 3), 0.1)


def test_auto_pac_is_below_efficient_pac_is_below_algorithm_1_on_random_spectra():
    rng = np.random.default_rng(3)
    for _ in range(200):
        dim = int(rng.integers(1, 9))
        values = rng.normal(size=(60, dim)) * np.exp(rng.normal(size=dim))
        outputs, nats = rpac.Outputs(values), float(np.exp(rng.uniform(-4, 1)))
        spectrum = np.linalg.eigvalsh(np.atleast_2d(np.cov(values.T, bias=True)))
        auto = auto_pac_variances(spectrum, nats)
        assert 0.5 * np.log1p(spectrum / auto).sum() == pytest.approx(nats, rel=1e-10)
        efficient = rpac.EfficientPAC().propose(outputs, nats).power
        v = float(rng.uniform(0.2, 0.99))
        confident = rpac.ConfidentAutoPAC(v=v, c=10 ** rng.uniform(-8, -2)).propose(outputs, nats)
        assert auto.sum() <= efficient * (1 + 1e-9)
        assert efficient <= confident.power * (1 + 1e-9)


def test_efficient_pac_in_any_basis_and_with_its_stopping_rule():
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    own = rpac.EfficientPAC().propose(REALS, 0.5).power
    other = rpac.EfficientPAC(basis=turn).propose(REALS, 0.5)
    assert other.power > own
    stopped = rpac.EfficientPAC(tau=1e-4).propose(REALS, 0.5)
    assert stopped.power == pytest.approx(own, rel=0.3)
    rpac.certify(REALS, rpac.tabulate(REALS, stopped), budget=0.5)


def test_confident_auto_pac_has_two_branches():
    apart = rpac.Outputs(np.diag([9.0, 3.0, 1.0]) @ np.random.default_rng(5).normal(size=(3, 40)))
    assert rpac.ConfidentAutoPAC(c=1e-12).propose(REALS, 0.5).power < (
        rpac.ConfidentAutoPAC(c=0.1).propose(REALS, 0.5).power
    )
    iso = rpac.ConfidentAutoPAC(c=0.5, radius=100.0).propose(apart, 0.5).variances
    assert np.ptp(iso) < 1e-9 * iso[0]
    for bad in ({"v": 1.0}, {"c": -1.0}):
        with pytest.raises(rpac.InputError, match="Expected 0 < v < 1 and c >= 0"):
            rpac.ConfidentAutoPAC(**bad)
