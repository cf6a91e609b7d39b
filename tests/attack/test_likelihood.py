"""Decoders by likelihood: the logits of every law against its formula, and laws that are fitted."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import rpac
from rpac import attack
from rpac.attack.likelihood import (
    DeclaredLaw,
    Decoder,
    FittedLaw,
    gain_range,
    log_gain,
    noise_axes,
    posteriors,
    released_points,
    world_gains,
)

DATA = np.random.default_rng(0).normal(size=(20, 2))
CLOUD = rpac.Outputs(DATA)


def normalised(logits):
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


class Fixed(Decoder):
    def __init__(self, table):
        self.table = np.asarray(table, float)

    def logits(self, released):
        return np.broadcast_to(self.table, (len(released), self.table.shape[-1])).copy()


def test_every_law_gives_the_posterior_of_its_density():
    outputs = rpac.Outputs(np.random.default_rng(0).normal(size=(60, 2)))
    gaussian = rpac.calibrate(outputs, 0.5, "auto-pac")
    pair = (gaussian.sample, gaussian.log_density)
    table = rpac.tabulate(outputs, gaussian)
    product = rpac.calibrate(outputs, 0.5, rpac.Equilibrium(family="product"))
    y = outputs.values[:50] + gaussian.sample(50, np.random.default_rng(0))

    def post(noise, values):
        game = attack.Game(outputs, noise)
        decoder = attack.DeclaredLaw(outputs, game.noise)
        return np.concatenate([p for _, p in posteriors(decoder, outputs.weights, values)])

    exact = post(gaussian, y)
    assert post(pair, y) == pytest.approx(exact, abs=1e-10)
    assert post(table, y) == pytest.approx(exact, abs=5e-3)  # worlds sit on the grid there
    released = attack.Game(outputs, product).play(50, 1).released
    raw = np.stack([product.log_density(y - product.decode(outputs.codes(product)))
                    for y in released])  # fmt: skip
    raw = np.exp(raw - raw.max(axis=1, keepdims=True))
    assert post(product, released) == pytest.approx(raw / raw.sum(axis=1, keepdims=True), abs=1e-9)


def test_dropped_directions_and_tables_are_fitted_too():
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(30, 2)))
    line = rpac.GaussianNoise.on([[1.0], [0.0]], [4.0], drop=True)

    def dropped(worlds, rng):
        y = np.tile(outputs.center, (len(worlds), 1))
        y[:, 0] = outputs.values[worlds, 0] + 0.7 * line.sample(len(worlds), rng)[:, 0]
        return y

    weak = rpac.audit((outputs, line), ["bayes"], released=dropped, games=8_000)
    assert "fitted law" in weak.findings[0].note
    assert weak.alarm
    axis = rpac.LatticeNoise(0.1, np.arange(-30, 31), np.full(61, 1 / 61))
    box = rpac.GridNoise(np.eye(2), np.zeros(2), (axis, axis))

    def off_the_box(worlds, rng):
        return outputs.values[worlds] + rng.normal(0, 0.5, size=(len(worlds), 2))

    assert rpac.audit((outputs, box), ["bayes"], budget=0.5, released=off_the_box).alarm


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


def test_gaussian_logits_are_the_density():
    cov = np.array([[1.0, 0.4], [0.4, 0.5]])
    y = np.random.default_rng(1).normal(size=(30, 2))
    direct = np.stack([multivariate_normal(z, cov).logpdf(y) for z in DATA], axis=1)
    found = DeclaredLaw(CLOUD, rpac.GaussianNoise(cov)).logits(y)
    assert normalised(found) == pytest.approx(normalised(direct), abs=1e-10)


def test_logits_of_a_density_of_ones_own_are_its_values():
    def log_density(points):
        return -np.abs(points).sum(axis=1)

    y = np.random.default_rng(2).normal(size=(30, 2))
    direct = -np.abs(y[:, None] - DATA).sum(axis=2)
    found = DeclaredLaw(CLOUD, attack.Sampler(None, log_density)).logits(y)
    assert found == pytest.approx(direct, abs=1e-12)


def test_table_logits_are_masses_and_minus_infinity_beyond_the_table():
    outputs = rpac.Outputs([0, 1, 5])
    q = {-1: 0.2, 0: 0.5, 1: 0.3}
    law = rpac.tabulate(outputs, rpac.LatticeNoise(1.0, list(q), list(q.values())))
    y = np.arange(-2.0, 8.0)[:, None]
    with np.errstate(divide="ignore"):
        direct = np.log([[q.get(int(v[0] - z), 0.0) for z in (0, 1, 5)] for v in y])
    assert DeclaredLaw(outputs, law).logits(y) == pytest.approx(direct, abs=1e-12)


def test_label_logits_are_the_columns_of_the_channel():
    outputs = rpac.Outputs(["b", "a", "c", "a"])
    matrix = np.array([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    found = DeclaredLaw(outputs, rpac.LabelChannel(matrix)).logits(np.array([[0.0], [2.0], [1.0]]))
    truth = matrix[[1, 0, 2, 0]].T[[0, 2, 1]]  # by released label, then world
    with np.errstate(divide="ignore"):
        assert found == pytest.approx(np.log(truth), abs=1e-12)


def test_posteriors_are_bayes_rule():
    table = np.array([0.3, -1.0, 2.0])
    weights = np.array([0.2, 0.5, 0.3])
    ((rows, found),) = posteriors(Fixed(table), weights, np.zeros((4, 1)))
    direct = weights * np.exp(table)
    assert rows == slice(0, 4) or len(found) == 4
    assert found == pytest.approx(np.tile(direct / direct.sum(), (4, 1)))


def test_a_release_that_no_world_explains_leaves_the_prior():
    weights = np.array([0.2, 0.8])
    ((_, found),) = posteriors(Fixed([-np.inf, -np.inf]), weights, np.zeros((2, 1)))
    assert found == pytest.approx(np.tile(weights, (2, 1)))


def test_failed_releases_tell_what_failures_say_and_nothing_without_them():
    weights, decoder = np.array([0.5, 0.5]), Fixed([0.0, 0.0])
    released = np.array([[np.nan], [0.0]])
    ((_, deaf),) = posteriors(decoder, weights, released)
    assert deaf == pytest.approx(np.full((2, 2), 0.5))
    decoder.failures = np.array([0.9, 0.1])
    ((_, told),) = posteriors(decoder, weights, released)
    assert told == pytest.approx(np.array([[0.9, 0.1], [0.1, 0.9]]))


def test_blocks_of_posteriors_are_one_after_the_other():
    outputs = rpac.Outputs(np.linspace(-1, 1, 3_000))
    y = np.random.default_rng(0).normal(size=(4_000, 1))
    decoder = DeclaredLaw(outputs, rpac.GaussianNoise(1.0))
    parts = list(posteriors(decoder, outputs.weights, y))
    assert len(parts) > 1
    assert sum(len(post) for _, post in parts) == 4_000
    alone = np.concatenate([p for _, p in posteriors(decoder, outputs.weights, y[-3:])])
    last = np.concatenate([post for _, post in parts[-3:]])[-3:]
    assert last == pytest.approx(alone, abs=1e-14)
    for _, post in parts:
        assert post.sum(axis=1) == pytest.approx(1.0)


def test_gains_of_a_floored_posterior_lie_in_their_range_and_below_the_information():
    low, high = gain_range(0.1)
    assert log_gain(np.float64(0.0), np.float64(0.1)) == pytest.approx(low)
    assert log_gain(np.float64(1.0), np.float64(0.1)) == pytest.approx(high)
    assert log_gain(np.float64(0.1), np.float64(0.1)) == pytest.approx(0.0)
    prior = np.array([0.2, 0.8])
    joint = np.array([[0.15, 0.05], [0.2, 0.6]])  # P(world, release)
    post = joint / joint.sum(axis=0)
    truth = float((joint * np.log(post / prior[:, None])).sum())
    floored = float((joint * log_gain(post, prior[:, None])).sum())
    assert 0 < floored <= truth
    wrong = post[::-1]  # a decoder that is wrong still never says too much
    assert float((joint * log_gain(wrong, prior[:, None])).sum()) <= truth


def test_world_gains_are_those_of_the_true_world():
    weights = np.array([0.25, 0.75])
    found = world_gains(Fixed([math.log(3.0), 0.0]), weights, np.array([0, 1]), np.zeros((2, 1)))
    assert found == pytest.approx(log_gain(np.array([0.5, 0.5]), weights))
    with pytest.raises(rpac.InputError, match="Expected one release for each world; got 2 for 3"):
        world_gains(Fixed([0.0, 0.0]), weights, np.zeros(3, int), np.zeros((2, 1)))


def test_points_and_axes_of_each_law():
    drop = rpac.GaussianNoise.on([[1.0], [0.0]], [4.0], drop=True)
    flat = released_points(CLOUD, drop)
    assert flat[:, 0] == pytest.approx(DATA[:, 0])
    assert flat[:, 1] == pytest.approx(DATA[:, 1].mean())
    law = rpac.tabulate(CLOUD, rpac.GaussianNoise(np.diag([1.0, 9.0])))
    assert released_points(CLOUD, law) == pytest.approx(law.decode(law.encode(DATA)))
    assert released_points(CLOUD, None) is CLOUD.values
    for noise in (rpac.GaussianNoise(np.diag([1.0, 9.0])), law):
        center, matrix = noise_axes(CLOUD, noise)
        assert center == pytest.approx(DATA.mean(axis=0))
        assert np.abs(matrix) == pytest.approx(np.diag([1.0, 1 / 3]), rel=1e-3)
    assert noise_axes(CLOUD, None)[1] == pytest.approx(np.diag(1 / DATA.std(axis=0)))
    box = rpac.LatticeNoise(0.5, [-1, 1], [0.5, 0.5])
    uneven = rpac.GridNoise(np.eye(2), np.zeros(2), (box, rpac.LatticeNoise(1.0, [0], [1.0])))
    assert noise_axes(CLOUD, uneven)[1] == pytest.approx(np.diag([2.0, 1.0]))


def test_a_fitted_law_finds_the_covariance_that_was_really_used():
    cov = np.array([[0.5, 0.2], [0.2, 0.3]])
    rng = np.random.default_rng(3)
    worlds = rng.integers(0, 20, 40_000)
    released = DATA[worlds] + rng.multivariate_normal([0, 0], cov, size=40_000)
    fitted = FittedLaw(CLOUD, rpac.GaussianNoise(9 * np.eye(2)), worlds=worlds, released=released,
                       by_world=False)  # fmt: skip
    true = DeclaredLaw(CLOUD, rpac.GaussianNoise(cov))
    y = released[:200]
    ours, theirs = (np.exp(normalised(decoder.logits(y))) for decoder in (fitted, true))
    assert ours == pytest.approx(theirs, abs=0.03)
    assert fitted.name == "fitted law"


def test_a_fitted_law_finds_a_bias_too():
    rng = np.random.default_rng(4)
    pair = rpac.Outputs([[-1.0], [1.0]])
    worlds = rng.integers(0, 2, 20_000)
    released = pair.values[worlds] + 3.0 + rng.normal(size=(20_000, 1))
    fitted = FittedLaw(pair, None, worlds=worlds, released=released, by_world=False)
    ((_, post),) = posteriors(fitted, pair.weights, np.array([[3.0], [4.0]]))
    assert post[:, 1] == pytest.approx([0.5, 1 / (1 + math.exp(-2.0))], abs=0.03)


def test_scales_by_world_follow_a_quadratic_of_the_output():
    outputs = rpac.Outputs(np.linspace(-1, 1, 9))
    sigma = np.exp(0.8 * outputs.values[:, 0])
    rng = np.random.default_rng(5)
    worlds = rng.integers(0, 9, 60_000)
    released = outputs.values[worlds] + (sigma[worlds] * rng.normal(size=60_000))[:, None]
    fitted = FittedLaw(outputs, None, worlds=worlds, released=released, by_world=True)
    found = 0.5 * np.log(fitted._variances[:, 0])
    assert found - found.mean() == pytest.approx(np.log(sigma), abs=0.06)


def test_a_code_book_is_decoded_by_its_table():
    """Equal words are one, whatever coin chose them; what is no word tells nothing."""
    words = np.array([[0.0, -0.0], [1.0, 2.0], [0.0, 0.0]])
    matrix = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0]])
    outputs = rpac.Outputs([[0.0, 0.0], [1.0, 1.0]])
    decoder = DeclaredLaw(outputs, rpac.Codebook(words, matrix))
    found = np.exp(decoder.logits(np.array([[0.0, 0.0], [1.0, 2.0], [7.0, 7.0]])))
    assert found == pytest.approx(np.array([[0.5, 0.6], [0.5, 0.4], [0.0, 0.0]]))
    mean = released_points(outputs, rpac.Codebook(words, matrix))
    assert mean == pytest.approx(matrix @ words)
