"""Learned decoders: below the truth, near it where they can be, and blind where they are."""

import numpy as np
import pytest

import rpac
from rpac.attack.decoder import Learned, SoftmaxDecoder
from rpac.attack.likelihood import Decoder
from rpac.oracles import quadrature_nats

RING = rpac.Outputs([[0.0], [-1.0], [1.0]], [0.5, 0.25, 0.25])


@pytest.mark.parametrize("features", ["linear", "quadratic", "kernel"])
def test_a_softmax_decoder_finds_what_gaussian_noise_leaks(features):
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(32, 2)))
    noise = rpac.GaussianNoise([[1.0, 0.3], [0.3, 0.5]])
    report = rpac.audit((outputs, noise), ["bayes", Learned(features=features)])
    exact, learned = report.findings
    assert 0.85 * exact.estimate - 0.02 <= learned.low <= exact.high
    assert features in learned.note


def test_a_decoder_of_ones_own():
    class Stubborn(Decoder):
        name = "stubborn"

        def fit(self, released, worlds):
            return self

        def logits(self, released):
            return np.broadcast_to([0.0, 5.0, 0.0], (len(released), 3))

    report = rpac.audit((RING, 0.25), [Learned(Stubborn())])
    assert report.lower == 0.0
    assert report.findings[0].estimate < 0  # worse than no attack
    with pytest.raises(rpac.InputError, match="Expected linear, quadratic or kernel features"):
        SoftmaxDecoder(RING.values, RING.weights, features="deep")


def test_squares_see_what_lines_do_not():
    truth = quadrature_nats([0, -1, 1], [0.5, 0.25, 0.25], 0.1)
    square = rpac.audit((RING, 0.01), [Learned()]).lower
    assert 0.9 * truth < square <= truth


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def test_linear_features_contain_the_posterior_of_gaussian_noise():
    """Learned from games, and compared with Bayes' rule at fresh points."""
    values = np.linspace(-1.5, 1.5, 5)[:, None]
    prior = np.full(5, 0.2)
    rng = np.random.default_rng(1)
    worlds = rng.integers(0, 5, 40_000)
    released = values[worlds] + rng.normal(size=(40_000, 1))
    decoder = SoftmaxDecoder(values, prior, features="linear", ridge=1e-6)
    assert decoder.fit(released, worlds) is decoder
    y = np.linspace(-3, 3, 25)[:, None]
    exact = softmax(-0.5 * np.square(y - values.T))
    assert softmax(decoder.logits(y)) == pytest.approx(exact, abs=0.02)


def test_a_decoder_learns_the_same_from_the_same_games():
    rng = np.random.default_rng(2)
    worlds = rng.choice(3, 2_000, p=RING.weights)
    released = RING.values[worlds] + rng.normal(size=(2_000, 1))
    y = np.linspace(-2, 2, 9)[:, None]
    first, again, other = (
        SoftmaxDecoder(RING.values, RING.weights, features="kernel", seed=seed)
        .fit(released, worlds)
        .logits(y)
        for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_failed_releases_are_left_out_of_the_fit():
    rng = np.random.default_rng(3)
    worlds = rng.choice(3, 2_000, p=RING.weights)
    released = RING.values[worlds] + rng.normal(size=(2_000, 1))
    holes = np.concatenate([released, np.full((50, 1), np.nan)])
    y = np.linspace(-2, 2, 9)[:, None]
    whole, rest = (
        SoftmaxDecoder(RING.values, RING.weights).fit(r, w).logits(y)
        for r, w in ((released, worlds), (holes, np.append(worlds, np.zeros(50, int))))
    )
    assert (whole == rest).all()
    with pytest.raises(rpac.InputError, match="Expected finite releases to learn from; got 1"):
        SoftmaxDecoder(RING.values, RING.weights).fit(released[:1], worlds[:1])


def test_a_decoder_that_learns_nothing_says_nothing():
    """Releases without a trace of the world: the judged score stays below the truth, which is 0."""

    def released(worlds, rng):
        return rng.normal(size=len(worlds))

    report = rpac.audit((RING, None), ["decoder"], released=released, games=4_000)
    assert report.lower == 0.0
    assert report.findings[0].estimate < 0.01


def test_directions_in_which_worlds_do_not_differ_are_not_used():
    values = np.column_stack([np.arange(4.0), np.zeros(4)])
    decoder = SoftmaxDecoder(values, np.full(4, 0.25))
    rng = np.random.default_rng(4)
    worlds = rng.integers(0, 4, 4_000)
    released = values[worlds] + rng.normal(size=(4_000, 2))
    decoder.fit(released, worlds)
    shifted = released + [0.0, 100.0]
    assert decoder.logits(shifted[:9]) == pytest.approx(decoder.logits(released[:9]))
