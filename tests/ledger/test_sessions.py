"""Sessions in the books: opened, loaded, closed by the ledger alone."""

from hashlib import sha256

import pytest

import rpac
from rpac.ledger.entries import Line
from rpac.ledger.sessions import Standing

STATE = b"the posterior, as bytes"


def line(state):
    return Line("v", "s", "talk", sha256(state).hexdigest())


def test_a_session_stands_as_its_last_charge_left_it(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.sessions.open("talk", 500_000_000, STATE)
        first = ledger.sessions.mark(STATE)
        assert ledger.sessions.load("talk") == Standing(STATE, 0, 500_000_000, first)
        assert first != sha256(STATE).hexdigest(), "under the ledger's key"
        made = ledger.charge(0.2, line=line(STATE), draw=lambda: ("answer", b"after"))
        assert made.state == b"after"
        mark = ledger.sessions.mark(b"after")
        assert ledger.sessions.load("talk") == Standing(b"after", 200_000_000, 500_000_000, mark)
        ledger.verify()
    with rpac.Ledger(where) as again:
        assert again.sessions.load("talk").state == b"after"


def test_its_own_cap_applies_and_an_old_state_is_refused(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.sessions.open("talk", 300_000_000, STATE)
        with pytest.raises(rpac.BudgetSpent, match="what is left for session 'talk'"):
            ledger.spend(0.4, line=line(STATE))
        ledger.spend(0.2, line=line(STATE), draw=lambda: ("answer", b"after"))
        with pytest.raises(rpac.LedgerError, match="an older state of session 'talk', or a closed"):
            ledger.spend(0.05, line=line(STATE))
        assert ledger.spent == 0.2


def test_a_closed_session_is_closed_for_good(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.sessions.open("talk", 300_000_000, STATE)
        ledger.sessions.close("talk")
        with pytest.raises(rpac.LedgerError, match="state on record; got none for session 'talk'"):
            ledger.sessions.load("talk")
        with pytest.raises(rpac.LedgerError, match="or a closed one"):
            ledger.spend(0.1, line=line(STATE))
        assert [entry["kind"] for entry in ledger.entries()] == ["open", "session", "close"]
        ledger.verify()


def test_a_session_that_never_was_is_not_open(where):
    with (
        rpac.Ledger(where, budget=1.0) as ledger,
        pytest.raises(rpac.LedgerError, match="got none for session 'nobody'"),
    ):
        ledger.sessions.load("nobody")
