"""Success on a person: exact for one number, bounded for several, and cheaper than the nats."""

import numpy as np
import pytest

import rpac
from rpac.certificate.person import posterior_membership, unit_success

INCOMES = np.random.default_rng(0).lognormal(10, 1, 200)


def brute_force(codes, weights, masks, axis):
    """Bayes success for every unit by listing every outcome."""
    law = {}
    for i, (z, p) in enumerate(zip(codes, weights, strict=True)):
        for b, q in zip(axis.offsets, axis.weights, strict=True):
            law.setdefault(int(z + b), np.zeros(len(codes)))[i] += p * q
    joint = np.array(list(law.values()))
    inside = joint @ masks
    return np.maximum(inside, joint.sum(axis=1, keepdims=True) - inside).sum(axis=0)


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
        "rpac.certificate.person.unit_success",
        lambda *a, delta, **k: shares.append(delta) or np.array([0.6]),
    )
    for _ in range(200):
        rpac.certify(outputs, law, 0.9, draws=100)
    assert sum(shares) <= 0.05


def test_tables_that_are_not_gaussian_need_one_axis():
    outputs = rpac.simulate(rpac.Subsets(INCOMES[:20], worlds=16), lambda x: [x.mean(), x.max()])
    law = rpac.calibrate(outputs, 0.5, rpac.Equilibrium(family="product"))
    assert rpac.certify(outputs, law).worst_unit_success is None
    with pytest.raises(rpac.InputError, match="Expected Gaussian tables for several axes; got"):
        rpac.certify(outputs, law, budget=rpac.SuccessRate(0.9))


def test_a_sum_too_long_is_certain_success(monkeypatch):
    monkeypatch.setattr("rpac.certificate.exact._MOST_CELLS", 10)
    axis = rpac.LatticeNoise(1.0, np.arange(9), np.full(9, 1 / 9))
    law = rpac.GridNoise(np.eye(1), np.zeros(1), (axis,))
    masks = rpac.Subsets(range(2)).masks
    found = unit_success(np.array([[0], [100]]), np.array([0.5, 0.5]), masks, law, delta=0.1)
    assert found.tolist() == [1.0, 1.0]
