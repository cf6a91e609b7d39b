"""Labels: the rate-distortion channel against its closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import rpac
from rpac.calibrators.label import channel, label_equilibrium


def leakage(prior, matrix):
    joint = prior[:, None] * matrix
    law = joint.sum(axis=0)
    seen = joint > 0
    return float((joint[seen] * np.log((joint / (prior[:, None] * law))[seen])).sum())


def binary(x):
    return -x * math.log(x) - (1 - x) * math.log1p(-x)


def test_balanced_labels_give_randomised_response():
    outputs = rpac.Outputs(["a", "b", "c", "d"])
    channel = rpac.calibrate(outputs, 0.5)
    keep = float(rpac.advantage.fano_accuracy(0.5, 4))
    assert np.diag(channel.matrix) == pytest.approx([keep] * 4, abs=1e-5)
    assert rpac.certify(outputs, channel).bound <= 0.5


def test_rare_labels_may_vanish():
    outputs = rpac.Outputs(["a", "b", "c"], weights=[0.9, 0.09, 0.01])
    channel = rpac.calibrate(outputs, 0.05)
    assert rpac.certify(outputs, channel, budget=0.05).bound <= 0.05
    assert channel.matrix[2, 2] < channel.matrix[0, 0]


@pytest.mark.parametrize("slope", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("k", [2, 5, 10])
def test_a_balanced_channel_is_randomised_response(k, slope):
    matrix = channel(np.full(k, 1 / k), slope)
    keep = math.exp(slope) / (math.exp(slope) + k - 1)
    expected = rpac.LabelChannel.randomized_response(k, keep).matrix
    assert matrix == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("share", "nats"), [(0.5, 0.1), (0.2, 0.05), (0.3, 0.4), (0.1, 0.2)])
def test_a_coin_is_changed_as_often_as_its_rate_distortion_function_says(share, nats):
    """R(D) = h(p) - h(D) for a coin under Hamming loss."""
    prior = np.array([share, 1 - share])
    distortion = brentq(lambda d: binary(share) - binary(d) - nats, 1e-12, share)
    found = label_equilibrium(prior, nats)
    changed = 1.0 - float(prior @ np.diag(found.matrix))
    assert changed == pytest.approx(distortion, rel=1e-3)
    assert leakage(prior, found.matrix) <= nats
    assert leakage(prior, found.matrix) == pytest.approx(nats, rel=1e-4)


def test_no_other_channel_changes_fewer_labels_at_the_same_leakage():
    """Mixtures of the optimum with anything else: leakage is convex, so none does better."""
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    best = label_equilibrium(prior, 0.4)
    least = 1 - float(prior @ np.diag(best.matrix))
    rng = np.random.default_rng(0)
    for _ in range(300):
        other = rng.dirichlet(0.3 * np.ones(4), size=4) + 3 * rng.random() * np.eye(4)
        other /= other.sum(axis=1, keepdims=True)
        low, high = 0.0, 1.0  # blend with the channel that says nothing until it leaks 0.4
        silent = np.tile(prior, (4, 1))
        for _ in range(40):
            t = (low + high) / 2
            over = leakage(prior, t * other + (1 - t) * silent) > 0.4
            low, high = (low, t) if over else (t, high)
        blend = low * other + (1 - low) * silent
        assert 1 - float(prior @ np.diag(blend)) >= least - 1e-5


def test_a_steep_slope_keeps_every_label():
    prior = np.array([0.7, 0.2, 0.1])
    assert channel(prior, 1e9) == pytest.approx(np.eye(3), abs=1e-12)
    flat = channel(prior, 1e-9)
    assert flat == pytest.approx(np.tile(flat[0], (3, 1)), abs=1e-6)  # all rows alike: no leakage
