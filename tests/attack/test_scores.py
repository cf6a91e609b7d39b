"""Membership from scores: the vectorised ratios are the plain ones; one run shows what it may."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import rpac
from rpac.advantage import nats_to_success, success_to_nats
from rpac.attack.base import Game, Play
from rpac.attack.scores import LiRA, Threshold, lira, one_run
from tests.plain_lira import log_normal, loop_lira


@pytest.fixture(scope="module")
def shadows():
    rng = np.random.default_rng(0)
    masks = rpac.Subsets(np.arange(1_000), worlds=512).masks
    return rng.normal(5.0, 1.0, size=masks.shape) + 0.7 * masks * rng.random(1_000), masks


@pytest.mark.parametrize("online", [True, False])
def test_lira_is_the_plain_loop(shadows, online):
    """How much faster it is, `benchmarks/attack.py` measures."""
    scores, masks = shadows
    few = slice(0, 1_000, 250)  # targets do not depend on each other
    slow = loop_lira(scores[:, few], masks[:, few], online=online)
    assert np.abs(lira(scores, masks, online=online)[:, few] - slow).max() <= 1e-10


def test_lira_tells_members(shadows):
    scores, masks = shadows
    online, offline = (lira(scores, masks, online=o) for o in (True, False))
    for statistic in (online, offline, lira(scores, masks, pooled=True)):
        assert statistic[masks].mean() > statistic[~masks].mean() + 0.05
    assert ((online > 0) == masks).mean() > 0.55


def test_pooled_spreads_help_few_shadows():
    rng = np.random.default_rng(1)
    masks = rpac.Subsets(np.arange(400), worlds=8).masks
    scores = rng.normal(size=masks.shape) + masks
    right = [((lira(scores, masks, pooled=p) > 0) == masks).mean() for p in (True, False)]
    assert right[0] > right[1] > 0.5


def test_lira_refuses_what_it_cannot_fit():
    with pytest.raises(rpac.InputError, match=r"Expected masks of shape \(4, 2\)"):
        lira(np.zeros((4, 2)), np.zeros((4, 3)))
    with pytest.raises(rpac.InputError, match="Expected 2 shadows of every target, in and out"):
        lira(np.arange(8.0).reshape(4, 2), np.ones((4, 2)))


def test_attacks_without_a_density_come_close_to_bayes():
    data = np.random.default_rng(2).normal(size=(40, 2))
    outputs = rpac.simulate(rpac.Subsets(data, worlds=128), lambda x: x.mean(axis=0))
    noise = rpac.calibrate(outputs, 1.0, "auto-pac")
    report = rpac.audit(
        (outputs, noise), ["membership", "lira", "lira offline", "threshold"], games=40_000
    )
    exact, *others = report.findings
    for found in others:
        assert 0.55 < found.estimate <= exact.high
        assert found.person
    sampler = rpac.audit((outputs, noise.sample), ["lira"], budget=1.0)
    assert sampler.findings[0].low > 0.55
    with pytest.raises(rpac.InputError, match="Expected games with and without some unit"):
        rpac.audit((outputs, noise), ["lira"], released=(np.zeros(300), np.zeros((300, 2))))


def test_one_run_of_independent_targets():
    members = np.random.default_rng(3).random(500) < 0.5
    all_told = one_run(np.where(members, 2.0, -2.0), members)
    assert (all_told.correct, all_told.guesses) == (500, 500)
    assert all_told.tail == pytest.approx(0.5**500)
    assert all_told.nats > 15
    assert all_told.epsilon == pytest.approx(math.log(1 / (0.05 ** (-1 / 500) - 1)), rel=1e-6)
    blind = one_run(np.ones(500), members)
    assert blind.nats == 0.0
    assert blind.epsilon < 0.2
    bold = one_run(np.where(members, 2.0, -2.0) * (np.arange(500) < 60), members, guesses=60)
    assert (bold.correct, bold.guesses) == (60, 60)
    wrong = one_run(np.where(members, -2.0, 2.0), members)
    assert (wrong.tail, wrong.nats, wrong.epsilon) == (1.0, 0.0, pytest.approx(0.0, abs=1e-12))
    many = np.random.default_rng(4).random(4_000) < 0.5  # a tail below the least float
    assert one_run(np.where(many, 1.0, -1.0), many).nats > 30


def test_one_run_epsilon_is_the_binomial_limit():
    members = np.arange(100) % 2 == 0
    scores = np.where(np.arange(100) < 70, 1.0, -1.0) * np.where(members, 1.0, -1.0)
    found = one_run(scores, members)
    rate = 1 / (1 + math.exp(-found.epsilon))
    assert binom.sf(69, 100, rate) == pytest.approx(0.05, rel=1e-6)


def test_one_run_of_worlds_counts_the_worlds():
    masks = rpac.Subsets(np.arange(60), worlds=512).masks
    found = one_run(np.where(masks[7], 1.0, -1.0), masks[7], masks=masks)
    assert found.tail == pytest.approx(1 / 512)
    assert found.epsilon is None
    assert 0 < found.nats < math.log(512)
    skewed = np.where(np.arange(512) == 7, 0.5, 0.5 / 511)
    known = one_run(np.where(masks[7], 1.0, -1.0), masks[7], masks=masks, weights=skewed)
    assert known.nats == 0.0


def test_one_run_refusals():
    with pytest.raises(rpac.InputError, match="Expected 2 members"):
        one_run([1.0, 2.0], [True])
    with pytest.raises(rpac.InputError, match="Expected at most 2 guesses; got 3"):
        one_run([1.0, 2.0], [True, False], guesses=3)
    with pytest.raises(rpac.InputError, match="Expected masks of 2 targets"):
        one_run([1.0, 2.0], [True, False], masks=[[True]])


@pytest.mark.parametrize("online", [True, False])
def test_pooled_spreads_are_the_means_over_targets(online):
    rng = np.random.default_rng(5)
    masks = rpac.Subsets(np.arange(6), worlds=12).masks
    scores = rng.normal(size=masks.shape)

    def moments(i, chosen):
        rows = [scores[chosen[:, t] & (np.arange(len(scores)) != i), t] for t in range(6)]
        return [r.mean() for r in rows], math.sqrt(np.mean([r.var() for r in rows]))

    found = lira(scores, masks, online=online, pooled=True)
    for i in range(len(scores)):
        out_mean, out_sd = moments(i, ~masks)
        direct = (scores[i] - out_mean) / out_sd
        if online:
            in_mean, in_sd = moments(i, masks)
            direct = log_normal(scores[i], np.array(in_mean), in_sd)
            direct -= log_normal(scores[i], np.array(out_mean), out_sd)
        assert found[i] == pytest.approx(direct, abs=1e-9)


def test_lira_does_not_change_when_scores_are_moved_or_stretched():
    masks = rpac.Subsets(np.arange(8), worlds=32).masks
    scores = np.random.default_rng(6).normal(size=masks.shape)
    for online in (True, False):
        plain = lira(scores, masks, online=online)
        moved = lira(1e6 + 3 * scores, masks, online=online)
        assert moved == pytest.approx(plain, abs=1e-6)


def test_scores_that_never_vary_are_no_division_by_zero():
    masks = rpac.Subsets(np.arange(4), worlds=6).masks
    assert np.isfinite(lira(np.ones(masks.shape), masks)).all()


@pytest.mark.parametrize(
    "attacker", [LiRA(), LiRA(online=False), Threshold()], ids=lambda a: a.name
)
def test_success_on_a_pair_is_that_of_the_best_threshold(attacker):
    """Two worlds at -1 and 1 under unit noise: nobody is right more often than Phi(1)."""
    masks = np.array([[True, False], [False, True]])
    pair = rpac.Outputs([[-1.0], [1.0]], masks=masks)
    found = attacker.run(Play(Game(pair, 1.0), 40_000), 1e-6)
    assert found.low <= norm.cdf(1.0)
    assert found.estimate == pytest.approx(norm.cdf(1.0), abs=0.02)
    assert found.prior == 0.5
    assert found.person
    assert found.note in ("unit 0", "unit 1")


def test_the_exposed_unit_is_found():
    """Only unit 2 moves the release; the others' membership is noise."""
    masks = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], bool)
    outputs = rpac.Outputs(2.0 * masks[:, 2:], masks=masks)
    for attacker in (LiRA(), Threshold()):
        found = attacker.run(Play(Game(outputs, 1.0), 8_000), 1e-6)
        assert found.note == "unit 2"
        assert found.estimate == pytest.approx(norm.cdf(1.0), abs=0.03)


def test_failed_releases_are_no_numbers_and_no_error():
    masks = np.array([[True, False], [False, True]])
    pair = rpac.Outputs([[-1.0], [1.0]], masks=masks)

    def released(worlds, rng):
        y = pair.values[worlds, 0] + rng.normal(size=len(worlds))
        return np.where(rng.random(len(worlds)) < 0.1, np.inf, y)

    found = LiRA().run(Play(Game(pair, 1.0, released), 4_000), 1e-6)
    assert 0.6 < found.estimate < norm.cdf(1.0) + 0.03


def test_one_run_is_the_definition_on_every_small_case():
    """Tails by listing all memberships of six targets; nats by the inequality they come from."""
    rng = np.random.default_rng(7)
    worlds = np.array([[(w >> t) & 1 for t in range(6)] for w in range(64)], bool)
    for k in (1, 3, 6):
        scores, members = rng.normal(size=6), rng.random(6) < 0.5
        found = one_run(scores, members, guesses=k)
        bold = np.argsort(-np.abs(scores))[:k]
        guess = scores[bold] > 0
        right = int((guess == members[bold]).sum())
        tail = ((worlds[:, bold] == guess).sum(axis=1) >= right).mean()
        assert (found.correct, found.guesses) == (right, k)
        assert found.tail == pytest.approx(tail)
        listed = one_run(scores, members, guesses=k, masks=worlds)
        assert listed.tail == pytest.approx(tail)
        assert listed.nats == found.nats


def test_one_run_nats_are_those_that_allow_the_tail():
    members = np.ones(20, bool)
    found = one_run(np.ones(20), members, confidence=0.9)
    tail = 0.5**20
    assert found.tail == pytest.approx(tail)
    assert found.nats == pytest.approx(success_to_nats(0.1, tail))
    assert nats_to_success(found.nats, tail) == pytest.approx(0.1)
    assert found.confidence == pytest.approx(0.9)


def test_undecided_scores_are_guessed_as_out():
    found = one_run(np.zeros(4), [False, False, False, True])
    assert (found.correct, found.guesses) == (3, 4)
