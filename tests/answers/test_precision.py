"""Relative errors, with a word from which on a number should not be published."""

import math

import pytest

from rpac.answers.precision import (
    CAUTION,
    TOO_NOISY,
    in_words,
    marked,
    of,
    relative,
    too_noisy,
)


@pytest.mark.parametrize(
    ("value", "ends", "share"),
    [(100, [99, 101], 0.01), (-100.0, [-150.0, -90.0], 0.5), (0, [-8, 8], math.inf),
     (5, [5, 5], 0.0), (3.0, [None, None], None), (3.0, None, None), ("a", None, None),
     (2.0, [1.0, math.nan], None)],
)  # fmt: skip
def test_the_farther_end_counts(value, ends, share):
    assert relative(value, ends) == pytest.approx(share)


def test_a_word_stands_beside_what_is_noisy():
    assert in_words(0.004) == "+-0.4 %"
    assert in_words(CAUTION) == "+-33 %"
    assert in_words(0.331) == "+-34 %: use with caution"  # rounded up, as limits are
    assert in_words(TOO_NOISY) == "+-65 %: use with caution"
    assert in_words(0.7) == "+-70 %: too noisy to publish"
    assert in_words(1.234) == "+-130 %: too noisy to publish"
    assert in_words(math.inf) == "beyond +-1000 %: too noisy to publish"
    assert in_words(None) == of("lab") == of({"value": 1.0}) == ""
    assert of({"value": 50, "noise": [49, 51]}) == "+-2 %"


def test_rows_of_pictures_say_which_numbers_are_too_noisy():
    cell = {"value": 10.0, "noise": [3.0, 17.0]}
    rows = [{"k": "a", "x": cell, "y": {"value": 1, "noise": [1, 1]}}]
    assert marked(rows) == [
        {"k": "a", "x": cell | {"noisy": True}, "y": rows[0]["y"] | {"noisy": False}}
    ]
    assert "noisy" not in cell
    assert too_noisy({"value": 1.0, "noise": ["-inf", "inf"]})
    assert not too_noisy({"value": 1.0, "noise": None})
