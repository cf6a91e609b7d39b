"""The adaptive analyst: what whole transcripts tell, against noise that was made for one answer."""

import math

import numpy as np
import pytest

import rpac
from rpac.attack.adaptive import AdaptiveAnalyst
from rpac.attack.base import Game, Play
from rpac.oracles import quadrature_nats

PAIR = rpac.Outputs([[-1.0], [1.0]])
DELTA = 1e-3


def run(questions, budget=1.0, seed=0, **options):
    analyst = AdaptiveAnalyst(questions, budget, **options)
    return analyst.run(Play(Game(*questions[0]), 200, seed), DELTA)


@pytest.fixture(scope="module")
def needles():
    """Is it one of these four of 64 worlds? 150 such questions, each with noise of its own."""
    rng, questions = np.random.default_rng(0), []
    for _ in range(150):
        outputs = rpac.Outputs((rng.permutation(64) < 4)[:, None].astype(float))
        questions.append((outputs, rpac.calibrate(outputs, 0.15, "auto-pac")))
    return questions


def test_an_adaptive_analyst_overspends_noise_of_the_prior(needles):
    def found(strategy, games):
        analyst = AdaptiveAnalyst(needles, 1.8, rounds=12, strategy=strategy, games=games)
        return rpac.audit(needles[0], [analyst], games=200)

    greedy, blind, second = (
        found(strategy, games)
        for strategy, games in (("greedy", 6_000), ("random", 1_500), ("top-2", 1_500))
    )
    assert greedy.alarm
    assert greedy.findings[0].low > 1.15 * greedy.findings[0].limit  # a tenth of a nat to spare
    assert not blind.alarm
    assert second.findings[0].estimate > 0
    assert greedy.lower == 0.0  # of another release than the one audited


def test_equal_questions_are_asked_in_order_whatever_the_last_bit_says(needles):
    """Ties, broken by rounding, would make a finding depend on the machine's linear algebra."""
    analyst = AdaptiveAnalyst(needles[:3], 1.0, rounds=1, games=100)
    asked = np.zeros((5, 3), bool)
    points = [np.array([[0.0], [1.0]]), np.array([[0.0], [1.0 + 1e-14]]), np.array([[0.0], [1.0]])]
    log_post = np.log(np.full((5, 2), 0.5))
    order = [analyst._choose(log_post, points, asked, np.random.default_rng(0)) for _ in range(4)]
    assert np.transpose(order).tolist() == [[0, 1, 2, 0]] * 5


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_one_question_again_and_again_is_one_question_with_less_noise(rounds):
    found = run([(PAIR, 4.0)], rounds=rounds, games=40_000)
    truth = quadrature_nats([-1, 1], [0.5, 0.5], 2.0 / math.sqrt(rounds))
    assert found.low <= truth
    assert found.estimate == pytest.approx(truth, abs=0.01)
    assert f"greedy, {rounds} of 1 questions" in found.note


@pytest.mark.parametrize("strategy", ["greedy", "top-2"])
def test_the_telling_question_is_asked_first(strategy):
    questions = [(PAIR, 1e4), (PAIR, 1e-4), (PAIR, 1e4)]
    found = run(questions, rounds=1, strategy=strategy, games=4_000)
    assert found.estimate == pytest.approx(math.log(2), abs=0.02)


def test_random_questions_are_all_asked_before_any_is_asked_again():
    questions = [(PAIR, 1e4), (PAIR, 1e-4), (PAIR, 1e4)]
    some, all_of_them = (
        run(questions, rounds=rounds, strategy="random", games=4_000) for rounds in (1, 3)
    )
    assert some.estimate == pytest.approx(math.log(2) / 3, abs=0.05)
    assert all_of_them.estimate == pytest.approx(math.log(2), abs=0.02)


def test_questions_run_out_and_are_asked_again():
    found = run([(PAIR, 4.0), (PAIR, 4.0)], rounds=5, games=100)
    assert found.estimate > 0


def test_equal_seeds_give_equal_findings(needles):
    first, again, other = (run(needles[:9], rounds=3, games=500, seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_the_claim_is_the_budget_of_all_answers_together():
    loud = run([(PAIR, 1.0)], budget=0.05, rounds=4, games=2_000)
    assert (loud.limit, loud.measure, loud.attack) == (0.05, "nats", "adaptive")
    assert loud.nats > loud.limit


def test_refusals(needles):
    with pytest.raises(
        rpac.InputError, match="strategy greedy, top-2 or random; got 150 questions and 'clever'"
    ):
        AdaptiveAnalyst(needles, 1.0, rounds=2, strategy="clever")
    with pytest.raises(rpac.InputError, match="Expected questions, .* got 0 questions and 'greedy"):
        AdaptiveAnalyst([], 1.0, rounds=2)
    labels = (rpac.Outputs(["a", "b"]), rpac.LabelChannel(np.eye(2)))
    unknown = (PAIR, lambda n, rng: rng.normal(size=(n, 1)))
    skewed = (rpac.Outputs([[0.0], [1.0]], [0.3, 0.7]), 1.0)
    for wrong in (labels, unknown, skewed):
        with pytest.raises(
            rpac.InputError,
            match=r"Expected numeric questions on one prior.*; got Outputs",
        ):
            AdaptiveAnalyst([(PAIR, 1.0), wrong], 1.0, rounds=2)
    with pytest.raises(rpac.InputError, match="Expected a whole `rounds` of at least 1; got 0"):
        AdaptiveAnalyst([(PAIR, 1.0)], 1.0, rounds=0)
    with pytest.raises(rpac.InputError, match="Expected a whole `games` of at least 100; got 9"):
        AdaptiveAnalyst([(PAIR, 1.0)], 1.0, rounds=1, games=9)
