"""Exact Auto-PAC: meets its log-determinant, and nothing Gaussian does better by that bound."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import rpac
from rpac.calibrators.closed_form import (
    auto_pac_numbers,
    auto_pac_variances,
    orthonormal,
    principal,
)

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
    changed = np.concatenate([outputs.values[:1_000], np.full((1_000, 1), 4.0)])
    twin = rpac.Outputs(changed, clip=outputs.clip)
    assert rpac.calibrate(twin, 0.3).power == noise.power
    assert rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.3).bound <= 0.3


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


def log_det(spectrum, variances):
    return 0.5 * np.log1p(spectrum / variances).sum()


@pytest.mark.parametrize("nats", [0.05, 0.7, 3.0])
def test_auto_pac_is_what_a_general_optimiser_finds(nats):
    """Least sum of variances at a log-determinant, by SLSQP on their logarithms."""
    spectrum = np.array([6.0, 2.0, 0.5, 0.05])
    rule = {"type": "eq", "fun": lambda t: log_det(spectrum, np.exp(t)) - nats}
    start = np.log(spectrum / math.expm1(2 * nats / 4))
    found = minimize(lambda t: np.exp(t).sum(), start, constraints=rule, options={"ftol": 1e-14})
    assert found.success
    ours = auto_pac_variances(spectrum, nats)
    assert ours.sum() <= found.fun * (1 + 1e-9)
    assert ours == pytest.approx(np.exp(found.x), rel=1e-3)


def test_auto_pac_satisfies_its_optimality_conditions():
    """d cost / d l_i = -mu d leak / d l_i: l (l + r) / r is the same in every direction."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        spectrum = np.exp(rng.normal(scale=3, size=6))
        noise = auto_pac_variances(spectrum, float(np.exp(rng.normal())))
        multiplier = noise * (noise + spectrum) / spectrum
        assert multiplier == pytest.approx(np.full(6, multiplier[0]), rel=1e-9)


@pytest.mark.parametrize("nats", [1e-9, 1e-3, 1.0, 50.0])
def test_one_direction_is_a_closed_form(nats):
    assert auto_pac_variances(np.array([3.0]), nats) == pytest.approx(
        [3.0 / math.expm1(2 * nats)], rel=1e-9
    )


def test_units_do_not_matter_and_numbers_are_the_same_as_arrays():
    spectrum = np.array([5.0, 1.0, 1e-6])
    ours = auto_pac_variances(spectrum, 0.4)
    assert auto_pac_variances(1e200 * spectrum, 0.4) == pytest.approx(1e200 * ours)
    assert auto_pac_variances(1e-200 * spectrum, 0.4) == pytest.approx(1e-200 * ours)
    assert auto_pac_numbers([5.0, 1.0, 1e-6], 0.4) == ours.tolist()
    assert (np.sort(ours)[::-1] == ours).all()  # more noise where outputs differ more


@pytest.mark.parametrize("shape", [(30, 4), (5, 100)])
def test_principal_directions_are_eigenvectors(shape):
    """By singular vectors, and through the Gram matrix where there are few worlds."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=shape)
    p = rng.dirichlet(np.ones(shape[0]))
    basis, variances = principal(rpac.Outputs(values, p))
    cov = np.cov(values.T, aweights=p, bias=True)
    top = np.sort(np.linalg.eigvalsh(cov))[::-1][: len(variances)]
    assert len(variances) == min(shape[1], shape[0] - 1)
    assert np.sort(variances)[::-1] == pytest.approx(top, rel=1e-8)
    assert basis.T @ basis == pytest.approx(np.eye(len(variances)), abs=1e-9)
    assert basis.T @ cov @ basis == pytest.approx(np.diag(variances), abs=1e-9 * top[0])


@pytest.mark.parametrize("nats", [0.1, 1.0])
def test_proportional_and_isotropic_noise_spend_the_log_determinant(nats):
    _, spectrum = principal(REALS)
    proportional = rpac.Proportional().propose(REALS, nats)
    expected = np.cov(REALS.values.T, bias=True) / math.expm1(2 * nats / 3)
    assert proportional.cov == pytest.approx(expected, rel=2e-3, abs=1e-3 * np.trace(expected))
    isotropic = rpac.Isotropic().propose(REALS, nats)
    assert isotropic.cov == pytest.approx(
        isotropic.power / 3 * np.eye(3), abs=1e-9 * isotropic.power
    )
    assert log_det(spectrum, isotropic.power / 3) == pytest.approx(nats, rel=2e-3)
    least = rpac.AutoPAC().propose(REALS, nats).power
    assert least <= min(proportional.power, isotropic.power) * (1 + 1e-6)


def test_efficient_pac_is_the_square_root_rule():
    """e_i = sqrt(s_i) sum_j sqrt(s_j) / (2 nats)."""
    _, s = principal(REALS)
    found = rpac.EfficientPAC().propose(REALS, 0.5)
    expected = np.sqrt(s) * np.sqrt(s).sum() / (2 * 0.5)
    assert np.sort(found.variances) == pytest.approx(np.sort(expected), rel=1e-6)


def test_algorithm_1_adds_to_the_eigenvalues_or_ignores_them():
    """v and c as printed: roots of s + 10 c v / beta', or their sum over 2 v for all."""
    _, s = principal(REALS)
    v, c = 0.5 * 0.4, 1e-8 * s.sum()
    roots = np.sqrt(s + 10 * c * v / (0.4 - v))
    apart = rpac.ConfidentAutoPAC(v=0.5, c=1e-8).propose(REALS, 0.4)
    assert np.sort(apart.variances) == pytest.approx(np.sort(roots * roots.sum() / (2 * v)))
    c = 0.5 * s.sum()
    alike = rpac.ConfidentAutoPAC(v=0.5, c=0.5).propose(REALS, 0.4)
    assert alike.variances == pytest.approx(np.full(3, (s.sum() + 3 * c) / (2 * v)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: principal(rpac.Outputs(["a", "b"])),
            r"numeric outputs; got Outputs\(worlds=2, dim=1, kind='label'.*\"equilibrium",
        ),
        (
            lambda: principal(rpac.Outputs([[1.0, 2.0]] * 3)),
            "outputs that differ between worlds; got the same output in all 3. Publish it",
        ),
        (
            lambda: rpac.EfficientPAC(basis=np.eye(2)).propose(REALS, 0.5),
            r"orthonormal columns of length 3; got \[\[1.0, 0.0\].* of shape \(2, 2\)",
        ),
        (
            lambda: orthonormal(np.ones((3, 3)), 3),
            r"orthonormal columns of length 3; got \[\[1.0, 1.0, 1.0\]",
        ),
        (lambda: orthonormal([1.0, 0.0], 2), r"`basis` with 2 axes.*; got shape \(2,\)"),
        (lambda: rpac.ConfidentAutoPAC(v=2.0), r"0 < v < 1 and c >= 0; got \(2.0, 0.0001\)"),
        (
            lambda: rpac.EfficientPAC(tau="small").propose(REALS, 0.5),
            "a finite number for `tau`; got 'small'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected {message}"):
        call()
