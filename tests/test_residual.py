"""Residual privacy on finite worlds: every figure against a sum written out by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import rpac
from rpac import residual
from rpac.oracles import quadrature_nats
from rpac.residual import f_divergence, pac_advantage, residual_privacy, uniform_pool

NAMES = ["kl", "total-variation", "chi-square", "hellinger"]


def by_hand(p, q, name):
    f = {
        "kl": lambda a, b: a * math.log(a / b) if a else 0.0,
        "total-variation": lambda a, b: abs(a - b) / 2,
        "chi-square": lambda a, b: (a - b) ** 2 / b,
        "hellinger": lambda a, b: (math.sqrt(a) - math.sqrt(b)) ** 2,
    }[name]
    return sum(f(a, b) for a, b in zip(p, q, strict=True) if b)


@pytest.mark.parametrize("name", NAMES)
def test_divergences_against_sums_by_hand(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        p[2] = 0.0
        p /= p.sum()
        assert f_divergence(p, q, name) == pytest.approx(by_hand(p, q, name), abs=1e-12)
        assert f_divergence(p, p, name) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_mass_outside_the_reference_is_infinite(name):
    assert f_divergence([0.5, 0.5], [1.0, 0.0], name) == math.inf
    assert math.isfinite(f_divergence([1.0, 0.0], [0.5, 0.5], name))


def test_references_of_the_secret():
    points = np.array([[-1.0, 0.0], [0.0, 1.0], [2.0, 0.5], [0.5, -2.0]])
    p = np.array([0.1, 0.2, 0.3, 0.4])
    gaussian = residual.maximum_entropy(points, p)
    mean = p @ points
    cov = (points - mean).T @ np.diag(p) @ (points - mean)
    log_r = [-0.5 * (x - mean) @ np.linalg.solve(cov, x - mean) for x in points]
    np.testing.assert_allclose(gaussian.masses, np.exp(log_r) / np.exp(log_r).sum())
    assert gaussian.differential_entropy == pytest.approx(
        0.5 * math.log((2 * math.pi * math.e) ** 2 * np.linalg.det(cov))
    )
    logistic = residual.pulled_back(points, 0.0, 2.0)
    sigmoid = 1 / (1 + np.exp(-points / 2))
    density = (sigmoid * (1 - sigmoid)).prod(axis=1)
    np.testing.assert_allclose(logistic.masses, density / density.sum())
    assert logistic.differential_entropy == pytest.approx(2 * (math.log(2.0) + 2))
    box = residual.truncated_uniform(points, -3, [3, 4])
    np.testing.assert_allclose(box.masses, 0.25)
    assert box.differential_entropy == pytest.approx(math.log(6 * 7))


def test_residual_splits_intrinsic_privacy_and_bounds_every_attack():
    outputs = rpac.Outputs(np.array([0, 1, 4]), [0.5, 0.3, 0.2])
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
    joint = residual.joint_law(outputs, noise)
    assert joint.sum() == pytest.approx(1.0)
    for name in NAMES:
        found = residual_privacy(outputs, noise, name=name)
        assert found.intrinsic == pytest.approx(found.disadvantage + found.advantage)
        assert found.intrinsic == pytest.approx(-by_hand(outputs.weights, [1 / 3] * 3, name))
        assert found.success == pytest.approx(joint.max(axis=0).sum())
        assert found.advantage <= found.information + 1e-12
        assert found.bound <= found.disadvantage + 1e-12
    kl = residual_privacy(outputs, noise)
    assert kl.information == pytest.approx(rpac.certify(outputs, noise).bound, abs=1e-9)
    remains = residual.conditional_entropy(joint)
    assert kl.bound == pytest.approx(remains - uniform_pool(3).entropy)


def test_labels_have_residual_privacy_too():
    outputs = rpac.Outputs(["a", "b", "c", "d"])
    found = residual_privacy(outputs, rpac.LabelChannel.randomized_response(4, 0.7))
    assert found.success == pytest.approx(0.7)
    assert found.intrinsic == pytest.approx(0.0)
    assert found.disadvantage == pytest.approx(-rpac.advantage.success_to_nats(0.7, 0.25))


def test_membership_version():
    outputs = rpac.simulate(rpac.Subsets(np.arange(6), worlds=20), np.sum)
    noise = rpac.LatticeNoise(1.0, np.arange(-3, 4), np.full(7, 1 / 7))
    for unit in range(6):
        found = residual.membership_residual(outputs, noise, unit)
        assert found.intrinsic == pytest.approx(0.0)
        assert found.prior_success == pytest.approx(0.5)
        assert found.advantage <= found.information <= rpac.certify(outputs, noise).bound
    with pytest.raises(rpac.InputError, match="half-samples and one of their units; got 6"):
        residual.membership_residual(outputs, noise, 6)


def test_refusals():
    with pytest.raises(rpac.InputError, match="a divergence among .*; got 'renyi'"):
        f_divergence([1.0], [1.0], "renyi")
    with pytest.raises(rpac.InputError, match="an error probability; got 1.5"):
        pac_advantage(1.5, 0.5)
    with pytest.raises(rpac.InputError, match="singular covariance of 2 columns"):
        residual.maximum_entropy([[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(rpac.InputError, match="Expected positive scales; got 0.0"):
        residual.pulled_back([[0.0]], 0.0, 0.0)
    with pytest.raises(rpac.InputError, match="every secret; got low=0.0 and high=4.0"):
        residual.truncated_uniform([[0.0], [5.0]], 0.0, 4.0)
    with pytest.raises(rpac.InputError, match="holds every secret"):
        residual.truncated_uniform([[0.0], [5.0]], 0.0, np.inf)
    nowhere = residual.SecretReference("one world", np.array([1.0, 0.0]))
    with pytest.raises(rpac.InputError, match="world; got an infinite divergence from 'one world'"):
        residual.intrinsic_privacy([0.5, 0.5], nowhere)
    with pytest.raises(rpac.InputError, match="outputs in one direction; got 3 directions"):
        residual.joint_law(rpac.Outputs(np.eye(3)), rpac.GaussianNoise(np.eye(3)))


def test_the_joint_law_of_a_lattice_by_hand():
    """Worlds 0, 1 and 9: the gap is shut, which moves cells and changes no mass."""
    outputs = rpac.Outputs([0, 1, 9], [0.5, 0.3, 0.2])
    found = residual.joint_law(outputs, rpac.LatticeNoise(1.0, [0, 1], [0.25, 0.75]))
    assert found.sum(axis=1) == pytest.approx(outputs.weights)
    assert sorted(found[found > 0]) == pytest.approx(
        sorted(p * q for p in (0.5, 0.3, 0.2) for q in (0.25, 0.75))
    )
    shared = (found > 0).sum(axis=0)
    assert sorted(shared[shared > 0]) == [1, 1, 1, 1, 2]  # only the release 1 has two causes


def test_the_joint_law_of_labels_by_hand():
    outputs = rpac.Outputs(["b", "a", "b"], [0.2, 0.5, 0.3])
    channel = rpac.LabelChannel([[0.9, 0.1], [0.4, 0.6]])
    expected = [[0.2 * 0.4, 0.2 * 0.6], [0.5 * 0.9, 0.5 * 0.1], [0.3 * 0.4, 0.3 * 0.6]]
    assert residual.joint_law(outputs, channel) == pytest.approx(np.array(expected))
    bare = residual.joint_law(outputs, rpac.LabelChannel(np.eye(2)))
    assert bare == pytest.approx(np.array([[0.0, 0.2], [0.5, 0.0], [0.0, 0.3]]))


def test_gaussian_noise_is_tabulated_first():
    outputs = rpac.Outputs([-1.0, 1.0])
    noise = rpac.GaussianNoise(1.0)
    found = residual_privacy(outputs, noise)
    assert found.success == pytest.approx(norm.cdf(1.0), abs=1e-3)
    assert found.information == pytest.approx(quadrature_nats([-1, 1], [0.5, 0.5], 1.0), abs=1e-4)


def test_a_bare_release_takes_all_and_deafening_noise_takes_nothing():
    outputs = rpac.Outputs([0, 1, 2, 3])
    bare = residual_privacy(outputs, rpac.LatticeNoise(1.0, [0], [1.0]))
    assert (bare.success, bare.prior_success) == (pytest.approx(1.0), 0.25)
    assert bare.advantage == pytest.approx(math.log(4))
    assert bare.bound == pytest.approx(-math.log(4))
    wide = rpac.LatticeNoise(1.0, np.arange(4_000), np.full(4_000, 1 / 4_000))
    deaf = residual_privacy(outputs, wide)
    assert deaf.advantage == pytest.approx(0.0, abs=1e-5)
    assert deaf.information == pytest.approx(0.0, abs=2e-3)


def test_a_sharper_reference_leaves_more_to_lose():
    outputs = rpac.Outputs([0, 1, 4], [0.5, 0.3, 0.2])
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
    own = residual.SecretReference("the prior itself", outputs.weights)
    matched = residual_privacy(outputs, noise, own)
    assert matched.intrinsic == pytest.approx(0.0)
    assert matched.disadvantage == pytest.approx(-matched.advantage)
    assert residual_privacy(outputs, noise).intrinsic < 0


@pytest.mark.parametrize("name", NAMES)
def test_information_is_at_least_the_advantage_of_every_guess(name):
    """Data processing, for every rule that names a world at each of four releases."""
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.ones(8)).reshape(2, 4)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    whole = f_divergence(joint.ravel(), product.ravel(), name)
    for rule in itertools.product(range(2), repeat=4):
        right = sum(joint[w, y] for y, w in enumerate(rule))
        blind = sum(product[w, y] for y, w in enumerate(rule))
        assert f_divergence([right, 1 - right], [blind, 1 - blind], name) <= whole + 1e-12


def test_divergences_are_mixed_convexly():
    rng = np.random.default_rng(2)
    for name in NAMES:
        p, q, r, s = (rng.dirichlet(np.ones(5)) for _ in range(4))
        mixed = f_divergence((p + r) / 2, (q + s) / 2, name)
        assert mixed <= (f_divergence(p, q, name) + f_divergence(r, s, name)) / 2 + 1e-12


def test_pac_advantage_by_hand():
    assert pac_advantage(0.25, 0.5) == pytest.approx(by_hand([0.25, 0.75], [0.5, 0.5], "kl"))
    assert pac_advantage(0.5, 0.5) == 0.0
    assert pac_advantage(0.0, 0.5, "total-variation") == pytest.approx(0.5)
    with pytest.raises(rpac.InputError, match="`prior_error` between 0.0 and 1.0; got 1.0"):
        pac_advantage(0.5, 1.0)


def test_entropies_of_a_table_and_of_a_reference():
    joint = np.array([[0.25, 0.25], [0.5, 0.0]])
    by_release = 0.75 * (-(1 / 3) * math.log(1 / 3) - (2 / 3) * math.log(2 / 3))
    assert residual.conditional_entropy(joint) == pytest.approx(by_release)
    assert uniform_pool(5).entropy == pytest.approx(math.log(5))
    assert residual.SecretReference("one", np.array([1.0, 0.0])).entropy == 0.0
    reference = residual.SecretReference("skewed", np.array([0.25, 0.75]))
    cross = -0.5 * math.log(0.25) - 0.5 * math.log(0.75)
    assert residual.cross_entropy([0.5, 0.5], reference) == pytest.approx(cross)


def test_membership_residual_by_its_two_by_cells_table():
    outputs = rpac.simulate(rpac.Subsets(np.array([0, 1, 5, 2]), worlds=6), np.sum)
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
    joint = residual.joint_law(outputs, noise)
    for unit in range(4):
        inside = outputs.masks[:, unit]
        rows = joint[inside].sum(axis=0), joint[~inside].sum(axis=0)
        found = residual.membership_residual(outputs, noise, unit)
        assert found.success == pytest.approx(np.maximum(*rows).sum(), abs=1e-9)
        assert found.advantage == pytest.approx(pac_advantage(1 - found.success, 0.5))
    with pytest.raises(rpac.InputError, match="half-samples and one of their units; got 0"):
        residual.membership_residual(rpac.Outputs([0, 1]), noise, 0)
