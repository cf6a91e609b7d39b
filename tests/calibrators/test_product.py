"""Independent noise on the axes of a basis: bases, bounds, and budgets met."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators.product import (
    _blurred,
    expected_joint,
    expected_table_bound,
    independent_rotation,
    meet_table,
    product_equilibrium,
    public_basis,
)
from rpac.calibrators.utility import SquaredError, Weighted
from rpac.oracles import quadrature_nats

RNG = np.random.default_rng(3)
COINS = np.array([[x, 3.0 * y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])


def turned(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def grid(outputs, sigma, step=0.02):
    """Independent discrete Gaussians on the coordinates."""
    axis = rpac.LatticeNoise.gaussian(step, sigma / step)
    return rpac.GridNoise(np.eye(outputs.dim), outputs.center, (axis,) * outputs.dim)


def test_product_noise_is_certified_jointly():
    rng = np.random.default_rng(2)
    corners = rng.choice([-1.0, 1.0], size=(64, 3)) + 0.05 * rng.normal(size=(64, 3))
    outputs = rpac.Outputs(corners)
    closed = rpac.calibrate(outputs, 1.0, method="auto-pac")
    for basis in ("principal", "independent", np.eye(3)):
        noise = rpac.calibrate(outputs, 1.0, rpac.Equilibrium(family="product", basis=basis))
        certificate = rpac.certify(outputs, noise, budget=1.0)
        assert set(certificate.bounds) == {"entropy", "exact sum", "mixture"}
        assert noise.power < closed.power


def test_joint_certificate_encloses_a_known_answer():
    coin = rpac.oracles.coin_under_uniform(3)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (coin.noise, coin.noise))
    same = rpac.Outputs([[0, 0], [1, 1]])  # one coin seen twice: less than the sum
    certificate = rpac.certify(same, law, draws=400_000)
    truth = np.log(2) * (1 - (2 / 3) ** 2)
    assert truth <= certificate.bound <= 1.02 * truth
    assert certificate.bounds["exact sum"] == pytest.approx(2 * coin.nats)


def test_bases_by_name_and_of_ones_own():
    outputs = rpac.Outputs(RNG.normal(size=(40, 3)) * [5.0, 2.0, 1.0])
    principal = public_basis(outputs, "principal")
    along = (outputs.values - outputs.center) @ principal
    assert np.cov(along.T, bias=True) == pytest.approx(np.diag(along.var(axis=0)), abs=1e-9)
    own = np.linalg.qr(RNG.normal(size=(3, 2)))[0]
    np.testing.assert_array_equal(public_basis(outputs, own), own)
    independent = public_basis(outputs, "independent")
    assert independent.T @ independent == pytest.approx(np.eye(3), abs=1e-9)


@pytest.mark.parametrize("angle", [0.3, 0.7, -0.5])
def test_the_directions_of_independent_coins_are_found(angle):
    points = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]) @ turned(angle)
    turn = independent_rotation(points, np.full(4, 0.25))
    assert turn.T @ turn == pytest.approx(np.eye(2), abs=1e-9)
    found = np.abs(points @ turn)
    assert found == pytest.approx(np.ones((4, 2)), abs=0.06)  # two values on each axis again


def test_what_a_joint_certificate_will_say_lies_above_the_truth_and_near():
    """Two independent coins under independent noise: leakages add, by quadrature."""
    outputs = rpac.Outputs(COINS)
    law = grid(outputs, 1.5)
    truth = sum(quadrature_nats([-a, a], [0.5, 0.5], 1.5) for a in (1.0, 3.0))
    assert truth < expected_joint(outputs, law, 0) < 1.02 * truth
    assert expected_table_bound(outputs, law, 0) <= expected_joint(outputs, law, 0)
    one = rpac.Outputs([-1.0, 1.0])
    bound = expected_table_bound(one, grid(one, 0.8), 0)
    assert bound == pytest.approx(quadrature_nats([-1, 1], [0.5, 0.5], 0.8), abs=1e-3)


@pytest.mark.parametrize("nats", [0.3, 0.9])
def test_tables_are_thinned_or_blurred_until_they_meet_the_budget(nats):
    outputs = rpac.Outputs([-1.0, 1.0, 5.0])
    found = meet_table(outputs, grid(outputs, 2.0), nats, 0)
    bound = expected_table_bound(outputs, found, 0)
    assert bound <= nats
    assert bound == pytest.approx(nats, rel=2e-3)


def test_counts_are_never_taken_off_their_lattice():
    counts = rpac.Outputs([0, 1, 6])
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise.gaussian(1.0, 1.0),))
    found = meet_table(counts, law, 0.2, 0)
    assert found.steps.tolist() == [1.0]
    assert expected_table_bound(counts, found, 0) <= 0.2
    assert found.power > law.power


def test_blurring_adds_its_share_of_the_variance():
    axis = rpac.LatticeNoise(0.5, [-3, 0, 4], [0.25, 0.5, 0.25])
    found = _blurred(axis, 2.0)
    assert found.step == 0.5
    assert float(found.cov[0, 0]) == pytest.approx(3.0 * float(axis.cov[0, 0]), rel=1e-6)
    assert _blurred(axis, 0.0) is axis


def test_one_multiplier_allocates_the_budget_over_the_axes():
    """Coins of different size: least total noise spends more on the larger one."""
    outputs = rpac.Outputs(COINS)
    law = product_equilibrium(outputs, 0.8, np.eye(2), SquaredError(), 0)
    assert expected_table_bound(outputs, law, 0) == pytest.approx(0.8, rel=5e-3)
    closed = rpac.AutoPAC().propose(outputs, 0.8)
    assert law.power < closed.power
    cheap = product_equilibrium(outputs, 0.8, np.eye(2), Weighted(np.diag([1.0, 100.0])), 0)
    assert cheap.axis_variances[1] < law.axis_variances[1]
    assert cheap.axis_variances[0] > law.axis_variances[0]


def test_refusals():
    outputs = rpac.Outputs(np.eye(3))
    with pytest.raises(rpac.InputError, match="\"independent\" or a matrix; got 'best'"):
        public_basis(outputs, "best")
    with pytest.raises(rpac.InputError, match=r"columns of length 3; got .* of shape \(2, 2\)"):
        public_basis(outputs, np.eye(2))
    with pytest.raises(rpac.InputError, match=r"length 3; got \[\[2.0, 0.0, 0.0\]"):
        public_basis(outputs, 2 * np.eye(3))
