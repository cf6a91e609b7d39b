"""Releases: the law that was certified, drawn by the operating system, in the mechanism's form."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import rpac
from rpac.release import add_noise, draw_world
from rpac.simulate import answer_on_fresh_draw

DATA = np.random.default_rng(0).lognormal(size=(100, 2))
PEOPLE = rpac.Subsets(DATA, worlds=128)


def test_end_to_end_stays_within_the_budget():
    for budget in (0.01, 0.5, rpac.Bits(0.5), rpac.ResidualEntropy(4.0)):
        release = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, budget)
        nats = rpac.budget.as_budget(budget).nats(np.log(128))
        assert release.certificate.charged
        assert 0.5 * nats < release.certificate.bound <= nats
        assert release.value.shape == (2,)
    release = rpac.privatize(lambda x: x.mean(axis=0), PEOPLE, rpac.SuccessRate(0.6))
    assert release.certificate.worst_unit_success <= 0.6  # on half-samples: of every person


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


def test_a_seed_fixes_the_study_and_never_the_release():
    first, second = (rpac.privatize(np.mean, PEOPLE, 0.2, seed=3) for _ in range(2))
    assert first.certificate.noise == second.certificate.noise
    assert first.value != second.value


def test_labels_go_through_a_channel():
    class Flip(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.LabelChannel.randomized_response(2, 0.6)

    release = rpac.privatize(
        lambda x: "up" if x.mean() > 1.6 else "down", PEOPLE, 0.1, method=Flip()
    )
    assert release.value in ("up", "down")
    assert release.certificate.bound <= 0.1
    with pytest.raises(rpac.InputError, match="Expected numeric outputs; got labels"):
        rpac.privatize(lambda x: "up" if x.mean() > 1.6 else "down", PEOPLE, 0.1, method="auto-pac")


def test_open_distributions_release_a_fresh_draw():
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=(-4, 4), draws=4_000)
    release = rpac.privatize(lambda x: x, source, 0.5)
    assert release.value.shape == (2,)
    assert release.certificate.grade == "statistical"
    assert 0.2 < release.certificate.bound <= 0.5


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


def test_the_best_attack_on_real_releases_stays_below_the_certificate():
    outputs = rpac.Outputs([-1.0, 1.0])
    noise = rpac.calibrate(outputs, 0.3)
    law = rpac.tabulate(outputs, noise)
    certificate = rpac.certify(outputs, law, budget=0.3)
    games = 20_000
    worlds = np.array([draw_world(outputs.weights) for _ in range(games)])
    values = np.array([add_noise(outputs.codes(law)[w], law)[0] for w in worlds])
    success = ((values > 0) == (worlds == 1)).mean()
    assert 0.7 < success <= certificate.success_rate(0.5) + 4 * 0.5 / np.sqrt(games)


def test_a_law_that_changes_after_its_certificate_is_not_released(monkeypatch):
    real = rpac.release.certify

    def other(outputs, law, *args, **kwargs):
        found = real(outputs, law, *args, **kwargs)
        return dataclasses.replace(found, noise=found.noise | {"digest": "0" * 64})

    monkeypatch.setattr("rpac.release.certify", other)
    with pytest.raises(rpac.InputError, match="Expected the law that was certified; got another"):
        rpac.privatize(lambda x: x.mean(), PEOPLE, 0.1)


def test_zero_noise_is_never_released():
    bare = rpac.GridNoise(np.eye(1), np.zeros(1), (rpac.LatticeNoise(1.0, [0], [1.0]),))
    with pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0.0"):
        add_noise(np.array([3]), bare)
    assert add_noise(np.array([3]), bare, allow_exact=True).tolist() == [3.0]
    with pytest.raises(rpac.InputError, match="Expected noise of positive power; got 0.0"):
        add_noise(np.array([0]), rpac.LabelChannel(np.eye(2)))


def test_nothing_is_drawn_when_the_budget_is_exceeded(monkeypatch):
    class None_(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.LatticeNoise(0.001, [-1, 1], [0.5, 0.5])

    def forbidden(*args):
        raise AssertionError("drew a world before the certificate")

    monkeypatch.setattr("rpac.release.draw_world", forbidden)
    monkeypatch.setattr("rpac.release.add_noise", forbidden)
    with pytest.raises(rpac.BudgetExceeded):
        rpac.privatize(lambda x: x.mean(), PEOPLE, 0.1, method=None_())


def test_no_world_of_collinear_outputs_fails_at_release():
    """The middle world lies next to the centre; a relative check of its own row would refuse it."""

    def line(t):
        return np.array([12345.678, 9876.543]) + t * np.array([0.3, 0.7])

    worlds = rpac.Worlds([-1.0, 0.0, 1.0])
    outputs = rpac.simulate(worlds, line)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.1))
    for codes in outputs.codes(law):
        assert np.isfinite(add_noise(codes, law)).all()
    for _ in range(30):
        rpac.privatize(line, worlds, 0.1)


def test_the_certified_integers_are_the_released_ones():
    rng = np.random.default_rng(8)
    outputs = rpac.Outputs(rng.normal(size=(64, 8)))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5))
    rpac.certify(outputs, law, draws=1_000)
    stored = outputs.codes(law)
    assert outputs.codes(law) is stored
    alone = np.concatenate([law.encode_rows(row[None]) for row in outputs.values])
    assert (alone == law.encode_rows(outputs.values)).all()


def test_the_type_of_a_release_does_not_depend_on_the_fresh_draw(monkeypatch):
    source = rpac.Draws(lambda rng: 3, clip=(0, 9), draws=100)
    outputs = rpac.simulate(source, lambda x: x)
    monkeypatch.setattr(source, "draw", lambda: 2.5)
    fresh = answer_on_fresh_draw(source, lambda x: x, outputs)
    assert isinstance(outputs.rebuild(fresh), int)
