"""Comparisons: intervals, derivatives, coherence, pictures; and the contract of every method."""

import math

import numpy as np
import pytest

import rpac
from rpac.calibrators import budget_search as meet
from rpac.front.compare import COLUMNS, Comparison, _with_slopes

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


def test_methods_are_called_what_their_user_calls_them():
    methods = {"closed form": "auto-pac", "the same": rpac.AutoPAC()}
    table = rpac.compare(CLUSTERS, [0.3], methods)
    assert [row["method"] for row in table.rows] == ["closed form", "the same"]
    assert table.column("the same", "power") == table.column("closed form", "power")
    with pytest.raises(rpac.InputError, match="Expected budgets and methods; got 1 and 0"):
        rpac.compare(CLUSTERS, [0.3], {})


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


def test_a_question_about_presence_is_passed_as_a_pair():
    source = rpac.Presence([1.0, 2.0])
    with pytest.raises(rpac.InputError, match="compare\\(\\(mechanism, source\\), budgets\\)"):
        rpac.compare(rpac.statistics.count(), source)


def test_the_channel_stands_beside_noise_with_its_bias_in_words():
    table = rpac.compare(CLUSTERS, [0.5, 1.0])
    assert [*dict.fromkeys(row["method"] for row in table.rows)] == [
        "equilibrium", "auto-pac", "channel",
    ]  # fmt: skip
    kept, shrunk = table.column("channel", "keeps"), table.column("channel", "shrunk")
    assert ((kept > 0) & (kept < 1)).all()
    assert table.column("equilibrium", "keeps").tolist() == [1.0, 1.0]
    assert (shrunk < table.column("equilibrium", "shrunk")).all()
    limits = table.column("channel", "limit")
    assert (limits <= table.column("channel", "power")).all()
    assert limits == pytest.approx(table.column("channel", "power"), rel=0.01)
    said, proposed = table.notes
    assert "a guess, drawn towards the mean" in said
    assert "channel at 0.5, 1 nats" in proposed
    assert said in str(table)
    assert said in table._repr_html_()
    labels = table.plot().axes[0].get_legend_handles_labels()[1]
    assert "rate-distortion limit" in labels


def test_a_channel_is_proposed_only_where_it_does_better_by_the_users_measure():
    def near(values, released):
        return -float(((values - released) ** 2).sum(axis=1).mean())

    served = rpac.compare(CLUSTERS, [0.5], utility=near).notes[1]
    assert served.startswith("proposed if that is no harm: channel at 0.5 nats")
    missed = rpac.compare(CLUSTERS, [0.5], utility=lambda *both: -near(*both)).notes[1]
    assert missed.startswith("not proposed: channel at 0.5 nats")
    assert missed.endswith("but no more of your utility")


def test_no_channel_where_none_may_be_found_and_no_limit_of_another_utility():
    people = rpac.simulate(rpac.Subsets(np.arange(20.0), worlds=16), np.mean)
    table = rpac.compare(people, [0.1])
    assert {row["method"] for row in table.rows} == {"equilibrium", "auto-pac"}
    assert table.notes == []
    alone = rpac.compare(CLUSTERS, [0.5], [rpac.Equilibrium(rpac.Weighted([2.0]), "channel")])
    assert math.isnan(alone.rows[0]["limit"])
    assert len(alone.notes) == 1  # nothing beside it to gain over
