"""Corrections of the log-determinant: never above the true gap, and worth having."""

import math

import numpy as np
import pytest

import rpac
from rpac.oracles import quadrature_nats
from rpac.paper.corrections import Potential, donsker_varadhan, negentropy, sliced_wasserstein

ALL = [donsker_varadhan, negentropy, sliced_wasserstein]


def two_point():
    """Two points at +-1 under noise of standard deviation 0.4, with the gap by quadrature."""
    sigma = 0.4
    gap = 0.5 * math.log1p(1 / sigma**2) - quadrature_nats([-1, 1], [0.5, 0.5], sigma)
    return rpac.Outputs([-1.0, 1.0]), rpac.GaussianNoise(sigma**2), gap


def clusters():
    """Clusters in the plane, with the gap by a two-dimensional sum over a fine grid."""
    rng = np.random.default_rng(3)
    centres = 3 * rng.normal(size=(5, 2))
    outputs = rpac.Outputs(centres[rng.integers(0, 5, 60)] + 0.2 * rng.normal(size=(60, 2)))
    noise = rpac.GaussianNoise(0.25 * np.eye(2))
    z = outputs.values
    axis = [np.arange(z[:, c].min() - 5, z[:, c].max() + 5, 0.05) for c in (0, 1)]
    kernels = [
        np.exp(-0.5 * np.square(axis[c][:, None] - z[:, c]) / 0.25) / math.sqrt(math.pi / 2)
        for c in (0, 1)
    ]
    law = kernels[0] @ kernels[1].T / len(z)
    mass = law * 0.05**2
    centred = z - z.mean(axis=0)
    cov = centred.T @ centred / len(z) + 0.25 * np.eye(2)
    shifted = np.stack(np.meshgrid(*axis, indexing="ij"), axis=-1) - z.mean(axis=0)
    quadratic = np.einsum("abi,ij,abj->ab", shifted, np.linalg.inv(cov), shifted)
    log_q = -0.5 * quadratic - math.log(2 * math.pi) - 0.5 * np.linalg.slogdet(cov)[1]
    gap = float((mass * (np.log(np.maximum(law, 1e-300)) - log_q)).sum())
    return outputs, noise, gap


def test_no_correction_exceeds_the_gap_and_the_best_recovers_most_of_it():
    for make, repeats in ((two_point, 12), (clusters, 8)):
        outputs, noise, gap = make()
        best = 0.0
        for seed in range(repeats):
            for method in ALL:
                found = method(outputs, noise, draws=40_000, seed=seed)
                assert 0 <= found.nats <= gap
                assert found.bound == pytest.approx(found.log_det - found.nats)
                best = max(best, found.nats)
        assert best >= 0.5 * gap


def test_the_sharp_constant_is_d_times_the_papers():
    outputs, noise, _ = clusters()
    sharp = sliced_wasserstein(outputs, noise, draws=20_000, seed=1)
    paper = sliced_wasserstein(outputs, noise, draws=20_000, seed=1, constant="paper")
    assert sharp.nats == pytest.approx(2 * paper.nats)
    assert paper.nats > 0


def test_nothing_is_corrected_where_there_is_no_gap():
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(rng.normal(size=(3_000, 2)))
    noise = rpac.GaussianNoise(4.0 * np.eye(2))
    for method in ALL:
        assert method(outputs, noise, draws=20_000, seed=0).nats < 2e-3


def test_potentials_are_feasible_and_reach_the_distance():
    """phi(x) + psi(y) <= (x - y)^2 everywhere, and the pair attains W_2 of a known pair."""
    rng = np.random.default_rng(0)
    for draws in (0.5 * rng.standard_normal(200_000), rng.choice([-1.0, 1.0], 50_000)):
        found = Potential.fit(draws)
        x, y = np.linspace(-8, 8, 400), np.linspace(-8, 8, 401)
        slack = np.square(x[:, None] - y) - found(x)[:, None]
        psi = slack.min(axis=0)  # the best psi on this grid of x
        weights = np.exp(-0.5 * y**2)
        assert found.dual <= weights @ psi / weights.sum() + 2e-3
        assert found.limits[0] - 1e-9 <= found(x).min()
        assert found(x).max() <= found.limits[1] + 1e-9
    narrow = Potential.fit(0.5 * rng.standard_normal(200_000))
    value = narrow(0.5 * rng.standard_normal(200_000)).mean() + narrow.dual
    assert 0.23 <= value <= 0.251  # W_2 of N(0, 1/4) and N(0, 1) is 1/2


def test_negentropy_without_whitening_would_overshoot():
    """Two nearly equal coordinates: their negentropies, added, count one gap twice."""
    z = np.array([[-1.0, -1.0], [1.0, 1.0]])
    outputs = rpac.Outputs(z)
    noise = rpac.GaussianNoise(0.04 * np.eye(2))
    along = 0.5 * math.log1p(2 / 0.04) - quadrature_nats([-(2**0.5), 2**0.5], [0.5, 0.5], 0.2)
    one = 0.5 * math.log1p(1 / 0.04) - quadrature_nats([-1, 1], [0.5, 0.5], 0.2)
    assert 2 * one > along  # across the diagonal nothing but Gaussian noise: no further gap
    for basis in ("principal", "independent"):
        assert negentropy(outputs, noise, basis=basis, draws=40_000, seed=0).nats <= along


def test_a_trained_critic_is_held_to_the_same_bound():
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    outputs, noise, gap = two_point()
    found = donsker_varadhan(outputs, noise, critic="network", draws=20_000, seed=0)
    assert 0.3 * gap <= found.nats <= gap


def two_humps(y):
    """The log ratio of the whitened law of `two_point` to the normal, up to a constant."""
    return np.square(y[:, 0]) / 2 - np.square(np.abs(y[:, 0]) - 0.93) / 0.28


def test_a_critic_of_ones_own():
    outputs, noise, gap = two_point()
    useless = donsker_varadhan(outputs, noise, critic=lambda y: 0 * y[:, 0], draws=2_000, seed=0)
    assert useless.nats == 0.0
    some = donsker_varadhan(outputs, noise, critic=two_humps, draws=20_000, seed=0)
    assert 0.5 * gap < some.nats <= gap


def test_more_confidence_takes_less_off():
    outputs, noise, gap = two_point()
    for method in ALL:
        sure, less = (
            method(outputs, noise, draws=20_000, seed=3, confidence=c) for c in (1 - 1e-9, 0.9)
        )
        assert sure.nats < less.nats <= gap
        assert (sure.confidence, less.confidence) == (1 - 1e-9, 0.9)
        assert sure.log_det == pytest.approx(0.5 * math.log1p(1 / 0.16))


def test_the_log_determinant_is_that_of_the_noise_in_any_coordinates():
    rng = np.random.default_rng(5)
    values, cov = rng.normal(size=(20, 3)), np.diag([0.5, 1.0, 2.0])
    found = negentropy(rpac.Outputs(values), rpac.GaussianNoise(cov), draws=1_000, seed=0)
    centred = values - values.mean(axis=0)
    inside = np.eye(3) + centred.T @ centred / 20 @ np.linalg.inv(cov)
    assert found.log_det == pytest.approx(0.5 * np.linalg.slogdet(inside)[1])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = negentropy(
        rpac.Outputs(values @ turn), rpac.GaussianNoise(turn.T @ cov @ turn), draws=1_000, seed=0
    )
    assert other.log_det == pytest.approx(found.log_det)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda o, n: negentropy(o, rpac.LatticeNoise(1.0, [0], [1.0])),
            "finite worlds under GaussianNoise; got Outputs.* under LatticeNoise",
        ),
        (
            lambda o, n: negentropy(rpac.Outputs([0.0, 1.0], clip=(np.zeros(1), np.ones(1))), n),
            "finite worlds under GaussianNoise; got .*exact=False",
        ),
        (
            lambda o, n: negentropy(o, n, basis="other"),
            'basis "principal" or "independent"; got \'other\'',
        ),
        (
            lambda o, n: sliced_wasserstein(o, n, constant="other"),
            'constant "sharp" or "paper"; got \'other\'',
        ),
        (lambda o, n: donsker_varadhan(o, n, confidence=1.0), "`confidence` between 0.0 and 1.0"),
        (lambda o, n: donsker_varadhan(o, n, draws=999), "`draws` of at least 1000; got 999"),
        (lambda o, n: sliced_wasserstein(o, n, draws=10), "`draws` of at least 1000; got 10"),
    ],
)
def test_refusals(call, message):
    outputs, noise, _ = two_point()
    with pytest.raises(rpac.InputError, match=message):
        call(outputs, noise)
