"""The rate-distortion game: its steps descend, and its dual is below every channel."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators import rate_distortion as module
from rpac.calibrators.rate_distortion import Book, Game

RNG = np.random.default_rng(5)
POINTS, WEIGHTS = RNG.normal(size=(60, 2)), RNG.dirichlet(np.ones(60))
FOUR = Book(POINTS[:4], np.array([0.4, 0.3, 0.2, 0.1]), 1.5)


def by_hand(book, points=POINTS, weights=WEIGHTS):
    """Return P(word | world), MI and E[loss] of one step, from the definitions."""
    loss = np.square(points[:, None] - book.words).sum(axis=2)
    kernel = book.mass * np.exp(-book.slope * loss)
    matrix = kernel / kernel.sum(axis=1, keepdims=True)
    mass = weights @ matrix
    nats = float((weights[:, None] * matrix * np.log(matrix / mass)).sum())
    return matrix, nats, float((weights[:, None] * matrix * loss).sum())


@pytest.mark.parametrize("utility", [None, rpac.SquaredError()])
def test_a_step_is_what_the_definitions_say(monkeypatch, utility):
    monkeypatch.setattr(module, "_BLOCK", 64)  # several blocks
    game = Game(POINTS, WEIGHTS, utility, moving=True)
    matrix, nats, lost = by_hand(FOUR)
    for shift in (None, np.zeros(60), np.full(60, -1e4)):  # the last one would overflow
        step = game.step(FOUR, shift)
        assert step.leakage == pytest.approx(nats, abs=1e-12)
        assert step.distortion == pytest.approx(lost)
        assert step.mass == pytest.approx(WEIGHTS @ matrix)
        joint = WEIGHTS[:, None] * matrix
        assert step.means == pytest.approx(joint.T @ POINTS / joint.sum(axis=0)[:, None])
    assert game.channel(FOUR) == pytest.approx(matrix)
    assert game.figures(matrix, FOUR.words) == pytest.approx((nats, lost))
    assert game.slope(matrix, WEIGHTS @ matrix, FOUR.words) == pytest.approx(1.5, rel=0.3)


def free_energy(game, book):
    return -float(game.weights @ game.step(book).log_z)


@pytest.mark.parametrize("moving", [True, False])
def test_settling_descends_and_keeps_what_it_may_not_move(moving):
    game = Game(POINTS, WEIGHTS, moving=moving)
    found = game.settled(FOUR, 300, 1e-9)
    assert free_energy(game, found) < free_energy(game, FOUR)
    assert np.isclose(found.mass.sum(), 1.0)
    if not moving:
        assert {tuple(w) for w in found.words} <= {tuple(w) for w in FOUR.words}
    step = game.step(found)
    assert step.mass == pytest.approx(found.mass, abs=1e-3)  # stationary


def test_a_loss_whose_words_had_better_stay_keeps_them():
    """Words at means are wrong for |z - w|: the step that would raise F is taken back."""
    game = Game(POINTS, WEIGHTS, rpac.Loss(lambda v, w: np.abs(v[:, None] - w).sum(axis=2) ** 0.25),
                moving=True)  # fmt: skip
    found = game.settled(FOUR, 100, 1e-9)
    assert free_energy(game, found) <= free_energy(game, FOUR)


def test_words_that_have_come_together_are_one():
    twins = Book(np.array([[0.0, 0.0], [1e-4, 0.0], [3.0, 0.0]]), np.array([0.5, 0.3, 0.2]), 1.0)
    merged = Game(POINTS, WEIGHTS, moving=True).merged(twins)
    assert sorted(merged.mass.tolist()) == pytest.approx([0.2, 0.8])
    assert merged.words[np.argmax(merged.mass)] == pytest.approx([0.375e-4, 0.0])
    assert Game(POINTS, WEIGHTS, moving=False).merged(twins) is twins
    single = Book(np.zeros((1, 2)), np.ones(1), 1.0)
    assert Game(POINTS, WEIGHTS, moving=True).merged(single) is single


@pytest.mark.parametrize("seed", range(8))
def test_no_channel_goes_below_the_dual(seed):
    """Any channel to words among the candidates: the optimum over fixed words, by plain steps."""
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(40, 2)), rng.dirichlet(np.ones(40))
    game = Game(points, weights, moving=False)
    book = Book(points[:10], np.full(10, 0.1), float(rng.uniform(0.3, 4.0)))
    every = Book(points, np.full(40, 1 / 40), book.slope * float(rng.uniform(0.5, 2.0)))
    best = game.settled(every, 2_000, 1e-12)
    limit = game.limit(book, best.leakage, points)
    assert limit <= best.distortion * (1 + 1e-9)
    own = game.limit(game.settled(every, 2_000, 1e-12), best.leakage, points)
    assert own == pytest.approx(best.distortion, rel=2e-3)  # and it is met


def test_the_dual_is_the_gaussian_limit_for_a_gaussian_source():
    x = np.linspace(-5, 5, 401)
    p = np.exp(-x * x / 2) / np.exp(-x * x / 2).sum()
    outputs = rpac.Outputs(x, p)
    law = rpac.calibrate(outputs, 1.0, "channel")
    found = rpac.Equilibrium().limit(outputs, law)
    assert found.limit == pytest.approx(math.exp(-2.0), rel=0.005)
    assert 0 <= found.gap < 0.005
    assert "candidates" in str(found)
