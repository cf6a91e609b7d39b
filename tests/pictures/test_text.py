"""Aligned lines, tables, and limits that are rounded up."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpac.pictures.text import aligned, at_most, cells, columns, columns_html, lines_html


@given(st.floats(1e-9, 1e9), st.integers(2, 8))
def test_a_limit_that_is_printed_is_one(limit, digits):
    shown = float(at_most(limit, digits))
    assert shown >= limit * (1 - 1e-12)
    assert shown <= limit * (1 + 10 ** (1 - digits))


@pytest.mark.parametrize(("limit", "digits", "text"), [
    (0.1, 6, "0.1"), (0.12345601, 6, "0.123457"), (50.00001, 4, "50.01"), (1.0, 3, "1"),
])  # fmt: skip
def test_limits_in_few_digits(limit, digits, text):
    assert at_most(limit, digits) == text


def test_labels_end_at_a_common_edge_however_long_they_are():
    text = aligned([("a", "one"), ("a long label", "two"), ("", "three")])
    assert text == "           a  one\na long label  two\n              three"


def test_numbers_are_cut_to_four_digits_and_columns_aligned():
    assert cells([[1, 0.123456, "x"]]) == [["1", "0.1235", "x"]]
    table = columns(("name", "n"), [("a", 10), ("bcdef", 2.5)])
    assert table.splitlines() == [" name    n", "    a   10", "bcdef  2.5"]


def test_html_is_well_formed_and_escaped():
    for page in (
        columns_html(("<n>",), [["&", 1.5]][:0] + [["&"]]),
        lines_html("a <caption>", [("<b>", "x & y"), ("label", "text")]),
    ):
        ElementTree.fromstring(page)
        assert "<b>" not in page
        assert "<n>" not in page
