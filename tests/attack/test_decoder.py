"""Learned decoders: below the truth, near it where they can be, and blind where they are."""

import numpy as np
import pytest
from scipy.stats import binomtest

import rpac
from rpac import attack
from rpac.attack.marks import _fineness, _low_bits, _residue
from rpac.oracles import quadrature_nats

RING = rpac.Outputs([[0.0], [-1.0], [1.0]], [0.5, 0.25, 0.25])


@pytest.mark.parametrize("features", ["linear", "quadratic", "kernel"])
def test_a_softmax_decoder_finds_what_gaussian_noise_leaks(features):
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(32, 2)))
    noise = rpac.GaussianNoise([[1.0, 0.3], [0.3, 0.5]])
    report = rpac.audit((outputs, noise), ["bayes", attack.Learned(features=features)])
    exact, learned = report.findings
    assert 0.85 * exact.estimate - 0.02 <= learned.low <= exact.high
    assert features in learned.note


def test_a_decoder_of_ones_own():
    class Stubborn(attack.Decoder):
        name = "stubborn"

        def fit(self, released, worlds):
            return self

        def logits(self, released):
            return np.broadcast_to([0.0, 5.0, 0.0], (len(released), 3))

    report = rpac.audit((RING, 0.25), [attack.Learned(Stubborn())])
    assert report.lower == 0.0
    assert report.findings[0].estimate < 0  # worse than no attack
    with pytest.raises(rpac.InputError, match="Expected linear, quadratic or kernel features"):
        attack.SoftmaxDecoder(RING.values, RING.weights, features="deep")


def test_squares_see_what_lines_do_not():
    truth = quadrature_nats([0, -1, 1], [0.5, 0.25, 0.25], 0.1)
    square = rpac.audit((RING, 0.01), [attack.Learned()]).lower
    assert 0.9 * truth < square <= truth


def test_scale_that_depends_on_the_world_is_fitted():
    outputs = rpac.Outputs(np.linspace(-1, 1, 16))
    scale = np.exp(outputs.values[:, 0])

    def released(worlds, rng):
        return outputs.values[worlds, 0] + 3 * scale[worlds] * rng.normal(size=len(worlds))

    report = rpac.audit((outputs, 9.0), ["bayes", "decoder"], budget=0.05, released=released)
    assert report.alarms == ["bayes", "decoder"]
    assert "scale by world" in report.findings[0].note


def test_failures_are_part_of_the_posterior():
    outputs = rpac.Outputs(np.arange(4.0))

    def released(worlds, rng):
        y = outputs.values[worlds, 0] + rng.normal(0, 5, size=len(worlds))
        return np.where((worlds == 3) & (rng.random(len(worlds)) < 0.8), np.inf, y)

    report = rpac.audit((outputs, 25.0), ["bayes", "failure"], budget=0.1, released=released)
    both, alone = report.findings
    assert report.alarms == ["bayes", "failure"]
    assert both.estimate > alone.estimate > 0.3


def test_a_sentinel_that_is_a_number_is_seen():
    outputs = rpac.Outputs(np.arange(4.0))

    def released(worlds, rng):
        return np.where(
            worlds == 3, -1.0, outputs.values[worlds, 0] + rng.normal(0, 5, len(worlds))
        )

    report = rpac.audit((outputs, 25.0), ["failure"], budget=0.1, released=released)
    assert report.alarm
    assert report.lower == pytest.approx(0.5623, abs=0.05)  # the entropy of a quarter


def test_marks():
    y = np.array([[1.0], [0.5], [3 * 2.0**-30], [0.0], [np.nan]])
    fine = _fineness(y, c=0, spread=1.0)
    assert len(set(fine[:4].tolist())) == 4
    assert fine[3] == fine[4]
    assert _fineness(-y[:3], c=0, spread=1.0).tolist() == fine[:3].tolist()
    assert _low_bits(np.array([[8.0], [13.0], [0.5], [np.inf]]), c=0).tolist() == [0, 5, -1, -1]
    axis = rpac.LatticeNoise.gaussian(0.5, 4.0)
    noise = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    assert _residue(np.array([[1.0], [1.2], [1.33], [np.nan]]), noise=noise, a=0).tolist() == [
        0, 8, 2, 0,
    ]  # fmt: skip


def test_parity_of_counts_is_no_leak_after_table_noise():
    outputs = rpac.Outputs([0, 1])
    law = rpac.tabulate(outputs, rpac.GaussianNoise(4.0))
    report = rpac.audit((outputs, law), ["precision"], games=40_000)
    assert report.lower <= report.limit
    game = attack.Game(outputs, law).play(40_000, 1)
    right = int(((game.released[:, 0] % 2) == game.worlds).sum())
    assert binomtest(right, 40_000).pvalue > 1e-6


def test_half_of_an_even_world_tells_its_parity():
    outputs = rpac.Outputs([0, 1])

    def even_noise(worlds, rng):
        return outputs.values[worlds, 0] + 2 * rng.integers(-20, 21, size=len(worlds))

    report = rpac.audit((outputs, 140.0), ["precision"], budget=0.1, released=even_noise)
    assert report.alarm
    assert report.lower == pytest.approx(np.log(2), abs=0.02)


def test_limits_refuse_draws_outside_their_range():
    # Rounding is not: 1 - (1 - prior) of a small prior is off in its last digits.
    assert attack.mean_limits(np.append(np.zeros(9), 1 + 5e-10), 0, 1, 0.1)[0] >= -1e-9
    with pytest.raises(rpac.InputError, match="Expected at least 2 draws in"):
        attack.mean_limits(np.array([0.0, 2.0]), 0, 1, 0.1)
    with pytest.raises(rpac.InputError, match="Expected hits between 0 and trials"):
        attack.clopper_pearson(3, 2, 0.1)


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_clopper_pearson_is_the_textbook_interval(hits):
    low, high = attack.clopper_pearson(hits, 20, 0.05)
    textbook = binomtest(hits, 20).proportion_ci(0.95, "exact")
    assert (float(low), float(high)) == pytest.approx((textbook.low, textbook.high), abs=1e-12)
