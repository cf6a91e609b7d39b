"""The ledger's words on presence: epsilon at a delta, and the export."""

import json
from types import SimpleNamespace

import pytest

from rpac.cli.books import left, told
from rpac.cli.options import Accounting
from rpac.ledger.ledger import Ledger
from tests.cli.conftest import call


@pytest.fixture
def books(staff):
    """A ledger with two answers about presence."""
    words = ("release", staff / "staff.csv", "--statistic", "mean(pay)", "--unit", "rows",
             "--ledger", staff / "l.db", "--dataset", "staff", "--success", "0.55")  # fmt: skip
    assert call(*words, "--cap", "1")[0] == 0
    assert call(*words)[0] == 0
    return staff / "l.db"


def test_epsilon_is_shown_at_the_delta_that_is_asked_for(books):
    text = call("ledger", books)[1]
    assert "staff: 2 answers about presence, mu 0.355424, epsilon 1.365 at delta 1e-05" in text
    stricter = call("ledger", books, "--delta", "1e-9")[1]
    assert "at delta 1e-09" in stricter
    (one,) = json.loads(call("ledger", books, "--json")[1])["presence"]
    assert one["delta_squared"] == pytest.approx(2 * 0.25132269**2, rel=1e-5)
    code, _, err = call("ledger", books, "--delta", "2")
    assert (code, "Expected a delta between 0 and 1" in err) == (1, True)


def test_who_asked_what_is_shown_and_told(books):
    call("ledger", books, "--cap", "0.5", "--dataset", "staff")
    text = call("ledger", books)[1]
    assert text.count("staff  rows   person  0.00789539  mean(pay)") == 2
    body = json.loads(call("ledger", books, "--json")[1])
    first, second = body["history"]
    assert (first["question"], first["dataset"], first["what"]) == ("mean(pay)", "staff", "answer")
    assert first["at"] <= second["at"]
    assert first["value"] != second["value"]
    assert body["spent"] + body["remaining"] == pytest.approx(1.0)
    mine = json.loads(call("ledger", books, "--dataset", "staff", "--json")[1])
    assert mine["spent"] + mine["remaining"] == pytest.approx(0.5)  # of one account, both
    assert mine["spent"] == body["spent"]


def test_answers_about_several_units_of_a_dataset_are_said_to_be(books, staff):
    assert "several units" not in call("ledger", books)[1]
    assert json.loads(call("ledger", books, "--json")[1])["presence"][0]["units"] == ["rows"]
    words = ("release", staff / "staff.csv", "--statistic", "count()", "--unit", "dept",
             "--ledger", books, "--dataset", "staff")  # fmt: skip
    assert call(*words)[0] == 0
    assert "staff: asked about several units (dept, rows)." in call("ledger", books)[1]


def test_what_was_spent_is_exported(books, tmp_path):
    file = tmp_path / "events.json"
    assert call("ledger", books, "--export-dp", file)[0] == 0
    body = json.loads(file.read_text())
    assert [event["class_name"] for event in body["events"]] == ["GaussianDpEvent"] * 2
    again = tmp_path / "again.json"
    assert call("ledger", books, "--export-dp", again, "--dataset", "staff")[0] == 0
    assert again.read_bytes() == file.read_bytes()


def test_one_dataset_is_exported_at_a_time(books, tmp_path, staff):
    file = tmp_path / "events.json"
    code, _, err = call("ledger", books, "--export-dp", file, "--dataset", "nobody")
    assert (code, "got none. Answers under person make one" in err) == (1, True)
    words = ("release", staff / "staff.csv", "--statistic", "count()", "--unit", "rows",
             "--ledger", books, "--dataset", "more")  # fmt: skip
    assert call(*words)[0] == 0
    code, _, err = call("ledger", books, "--export-dp", file)
    assert (code, "got 'more', 'staff'. Name one with --dataset" in err) == (1, True)
    assert not file.exists()
    code, _, err = call("ledger", books, "--export-dp", tmp_path / "no" / "x.json")
    assert (code, "Nothing was done" in err) == (1, True)


def test_a_ledger_without_such_answers_says_nothing_of_them(tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0)
    assert told(ledger, Accounting(str(tmp_path / "l.db"))) == ("", {"presence": []})
    ledger.close()
    assert "presence" not in call("ledger", tmp_path / "l.db")[1]


def test_a_plan_says_what_is_left_and_that_books_will_be_made(staff):
    words = ("plan", staff / "staff.csv", "--statistic", "mean(pay)", "--unit", "id")
    assert call(*words)[1].endswith("\nNo ledger: spending is not recorded; pass --ledger\n")
    named = (*words, "--ledger", staff / "new.db")
    new = "\nledger     new.db is not there yet: `rpac release` makes it"
    assert call(*named)[1].endswith(f"{new}; it needs --cap NATS\n")
    left_ = "left       1 nats now, at least 0.992105 after"
    assert call(*named, "--cap", "1")[1].endswith(f"{new}\n{left_}\n")
    assert not (staff / "new.db").exists()
    opened = SimpleNamespace(ledger=object(), books="l.db")
    fits = "does not fit: 0.1 nats are left. Ask for less with --budget."
    assert left(opened, (0.1, -0.1)) == ["", fits]


def test_books_that_round_up_print_no_further_digit(books):
    assert "guessed right at most 57.06 %" in call("ledger", books)[1]  # of two at 55 %


def test_caps_are_shown_in_percent_and_with_their_time(books):
    call("ledger", books, "--cap", "0.03", "--dataset", "staff")
    call("ledger", books, "--cap", "2")
    text = call("ledger", books)[1]
    assert "; cap 0.03 nats: at most 59.68 % for all answers together" in text
    assert "cap of dataset staff set to 0.03 nats at 20" in text
    assert "cap of ledger set to 2 nats at 20" in text
    assert "other numbers of entries are seals" in text
    body = json.loads(call("ledger", books, "--json")[1])
    assert [(one["kind"], one["name"], one["cap"]) for one in body["caps"]] == [
        ("dataset", "staff", 0.03), ("ledger", "", 2.0),
    ]  # fmt: skip
    assert all(one["at"].startswith("20") and one["entry"] for one in body["caps"])
    (one,) = body["presence"]
    assert one["cap"] == 0.03
    assert one["cap_success"] == pytest.approx(0.5968, abs=1e-4)
    assert [row["unit"] for row in body["history"]] == ["rows", "rows"]
