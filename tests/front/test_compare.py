"""Comparisons: intervals, derivatives, coherence, pictures; and the contract of every method."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators import budget_search as meet
from rpac.calibrators.closed_form import auto_pac_variances
from rpac.calibrators.dp import analytic_gaussian_sigma
from rpac.contracts import check_calibrator
from rpac.front.compare import COLUMNS, Comparison, _with_slopes
from rpac.front.methods import METHODS

CLUSTERS = rpac.Outputs([-6, -5, -4, -1, 0, 1, 4, 5, 6])


def test_comparison_of_methods():
    table = rpac.compare(CLUSTERS, [0.3, 1.0, 1.5], ("equilibrium", "auto-pac", "efficient-pac"))
    assert [row["method"] for row in table.rows[::3]] == [
        "equilibrium",
        "auto-pac",
        "efficient-pac",
    ]
    best, closed = (table.column(m, "power") for m in ("equilibrium", "auto-pac"))
    assert (best < closed).all()
    assert (table.column("auto-pac", "bound") <= [0.3, 1.0, 1.5]).all()
    assert table.column("equilibrium", "priv") == pytest.approx(1.0, abs=1e-3)
    assert (table.column("auto-pac", "priv") < 1).all()
    assert (table.column("equilibrium", "util") > 0).all()
    assert table.column("equilibrium", "coherent").all()
    assert (table.column("auto-pac", "gaussianity_gap") > 0).all()
    for backend in ("pandas", "polars", "pyarrow"):
        assert list(getattr(table.frame(backend), "column_names", table.frame(backend).columns))[
            :2
        ] == list(COLUMNS[:2])
    assert str(table).count("\n") == 9
    assert table._repr_html_().count("<tr>") == 10


def test_utility_is_measured():
    table = rpac.compare(
        CLUSTERS, [1.0], ("equilibrium",), lambda z, y: float(np.mean(np.abs(z - y) < 0.5))
    )
    assert 0.2 < table.rows[0]["utility"] < 1
    labels = rpac.Outputs(["a", "b", "b", "c"])
    table = rpac.compare(labels, [0.2], ("equilibrium",), lambda z, y: float(np.mean(z == y)))
    assert table.rows[0]["utility"] == pytest.approx(1 - table.rows[0]["power"], abs=0.3)
    assert math.isnan(table.rows[0]["gaussianity_gap"])


def test_incoherent_orderings_are_flagged():
    """The paper's theorem: with a growing gap a larger budget can leak less."""
    block = [
        {"budget": 1.0, "bound": 0.95, "lower": 0.9, "power": 2.0},
        {"budget": 2.0, "bound": 0.85, "lower": 0.8, "power": 1.0},
    ]
    rows = _with_slopes(block)
    assert [row["coherent"] for row in rows] == [False, True]
    assert rows[0]["priv"] < 0


def test_budgets_beyond_the_entropy_are_bare():
    table = rpac.compare(CLUSTERS, [1.0, 3.0], ("equilibrium", "auto-pac"))
    assert table.column("auto-pac", "power")[1] == 0


def test_curves_start_from_their_neighbours_and_agree_with_single_budgets():
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(
        np.repeat(rng.normal(size=(6, 3)) * 4, 20, axis=0) + rng.normal(size=(120, 3))
    )
    budgets = [2.0, 0.5, 1.0]
    along = rpac.curve(outputs, budgets)
    for budget, noise in zip(budgets, along, strict=True):
        alone = rpac.calibrate(outputs, budget)
        assert noise.power == pytest.approx(alone.power, rel=0.02)


def test_a_curve_shares_its_work(monkeypatch):
    """Eight budgets cost few evaluations, and those between knots keep their certificates."""
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(3 * rng.normal(size=(8, 3))[rng.integers(0, 8, 1_500)]
                           + 0.5 * rng.normal(size=(1_500, 3)))  # fmt: skip
    budgets = np.geomspace(0.8, 4.0, 8)
    counted = []
    bound = meet.expected_bound

    def counting(*args):
        counted.append(1 / args[3])  # a first look takes a share of the draws
        return bound(*args)

    monkeypatch.setattr(meet, "expected_bound", counting)
    along = rpac.curve(outputs, budgets)
    assert sum(counted) <= 8
    closed = [rpac.calibrate(outputs, b, "auto-pac").power for b in budgets]
    assert [n.power <= c for n, c in zip(along, closed, strict=True)] == [True] * 8
    assert along[-1].power < 0.7 * closed[-1]
    for budget, noise in zip(budgets[::3], along[::3], strict=True):
        assert rpac.certify(outputs, rpac.tabulate(outputs, noise)).bound <= budget


def test_plot():
    figure = rpac.compare(CLUSTERS, [0.3, 1.0], ("auto-pac",)).plot()
    assert len(figure.axes) == 2
    assert figure.axes[0].get_xlabel() == "budget (nats)"


def test_refusals():
    with pytest.raises(rpac.InputError, match="Expected budgets and methods; got 0 and 1"):
        rpac.compare(CLUSTERS, [], ("auto-pac",))
    source = rpac.Draws(lambda rng: rng.normal(), clip=(-4, 4), draws=40)
    with pytest.raises(rpac.InputError, match="Expected finite worlds to compare on; got draws"):
        rpac.compare(rpac.simulate(source, lambda x: x), [0.1])
    assert Comparison([]).rows == []


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


def test_auto_pac_is_below_efficient_pac_is_below_algorithm_1_on_random_spectra():
    rng = np.random.default_rng(3)
    for _ in range(200):
        dim = int(rng.integers(1, 9))
        values = rng.normal(size=(60, dim)) * np.exp(rng.normal(size=dim))
        outputs, nats = rpac.Outputs(values), float(np.exp(rng.uniform(-4, 1)))
        spectrum = np.linalg.eigvalsh(np.atleast_2d(np.cov(values.T, bias=True)))
        auto = auto_pac_variances(spectrum, nats)
        assert 0.5 * np.log1p(spectrum / auto).sum() == pytest.approx(nats, rel=1e-10)
        efficient = rpac.EfficientPAC().propose(outputs, nats).power
        v = float(rng.uniform(0.2, 0.99))
        confident = rpac.ConfidentAutoPAC(v=v, c=10 ** rng.uniform(-8, -2)).propose(outputs, nats)
        assert auto.sum() <= efficient * (1 + 1e-9)
        assert efficient <= confident.power * (1 + 1e-9)


def test_efficient_pac_in_any_basis_and_with_its_stopping_rule():
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    own = rpac.EfficientPAC().propose(REALS, 0.5).power
    other = rpac.EfficientPAC(basis=turn).propose(REALS, 0.5)
    assert other.power > own
    stopped = rpac.EfficientPAC(tau=1e-4).propose(REALS, 0.5)
    assert stopped.power == pytest.approx(own, rel=0.3)
    rpac.certify(REALS, rpac.tabulate(REALS, stopped), budget=0.5)


def test_confident_auto_pac_has_two_branches():
    apart = rpac.Outputs(np.diag([9.0, 3.0, 1.0]) @ np.random.default_rng(5).normal(size=(3, 40)))
    assert rpac.ConfidentAutoPAC(c=1e-12).propose(REALS, 0.5).power < (
        rpac.ConfidentAutoPAC(c=0.1).propose(REALS, 0.5).power
    )
    iso = rpac.ConfidentAutoPAC(c=0.5, radius=100.0).propose(apart, 0.5).variances
    assert np.ptp(iso) < 1e-9 * iso[0]
    for bad in ({"v": 1.0}, {"c": -1.0}):
        with pytest.raises(rpac.InputError, match="Expected 0 < v < 1 and c >= 0"):
            rpac.ConfidentAutoPAC(**bad)


def test_differential_privacy_baselines():
    outputs = rpac.simulate(
        rpac.Subsets(np.clip(np.random.default_rng(6).normal(size=100), -2, 2), worlds=64), np.mean
    )
    nats, sensitivity = 0.1, 4 / 50
    for method in (rpac.DPGaussian(sensitivity), rpac.DPLaplace(sensitivity)):
        noise = rpac.calibrate(outputs, nats, method)
        certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
        assert certificate.worst_unit_success <= rpac.advantage.nats_to_success(nats)
    epsilon = rpac.advantage.nats_to_epsilon(nats)
    laplace = rpac.DPLaplace(sensitivity).propose(outputs, nats)
    assert laplace.power == pytest.approx(2 * (sensitivity / epsilon) ** 2, rel=1e-3)
    exact = rpac.DPGaussian(sensitivity).propose(outputs, nats).power
    classical = rpac.DPGaussian(sensitivity, analytic=False).propose(outputs, nats).power
    assert exact < classical
    with pytest.raises(rpac.InputError, match="Expected a budget that matches a finite epsilon"):
        rpac.DPLaplace(1.0).propose(outputs, 2.0)
    with pytest.raises(rpac.InputError, match="Expected a positive `sensitivity`; got 0"):
        rpac.DPGaussian(0)


def test_the_analytic_gaussian_spends_exactly_its_delta():
    from scipy.stats import norm

    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-3)):
        s = analytic_gaussian_sigma(epsilon, delta)
        spent = norm.cdf(0.5 / s - epsilon * s) - np.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)
        assert spent == pytest.approx(delta, rel=1e-6)
