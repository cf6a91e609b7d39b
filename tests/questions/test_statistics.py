"""Statistics by name: what pandas computes, in every kind of table; parsed and never run."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac.questions import statistics
from rpac.questions.statistics import Statistic, parse
from tests.questions.conftest import ROWS

TABLE = pd.DataFrame(ROWS)
HOLES = pd.DataFrame({
    "x": [1.0, np.nan, 3.0, 8.0, np.nan], "y": [2.0, 1.0, np.nan, 5.0, 7.0],
    "g": ["a", None, "b", "a", "c"],
})  # fmt: skip


NAMED = {
    "mean(pay)": lambda t: t.pay.mean(),
    "sum(pay)": lambda t: t.pay.sum(),
    "count()": len,
    "count(age)": lambda t: t.age.count(),
    "median(pay)": lambda t: t.pay.median(),
    "quantile(pay, 0.9)": lambda t: t.pay.quantile(0.9),
    "histogram(age, 18, 30, 50)": lambda t: [
        t.age.between(18, 29).sum(), t.age.between(30, 49).sum(), (t.age >= 50).sum()],
    "group_by(dept, mean(pay), ops, lab)": lambda t: [
        t[t.dept == "ops"].pay.mean(), t[t.dept == "lab"].pay.mean(),
        t[~t.dept.isin(["ops", "lab"])].pay.mean()],
    "group_by(dept, count(), 'Büro ☂')": lambda t: [
        (t.dept == "Büro ☂").sum(), (t.dept != "Büro ☂").sum()],
    "correlation(pay, age)": lambda t: t.pay.corr(t.age),
    "regression(pay, age)": lambda t: [
        t.pay.mean() - t.pay.cov(t.age) / t.age.var() * t.age.mean(),
        t.pay.cov(t.age) / t.age.var()],
}  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
def test_named_statistics_are_what_pandas_computes(text):
    source = rpac.Subsets(TABLE, unit="person", worlds=8)
    statistic = statistics.parse(text)
    outputs = rpac.simulate(source, statistic)
    expected = np.array([np.ravel(NAMED[text](world)) for world in source.worlds(0)], float)
    assert outputs.values == pytest.approx(expected, rel=1e-9)
    doubled = text.startswith(("sum", "count", "histogram")) or "count()" in text
    shown = outputs.rebuild(outputs.values[0])
    numbers = list(shown.values()) if isinstance(shown, dict) else [shown]
    assert numbers == pytest.approx(expected[0] * (2 if doubled else 1))
    assert (outputs.kind == "count") == ("count" in text or "histogram" in text)


def test_sums_over_worlds_that_are_no_half_samples_are_not_scaled():
    worlds = rpac.Worlds([pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [5.0]})])
    outputs = rpac.simulate(worlds, statistics.sum("x"))
    assert [outputs.rebuild(row) for row in outputs.values] == [3.0, 5.0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("mean(x)", 4.0),
        ("sum(x)", 12.0),
        ("count(x)", 3),
        ("count()", 5),
        ("median(x)", 3.0),
        ("quantile(x, 0.25)", 2.0),
        ("histogram(x, 0, 3, 9)", [1, 2, 2]),
        ("group_by(g, count(x), a, b)", [2, 1, 0]),
        ("group_by(g, sum(y), a, b)", [7.0, 0.0, 8.0]),
        ("correlation(x, y)", 1.0),
    ],
)
def test_missing_entries_are_skipped(text, answer):
    assert np.asarray(parse(text)(HOLES)) == pytest.approx(answer)
    assert np.asarray(parse(text)(pl.from_pandas(HOLES))) == pytest.approx(answer)


@pytest.mark.parametrize(
    ("statistic", "answer"),
    [
        (statistics.mean("x"), 0.0),
        (statistics.mean("x", empty=-7.0), -7.0),
        (statistics.median("x", empty=3.5), 3.5),
        (statistics.quantile("x", 0.9, empty=2.0), 2.0),
        (statistics.sum("x"), 0.0),
        (statistics.count("x"), 0),
        (statistics.correlation("x", "x"), 0.0),
        (statistics.regression("x", "x"), [0.0, 0.0]),
        (statistics.histogram("x", [0, 1]), [0, 2]),
    ],
)
def test_a_world_without_entries_has_an_answer_all_the_same(statistic, answer):
    nothing = pd.DataFrame({"x": [np.nan, np.nan]})
    assert np.asarray(statistic(nothing)) == pytest.approx(answer)


def test_a_constant_column_has_no_correlation():
    flat = pd.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0]})
    assert statistics.correlation("x", "y")(flat) == 0.0
    assert statistics.correlation("y", "y")(flat) == pytest.approx(1.0)


def test_regressions_are_least_squares_and_the_shortest_where_there_are_many():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    rows = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": 2 + x @ [1.0, -3.0]})
    made = statistics.regression("y", "a", "b")
    assert made(rows) == pytest.approx([2.0, 1.0, -3.0])
    assert made.labels == ("intercept", "a", "b")
    twice = rows.assign(b=rows["a"])
    found = made(twice)
    assert found[1] == pytest.approx(found[2])  # the shortest shares what two columns say alike


def test_edges_are_low_included_and_high_not():
    rows = pd.DataFrame({"x": [-1.0, 0.0, 0.999, 1.0, 2.0, 5.0, math.nan, math.inf]})
    made = statistics.histogram("x", [0, 1, 2])
    assert made(rows).tolist() == [2, 1, 5]
    assert made.labels == ("[0, 1)", "[1, 2)", "other")
    assert made(rows).sum() == len(rows)


def test_groups_are_compared_as_text_and_the_rest_is_other():
    rows = pd.DataFrame({"g": [1, 2, 2, 3], "x": [1.0, 2.0, 3.0, 10.0]})
    made = statistics.group_by("g", statistics.mean("x"), [2, "1"])
    assert made(rows) == pytest.approx([2.5, 1.0, 10.0])
    assert made.labels == ("2", "1", "other")
    absent = statistics.group_by("g", statistics.count(), ["9"])
    assert absent(rows).tolist() == [0, 4]


def test_the_form_of_the_answers_is_public():
    source = rpac.Subsets(TABLE, unit="person", worlds=8)
    form = statistics.histogram("age", [18, 40]).announce(source)
    assert form.labels == ("histogram(age, 18, 40): [18, 40)", "histogram(age, 18, 40): other")
    assert form.whole
    assert form.rebuild(np.array([3.0, 4.0])) == {"[18, 40)": 6, "other": 8}  # of all units
    mean = statistics.mean("pay").announce(source)
    assert mean.labels == ("mean(pay)",)
    assert mean.rebuild(np.array([2.5])) == 2.5
    assert statistics.count().announce(rpac.Worlds([TABLE, TABLE])).scale == 1.0


def test_a_statistic_is_shown_as_it_is_written():
    texts = [
        "mean(pay)", "sum(pay)", "count()", "count(age)", "quantile(pay, 0.9)",
        "histogram(age, 18, 30)", "group_by(dept, mean(pay))", "correlation(pay, age)",
        "regression(pay, age)",
    ]  # fmt: skip
    made = [
        statistics.mean("pay"), statistics.sum("pay"), statistics.count(), statistics.count("age"),
        statistics.quantile("pay", 0.9), statistics.histogram("age", [18, 30]),
        statistics.group_by("dept", statistics.mean("pay"), ["ops"]),
        statistics.correlation("pay", "age"), statistics.regression("pay", "age"),
    ]  # fmt: skip
    assert [repr(one) for one in made] == texts


def test_texts_are_parsed_and_never_run():
    quoted = parse("mean('total pay')")
    assert quoted.columns == ("total pay",)
    assert parse(" median(pay) ").name == "quantile(pay, 0.5)"
    assert parse("mean(pay, -1.5)")(pd.DataFrame({"pay": [np.nan]})) == -1.5
    nested = parse("group_by(dept, quantile(pay, 0.1), ops, 'Büro ☂')")
    assert nested.labels == ("ops", "Büro ☂", "other")
    assert nested.group == "dept"


@pytest.mark.parametrize(
    "text",
    ["mode(x)", "__import__('os')", "3", "", "(lambda: 1)()", "(" * 5_000],
)  # fmt: skip
def test_what_is_no_statistic_is_refused_with_the_text_and_what_is_known(text):
    with pytest.raises(rpac.InputError, match="a statistic such as mean") as caught:
        parse(text)
    assert repr(text[:80]) in str(caught.value)
    assert "Known: correlation, count, covariance, group_by" in str(caught.value)


QUOTE = "Quote what is no plain word, such as 'HS-grad' or '11th'."
WRITTEN = {
    "group_by(g, mean(x), a, 11th)": f"group_by(x, mean(y), 'a', 'b') of columns x, y; {QUOTE}",
    "group_by(g, mean(x), HS-grad)": f"group_by(x, mean(y), 'a', 'b') of columns x, y; {QUOTE}",
    "mean(total pay)": f"mean(x) of columns x, y; {QUOTE}",
    "mean(age": "mean(x) of columns x, y; Its parentheses do not match.",
    "mean()": "mean(x) of columns x, y; Write it like that.",
    "mean": "mean(x) of columns x, y; Write it like that.",
    "mean(x, y, z)": "mean(x) of columns x, y; Write it like that.",
    "mean(column=x)": f"mean(x) of columns x, y; {QUOTE}",
    "mean(x) + 1": f"mean(x) of columns x, y; {QUOTE}",
    "mean(x).real": f"mean(x) of columns x, y; {QUOTE}",
    "mean(*x)": f"mean(x) of columns x, y; {QUOTE}",
    "count(income, '>50K')": "count() or count(x) of columns x, y; To count by entry: "
    "group_by(x, count(), 'a', 'b').",
    "group_by(g)": "group_by(x, mean(y), 'a', 'b') of columns x, y; Write it like that.",
    "histogram()": "histogram(x, 0, 10, 20) of columns x, y; Write it like that.",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_statistic_that_was_named_is_refused_by_how_it_is_written(text):
    expected, move = WRITTEN[text].split("; ", 1)
    with pytest.raises(rpac.InputError) as caught:
        parse(text)
    assert str(caught.value) == f"Expected {expected}; got {text!r}. {move}"


def test_groups_that_are_declared_need_not_be_listed():
    found = parse("group_by(dept, mean(pay))", {"dept": ["ops", "r & d"]})
    assert found.labels == ("ops", "r & d", "other")
    assert parse("group_by(dept, mean(pay), lab)", {"dept": ["ops"]}).labels == ("lab", "other")
    with pytest.raises(
        rpac.InputError, match=r"keys of 'dept'; got none. List .*keys=\['a', 'b'\]"
    ):
        parse("group_by(dept, mean(pay))", {"job": ["ops"]})


def test_columns_of_an_array_are_numbered():
    rows = np.arange(20.0).reshape(10, 2)
    caps = {"0": (0, 20), "1": (0, 20)}
    people = rpac.Presence(rows, caps=caps)
    for one in (statistics.mean(0), parse("mean(1)"), statistics.correlation(0, "1")):
        assert np.isfinite(rpac.privatize(one, people, rpac.SuccessRate(0.9)).value)
    with pytest.raises(rpac.InputError, match="a column among '0', '1'; got 2"):
        rpac.privatize(statistics.mean(2), people, rpac.SuccessRate(0.9))


def test_a_statistic_of_ones_own():
    spread = Statistic("range(pay)", ("pay",), lambda read, rows: float(np.ptp(read["pay"])))
    outputs = rpac.simulate(rpac.Subsets(TABLE, unit="person", worlds=8), spread)
    expected = [np.ptp(w.pay) for w in rpac.Subsets(TABLE, unit="person", worlds=8).worlds(0)]
    assert outputs.values[:, 0] == pytest.approx(expected)


BY_PERSON = rpac.Subsets(TABLE, unit="rows", worlds=8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: statistics.quantile("x", 2), "`level` between 0.0 and 1.0; got 2"),
        (lambda: parse("quantile(x, 2)"), "`level` between 0.0 and 1.0; got 2"),
        (lambda: statistics.mean("x", empty=math.nan), "a finite number for `empty`; got nan"),
        (lambda: statistics.histogram("x", [2, 1]), r"at least two rising `edges`; got \[2, 1\]"),
        (lambda: statistics.histogram("x", 10), "at least two rising `edges`; got 10. Such as"),
        (lambda: statistics.histogram("x", [2]), r"at least two rising `edges`; got \[2\]"),
        (
            lambda: parse("histogram(age)"),
            r"rising `edges`; got \(\). Such as \[0, 10, 20\], in text "
            r"histogram\(age, 0, 10, 20\): sorted, and public",
        ),
        (
            lambda: statistics.group_by("g", statistics.mean("x")),
            r"keys of 'g'; got none. List the public groups: keys=\['a', 'b'\]",
        ),
        (lambda: statistics.group_by("g", statistics.mean("x"), "ab"), "keys of 'g'; got 'ab'"),
        (
            lambda: statistics.group_by("g", "mean(x)", ["a"]),
            "a statistic of each group; got 'mean",
        ),
        (
            lambda: statistics.group_by("g", statistics.mean("x"), []),
            r"keys that differ, without 'other'; got \[\]",
        ),
        (
            lambda: statistics.group_by("g", statistics.mean("x"), ["a", "a"]),
            r"keys that differ, without 'other'; got \['a', 'a'\]",
        ),
        (
            lambda: statistics.group_by("g", statistics.mean("x"), ["other"]),
            r"without 'other'; got \['other'\]",
        ),
        (
            lambda: statistics.group_by("g", statistics.histogram("x", [0, 1]), ["a"]),
            r"a statistic of one number; got histogram\(x, 0, 1\)",
        ),
        (
            lambda: statistics.group_by("g", parse("group_by(h, mean(x), b)"), ["a"]),
            r"a statistic of one number; got group_by\(h, mean\(x\)\)",
        ),
        (lambda: statistics.regression("y"), r"at least one feature; got regression\(y\)"),
        (
            lambda: rpac.simulate(BY_PERSON, statistics.mean("wage")),
            "a column among 'person', 'dept', 'pay', 'age'; got 'wage'",
        ),
        (
            lambda: rpac.simulate(BY_PERSON, parse("group_by(job, mean(pay), a)")),
            "a column among .*; got 'job'",
        ),
        (
            lambda: rpac.simulate(BY_PERSON, statistics.mean("dept")),
            "numbers in column 'dept'; got",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(rpac.InputError, match=f"Expected .*{message}"):
        call()
