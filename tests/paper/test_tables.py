"""Tables of a study: the same figures for programs, for people and for a terminal."""

import csv
import io
import math

import pytest

from rpac.paper import tables
from rpac.paper.published import Claim, Verdict
from rpac.paper.study import COLUMNS, Row, Study

CLAIM = Claim("iris", "SR-PAC", 0.5, power=0.0123456789, left=2.5, target=2.0)
WRONG = Verdict("incompatible", "noise power 0.01235 leaks at least 2 nats (standardised)")
ROWS = [
    Row("iris", "who", 2.5, "sr-pac", 0.5, power=1.23456789, ratio=0.9, success_bound=0.7,
        published=CLAIM, verdict=WRONG),
    Row("iris", "who", 2.5, "auto-pac", 0.25, power=2.0, success_bound=0.6),
    Row("iris", "which", 3.5, "dp", 0.25, note="no noise needed", success_bound=0.6),
]  # fmt: skip
STUDY = Study(
    "iris", ROWS, {CLAIM: WRONG}, {"seconds": 1.5, "settings": {"seed": 0, "draws": None}}
)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_every_row_and_column_is_in_the_file_with_six_digits():
    found = read(tables.to_csv(STUDY))
    assert tuple(found[0]) == COLUMNS
    assert len(found) == 3
    assert found[0]["power"] == "1.23457"
    assert found[1]["accuracy"] == found[1]["published_power"] == ""
    assert found[0]["verdict"] == "incompatible"
    for made, cells in zip(ROWS, found, strict=True):
        assert float(cells["budget"]) == made.budget
        assert cells["note"] == made.note


def test_printed_rows_have_a_file_of_their_own():
    (found,) = read(tables.published_csv(STUDY))
    assert tuple(found) == tables.PUBLISHED
    assert (found["method"], found["verdict"], found["why"]) == ("SR-PAC", WRONG.word, WRONG.why)
    assert float(found["entropy"]) == 2.5  # the printed target plus the budget
    assert found["accuracy"] == ""


def test_the_page_has_a_table_for_each_secret_and_the_rows_that_cannot_be():
    page = tables.markdown(STUDY)
    assert page.startswith("# iris\n")
    assert "- seconds: 1.5" in page
    assert "- settings: seed 0\n" in page  # what was left open is left out
    assert "## Secret: who (2.5 nats)" in page
    assert "## Secret: which (3.5 nats)" in page
    assert "dp: no noise needed" in page
    assert "1 of 1 printed rows are incompatible with their budget in nats." in page
    assert f"| 0.5 | SR-PAC | {WRONG.why} |" in page
    who = page.split("## Secret: which")[0]
    assert who.index("| 0.25 | auto-pac") < who.index("| 0.5 | sr-pac")  # by budget
    assert "LiRA success" in page


def test_tables_of_logits_have_their_own_columns():
    rows = [Row("mnist", "record", 9.0, "equilibrium", 2.0, accuracy=0.9, ceiling=0.95)]
    page = tables.markdown(Study("mnist", rows, {}))
    assert "highest accuracy" in page
    assert "LiRA success" not in page
    assert "incompatible |" not in page


def test_every_line_of_a_table_has_as_many_cells():
    lines = [line for line in tables.markdown(STUDY).splitlines() if line.startswith("| ")]
    head = [line for line in lines if line.startswith("| budget | method | power")]
    assert len(head) == 2
    for line in lines[: lines.index(head[1])]:
        assert line.count("|") == head[0].count("|")


def test_a_terminal_shows_the_papers_own_secret():
    text = tables.summary(STUDY)
    assert "sr-pac" in text
    assert "auto-pac" in text
    assert "dp" not in text  # of another secret
    assert "power / Auto-PAC" in text
    assert len({len(line.rstrip()) > 0 for line in text.splitlines()}) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1"), (math.pi, "3.142"), (None, ""), ("a", "a"), (12_345.6, "1.235e+04")],
)
def test_figures_are_short_for_people(value, shown):
    assert tables._short(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"a": 1, "b": None, "c": {"d": 2.5}}, "a 1, c d 2.5"), ("text", "text"), (3, "3")],
)
def test_settings_read_as_people_write_them(value, shown):
    assert tables._plain(value) == shown
