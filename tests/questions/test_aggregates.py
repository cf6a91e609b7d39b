"""Aggregates as sums over people, and what is made of released ones."""

import numpy as np
import pytest
import sqlglot

import rpac
from rpac.person.mechanism import Drawn
from rpac.questions.aggregates import Finish, Sums, compiled
from rpac.schema import Declared


def node(text):
    return sqlglot.parse_one(f"SELECT {text}", dialect="duckdb").selects[0]


def sums():
    return Sums(lambda given: (given.sql(), Declared()))


def released(values, quantiles=()):
    table = np.array(values, float)
    quantiles = np.array(quantiles, float).reshape(len(table), -1)
    return Drawn(np.array([10.0, 0.0]), (), np.ones(table.shape[1]), table, quantiles)


@pytest.mark.parametrize(
    ("text", "values", "truth"),
    [
        ("count(*)", [[2.6], [-3.4]], [3, -3]),
        ("sum(x)", [[2.5], [1]], [2.5, 1]),
        ("avg(x)", [[6, 3], [6, 0.1]], [12, 16]),
        ("var_pop(x)", [[20, 4, 2], [0, 9, 1]], [6, 0]),
        ("var_samp(x)", [[20, 4, 2], [0, 9, 1]], [12, 0]),
        ("stddev_pop(x)", [[50, 2, 2]], [np.sqrt(24)]),
        ("covar_pop(x, y)", [[8, 4, 2, 2]], [2]),
        ("covar_samp(x, y)", [[8, 4, 2, 2]], [4]),
        ("corr(x, y)", [[8, 4, 2, 10, 3, 2], [1, 0, 0, 0, 0, 2], [9, 0, 0, 1, 1, 2]], [1, 0, 1]),
    ],
)
def test_formulas_by_hand(text, values, truth):
    made = sums().formula(node(text))
    assert np.allclose(made(released(values)), truth)


def test_a_quantile_is_released_as_it_is():
    found = sums()
    made = found.formula(node("quantile_disc(x, 0.25)"))
    assert made(released([[0]], [[7]])) == [7]
    assert found.question(1, grouped=False, rows=1.0, moves=1).quantiles[0].level == 0.25


def test_names_of_what_is_added_up():
    found = sums()
    for text in ("var_pop(x)", "count(DISTINCT i)", "covar_pop(x, y)"):
        found.formula(node(text))
    names = [term.name for term in found.question(3, grouped=True, rows=None, moves=2).terms]
    assert names == ["sum of x^2", "sum of x", "number of rows with x",
                     "number of units that count",
                     "sum of x x y", "sum of x", "sum of y", "number of rows with x and y",
                     ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("sum(x) + 2 * sum(x) - 1", 14),
        ("sum(x) / 0", np.nan),
        ("sum(x) % 3", 2),
        ("sum(x) // 2", 2),
        ("power(sum(x), 2)", 25),
        ("-abs(sum(x))", -5),
        ("round(sum(x) / 3, 2)", 1.67),
        ("floor(sum(x) / 2) + ceil(sum(x) / 2)", 5),
        ("sqrt(sum(x) - 1) + ln(exp(1)) + sign(sum(x))", 4),
        ("log(100) + log(2, 8)", 5),
        ("coalesce(NULL, sum(x))", 5),
        ("nullif(sum(x), 5)", np.nan),
        ("greatest(sum(x), 7) - least(sum(x), 7)", 2),
        ("CAST(sum(x) / 2 AS INT)", 2),
        ("CAST(sum(x) / 2 AS DOUBLE)", 2.5),
        ("CASE WHEN sum(x) > 9 THEN 1 WHEN sum(x) <> 4 AND NOT sum(x) = 3 THEN 2 END", 2),
        ("CASE WHEN sum(x) < 1 OR sum(x) IS NULL THEN 1 END", np.nan),
        ("sum(x) BETWEEN 4 AND 6", 1),
        ("(sum(x) >= 5) = (sum(x) <= 5)", 1),
    ],
)
def test_arithmetic_of_released_numbers(text, truth):
    found = sums()
    tree = node(text)
    aggregates = {n.sql(): found.formula(n) for n in tree.find_all(sqlglot.exp.Sum)}
    value = Finish([compiled(tree, aggregates)])(released([[5.0]]))
    assert np.allclose(value, [truth], equal_nan=True)


def test_having_leaves_nothing_of_a_row():
    finish = Finish([lambda drawn: drawn.sums[:, 0]], lambda drawn: drawn.sums[:, 0] > 2)
    assert np.allclose(finish(released([[1.0], [3.0]])), [np.nan, 3], equal_nan=True)


@pytest.mark.parametrize("text", ["mode(x)", "list(x)", "avg(x) FILTER (x > 1) OVER ()"])
def test_other_aggregates_are_refused(text):
    with pytest.raises(rpac.InputError, match="aggregates that are sums over single people"):
        sums().formula(node(text))


@pytest.mark.parametrize(
    "text", ["quantile_cont(x, 1.5)", "quantile_cont(x, y)", "quantile(x, 'a')"]
)
def test_levels_are_numbers_between_0_and_1(text):
    with pytest.raises(rpac.InputError, match="a level between 0 and 1 in a quantile"):
        sums().formula(node(text))


@pytest.mark.parametrize("text", ["upper('a')", "'a'", "CASE x WHEN 1 THEN 2 END", "x"])
def test_other_expressions_are_refused(text):
    with pytest.raises(rpac.InputError, match="arithmetic of aggregates in the outermost SELECT"):
        compiled(node(text), {})
