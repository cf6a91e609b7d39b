"""Sliced SR-PAC: exact slices against quadrature, and budgets met in slices or in full."""

import math

import numpy as np
import pytest

import rpac
from rpac.learned.sliced import SlicedStackelberg, sliced_privacy
from rpac.oracles import quadrature_nats


def tall(m=64, d=60):
    rng = np.random.default_rng(5)
    clusters = 2 * rng.normal(size=(3, d))[rng.integers(0, 3, m)]
    return rpac.Outputs(rng.normal(size=(m, d)) * np.linspace(1, 0.1, d) + clusters)


def test_sliced_leakage_against_quadrature():
    """In one dimension there is one slice, and it is the whole."""
    found = sliced_privacy(rpac.Outputs([-1.0, 1.0]), rpac.GaussianNoise(0.25), slices=4)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], 0.5)
    assert found.leakage == pytest.approx(truth, abs=1e-3)
    assert found.error < 1e-6
    assert found.residual_entropy == pytest.approx(math.log(2) - truth, abs=1e-3)
    assert found.residual == pytest.approx(-truth, abs=1e-3)


def test_a_slice_of_independent_coins():
    """Equal directions of a cube: every slice of isotropic outputs leaks less than the whole."""
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    noise = rpac.GaussianNoise(np.eye(2))
    found = sliced_privacy(rpac.Outputs(corners), noise, slices=400)
    assert 0 < found.leakage < 2 * quadrature_nats([-1, 1], [0.5, 0.5], 1.0)


@pytest.mark.parametrize("sides", ["output", "both", "secret"])
def test_the_sliced_budget_is_met_on_fresh_directions(sides):
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    outputs = tall()
    noise = SlicedStackelberg(sides=sides, meet="sliced", iterations=60).propose(outputs, 0.3)
    found = sliced_privacy(outputs, noise, slices=2_000, seed=77)
    assert found.leakage == pytest.approx(0.3, abs=0.009 + 4 * found.error)
    full = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=2_000)
    assert full.lower >= 0 and full.bound > 0.3  # noqa: PT018


def test_the_method_meets_the_budget_in_full():
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    outputs = tall(m=40, d=6)
    noise = rpac.calibrate(outputs, 0.4, method="sliced-sr-pac")
    rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.4)


def test_a_slice_leaks_what_the_normal_along_it_says():
    """Outputs that are nearly normal: every slice of N(0, v I) leaks log(1 + v / s) / 2 nats."""
    from scipy.special import ndtri

    side = ndtri((np.arange(24) + 0.5) / 24)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    variance = float(np.square(side).mean())
    noise = rpac.GaussianNoise(3.0 * np.eye(2))
    found = sliced_privacy(rpac.Outputs(plane), noise, slices=64)
    assert found.leakage == pytest.approx(0.5 * math.log1p(variance / 3.0), rel=0.01)
    assert found.error < 0.01 * found.leakage
    assert found.entropy == pytest.approx(math.log(576))
    assert found.residual_entropy == pytest.approx(found.entropy - found.leakage)


def test_more_noise_leaks_less_and_seeds_repeat_the_directions():
    outputs = tall(m=30, d=5)
    quiet, loud = (
        sliced_privacy(outputs, rpac.GaussianNoise(v * np.eye(5)), slices=64) for v in (1.0, 4.0)
    )
    assert loud.leakage < quiet.leakage
    again = sliced_privacy(outputs, rpac.GaussianNoise(np.eye(5)), slices=64)
    other = sliced_privacy(outputs, rpac.GaussianNoise(np.eye(5)), slices=64, seed=1)
    assert again == quiet != other
    assert other.leakage == pytest.approx(quiet.leakage, abs=6 * (quiet.error + other.error))


def test_the_prior_counts():
    """A rare world: the reference of residual privacy stays the uniform pool."""
    outputs = rpac.Outputs([0.0, 4.0], [0.9, 0.1])
    found = sliced_privacy(outputs, rpac.GaussianNoise(1.0), slices=4)
    truth = quadrature_nats([0, 4], [0.9, 0.1], 1.0)
    assert found.leakage == pytest.approx(truth, abs=2e-3)
    assert found.residual == pytest.approx(found.residual_entropy - math.log(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SlicedStackelberg(sides="neither"),
            r'sides "both".*got \(\'neither\', \'full\'\)',
        ),
        (lambda: SlicedStackelberg(meet="half"), r'meet "full" or.*got \(\'output\', \'half\'\)'),
        (lambda: SlicedStackelberg(iterations=0), "a whole `iterations` of at least 1; got 0"),
        (
            lambda: sliced_privacy(rpac.Outputs([0, 1]), rpac.LatticeNoise(1.0, [0], [1.0])),
            "finite worlds under GaussianNoise; got Outputs.* under LatticeNoise",
        ),
        (
            lambda: sliced_privacy(
                rpac.Outputs([0.0, 1.0], clip=(np.zeros(1), np.ones(1))), rpac.GaussianNoise(1.0)
            ),
            "finite worlds under GaussianNoise; got .*exact=False",
        ),
        (
            lambda: sliced_privacy(rpac.Outputs([0, 1]), rpac.GaussianNoise(1.0), slices=1),
            "a whole `slices` of at least 2; got 1",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
