"""Ideal Gaussian noise, on all directions or on some."""

import numpy as np
import pytest
from scipy.stats import kstest

import rpac


def test_right_scale_accepted_and_wrong_ones_rejected():
    draws = rpac.GaussianNoise(4.0).sample(100_000, np.random.default_rng(2))[:, 0]
    assert kstest(draws / 2, "norm").pvalue > 1e-6
    for wrong in (2 / 3, 3 / 2, 0.95, 1.05):
        assert kstest(draws / (2 * wrong), "norm").pvalue < 1e-4


def test_gaussian_noise_on_a_subspace():
    noise = rpac.GaussianNoise.on([[0.6], [0.8]], [4.0])
    assert noise.cov == pytest.approx(4 * np.outer([0.6, 0.8], [0.6, 0.8]))
    with pytest.raises(rpac.InputError, match="Expected noise in every direction in which outputs"):
        noise.log_density(np.array([[1.0, 0.0]]))
    outputs = rpac.Outputs([[0.6, 0.8], [1.2, 1.6], [-0.6, -0.8]])
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
    assert certificate.grade == "proved"
    assert certificate.bound == pytest.approx(
        rpac.oracles.quadrature_nats([1, 2, -1], [1 / 3] * 3, 2.0), rel=1e-3
    )
    bent = rpac.Outputs([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(rpac.InputError, match="a direction without noise"):
        rpac.tabulate(bent, noise)
    kept = rpac.GaussianNoise.on([[0.6], [0.8]], [4.0], drop=True)
    assert rpac.certify(bent, kept, draws=0).bound < np.log(2)
    cut = rpac.tabulate(bent, kept)
    assert cut.decode(cut.encode(bent.values)) @ [0.8, -0.6] == pytest.approx(
        [bent.center @ [0.8, -0.6]] * 2
    )


def test_density_and_power_are_the_closed_forms():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    noise = rpac.GaussianNoise(cov)
    points = np.random.default_rng(3).normal(size=(50, 2))
    inverse = np.linalg.inv(cov)
    expected = -0.5 * np.einsum("ni,ij,nj->n", points, inverse, points)
    expected -= 0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]
    assert noise.log_density(points) == pytest.approx(expected)
    assert noise.power == pytest.approx(3.0)
    assert noise.scaled(0.25).cov == pytest.approx(cov / 4)
    assert noise.power_in(np.array([10.0, 1.0])) == pytest.approx(201.0)


def test_diagonal_covariances_keep_their_coordinates():
    noise = rpac.GaussianNoise(np.diag([4.0, 1.0, 9.0]))
    assert (noise.basis == np.eye(3)).all()
    assert noise.variances.tolist() == [4.0, 1.0, 9.0]


def test_what_is_applied_for_study_is_the_output_plus_noise():
    noise = rpac.GaussianNoise(np.diag([4.0, 1e-12]))
    outputs, worlds = rpac.Outputs([[5.0, -3.0], [0.0, 0.0]]), np.zeros(20_000, int)
    made = noise.applied(outputs, worlds, np.random.default_rng(4)) - outputs.values[0]
    assert made.std(axis=0) == pytest.approx([2.0, 1e-6], rel=0.03)
    again = noise.applied(outputs, worlds, np.random.default_rng(4)) - outputs.values[0]
    assert (made == again).all()  # study randomness repeats
