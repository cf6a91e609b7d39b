"""Membership from scores: the vectorised ratios are the plain ones; one run shows what it may."""

import math
import time

import numpy as np
import pytest
from scipy.stats import binom

import rpac
from rpac import attack
from tests.plain_lira import loop_lira


@pytest.fixture(scope="module")
def shadows():
    rng = np.random.default_rng(0)
    masks = rpac.Subsets(np.arange(1_000), worlds=512).masks
    return rng.normal(5.0, 1.0, size=masks.shape) + 0.7 * masks * rng.random(1_000), masks


@pytest.mark.parametrize("online", [True, False])
def test_lira_is_the_plain_loop_and_fifty_times_faster(shadows, online):
    scores, masks = shadows
    few = slice(0, 1_000, 125)  # a 125th of the targets, so that the loop takes a second
    start = time.process_time()
    slow = loop_lira(scores[:, few], masks[:, few], online=online)
    loop = 125 * (time.process_time() - start)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        fast = attack.lira(scores, masks, online=online)
        seconds.append(time.process_time() - start)
    assert np.abs(fast[:, few] - slow).max() <= 1e-10
    assert loop >= 50 * min(seconds)


def test_lira_tells_members(shadows):
    scores, masks = shadows
    online, offline = (attack.lira(scores, masks, online=o) for o in (True, False))
    for statistic in (online, offline, attack.lira(scores, masks, pooled=True)):
        assert statistic[masks].mean() > statistic[~masks].mean() + 0.05
    assert ((online > 0) == masks).mean() > 0.55


def test_pooled_spreads_help_few_shadows():
    rng = np.random.default_rng(1)
    masks = rpac.Subsets(np.arange(400), worlds=8).masks
    scores = rng.normal(size=masks.shape) + masks
    right = [((attack.lira(scores, masks, pooled=p) > 0) == masks).mean() for p in (True, False)]
    assert right[0] > right[1] > 0.5


def test_lira_refuses_what_it_cannot_fit():
    with pytest.raises(rpac.InputError, match=r"Expected masks of shape \(4, 2\)"):
        attack.lira(np.zeros((4, 2)), np.zeros((4, 3)))
    with pytest.raises(rpac.InputError, match="Expected 2 shadows of every target, in and out"):
        attack.lira(np.arange(8.0).reshape(4, 2), np.ones((4, 2)))


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
    all_told = attack.one_run(np.where(members, 2.0, -2.0), members)
    assert (all_told.correct, all_told.guesses) == (500, 500)
    assert all_told.tail == pytest.approx(0.5**500)
    assert all_told.nats > 15
    assert all_told.epsilon == pytest.approx(math.log(1 / (0.05 ** (-1 / 500) - 1)), rel=1e-6)
    blind = attack.one_run(np.ones(500), members)
    assert blind.nats == 0.0
    assert blind.epsilon < 0.2
    bold = attack.one_run(np.where(members, 2.0, -2.0) * (np.arange(500) < 60), members, guesses=60)
    assert (bold.correct, bold.guesses) == (60, 60)
    wrong = attack.one_run(np.where(members, -2.0, 2.0), members)
    assert (wrong.tail, wrong.nats, wrong.epsilon) == (1.0, 0.0, pytest.approx(0.0, abs=1e-12))
    many = np.random.default_rng(4).random(4_000) < 0.5  # a tail below the least float
    assert attack.one_run(np.where(many, 1.0, -1.0), many).nats > 30


def test_one_run_epsilon_is_the_binomial_limit():
    members = np.arange(100) % 2 == 0
    scores = np.where(np.arange(100) < 70, 1.0, -1.0) * np.where(members, 1.0, -1.0)
    found = attack.one_run(scores, members)
    rate = 1 / (1 + math.exp(-found.epsilon))
    assert binom.sf(69, 100, rate) == pytest.approx(0.05, rel=1e-6)


def test_one_run_of_worlds_counts_the_worlds():
    masks = rpac.Subsets(np.arange(60), worlds=512).masks
    found = attack.one_run(np.where(masks[7], 1.0, -1.0), masks[7], masks=masks)
    assert found.tail == pytest.approx(1 / 512)
    assert found.epsilon is None
    assert 0 < found.nats < math.log(512)
    skewed = np.where(np.arange(512) == 7, 0.5, 0.5 / 511)
    known = attack.one_run(np.where(masks[7], 1.0, -1.0), masks[7], masks=masks, weights=skewed)
    assert known.nats == 0.0


def test_one_run_refusals():
    with pytest.raises(rpac.InputError, match="Expected 2 members"):
        attack.one_run([1.0, 2.0], [True])
    with pytest.raises(rpac.InputError, match="Expected at most 2 guesses; got 3"):
        attack.one_run([1.0, 2.0], [True, False], guesses=3)
    with pytest.raises(rpac.InputError, match="Expected masks of 2 targets"):
        attack.one_run([1.0, 2.0], [True, False], masks=[[True]])
