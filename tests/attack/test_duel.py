"""The duel: its ratios are those of the laws, and its games have them."""

import numpy as np
import pytest

from rpac.attack.duel import _log_mass, somebody, stranger
from rpac.person import mechanism
from tests.attack.presences import CASES, released


@pytest.mark.parametrize("name", CASES)
def test_study_games_and_real_draws_have_one_law(name):
    """Ratios of games by formula and of games through the code agree in mean and hits."""
    studied = released(name, 0.8).sealed
    duel, rng = stranger(studied), np.random.default_rng(1)
    played = duel.play(10_000, rng)
    coins = rng.integers(0, 2, 400)
    heard = duel.hear(coins, duel.draw(coins, mechanism.draw))
    for part in ("votes", "levels", "values"):
        for coin in (0, 1):
            many = getattr(played, part)[played.coins == coin]
            some = getattr(heard, part)[coins == coin]
            error = np.hypot(many.std() / np.sqrt(len(many)), some.std() / np.sqrt(len(some)))
            assert abs(many.mean() - some.mean()) <= 5.5 * error + 1e-6
    rates = played.right().mean(), heard.right().mean()
    assert abs(rates[0] - rates[1]) < 5.5 * np.sqrt(0.25 / 400 + 0.25 / 10_000)


@pytest.mark.parametrize("name", CASES)
def test_a_ratio_averages_to_one(name):
    """E[e^ratio] = 1 without the person: what makes it a likelihood ratio and no other score."""
    studied = released(name).sealed
    played = stranger(studied).play(20_000, np.random.default_rng(2))
    for part in ("votes", "levels", "values"):
        ratio = np.exp(getattr(played, part)[played.coins == 0])
        assert abs(ratio.mean() - 1) <= 6 * ratio.std() / np.sqrt(len(ratio)) + 1e-9


@pytest.mark.parametrize("name", CASES)
def test_the_best_test_is_between_the_attack_and_the_claim(name):
    release = released(name)
    rng = np.random.default_rng(3)
    for duel in (stranger(release.sealed), somebody(release.sealed, 0)):
        hits, best = duel.play(5_000, rng).right(), duel.best(2_000, rng)
        assert abs(hits.mean() - best) < 5.5 * np.sqrt(0.25 / 5_000)
        assert 0.5 - 1e-9 <= best <= release.certificate.worst_unit_success + 2e-4


@pytest.mark.parametrize("name", ["count", "sum", "caps"])
def test_the_claim_is_reached_where_no_vote_is_cast(name):
    """A stranger far beyond every level is guessed as well as is claimed: nothing is given away."""
    best = stranger(released(name).sealed).best(4_000, np.random.default_rng(4))
    assert best == pytest.approx(0.7, abs=2e-3)


def test_masses_of_places_sum_to_one_and_keep_their_digits():
    at = np.arange(41)
    for centre in (-30.0, 0.0, 17.5, 40.0, 90.0):
        mass = np.exp(_log_mass(at, np.full(41, centre), 4.0, 40))
        assert mass.sum() == pytest.approx(1, abs=1e-12)
    far = _log_mass(np.array([20, 20]), np.array([-10.0, 50.0]), 1.0, 40)
    assert far[0] == pytest.approx(far[1], rel=1e-12)
    assert far[0] < -400


def test_levels_are_read_as_they_were_drawn():
    studied = released("moments").sealed
    duel = somebody(studied, 0)
    places = np.array([[0, 5], [len(duel._entries[0]) - 1, 77]])
    for at in places:
        levels = tuple(duel._level(i, int(k)) for i, k in enumerate([*at, 3][: len(duel._entries)]))
        shown = type(studied.drawn)(*[*vars(studied.drawn).values()])
        shown = mechanism.Drawn(shown.middles, levels, shown.scales, shown.sums, shown.quantiles)
        assert duel._read_places([shown])[0].tolist() == [*at, 3][: len(duel._entries)]
    drawn = duel._read_places([studied.drawn])[0]
    again = [duel._level(i, int(k)) for i, k in enumerate(drawn)]
    assert again == pytest.approx(studied.drawn.levels, rel=1e-12)


def test_a_stranger_is_beyond_everybody():
    studied = released("many groups").sealed
    duel = stranger(studied)
    middles, places = studied.drawn.middles, duel._read_places([studied.drawn])[0]
    length = np.sqrt(np.square(duel._shift(middles, places)).sum())
    assert length == pytest.approx(studied.shares.values, rel=1e-3)
    for i in range(len(studied.question.levels)):
        without, with_ = duel._centre(i, 0.0)
        assert with_ - without == 8
