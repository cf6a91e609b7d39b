"""Refusals because of data: one text for all of them, and what passes."""

import warnings

import numpy as np
import pytest

import rpac
from rpac.errors import Withheld
from rpac.release.refusal import MARK, refusal_in, told_or_marked, was_withheld, withheld


@pytest.mark.parametrize("error", [ValueError("secret"), rpac.BudgetSpent("1", "0", "x", 0.0),
                                   rpac.MechanismError("secret"), MemoryError(), SystemExit(40),
                                   GeneratorExit(), rpac.LedgerError("secret"),
                                   Withheld()])  # fmt: skip
def test_whatever_it_was_comes_out_the_same(error):
    booked = []
    with pytest.raises(Withheld) as caught, withheld(lambda: booked.append(1)):
        raise error
    assert str(caught.value) == str(Withheld())
    assert "secret" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert booked == [1]


def test_books_and_interrupts_pass_and_what_was_typed_where_it_is_named():
    with pytest.raises(KeyboardInterrupt) as caught, withheld(lambda: pytest.fail("booked")):
        raise KeyboardInterrupt("secret")
    assert caught.value.args == ()
    with pytest.raises(rpac.InputError, match="typed"), withheld(static=(rpac.InputError,)):
        raise rpac.InputError("typed")
    with pytest.raises(Withheld), withheld():
        raise rpac.InputError("typed")


def opened(path, within):
    """Let the ledger raise an error of its own, by a function that has a name of its choice."""
    space = {"__name__": within, "Ledger": rpac.Ledger, "path": path}
    exec("def call():\n    Ledger(path)", space)
    space["call"]()


def test_books_that_fail_pass_unless_a_function_had_a_hand_in_it(folder):
    path = f"{folder}/l.db"
    with open(path, "wb") as file:
        file.write(b"no ledger" * 1000)
    with pytest.raises(rpac.LedgerError), withheld(lambda: pytest.fail("booked")):
        rpac.Ledger(path)
    for within in (__name__, "rpac.ledger.ledger"):
        with pytest.raises(Withheld), withheld(static=(rpac.InputError,)):
            opened(path, within)


def test_no_warning_tells_the_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with withheld():
            assert np.isinf(np.float64(1) / np.zeros(1))


def test_a_refusal_is_booked_on_no_line_of_the_data(folder):
    assert refusal_in(None) is None
    with rpac.Ledger(f"{folder}/l.db", budget=1.0, dataset="d") as ledger:
        book = refusal_in(ledger, "k", "r")
        book()
        book()
        assert ledger.spent == Withheld.NATS
        receipt = ledger.find("k", "r")
        assert was_withheld(receipt.answer)
        assert (receipt.answer, receipt.version) == (MARK, "")
    assert not was_withheld(None)
    assert "books charge 0.01 nats for it, or all that the answer would cost" in str(Withheld())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_drawn_answer_that_stops_its_telling_is_marked(error):
    """An interrupt that the answer itself brought about would be an answer for nothing."""

    def tell():
        raise error("7")

    assert told_or_marked(tell) == MARK
    assert told_or_marked(lambda: {"value": 7}) == {"value": 7}
