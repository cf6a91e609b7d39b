"""Stackelberg SR-PAC: known optima, every family meets its budget, what makes no sense refused."""

import math

import numpy as np
import pytest

import rpac
from rpac.learned.stackelberg import Stackelberg
from rpac.oracles import quadrature_nats

pytest.importorskip("jax", reason="the extra `neural` is not installed")

SHORT = rpac.Training(iterations=100, batch=64)


def ring(m=8, seed=1):
    """Points in the plane, far from Gaussian."""
    angle = 2 * math.pi * np.arange(m) / m
    spread = np.random.default_rng(seed).normal(size=(m, 2))
    return rpac.Outputs(np.stack([2 * np.cos(angle), np.sin(angle)], axis=1) + 0.05 * spread)


def line(seed=2):
    """Eight values in three clusters."""
    rng = np.random.default_rng(seed)
    return rpac.Outputs(np.array([-3.0, -3, -3, 0, 0, 4, 4, 4]) + 0.1 * rng.normal(size=8))


def test_gaussian_outputs_give_the_closed_form_optimum():
    """A decaying spectrum in ten dimensions: a tenth of the worlds of the benchmark."""
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(rng.normal(size=(400, 10)) * 0.7 ** np.arange(10))
    noise = Stackelberg(training=rpac.Training(iterations=300)).propose(outputs, 1.0)
    closed = rpac.calibrate(outputs, 1.0, method="auto-pac")
    assert noise.power <= 1.03 * closed.power
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=1.0)
    assert certificate.charged


@pytest.fixture(scope="module")
def mixture_play():
    return Stackelberg(family="mixture").play(rpac.Outputs([-1.0, 1.0]), 0.6)


def test_a_mixture_needs_three_quarters_of_the_best_gaussian(mixture_play):
    low, high = 0.1, 2.0
    for _ in range(50):
        middle = (low + high) / 2
        leaks = quadrature_nats([-1, 1], [0.5, 0.5], middle) > 0.6
        low, high = (middle, high) if leaks else (low, middle)
    certificate = rpac.certify(rpac.Outputs([-1.0, 1.0]), mixture_play.noise, budget=0.6)
    assert certificate.grade == "proved"
    assert mixture_play.noise.power <= 0.75 * high**2
    assert mixture_play.attack.nats >= 0.9 * 0.6
    assert mixture_play.attack.lower <= certificate.bound


@pytest.mark.parametrize("family", ["low-rank", "generalized-normal", "flow"])
def test_every_family_meets_the_budget_and_its_attack_comes_close(family):
    outputs = line()
    play = Stackelberg(family=family, components=4, training=SHORT).play(outputs, 1.0)
    law = rpac.tabulate(outputs, play.noise)
    certificate = rpac.certify(outputs, law, budget=1.0)
    assert certificate.bound >= play.attack.lower
    assert play.attack.nats >= 0.9


def test_a_bernoulli_decoder_guesses_members():
    people = np.random.default_rng(0).normal(size=6)
    outputs = rpac.simulate(rpac.Subsets(people, worlds=20), np.mean)
    play = Stackelberg(decoder="bernoulli", training=SHORT).play(outputs, 0.8)
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, play.noise), budget=0.8)
    assert play.attack.nats >= 0.2
    assert play.attack.lower <= certificate.bound
    with pytest.raises(rpac.InputError, match="half-samples for a Bernoulli decoder"):
        Stackelberg(decoder="bernoulli", training=SHORT).play(ring(), 0.8)


def test_a_direction_of_no_weight_is_not_released():
    noise = Stackelberg(utility=rpac.Weighted(np.diag([1.0, 0.0])), training=SHORT).propose(
        ring(), 0.8
    )
    assert noise.drop
    assert noise.variances.size == 1


def test_counts_keep_their_lattice():
    outputs = rpac.Outputs(np.array([0, 1, 5, 6]))
    noise = Stackelberg(family="laplace", training=SHORT).propose(outputs, 0.7)
    assert noise.axes[0].step == 1.0
    assert rpac.certify(outputs, noise, budget=0.7).grade == "proved"


def test_open_distributions_get_gaussian_noise():
    source = rpac.Draws(lambda rng: rng.normal(size=2), clip=(-4, 4), draws=2_000)
    outputs = rpac.simulate(source, lambda x: x)
    noise = Stackelberg(training=SHORT).propose(outputs, 0.8)
    rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=0.8)
    with pytest.raises(rpac.InputError, match="Gaussian noise for draws; got 'laplace'"):
        Stackelberg(family="laplace", training=SHORT).propose(outputs, 0.8)


def test_a_play_goes_on_from_another():
    outputs = line()
    game = Stackelberg(training=rpac.Training(iterations=50, batch=64))
    first = game.play(outputs, 0.8)
    second = game.play(outputs, 0.8, resume=first)
    assert len(first.history) == len(second.history) == 50
    assert int(second.state.t) == 100


def test_blocks_have_independent_noise_and_a_cost_of_ones_own_counts():
    cost = rpac.Smooth(lambda b: 100 * b[:, 0] ** 2 + b[:, 1] ** 2)
    game = Stackelberg(utility=cost, training=SHORT)
    play = game.play_blocks(ring(m=128), 0.8, np.eye(2), (1, 1))
    assert abs(play.noise.cov[0, 1]) < 1e-9
    assert play.noise.cov[0, 0] < 0.5 * play.noise.power  # though outputs differ most along it


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Stackelberg(family="cauchy"), r"a family among \('gaussian'.*; got 'cauchy'"),
        (lambda: Stackelberg(components=1), "a whole `components` of at least 2; got 1"),
        (lambda: Stackelberg(start=0.0), "`start` between 0.0 and 100.0; got 0.0"),
        (lambda: Stackelberg(decoder="oracle").propose(ring(), 0.5), "a decoder among .*'oracle'"),
        (
            lambda: Stackelberg(family="flow", basis="best").propose(ring(), 0.5),
            'basis "principal", "independent" or a matrix; got \'best\'',
        ),
        (
            lambda: Stackelberg().propose(rpac.Outputs(["a", "b"]), 0.5),
            r"numeric outputs; got Outputs\(worlds=2, dim=1, kind='label'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected {message}"):
        call()
