"""The game, its plays, and findings: drawn by the prior, released by the law, judged apart."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import rpac
from rpac.attack.base import (
    MISSING,
    STUDY,
    Finding,
    Game,
    Games,
    Play,
    Sampler,
    as_law,
    nats_finding,
    success_finding,
)
from rpac.attack.interval import clopper_pearson, mean_limits
from rpac.attack.likelihood import DeclaredLaw, FittedLaw, log_gain

PAIR = rpac.Outputs([[-1.0], [1.0]])


def laplace(n, rng):
    return rng.laplace(0, 2.0, size=(n, 1))


def log_laplace(points):
    return -np.abs(points[:, 0]) / 2.0 - np.log(4.0)


class Theirs:
    sample = staticmethod(laplace)


def test_whatever_describes_a_noise_becomes_a_law():
    assert as_law(None) is None
    ours = rpac.GaussianNoise(2.0)
    assert as_law(ours) is ours
    channel = rpac.LabelChannel(np.eye(2))
    assert as_law(channel) is channel
    sampler = as_law(laplace)
    assert as_law(sampler) is sampler
    assert repr(sampler) == "Sampler(laplace, density unknown)"
    assert repr(as_law((laplace, log_laplace))) == "Sampler(laplace, density known)"
    assert repr(as_law(Theirs())) == "Sampler(laplace, density unknown)"
    assert repr(Sampler(Theirs())) == "Sampler(Theirs, density unknown)"
    for cov, dim in ((4.0, 1), ([[4.0, 1.0], [1.0, 4.0]], 2)):
        law = as_law(cov)
        assert isinstance(law, rpac.GaussianNoise)
        assert law.dim == dim


def test_what_a_game_supplies():
    masks = np.array([[True, False], [False, True]])
    people = rpac.Outputs([[-1.0], [1.0]], masks=masks)
    labels = rpac.Outputs(["a", "b"])
    assert Game(PAIR, laplace).has == {"numbers"}
    assert Game(PAIR, (laplace, log_laplace)).has == {"numbers", "density"}
    assert Game(people, 1.0).has == set(MISSING)
    assert Game(labels, rpac.LabelChannel(np.eye(2))).has == {"density"}
    assert Game(people, 1.0).masks is people.masks
    assert repr(Game(PAIR, 1.0)).startswith("Game(Outputs(worlds=2,")


def test_worlds_are_drawn_by_the_prior():
    prior = [0.5, 0.3, 0.15, 0.05]
    games = Game(rpac.Outputs(np.arange(4.0), prior), 1.0).play(20_000, 7)
    counts = np.bincount(games.worlds, minlength=4)
    assert chisquare(counts, 20_000 * np.array(prior)).pvalue > 1e-6
    assert chisquare(counts, 20_000 * np.full(4, 0.25)).pvalue < 1e-6


def test_equal_seeds_play_equal_games():
    game = Game(PAIR, 1.0)
    first, again, other = (game.play(500, seed).released for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).all()


def test_releases_are_outputs_with_noise_of_the_law():
    games = Game(PAIR, (laplace, log_laplace)).play(40_000, 0)
    shift = games.released - PAIR.values[games.worlds]
    assert np.abs(shift).mean() == pytest.approx(2.0, rel=0.05)  # of Laplace noise: its scale
    law = rpac.tabulate(PAIR, rpac.GaussianNoise(4.0))
    released = Game(PAIR, law).play(2_000, 0).released
    cells = (released - law.center) @ law.basis / law.steps
    assert np.abs(cells - np.rint(cells)).max() < 1e-6  # on the grid, every one
    assert released.std() == pytest.approx(math.sqrt(5.0), rel=0.1)


def test_lattice_noise_is_tabulated_and_labels_go_through_their_channel():
    game = Game(rpac.Outputs([0, 3]), rpac.LatticeNoise(1.0, [0, 1], [0.25, 0.75]))
    assert isinstance(game.noise, rpac.GridNoise)
    games = game.play(8_000, 1)
    step = games.released[:, 0] - 3 * games.worlds
    assert set(step.tolist()) == {0.0, 1.0}
    assert step.mean() == pytest.approx(0.75, abs=0.03)
    labels = Game(rpac.Outputs(["a", "b", "c"]), rpac.LabelChannel.randomized_response(3, 0.6))
    kept = labels.play(8_000, 2)
    assert (kept.released[:, 0] == kept.worlds).mean() == pytest.approx(0.6, abs=0.03)


def test_a_release_function_stands_in_for_the_noise():
    game = Game(PAIR, 1.0, lambda worlds, rng: 10.0 * worlds)
    assert not game.honest
    games = game.play(300, 0)
    assert (games.released[:, 0] == 10.0 * games.worlds).all()


def test_games_are_sliced_together():
    games = Games(np.arange(5), np.arange(5.0)[:, None])
    assert len(games) == 5
    assert games[2:4].worlds.tolist() == [2, 3]
    assert games[2:4].released.ravel().tolist() == [2.0, 3.0]


def test_study_and_judging_games_are_apart():
    play = Play(Game(PAIR, 1.0), 1_000, seed=5)
    assert len(play.study) == int(STUDY * 1_000)
    assert len(play.study) + len(play.judge) == len(play.all) == 1_000
    whole = np.concatenate([play.study.released, play.judge.released])
    assert (whole == play.all.released).all()
    assert np.unique(whole).size == 1_000


def test_recorded_games_are_judged_as_they_are():
    rng = np.random.default_rng(0)
    worlds = rng.integers(0, 2, 20_000)
    released = PAIR.values[worlds, 0] + rng.normal(size=20_000)
    report = rpac.audit((PAIR, 25.0), budget=0.1, released=(worlds, released))
    assert report.alarm
    assert report.games == 20_000
    assert "fitted law" in report.findings[0].note
    assert rpac.audit((PAIR, None), ["bayes"], budget=0.1, released=(worlds, released)).alarm
    for wrong, got in (
        (worlds + 1, "1 to 2"),
        (worlds + 0.5, "0.5 to 1.5, with fractions"),
        (worlds - 1, "-1 to 0"),
    ):
        with pytest.raises(
            rpac.InputError, match=f"Expected whole indices of 2 worlds; got {got}. Count from 0"
        ):
            Game(PAIR, 1.0, (wrong, released)).play(1, 0)
    with pytest.raises(rpac.InputError, match=r"Expected releases of shape \(20000, 1\); got"):
        Game(PAIR, 1.0, (worlds, np.zeros((20_000, 2)))).play(1, 0)


def test_the_decoder_is_the_declared_law_where_the_game_is_honest():
    assert type(Play(Game(PAIR, 4.0), 1_000).decoder) is DeclaredLaw
    assert type(Play(Game(PAIR, laplace), 1_000).decoder) is FittedLaw
    weak = Game(PAIR, 25.0, lambda w, rng: PAIR.values[w, 0] + 0.5 * rng.normal(size=len(w)))
    assert type(Play(weak, 2_000).decoder) is FittedLaw
    true = Game(PAIR, 25.0, lambda w, rng: PAIR.values[w, 0] + 5 * rng.normal(size=len(w)))
    assert Play(true, 2_000).decoder.name  # whichever explains the study games best


def test_gains_average_to_the_sum_over_all_releases():
    """The log score of the exact posterior, written out for a lattice of a few points."""
    outputs = rpac.Outputs([0, 1, 3], [0.5, 0.3, 0.2])
    q = {-1: 0.25, 0: 0.5, 1: 0.25}
    noise = rpac.LatticeNoise(1.0, list(q), list(q.values()))
    truth = 0.0
    for z, p in zip((0, 1, 3), outputs.weights, strict=True):
        for step, mass in q.items():
            law = sum(
                w * q.get(z + step - x, 0.0)
                for x, w in zip((0, 1, 3), outputs.weights, strict=True)
            )
            truth += p * mass * float(log_gain(np.float64(p * mass / law), p))
    play = Play(Game(outputs, noise), 40_000)
    gains = play.gains(play.decoder, play.all)
    assert gains.mean() == pytest.approx(truth, abs=5 * gains.std() / 200)
    assert truth <= rpac.certify(outputs, noise).bound


def test_findings_carry_the_limits_of_their_measure():
    gains = np.log(np.random.default_rng(0).uniform(0.5, 2.0, 4_000))
    found = nats_finding("x", gains, 0.25, 0.01, note="n")
    span = math.log(0.01), math.log(0.99 / 0.25 + 0.01)
    assert (found.low, found.high) == mean_limits(gains, *span, 0.01)
    assert found.nats == max(found.low, 0.0)
    assert found.reached == max(found.estimate, found.nats)
    hits = success_finding("y", 80, 100, 0.5, 0.01)
    low, high = clopper_pearson(80, 100, 0.01)
    assert (hits.low, hits.high, hits.estimate) == (float(low), float(high), 0.8)
    assert hits.nats == pytest.approx(low * math.log(2 * low) + (1 - low) * math.log(2 * (1 - low)))
    assert hits.reached == pytest.approx(0.8 * math.log(1.6) + 0.2 * math.log(0.4))


def test_findings_that_show_nothing():
    assert success_finding("x", 100, 100, 1.0, 0.01).nats == 0.0  # nothing was to be guessed
    assert success_finding("x", 40, 100, 0.5, 0.01).nats == 0.0
    assert nats_finding("x", np.full(100, -1.0), 0.5, 0.01).nats == 0.0
    assert Finding("x", "ratio", 3.0, 3.0, 3.0).reached == 0.0
    assert Finding("x", "success", 0.9, 0.8, 1.0, prior=1.0).reached == 0.0


def test_a_log_score_may_reach_more_than_success_says():
    assert Finding("x", "success", 0.5, 0.4, 0.6, nats=0.3, prior=0.5).reached == 0.3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Game(np.zeros((3, 1)), 1.0), "finite worlds in rpac.Outputs; got ndarray"),
        (lambda: Game(PAIR), "Expected a noise, or a release function; got None for both"),
        (lambda: Game(PAIR, np.eye(2)), r"fits Outputs\(.*; got GaussianNoise\(dim=2"),
        (lambda: Game(PAIR, rpac.LabelChannel(np.eye(2))), "got LabelChannel.*Match the two"),
        (lambda: Game(rpac.Outputs(["a", "b"]), 1.0), "fits Outputs.*'label'.*; got Gaussian"),
        (lambda: Play(Game(PAIR, 1.0), 10), "a whole `games` of at least 200; got 10"),
        (lambda: Play(Game(PAIR, 1.0), 200, -1), "a whole `seed` of at least 0; got -1"),
        (
            lambda: Game(PAIR, 1.0, lambda w, rng: np.zeros((len(w), 2))).play(9, 0),
            r"Expected releases of shape \(9, 1\); got \(9, 2\)\. NaN where it failed",
        ),
        (
            lambda: Game(rpac.Outputs(np.zeros((2, 10_000))), laplace).play(20_000, 0),
            "Expected at most 13421 games of this size; got 20000",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(rpac.InputError, match=message):
        make()


def test_draws_have_no_worlds_to_tell_apart():
    draws = rpac.simulate(rpac.Draws(lambda rng: rng.normal(), clip=(-3, 3), draws=100), float)
    with pytest.raises(rpac.InputError, match=r"got draws\. List possible secrets") as caught:
        Game(draws, 1.0)
    assert "`rpac.attack.one_run`" in str(caught.value)


def test_the_most_exposed_units_of_a_large_pool_are_attacked(monkeypatch):
    rng = np.random.default_rng(4)
    values = np.append(rng.random(199), 60.0)
    outputs = rpac.simulate(rpac.Subsets(values, worlds=64), np.sum)
    small = Play(Game(outputs, 30.0**2), 200)
    assert small.units.tolist() == list(range(200))
    assert (small.masks == outputs.masks).all()
    monkeypatch.setattr("rpac.attack.base._ALL_UNITS", 100)
    monkeypatch.setattr("rpac.attack.base._MOST_EXPOSED", 5)
    large = Play(Game(outputs, 30.0**2), 200)
    assert large.units.size == 5
    assert 199 in large.units
    assert (large.masks == outputs.masks[:, large.units]).all()
    found = rpac.audit((outputs, 30.0**2), ["membership", "lira", "threshold", "precision"])
    assert found.worst_units[0]["unit"] == 199
    assert {row["unit"] for row in found.worst_units} == set(large.units.tolist())
