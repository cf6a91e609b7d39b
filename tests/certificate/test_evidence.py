"""Exact sums against enumeration; every upper bound against problems that know their answer."""

import math

import numpy as np
import pytest

import rpac
from rpac.certificate.evidence import Limit, law_leakage, proved_leakage
from rpac.oracles import problems


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.name)
def test_certificates_enclose_the_answer_of_every_oracle(problem):
    certificate = rpac.certify(problem.outputs, problem.noise)
    assert certificate.lower <= problem.nats + problem.error
    assert certificate.bound >= problem.nats - problem.error
    assert certificate.bound <= 1.02 * problem.nats + 0.002
    for name, bound in certificate.bounds.items():
        assert bound >= problem.nats - problem.error, name


@pytest.mark.parametrize("problem", [p for p in problems() if "cube" in p.name], ids=str)
def test_the_released_law_is_certified_like_the_ideal_one(problem):
    law = rpac.tabulate(problem.outputs, problem.noise)
    certificate = rpac.certify(problem.outputs, law)
    assert problem.nats * 0.99 <= certificate.bound <= 1.02 * problem.nats + 0.003
    assert certificate.charged


def test_leakage_is_unchanged_by_an_invertible_map_of_output_and_noise():
    problem = rpac.oracles.sign_cube(2, 1.0)
    rng = np.random.default_rng(5)
    for _ in range(3):
        a = rng.normal(size=(2, 2)) + 2 * np.eye(2)
        outputs = rpac.Outputs(problem.outputs.values @ a.T)
        certificate = rpac.certify(outputs, rpac.GaussianNoise(a @ a.T))
        assert problem.nats <= certificate.bound <= 1.01 * problem.nats


def test_leakage_falls_with_the_scale_of_gaussian_noise_but_not_of_every_law():
    outputs = rpac.Outputs([0, 2])
    small, large = (rpac.LatticeNoise(1.0, [-k, k], [0.5, 0.5]) for k in (1, 2))
    assert rpac.certify(outputs, small).bound < rpac.certify(outputs, large).bound
    bounds = [rpac.certify(outputs, rpac.GaussianNoise(s**2)).bound for s in (0.5, 1, 2, 4)]
    assert bounds == sorted(bounds, reverse=True)


def test_independent_lattice_noise_on_several_axes_adds_up():
    coin = rpac.oracles.coin_under_uniform(3)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (coin.noise, coin.noise))
    outputs = rpac.Outputs([[0, 0], [0, 1], [1, 0], [1, 1]])
    certificate = rpac.certify(outputs, law)
    assert certificate.bound == pytest.approx(2 * coin.nats, abs=1e-11)
    assert certificate.grade == "proved"


def test_decoder_blind_outputs_are_not_missed():
    """Rings, parities and signs that a linear decoder cannot see leak all the same."""
    angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    parity = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    for values, truth in ((ring, math.log(64)), (parity, math.log(4))):
        certificate = rpac.certify(rpac.Outputs(values), rpac.GaussianNoise(1e-6 * np.eye(2)))
        assert certificate.bound == pytest.approx(truth, abs=1e-3)
        assert certificate.lower > 0.95 * truth


@pytest.mark.parametrize("sigma", [0.05, 0.12, 0.2, 0.4, 1.0])
@pytest.mark.parametrize("dim", [2, 3])
def test_narrow_noise_on_counts_is_never_undercharged(sigma, dim):
    """A Gaussian that is narrow against its lattice does not sum to 1 over it."""
    outputs = rpac.Outputs(np.array([[0] * dim, [1] * dim]))
    law = rpac.tabulate(outputs, rpac.GaussianNoise(sigma**2 * np.eye(dim)))
    offsets, q = law.axes[0].offsets, law.axes[0].weights
    pairs = np.array(np.meshgrid(*[offsets] * dim, indexing="ij")).reshape(dim, -1).T
    mass = np.prod(np.array(np.meshgrid(*[q] * dim, indexing="ij")).reshape(dim, -1), axis=0)
    table = {tuple(b): m for b, m in zip(pairs.tolist(), mass, strict=True)}
    truth = sum(
        m * math.log(m / (0.5 * m + 0.5 * table.get(tuple(b - s for b in key), 0.0)))
        for s in (1,)
        for key, m in table.items()
    )
    for draws in (0, 20_000):
        certificate = rpac.certify(outputs, law, draws=draws)
        assert certificate.bound >= truth - 1e-12
        assert all(bound >= truth - 1e-12 for bound in certificate.bounds.values())


def test_one_question_for_every_law():
    """Labels and tables are judged by the same function; the least proved bound is what counts."""
    channel = rpac.LabelChannel.randomized_response(3, 0.6)
    codes, weights = np.array([[0], [1], [2], [2]]), np.array([0.4, 0.3, 0.2, 0.1])
    found = law_leakage(codes, weights, channel, delta=0.1, draws=0)
    prior = np.array([0.4, 0.3, 0.3])
    law = prior @ channel.matrix
    truth = float((prior[:, None] * channel.matrix * np.log(channel.matrix / law)).sum())
    assert found.proved["exact sum"] == pytest.approx(truth, abs=1e-12)
    assert proved_leakage(codes, weights, channel, 9.0) == pytest.approx(truth, abs=1e-12)
    axis = rpac.LatticeNoise.gaussian(1.0, 2.0)
    table = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    one = law_leakage(codes, weights, table, delta=0.1, draws=0)
    assert proved_leakage(codes, weights, table, 9.0) == min(one.proved.values())


def test_the_cheap_bound_of_several_axes_is_never_below_the_dear_one():
    rng = np.random.default_rng(8)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (rpac.LatticeNoise.gaussian(1.0, 9.0),) * 2)
    for _ in range(20):
        codes, weights = rng.integers(-9, 10, size=(12, 2)), rng.dirichlet(np.ones(12))
        codes -= np.rint(weights @ codes).astype(int)
        h = float(-(weights @ np.log(weights)))
        dear = law_leakage(codes, weights, law, delta=0.1, draws=0).proved
        assert proved_leakage(codes, weights, law, h) >= min(dear.values()) - 1e-9
    assert proved_leakage(1_000_000 * codes, weights, law, h) == pytest.approx(h, abs=1e-9)


def test_draws_end_where_the_charge_and_not_the_bound_alone_meets_the_budget():
    """A charge adds to a bound that was drawn what its error could cost, and must not exceed it."""
    problem = rpac.oracles.sign_cube(2, 1.0)
    law = rpac.tabulate(problem.outputs, problem.noise)
    codes, p = problem.outputs.codes(law), problem.outputs.weights
    truth, draws = problem.nats, 40_000

    def made(proved, drawn):
        limit = Limit(proved, drawn)
        return law_leakage(codes, p, law, delta=1e-6, draws=draws, limit=limit).densities.size

    everything = made(-math.inf, -math.inf)
    assert made(-math.inf, 0.9 * truth) == everything  # no bound that was drawn is so low
    assert made(-math.inf, 2.0 * truth) < everything
    assert made(9.0, -math.inf) < everything  # a proved one is: one batch, for the lower bound


def test_a_release_is_charged_no_more_than_was_asked(tmp_path):
    points = np.random.default_rng(1).normal(size=(64, 3))
    source = rpac.Worlds(list(points))
    for i in range(3):
        with rpac.Ledger(tmp_path / f"{i}.db", budget=9.0) as ledger:
            rpac.privatize(lambda x: x, source, 1.0, ledger=ledger, confidence=0.9999)
            assert 0.9 < ledger.spent <= 1.0
