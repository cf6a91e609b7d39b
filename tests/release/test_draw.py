"""The draw of the world and of the noise: the operating system's, on the public grid."""

import numpy as np
import pytest
from benchmarks import release as long_run  # with smaller counts
from scipy.stats import chisquare

import rpac
from rpac.release.draw import add_noise, draw_among, draw_world, given_worlds

DATA = np.random.default_rng(0).lognormal(size=(100, 2))


def test_noise_and_world_come_from_the_operating_system_only():
    outputs = rpac.Outputs([0.0, 1.0])
    law = rpac.tabulate(outputs, rpac.GaussianNoise(1.0))
    seen = set()
    for _ in range(200):
        np.random.seed(0)  # noqa: NPY002
        seen.add(float(add_noise(outputs.codes(law)[0], law)[0]))
    assert len(seen) > 150


def test_the_drawn_world_follows_the_prior():
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    seen = np.bincount([draw_world(weights) for _ in range(20_000)], minlength=4)
    assert chisquare(seen, weights * 20_000).pvalue > 1e-6


def test_every_release_lies_on_the_public_grid_and_has_the_certified_power():
    outputs = rpac.Outputs(DATA[:40])
    law = rpac.tabulate(outputs, rpac.GaussianNoise([[2.0, 0.5], [0.5, 1.0]]))
    codes = outputs.codes(law)[3]
    values = np.array([add_noise(codes, law) for _ in range(5_000)])
    steps = (values - law.center) @ law.basis / law.steps
    assert np.abs(steps - np.rint(steps)).max() < 1e-6
    energy = np.square(values - law.decode(codes[None])).sum(axis=1)
    error = energy.std() / np.sqrt(energy.size)
    assert energy.mean() == pytest.approx(law.power, abs=5 * error)


def test_zero_noise_is_never_released():
    bare = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise(1.0, [0], [1.0]),))
    with pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0.0"):
        add_noise(np.array([3]), bare)
    assert add_noise(np.array([3]), bare, allow_exact=True).tolist() == [3.0]
    with pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0.0"):
        add_noise(np.array([0]), rpac.LabelChannel(np.eye(2)))


def test_labels_are_changed_as_often_as_the_channel_says():
    channel = rpac.LabelChannel.randomized_response(2, 0.7)
    kept = np.mean([add_noise(np.array([1]), channel)[0] for _ in range(4_000)])
    assert kept == pytest.approx(0.7, abs=5 * np.sqrt(0.21 / 4_000))


def test_low_bits_tell_nothing_and_would_with_naive_noise():
    off, (low, threshold, error), (naive, plain, _) = long_run.precision(300_000)
    assert off == 0
    assert low <= threshold + 3.5 * error
    assert naive > plain + 0.2


def test_draws_follow_the_table_and_no_other():
    (same, more, less), rate = long_run.table_test(10**6, 1.06)
    assert same > 1e-6
    assert more < 1e-6
    assert less < 1e-6
    assert rate > 2e5


def test_a_given_secret_is_found_among_the_worlds_by_content():
    worlds = rpac.Worlds([np.array([0.0]), np.array([5.0]), np.array([5.0])])
    assert given_worlds(worlds, np.array([5.0])) == [1, 2]
    assert given_worlds(rpac.Draws(lambda rng: rng.normal(), clip=(0, 1)), 3.0) is None
    with pytest.raises(rpac.InputError, match="Expected a drawn half-sample; got a given one"):
        given_worlds(rpac.Subsets(DATA), DATA[:3])
    with pytest.raises(rpac.InputError, match="Expected a secret among the worlds; got another"):
        given_worlds(worlds, np.array([7.0]))


def test_a_draw_among_some_places_follows_the_prior_there():
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    seen = np.bincount([draw_among(weights, [1, 3]) for _ in range(6_000)], minlength=4)
    assert seen[[0, 2]].tolist() == [0, 0]
    assert chisquare(seen[[1, 3]], [2_000, 4_000]).pvalue > 1e-6
    assert draw_among(weights, None) in range(4)
