"""Several mechanisms against one decoder, and one after another."""

import numpy as np
import pytest

import rpac
from rpac.learned.composition import joint_play, posterior_weights

TINY = rpac.Training(iterations=50, batch=64)


def test_one_decoder_for_two_mechanisms():
    pytest.importorskip("jax", reason="the extra `neural` is not installed")
    rng = np.random.default_rng(0)
    first = rpac.Outputs(rng.normal(size=(40, 1)))
    second = rpac.Outputs(first.values + 0.3 * rng.normal(size=(40, 1)))
    play = joint_play([first, second], 0.8, rpac.Stackelberg(training=TINY))
    law = rpac.tabulate(play.outputs, play.noise)
    joint = rpac.certify(play.outputs, law, budget=0.8)
    assert play.attack.nats >= 0.9 * 0.8
    parts = zip((first, second), play.parts, strict=True)
    single = [rpac.certify(o, rpac.tabulate(o, n)).bound for o, n in parts]
    assert max(single) <= joint.bound + 0.02 < sum(single)
    assert abs(play.noise.cov[0, 1]) < 1e-9  # independent between mechanisms
    with pytest.raises(rpac.InputError, match="a Gaussian joint game; got 'laplace'"):
        joint_play([first], 0.5, rpac.Stackelberg(family="laplace"))
    with pytest.raises(rpac.InputError, match="on the same finite worlds"):
        joint_play([first, rpac.Outputs([0.0, 1.0])], 0.5)


def test_the_sequential_form_conditions_on_what_was_seen():
    outputs = rpac.Outputs(np.array([0, 1, 2, 9]), [0.4, 0.3, 0.2, 0.1])
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
    law = rpac.tabulate(outputs, noise)
    found = posterior_weights(outputs, law, [1.0])
    by_hand = np.array([0.4 * 0.25, 0.3 * 0.5, 0.2 * 0.25, 0.0])
    np.testing.assert_allclose(found, by_hand / by_hand.sum())
    kept = found > 0
    rpac.Outputs(outputs.values[kept], found[kept])
    with pytest.raises(rpac.InputError, match=r"got \[5\.0\], which no world can give"):
        posterior_weights(outputs, law, [5.0])


def test_the_posterior_after_two_axes_is_the_product_of_their_likelihoods():
    rng = np.random.default_rng(1)
    outputs = rpac.Outputs(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)))
    axis = rpac.LatticeNoise.gaussian(0.01, 60.0)
    law = rpac.GridNoise(np.eye(2), outputs.center, (axis, axis))
    seen = outputs.center + [0.31, -0.2]
    found = posterior_weights(outputs, law, seen)
    shifts = seen - outputs.values
    by_hand = outputs.weights * np.exp(-np.square(shifts).sum(axis=1) / (2 * 0.6**2))
    assert found == pytest.approx(by_hand / by_hand.sum(), rel=0.02)
    assert found.sum() == pytest.approx(1.0)


def test_a_release_must_be_numbers():
    outputs = rpac.Outputs([0, 1])
    law = rpac.tabulate(outputs, rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25]))
    with pytest.raises(rpac.InputError, match="Expected numbers in `release`; got str"):
        posterior_weights(outputs, law, "one")
    with pytest.raises(rpac.InputError, match=r"Expected `release` with 1 axes.*; got shape \(\)"):
        posterior_weights(outputs, law, 1.0)
