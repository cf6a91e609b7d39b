"""Accounts in words."""

from rpac.pictures.accounts import account_lines, accounts_html, gauges, least_cap


def test_accounts_in_words():
    lines = account_lines([
        {"kind": "ledger", "name": "", "spent": 0.25, "cap": 1.0},
        {"kind": "version", "name": "people@" + "f" * 64, "spent": 0.25, "cap": None},
        {"kind": "version", "name": "@", "spent": 0.0, "cap": None},
    ])  # fmt: skip
    assert lines == [
        ("ledger", "0.250000000 nats spent, 0.750000000 of 1.000000000 left"),
        ("version people@ffffffffffff", "0.250000000 nats spent"),
    ]


def test_the_line_of_persons_says_what_all_answers_tell_together():
    nats = 2 * 0.2513226937101435**2 / 8
    ((label, text),) = account_lines([
        {"kind": "person", "name": "adult", "spent": nats, "cap": None}
    ])  # fmt: skip
    assert label == "person adult"
    assert "Delta squared 0.126326" in text
    assert "presence guessed right at most 57.06 %" in text  # Phi(sqrt(2) * 0.2513 / 2)


def test_a_billionth_of_a_nat_is_more_than_nothing():
    account = {"kind": "person", "name": "d", "spent": 1e-9, "cap": None}
    assert account_lines([account])[0][1].endswith("guessed right at most 50.01 %")


def test_rounding_to_a_billionth_is_not_shown():
    account = {"kind": "person", "name": "d", "spent": 0.007895388, "cap": None}
    assert account_lines([account])[0][1].endswith("guessed right at most 55 %")


ACCOUNTS = [
    {"kind": "ledger", "name": "", "spent": 0.25, "cap": 1.0},
    {"kind": "dataset", "name": "adult", "spent": 0.25, "cap": 0.3},
    {"kind": "analyst", "name": "mia", "spent": 0.25, "cap": None},
]


def test_gauges_are_of_accounts_with_a_cap_the_fullest_first():
    assert [(a["label"], a["cap"]) for a in gauges(ACCOUNTS)] == [
        ("dataset adult", 0.3), ("ledger", 1.0),
    ]  # fmt: skip


def test_a_notebook_shows_gauge_and_table():
    page = accounts_html("l1", ACCOUNTS)
    assert page.index("<svg") < page.index("<caption>rpac ledger l1</caption>")
    assert "analyst mia" in page


def test_a_cap_is_told_as_what_all_answers_may_tell_together():
    person = {"kind": "person", "name": "staff", "spent": 0.01, "cap": None}
    dataset = {"kind": "dataset", "name": "staff", "spent": 0.01, "cap": 0.03}
    ledger = {"kind": "ledger", "name": "", "spent": 0.01, "cap": 60.0}
    other = {"kind": "dataset", "name": "other", "spent": 0.0, "cap": 0.001}
    assert least_cap([person, dataset, ledger, other], person) == 0.03
    said = account_lines([person, ledger, other])[0][1]
    assert said.endswith("; cap 60 nats: at most 100 % for all answers together")
    said = account_lines([dataset, person])[1][1]
    assert said.endswith("; cap 0.03 nats: at most 59.68 % for all answers together")
    assert least_cap([person], person) is None
    assert "cap" not in account_lines([person])[0][1]
