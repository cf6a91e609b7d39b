"""From a method's name to noise: every method keeps the contract."""

import warnings

import numpy as np
import pytest

import rpac
from rpac.contracts import check_calibrator
from rpac.front.methods import METHODS

CLUSTERS = rpac.Outputs([-6, -5, -4, -1, 0, 1, 4, 5, 6])


REALS = rpac.Outputs(np.random.default_rng(1).normal(size=(80, 3)) * [3, 1, 0.5])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name):
    check_calibrator(METHODS[name], REALS)


@pytest.mark.parametrize("name", [n for n in METHODS if n != "confident-auto-pac"])
def test_rotating_and_shifting_the_outputs_changes_nothing(name):
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    moved = rpac.Outputs(REALS.values @ turn + 100.0)
    a, b = (rpac.calibrate(o, 0.7, name).power for o in (REALS, moved))
    assert a == pytest.approx(b, rel=0.01)  # Algorithm 1 tests a norm: it is not shift-invariant


def test_the_contract_names_a_cheat():
    class Half(rpac.Calibrator):
        def propose(self, outputs, nats):
            return rpac.AutoPAC().propose(outputs, nats).scaled(0.5)

    with pytest.raises(rpac.ContractError, match="Expected a certified bound of at most 0.1 nats"):
        check_calibrator(Half(), REALS)


def test_where_hardly_any_noise_is_enough_for_a_success_rate():
    """Two units always together with others: even bare answers do not tell who is in."""
    masks = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], bool)
    outputs = rpac.Outputs([0.0, 0.0, 1.0, 1.0], masks=masks)
    budget = rpac.SuccessRate(0.6)
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, budget))
    assert rpac.certify(outputs, law, budget=budget).worst_unit_success == pytest.approx(0.5)


def test_what_all_worlds_agree_on_needs_no_noise_and_no_warning():
    masks = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], bool)
    for values in ([3.5] * 4, [3] * 4, [[1.0, 2.0]] * 4, ["a"] * 4):
        outputs = rpac.Outputs(values, masks=masks)
        for method in METHODS:
            for budget in (0.1, rpac.Bits(1), rpac.SuccessRate(0.55), rpac.ResidualEntropy(1.0)):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    law = rpac.tabulate(outputs, rpac.calibrate(outputs, budget, method))
                assert law.power == 0
                assert rpac.certify(outputs, law, budget=budget).bound < 1e-9
        if outputs.kind != "label":
            assert law.decode(outputs.codes(law)[0]).tolist() == outputs.values[0].tolist()
            assert len(rpac.compare(outputs, [0.1, 0.2]).rows) == 4


def test_plan_and_release_find_the_same_noise():
    data = np.random.default_rng(3).lognormal(size=(80, 3))
    source = rpac.Subsets(data, worlds=64)
    for columns in (1, 3):
        outputs = rpac.simulate(source, lambda x, k=columns: x[:, :k].mean(axis=0))
        laws = [rpac.calibrate(outputs, rpac.SuccessRate(0.6)) for _ in range(3)]
        assert laws[0].power == laws[1].power == laws[2].power


def test_a_step_up_where_the_figure_asks_for_more(monkeypatch):
    outputs = rpac.simulate(rpac.Subsets(np.arange(30.0), worlds=16), np.mean)
    plain = rpac.calibrate(outputs, rpac.SuccessRate(0.6))
    figures = iter([0.61, 0.605])
    monkeypatch.setattr("rpac.front.methods._exact_figure", lambda o, noise: next(figures, 0.6))
    stepped = rpac.calibrate(outputs, rpac.SuccessRate(0.6))
    assert stepped.power == pytest.approx(1.01**2 * plain.power, rel=1e-9)


def test_thousands_of_outputs_and_units_have_no_figure(monkeypatch):
    outputs = rpac.simulate(rpac.Subsets(np.arange(30.0), worlds=16), np.mean)
    monkeypatch.setattr("rpac.front.methods.worst_unit", lambda *a: None)
    with pytest.raises(rpac.InputError, match="Expected outputs with a membership figure; got 16"):
        rpac.calibrate(outputs, rpac.SuccessRate(0.6))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_for_a_success_rate_is_certified(seed):
    """Few worlds and high rates, where every bound without draws lies above 1."""
    rng = np.random.default_rng(seed)
    data = rng.lognormal(size=(int(rng.integers(70, 300)), 1 + seed % 3))
    outputs = rpac.simulate(rpac.Subsets(data, worlds=16), lambda x: x.mean(axis=0))
    budget = rpac.SuccessRate(rng.uniform(0.7, 0.9))
    law = rpac.tabulate(outputs, rpac.calibrate(outputs, budget))
    assert rpac.certify(outputs, law, budget=budget, draws=1_000).worst_unit_success <= budget.rate


@pytest.mark.parametrize("columns", [1, 3])
def test_a_search_among_the_most_exposed_finds_the_noise_for_everybody(columns, monkeypatch):
    data = np.random.default_rng(4).lognormal(size=(600, columns))
    outputs = rpac.simulate(rpac.Subsets(data, worlds=64), lambda x: x.mean(axis=0))
    budget = rpac.SuccessRate(0.6)
    whole = rpac.calibrate(outputs, budget)
    monkeypatch.setattr("rpac.front.methods._CROWD", 64)
    found = rpac.calibrate(outputs, budget)
    assert found.power == pytest.approx(whole.power, rel=0.05)
    law = rpac.tabulate(outputs, found)
    assert rpac.certify(outputs, law, budget=budget).worst_unit_success <= budget.rate
