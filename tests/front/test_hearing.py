"""Adaptive questions about anybody's presence: squares of distances add, under one cap."""

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.front.hearing import Hearing

TABLE = pd.DataFrame({"id": range(50), "pay": np.arange(50.0)})
SOURCE = rpac.Presence(TABLE, unit="rows")
COUNT = rpac.statistics.count()


def test_a_session_about_presence_has_no_posterior_and_adds_squares():
    with rpac.Session(SOURCE, rpac.GaussianDP(1.0)) as session:
        assert isinstance(session, Hearing)
        session.ask(COUNT, rpac.GaussianDP(0.6))
        session.ask(rpac.statistics.mean("pay"), rpac.GaussianDP(0.8))
        assert session.spent == pytest.approx(0.125)
        assert repr(session) == "Session(2 answers, 0.125000000 of 0.125000000 nats spent)"
        with pytest.raises(rpac.BudgetSpent, match="the session"):
            session.ask(COUNT, rpac.GaussianDP(0.01))
        assert session.remaining == 0
    with pytest.raises(rpac.LedgerError, match="an open session; got one closed"):
        session.ask(COUNT, rpac.GaussianDP(0.01))


def test_books_have_every_answer_and_the_session_s_own_cap(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0, dataset="staff") as ledger:
        with rpac.Session(SOURCE, 0.02, ledger) as session:
            first = session.ask(COUNT, 0.01, key="a")
            again = session.ask(COUNT, 0.01, key="a")
            assert (first.value, session.spent) == (again.value, 0.01)
            session.ask(COUNT, 0.01)
            with pytest.raises(rpac.BudgetSpent):
                session.ask(COUNT, 0.001)
        spent = {(a["kind"], a["name"]): a["spent"] for a in ledger.accounts()}
        assert spent["person", "staff"] == spent["session", session.id] == 0.02
        assert ledger.verify() == 4


def test_what_a_drawn_world_needs_is_refused():
    for given in ({"store": "x"}, {"secret": 3}, {"subject": "ann"}):
        with pytest.raises(rpac.InputError, match="no store, secret, subject or executor"):
            rpac.Session(SOURCE, 0.1, **given)


def test_what_was_withheld_is_paid_for(monkeypatch):
    session = rpac.Session(rpac.Presence([1.0, 2.0]), rpac.Nats(0.02))

    def broken(*_):
        raise OSError("salary 4711")

    monkeypatch.setattr("rpac.release.presence.draw", broken)
    for paid in (0.008, 0.016):
        with pytest.raises(rpac.Withheld):
            session.ask(rpac.statistics.count(), rpac.Nats(0.008))
        assert session.spent == pytest.approx(paid, abs=1e-8)
    with pytest.raises(rpac.BudgetSpent):
        session.ask(rpac.statistics.count(), rpac.Nats(0.008))


def test_a_cap_given_as_a_success_holds_one_question_at_that_success():
    for success in (0.51, 0.55, 0.6, 0.75):
        with rpac.Session(SOURCE, rpac.SuccessRate(success)) as session:
            session.ask(COUNT, rpac.SuccessRate(success))
            assert session.remaining == 0


def test_a_session_knows_its_answers_with_and_without_books(folder):
    for ledger in (None, rpac.Ledger(f"{folder}/l.db", budget=1.0)):
        with rpac.Session(SOURCE, rpac.GaussianDP(1.0), ledger) as session:
            made = session.ask(COUNT, rpac.GaussianDP(0.6))
            rpac.privatize(COUNT, SOURCE, rpac.GaussianDP(0.1), ledger=ledger)  # not of it
            (row,) = session.answers
        assert (row["question"], row["value"], row["promise"]) == ("count()", made.value, "person")
        assert row["nats"] == pytest.approx(0.045)
