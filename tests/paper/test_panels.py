"""Panels: what is drawn of a study, and what is not."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")

from rpac.paper.panels import panels
from rpac.paper.published import Claim, Verdict
from rpac.paper.study import Row, Study

BUDGETS = (0.5, 0.1, 0.25)  # out of order: lines are drawn from left to right all the same


def rows(method, secret="who", **figures):
    return [
        Row(
            "iris",
            secret,
            3.0,
            method,
            b,
            power=1 / b,
            certified=0.9 * b,
            attack=0.5 * b,
            **figures,
        )
        for b in BUDGETS
    ]


@pytest.fixture
def of_means():
    figures = {"lira": 0.55, "success_bound": 0.6}
    made = [row for m in ("auto-pac", "equilibrium", "dp") for row in rows(m, **figures)]
    made += rows("auto-pac", secret="which", **figures)
    printed = {
        Claim("iris", "SR-PAC", 0.5, power=0.3, success=0.52): Verdict("compatible"),
        Claim("iris", "SR-PAC", 0.25, power=0.2): Verdict("incompatible", "why"),
        Claim("iris", "DP", 0.25, power=0.2): Verdict("incompatible", "why"),
    }
    return Study("iris", made, printed)


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_there_is_a_row_of_three_panels_for_each_secret(of_means):
    figure = panels(of_means)
    assert len(figure.axes) == 6
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "iris: who"
    assert titles[3] == "iris: which"


def test_power_is_drawn_from_left_to_right_as_privacy_grows(of_means):
    axes = panels(of_means).axes[0]
    line = lines_of(axes)["auto-pac"]
    x, y = line.get_data()
    assert list(x) == [0.1, 0.25, 0.5]
    assert y == pytest.approx(1 / np.array(x))
    assert axes.xaxis_inverted()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_targets_show_what_certificates_and_attacks_leave(of_means):
    axes = panels(of_means).axes[1]
    lines = lines_of(axes)
    assert "dp" not in lines  # it promises no nats about the world
    left, certified = lines["auto-pac"].get_data()
    assert left == pytest.approx(3.0 - np.array([0.1, 0.25, 0.5]))
    assert certified == pytest.approx(3.0 - 0.9 * np.array([0.1, 0.25, 0.5]))
    assert (certified > left).all()  # certificates lie below their budgets
    ends = lines["target"].get_data()
    assert list(ends[0]) == list(ends[1])


def test_printed_rows_are_hollow_where_they_cannot_be_true(of_means):
    figure = panels(of_means)
    marks = {c.get_label(): c for c in figure.axes[0].collections}
    assert set(marks) == {"printed SR-PAC, compatible", "printed SR-PAC, incompatible"}
    assert len(marks["printed SR-PAC, compatible"].get_facecolors()) == 1
    assert len(marks["printed SR-PAC, incompatible"].get_facecolors()) == 0
    offsets = np.asarray(marks["printed SR-PAC, incompatible"].get_offsets())
    assert offsets.tolist() == [[0.25, 0.2]]  # SR-PAC's alone
    assert not figure.axes[3].collections  # the paper has the first secret alone


def test_success_has_its_bound_and_chance(of_means):
    axes = panels(of_means).axes[2]
    lines = lines_of(axes)
    assert lines["highest that the budget allows"].get_ydata() == pytest.approx([0.6] * 3)
    assert "auto-pac" in lines
    assert any(np.all(np.asarray(line.get_ydata()) == 0.5) for line in axes.get_lines())


def test_panels_of_logits_begin_with_accuracy():
    made = [
        *rows("equilibrium", accuracy=0.9, ceiling=0.95),
        *rows("labels", accuracy=0.94, ceiling=0.95),
        *rows("channel", accuracy=0.92, ceiling=0.95, error=0.2, limit=0.19),
    ]
    made.append(Row("mnist", "who", 3.0, "all", 4.0, note="no noise needed", accuracy=0.97))
    figure = panels(Study("mnist", made, {}))
    assert len(figure.axes) == 4
    accuracy, error, power, targets = (lines_of(axes) for axes in figure.axes)
    assert set(accuracy) == {"equilibrium", "labels", "channel", "highest that the budget allows"}
    assert error["channel"].get_ydata() == pytest.approx([0.2] * 3)
    assert error["rate-distortion limit"].get_ydata() == pytest.approx([0.19] * 3)
    assert "channel" not in power
    assert "labels" not in power  # their power is no E|B|^2
    assert "labels" not in targets
    assert max(accuracy["equilibrium"].get_xdata()) == 0.5  # budgets without noise are left out
    assert figure.axes[0].get_ylim() == (0, 1.02)


def test_the_legend_names_everything_once(of_means):
    legends = [axes.get_legend() for axes in panels(of_means).axes]
    assert [legend is not None for legend in legends] == [False, False, True] * 2
    names = [text.get_text() for text in legends[2].get_texts()]
    assert len(names) == len({*names})
    assert {"auto-pac", "equilibrium", "dp", "target"} <= {*names}
