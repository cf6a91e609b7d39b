"""Accounts in words."""

from rpac.pictures.accounts import account_lines


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


def test_rounding_to_a_billionth_is_not_shown():
    account = {"kind": "person", "name": "d", "spent": 0.007895388, "cap": None}
    assert account_lines([account])[0][1].endswith("guessed right at most 55 %")
