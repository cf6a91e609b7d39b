"""Outlooks: the price and the noise of a question, the same for any rows, true of the release."""

import math

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.advantage import distance_to_epsilon, success_to_epsilon
from rpac.front.outlook import SPREAD, along, level_names, outlook
from rpac.front.presence import ask

NAMED = rpac.statistics.parse
HALF = rpac.SuccessRate(0.55)


def source(rows=0, **declared):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "id": np.arange(rows), "pay": rng.normal(40, 9, rows), "age": rng.integers(18, 70, rows),
        "dept": rng.choice(["a", "b"], rows),
    })  # fmt: skip
    return rpac.Presence(frame, "id", **declared)


QUESTIONS = ("mean(pay)", "sum(pay)", "count()", "median(pay)", "correlation(pay, age)",
             "group_by(dept, mean(pay), a, b)", "histogram(age, 0, 30, 60)")  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_nothing_in_it_depends_on_a_row(text):
    empty, full = (outlook(NAMED(text), source(rows), HALF) for rows in (0, 50))
    assert empty == full
    assert empty.to_dict()["numbers"]


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("declared", [{}, {"caps": {"rows": 2, "pay": (0, 90), "age": (0, 99)}}])
def test_the_noise_is_that_of_the_release(text, declared):
    told, asked = outlook(NAMED(text), source(**declared), HALF), source(60, **declared)
    made = rpac.privatize(NAMED(text), asked, HALF)
    noise, question = made.certificate.noise, ask(NAMED(text), asked).question
    assert made.certificate.distance == told.distance
    assert level_names(question) == list(noise["levels"])
    scales = {f.number: f for f in told.numbers if f.times != "people in rank"}
    assert {*scales} == {*noise["scales"]}
    for name, scale in noise["scales"].items():
        expected = scales[name].noise
        for part in scales[name].times.split(" x ") if scales[name].times else ():
            column = part.removeprefix("level of ").removesuffix(" squared")
            expected *= noise["levels"][column] ** (2 if part.endswith("squared") else 1)
        assert scale == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", QUESTIONS)
def test_shares_sum_to_the_price(text):
    told = outlook(NAMED(text), source(), HALF)
    assert sum(part["share"] for part in told.drawn) == pytest.approx(1, abs=1e-6)
    assert told.drawn[-1]["what"] == (
        "0.5 quantile of pay" if text == "median(pay)" else "sums and counts")  # fmt: skip


def test_known_bounds_give_the_noise_of_textbooks():
    one = source(caps={"rows": 1, "pay": (-5, 20)})
    epsilon = success_to_epsilon(0.55)
    assert epsilon == pytest.approx(0.2007, abs=1e-4)
    (number,) = outlook(NAMED("count()"), one, HALF).numbers
    assert number.laplace == pytest.approx(math.sqrt(2) / epsilon)
    assert number.gaussian == pytest.approx(1 / 0.25132, rel=1e-4)
    assert number.noise == pytest.approx(number.gaussian, rel=1e-6)  # nothing else is paid for
    (number,) = outlook(NAMED("sum(pay)"), one, HALF).numbers
    assert (number.laplace, number.times) == (pytest.approx(20 * math.sqrt(2) / epsilon), "")
    (number,) = outlook(NAMED("sum(pay)"), source(), HALF).numbers
    assert (number.laplace, number.times) == (
        pytest.approx(math.sqrt(2) / epsilon), "level of pay")  # fmt: skip
    both = outlook(NAMED("mean(pay)"), one, HALF).numbers  # together they allow the success
    assert sum(math.sqrt(2) * b / f.laplace for f, b in zip(both, (12.5, 1), strict=True)) == (
        pytest.approx(epsilon))  # fmt: skip
    squares = sum((b / f.gaussian) ** 2 for f, b in zip(both, (12.5, 1), strict=True))
    assert squares == pytest.approx(0.25132**2, rel=1e-4)


def test_a_person_with_another_entry_moves_twice_as_much():
    once, twice = (
        outlook(NAMED("sum(pay)"), source(caps={"pay": (0, 9)}, instead=other), HALF).numbers[0]
        for other in (None, {"pay": [1, 2]})
    )
    assert twice.laplace == pytest.approx(2 * once.laplace)
    assert twice.noise == pytest.approx(2 * once.noise)


def test_prices_of_every_budget():
    for budget in (HALF, rpac.Nats(0.01), rpac.GaussianDP(0.5), rpac.SuccessRate(0.9, prior=0.8)):
        told = outlook(NAMED("count()"), source(), budget)
        release = rpac.privatize(NAMED("count()"), source(5), budget).certificate
        assert (told.distance, told.nats) == (release.distance, release.bound)
        assert told.epsilon == distance_to_epsilon(told.distance, 1e-5)
        if budget is not HALF:
            assert told.success == pytest.approx(release.success_rate(0.5))
    assert outlook(NAMED("count()"), source(), HALF).success == 0.55


def test_how_many_people_a_level_needs_is_said_of_levels_only():
    told = outlook(NAMED("mean(pay)"), source(caps={"rows": 1}), HALF)
    assert told.people == pytest.approx(3 * told.a_factor)
    assert told.people > math.log(SPREAD) / 0.05
    capped = outlook(NAMED("mean(pay)"), source(caps={"rows": 1, "pay": (0, 9)}), HALF)
    assert (capped.people, capped.a_factor) == (None, None)


def test_a_quantile_is_off_by_so_many_people():
    (number,) = outlook(NAMED("quantile(pay, 0.9)"), source(), HALF).numbers
    assert (number.number, number.times) == ("0.9 quantile of pay", "people in rank")
    assert (number.laplace, number.gaussian) == (None, None)
    assert 1 < number.noise < 100


def test_budgets_are_compared_by_rows():
    rows = along(NAMED("mean(pay)"), source(), [rpac.SuccessRate(0.52), HALF])
    assert [row["success"] for row in rows] == [0.52, 0.52, 0.55, 0.55]
    assert rows[0]["noise"] > rows[2]["noise"]
    table = rpac.compare((NAMED("mean(pay)"), source()), [0.01])
    assert table.names == list(rows[0])
    assert list(table.frame()["number"]) == ["sum of pay", "number of rows"]
    assert "level of pay" in str(table)
    assert "level of pay" in table._repr_html_()
    with pytest.raises(rpac.InputError, match="Expected methods to draw; got success, distance"):
        table.plot()
    with pytest.raises(rpac.InputError, match="at least one budget"):
        along(NAMED("mean(pay)"), source(), [])


def test_a_budget_that_says_nothing_of_presence_is_refused():
    with pytest.raises(rpac.InputError, match="a budget about a person's presence"):
        outlook(NAMED("count()"), source(), rpac.ResidualEntropy(1.0))


def test_given_the_level_there_is_a_price_and_no_epsilon():
    asked = source(3, way="leave-one-out", middle=0.0)
    told = outlook(len, asked, HALF)
    assert (told.promise, told.epsilon, told.numbers) == ("person, given the level", None, [])
    assert told == outlook(len, source(0, way="leave-one-out", middle=0.0), HALF)
    assert told.nats == outlook(NAMED("count()"), source(), HALF).nats


def test_the_noise_of_blocks_is_that_of_their_mean():
    asked = source(60, way="blocks", blocks=10, middle=0.0, caps={"answer": (0, 8)})
    (told,) = outlook(len, asked, HALF).numbers
    made = rpac.privatize(len, asked, HALF)
    low, high = made.noise_interval
    assert (high - low) / 2 == pytest.approx(1.96 * told.noise, rel=0.3)
