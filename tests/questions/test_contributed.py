"""Named statistics as contributions: with little noise they are the table's own answers."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.person.contributions import Term
from rpac.person.mechanism import Drawn
from rpac.questions import contributed, statistics

RNG = np.random.default_rng(3)
SIZE = 3_000
TABLE = pd.DataFrame({
    "id": np.arange(SIZE) // 2,
    "pay": RNG.lognormal(3, 0.5, SIZE).round(2),
    "age": RNG.integers(18, 70, SIZE).astype(float),
    "dept": RNG.choice(["ops", "lab", "hr"], SIZE),
})  # fmt: skip
TABLE.loc[::7, "age"] = np.nan
LOOSE = rpac.GaussianDP(400.0)

NAMED = (
    "mean(pay)", "sum(pay)", "count()", "count(age)", "median(pay)", "quantile(pay, 0.9)",
    "histogram(age, 18, 30, 50)", "group_by(dept, mean(pay), ops, lab)",
    "group_by(dept, count(), ops)", "group_by(dept, median(age), ops, lab, hr)",
    "correlation(pay, age)", "variance(pay)", "covariance(pay, age)", "ratio(pay, age)",
)  # fmt: skip


@pytest.mark.parametrize("unit", ["rows", "id"])
@pytest.mark.parametrize("text", NAMED)
def test_with_little_noise_an_answer_is_that_of_the_whole_table(text, unit):
    statistic = statistics.parse(text)
    made = rpac.privatize(statistic, rpac.Presence(TABLE, unit=unit), LOOSE)
    got = list(made.value.values()) if isinstance(made.value, dict) else [made.value]
    truth = np.ravel(statistic(TABLE)).astype(float)
    close = 0.05 if "median" in text or "quantile" in text else 0.02
    filled = [i for i, t in enumerate(truth) if t or "count" in text]
    assert np.array(got)[filled] == pytest.approx(truth[filled], rel=close, abs=2.5)


def test_counts_come_back_whole_with_ends_that_are_whole():
    made = rpac.privatize(statistics.count(), rpac.Presence(TABLE, unit="rows"), 0.1)
    assert isinstance(made.value, int)
    assert all(isinstance(end, int) for end in made.noise_interval)
    assert made.noise_interval[0] < made.value < made.noise_interval[1]
    assert made.sampling_interval is None


def test_counts_beside_sums_get_a_small_share():
    def shares(text):
        asked = statistics.parse(text).asked(rpac.Presence(TABLE, unit="rows"))
        return {term.name: term.share for term in asked.question.terms}

    assert shares("mean(pay)") == {"sum of pay": 1.0, "number of rows": 0.03}
    assert shares("group_by(dept, mean(pay), ops)") == {"sum of pay": 1.0, "number of rows": 0.1}
    assert shares("count()") == {"number of rows": 1.0}
    assert {*shares("covariance(pay, age)")} == {
        "sum of pay x age", "sum of pay", "sum of age", "number of rows"}  # fmt: skip
    assert {*shares("variance(pay)")} == {"sum of pay^2", "sum of pay", "number of rows"}


def test_declarations_decide_caps_middles_and_grids():
    source = rpac.Presence(TABLE, unit="rows", caps={"age": (0, 120)}, middle={"pay": 20})
    mean = statistics.mean("age").asked(source).question
    assert (mean.columns[0].cap, mean.columns[0].middle) == (60, 60)
    assert mean.levels == ()
    assert statistics.mean("pay").asked(source).question.sought == ()
    assert statistics.sum("age").asked(source).question.columns[0].cap == 120
    grid = statistics.median("age").asked(source).question.quantiles[0].grid
    assert (grid[0], grid[-1], len(grid)) == (0, 120, contributed.POINTS)
    free = statistics.median("pay").asked(source).question.quantiles[0].grid
    assert free[0] < 0 < free[-1]
    assert 1 < free[-1] / free[-2] < 1.02


def test_groups_are_those_that_were_declared_whoever_is_there():
    statistic = statistics.parse("group_by(dept, count(), ops, nowhere)")
    value = rpac.privatize(statistic, rpac.Presence(TABLE, unit="rows"), LOOSE).value
    assert [*value] == ["ops", "nowhere", "other"]
    assert abs(value["nowhere"]) <= 1
    numbers = statistics.parse("group_by(age, count(), 30, 31)")  # 30.0 in the table is the key 30
    found = rpac.privatize(numbers, rpac.Presence(TABLE, unit="rows"), LOOSE).value
    assert found["30"] == pytest.approx((TABLE.age == 30).sum(), abs=1)


def test_what_is_missing_or_outside_is_other():
    source = rpac.Presence(TABLE, unit="rows")
    cells = contributed.by_edges("age", np.array([20.0, 30.0, 40.0])).of(source)
    age = TABLE.age.to_numpy()
    assert (
        cells == np.select([(age >= 20) & (age < 30), (age >= 30) & (age < 40)], [0, 1], 2)
    ).all()


def test_rows_of_nobody_add_nothing():
    holes = TABLE.assign(id=[None if i % 3 else i for i in range(SIZE)])
    rows = statistics.count().asked(rpac.Presence(holes, unit="id")).rows()
    assert len(rows.units) == len(range(0, SIZE, 3))


def test_formulas_at_the_edge():
    nothing = np.zeros((1, 6))
    assert contributed.correlation("a", "b").formula(np.zeros(2), nothing) == [0.0]
    assert contributed.ratio("a", "b").formula(np.zeros(2), np.array([[3.0, 0.0]])) == [3.0]
    assert contributed.mean("a").formula(np.array([7.0]), np.array([[0.0, -5.0]])) == [7.0]
    below = np.array([[1.0, 50.0, 10.0]])  # noise may make the square of the mean the larger
    assert contributed.variance("a").formula(np.zeros(1), below) == [0.0]


def test_quantiles_are_shown_as_they_are_and_have_no_ends():
    made = rpac.privatize(statistics.median("pay"), rpac.Presence(TABLE, unit="rows"), 0.1)
    assert made.noise_interval is None
    assert not made.certificate.noise["scales"]


def test_unknown_columns_are_refused_by_the_header_alone():
    source = rpac.Presence(TABLE, unit="rows")
    for text in ("mean(salary)", "group_by(team, count(), a)"):
        with pytest.raises(rpac.InputError, match="a column among 'id', 'pay', 'age', 'dept'"):
            statistics.parse(text).asked(source)


def test_a_regression_is_no_contribution_of_single_people():
    assert statistics.regression("pay", "age").asked(rpac.Presence(TABLE, unit="rows")) is None


def test_a_database_is_asked_in_sql():
    class Held:
        presence = None

    with pytest.raises(rpac.InputError, match="a query for db.presence; got named statistics"):
        statistics.count().asked(rpac.Presence(Held(), unit="id"))


def test_terms_know_which_rows_count():
    asked = statistics.mean("age").asked(rpac.Presence(TABLE, unit="rows"))
    assert asked.question.terms[1] == Term("number of rows", (0,), (0,), share=0.03)
    drawn = Drawn(np.array([40.0]), (), np.ones(2), np.array([[50.0, 10.0]]), np.zeros((1, 0)))
    assert asked.numbers(drawn) == [45.0]
