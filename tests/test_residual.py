"""Residual privacy on finite worlds: every figure against a sum written out by hand."""

import math

import numpy as np
import pytest

import rpac
from rpac import residual
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
    outputs = rpac.simulate(rpac.Subsets(np.arange(6.0), worlds=20), np.sum)
    noise = rpac.LatticeNoise(1.0, np.arange(-3, 4), np.full(7, 1 / 7))
    outputs.kind = "count"
    for unit in range(6):
        found = residual.membership_residual(outputs, noise, unit)
        assert found.intrinsic == pytest.approx(0.0)
        assert found.prior_success == pytest.approx(0.5)
        assert found.advantage <= found.information <= rpac.certify(outputs, noise).bound
    with pytest.raises(rpac.InputError, match="half-samples"):
        residual.membership_residual(outputs, noise, 6)


def test_refusals():
    with pytest.raises(rpac.InputError, match="a divergence among"):
        f_divergence([1.0], [1.0], "renyi")
    with pytest.raises(rpac.InputError, match="an error probability"):
        pac_advantage(1.5, 0.5)
    with pytest.raises(rpac.InputError, match="span their space"):
        residual.maximum_entropy([[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(rpac.InputError, match="positive scales"):
        residual.pulled_back([[0.0]], 0.0, 0.0)
    with pytest.raises(rpac.InputError, match="holds every secret"):
        residual.truncated_uniform([[0.0], [5.0]], 0.0, 4.0)
    with pytest.raises(rpac.InputError, match="holds every secret"):
        residual.truncated_uniform([[0.0], [5.0]], 0.0, np.inf)
    nowhere = residual.SecretReference("one world", np.array([1.0, 0.0]))
    with pytest.raises(rpac.InputError, match="mass on every world"):
        residual.intrinsic_privacy([0.5, 0.5], nowhere)
    with pytest.raises(rpac.InputError, match="in one direction"):
        residual.joint_law(rpac.Outputs(np.eye(3)), rpac.GaussianNoise(np.eye(3)))
