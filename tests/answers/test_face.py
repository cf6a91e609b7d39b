"""An answer as a table: a line a number, error bars beside it."""

from dataclasses import replace

import numpy as np
import pytest

import rpac
from rpac.answers.face import drawn, guesses, in_digits, numbers, table

PAY = {"value": 200.0, "noise": [150.0, 240.0], "sampling": [100.0, 300.0]}
N = {"value": 3, "noise": [0, 6], "sampling": [-1, 7]}


def test_each_number_has_a_line_with_its_names():
    head, body = table([{"dept": "lab", "pay": PAY, "n": N}])
    assert head == [
        "dept", "number", "released", "+-", "without its noise (95 %)", "mean of all worlds (95 %)",
    ]  # fmt: skip
    assert body == [
        ["lab", "pay", "200", "25 %", "150 to 240", "100 to 300"],
        ["lab", "n", "3", "100 %: too noisy to publish", "0 to 6", "-1 to 7"],
    ]


def test_columns_that_would_be_empty_are_left_out():
    bare = {"value": 7.5, "noise": None}
    assert table([{"": "a", "answer": bare}]) == (["key", "released"], [["a", "7.5"]])
    open_ = {"value": 2.0, "noise": [None, None]}
    assert table([{"m": open_}])[1] == [["2", ""]]
    fact = {"value": 1, "fact": "of the pool"}
    assert table([{"": "k", "x": fact}]) == (["key", "released"], [["k", "1 (a fact of the pool)"]])
    assert table([{"answer": "yes"}]) == (["released"], [["yes"]])
    assert table([]) == (["released"], [])


def test_code_words_are_guesses_at_the_answer():
    assert table([{"x": PAY}], words=True)[0][2] == "the answer itself (95 %)"


def test_what_is_missing_is_blank():
    head, body = table([{"dept": None, "pay": PAY}, {"dept": "x", "n": N}])
    assert [line[:3] for line in body] == [["", "pay", "200"], ["x", "n", "3"]]


def test_what_is_drawn_has_a_name_a_value_and_ends():
    rows = [{"dept": "lab", "pay": PAY, "n": {"value": 2, "noise": [None, None]}}, {"x": "yes"}]
    assert numbers(rows) == [
        {"name": "lab", "column": "pay", "value": 200.0, "noisy": False, "noise": (150.0, 240.0),
         "sampling": (100.0, 300.0)},
        {"name": "lab", "column": "n", "value": 2, "noisy": False, "noise": None, "sampling": None},
    ]  # fmt: skip
    of_one = [{"": "[15, 20)", "answer": PAY}, {"": "other", "answer": {**PAY, "noise": [-9, 999]}}]
    assert [one["name"] for one in numbers(of_one)] == ["[15, 20)", "other"]
    assert [one["noisy"] for one in numbers(of_one)] == [False, True]
    assert {one["column"] for one in numbers(of_one)} == {""}
    assert [one["name"] for one in numbers([{"pay": PAY, "n": N}])] == ["pay", "n"]
    assert drawn(rows) == ["pay"]


def test_a_picture_says_the_sharpest_figure_that_may_be_published():
    outputs = rpac.Outputs([0.0, 1.0])
    made = rpac.certify(outputs, rpac.GaussianNoise(9.0))
    assert guesses(made)["after"] == made.success_rate(0.5)
    assert "whether a given person" in guesses(replace(made, worst_unit_success=0.6))["what"]
    people = rpac.privatize(rpac.statistics.count(), rpac.Presence([1.0]), rpac.SuccessRate(0.55))
    assert guesses(people.certificate)["after"] == pytest.approx(0.55)


def test_pages_have_one_letter_for_a_relative_error():
    noisy = {"value": 1.0, "noise": [-99.0, 99.0]}
    head, body = table([{"": "a", "x": PAY}, {"": "b", "x": noisy}], sign="±")
    assert head[2] == "±"
    assert [line[2] for line in body] == ["25 %", "beyond ±1000 %: too noisy to publish"]


def test_numbers_have_six_digits():
    assert in_digits(np.float64(32274.058469922787)) == "32274.1"
    assert in_digits("yes") == "yes"
