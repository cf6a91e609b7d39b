"""Plans: a price and two errors, right to the digit; and budgets in words."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.questions import statistics
from rpac.report import plan as planning
from rpac.report import wording as words

PEOPLE = pd.DataFrame({"id": range(40), "x": np.random.default_rng(2).gamma(2.0, 3.0, 40)})
SOURCE = rpac.Subsets(PEOPLE, unit="id", worlds=16)


def test_errors_are_those_of_noise_and_of_sampling_against_the_whole_table():
    mechanism = statistics.sum("x")
    outputs = rpac.simulate(SOURCE, mechanism)
    full = planning.full_answer(SOURCE, mechanism)
    made = planning.plan(outputs, 0.2, "auto-pac", full=full, left=1.0)
    (number,) = made.numbers
    doubled = 2 * np.array([world.x.sum() for world in SOURCE.worlds(0)])
    assert number["number"] == "sum(x)"
    assert number["sampling"] == pytest.approx(
        np.sqrt(np.square(doubled - PEOPLE.x.sum()).mean()), rel=1e-12
    )
    noise = rpac.calibrate(outputs, 0.2, "auto-pac")
    assert number["noise"] == pytest.approx(2 * np.sqrt(noise.power), rel=1e-12)
    assert made.remaining == (1.0, 0.8)
    shares = [share for _, share in made.curve]
    assert shares == sorted(shares, reverse=True)
    again = planning.plan(outputs, 0.2, noise=noise)
    assert again.chosen == pytest.approx(np.sqrt(noise.power) / outputs.values.std(), rel=1e-9)
    assert "answer" not in made.to_dict()


def test_numbers_are_named():
    groups = rpac.simulate(SOURCE, lambda t: {"a": t.x.mean(), "b": t.x.max()})
    assert planning.names(groups) == ["a", "b"]
    assert planning.names(rpac.Outputs([1.0, 2.0])) == ["answer"]
    assert planning.names(rpac.Outputs(np.eye(3))) == ["number 1", "number 2", "number 3"]
    labels = rpac.simulate(SOURCE, lambda t: "high" if t.x.mean() > PEOPLE.x.mean() else "low")
    made = planning.plan(labels, 0.1)
    assert made.curve == []
    assert made.numbers[0]["number"] == "a label"


def test_the_whole_table_is_asked_only_where_that_works():
    assert planning.full_answer(rpac.Subsets(range(6)), len) is None
    assert planning.full_answer(SOURCE, lambda t: {}[0]) is None
    assert planning.full_answer(SOURCE, len) == 40


def test_a_price_is_said_for_one_person_where_half_of_them_are_drawn():
    outputs = rpac.simulate(SOURCE, statistics.mean("x"))
    for budget, after in ((0.1, 72), (rpac.SuccessRate(0.55), 55)):
        made = planning.plan(outputs, budget, "auto-pac")
        assert made.meaning == words.before_and_after(after / 100)
    noise = rpac.calibrate(outputs, 0.1, "auto-pac")
    certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
    assert certificate.worst_unit_success < 0.72
    assert "any yes-or-no fact" in planning.plan(rpac.Outputs([1.0, 2.0]), 0.1, "auto-pac").meaning


def test_words():
    assert "at most 54 % after" in words.before_and_after(0.54)
    assert words.character(0.1).startswith("careful")
    assert words.character(0.2).startswith("moderate")
    assert words.character(7.0).startswith("very loose")
    noise = rpac.LatticeNoise(1.0, [-1, 0, 1], [1 / 3] * 3)
    certificate = rpac.certify(rpac.Outputs([0, 1]), noise)
    assert "any yes-or-no fact" in words.meaning(certificate)
    assert words.advice(ValueError()) == ""
