"""Sliced SR-PAC, and several mechanisms against one decoder."""

import math

import numpy as np
import pytest

import rpac
from rpac.learned.composition import stacked
from rpac.oracles import quadrature_nats

TINY = rpac.Training(iterations=50, batch=64)


def tall(m=64, d=60):
    rng = np.random.default_rng(5)
    clusters = 2 * rng.normal(size=(3, d))[rng.integers(0, 3, m)]
    return rpac.Outputs(rng.normal(size=(m, d)) * np.linspace(1, 0.1, d) + clusters)


def test_sliced_leakage_against_quadrature():
    """In one dimension there is one slice, and it is the whole."""
    found = rpac.sliced_privacy(rpac.Outputs([-1.0, 1.0]), rpac.GaussianNoise(0.25), slices=4)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], 0.5)
    assert found.leakage == pytest.approx(truth, abs=1e-3)
    assert found.error < 1e-6
    assert found.residual_entropy == pytest.approx(math.log(2) - truth, abs=1e-3)
    assert found.residual == pytest.approx(-truth, abs=1e-3)


def test_a_slice_of_independent_coins():
    """Equal directions of a cube: every slice of isotropic outputs leaks less than the whole."""
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    noise = rpac.GaussianNoise(np.eye(2))
    found = rpac.sliced_privacy(rpac.Outputs(corners), noise, slices=400)
    assert 0 < found.leakage < 2 * quadrature_nats([-1, 1], [0.5, 0.5], 1.0)


@pytest.mark.parametrize("sides", ["output", "both", "secret"])
def test_the_sliced_budget_is_met_on_fresh_directions(sides):
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    outputs = tall()
    noise = rpac.SlicedStackelberg(sides=sides, meet="sliced", iterations=60).propose(outputs, 0.3)
    found = rpac.sliced_privacy(outputs, noise, slices=2_000, seed=77)
    assert found.leakage == pytest.approx(0.3, abs=0.009 + 4 * found.error)
    full = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=2_000)
    assert full.lower >= 0 and full.bound > 0.3  # noqa: PT018


def test_the_method_meets_the_budget_in_full():
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    outputs = tall(m=40, d=6)
    noise = rpac.calibrate(outputs, 0.4, method="sliced-sr-pac")
    rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.4)


def test_one_decoder_for_two_mechanisms():
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    rng = np.random.default_rng(0)
    first = rpac.Outputs(rng.normal(size=(40, 1)))
    second = rpac.Outputs(first.values + 0.3 * rng.normal(size=(40, 1)))
    play = rpac.joint_play([first, second], 0.8, rpac.Stackelberg(training=TINY))
    law = rpac.tabulate(play.outputs, play.noise)
    joint = rpac.certify(play.outputs, law, budget=0.8)
    assert play.attack.nats >= 0.9 * 0.8
    parts = zip((first, second), play.parts, strict=True)
    single = [rpac.certify(o, rpac.tabulate(o, n)).bound for o, n in parts]
    assert max(single) <= joint.bound + 0.02 < sum(single)
    assert abs(play.noise.cov[0, 1]) < 1e-9  # independent between mechanisms
    with pytest.raises(rpac.InputError, match="a Gaussian joint game"):
        rpac.joint_play([first], 0.5, rpac.Stackelberg(family="laplace"))
    with pytest.raises(rpac.InputError, match="on the same finite worlds"):
        stacked([first, rpac.Outputs([0.0, 1.0])])


def test_the_sequential_form_conditions_on_what_was_seen():
    outputs = rpac.Outputs(np.array([0, 1, 2, 9]), [0.4, 0.3, 0.2, 0.1])
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
    law = rpac.tabulate(outputs, noise)
    found = rpac.posterior_weights(outputs, law, [1.0])
    by_hand = np.array([0.4 * 0.25, 0.3 * 0.5, 0.2 * 0.25, 0.0])
    np.testing.assert_allclose(found, by_hand / by_hand.sum())
    kept = found > 0
    rpac.Outputs(outputs.values[kept], found[kept])
    with pytest.raises(rpac.InputError, match="no world can give"):
        rpac.posterior_weights(outputs, law, [5.0])


def test_refusals():
    with pytest.raises(rpac.InputError, match='sides "both"'):
        rpac.SlicedStackelberg(sides="neither")
    with pytest.raises(rpac.InputError, match="finite worlds under GaussianNoise"):
        rpac.sliced_privacy(rpac.Outputs([0, 1]), rpac.LatticeNoise(1.0, [0], [1.0]))
