"""Figures of matplotlib: their lines carry the numbers that were given, and nothing else."""

import re
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from rpac.errors import InputError
from rpac.pictures import plots

BUDGETS = [0.01, 0.1, 1.0]


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def line(axes, label):
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found


def drawn(figure):
    """Draw a figure, so that what matplotlib warns of is an error here."""
    figure.canvas.draw()
    return figure.axes


def test_noise_falls_along_the_budgets_that_were_given():
    scales = {"auto-pac": [9.0, 3.0, 1.0], "equilibrium": [7.0, 2.0, 0.5]}
    (axes,) = drawn(plots.noise_against_budget(BUDGETS, scales, signal=4.0, chosen=0.1))
    for name, values in scales.items():
        assert line(axes, name).get_xdata() == pytest.approx(BUDGETS)
        assert line(axes, name).get_ydata() == pytest.approx(values)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert labels(axes) == list(scales)
    (level,) = [one for one in axes.lines if one.get_linestyle() == "--"]
    assert list(level.get_ydata()) == [4.0, 4.0]
    (mark,) = [one for one in axes.lines if one.get_linestyle() == ":"]
    assert list(mark.get_xdata()) == [0.1, 0.1]
    said = {text.get_text() for text in axes.texts}
    assert said == {"spread of the answer over worlds", "chosen: 0.1 nats"}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.01", "0.1", "1"]
    assert "nats" in axes.get_xlabel()


def test_noise_without_a_choice():
    (axes,) = drawn(plots.noise_against_budget(BUDGETS, {"a": [3.0, 2.0, 1.0]}, signal=1.0))
    assert [one for one in axes.lines if one.get_linestyle() == ":"] == []
    assert len(axes.texts) == 1


def test_noise_that_is_no_numbers_is_refused():
    with pytest.raises(InputError, match=re.escape("Expected numbers in `budgets`; got list.")):
        plots.noise_against_budget(["a"], {}, signal=1.0)
    with pytest.raises(InputError, match=re.escape("`budgets` with 1 axes and at least one entry")):
        plots.noise_against_budget([], {}, signal=1.0)
    with pytest.raises(InputError, match="finite numbers in `a`; got 1 NaN or infinite"):
        plots.noise_against_budget(BUDGETS, {"a": [1.0, np.nan, 2.0]}, signal=1.0)


def rows_of(method, factor):
    return [{"method": method, "budget": b, "power": factor / b, "bound": 0.9 * b, "lower": 0.5 * b}
            for b in BUDGETS[::-1]]  # fmt: skip


def test_methods_are_compared_in_the_order_of_their_budgets():
    left, right = drawn(plots.comparison_figure(rows_of("a", 2.0) + rows_of("b", 3.0)))
    for name, factor in (("a", 2.0), ("b", 3.0)):
        assert line(left, name).get_xdata() == pytest.approx(BUDGETS)
        assert line(left, name).get_ydata() == pytest.approx([factor / b for b in BUDGETS])
        assert line(right, name).get_ydata() == pytest.approx([0.9 * b for b in BUDGETS])
        assert line(left, name).get_color() == line(right, name).get_color()
    assert line(right, "budget").get_xdata() == pytest.approx([0.01, 1.0])
    assert line(right, "budget").get_ydata() == pytest.approx([0.01, 1.0])
    assert labels(left) == ["a", "b"]
    assert labels(right) == ["a", "b", "budget"]
    for band in right.collections:  # from what is leaked at least to what is certified
        corners = band.get_paths()[0].vertices
        assert {*np.round(corners[:, 1], 9)} == {
            *np.round([f * b for f in (0.5, 0.9) for b in BUDGETS], 9)
        }
    assert len(right.collections) == 2


BARS = [("bayes", 0.05, 0.06, False), ("lira", 0.12, 0.14, True)]


def test_a_group_of_noise_alone_does_not_settle_the_axis():
    rows = [
        {"name": "a", "value": 20.0, "noise": (19.0, 21.0), "noisy": False},
        {"name": "b", "value": 30.0, "noise": (29.0, 31.0), "noisy": False},
        {"name": "other", "value": -120.0, "noise": (-697.0, 457.0), "noisy": True},
    ]
    told = {"before": 0.5, "after": 0.55, "what": "whether a given person is in the data"}
    answer, guess = drawn(plots.release_figure(rows, told))
    low, high = answer.get_xlim()
    assert 15 < low < 19
    assert 31 < high < 35
    assert {one.get_marker() for one in answer.lines} == {"o", "<", ">"}
    assert "too noisy to publish" in answer.get_xlabel()
    assert max(map(len, guess.get_title(loc="left").split("\n"))) <= 26
    for alike in (rows[:2], rows[2:]):  # nobody leaves the axis
        answer, _ = drawn(plots.release_figure(alike, told))
        assert answer.get_xlabel() == ""
    inside = [rows[0], rows[1], {**rows[2], "value": 25.0, "noise": (24.0, 26.0)}]
    assert drawn(plots.release_figure(inside, told))[0].get_xlabel() == ""


def test_attacks_stand_below_what_is_claimed():
    claims = {"certificate": 0.1, "budget": 0.11}
    figure = plots.sandwich(BARS, claims, lower=0.05, limit=0.1, title="ALARM")
    (axes,) = drawn(figure)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["bayes", "lira"]
    bars = [one for one in axes.lines if one.get_linewidth() == 2]
    assert [list(one.get_xdata()) for one in bars] == [[0.05, 0.06], [0.12, 0.14]]
    assert [to_rgba(one.get_color()) for one in bars] == [to_rgba("tab:blue"), to_rgba("tab:red")]
    for name, nats in claims.items():
        assert list(line(axes, name).get_xdata()) == [nats, nats]
    (band,) = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.05, 0.1))
    assert labels(axes) == ["certificate", "budget", "the truth lies here"]
    assert axes.get_title(loc="left") == "ALARM"
    assert axes.get_xlim()[0] == 0  # leakage begins at nothing
    bottom, top = axes.get_ylim()
    assert top < 0 < len(BARS) - 1 < bottom  # the first attack on top, none on the frame


def test_an_attack_beyond_the_claim_turns_the_band_round():
    (axes,) = drawn(plots.sandwich(BARS, {"budget": 0.1}, lower=0.12, limit=0.1, title="ALARM"))
    (band,) = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.1, 0.12))
    assert labels(axes) == ["budget", "beyond the claim"]


def test_without_a_claim_there_is_nothing_to_explain():
    (axes,) = drawn(plots.sandwich(BARS, {}, lower=0.05, limit=None, title="No claim"))
    assert axes.get_legend() is None
    assert not axes.patches


def test_figures_grow_with_their_bars_and_open_no_window():
    few, many = (plots.sandwich(BARS * n, {}, lower=0.0, limit=None, title="") for n in (1, 4))
    assert many.get_size_inches()[1] - few.get_size_inches()[1] == pytest.approx(0.4 * 6)
    assert plots.blank_figure(figsize=(2, 1)).axes == []
    assert not hasattr(few, "number")  # pyplot numbers the figures it shows


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    expected = "Expected matplotlib; got no such package. pip install 'rpac[plot]'."
    with pytest.raises(InputError, match=re.escape(expected)):
        plots.blank_figure()


def test_the_picture_of_a_release_has_its_numbers():
    rows = [
        {"name": "lab, pay", "value": 5.0, "noise": (4.0, 6.0), "sampling": (3.0, 8.0)},
        {"name": "ops, pay", "value": 7.0, "noise": None, "sampling": None},
    ]
    told = {"before": 0.5, "after": 0.55, "what": "whether a person is in"}
    answer, guess = drawn(plots.release_figure(rows, told))
    (dots,) = [one for one in answer.lines if one.get_label() == "released"]
    assert list(dots.get_xdata()) == [5.0, 7.0]
    assert [tick.get_text() for tick in answer.get_yticklabels()] == ["lab, pay", "ops, pay"]
    ends = {one.get_label(): one.get_segments()[0][:, 0].tolist() for one in answer.collections}
    assert ends == {"without its noise (95 %)": [4, 6], "mean of all worlds (95 %)": [3, 8]}
    assert [bar.get_width() for bar in guess.patches] == pytest.approx([50, 55])
    assert "whether a person is in" in guess.get_title(loc="left")


def test_attacks_stand_below_what_is_certified():
    told = {"before": 0.5, "after": 0.7, "what": "any fact"}
    nats = {"attack": 0.05, "lower": 0.08, "bound": 0.1, "budget": 0.12}
    *_, between = drawn(plots.release_figure([], told, nats))
    assert labels(between) == ["the truth lies here", "certified: 0.1", "budget", "attacks: 0.05"]
    (band,) = between.patches
    assert (band.get_x(), band.get_width()) == pytest.approx((0.08, 0.02))
    assert between.get_xlim()[1] > 0.12
    *_, bare = drawn(plots.release_figure([], told, {"attack": 0.0, "lower": 0.0, "bound": 0.1}))
    assert "budget" not in labels(bare)


def test_a_gauge_shows_what_is_spent_of_each_cap():
    accounts = [{"label": "ledger", "spent": 0.25, "cap": 1.0}]
    (axes,) = drawn(plots.gauge(accounts))
    assert [bar.get_width() for bar in axes.patches] == [1.0, 0.25]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ledger"]


def test_exposure_is_a_histogram_below_what_is_certified():
    bars = [{"low": 0.5, "high": 0.52, "people": 90}, {"low": 0.52, "high": 0.54, "people": 3}]
    (axes,) = drawn(plots.exposure_figure(bars, 0.55))
    assert [bar.get_height() for bar in axes.patches] == [90, 3]
    assert labels(axes) == ["certified: 55 %"]
    assert "owner" in axes.get_title(loc="left")
    (bare,) = drawn(plots.exposure_figure(bars, None))
    assert bare.get_legend() is None


def test_columns_of_other_units_have_panels_of_their_own():
    rows = [
        {"name": key, "column": column, "value": value, "noise": (0.9 * value, 1.1 * value)}
        for key in ("a", "b")
        for column, value in (("avg(hours)", 40.0), ("count(*)", 3_000))
    ]
    told = {"before": 0.5, "after": 0.55, "what": "whether a given person is in the data"}
    hours, counts, guess = drawn(plots.release_figure(rows, told))
    assert [axes.get_title(loc="left") for axes in (hours, counts)] == ["avg(hours)", "count(*)"]
    assert hours.get_xlim()[1] < 100 < counts.get_xlim()[0]
    for axes in (hours, counts):
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b"]
    assert labels(hours) == ["without its noise (95 %)", "released"]
    assert counts.get_legend() is None
    assert guess.get_xlabel() == "guessed right (%)"
    whole = [{name: row[name] for name in row if name != "column"} for row in rows[:1]]
    answer, _ = drawn(plots.release_figure(whole, told))
    assert answer.get_title(loc="left") == ""


@pytest.mark.parametrize("budgets", [[1.0, 2.0, 3.0], [0.01, 0.1, 1.0], [0.5, 0.52, 0.55]])
def test_a_comparison_has_plain_numbers_and_its_legend_beside_the_curves(budgets):
    rows = [
        {"method": method, "budget": b, "power": 2 / b, "bound": 0.9 * b, "lower": 0.5 * b}
        for method in ("a", "b") for b in budgets
    ]  # fmt: skip
    figure = plots.comparison_figure(rows)
    for axes in drawn(figure):
        said = [tick.get_text() for tick in axes.get_xticklabels()]
        assert said == [f"{b:.3g}" for b in budgets]
        assert list(axes.get_xticks()) == pytest.approx(budgets)
        ticks = [*axes.get_yticklabels(), *axes.get_yticklabels(minor=True)]
        assert not any("$" in tick.get_text() for tick in ticks)
        assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1
