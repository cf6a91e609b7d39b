"""Amounts, lines and entries: nano-nats to the last one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpac
from rpac.advantage import distance_to_nats
from rpac.budget import as_distance
from rpac.ledger.entries import (
    Account,
    Receipt,
    cap_nano,
    chain_hash,
    charged_names,
    checked_body,
    exact_nano,
    nats_text,
    rebook,
)


@pytest.mark.parametrize(
    "amount",
    [float("nan"), float("inf"), -1.0, -5e-324, True, "1", None, 1e308, [1.0], 1j],
)
def test_amounts_that_are_none_are_refused(folder, amount):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        with pytest.raises(rpac.InputError, match="Expected"):
            ledger.spend(amount)
        with pytest.raises(rpac.InputError, match="Expected"):
            ledger.spend(rpac.SuccessRate(0.6))  # books are kept in nats
        assert ledger.spent == 0


@given(st.lists(st.floats(0, 1e3), max_size=50))
def test_nano_nats_are_conserved_exactly(amounts):
    whole = sum(math.ceil(exact_nano(a)) for a in amounts)
    assert whole >= sum(Fraction(repr(a)) * 10**9 for a in amounts)
    assert Fraction(nats_text(whole)) * 10**9 == whole


def test_small_and_odd_numbers():
    assert math.ceil(exact_nano(5e-324)) == 1
    assert math.ceil(exact_nano(np.float64(0.001))) == 10**6
    assert math.ceil(exact_nano(rpac.Nats(0.1))) == 10**8
    assert math.ceil(exact_nano(np.int64(2))) == 2 * 10**9
    with pytest.raises(rpac.InputError, match=r"or a distance; got SuccessRate.*distance\(0.65\)"):
        exact_nano(rpac.SuccessRate(0.65))


def test_accounts_are_sealed_and_labelled():
    account = Account("dataset", "people", 5, 3, "")
    assert account.key == ("dataset", "people")
    assert account.label == "dataset 'people'"
    assert Account("ledger", "", 5, 0, "").label == "the ledger"
    for change in ({"cap": 6}, {"spent": 2}, {"note": "n"}, {"name": "p"}, {"kind": "analyst"}):
        assert account._replace(**change).seal != account.seal


def test_the_chain_hash_keeps_its_parts_apart():
    assert chain_hash(1, "ab", "c") != chain_hash(1, "a", "bc")
    assert chain_hash(1, "a", "c") != chain_hash(11, "a", "c")
    text = '{"kind":"open"}'
    own = chain_hash(0, "", text)
    assert checked_body(0, text, own, "") == {"kind": "open"}
    with pytest.raises(rpac.LedgerError, match="an altered entry 0"):
        checked_body(0, text + " ", own, "")


def test_a_charge_falls_on_whatever_has_a_name():
    everything = charged_names("people", "v", "ann", "talk")
    assert everything == [("ledger", ""), ("dataset", "people"), ("analyst", "ann"),
                          ("session", "talk"), ("version", "people@v")]  # fmt: skip
    assert charged_names("", "", "", "") == [("ledger", ""), ("version", "@")]
    person = charged_names("people", "v", "", "", "person")  # one line for all versions
    assert person == [("ledger", ""), ("dataset", "people"), ("person", "people")]


def test_a_book_is_recomputed_from_its_entries():
    spend = {"kind": "spend", "nano": 7, "dataset": "d", "version": "v", "analyst": "",
             "session": "", "promise": "", "secret": "s", "seq": 1}  # fmt: skip
    book = {}
    for entry in ({"kind": "open", "cap": 20, "keyed_by": "m"}, spend, spend,
                  {"kind": "seal"}, {"kind": "anchor"},
                  {"kind": "cap", "account": ["dataset", "d"], "cap": 15},
                  {"kind": "attempt", "outputs": "o", "attempt": 1},
        {"kind": "attempt", "outputs": "o", "attempt": 5},
                  {"kind": "judged", "outputs": "o", "law": "l", "attempt": 3}):  # fmt: skip
        rebook(book, entry)
    assert book["ledger", ""] == Account("ledger", "", 20, 14, "")
    assert book["dataset", "d"] == Account("dataset", "d", 15, 14, "")
    assert book["version", "d@v"].note == "s"
    assert book["attempts", "o"].spent == 5
    assert book["judged", "o"][3:] == (3, "l")
    assert book["key", ""].note == "m"
    with pytest.raises(rpac.LedgerError, match="entry 1, which exceeds a cap"):
        rebook(book, spend)


def test_a_cap_on_success_holds_the_only_question_at_that_success():
    for cap in (rpac.SuccessRate(0.55), rpac.GaussianDP(0.3), rpac.SuccessRate(0.6)):
        charge = math.ceil(exact_nano(distance_to_nats(as_distance(cap))))
        assert cap_nano(cap, distance_to_nats(as_distance(cap))) == charge
    assert cap_nano(rpac.Nats(0.1), rpac.Nats(0.1)) == cap_nano(0.1, 0.1) == 10**8
    assert cap_nano(1.5e-9, 1.5e-9) == 1


def test_receipts_print_their_charge():
    receipt = Receipt("a" * 32, 4, 1_500_000_000, "h", None, "d", "v", "ann")
    assert str(receipt) == "entry 4 of ledger aaaaaaaa: 1.500000000 nats"
    assert receipt.nats == 1.5
