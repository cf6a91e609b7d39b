"""What is known of numbers by their types, and that it stays true of products."""

import math

import pytest

from rpac.sql.known import HELD, UNKNOWN, Known, column, day, held, multiplied, number


@pytest.mark.parametrize(("kind", "known"), [
    ("DOUBLE", ("number", -HELD, HELD)), ("FLOAT", ("number", -HELD, HELD)),
    ("DECIMAL", ("number", -HELD, HELD)), ("DECIMAL(12,2)", ("number", -2.0, 10.0)),
    ("DECIMAL(3, 3)", ("number", -3.0, 0.0)), ("BIGINT", ("number", 0.0, 39.0)),
    ("VARCHAR", ("text", 0.0, 39.0)), ("DATE", ("date", 0.0, 39.0)), ("INTEGER[]", (UNKNOWN, 0.0, 39.0)),  # noqa: E501
])  # fmt: skip
def test_types_bound_magnitudes(kind, known):
    found = column(kind)
    assert (found.kind, found.low, found.high) == known
    assert found.raw == kind


def test_products_and_quotients_stay_within_their_bounds():
    x, y = Known("number", -2, 5), Known("number", 1, 3)
    assert multiplied(x, y, over=False) == Known("number", -1, 8)
    assert multiplied(x, y, over=True) == Known("number", -5, 4)


def test_public_numbers_are_exact_and_guards_say_what_they_hold():
    assert number(0.1).sql("postgres") == "CAST('0.1' AS DOUBLE PRECISION)"
    assert float(number(math.pi).this.name) == math.pi
    assert day("2020-01-02", "DATE").sql("duckdb") == "CAST('2020-01-02' AS DATE)"
    text = held(number(1.0), number(2.0)).sql("duckdb")
    assert text.startswith("CASE WHEN ABS(CAST('1.0' AS DOUBLE)) < 1e100 THEN CASE WHEN ABS(")
