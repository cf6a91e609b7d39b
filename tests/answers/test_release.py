"""What a release shows: its form, its intervals, the same for every retry."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac._base.sealed import publish
from rpac.answers.release import shown, stored
from rpac.release.draw import draw_world

DATA = np.random.default_rng(0).lognormal(size=(100, 2))


NOISE = rpac.LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25])
PEOPLE = rpac.Subsets(DATA, worlds=128)


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (lambda x: float(x.mean()), float),
        (lambda x: int((x > 1).sum()), int),
        (lambda x: {"mean": x.mean(), "sd": x.std()}, dict),
        (lambda x: pd.DataFrame({"a": x.mean(axis=0)}), pd.DataFrame),
        (lambda x: (x > 1).sum(axis=0), np.ndarray),
    ],
)
def test_the_answer_has_the_form_the_mechanism_returns(mechanism, kind):
    release = rpac.privatize(mechanism, PEOPLE, 0.5)
    assert isinstance(release.value, kind)
    assert "released" in str(release)
    assert "released" in release._repr_html_()
    if kind is np.ndarray:
        assert release.value.dtype == np.int64


def test_intervals_hold_what_they_say():
    outputs = rpac.Outputs(np.arange(40.0))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    hits, n = np.zeros(2), 1_500
    made = rpac.certify(outputs, law)
    for _ in range(n):
        world = draw_world(outputs.weights)
        release = shown(outputs, stored(outputs, law, law.noisy(outputs.codes(law)[world]), made))
        truths = outputs.values[world, 0], outputs.values.mean()
        pairs = release.noise_interval, release.sampling_interval
        hits += [low <= t <= high for t, (low, high) in zip(truths, pairs, strict=True)]
    assert (np.abs(hits / n - 0.95) < 0.03).all()


def test_intervals_of_counts_are_whole_and_account_for_lopsided_noise():
    worlds = rpac.Worlds([0, 1, 5])
    release = rpac.privatize(lambda x: x, worlds, 0.3)
    for pair in (release.noise_interval, release.sampling_interval):
        assert all(isinstance(side, int) for side in pair)
    outputs = rpac.Outputs([0.0, 1.0])
    law = rpac.tabulate(outputs, rpac.LatticeNoise(1.0, [10, 11], [0.5, 0.5]))
    kept = stored(outputs, law, np.array([10]), rpac.certify(outputs, law))
    assert shown(outputs, kept).noise_interval == pytest.approx((-1, 0))  # the noise is 10 or 11


def test_what_is_stored_is_what_is_shown():
    """The first call, a retry, and whoever reads the books: one release, to the last digit."""
    outputs = rpac.Outputs(np.random.default_rng(1).normal(size=(20, 3)))
    law = rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(3)))
    made = rpac.certify(outputs, law, draws=1_000)
    kept = stored(outputs, law, law.noisy(outputs.codes(law)[4]), made)
    first, again = shown(outputs, kept, law=law), shown(outputs, json.loads(publish(kept)))
    assert (first.value == again.value).all()
    assert first.certificate == again.certificate == made
    for one, other in zip(first.noise_interval, again.noise_interval, strict=True):
        assert (one == other).all()
    assert first.sealed == (outputs, law)
    assert again.sealed is None


def test_entries_of_older_books_have_the_ends_they_had():
    outputs = rpac.Outputs([[0.0], [4.0]])
    made = vars(rpac.certify(outputs, rpac.LatticeNoise(1.0, [-1, 1], [0.5, 0.5])))
    kept = {"numbers": [1.0], "noise": [2.0], "bias": [0.5], "certificate": made}
    release = shown(outputs, kept)
    assert release.noise_interval == pytest.approx((0.5 - 2 * 20**0.5, 0.5 + 2 * 20**0.5))
    assert release.sampling_interval == pytest.approx((0.5 - 160**0.5, 0.5 + 160**0.5))
    words = shown(outputs, kept | {"both": [1.0]})
    assert words.sampling_interval == pytest.approx((0.5 - 20**0.5, 0.5 + 20**0.5))


def test_labels_have_no_interval():
    outputs = rpac.Outputs(["no", "yes"])
    channel = rpac.LabelChannel.randomized_response(2, 0.7)
    release = shown(
        outputs, stored(outputs, channel, np.array([1]), rpac.certify(outputs, channel))
    )
    assert (release.value, release.noise_interval, release.sampling_interval) == ("yes", None, None)
    assert [label for label, _ in release.lines()] == ["released"]


def test_a_release_travels_without_what_is_sealed():
    release = rpac.privatize(np.mean, PEOPLE, 0.2)
    assert release.sealed is not None
    other = pickle.loads(pickle.dumps(release))
    assert other == release
    assert other.sealed is None
    assert "sealed" not in repr(release)


def test_numbers_on_which_all_worlds_agree_are_told_from_the_others():
    release = rpac.privatize(lambda x: {"mean": x.mean(), "one": 1.0}, PEOPLE, 0.2)
    low, high = release.facts
    assert low["mean"] == high["mean"] == release.value["mean"]
    assert low["one"] < release.value["one"] == 1.0 < high["one"]
    assert release.lines()[-1] == ("not protected", release.certificate.facts_in_words)
    assert str(release).count("facts of the pool") == 1
    assert rpac.privatize(np.mean, PEOPLE, 0.2).facts is None


def test_its_face_has_the_answer_first_and_the_certificate_below():
    release = rpac.privatize(np.mean, PEOPLE, 0.2)
    lines = str(release).splitlines()
    assert lines[0].split("  ")[-1] == f"{release.value:.6g}"
    assert "leaks at most" in str(release)
    assert release._repr_html_().startswith("<table><caption>released</caption><thead>")


def test_its_picture_has_what_may_be_published():
    release = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, 0.2)
    answer, guess = release.plot().axes
    assert [tick.get_text() for tick in answer.get_yticklabels()] == ["1", "2"]
    assert guess.patches[1].get_width() == pytest.approx(
        100 * release.certificate.published().success_rate(0.5)
    )
    found = rpac.audit(release, ["bayes"], games=500)
    assert len(release.plot(found).axes) == 3


def test_a_notebook_has_tables_and_error_bars():
    page = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, 0.2)._repr_html_()
    assert page.count("<svg") == 1
    assert "mean of all worlds (95 %)" in page
    long = rpac.Release(np.zeros(99), rpac.certify(rpac.Outputs([0, 1]), NOISE))
    assert "... 59 more in .value" in long._repr_html_()
    assert "... 59 more in .value" in str(long)
    assert "released  []" in str(rpac.Release([], long.certificate))
