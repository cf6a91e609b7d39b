"""Figures as SVG: well-formed, and every mark where its number is."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rpac.pictures import svg

CURVE = [(0.01, 10.0), (0.1, 3.0), (1.0, 0.5)]


def read(text):
    """Return the figure as XML; a tag or a letter that is not escaped would raise."""
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label")
    return root


def marks(root, tag, kind=None):
    found = root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")
    return [mark for mark in found if kind in (None, mark.get("class"))]


def points(line):
    return [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]


def texts(root):
    return {mark.text: (float(mark.get("x")), float(mark.get("y"))) for mark in marks(root, "text")}


def inside(root):
    """Whether every mark lies within the figure."""
    *_, width, height = map(float, root.get("viewBox").split())
    places = [place for line in marks(root, "polyline") for place in points(line)]
    places += [(float(c.get("cx")), float(c.get("cy"))) for c in marks(root, "circle")]
    places += texts(root).values()
    return all(0 <= x <= width and 0 <= y <= height for x, y in places)


def test_the_sandwich_stands_to_scale():
    root = read(svg.sandwich(0.1, 0.4, budget=0.5, attack=0.2))
    top = 1.12 * 0.5

    def at(nats):
        return pytest.approx(20 + 600 * nats / top, abs=0.06)

    (band,) = marks(root, "rect", "band")
    assert float(band.get("x")) == at(0.2)  # what attacks reach lies above what is proved
    assert float(band.get("x")) + float(band.get("width")) == at(0.4)
    (bound,), (budget,) = marks(root, "polyline", "strong"), marks(root, "polyline", "dashed")
    assert [x for x, _ in points(bound)] == [at(0.4)] * 2
    assert [x for x, _ in points(budget)] == [at(0.5)] * 2
    (dot,) = marks(root, "circle", "dot")
    assert float(dot.get("cx")) == at(0.2)
    for nats in (0.2, 0.4):
        assert texts(root)[f"{nats:g}"][0] == at(nats)
    assert "certified: at most 0.4" in texts(root)
    assert "attacks reach at least 0.2 (dot)" in texts(root)
    assert root.get("aria-label") == "The release leaks between 0.2 and 0.4 nats"
    assert inside(root)


def test_a_sandwich_without_attack_or_budget():
    root = read(svg.sandwich(0.3, 0.4, budget=None, attack=None))
    assert not marks(root, "circle")
    assert not marks(root, "polyline", "dashed")
    assert not any("attack" in text for text in texts(root))
    (band,) = marks(root, "rect", "band")
    assert float(band.get("x")) == pytest.approx(20 + 600 * 0.3 / 0.448, abs=0.06)


def test_what_is_certified_is_rounded_up():
    root = read(svg.sandwich(0.0, 0.123451, budget=None, attack=None))
    assert "certified: at most 0.1235" in texts(root)
    assert root.get("aria-label").endswith("and 0.1235 nats")


@pytest.mark.parametrize("bound", [0.0, 1e-12, 1e-6, 0.3, 7.0, 1e4])
def test_a_sandwich_of_any_size_stays_in_its_frame(bound):
    for lower in (-0.1, 0.0, bound):
        root = read(svg.sandwich(lower, bound, budget=bound or None, attack=lower))
        assert inside(root)
        (band,) = marks(root, "rect", "band")
        assert float(band.get("width")) >= 2  # to be seen at all


@pytest.mark.parametrize(
    ("top", "ticks"),
    [(1.0, [0, 0.5, 1]), (0.336, [0, 0.1, 0.2, 0.3]), (0.56, [0, 0.2, 0.4]), (2.0, [0, 1, 2]),
     (11.2, [0, 5, 10]), (0.0499, [0, 0.01, 0.02, 0.03, 0.04])],
)  # fmt: skip
def test_axes_have_round_numbers(top, ticks):
    assert svg._round_numbers(top) == ticks


def test_any_axis_has_three_to_five_round_numbers():
    for step in range(-900, 300):
        top = 10 ** (step / 97)
        ticks = svg._round_numbers(top)
        assert 3 <= len(ticks) <= 5
        assert ticks[0] == 0
        assert ticks[-1] <= top * (1 + 1e-6)
        assert f"{ticks[1]:e}"[0] in "125"


def test_noise_is_drawn_on_log_axes():
    root = read(svg.noise_against_budget(CURVE, 0.1, 2.0))
    low, high = math.log10(0.5) - 0.1, 1.1

    def at(nats, share):
        x = 70 + 540 * (math.log10(nats) + 2) / 2
        y = 250 - 212 * (math.log10(share) - low) / (high - low)
        return pytest.approx((x, y), abs=0.06)

    (curve,) = marks(root, "polyline", "curve")
    assert points(curve) == [at(*pair) for pair in CURVE]
    small = [(float(c.get("cx")), float(c.get("cy"))) for c in marks(root, "circle", "small")]
    assert small == [at(*pair) for pair in CURVE]
    (dot,) = marks(root, "circle", "dot")
    assert (float(dot.get("cx")), float(dot.get("cy"))) == at(0.1, 2.0)
    said = texts(root)
    assert {"0.01", "0.1", "1", "1 x", "3 x", "10 x", "chosen: 0.1 nats"} <= set(said)
    for share in (1, 3, 10):
        assert (340, said[f"{share} x"][1] - 5) == at(0.1, share)
    assert inside(root)


@pytest.mark.parametrize("budget", [0.001, 0.01, 0.9, 30.0])
def test_a_budget_beyond_the_curve_widens_the_axis(budget):
    root = read(svg.noise_against_budget(CURVE, budget, 1.0))
    assert inside(root)
    assert f"chosen: {budget:.3g} nats" in texts(root)


def test_noise_without_a_choice_or_without_a_curve():
    root = read(svg.noise_against_budget(CURVE, 0.1, None))
    assert not marks(root, "circle", "dot")
    assert svg.noise_against_budget([(0.1, 2.0)], 0.1, 2.0) == ""
    assert svg.noise_against_budget([(0.1, 2.0), (0.3, 0.0)], 0.1, 2.0) == ""  # no noise: no log
    assert svg.noise_against_budget([], 0.1, 2.0) == ""


def cell(value, noise, sampling=None):
    return {"value": value, "noise": noise, "sampling": sampling}


def test_intervals_stand_to_scale():
    rows = [{"k": "a", "x": cell(5.0, [4.0, 6.0], [0.0, 10.0])}, {"k": "b", "x": cell(8.0, [7, 9])}]
    root = read(svg.intervals(rows, "x"))

    def at(value):
        return pytest.approx(30 + 580 * value / 10, abs=0.06)

    wide, narrow = (marks(root, "polyline", kind) for kind in ("wide", "narrow"))
    assert [[x for x, _ in points(line)] for line in wide] == [[at(0), at(10)], [at(7), at(9)]]
    assert [[x for x, _ in points(line)] for line in narrow] == [[at(4), at(6)], [at(7), at(9)]]
    dots = marks(root, "circle", "dot")
    assert [float(dot.get("cx")) for dot in dots] == [at(5), at(8)]
    assert [float(dot.get("cy")) for dot in dots] == [44, 90]
    said = texts(root)
    assert (said["a"], said["b"]) == ((30, 28), (30, 74))
    assert {"0", "10", "x"} <= set(said)
    assert inside(root)


def test_names_are_text_and_never_markup():
    name = '<b>&"quoted"</b>'
    root = read(svg.intervals([{name: name, "x<y": cell(1.0, [0.0, 2.0])}], "x<y"))
    assert {name, "x<y"} <= set(texts(root))
    assert root.get("aria-label") == "Released values of x<y with two intervals each"


def test_a_row_without_a_key_is_named_by_its_column():
    root = read(svg.intervals([{"pay": cell(1.0, [0.5, 2.0])}], "pay"))
    assert texts(root)["pay"]


def test_many_rows_are_cut_and_that_is_said():
    rows = [{"k": i, "x": cell(i, [i - 1, i + 1])} for i in range(30)]
    assert len(marks(read(svg.intervals(rows, "x")), "circle")) == 30
    root = read(svg.intervals(rows, "x", most=12))
    assert len(marks(root, "circle")) == 12
    assert "x, the first 12 of 30 rows" in texts(root)
    assert len(marks(read(svg.intervals(rows, "x", most=3)), "circle")) == 3
    assert "x" in texts(read(svg.intervals(rows[:12], "x")))


@pytest.mark.parametrize(
    ("low", "high"), [(0, 10), (-3.3, 4.1), (1e6, 1.0001e6), (5, 5), (0, 0), (-7e-9, 1e-8), (1, 64)]
)
def test_axes_end_at_round_numbers_beyond_what_is_drawn(low, high):
    ticks = svg._ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert ticks[0] <= low
    assert ticks[-1] >= high
    steps = np.diff(ticks)
    assert steps == pytest.approx(steps[0], rel=1e-3)


def test_labels_fit_where_they_stand():
    assert [svg._tick(v) for v in (0.0, 12_000.0, 2.5, 1e9)] == ["0", "12,000", "2.5", "1e+09"]
    long = "x" * 200
    root = read(svg.intervals([{"k": long, long: cell(1.0, [0.5, 2.0])}], long))
    assert max(map(len, texts(root))) == 60
    assert inside(root)


def test_what_is_no_number_is_not_drawn():
    assert svg.intervals([{"label": "yes"}], "label") == ""
    assert svg.intervals([], "x") == ""
    rows = [
        {"x": cell("yes", None)},
        {"x": cell(1.0, None)},
        {"y": 1},
        {"x": cell(2.0, [1.0, 3.0])},
    ]
    assert len(marks(read(svg.intervals(rows, "x")), "circle")) == 1


def test_one_value_without_any_spread_is_drawn():
    root = read(svg.intervals([{"x": cell(3.0, [3.0, 3.0])}], "x"))
    assert inside(root)
    assert float(marks(root, "circle")[0].get("cx")) == 30


@pytest.mark.parametrize("apart", [0.0, 1.0, 300.0, 1e5])
def test_large_numbers_that_nearly_agree_are_drawn(apart):
    ends = [-1.3e11 - apart, -1.3e11 + apart]
    rows = [{"k": "a", "p": {"value": end, "noise": ends}} for end in ends]
    labels = re.findall(r">(-1\.\d+e\+11)<", svg.intervals(rows, "p"))
    assert len(labels) == len(set(labels)) >= 2


def test_counts_are_bars_that_begin_at_zero():
    rows = [{"k": "a", "n": cell(90, [80, 100])}, {"k": "b", "n": cell(-4, [-10, 2])}]
    root = read(svg.intervals(rows, "n", from_zero=True))
    first, second = marks(root, "rect", "band")
    zero = 30 + 580 * 20 / 120  # the axis is from -20 to 100
    assert float(first.get("x")) == pytest.approx(zero, abs=0.06)
    assert float(first.get("width")) == pytest.approx(580 * 90 / 120, abs=0.06)
    assert float(second.get("x")) + float(second.get("width")) == pytest.approx(zero, abs=0.11)
    above = read(svg.intervals([{"n": cell(90, [80, 100])}], "n", from_zero=True))
    (bar,) = marks(above, "rect", "band")
    assert float(bar.get("x")) == pytest.approx(30)


def test_a_gauge_is_filled_by_what_is_spent():
    accounts = [{"label": "ledger", "spent": 0.25, "cap": 1.0},
                {"label": "dataset <adult>", "spent": 2.0, "cap": 2.0}]  # fmt: skip
    root = read(svg.gauge(accounts))
    widths = [float(bar.get("width")) for bar in marks(root, "rect", "bar")]
    assert widths == [580 / 4, 580]
    assert {"0.75 of 1 nats left", "0 of 2 nats left", "dataset <adult>"} <= set(texts(root))
    assert inside(root)
    assert svg.gauge([]) == ""


def test_figures_bring_their_style_to_pages_of_others():
    whole = svg.inline(svg.gauge([{"label": "l", "spent": 0.1, "cap": 1.0}]))
    assert whole.startswith("<style>")
    assert "id=" not in whole
    assert 'class="rpac-figure"' in whole
    assert "currentColor" in whole  # white on a dark page
    assert svg.inline("") == ""


def test_a_number_of_noise_alone_does_not_settle_the_axis():
    rows = [{"k": "a", "x": cell(5.0, [4.0, 6.0])}, {"k": "b", "x": cell(8.0, [7.0, 9.0])}]
    plain = read(svg.intervals(rows, "x"))
    beyond = cell(-120.0, [-697.0, 457.0]) | {"noisy": True}
    root = read(svg.intervals([*rows, {"k": "c", "x": beyond}], "x"))
    assert [d.get("cx") for d in marks(root, "circle")] == [
        d.get("cx") for d in marks(plain, "circle")
    ]
    assert len(marks(root, "polygon", "bar arrow")) == 2
    assert "arrows: goes on beyond the axis, too noisy to publish" in texts(root)
    assert inside(root)
    assert not marks(plain, "polygon")
    assert "-200" not in texts(root)
    alone = read(svg.intervals([{"k": "c", "x": beyond}], "x"))  # where all are, all settle it
    assert not marks(alone, "polygon")
    bars = read(svg.intervals([*rows, {"k": "c", "x": beyond}], "x", from_zero=True))
    for bar in marks(bars, "rect", "band"):
        assert 30 <= float(bar.get("x")) <= float(bar.get("x")) + float(bar.get("width")) <= 610
