"""Success on a person: exact for one number, bounded for several, and cheaper than the nats."""

import itertools
import math

import numpy as np
import pytest

import rpac
from rpac.certificate import person
from rpac.certificate.person import (
    People,
    _searched,
    drawn_limits,
    posterior_membership,
    unit_success,
    worst_unit,
)
from rpac.worlds.members import Members, half_samples

INCOMES = np.random.default_rng(0).lognormal(10, 1, 200)


def brute_force(codes, weights, masks, axis):
    """Bayes success for every unit by listing every outcome."""
    law = {}
    for i, (z, p) in enumerate(zip(codes, weights, strict=True)):
        for b, q in zip(axis.offsets, axis.weights, strict=True):
            law.setdefault(int(z + b), np.zeros(len(codes)))[i] += p * q
    joint = np.array(list(law.values()))
    inside = joint @ masks
    right = np.maximum(inside, joint.sum(axis=1, keepdims=True) - inside).sum(axis=0)
    return np.minimum(right, 1.0)  # of sums that round above


def test_exact_sums_equal_enumeration():
    rng = np.random.default_rng(1)
    source = rpac.Subsets(np.arange(6))
    codes = rng.integers(0, 30, size=len(source.masks))
    weights = np.full(len(codes), 1 / len(codes))
    axis = rpac.LatticeNoise.gaussian(1.0, 3.0)
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    found = unit_success(codes[:, None], weights, source.masks, law, delta=0.1)
    assert found == pytest.approx(brute_force(codes, weights, source.masks, axis), abs=1e-10)


def test_worst_unit_calibration_on_incomes():
    outputs = rpac.simulate(rpac.Subsets(INCOMES, worlds=512), np.mean)
    budget = rpac.SuccessRate(0.55)
    noise = rpac.calibrate(outputs, budget)
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise), budget=budget)
    assert 0.545 <= certificate.worst_unit_success <= 0.55
    through_nats = rpac.calibrate(outputs, rpac.Nats(budget.nats()), method="auto-pac")
    assert through_nats.power >= 3 * noise.power
    assert certificate.bound > budget.nats()  # the world's nats are what books must charge
    assert "membership of one person" in str(certificate)


def test_several_numbers_are_bounded_with_confidence():
    data = np.random.default_rng(2).lognormal(size=(40, 2))
    source = rpac.Subsets(data, worlds=64)
    release = rpac.privatize(lambda x: x.mean(axis=0), source, rpac.SuccessRate(0.6))
    assert 0.53 < release.certificate.worst_unit_success <= 0.6
    outputs = rpac.simulate(source, lambda x: x.mean(axis=0))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.3, "auto-pac"))
    codes = outputs.codes(law)
    rng = np.random.default_rng(3)
    worlds = rng.integers(0, 64, 200_000)
    y = codes[worlds] / law.scales + rng.standard_normal((200_000, 2))
    inside = posterior_membership(codes / law.scales, outputs.weights, source.masks, y)
    guess = (inside > 0.5) == source.masks[worlds]
    bound = unit_success(codes, outputs.weights, source.masks, law, delta=1e-3)
    assert (guess.mean(axis=0) <= bound + 4 * 0.5 / np.sqrt(len(y))).all()
    assert bound.max() - guess.mean(axis=0).max() < 0.03


def test_budgets_on_a_person_are_held_against_the_worst_unit():
    outputs = rpac.simulate(rpac.Subsets(INCOMES, worlds=64), np.mean)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 2.0, "auto-pac"))
    with pytest.raises(rpac.BudgetExceeded, match="Expected success on every unit of at most 0.51"):
        rpac.certify(outputs, law, budget=rpac.SuccessRate(0.51))
    assert rpac.certify(outputs, law, budget=rpac.SuccessRate(0.99)).worst_unit_success < 0.99
    with pytest.raises(rpac.InputError, match="Expected a law that can be released, for a success"):
        rpac.certify(outputs, rpac.GaussianNoise(1e20), budget=rpac.SuccessRate(0.99), draws=100)
    own = rpac.LatticeNoise.gaussian(1.0, 5e4)
    assert rpac.certify(outputs, own, budget=rpac.SuccessRate(0.99)).charged


def test_an_offset_of_the_codes_changes_nothing():
    rng = np.random.default_rng(5)
    masks = rpac.Subsets(range(12), worlds=64).masks
    codes = np.rint(masks @ rng.normal(size=(12, 2)) * 9).astype(np.int64)
    law = rpac.GridNoise(np.eye(2), np.zeros(2), (rpac.LatticeNoise.gaussian(1.0, 3.0),) * 2)
    p = np.full(len(codes), 1 / len(codes))
    near, far = (unit_success(codes + s, p, masks, law, delta=1e-3).max() for s in (0, 10**12))
    assert far == pytest.approx(near, abs=0.01)
    bounds = [
        rpac.certify(rpac.Outputs(codes + s), law, draws=0).bounds["log-det"] for s in (0, 10**12)
    ]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-12)


def test_retrying_a_success_rate_uses_up_its_error(monkeypatch):
    shares = []
    data = np.random.default_rng(6).normal(size=(20, 2))
    outputs = rpac.simulate(rpac.Subsets(data, worlds=16), lambda x: x.mean(axis=0))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.5, "auto-pac"))
    monkeypatch.setattr(
        "rpac.certificate.person.largest_drawn",
        lambda people, law, judge, delta: shares.append(delta) or 0.6,
    )
    for _ in range(200):
        rpac.certify(outputs, law, 0.9, draws=100)
    assert sum(shares) <= 0.05


def by_enumeration(codes, weights, masks, law):
    """Bayes success for every unit over all outcomes of several axes."""
    joint = {}
    axes = [list(zip(axis.offsets, axis.weights, strict=True)) for axis in law.axes]
    for i, (z, p) in enumerate(zip(codes, weights, strict=True)):
        for shift in itertools.product(*axes):
            y = tuple(int(c + b) for c, (b, _) in zip(z, shift, strict=True))
            mass = p * np.prod([q for _, q in shift])
            joint.setdefault(y, np.zeros(len(codes)))[i] += mass
    table = np.array(list(joint.values()))
    inside = table @ masks
    right = np.maximum(inside, table.sum(axis=1, keepdims=True) - inside).sum(axis=0)
    return np.minimum(right, 1.0)


def random_case(seed, rank):
    """Worlds, prior, members and a law of any kind; pairs or wrapped masks, odd or even units."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(65, 140)), int(rng.choice([8, 16, 30]))
    members = half_samples(range(n), m, seed)
    if seed % 3 == 0:
        members = Members.wrap(rng.random((m, n)) < rng.uniform(0.2, 0.8))
    weights = np.full(m, 1 / m) if seed % 2 else rng.dirichlet(np.ones(m))
    codes = rng.integers(-8, 9, (m, rank)) * (1 + seed % 4)
    k = int(rng.integers(2, 6))
    tables = [rpac.LatticeNoise(1.0, rng.choice(np.arange(-9, 10), k, replace=False),
                                rng.dirichlet(np.ones(k))) for _ in range(rank)]  # fmt: skip
    if seed % 5 in {0, 1}:
        tables = [rpac.LatticeNoise.gaussian(1.0, rng.uniform(0.5, 1.0)) for _ in range(rank)]
    if seed % 5 == 2 and rank == 1:
        tables = [rpac.LatticeNoise.gaussian(1.0, rng.uniform(10, 80))]
    law = rpac.GridNoise(np.eye(rank), np.zeros(rank), tuple(tables))
    values = codes.astype(float)
    return rpac.Outputs(values, weights, "real", masks=members), law


@pytest.mark.parametrize("seed", range(40))
def test_the_worst_unit_of_one_number_is_the_largest_of_all(seed):
    outputs, law = random_case(seed, 1)
    codes, masks = outputs.codes(law), outputs.masks
    truth = brute_force(codes[:, 0], outputs.weights, masks, law.axes[0])
    found = worst_unit(outputs, law, 0.1, 0)
    assert found == pytest.approx(truth.max(), abs=1e-9)
    assert found >= truth.max()
    every = unit_success(codes, outputs.weights, outputs.members, law, delta=0.1)
    assert every == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_worst_unit_of_several_numbers_is_bounded(seed):
    outputs, law = random_case(seed, 2)
    codes = outputs.codes(law)
    truth = by_enumeration(codes, outputs.weights, outputs.masks, law)
    people = People.of(codes, outputs.weights, outputs.members)
    assert (drawn_limits(people, law) >= truth).all()
    found = worst_unit(outputs, law, 1e-6, None)
    assert truth.max() <= found <= truth.max() + 0.02
    every = unit_success(codes, outputs.weights, outputs.masks, law, delta=1e-6)
    assert (truth <= every).all()
    assert (every <= truth + 0.025).all()
    assert worst_unit(outputs, law, 1e-6, 0) is None


def test_few_units_are_looked_at_where_many_are(monkeypatch):
    outputs = rpac.simulate(rpac.Subsets(np.sort(INCOMES.repeat(20)), worlds=64), np.mean)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.1, "auto-pac"))
    every = unit_success(outputs.codes(law), outputs.weights, outputs.members, law, delta=0.1)
    looked = []
    plain = person._exact
    monkeypatch.setattr(person, "_exact", lambda p, k, u: looked.append(u.size) or plain(p, k, u))
    assert worst_unit(outputs, law, 0.1, 0) == pytest.approx(every.max(), abs=1e-12)
    assert sum(looked) < 600 < every.size


def test_where_one_stops_the_next_limit_stands_in(monkeypatch):
    outputs, law = random_case(7, 1)
    truth = worst_unit(outputs, law, 0.1, 0)
    monkeypatch.setattr(person, "_MOST_EXACT", 1)
    assert truth <= worst_unit(outputs, law, 0.1, 0) <= 1.0
    looked = person._searched(np.array([0.9, 0.8, 0.7]), lambda u, *_: np.full(u.size, 0.6), 2)
    assert looked == pytest.approx(0.7)
    assert person._searched(np.array([0.9, 0.8]), lambda u, *_: np.array([0.85, 0.6]), 2) == 0.85


def test_thousands_of_outputs_are_not_decomposed(monkeypatch):
    outputs, law = random_case(8, 1)
    truth = worst_unit(outputs, law, 0.1, 0)
    monkeypatch.setattr(person, "_MOST_CODES", 2)
    assert worst_unit(outputs, law, 0.1, 0) == pytest.approx(truth, abs=1e-12)
    two, pair = random_case(8, 2)
    people = People.of(two.codes(pair), two.weights, two.members)
    assert (drawn_limits(people, pair) == 1.0).all()
    monkeypatch.setattr(person, "_MOST_EXACT", 2)
    assert worst_unit(outputs, law, 0.1, 0) is None


def test_limits_that_are_no_numbers_are_one(monkeypatch):
    monkeypatch.setattr("rpac.certificate.exact._MOST_CELLS", 3)
    outputs, law = random_case(3, 2)
    people = People.of(outputs.codes(law), outputs.weights, outputs.members)
    assert (drawn_limits(people, law) == 1.0).all()
    assert worst_unit(*random_case(4, 1), 0.1, 0) == 1.0


def test_shares_of_the_error_sum_to_it():
    assert person._shares(1e-3).sum() == pytest.approx(1e-3, rel=1e-12)
    assert (np.diff(person._shares(1e-3)) <= 0).all()


def test_a_certificate_has_the_figure_for_tables_of_any_shape():
    outputs = rpac.simulate(rpac.Subsets(INCOMES[:20], worlds=16), lambda x: [x.mean(), x.max()])
    law = rpac.calibrate(outputs, 0.5, rpac.Equilibrium(family="product"))
    assert 0.5 < rpac.certify(outputs, law).worst_unit_success < 1.0
    assert rpac.certify(outputs, law, draws=0).worst_unit_success is None


def test_a_sum_too_long_is_certain_success(monkeypatch):
    monkeypatch.setattr("rpac.certificate.exact._MOST_CELLS", 10)
    axis = rpac.LatticeNoise(1.0, np.arange(9), np.full(9, 1 / 9))
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    masks = rpac.Subsets(range(2)).masks
    found = unit_success(np.array([[0], [100]]), np.array([0.5, 0.5]), masks, law, delta=0.1)
    assert found.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_unit_of_a_label(seed):
    rng = np.random.default_rng(seed)
    masks = rng.random((12, 30)) < 0.5
    weights = rng.dirichlet(np.ones(12))
    outputs = rpac.Outputs(rng.choice(["a", "b", "c"], 12), weights, masks=masks)
    channel = rpac.LabelChannel(rng.dirichlet(np.ones(len(outputs.labels)), len(outputs.labels)))
    joint = (weights[:, None] * channel.matrix[outputs.values[:, 0].astype(int)]).T
    inside = joint @ masks
    truth = np.maximum(inside, joint.sum(axis=1, keepdims=True) - inside).sum(axis=0).max()
    assert worst_unit(outputs, channel, 0.1, 0) == pytest.approx(truth, abs=1e-10)


@pytest.mark.parametrize(
    ("apart", "step"), [(0.1, 1.5), (3e8, 1.5), (3e8, 4.0), (1e9, 6.0), (1e11, 2.0)]
)
def test_worlds_that_lie_far_apart_keep_their_figure(apart, step):
    """Squares of far worlds cancel: what tells units apart within a cluster must not with them."""
    rng = np.random.default_rng(0)
    half = np.array([np.isin(np.arange(20), rng.permutation(20)[:10]) for _ in range(32)])
    masks = np.concatenate([half, ~half])
    side = 2.0 * np.tile(rng.integers(0, 2, 32), 2) - 1
    outputs = rpac.Outputs(np.stack([apart * side, step * masks[:, 0]], axis=1), masks=masks)
    made = rpac.certify(outputs, rpac.tabulate(outputs, rpac.GaussianNoise(np.eye(2))))
    assert made.worst_unit_success >= 0.5 * (1 + math.erf(step / 2 / math.sqrt(2))) - 1e-9


def test_what_is_not_a_number_is_no_limit():
    assert _searched(np.array([0.6, np.nan]), lambda units, at: np.full(units.size, 0.9), 0) == 1.0
    rng = np.random.default_rng(1)
    weights = np.full(16, 1.0)
    weights[3] = 1e-309
    outputs = rpac.Outputs(np.arange(16) * 1000.0, weights / 15, masks=rng.random((16, 100)) < 0.5)
    made = rpac.certify(outputs, rpac.tabulate(outputs, rpac.GaussianNoise(1.0)))
    assert made.worst_unit_success == 1.0


def test_cheap_bounds_stand_where_they_are_enough_and_cover_the_truth():
    """Hoeffding's bound for whoever is within a number, a better one for the others."""
    outputs, law = random_case(4, 2)
    people = People.of(outputs.codes(law), outputs.weights, outputs.members)
    units, shares = np.arange(6), np.full(6, 1e-3)
    judge = person.Judge.draw(people, law, 4_000)
    cheap, best = (judge.success(people, units, shares, enough) for enough in (1.0, 0.0))
    means = judge.right(people, units).mean(axis=0)
    slack = 0.5 * np.sqrt(np.log(2 / 1e-3) / 8_000)
    assert cheap == pytest.approx(np.minimum(means + slack, 1.0), abs=1e-6)
    assert (best <= cheap).all()
    assert (best > means).all()


def test_a_posterior_that_is_too_large_is_worked_out_again_for_every_unit(monkeypatch):
    outputs, law = random_case(4, 2)
    people = People.of(outputs.codes(law), outputs.weights, outputs.members)
    judge = person.Judge.draw(people, law, 500)
    monkeypatch.setattr(person, "_MOST_POSTERIOR", 10)
    other = person.Judge(judge.law, judge.points, judge.weights, judge.y, judge.rounding)
    units = np.arange(5)
    assert other._posterior is None
    assert judge.right(people, units) == pytest.approx(other.right(people, units), abs=1e-12)
